"""Links from wherever a session is named to the conversation kept of it.

Who may read the page that names a session may read that owner's conversations: `permissions.may_read` answers both.
"""

from __future__ import annotations

from django import template
from django.urls import reverse
from django.utils.html import format_html

from approvals.templatetags.texts import marked
from memory_app import conversations

register = template.Library()


@register.simple_tag(takes_context=True)
def conversation_url(context: template.Context, owner: str, session_id: str) -> str:
    """Return where the conversation of a session is read; empty when no message of it is kept.

    One query per session and page, so not for lists.
    """
    if not session_id:
        return ""
    key = "_conversations"
    addresses: dict[tuple[str, str], str] = context.get(key) or {}
    if (owner, session_id) not in addresses:
        is_kept = conversations.is_kept(owner, session_id)
        address = reverse("conversation", args=[owner, session_id]) if is_kept else ""
        addresses = addresses | {(owner, session_id): address}
        context.dicts[0][key] = addresses
    return addresses[owner, session_id]


@register.simple_tag(takes_context=True)
def session_link(context: template.Context, owner: str, session_id: str) -> str:
    """Return a session's name, as a link where its conversation is kept."""
    address = conversation_url(context, owner, session_id)
    return format_html('<a href="{}">{}</a>', address, marked(session_id)) if address else marked(session_id)
