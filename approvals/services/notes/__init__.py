"""Notes are saved, changed, superseded, deleted and imported: by people at once, by agents as policy says.

The verbs are `change`; below it a person's change is written by `people`, an agent's by `agents`, and what
policy applied is taken back by `revert`.
"""

from approvals.services.notes.agents import done_before, require_room_unless_applied
from approvals.services.notes.change import change_notes, delete, reinstate, save, supersede, update
from approvals.services.notes.revert import revert
from approvals.services.notes.values import ChangeContext, NoteChange, NoteChangeOutcome, require_valid, stamped, tidied

__all__ = [
    "ChangeContext",
    "NoteChange",
    "NoteChangeOutcome",
    "change_notes",
    "delete",
    "done_before",
    "reinstate",
    "require_room_unless_applied",
    "require_valid",
    "revert",
    "save",
    "stamped",
    "supersede",
    "tidied",
    "update",
]
