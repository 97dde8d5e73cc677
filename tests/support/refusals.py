"""Refusals of the services, of edits and of sections, by their code."""

from typing import Any

import pytest

from approvals.services.errors import Refusal
from memory_app.text.edits import EditError
from memory_app.text.sections import SectionError


def refusing(error: str | type[Exception], match: str | None = None) -> pytest.RaisesExc[Any]:
    """Return what `pytest.raises` returns, for a refusal with this code, or, in a table of both, for an exception."""
    if isinstance(error, str):
        kinds = (Refusal, EditError, SectionError)
        return pytest.raises(kinds, match=match, check=lambda refusal: refusal.code == error)
    return pytest.raises(error, match=match)
