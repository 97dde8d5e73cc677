"""The use cases: imperative verbs with an actor, each in the module of its subject.

They return the changed object or raise an exception of `errors`. They decide, record events, and commit through
`memory_app.writing.commits`; apart from `approvals.recovery`, no other package does.
"""

from approvals.recovery.backup import Restored, backup, restore, restore_here, verify
from approvals.recovery.recover import RecoveryReport, find_proposal, is_interrupted, recover, recover_on_read
from approvals.services import conversations, notes
from approvals.services.decide.approve import approve
from approvals.services.decide.close import close_already_applied, expire, reject, remind, withdraw
from approvals.services.decide.part import REASONS as REASONS_FOR_REST
from approvals.services.decide.part import Rest, approve_some
from approvals.services.decide.reword import approve_edited, resolve
from approvals.services.decide.several import BatchOutcome, Item, ItemResult, decide_several, undo_several
from approvals.services.edit import create_block, delete_block, edit_block
from approvals.services.propose import propose
from approvals.services.proposed import Proposed
from approvals.services.recheck import recheck
from approvals.services.saved_filters import delete_filter, save_filter
from approvals.services.talk import assign, comment
from approvals.services.texts import redact
from approvals.services.trust import change_rule, create_rule, delete_rule
from approvals.services.turn.hand_back import back_to_review, request_changes, settle
from approvals.services.turn.repeating import mark_seen
from approvals.services.undo import undo
from approvals.services.whole_blocks import propose_block, propose_deletion
from memory_app.writing.values import BlockFields

__all__ = [
    "REASONS_FOR_REST",
    "BatchOutcome",
    "BlockFields",
    "Item",
    "ItemResult",
    "Proposed",
    "RecoveryReport",
    "Rest",
    "Restored",
    "approve",
    "approve_edited",
    "approve_some",
    "assign",
    "back_to_review",
    "backup",
    "change_rule",
    "close_already_applied",
    "comment",
    "conversations",
    "create_block",
    "create_rule",
    "decide_several",
    "delete_block",
    "delete_filter",
    "delete_rule",
    "edit_block",
    "expire",
    "find_proposal",
    "is_interrupted",
    "mark_seen",
    "notes",
    "propose",
    "propose_block",
    "propose_deletion",
    "recheck",
    "recover",
    "recover_on_read",
    "redact",
    "reject",
    "remind",
    "request_changes",
    "resolve",
    "restore",
    "restore_here",
    "save_filter",
    "settle",
    "undo",
    "undo_several",
    "verify",
    "withdraw",
]
