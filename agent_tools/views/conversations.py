"""`/api/v1/users/{user_id}/conversations/…`: conversations are listed, read, stored and deleted."""

from __future__ import annotations

from django.http import HttpResponse
from rest_framework.request import Request

from agent_tools.http.openapi import answers, body, describe, query
from agent_tools.tools import conversations
from agent_tools.views.api import ApiView


class Sessions(ApiView):
    @describe(
        operation_id="session_list",
        tags=["conversations"],
        summary="The conversations kept with an owner, the latest first",
        parameters=query(conversations.SessionListArguments, leave_out={"session_id"}),
        responses=answers("data.items, data.next.", 400),
    )
    def get(self, request: Request, user_id: str) -> HttpResponse:
        return self.by_query(request, conversations.memory_list_sessions, user_id=user_id)


class Messages(ApiView):
    @describe(
        operation_id="session_read",
        tags=["conversations"],
        summary="What was said in a conversation, page by page",
        parameters=query(conversations.SessionReadArguments, leave_out={"session_id"}),
        responses=answers("data.items, data.next.", 400, 404),
    )
    def get(self, request: Request, user_id: str, session_id: str) -> HttpResponse:
        return self.by_query(request, conversations.memory_read_session, user_id=user_id, session_id=session_id)

    @describe(
        operation_id="message_keep",
        tags=["conversations"],
        summary="Keep messages of a conversation; those with a known id stay as they are",
        request=body(conversations.KeepArguments, leave_out={"session_id"}),
        responses=answers("data.new and data.known: the messages' ids.", 400, 409, 413, 415),
    )
    def post(self, request: Request, user_id: str, session_id: str) -> HttpResponse:
        return self.by_body(request, conversations.message_keep, user_id=user_id, session_id=session_id)

    @describe(
        operation_id="conversation_delete",
        tags=["conversations"],
        summary="Delete the messages of a conversation that this agent handed in",
        responses=answers("data.deleted: how many there were; data.left: how many are another agent's.", 400),
    )
    def delete(self, request: Request, user_id: str, session_id: str) -> HttpResponse:
        return self.by_query(request, conversations.message_delete, user_id=user_id, session_id=session_id)


class MessageDetail(ApiView):
    @describe(
        operation_id="message_delete",
        tags=["conversations"],
        summary="Delete one message that this agent handed in",
        responses=answers("data.deleted: 1, or 0 when there is none of that id, or it is another agent's.", 400),
    )
    def delete(self, request: Request, user_id: str, session_id: str, message_id: str) -> HttpResponse:
        return self.by_query(
            request, conversations.message_delete, user_id=user_id, session_id=session_id, message_id=message_id
        )
