"""Conversations: the tools that list and read them, and the endpoints that store messages and delete them.

A token that may read an owner's memory may read all of the owner's conversations, as `memory_search` searches them.
"""

from datetime import datetime
from typing import Any

from pydantic import Field

from agent_tools.answers import fields, paging, representations
from agent_tools.calls.arguments import BoundedArguments, TurnArguments, WriteArguments, invalid
from agent_tools.calls.registry import Answer, Call, endpoint, for_list, tool
from agent_tools.errors import ApiError, ErrorCode
from agent_tools.models import Scope
from memory_app import conversations


class SessionListArguments(paging.PagedArguments, BoundedArguments):
    limit: int = Field(default=20, description="How many at most.", ge=1, le=paging.MOST)


@tool(returns=fields.paged(fields.SESSION))
def memory_list_sessions(call: Call, arguments: SessionListArguments) -> Answer:
    before = _position(call, arguments)
    found = conversations.sessions(call.owner, limit=arguments.limit + 1, before=before)
    every: list[dict[str, Any]] = [
        {"session_id": each.id, "title": each.title, "count": each.count, "agents": list(each.agents)}
        | {name: representations.time(getattr(each, name)) for name in ("first_at", "last_at")}
        for each in found
    ]
    items, cursor = paging.page_that_fits(
        call, found, every, arguments, lambda each: f"{each.last_at.isoformat()} {each.newest}"
    )
    lines = [
        f"- {each['session_id']} ({each['last_at']}, {_messages(each['count'])}): {each['title']}" for each in items
    ]
    text = "\n".join(["Conversations, the latest first:", "", *lines]) if items else "No conversations are kept."
    return Answer(text + paging.more(cursor), {"items": items, "next": cursor})


class SessionReadArguments(paging.PagedArguments, BoundedArguments):
    session_id: str = Field(description="Which conversation (from memory_list_sessions).", min_length=1, max_length=128)


@tool(returns=fields.paged(fields.MESSAGE))
def memory_read_session(call: Call, arguments: SessionReadArguments) -> Answer:
    session, last = arguments.session_id, _position(call, arguments)
    found = conversations.messages_after(call.owner, session, last, limit=arguments.limit + 1)
    if not found and last is None:
        message, help = f"No conversation '{session}' is kept.", for_list("memory_list_sessions names those there are.")
        raise ApiError(ErrorCode.SESSION_NOT_FOUND, message, help=[help], details={"session_id": session})
    said = ("message_id", "role", "author", "content", "agent")
    every = [{name: getattr(each, name) for name in said} | {"at": representations.time(each.at)} for each in found]
    items, cursor = paging.page_that_fits(
        call, found, every, arguments, lambda each: f"{each.at.isoformat()} {each.pk}"
    )
    lines = [f"[{each['at']}] {each['author'] or each['role']}: {each['content']}" for each in items]
    text = ("\n".join(lines) or "There is nothing after that.") + paging.more(cursor)
    return Answer(text, {"session_id": session, "items": items, "next": cursor})


def _position(call: Call, arguments: paging.PagedArguments) -> tuple[datetime, int] | None:
    """Return the time and number of the last item of the page before."""
    position = paging.after_time(call, arguments)
    if position is None:
        return None
    time, number = position
    if not (number.isascii() and number.isdecimal() and len(number) < 19):
        raise paging.not_a_cursor(call)
    return time, int(number)


class MessageItem(TurnArguments):
    """One turn of a conversation."""

    id: str | None = Field(
        default=None, description="Your own id for it: sent twice, it is kept once.", min_length=1, max_length=128
    )
    author: str = Field(default="", description="The speaker's name.", max_length=128)


class KeepArguments(WriteArguments):
    messages: list[MessageItem] = Field(description="In the order they were said.", min_length=1, max_length=500)


@endpoint(scope=Scope.NOTES_WRITE, or_scope=Scope.MEMORY_PROPOSE)
def message_keep(call: Call, arguments: KeepArguments) -> Answer:
    _require_session(call, arguments)
    turns = [
        conversations.Turn(
            **message.model_dump(include={"role", "content", "author"}),
            id=message.id or "",
            at=datetime.fromisoformat(message.at) if message.at else None,
        )
        for message in arguments.messages
    ]
    new, known = conversations.keep(call.owner, arguments.session_id, turns, agent=call.caller.agent.name)
    data = {"session_id": arguments.session_id, "new": new, "known": known}
    return Answer(f"{_messages(len(new))} kept.", data)


class DeleteMessagesArguments(WriteArguments):
    message_id: str | None = Field(
        default=None, description="Only this message; otherwise the whole session.", min_length=1, max_length=128
    )


@endpoint(scope=Scope.NOTES_WRITE, or_scope=Scope.MEMORY_PROPOSE)
def message_delete(call: Call, arguments: DeleteMessagesArguments) -> Answer:
    _require_session(call, arguments)
    agent = call.caller.agent.name
    deleted, left = conversations.delete(call.owner, arguments.session_id, arguments.message_id, agent=agent)
    text = f"{_messages(deleted)} deleted."
    if left:
        text += f"\n{_messages(left)} handed in by another agent stayed: only that agent or a person deletes them."
    data = {"session_id": arguments.session_id, "deleted": deleted, "left": left}
    return Answer(text, data)


def _messages(count: int) -> str:
    return "1 message" if count == 1 else f"{count} messages"


def _require_session(call: Call, arguments: WriteArguments) -> None:
    if not arguments.session_id.strip():
        raise invalid({"session_id": "must not be empty"}, called=call.called)
