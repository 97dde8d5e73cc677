"""Objects that are arguments. Written by `manage.py client_code`: not edited by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Required, TypedDict

_USED: tuple[object, ...] = (Any, Literal, Mapping, Required, Sequence)


class EvidenceParam(TypedDict, total=False):
    """One turn of the conversation a change rests on."""

    #: Who said it.
    role: Required[Literal["user", "assistant", "system", "tool"]]
    #: What was said, in its own words.
    content: Required[str]
    #: When it was said (ISO 8601).
    at: str


class EditParam(TypedDict, total=False):
    """One replacement of several."""

    #: The exact text to find and replace. Must be unique unless replace_all=True.
    old_string: Required[str]
    #: The text to replace it with. Must be different from old_string.
    new_string: Required[str]
    #: If True, replace all occurrences. If False (default), old_string must be unique.
    replace_all: bool
    #: How many occurrences you count on replacing; refused when there are more or fewer.
    expected_replacements: int


class MessageParam(TypedDict, total=False):
    """One turn of a conversation."""

    #: Your own id for it: sent twice, it is kept once.
    id: str
    #: Who said it.
    role: Required[Literal["user", "assistant", "system", "tool"]]
    #: What was said, in its own words.
    content: Required[str]
    #: The speaker's name.
    author: str
    #: When it was said (ISO 8601, UTC where it has no offset).
    at: str
