"""Cursors: an opaque text out, the same one back in. What is in one is for the list that made it. No Django here."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any


class NoCursor(ValueError):
    """The text is no cursor."""


def pack(*values: Any) -> str:
    """Return a cursor that says these values, which JSON knows."""
    said = json.dumps(values, ensure_ascii=True, separators=(",", ":"))
    return base64.urlsafe_b64encode(said.encode()).decode()


def unpack(cursor: str) -> list[Any]:
    """Return what `pack` was given. Raise NoCursor."""
    try:
        values = json.loads(base64.b64decode(cursor, altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, RecursionError) as error:
        raise NoCursor from error
    if not isinstance(values, list):
        raise NoCursor
    return values
