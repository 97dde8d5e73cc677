"""Objects and choices among the arguments of methods. Written by `manage.py client_code`: not edited by hand."""

from typing import Literal, Required, TypedDict


class EvidenceParam(TypedDict, total=False):
    """One turn of the conversation a change rests on."""
    #: Who said it.
    role: Required[Literal["user", "assistant", "system", "tool"]]
    #: What was said, in its own words.
    content: Required[str]
    #: When it was said (ISO 8601).
    at: str


class EditParam(TypedDict, total=False):
    """One replacement, alone or of several."""
    #: The exact text to find and replace. Must be unique unless replace_all=True.
    old_string: Required[str]
    #: The text to replace it with. Must be different from old_string.
    new_string: Required[str]
    #: If True, replace all occurrences. If False (default), old_string must be unique.
    replace_all: bool
    #: How many occurrences you expect; refused when there are more or fewer.
    expected_replacements: int

TypeChoice = Literal["note", "fact", "assumption", "hypothesis", "discovery", "risk", "unknown", "decision", "convention", "lesson_learned", "pattern", "fix", "context"]

TypeChoice2 = Literal["all", "note", "fact", "assumption", "hypothesis", "discovery", "risk", "unknown", "decision", "convention", "lesson_learned", "pattern", "fix", "context"]

StatusChoice = Literal["preparing", "open", "changes_requested", "merging", "approved", "rejected", "withdrawn", "expired", "applied"]


class MessageParam(TypedDict, total=False):
    """One turn of a conversation."""
    #: Who said it.
    role: Required[Literal["user", "assistant", "system", "tool"]]
    #: What was said, in its own words.
    content: Required[str]
    #: When it was said (ISO 8601).
    at: str
    #: Your own id for it: sent twice, it is kept once.
    id: str
    #: The speaker's name.
    author: str
