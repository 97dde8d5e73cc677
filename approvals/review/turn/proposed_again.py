"""What a proposal says, as far as it would be the same if it was proposed again; and the secret of its fingerprints.

Pure functions of plain values, so that a migration may call them. Which rejections count, and finding them, is in
`services.turn.repeating`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from django.conf import settings
from django.utils.crypto import salted_hmac

from approvals.models import RejectReason
from approvals.review.whole_blocks import DELETION, WHOLE_OPERATIONS
from memory_app.models import TargetKind
from memory_app.text import alike, edits
from memory_app.text.alike import Said, Statement

#: Reasons after which the same must not come again, however it is worded.
_OF_THE_MATTER = (RejectReason.WRONG, RejectReason.OUTDATED, RejectReason.TOO_PRIVATE, RejectReason.OTHER)
#: A reviewer who finds the words bad asks for others: only the very same text is the same then.
_OF_THE_WORDS = (RejectReason.BADLY_WORDED,)
#: Fingerprints of one rejection that are kept; an import of thousands of notes has more.
MOST_KEPT = 20_000
#: After these, what is proposed is remembered. What was a duplicate is not: it may be missing later.
COUNTING = (*_OF_THE_MATTER, *_OF_THE_WORDS)


def is_about_words(reason: str) -> bool:
    """Whether a proposal was rejected for how it says something, not for what it says."""
    return reason in _OF_THE_WORDS


def secrets(agent: int, owner: str) -> tuple[bytes, ...]:
    """Return the secrets of one agent's fingerprints for one owner: the one to write with, and former ones.

    Fingerprints of different owners or agents have nothing in common, even of equal texts.
    """
    keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    of = f"{agent} {owner}"
    return tuple(
        salted_hmac("approvals.fingerprints", of, secret=key, algorithm="sha256").digest() for key in keys if key
    )


def said_of_revision(
    target_kind: str,
    target: str,
    *,
    base_text: str,
    result_text: str,
    asked: Sequence[dict[str, Any]],
    note_changes: Sequence[dict[str, Any]],
) -> tuple[Said, ...]:
    """Return what a revision says.

    Args:
        asked: the edits, as stored.
        note_changes: as stored.
    """
    if target_kind == TargetKind.BLOCK:
        if asked and asked[0].get("op") in WHOLE_OPERATIONS:
            return (said_of_whole_block(target, result_text, is_deletion=asked == DELETION),)
        return (said_of_block(target, base_text, result_text, edits.from_json(asked)),)
    return tuple(said_of_note(change) for change in note_changes)


def said_of_block(label: str, before: str, after: str, asked: Sequence[edits.Edit]) -> Said:
    """Return what edits of a block say."""
    change = alike.changed(before, after)
    exact = [_asked(label, asked)]
    if not (change.added or change.removed):  # it only moves or formats
        exact.append(f"result {label} {' '.join(after.split())}")
    return Said(change.added, change.removed, where=label, exact=tuple(exact))


def said_of_whole_block(label: str, text: str, *, is_deletion: bool) -> Said:
    """Return what a new block says, or the deletion of one: to delete it again is the same whatever stands in it."""
    if is_deletion:
        return Said(exact=(f"deletes {label}",))
    return Said(alike.statements_of(text), where=label, exact=(f"creates {label} {' '.join(text.split())}",))


def said_unread(label: str, asked: Sequence[edits.Edit]) -> Said:
    """Return what edits say by their own words, for an agent that may not read the block.

    Nothing of the block is in it: whether it is the same as before must not tell what stands there.
    """
    added = [statement for edit in asked for statement in _own_words(edit)]
    return Said(tuple(added), where=label, exact=(_asked(label, asked),))


def said_of_note(change: dict[str, Any], *, may_read: bool | None = None) -> Said:
    """Return what the change of a note says.

    Args:
        change: as a revision stores it.
        may_read: whether the agent that asks may read what the note was before; if not, nothing of that is in it.
            None for what is remembered of a rejection, by which both find it.
    """
    before, after, id_ = change["before"], change["after"], change["id"]
    if after is None or (before and after.get("superseded_at") and not before.get("superseded_at")):
        by = (after or {}).get("superseded_by") or ""
        unread = f"removes {id_} {by}"
        read = f"{unread} {' '.join(before['content'].split()) if before else ''}"
        return Said(exact=(unread, read) if may_read is None else (read if may_read else unread,))
    if before is None or may_read is False:
        return Said(alike.statements_of(after["content"]), where=id_)
    if before["content"] == after["content"]:
        return Said(exact=(f"sets {id_} {_fields(before, after)}",))
    of = alike.changed(before["content"], after["content"])
    reformatted = () if of.added or of.removed else (f"result {id_} {' '.join(after['content'].split())}",)
    return Said(of.added, of.removed, where=id_, exact=reformatted)


def _own_words(edit: edits.Edit) -> Iterator[Statement]:
    match edit:
        case edits.Replace():
            yield from alike.changed(edit.old_string, edit.new_string).added
        case _:
            yield from alike.statements_of(edit.content)


def _asked(label: str, asked: Sequence[edits.Edit]) -> str:
    """Return the edits as they were asked for, without how often they fit."""
    plain = [{**edit, "occurrences": None} for edit in edits.to_json(asked)]
    return f"asks {label} {json.dumps(plain, sort_keys=True)}"


def _fields(before: dict[str, Any], after: dict[str, Any]) -> str:
    times = {"updated_at", "sha256"}
    set_to = {name: value for name, value in after.items() if value != before.get(name) and name not in times}
    return json.dumps(set_to, sort_keys=True)
