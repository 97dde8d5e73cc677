"""The answers of the server, as its registry describes them. Written by `manage.py client_code`: not edited by hand."""

from __future__ import annotations

from typing import Any

from assent_client.answers import Answer, ListAnswer, Record, absent


class WrittenChange(Record):
    """What became of a change."""
    #: applied, open while it waits for a person, withdrawn: a note of yours that waited and was deleted, or
    #: known: a note says this already, nothing was made, and there is no proposal
    status: str = absent()
    #: policy (the user wants to be asked), scope (the token may only propose), secrets (it, its reasoning or its
    #: evidence reads like a key, token, password or card number), flagged (it has unseen characters, has text
    #: that its page would not show or reads like orders to a model), rule (a rule of the user asks, or it
    #: deletes much), large (a rule applies smaller ones), repeated (a person rejected or undid the same) or null
    #: once it waits no more
    waits_because: str | None = absent()
    #: the commit that holds it, or null while it waits
    commit: str | None = absent()
    #: its number, applied or not: people see what was applied, and can put it back
    proposal_id: int | None = absent()
    #: the branch that holds it while it waits; null once it is applied or decided
    branch: str | None = absent()
    #: the commit it was made on
    base_commit: str | None = absent()
    #: the commit with the change
    head_commit: str | None = absent()
    #: 1 for a new proposal; more once it was amended, or a note that waits was updated
    revision: int | None = absent()
    #: of the note as it is now (its canonical JSON); null when there is none
    content_sha256: str | None = absent()
    #: where people look at it
    review_url: str | None = absent()
    #: false when an equal proposal of yours was waiting already and is returned instead
    created: bool = absent()
    #: true when it is the next revision of a proposal that waited
    amended: bool = absent()


class BlockSummary(Record):
    """An item of `BlockList.items`."""
    #: the block's name in every call
    label: str = absent()
    #: for people; made from the label where the owner gave none
    title: str = absent()
    #: what the block is for
    description: str = absent()
    #: characters of the text
    length: int = absent()
    #: characters the text may have
    limit: int = absent()
    #: agents may not change it
    read_only: bool = absent()
    #: of the text, for `expected_sha256`
    sha256: str = absent()
    #: ISO 8601, UTC
    created_at: str = absent()
    #: ISO 8601, UTC
    updated_at: str = absent()


class BriefProposal(Record):
    """An item of `BlockList.waiting`."""
    #: its number in every call
    proposal_id: int = absent()
    #: which block; null for notes
    block_label: str | None = absent()
    #: which note; null for blocks and imports
    note_id: str | None = absent()
    #: preparing, open, changes_requested (your turn: amend it), merging, approved, rejected, withdrawn, expired
    #: or applied
    status: str = absent()
    #: how an undecided one stands to the block as it is now: clean, rebasable (the block changed, and it still
    #: fits or stands), conflict, already_applied or unknown; null once decided
    mergeability: str | None = absent()
    #: yours
    reasoning: str = absent()
    #: ISO 8601, UTC
    created_at: str = absent()
    #: where people look at it
    review_url: str = absent()


class BlockList(ListAnswer[BlockSummary]):
    """What `list_memory_blocks` answers."""
    waiting: list[BriefProposal] = absent()


class Block(Answer, BlockSummary):
    """What `read_memory_block` answers."""
    #: the text, or the lines asked for
    body: str = absent()
    #: how many lines the text has
    lines: int = absent()
    #: the lines that are shown, or null for all
    view_range: list[int] | None = absent()
    #: the view_range of the lines that were left out for their length, or null
    next_range: list[int] | None = absent()
    #: the commit it was read at
    commit: str = absent()
    #: as given, or null
    as_of: str | None = absent()
    #: how many more there are, which list_proposals names
    open_proposals_left_out: int = absent()
    open_proposals: list[BriefProposal] = absent()


class BlockChange(Record):
    """An item of `BlockHistory.items`."""
    #: hash of the commit, for `as_of`
    commit: str = absent()
    #: approved, edited, created, superseded, reinstated, deleted, applied, imported, reverted or recovered
    action: str = absent()
    #: username of the person, or null
    actor: str | None = absent()
    #: name of the agent that proposed it, or null
    agent: str | None = absent()
    #: the proposal it came from, or null
    proposal_id: int | None = absent()
    #: why the agent proposed it, or null
    reasoning: str | None = absent()
    #: what the person wrote with it
    comment: str = absent()
    #: ISO 8601, UTC
    at: str = absent()


class BlockHistory(ListAnswer[BlockChange]):
    """What `block_history` answers."""


class ProposedEdit(Answer):
    """What `propose_memory_edit` answers."""
    #: its number, applied or not: people see what was applied, and can put it back
    proposal_id: int = absent()
    #: the commit it was made on
    base_commit: str = absent()
    #: the commit with the change
    head_commit: str = absent()
    #: 1 for a new proposal; more once it was amended, or a note that waits was updated
    revision: int = absent()
    #: where people look at it
    review_url: str = absent()
    #: the commit that holds it, or null while it waits
    commit: str | None = absent()
    #: the branch that holds it while it waits; null once it is applied or decided
    branch: str | None = absent()
    #: false when an equal proposal of yours was waiting already and is returned instead
    created: bool = absent()
    #: true when it is the next revision of a proposal that waited
    amended: bool = absent()
    #: open while it waits for a person; applied when a rule of the user let it through at once
    status: str = absent()
    #: as with notes, but for policy; null also where no rule is about it
    waits_because: str | None = absent()
    #: how many places the edits replace; 0 for additions, sections and a whole text
    occurrences_replaced: int = absent()
    #: edits that were made although they differ from the text in white space, line ends or quotation marks:
    #: `edit` (its number from 0), and the `old_string` and `new_string` that were used
    repaired: list[dict[str, Any]] = absent()
    #: of the block's text as it is now, without the change
    content_sha256: str = absent()
    #: characters the text will have
    length: int = absent()
    #: characters the text may have
    limit: int = absent()
    #: sentences, also in the text
    warnings: list[str] = absent()


class NoteItem(Record):
    """An item of `NoteList.items`."""
    #: the note's name in every call
    id: str = absent()
    #: what it says
    content: str = absent()
    #: note, fact, assumption, hypothesis, discovery, risk, unknown, decision, convention, lesson_learned,
    #: pattern, fix, context
    type: str = absent()
    #: a list of words
    tags: list[str] = absent()
    #: one word more, or null
    category: str | None = absent()
    #: 0 to 1
    confidence: float = absent()
    #: why it was worth remembering, or null
    rationale: str | None = absent()
    #: 0 to 1
    importance: float = absent()
    #: agent, user or import
    source: str = absent()
    #: the conversation it came from, or null
    session_id: str | None = absent()
    #: the note that took its place, or null
    superseded_by: str | None = absent()
    #: why it was superseded, or null
    superseded_reason: str | None = absent()
    #: when it was superseded, or null while it holds
    superseded_at: str | None = absent()
    #: of everything it says
    sha256: str = absent()
    #: how often agents recalled it
    access_count: int = absent()
    #: when they did last (ISO 8601, UTC), or null
    last_access: str | None = absent()
    #: ISO 8601, UTC
    created_at: str = absent()
    #: ISO 8601, UTC
    updated_at: str = absent()


class NoteList(ListAnswer[NoteItem]):
    """What `note_list` answers."""
    #: with q, true while the search does not know the newest changes yet: the pages may then repeat or miss
    #: notes
    index_behind: bool = absent()


class Note(Answer, NoteItem):
    """What `note_read` answers."""
    #: the commit it was read at
    commit: str = absent()
    #: as given, or null
    as_of: str | None = absent()


class SearchResult(Record):
    """An item of `SearchResults.results`."""
    #: of a note
    note_id: str | None = absent()
    #: of a block
    block_label: str | None = absent()
    #: of a message
    message_id: str | None = absent()
    #: the note, the message or a passage of the block
    text: str = absent()
    #: 0 to 1: how much of what is asked for it says; can be compared between searches
    score: float = absent()
    #: user_memory, memory_block or conversation
    source: str = absent()
    #: the block's title and section, or the first words
    title: str = absent()
    #: the note's type, block or message
    type: str = absent()
    #: ISO 8601, UTC, or null
    created_at: str | None = absent()
    #: the conversation it came from, where there is one
    session_id: str | None = absent()
    #: ids of other notes that say the same, which are not listed again
    same_notes: list[str] | None = absent()
    #: true of a note that does not match and is one of the nearest, at most three
    weak: bool | None = absent()


class SearchResults(Answer):
    """What `memory_search` answers."""
    #: how many more there are, which were left out for their length
    left_out: int = absent()
    #: true for a question about everything: after what matches, the newest and most used notes follow
    broad: bool = absent()
    #: true while the search does not know the newest changes yet; the text says so too
    index_behind: bool = absent()
    #: true when meaning was left out, since the embedder did not answer
    words_only: bool = absent()
    results: list[SearchResult] = absent()


class ChangedNote(Answer, WrittenChange):
    """What `memory_save` answers."""
    #: the note's id
    note_id: str = absent()
    #: of a list of texts that is saved, the id of the note that says each
    note_ids: list[str] | None = absent()
    #: ids of other notes that say the same, newest first; of a new note, but for a word
    same_notes: list[str] = absent()


class RememberedNote(Answer, WrittenChange):
    """What `remember` answers."""
    #: true once it is in the memory; false while it waits for a person
    remembered: bool = absent()
    #: the memory's id; of what is known already, that memory's
    memory_id: str = absent()
    #: as given
    memory_type: str = absent()
    #: as in the text
    message: str = absent()
    #: ids of other notes that say the same, newest first; of a new note, but for a word
    same_notes: list[str] = absent()


class RecalledNote(Record):
    """An item of `RecalledNotes.memories`."""
    #: the memory's id
    id: str = absent()
    #: what it says
    content: str = absent()
    #: its type
    type: str = absent()
    #: 0 to 1
    confidence: float = absent()
    #: when it was stored (ISO 8601, UTC)
    timestamp: str = absent()
    #: when it was forgotten (ISO 8601, UTC); not there while it holds
    superseded_at: str | None = absent()
    #: what took its place, or null; not there while it holds
    superseded_by: str | None = absent()
    #: why it was forgotten, or null; not there while it holds
    superseded_reason: str | None = absent()
    #: ids of other memories that say the same, which are not listed again
    same_notes: list[str] | None = absent()
    #: true of a memory that does not match, of the nearest three at most
    weak: bool | None = absent()


class RecalledNotes(Answer):
    """What `recall` answers."""
    #: how many
    count: int = absent()
    #: how many more match, and were left out for their length
    left_out: int = absent()
    #: true while the search does not know the newest changes yet; the text says so too
    index_behind: bool = absent()
    memories: list[RecalledNote] = absent()


class ForgottenNote(Answer, WrittenChange):
    """What `forget` answers."""
    #: true once it is superseded; false while that waits for a person
    forgotten: bool = absent()
    #: the memory's id
    memory_id: str = absent()
    #: as given, or null
    reason: str | None = absent()
    #: as in the text
    message: str = absent()
    #: ids of other notes that say the same, newest first; of a new note, but for a word
    same_notes: list[str] = absent()


class PrimedNotes(Answer):
    """What `prime_memories` answers."""
    #: what is in it, and what was left out
    receipt: dict[str, Any] = absent()


class ProposalSummary(BriefProposal):
    """An item of `ProposalList.items`."""
    #: whose memory
    user_id: str = absent()
    #: block, note or import (many notes as a whole)
    target_kind: str = absent()
    #: when it was proposed, of a note its first words; null once deleted; its id once redacted
    title: str | None = absent()
    #: edit, rewrite, create_block or delete_block; of notes: save, update, delete, forget or import
    kind: str = absent()
    #: number of the revision that counts
    revision: int = absent()
    #: yours: low, medium or high
    confidence: str = absent()
    #: yours, or empty
    session_id: str = absent()
    #: when it closes by itself; null once decided
    expires_at: str | None = absent()
    #: true once its texts were removed, as too private or for its owner: they are empty then
    redacted: bool = absent()
    #: who decided, when and why
    decision: dict[str, Any] | None = absent()
    #: true when it was undone since, and the memory no longer has it: see `undone` of get_proposal
    reverted: bool = absent()
    #: how it was approved: as_proposed, part (some of its changes), edited (in the reviewer's words) or resolved
    #: (a text that settles a conflict); null for others
    approval: str | None = absent()
    #: while it is your turn, what you are asked for
    changes_requested: dict[str, Any] | None = absent()
    #: your decided proposal that this one takes up again; null for none that is known
    answers: int | None = absent()
    #: comments in its thread
    comment_count: int = absent()
    #: true when a person commented since you last did: answer with comment_on_proposal
    asks_you: bool = absent()


class ProposalList(ListAnswer[ProposalSummary]):
    """What `list_proposals` answers."""


class ProposalComment(Record):
    """An item of `Proposal.comments`."""
    #: username of the person, or name of the agent
    by: str = absent()
    #: person or agent
    by_kind: str = absent()
    #: what was written
    text: str = absent()
    #: id of the change it is about, or null for the whole proposal
    change: str | None = absent()
    #: the revision it was written about
    revision: int = absent()
    #: ISO 8601, UTC
    at: str = absent()


class ProposalCollidesWith(Record):
    """An item of `Proposal.collides_with`."""
    #: your other undecided proposals that change the same
    proposal_id: int = absent()
    #: what approving this one makes of it: no_longer_fits, too_long, settled (it asks for no more than this
    #: one), still_fits or in_part (some notes of that import no longer fit)
    effect: str = absent()
    #: what approving it first makes of this one; null where unknown
    other_first: str | None = absent()


class Proposal(Answer, ProposalSummary):
    """What `get_proposal` answers."""
    #: the branch that holds it; null once it is decided, since the branch is gone then
    branch: str | None = absent()
    #: the commit it was made on
    base_commit: str = absent()
    #: the commit with the change
    head_commit: str = absent()
    #: the commit that brought it into the memory, or null
    merge_commit: str | None = absent()
    #: what was asked for; empty for notes
    edits: list[dict[str, Any]] = absent()
    #: what becomes of each note; the first 50
    notes: list[dict[str, Any]] = absent()
    #: how many notes it changes; 0 for a block
    note_count: int = absent()
    #: what a person undid
    undone: dict[str, Any] | None = absent()
    #: the block's text, or the notes' contents, with the change; null when deleted since
    result: str | None = absent()
    #: the same as approved, where a person approved something else; else null
    final_text: str | None = absent()
    #: of a new block whose title the person changed, the one it got; else null
    final_title: str | None = absent()
    #: places where it is not what you proposed; empty for an approval in part
    difference: list[dict[str, Any]] = absent()
    #: of an approval in part, what was left out; of an import the first 50
    not_accepted: list[dict[str, Any]] = absent()
    #: true where these came back to you, to be proposed again, changed, with this proposal_id
    propose_again: bool = absent()
    #: what was left out of these for its length, by field
    left_out: dict[str, int] = absent()
    #: null; where the call was to wait and could not, the seconds after which to ask again
    retry_after: int | None = absent()
    comments: list[ProposalComment] = absent()
    collides_with: list[ProposalCollidesWith] = absent()


class WithdrawnProposal(Answer, ProposalSummary):
    """What `withdraw_proposal` answers."""


class PostedComment(Answer, ProposalComment):
    """What `comment_on_proposal` answers."""
    #: its number
    proposal_id: int = absent()
    #: whose memory
    user_id: str = absent()


class ContextBlock(Record):
    """An item of `ContextText.blocks`."""
    #: the block's name in every call
    label: str = absent()
    #: what people call it
    title: str = absent()
    #: of its text
    sha256: str = absent()


class ContextText(Answer):
    """What `context_read` answers."""
    #: which blocks are in it, and which did not fit
    blocks_receipt: dict[str, Any] = absent()
    #: auto, manual (no notes) or none (no notes, no skill)
    inject: str = absent()
    #: which notes are in it, and which were left out; null when none are primed
    receipt: dict[str, Any] | None = absent()
    blocks: list[ContextBlock] = absent()


class Conversation(Record):
    """An item of `ConversationList.items`."""
    #: its name in every call
    session_id: str = absent()
    #: the beginning of what the user said first
    title: str = absent()
    #: how many messages are kept
    count: int = absent()
    #: when the first was said (ISO 8601, UTC)
    first_at: str = absent()
    #: when the last was said
    last_at: str = absent()
    #: names of the agents that handed them in
    agents: list[str] = absent()


class ConversationList(ListAnswer[Conversation]):
    """What `memory_list_sessions` answers."""


class Message(Record):
    """An item of `MessageList.items`."""
    #: the message's id
    message_id: str = absent()
    #: user, assistant, system or tool
    role: str = absent()
    #: the speaker's name, or empty
    author: str = absent()
    #: what was said, whole
    content: str = absent()
    #: name of the agent that handed it in, or empty
    agent: str = absent()
    #: when it was said (ISO 8601, UTC)
    at: str = absent()


class MessageList(ListAnswer[Message]):
    """What `memory_read_session` answers."""
    #: which conversation
    session_id: str = absent()


class KeptMessages(Answer):
    """What `message_keep` answers."""
    #: whose messages
    session_id: str = absent()
    #: ids of those kept now
    new: list[str] = absent()
    #: ids of those kept before
    known: list[str] = absent()


class DeletedMessages(Answer):
    """What `message_delete` answers."""
    #: whose messages
    session_id: str = absent()
    #: how many of yours there were
    deleted: int = absent()
    #: how many stay, since another agent handed them in
    left: int = absent()


class ListFilesAnswerItem(Record):
    """An item of `ListFilesAnswer.items`."""
    #: the file
    path: str = absent()
    #: of a block; of a note its first words
    title: str = absent()
    #: in characters
    length: int = absent()
    #: your undecided proposal that makes it, or null where it is in the memory
    proposal_id: int | None = absent()


class ListFilesAnswer(ListAnswer[ListFilesAnswerItem]):
    """What `list_files` answers."""


class ViewFileAnswer(Answer):
    """What `view_file` answers."""
    #: the file
    path: str = absent()
    #: the text, or the lines asked for
    content: str = absent()
    #: how many lines the text has
    lines: int = absent()
    #: the lines that are shown, or null for all
    view_range: list[int] | None = absent()
    #: the view_range of the lines that were left out for their length, or null
    next_range: list[int] | None = absent()
    #: for `expected_sha256`
    sha256: str = absent()
    #: of a block; of a note its type
    title: str = absent()
    #: agents may not change it
    read_only: bool = absent()
    #: your undecided proposal that makes it, or null where it is in the memory
    proposal_id: int | None = absent()


class EditFileAnswer(Answer, WrittenChange):
    """What `edit_file` answers."""
    #: the file
    path: str = absent()
    #: of a note, its id
    note_id: str | None = absent()
    #: open while it waits for a person; applied when a rule of the user let it through at once
    status: str = absent()
    #: as with notes, but for policy; null also where no rule is about it
    waits_because: str | None = absent()
    #: of the block's text as it is now, without the change
    content_sha256: str | None = absent()
    #: how many places the edits replace; 0 for additions, sections and a whole text
    occurrences_replaced: int | None = absent()
    #: edits that were made although they differ from the text in white space, line ends or quotation marks:
    #: `edit` (its number from 0), and the `old_string` and `new_string` that were used
    repaired: list[dict[str, Any]] | None = absent()
    #: characters the text will have
    length: int | None = absent()
    #: characters the text may have
    limit: int | None = absent()
    #: sentences, also in the text
    warnings: list[str] | None = absent()
