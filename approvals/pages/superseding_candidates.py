"""Which notes could take the place of one that is no longer true. Reads only."""

from __future__ import annotations

from approvals.pages import note_matching
from approvals.pages.note_matching import Wanted
from memory_app import reads
from memory_app.reads import Note
from memory_app.text import notes

#: Notes offered to choose from; with more words a search finds fewer.
MOST_OFFERED = 8

#: Characters of a note that others are compared with, where no words were given.
_COMPARED = 200


def could_replace(owner: str, note: Note, *, words: str = "", chosen: str = "") -> tuple[Note, ...]:
    """Return the notes of `owner` that could replace this one, the best matches first.

    Args:
        words: of the note looked for, or its id; without them, those that say something similar.
        chosen: the id of one to offer in any case, first.
    """
    if notes.ID.fullmatch(words):
        found = list(reads.find_notes(owner, [words]).values())
    else:
        query = words or " ".join(note.content.split())[:_COMPARED]
        found = list(note_matching.search_notes(owner, query, Wanted(), most=MOST_OFFERED + 1).notes)
    offered = {each.id: each for each in found if each.id != note.id}
    if chosen and chosen not in offered:
        first = reads.find_note(owner, chosen)
        offered = ({first.id: first} if first and first.id != note.id else {}) | offered
    return tuple(offered.values())[:MOST_OFFERED]
