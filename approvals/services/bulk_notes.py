"""Change several notes at once, and take such a change back: one commit in a person's name each.

What was shown is what is changed: notes that are gone or differ since are left out, and named.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.models import User
from approvals.review.note_changes import NoteChange, sha256_of, stamped
from approvals.services.errors import NoChange, NotesChanged
from approvals.services.notes import NoteChangeOutcome, commit_notes, require_valid, tidied
from memory_app import reads, recall_counts
from memory_app.models import Change, TargetKind
from memory_app.text import alike

#: Notes changed at once.
MOST_NOTES = 2_000
#: Fields that a note takes from one that it is folded with, where it has none.
_LACKED = ("category", "rationale")
#: A change between reading and writing is met by reading once more.
_TRIES = 3


class BulkAction(StrEnum):
    """What is done to the notes; the value is the word in the URL."""

    DELETE = "delete"
    OUTDATE = "outdate"
    RETAG = "retag"
    FOLD = "fold"


#: Of the ledger, with the verb of the commit message.
_ACTIONS = {
    BulkAction.DELETE: (Change.Action.DELETED, "Delete"),
    BulkAction.OUTDATE: (Change.Action.SUPERSEDED, "Forget"),
    BulkAction.RETAG: (Change.Action.EDITED, "Update"),
    BulkAction.FOLD: (Change.Action.EDITED, "Fold"),
}


@dataclass(frozen=True)
class BulkOutcome:
    """What became of several notes.

    Args:
        outcome: the change of those that were changed.
        left_out: ids of notes that are gone or changed since they were shown.
        unchanged: how many were so already.
    """

    outcome: NoteChangeOutcome
    left_out: tuple[str, ...]
    unchanged: int


class NotABulkChange(LookupError):
    """No such commit changed notes of this owner directly: there is nothing to take back here."""


def change_many(
    *,
    actor: User,
    owner: str,
    action: BulkAction,
    seen: Mapping[str, str],
    comment: str = "",
    add_tags: Sequence[str] = (),
    remove_tags: Sequence[str] = (),
) -> BulkOutcome:
    """Delete notes, mark them as outdated, change their tags or fold them (`folded`), in one commit.

    Args:
        seen: the sha256 of each note as it was shown, by id; at most `MOST_NOTES`.
        comment: kept in the history; of outdated notes also with each as the reason.

    Raises:
        `not_allowed`, `note_invalid`: nothing was changed.
        NotesChanged: none of them is as it was shown.
        NoChange: all of them are so already.
    """
    now = timezone.now()
    comment = comment.strip()

    def changed(note: reads.Note) -> reads.Note | None:
        if action is BulkAction.DELETE:
            return None
        if action is BulkAction.RETAG:
            kept = [tag for tag in note.tags if tag not in remove_tags]
            after = replace(note, tags=tidied([*kept, *add_tags]))
        elif note.is_superseded:
            return note
        else:
            after = replace(note, superseded_at=now, superseded_by=None, superseded_reason=comment or None)
        after = stamped(after, now)
        require_valid(after)
        return after

    def wanted() -> tuple[list[NoteChange], list[str]]:
        there = reads.find_notes(owner, seen)
        fit = {id_: there[id_] for id_, sha256 in seen.items() if id_ in there and there[id_].sha256 == sha256}
        if action is BulkAction.FOLD:
            after = folded(tuple(fit.values()), recall_counts.counts(owner))
            stamps = {id_: stamped(note, now) if note else None for id_, note in after.items()}
            changes = [NoteChange(id_, note, stamps.get(id_, note)) for id_, note in fit.items()]
        else:
            changes = [NoteChange(id_, note, changed(note)) for id_, note in fit.items()]
        return changes, [id_ for id_ in seen if id_ not in fit]

    return _write(wanted, actor, owner, *_ACTIONS[action], comment=comment)


def folded(notes: Sequence[reads.Note], used: Mapping[str, int]) -> dict[str, reads.Note | None]:
    """Return what becomes of notes that say the same as another of them; None of those that are deleted.

    The one that agents used most stays, of equals the oldest, with the tags of all, and with the category and rationale
    of another where it has none. What is outdated says nothing any more and stays.

    Args:
        used: how often agents recalled a note, by id.
    """
    groups: defaultdict[str, list[reads.Note]] = defaultdict(list)
    for note in sorted(notes, key=lambda note: (-used.get(note.id, 0), note.created_at, note.id)):
        if not note.is_superseded:
            groups[alike.said_by(note.content)].append(note)
    after: dict[str, reads.Note | None] = {}
    for kept, *others in groups.values():
        if others:
            every = [kept, *others]
            first: dict[str, Any] = {n: next(filter(None, (getattr(e, n) for e in every)), None) for n in _LACKED}
            after |= dict.fromkeys(each.id for each in others)
            after[kept.id] = replace(kept, tags=tidied([tag for each in every for tag in each.tags]), **first)
    return after


def take_back(*, actor: User, owner: str, commit: str) -> BulkOutcome:
    """Restore the notes that a person's own commit changed to what they were before it, in one commit.

    Notes changed again since are left out: that change would be lost.

    Raises:
        NotABulkChange: the commit is none of this owner's, or a decision about a proposal.
        `not_allowed`: this person may not write this memory.
        NotesChanged: all of them changed again since.
        NoChange: they are as before already.
    """
    rows = Change.objects.filter(owner=owner, commit=commit, target_kind=TargetKind.NOTE, proposal_id=None)
    ids = sorted(rows.values_list("target", flat=True))
    if not ids:
        raise NotABulkChange(commit)
    earlier = reads.find_notes(owner, ids, reads.parent(owner, commit))
    made = reads.find_notes(owner, ids, commit)

    def wanted() -> tuple[list[NoteChange], list[str]]:
        there = reads.find_notes(owner, ids)
        changes, left_out = [], []
        for id_ in ids:
            now, before = there.get(id_), earlier.get(id_)
            if sha256_of(now) not in (sha256_of(made.get(id_)), sha256_of(before)):
                left_out.append(id_)
            else:
                changes.append(NoteChange(id_, now, before))
        return changes, left_out

    return _write(wanted, actor, owner, Change.Action.REVERTED, "Take back the change of")


def _write(
    wanted: Callable[[], tuple[list[NoteChange], list[str]]],
    actor: User,
    owner: str,
    action: Change.Action,
    verb: str,
    *,
    comment: str = "",
) -> BulkOutcome:
    """Write what is wanted of the notes as they are now; read again where one changed in between."""
    for _try in range(_TRIES):
        changes, left_out = wanted()
        real = [change for change in changes if sha256_of(change.before) != sha256_of(change.after)]
        if not changes:
            raise NotesChanged(left_out)
        if not real:
            raise NoChange(_("Nothing was changed."))
        try:
            done = commit_notes(actor, owner, action, real, verb=verb, comment=comment)
            return BulkOutcome(done, tuple(left_out), len(changes) - len(real))
        except NotesChanged:
            continue
    raise NotesChanged([change.id for change in changes])
