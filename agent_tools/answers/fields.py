"""The fields of `data`: of which type they are, and what they mean.

The OpenAPI document and the classes of the client are made from these tables, and tests compare them with every answer
they get. A field is written `string | null: what it means`. Types are those of JSON Schema and the names in `OBJECTS`;
`integer[]` is a list, `integer{}` an object with values of that type, and what begins with `optional` may not be there.
Of a list of objects, each field has a row: `items[].label`.
"""

from assent_client.text.notes import TYPES

Fields = dict[str, str]


def read(text: str) -> tuple[str, bool, str]:
    """Return a field's type, whether it may be missing, and what it means. Raise ValueError where it has no type."""
    kind, colon, meaning = text.partition(": ")
    if not colon:
        raise ValueError(f"{text!r} has no type")
    return kind.removeprefix("optional "), kind.startswith("optional "), meaning


def split(returns: Fields) -> tuple[Fields, dict[str, Fields]]:
    """Return the plain fields, and those of each list of objects."""
    plain: Fields = {}
    nested: dict[str, Fields] = {}
    for field, text in returns.items():
        where, dot, inner = field.partition("[].")
        if dot:
            nested.setdefault(where, {})[inner] = text
        else:
            plain[field] = text
    return plain, nested


def of_either(one: Fields, other: Fields) -> Fields:
    """Return the fields of an answer that is about one thing or another: what only one has is null for the other."""
    found = {}
    for name, text in (one | other).items():
        kind, _, meaning = read(text)
        is_in_both = all(name in each and "null" not in read(each[name])[0] for each in (one, other))
        found[name] = text if is_in_both or "null" in kind else f"{kind} | null: {meaning}"
    return found


INDEX_BEHIND = "boolean: true while the search does not know the newest changes yet; the text says so too"

#: Notes of a proposal in an answer; an import may have thousands.
NOTES_SHOWN = 50

BLOCK: Fields = {
    "label": "string: the block's name in every call",
    "title": "string: for people; made from the label where the owner gave none",
    "description": "string: what the block is for",
    "length": "integer: characters of the text",
    "limit": "integer: characters the text may have",
    "read_only": "boolean: agents may not change it",
    "sha256": "string: of the text, for `expected_sha256`",
    "created_at": "string: ISO 8601, UTC",
    "updated_at": "string: ISO 8601, UTC",
}

#: Of a text that may be shown in part.
PART: Fields = {
    "lines": "integer: how many lines the text has",
    "view_range": "integer[] | null: the lines that are shown, or null for all",
    "next_range": "integer[] | null: the view_range of the lines that were left out for their length, or null",
}

CHANGE: Fields = {
    "commit": "string: hash of the commit, for `as_of`",
    "action": "string: approved, edited, created, superseded, reinstated, deleted, applied, imported, reverted or "
    "recovered",
    "actor": "string | null: username of the person, or null",
    "agent": "string | null: name of the agent that proposed it, or null",
    "proposal_id": "integer | null: the proposal it came from, or null",
    "reasoning": "string | null: why the agent proposed it, or null",
    "comment": "string: what the person wrote with it",
    "at": "string: ISO 8601, UTC",
}

PROPOSAL: Fields = {
    "proposal_id": "integer: its number in every call",
    "user_id": "string: whose memory",
    "target_kind": "string: block, note or import (many notes as a whole)",
    "block_label": "string | null: which block; null for notes",
    "note_id": "string | null: which note; null for blocks and imports",
    "title": "string | null: when it was proposed, of a note its first words; null once deleted; its id once redacted",
    "kind": "string: edit, rewrite, create_block or delete_block; of notes: save, update, delete, forget or import",
    "status": "string: preparing, open, changes_requested (your turn: amend it), merging, approved, rejected, "
    "withdrawn, expired or applied",
    "mergeability": "string | null: how an undecided one stands to the block as it is now: clean, rebasable (the block "
    "changed, and it still fits or stands), conflict, already_applied or unknown; null once decided",
    "revision": "integer: number of the revision that counts",
    "reasoning": "string: yours",
    "confidence": "string: yours: low, medium or high",
    "session_id": "string: yours, or empty",
    "created_at": "string: ISO 8601, UTC",
    "expires_at": "string | null: when it closes by itself; null once decided",
    "redacted": "boolean: true once its texts were removed, as too private or for its owner: they are empty then",
    "decision": "Decision | null: who decided, when and why",
    "reverted": "boolean: true when it was undone since, and the memory no longer has it: see `undone` of get_proposal",
    "approval": "string | null: how it was approved: as_proposed, part (some of its changes), edited (in the "
    "reviewer's words) or resolved (a text that settles a conflict); null for others",
    "changes_requested": "ChangeRequest | null: while it is your turn, what you are asked for",
    "answers": "integer | null: your decided proposal that this one takes up again; null for none that is known",
    "review_url": "string: where people look at it",
    "comment_count": "integer: comments in its thread",
    "asks_you": "boolean: true when a person commented since you last did: answer with comment_on_proposal",
}

COMMENT: Fields = {
    "by": "string: username of the person, or name of the agent",
    "by_kind": "string: person or agent",
    "text": "string: what was written",
    "change": "string | null: id of the change it is about, or null for the whole proposal",
    "revision": "integer: the revision it was written about",
    "at": "string: ISO 8601, UTC",
}

#: The thread of a proposal, newest first.
COMMENTS: Fields = {f"comments[].{name}": meaning for name, meaning in COMMENT.items()}

PROPOSAL_IN_FULL: Fields = PROPOSAL | {
    "branch": "string | null: the branch that holds it; null once it is decided, since the branch is gone then",
    "base_commit": "string: the commit it was made on",
    "head_commit": "string: the commit with the change",
    "merge_commit": "string | null: the commit that brought it into the memory, or null",
    "edits": "ProposedEdit[]: what was asked for; empty for notes",
    "notes": f"NoteChange[]: what becomes of each note; the first {NOTES_SHOWN}",
    "note_count": "integer: how many notes it changes; 0 for a block",
    "undone": "Undone | null: what a person undid",
    "result": "string | null: the block's text, or the notes' contents, with the change; null when deleted since",
    "final_text": "string | null: the same as approved, where a person approved something else; else null",
    "final_title": "string | null: of a new block whose title the person changed, the one it got; else null",
    "difference": "Difference[]: places where it is not what you proposed; empty for an approval in part",
    "not_accepted": f"NotAccepted[]: of an approval in part, what was left out; of an import the first {NOTES_SHOWN}",
    "propose_again": "boolean: true where these came back to you, to be proposed again, changed, with this proposal_id",
}

#: Of a call that was to wait.
RETRY_AFTER = "integer | null: null; where the call was to wait and could not, the seconds after which to ask again"

_DECISION: Fields = {
    **{name: PROPOSAL[name] for name in "proposal_id user_id target_kind block_label note_id title".split()},
    "what": "string: approved, rejected (also what was in the memory already, with the reason duplicate), "
    "changes_requested, expired, reverted (an approval, or an automatic change, was undone), reopened (it waits for a "
    "person again) or commented (by a person)",
    "by": "string | null: username of the person; null for Assent itself",
    "at": "string: ISO 8601, UTC",
    "reason": "string | null: of a rejection, a request, or the part that was not accepted; else null",
    "comment": "string: what the person wrote with it, or the comment itself; may be empty",
    "revision": "integer: the revision it is about",
    "status": "string: of the proposal as it is today",
    "approval": "string | null: of an approval: as_proposed, part, edited or resolved; else null",
    "final_text": "string | null: what was approved where it is not as proposed, of up to 2,000 characters; else null",
    "difference": "Difference[]: as get_proposal has it; places that are too long are left out",
    "not_accepted": "NotAccepted[]: as get_proposal has it; changes that are too long are left out",
    "propose_again": "boolean: as get_proposal has it",
    "is_cut": "boolean: true when something of these four was left out for its length: get_proposal has it",
    "text": "string: all of it in a line for the model",
    "cursor": "string: to go on after this one: `since`, or `decided_since`",
}

DECISIONS: Fields = {f"items[].{name}": meaning for name, meaning in _DECISION.items()} | {
    "next": "string: where to go on: `since`, or `decided_since`, of the next call; always given",
    "more": "boolean: true when there is more already",
    "retry_after": RETRY_AFTER + "; also where somebody is deciding this moment",
}

COLLISIONS: Fields = {
    "collides_with[].proposal_id": "integer: your other undecided proposals that change the same",
    "collides_with[].effect": "string: what approving this one makes of it: no_longer_fits, too_long, settled (it "
    "asks for no more than this one), still_fits or in_part (some notes of that import no longer fit)",
    "collides_with[].other_first": "string | null: what approving it first makes of this one; null where unknown",
}

OPEN_PROPOSAL: Fields = {
    name: PROPOSAL[name]
    for name in "proposal_id block_label note_id status mergeability reasoning created_at review_url".split()
}


NOTE: Fields = {
    "id": "string: the note's name in every call",
    "content": "string: what it says",
    "type": f"string: {', '.join(TYPES)}",
    "tags": "string[]: a list of words",
    "category": "string | null: one word more, or null",
    "confidence": "number: 0 to 1",
    "rationale": "string | null: why it was worth remembering, or null",
    "importance": "number: 0 to 1",
    "source": "string: agent, user or import",
    "session_id": "string | null: the conversation it came from, or null",
    "superseded_by": "string | null: the note that took its place, or null",
    "superseded_reason": "string | null: why it was superseded, or null",
    "superseded_at": "string | null: when it was superseded, or null while it holds",
    "sha256": "string: of everything it says",
    "access_count": "integer: how often agents recalled it",
    "last_access": "string | null: when they did last (ISO 8601, UTC), or null",
    "created_at": "string: ISO 8601, UTC",
    "updated_at": "string: ISO 8601, UTC",
}

WRITTEN: Fields = {
    "status": "string: applied, open while it waits for a person, withdrawn: a note of yours that waited and was "
    "deleted, or known: a note says this already, nothing was made, and there is no proposal",
    "waits_because": "string | null: policy (the user wants to be asked), scope (the token may only propose), secrets "
    "(it, its reasoning or its evidence reads like a key, token, password or card number), flagged (it has unseen "
    "characters, has text that its page would not show or reads like orders to a model), rule (a rule of the user "
    "asks, or it deletes much), large (a rule applies smaller ones), repeated (a person rejected or undid the same) "
    "or null once it waits no more",
    "commit": "string | null: the commit that holds it, or null while it waits",
    "proposal_id": "integer | null: its number, applied or not: people see what was applied, and can put it back",
    "branch": "string | null: the branch that holds it while it waits; null once it is applied or decided",
    "base_commit": "string | null: the commit it was made on",
    "head_commit": "string | null: the commit with the change",
    "revision": "integer | null: 1 for a new proposal; more once it was amended, or a note that waits was updated",
    "content_sha256": "string | null: of the note as it is now (its canonical JSON); null when there is none",
    "review_url": "string | null: where people look at it",
    "created": "boolean: false when an equal proposal of yours was waiting already and is returned instead",
    "amended": "boolean: true when it is the next revision of a proposal that waited",
}

_NEVER_NULL = ("proposal_id", "base_commit", "head_commit", "revision", "review_url")

PROPOSED: Fields = {
    **{name: WRITTEN[name].replace(" | null", "") for name in _NEVER_NULL},
    "status": "string: open while it waits for a person; applied when a rule of the user let it through at once",
    "waits_because": "string | null: as with notes, but for policy; null also where no rule is about it",
    **{name: WRITTEN[name] for name in ("commit", "branch", "created", "amended")},
    "occurrences_replaced": "integer: how many places the edits replace; 0 for additions, sections and a whole text",
    "repaired": "object[]: edits that were made although they differ from the text in white space, line ends or "
    "quotation marks: `edit` (its number from 0), and the `old_string` and `new_string` that were used",
    "content_sha256": "string: of the block's text as it is now, without the change",
    "length": "integer: characters the text will have",
    "limit": "integer: characters the text may have",
    "warnings": "string[]: sentences, also in the text",
}


def paged(item: Fields) -> Fields:
    """Return the fields of a list's `data`."""
    return {f"items[].{name}": meaning for name, meaning in item.items()} | {
        "next": "string | null: the `cursor` of the next page, or null"
    }


_MOVED: Fields = {
    "moved_from_line": "optional integer: of what was to be moved, where it stands",
    "moved_to_line": "optional integer: where it was to go",
}
_SAID: Fields = {
    "by": "string | null: username of the person; null for Assent itself",
    "at": "string | null: ISO 8601, UTC",
    "comment": "string: the person's words",
}
_COUNTED: Fields = {
    "left_out_count": "integer: how many there are",
    "tokens": "integer: of the text, estimated as one for four bytes of UTF-8",
    "budget": "integer: 0 for no limit",
}
_REASON = "string | null: wrong, outdated, too_private, duplicate, badly_worded or other"

#: Objects with a name in the OpenAPI document: what the type of a field may name, and what lists have.
OBJECTS: dict[str, Fields] = {
    "Block": BLOCK,
    "BlockChange": CHANGE,
    "Comment": COMMENT,
    "DecidedProposal": _DECISION,
    "Note": NOTE,
    "OpenProposal": OPEN_PROPOSAL,
    "Proposal": PROPOSAL,
    "Decision": _SAID | {"reason": f"{_REASON}, of a rejection or of the part that was not accepted"},
    "ChangeRequest": _SAID
    | {
        "reason": f"{_REASON}; conflict where the text changed and it no longer fits, block_deleted or block_exists "
        "where its block was deleted or made otherwise",
        "revision": "integer: the revision it is about",
    },
    "Undone": _SAID
    | {
        "what": "string: reverted (the memory is as it was before your change) or reopened (it waits again)",
        "commit": "string | null: the one that reverted it",
    },
    "ProposedEdit": {
        "op": "string: replace, rewrite, append, prepend, insert, section, create_block or delete_block; the others "
        "are of some",
    }
    | dict.fromkeys(
        ("old_string", "new_string", "content", "header", "title", "description"), "optional string: as given"
    )
    | dict.fromkeys(("replace_all", "own_line"), "optional boolean: as given")
    | {"is_of_older": "optional boolean: true of a rewrite when the block had changed since you read it"}
    | dict.fromkeys(("occurrences", "line", "limit"), "optional integer | null: as given, or as found"),
    "StoredNote": {name: text for name, text in NOTE.items() if name not in ("access_count", "last_access")}
    | {"owner": "string: whose it is"},
    "NoteChange": {
        "id": "string: the note's",
        "before": "StoredNote | null: null for a new one, and when it was deleted since",
        "after": "StoredNote | null: null for one that goes, and when it was deleted since",
    },
    "Difference": {"proposed": "string: your words", "approved": "string: the reviewer's"} | _MOVED,
    "NotAccepted": {
        "id": "optional string: of an import, the note's",
        "before": "string | StoredNote | null: the text, or of an import the note",
        "after": "string | StoredNote | null: what it was to become",
    }
    | _MOVED,
    "LeftOutNote": {"note_id": "string: which", "why": "string: superseded, type, tags, recent, double or budget"},
    "Receipt": {
        "included": "string[]: ids, the most valuable first",
        "left_out": "LeftOutNote[]: the first 200",
        "over_budget": "boolean: the one note that is always included is larger than the budget",
        "commit": "string: the commit it was read at",
    }
    | _COUNTED,
    "BlocksReceipt": {
        "included": "string[]: labels",
        "left_out": "string[]: labels of the first 200 blocks that did not fit, the last changed first",
    }
    | _COUNTED,
    "Decisions": {
        "items": "DecidedProposal[]: in the order it happened",
        "next": "string: where to go on: `decided_since` of list_proposals",
        "more": "boolean: true when there is more already",
        "left_out": "integer: how many more there are",
    },
}
