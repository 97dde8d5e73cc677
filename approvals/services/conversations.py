"""People delete what was said: a conversation, or one message of it. Never versioned, so nothing brings it back.

Agents delete what they handed in over the API (`agent_tools.tools.conversations`).
"""

from __future__ import annotations

import structlog
from django.utils.translation import gettext as _

from approvals.models import User
from approvals.permissions import may_delete_messages
from approvals.services.errors import DeletionNotAllowed
from memory_app import conversations

log = structlog.get_logger(__name__)


def delete(*, actor: User, owner: str, session_id: str, message_id: str | None = None) -> int:
    """Delete a conversation, or the one message of it; search forgets it.

    What an agent copied into a proposal, as evidence, stays with that proposal (`redact` removes it). The id of the
    session stays with the notes and proposals made in it, and as long as the audit and kept answers do.

    Returns:
        How many messages are gone: none where they were deleted already.

    Raises:
        DeletionNotAllowed: this person may not delete what was said with this owner.
    """
    if not may_delete_messages(actor, owner):
        raise DeletionNotAllowed(_("You may not delete these messages."))
    count = conversations.delete(owner, session_id, message_id).count
    log.info("messages_deleted", user_id=owner, session_id=session_id, messages=count, actor=actor.username)
    return count
