"""The use cases: imperative verbs with an actor, each in the module of its subject.

They return the changed object or raise an exception of `errors`. They decide, record events, and commit through
`memory_app.writing.commits`; apart from `approvals.recovery`, no other package does.
"""

from approvals.recovery.backup import backup, restore, verify
from approvals.recovery.recover import RecoveryReport, find_proposal, recover, recover_on_read
from approvals.services import bulk_notes, notes
from approvals.services.approving import REASONS as REASONS_FOR_REST
from approvals.services.approving import Rest, approve, approve_edited, approve_some
from approvals.services.blocks import create_block, delete_block, edit_block, propose, propose_block, propose_deletion
from approvals.services.close import close_already_applied, expire, reject, remind, withdraw
from approvals.services.hand_back import back_to_review, request_changes, settle
from approvals.services.preparing import Proposed
from approvals.services.recheck import recheck
from approvals.services.several import (
    SHOWN_FOR,
    BatchOutcome,
    Item,
    decide_several,
    dismiss_batch,
    outcome_of,
    undo_several,
)
from approvals.services.talk import assign, comment, delete_filter, dismiss_welcome, mark_seen, save_filter
from approvals.services.texts import delete_messages, redact
from approvals.services.trust import change_rule, create_rule, delete_rule
from approvals.services.undo import UNDONE, undo
from memory_app.writing.values import BlockFields
