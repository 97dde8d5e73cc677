"""What lies beside the memory: conversations (may be deleted, never changed) and how often notes were recalled."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from approvals.accounts.viewer import viewer_of
from approvals.admin.read_only import ReadOnlyAdmin
from approvals.services import conversations
from memory_app.models import Message, NoteAccess


@admin.register(Message)
class MessageAdmin(ReadOnlyAdmin[Message]):
    list_display = ["owner", "session_id", "role", "author", "agent", "at"]
    list_filter = ["role", "received_at"]
    ordering = ["-id"]  # not the model's, which sorts all conversations
    search_fields = ["owner", "session_id", "content"]

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.is_superuser)  # people may ask for it

    def delete_model(self, request: HttpRequest, obj: Message) -> None:
        conversations.delete(
            actor=viewer_of(request), owner=obj.owner, session_id=obj.session_id, message_id=obj.message_id
        )  # which makes search forget it too

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Message]) -> None:
        for message in queryset:
            self.delete_model(request, message)


@admin.register(NoteAccess)
class NoteAccessAdmin(ReadOnlyAdmin[NoteAccess]):
    list_display = ["owner", "note_id", "count", "last_at"]
    list_filter = ["last_at"]
    search_fields = ["owner", "note_id"]
