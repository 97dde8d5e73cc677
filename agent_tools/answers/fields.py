"""The fields of `data` and what they mean.

The OpenAPI document has these tables, and a test compares them with what is really answered.
"""

from assent_client.text.notes import TYPES

Fields = dict[str, str]

INDEX_BEHIND = "true while the search does not know the newest changes yet; the text says so too"

#: Notes of a proposal in an answer; an import may have thousands.
NOTES_SHOWN = 50

BLOCK: Fields = {
    "label": "the block's name in every call",
    "title": "for people; made from the label where the owner gave none",
    "description": "what the block is for",
    "length": "characters of the text",
    "limit": "characters the text may have",
    "read_only": "agents may not change it",
    "sha256": "of the text, for `expected_sha256`",
    "created_at": "ISO 8601, UTC",
    "updated_at": "ISO 8601, UTC",
}

CHANGE: Fields = {
    "commit": "hash of the commit, for `as_of`",
    "action": "approved, edited, created, superseded, reinstated, deleted, applied, imported, reverted or recovered",
    "actor": "username of the person, or null",
    "agent": "name of the agent that proposed it, or null",
    "proposal_id": "the proposal it came from, or null",
    "reasoning": "why the agent proposed it, or null",
    "comment": "what the person wrote with it",
    "at": "ISO 8601, UTC",
}

PROPOSAL: Fields = {
    "proposal_id": "its number in every call",
    "user_id": "whose memory",
    "target_kind": "block, note or import (many notes as a whole)",
    "block_label": "which block; null for notes",
    "note_id": "which note; null for blocks and imports",
    "title": "the block's title, or the beginning of the note, when it was proposed; null "
    "when the block or note was deleted since; once redacted, its label or id",
    "kind": "edit, rewrite, create_block or delete_block; of notes: save, update, delete, forget or import",
    "status": "preparing, open, changes_requested (your turn: amend it), merging, approved, rejected, withdrawn, "
    "expired or applied",
    "mergeability": (
        "how an undecided one stands to the block as it is now: clean, rebasable (the block changed, the edit "
        "still fits or the deletion still stands), conflict, already_applied or unknown; null once decided"
    ),
    "revision": "number of the revision that counts",
    "reasoning": "yours",
    "confidence": "yours: low, medium or high",
    "session_id": "yours, or empty",
    "created_at": "ISO 8601, UTC",
    "expires_at": "when it closes by itself; null once decided",
    "redacted": "true once its texts were removed, as too private or for its owner: they are empty then",
    "decision": "null, or `by` (username or null), `at`, `reason` (of a rejection, or of the part that was not "
    "accepted: wrong, outdated, too_private, duplicate, badly_worded or other; else null) and `comment`, the "
    "reviewer's words",
    "reverted": "true when it was approved or applied and undone since: the memory no longer has it; get_proposal says "
    "who did and why",
    "approval": "how it was approved: as_proposed, part (some of its changes), edited (in the reviewer's words) or "
    "resolved (a text that settles a conflict); null for others",
    "changes_requested": "while it is your turn what you are asked for: `by` (username; null for Assent itself), `at`, "
    "`reason` (wrong, outdated or badly_worded; conflict where the text changed and it no longer fits, block_deleted "
    "or block_exists where its block was deleted or made otherwise; or null), `comment` and the `revision` it is "
    "about; else null",
    "answers": "your decided proposal that this one takes up again, as far as can be told; null for none",
    "review_url": "where people look at it",
    "comment_count": "comments in its thread",
    "asks_you": "true when a person commented since you last did: read it with get_proposal, answer with "
    "comment_on_proposal",
}

COMMENT: Fields = {
    "by": "username of the person, or name of the agent",
    "by_kind": "person or agent",
    "text": "what was written",
    "change": "id of the change it is about, or null for the whole proposal",
    "revision": "the revision it was written about",
    "at": "ISO 8601, UTC",
}

#: The thread of a proposal, newest first.
COMMENTS: Fields = {f"comments[].{name}": meaning for name, meaning in COMMENT.items()}

PROPOSAL_IN_FULL: Fields = PROPOSAL | {
    "branch": "the branch that holds it; null once it is decided, since the branch is gone then",
    "base_commit": "the commit it was made on",
    "head_commit": "the commit with the change",
    "merge_commit": "the commit that brought it into the memory, or null",
    "edits": "what was asked for, each with `op`: replace, rewrite, append, prepend, insert, section, create_block or "
    "delete_block; empty for notes",
    "notes": "what becomes of each note: `id`, `before`, `after` (both null when the note was deleted since); "
    f"the first {NOTES_SHOWN}",
    "note_count": "how many notes it changes; 0 for a block",
    "undone": "null, or what a person undid: `what` (reverted: the memory is as it was before your change; reopened: a "
    "rejection was taken back, and it waits again), `by`, `at`, `comment`, and `commit`, the one that "
    "reverted it or null",
    "result": "the block's text, or the notes' contents, with the change; null when the block, or one of the notes, "
    "was deleted since",
    "final_text": "where a person approved something else than you proposed: the block's text, or the notes' contents, "
    "as approved; else null",
    "final_title": "of a new block whose title the person changed, the one it got; else null",
    "difference": "places where it is not what you proposed, each `proposed` and `approved`; empty for an approval in "
    "part, and where nothing differs",
    "not_accepted": "of an approval in part: each change that was not accepted, `before` and `after`, of what was to "
    "be moved `moved_from_line` and `moved_to_line` too; of an import, `id`, `before` and `after` of each note, the "
    f"first {NOTES_SHOWN}",
    "propose_again": "true where these came back to you, to be changed and proposed again, with this proposal_id; "
    "false: they were rejected",
}

#: Of a call that was to wait.
RETRY_AFTER = "null; where the call was to wait and could not, the seconds after which to ask again"

_DECISION: Fields = {
    "proposal_id": PROPOSAL["proposal_id"],
    "user_id": PROPOSAL["user_id"],
    "target_kind": PROPOSAL["target_kind"],
    "block_label": PROPOSAL["block_label"],
    "note_id": PROPOSAL["note_id"],
    "title": PROPOSAL["title"],
    "what": "approved, rejected (also what was in the memory already, with the reason duplicate), changes_requested, "
    "expired, reverted (an approval, or an automatic change, was undone), reopened (it waits for a person again) or "
    "commented (by a person)",
    "by": "username of the person; null for Assent itself",
    "at": "ISO 8601, UTC",
    "reason": "of a rejection, a request for changes, or the part that was not accepted, as in `decision`; else null",
    "comment": "what the person wrote with it, or the comment itself; may be empty",
    "revision": "the revision it is about",
    "status": "of the proposal as it is today",
    "approval": "of an approval: as_proposed, part, edited or resolved; else null",
    "final_text": "what was approved where it is not as proposed, of up to 2,000 characters; else null",
    "difference": "as get_proposal has it; places that are too long are left out",
    "not_accepted": "as get_proposal has it; changes that are too long are left out",
    "propose_again": "as get_proposal has it",
    "is_cut": "true when something of these four was left out for its length: get_proposal has it",
    "text": "all of it in a line for the model",
    "cursor": "to go on after this one: `since`, or `decided_since`",
}

DECISIONS: Fields = {f"items[].{name}": meaning for name, meaning in _DECISION.items()} | {
    "next": "where to go on: `since`, or `decided_since`, of the next call; always given",
    "more": "true when there is more already",
    "retry_after": RETRY_AFTER + "; also where somebody is deciding this moment",
}

COLLISIONS: Fields = {
    "collides_with[].proposal_id": "your other undecided proposals that change the same; those of other agents are not "
    "told",
    "collides_with[].effect": "what approving this one makes of it: no_longer_fits, too_long, settled (it asks for no "
    "more than this one), still_fits or in_part (some notes of that import no longer fit)",
    "collides_with[].other_first": "what approving it first makes of this one, in the same words; null where that is "
    "not known",
}

PROPOSED: Fields = {
    "proposal_id": "its number",
    "status": "open while it waits for a person; applied when a rule of the user let it through at once",
    "waits_because": "why a person is asked although a rule may apply other changes: scope, secrets, rule or large, as "
    "with notes; repeated: a person rejected or undid the same before; null where no rule is about it, and once it is "
    "decided",
    "commit": "the commit that holds it in the memory once it is applied or approved, or null",
    "branch": "the branch that holds it; null once it is decided",
    "base_commit": "the commit it was made on",
    "head_commit": "the commit with the change",
    "revision": "1 for a new proposal, one more each time it is amended",
    "occurrences_replaced": "how many places the edits replace; 0 for additions, sections and a whole text",
    "content_sha256": "of the block's text as it is now, without the change",
    "review_url": "where people look at it",
    "created": "false when an equal proposal of yours was waiting already and is returned instead",
    "amended": "true when `proposal_id` was given: it is the next revision of that proposal",
    "length": "characters the text will have",
    "limit": "characters the text may have",
    "warnings": "sentences, also in the text",
}

OPEN_PROPOSAL: Fields = {
    name: PROPOSAL[name]
    for name in (
        "proposal_id",
        "block_label",
        "note_id",
        "status",
        "mergeability",
        "reasoning",
        "created_at",
        "review_url",
    )
}


NOTE: Fields = {
    "id": "the note's name in every call",
    "content": "what it says",
    "type": ", ".join(TYPES),
    "tags": "a list of words",
    "category": "one word more, or null",
    "confidence": "0 to 1",
    "rationale": "why it was worth remembering, or null",
    "importance": "0 to 1",
    "source": "agent, user or import",
    "session_id": "the conversation it came from, or null",
    "superseded_by": "the note that took its place, or null",
    "superseded_reason": "why it was superseded, or null",
    "superseded_at": "when it was superseded, or null while it holds",
    "sha256": "of everything it says",
    "access_count": "how often agents recalled it",
    "last_access": "when they did last (ISO 8601, UTC), or null",
    "created_at": "ISO 8601, UTC",
    "updated_at": "ISO 8601, UTC",
}

WRITTEN: Fields = {
    "status": "applied, open while it waits for a person, or withdrawn: a note of yours that waited and was deleted",
    "waits_because": "policy (the user wants to be asked), scope (the token may only propose), secrets (it, its "
    "reasoning or its evidence reads like a key, token, password or card number, which a person sees first), rule (a "
    "rule of the user asks, or it reads as risky), large (a rule applies smaller ones at once), repeated (a person "
    "rejected or undid the same before) or null once it waits no more",
    "commit": "the commit that holds it, or null while it waits",
    "proposal_id": "its number, applied or not: people see what was applied, and can put it back",
    "branch": "the branch that holds it while it waits; null once it is applied or decided",
    "base_commit": "the commit it was made on",
    "head_commit": "the commit with the change",
    "revision": "1 for a new proposal; 2 and more once it was amended, or a note that waits was updated",
    "content_sha256": "of the note as it is now (its canonical JSON); null when there is none",
    "review_url": "where people look at it",
    "created": "false when an equal proposal of yours was waiting already and is returned instead",
    "amended": "true when it is the next revision of a proposal that waited",
}


def paged(item: Fields) -> Fields:
    """Return the fields of a list's `data`."""
    return {f"items[].{name}": meaning for name, meaning in item.items()} | {
        "next": "the `cursor` of the next page, or null"
    }
