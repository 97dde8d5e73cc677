"""Refusals of the services, by their code."""

from __future__ import annotations

from typing import Any

import pytest

from approvals.services.errors import Refusal


def refusing(error: str | type[Exception], match: str | None = None) -> pytest.RaisesExc[Any]:
    """Return what `pytest.raises` returns, for a refusal with this code, or, in a table of both, for an exception."""
    if isinstance(error, str):
        return pytest.raises(Refusal, match=match, check=lambda refusal: refusal.code == error)
    return pytest.raises(error, match=match)
