"""One note for its page: as it is, as it was, and every change with what it did.

Reads only; frozen values come out.
"""

import re
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from itertools import islice
from typing import Any

from approvals.pages.blocks import history_entries, point_in_history
from approvals.review.note_changes import field_changes_of_note
from approvals.services.notes import NoteChange
from assent_client.text.notes import TYPES
from memory_app import reads
from memory_app.dolt.errors import RevisionNotFound
from memory_app.models import TargetKind
from memory_app.reads import Note, NoteNotFound
from memory_app.text import worddiff

CHANGES_ON_A_PAGE = 10

#: One short line that Markdown would leave as it is.
_HEADING = re.compile(r"(?![-+ ]|\d{1,9}[.)] )[^\n\r\t*_`#\[\]<>|~\\&]{1,160}")


def fits_a_heading(note: Note) -> bool:
    """Whether the heading of a note's page can be all of its text, which need not be repeated below."""
    return bool(_HEADING.fullmatch(note.content)) and "://" not in note.content


def note_version(owner: str, id_: str, revision: str) -> tuple[Note | None, str, datetime | None]:
    """Return a note at a commit on main or at a time, None where there was none; the commit, and when that was.

    Raises:
        RevisionNotFound: it is neither. The note then was erased since: `sealing.TextErased`.
    """
    commit, at = point_in_history(owner, revision)
    try:
        return reads.note_at(owner, id_, commit), commit, at
    except NoteNotFound:
        return None, commit, at


def steps(owner: str, id_: str, *, before: int | None = None) -> tuple[list[dict[str, Any]], int | None]:
    """Return the changes of a note, newest first, and the id to continue from when there are more.

    Each has its `entry` in the history, the note `before` and `after`, and its words as `segments`. It `supersedes`
    where the note was marked as outdated, by whatever sort of change, and `reinstates` where it no longer is; `fields`
    are those that changed beside the text, without what these two say. `replacement` is the note that took its place,
    as it is now, when this change named one.
    """
    changes = reads.history(owner, TargetKind.NOTE, id_, limit=CHANGES_ON_A_PAGE + 1, before=before)
    said = {change.commit: _note_at(owner, id_, change.commit) for change in changes}
    named = {note.superseded_by for note in said.values() if note and note.superseded_by}
    replacements = reads.find_notes(owner, named)
    made: list[dict[str, Any]] = []
    for entry in history_entries(changes)[:CHANGES_ON_A_PAGE]:
        then, now = said.get(entry.previous or ""), said[entry.change.commit]
        texts = then.content if then else "", now.content if now else ""
        was_outdated, is_outdated = (bool(note and note.is_superseded) for note in (then, now))
        fields = field_changes_of_note(then, now) if then and now else ()
        is_turned = was_outdated is not is_outdated
        made.append(
            {
                "entry": entry,
                "before": then,
                "after": now,
                "segments": worddiff.diff(*texts) if texts[0] != texts[1] else (),
                "supersedes": is_outdated and is_turned,
                "reinstates": now and was_outdated and is_turned,
                "fields": [each for each in fields if not (is_turned and each.name.startswith("superseded_"))],
                "replacement": replacements.get(now.superseded_by) if now and now.superseded_by else None,
            }
        )
    return made, changes[CHANGES_ON_A_PAGE - 1].pk if len(changes) > CHANGES_ON_A_PAGE else None


def _note_at(owner: str, id_: str, commit: str) -> Note | None:
    try:
        return reads.note_at(owner, id_, commit)
    except (NoteNotFound, RevisionNotFound):
        return None


# -- What a file would do to the notes, as its page shows it before anything is written.

#: Notes whose words the page has.
MOST_SHOWN = 20


def what_it_would_do(changes: Sequence[NoteChange]) -> dict[str, Any]:
    """Return what the page shows of an import's changes.

    `by_type` are the types in the order they are offered, each with how many notes of it would be new and changed, of
    which the most frequent has `most`; then the first notes that would be `changed`, and those that would be `new`.
    """
    counts = Counter((change.after.type, bool(change.before)) for change in changes if change.after)
    by_type = [(name, counts[name, False], counts[name, True]) for name in TYPES]
    changed = islice(((each.before, each.after) for each in changes if each.before and each.after), MOST_SHOWN)
    return {
        "by_type": [each for each in by_type if any(each[1:])],
        "most": max(new + changed for _name, new, changed in by_type),
        "changed": [
            (worddiff.diff(before.content, after.content), field_changes_of_note(before, after))
            for before, after in changed
        ],
        "new": list(islice((each.after for each in changes if each.after and not each.before), MOST_SHOWN)),
    }
