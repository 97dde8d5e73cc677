"""Talking about a proposal, and whose it is: comments, assigning, who looks at it now, putting it off.

None of this decides anything: the proposal's status stays. Called through `approvals.services`.
"""

from approvals.services.talk.assigning import assign
from approvals.services.talk.attending import look, snooze, wake
from approvals.services.talk.commenting import comment

__all__ = ["assign", "comment", "look", "snooze", "wake"]
