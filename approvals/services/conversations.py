"""People delete conversations or single messages. They are not versioned, so this cannot be undone.

Agents delete the messages they sent through the API (`agent_tools.tools.conversations`).
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
    """Delete a conversation or one message of it, also from the search index.

    Evidence that an agent copied into a proposal stays there (`redact` removes it). Notes, proposals, the audit and
    stored answers keep the id of the session.

    Returns:
        How many messages were deleted; 0 when they were deleted before.

    Raises:
        DeletionNotAllowed: this person may not delete this owner's conversations.
    """
    if not may_delete_messages(actor, owner):
        raise DeletionNotAllowed(_("You may not delete these messages."))
    count = conversations.delete(owner, session_id, message_id).count
    log.info("messages_deleted", user_id=owner, session_id=session_id, messages=count, actor=actor.username)
    return count
