"""Save, change, supersede, delete and import notes: people at once, agents as the owner's policy allows.

The verbs are in `change`. Below it, `people` writes a person's change and `agents` an agent's; `bulk`
changes several and takes that back.
"""

from approvals.review.note_changes import NoteChange, stamped
from approvals.services.notes.agents import earlier_outcome
from approvals.services.notes.bulk import BulkAction, BulkOutcome, NotABulkChange, change_many, take_back
from approvals.services.notes.change import change_notes, delete, reinstate, save, supersede, update
from approvals.services.notes.values import NoteChangeOutcome, require_valid, tidied
from approvals.services.proposed import ChangeContext

__all__ = [
    "BulkAction",
    "BulkOutcome",
    "ChangeContext",
    "NotABulkChange",
    "NoteChange",
    "NoteChangeOutcome",
    "change_many",
    "change_notes",
    "delete",
    "earlier_outcome",
    "reinstate",
    "require_valid",
    "save",
    "stamped",
    "supersede",
    "take_back",
    "tidied",
    "update",
]
