"""An agent proposes a new block, or the deletion of one.

Called through `approvals.services`. The same life as an edit (`services.propose`, `services.turn.amend`); here is what
such a proposal says, what is checked before, and what becomes of the others about the block when it is approved.
"""
