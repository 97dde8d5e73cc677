"""How raw rows of either engine become values, and how a row's content is hashed."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from typing import Any


def canonical_sha256(content: dict[str, Any]) -> str:
    """Return the SHA-256 of the canonical JSON: keys sorted, no white space, UTF-8."""
    canonical = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def aware(value: Any) -> datetime:
    """Return a raw row's time, which is SQLite's text or MySQL's naive datetime, both in UTC."""
    at = datetime.fromisoformat(value) if isinstance(value, str) else value
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at
