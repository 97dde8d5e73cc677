"""Handing in what was said, and taking it back: the messages endpoints. No tools: no model calls these."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from agent_tools.arguments import Strict, WriteArguments, invalid, is_time
from agent_tools.models import Scope
from agent_tools.registry import Answer, Call, Effect, tool
from memory_app import conversations


class Message(Strict):
    """One turn of a conversation."""

    id: Annotated[
        str | None, Field(description="Your own id for it: sent twice, it is kept once.", min_length=1, max_length=128)
    ] = None
    role: Annotated[Literal["user", "assistant", "system", "tool"], Field(description="Who said it.")]
    content: Annotated[str, Field(description="What was said, in its own words.", max_length=20_000)]
    author: Annotated[str, Field(description="The speaker's name.", max_length=128)] = ""
    at: Annotated[
        str | None,
        Field(description="When it was said (ISO 8601, UTC where it has no offset).", max_length=40),
        AfterValidator(is_time),
    ] = None


class KeepArguments(WriteArguments):
    messages: Annotated[list[Message], Field(description="In the order they were said.", min_length=1, max_length=500)]


@tool(
    description="Keep the messages of a conversation, for search (include_conversation) and as evidence.",
    arguments=KeepArguments,
    scope=Scope.NOTES_WRITE,
    or_scope=Scope.MEMORY_PROPOSE,
    effect=Effect.SIDE_EFFECTING,
    failing="Error keeping messages",
    returns={"session_id": "whose messages", "new": "ids of those kept now", "known": "ids of those kept before"},
    listed=False,
    called="keeping messages",
)
def message_keep(call: Call, arguments: KeepArguments) -> Answer:
    _require_session(arguments, "message_keep")
    turns = [
        conversations.Turn(
            role=message.role,
            content=message.content,
            id=message.id or "",
            author=message.author,
            at=datetime.fromisoformat(message.at) if message.at else None,
        )
        for message in arguments.messages
    ]
    kept = conversations.keep(call.owner, arguments.session_id, turns, agent=call.caller.agent.name)
    data = {"session_id": arguments.session_id, "new": list(kept.new), "known": list(kept.known)}
    return Answer(f"{_messages(len(kept.new))} kept.", data)


class DeleteMessagesArguments(WriteArguments):
    message_id: Annotated[
        str | None, Field(description="Only this message; otherwise the whole session.", min_length=1, max_length=128)
    ] = None


@tool(
    description=(
        "Delete the messages of a conversation, or one of them. An agent deletes what it handed in itself; "
        "the rest stays, since it may be evidence for another's change."
    ),
    arguments=DeleteMessagesArguments,
    scope=Scope.NOTES_WRITE,
    or_scope=Scope.MEMORY_PROPOSE,
    effect=Effect.SIDE_EFFECTING,
    failing="Error deleting messages",
    returns={
        "session_id": "whose messages",
        "deleted": "how many of yours there were",
        "left": "how many stay, since another agent handed them in",
    },
    listed=False,
    called="deleting messages",
)
def message_delete(call: Call, arguments: DeleteMessagesArguments) -> Answer:
    _require_session(arguments, "message_delete")
    deleted = conversations.delete(call.owner, arguments.session_id, arguments.message_id, agent=call.caller.agent.name)
    text = f"{_messages(deleted.count)} deleted."
    if deleted.left:
        text += (
            f"\n{_messages(deleted.left)} handed in by another agent stayed: only that agent or a person deletes them."
        )
    data = {"session_id": arguments.session_id, "deleted": deleted.count, "left": deleted.left}
    return Answer(text, data)


def _messages(count: int) -> str:
    return "1 message" if count == 1 else f"{count} messages"


def _require_session(arguments: WriteArguments, name: str) -> None:
    if not arguments.session_id.strip():
        raise invalid({"session_id": "must not be empty"}, tool=name)
