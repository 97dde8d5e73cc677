"""What methods take, but for what is given by position. Written by `manage.py client_code`: not edited by hand."""

# No annotation is a string here: what is required is asked of these classes when a call is made.
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Required, TypedDict

import httpx2

_USED: tuple[object, ...] = (Any, Mapping)


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


class Options(TypedDict, total=False):
    """What every method takes."""
    user_id: str | None
    timeout: float | httpx2.Timeout | None


class CallArguments(Options, total=False):
    session_id: str | None


class PageArguments(CallArguments, total=False):
    limit: int | None
    cursor: str | None


class BoundedArguments(CallArguments, total=False):
    max_characters: int | None


class BoundedPageArguments(PageArguments, total=False):
    max_characters: int | None


class WriteArguments(CallArguments, total=False):
    idempotency_key: str | None


class ChangeArguments(WriteArguments, total=False):
    evidence: str | Sequence[EvidenceParam] | None
    proposal_id: int | None
    force: bool | None


class EditArguments(ChangeArguments, total=False):
    reasoning: Required[str]
    confidence: float | Literal["low", "medium", "high"] | None
    expected_sha256: str | None


class NoteArguments(ChangeArguments, total=False):
    reasoning: str | None


class FileArguments(NoteArguments, total=False):
    confidence: float | Literal["low", "medium", "high"] | None
    expected_sha256: str | None


class BlocksGet(BoundedArguments, total=False):
    as_of: str | None
    view_range: Sequence[int] | None
    line_numbers: bool | None


class BlocksProposeEdit(EditArguments, total=False):
    old_string: Required[str]
    new_string: Required[str]
    replace_all: bool | None
    expected_replacements: int | None


class BlocksProposeEdits(EditArguments, total=False):
    edits: Required[Sequence[EditParam]]


class BlocksProposeAppend(EditArguments, total=False):
    content: Required[str]
    title: str | None


class BlocksProposePrepend(EditArguments, total=False):
    content: Required[str]


class BlocksProposeInsert(EditArguments, total=False):
    content: Required[str]
    insert_line: Required[int]


class BlocksProposeSection(EditArguments, total=False):
    section_header: Required[str]
    new_content: Required[str]
    section_line: int | None


class BlocksPropose(EditArguments, total=False):
    body: str | None
    edits: Sequence[EditParam] | None


class BlocksCreate(ChangeArguments, total=False):
    title: Required[str]
    body: Required[str]
    reasoning: Required[str]
    description: str | None
    confidence: float | Literal["low", "medium", "high"] | None


class NotesList(PageArguments, total=False):
    q: str | None
    type: Literal["note", "fact", "assumption", "hypothesis", "discovery", "risk", "unknown", "decision", "convention", "lesson_learned", "pattern", "fix", "context"] | None
    tag: Sequence[str] | None
    source: Literal["agent", "user", "import"] | None
    include_superseded: bool | None


class NotesGet(CallArguments, total=False):
    as_of: str | None


class NotesSearch(BoundedArguments, total=False):
    top_k: int | None
    include_conversation: bool | None
    sources: Sequence[Literal["user_memory", "memory_block", "conversation"]] | None
    category: str | None
    type: Literal["note", "fact", "assumption", "hypothesis", "discovery", "risk", "unknown", "decision", "convention", "lesson_learned", "pattern", "fix", "context"] | None
    as_of: str | None
    tags: Sequence[str] | None


class NotesSave(NoteArguments, total=False):
    category: str | None
    tags: Sequence[str] | None


class NotesUpdate(NoteArguments, total=False):
    content: Required[str]


class NotesRemember(NoteArguments, total=False):
    type: Literal["note", "fact", "assumption", "hypothesis", "discovery", "risk", "unknown", "decision", "convention", "lesson_learned", "pattern", "fix", "context"] | None
    confidence: float | Literal["low", "medium", "high"] | None
    rationale: str | None
    tags: Sequence[str] | None
    memory_id: str | None


class NotesRecall(BoundedArguments, total=False):
    query: str | None
    type: Literal["all", "note", "fact", "assumption", "hypothesis", "discovery", "risk", "unknown", "decision", "convention", "lesson_learned", "pattern", "fix", "context"] | None
    min_confidence: float | Literal["low", "medium", "high"] | None
    limit: int | None
    include_superseded: bool | None
    scope: Literal["user", "session"] | None
    match: Literal["hybrid", "text"] | None


class NotesForget(NoteArguments, total=False):
    reason: str | None
    replacement_id: str | None


class NotesPrime(CallArguments, total=False):
    budget: int | None
    types: Sequence[Literal["note", "fact", "assumption", "hypothesis", "discovery", "risk", "unknown", "decision", "convention", "lesson_learned", "pattern", "fix", "context"]] | None
    tags: Sequence[str] | None
    recent: int | None
    format: Literal["markdown", "json"] | None


class ProposalsList(BoundedPageArguments, total=False):
    status: Literal["preparing", "open", "changes_requested", "merging", "approved", "rejected", "withdrawn", "expired", "applied"] | None
    block_label: str | None
    proposal_id: int | None


class ProposalsGet(BoundedArguments, total=False):
    wait: int | None


class ProposalsWithdraw(WriteArguments, total=False):
    reasoning: str | None


class ProposalsComment(WriteArguments, total=False):
    comment: Required[str]
    change: str | None


class ContextGet(CallArguments, total=False):
    budget: int | None


class ConversationsMessages(Options, total=False):
    limit: int | None
    cursor: str | None
    max_characters: int | None


class ConversationsKeep(Options, total=False):
    messages: Required[Sequence[MessageParam]]
    idempotency_key: str | None


class FilesList(BoundedPageArguments, total=False):
    path: str | None


class FilesView(BoundedArguments, total=False):
    view_range: Sequence[int] | None


class FilesEdit(FileArguments, total=False):
    old_string: Required[str]
    new_string: Required[str]


class FilesAppend(FileArguments, total=False):
    content: Required[str]


class FilesUpdateSection(FileArguments, total=False):
    section_header: Required[str]
    new_content: Required[str]
    section_line: int | None
