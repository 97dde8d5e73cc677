"""What was said with an owner: the conversations kept, one of them, and deleting them.

A viewer who may not read an owner's memory gets the answer of a page that is not there. So does one who may only
read, for the pages that delete.
"""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from approvals import permissions, services
from approvals.accounts.sign_in import viewer_of
from approvals.models import User
from approvals.pages.inbox_filters import Key
from approvals.views.block_views import about, readable_owner
from approvals.views.request import form_page, reading_page, whole_number
from memory_app import conversations as kept
from memory_app.models import Message

CONVERSATIONS_ON_A_PAGE = 25
MESSAGES_ON_A_PAGE = 50


@reading_page
def conversations(request: HttpRequest, owner: str) -> HttpResponse:
    """Show the conversations kept about an owner, newest first; `?before=` turns the page."""
    person = readable_owner(request, owner)
    before = Key.parse(request.GET.get("before", ""))
    found = kept.sessions(owner, limit=CONVERSATIONS_ON_A_PAGE + 1, before=(before.at, before.pk) if before else None)
    page = found[:CONVERSATIONS_ON_A_PAGE]
    context = {
        **_about(request, person),
        "tab": "conversations",
        "sessions": page,
        "is_first_page": before is None,
        "older": Key(page[-1].last_at, page[-1].newest) if len(found) > len(page) else None,
    }
    return render(request, "memory/memory.html", context)


@reading_page
def conversation(request: HttpRequest, owner: str, session_id: str) -> HttpResponse:
    """Show what was said in one conversation, from the beginning, fifty messages a page.

    `?page=` turns the page; `?message=` opens the one on which the message of that number is.
    """
    person = readable_owner(request, owner)
    session = _session(owner, session_id)
    pages = -(-session.count // MESSAGES_ON_A_PAGE)
    wanted = whole_number(request.GET.get("message", ""), digits=17)
    message = kept.find_message(owner, session_id, wanted) if wanted else None
    asked = _page_of(message) if message else whole_number(request.GET.get("page", "")) or 1
    number = min(max(1, asked), pages)
    said = kept.messages(owner, session_id, start=(number - 1) * MESSAGES_ON_A_PAGE, limit=MESSAGES_ON_A_PAGE)
    page = {"messages": said, "number": number, "pages": pages}
    context = {**_about(request, person), "session": session, "page": page}
    return render(request, "conversations/conversation.html", context)


@form_page
def conversation_delete(request: HttpRequest, owner: str, session_id: str, number: int | None = None) -> HttpResponse:
    """Delete a conversation, or one message of it, after saying what that means."""
    person = readable_owner(request, owner)
    if not permissions.may_delete_messages(viewer_of(request), owner):
        raise Http404
    message = kept.find_message(owner, session_id, number) if number is not None else None
    page = _page_of(message) if message else 1
    if request.method != "POST":
        if number is not None and message is None:
            raise Http404
        context = {**_about(request, person), "session": _session(owner, session_id), "message": message, "page": page}
        return render(request, "conversations/conversation_delete.html", context)
    named: dict[str, Any] = {"actor": viewer_of(request), "owner": owner, "session_id": session_id}
    if number is None:
        count = services.delete_messages(**named)
        text = ngettext(
            "The conversation is deleted: %(number)d message. Agents no longer find it.",
            "The conversation is deleted: %(number)d messages. Agents no longer find them.",
            count,
        ) % {"number": count}
        messages.success(request, text if count else _("The conversation was deleted already."))
    elif message:
        services.delete_messages(**named, message_id=message.message_id)
        messages.success(request, _("The message is deleted. Agents no longer find it."))
    else:  # sent twice: it is gone, as asked
        messages.success(request, _("The message was deleted already."))
    if number is None or kept.find_session(owner, session_id) is None:
        return redirect("conversations", owner=owner)
    address = reverse("conversation", args=[owner, session_id])
    return redirect(f"{address}?page={page}" if page > 1 else address)


def _about(request: HttpRequest, person: User) -> dict[str, object]:
    return {
        **about(request, person),
        "may_delete": permissions.may_delete_messages(viewer_of(request), person.username),
        "days": settings.CONVERSATION_DAYS,
    }


def _session(owner: str, session_id: str) -> kept.Conversation:
    session = kept.find_session(owner, session_id)
    if session is None:
        raise Http404
    return session


def _page_of(message: Message) -> int:
    return kept.how_many_before(message) // MESSAGES_ON_A_PAGE + 1
