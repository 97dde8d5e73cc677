"""Taking a decision back: an approval or an automatic change by a new commit, a rejection by reopening it.

Whoever may decide may undo. Called through `approvals.services`; `approvals.recovery` finishes what a crash left.
"""

from approvals.services.undo.revert import finish_reverting
from approvals.services.undo.take_back import undo

__all__ = ["finish_reverting", "undo"]
