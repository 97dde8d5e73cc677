"""Conversations between an agent and an owner: evidence for proposals, and searchable on request.

Neither versioned nor part of the memory: kept for `settings.CONVERSATION_DAYS`, deletable at any time.
"""

import uuid
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import models, transaction
from django.db.models.functions import Left
from django.utils import timezone

from memory_app.databases.prepared import batched
from memory_app.databases.row_order import count_write, lock_owner
from memory_app.models import Message
from memory_app.search import store
from memory_app.text.lines import first_words


@dataclass(frozen=True)
class Turn:
    """One message as the agent sent it.

    Args:
        role: one of `Message.Role`.
        id: the sender's own. Without one the message is given one, and sending it twice stores two.
        at: when it was said; the time of storing by default.
    """

    role: str
    content: str
    id: str = ""
    author: str = ""
    at: datetime | None = None


def keep(owner: str, session_id: str, turns: Sequence[Turn], *, agent: str = "") -> tuple[list[str], list[str]]:
    """Store the messages of a session; one whose id is stored already is left as it is.

    Args:
        agent: name of the agent that sends them.

    Returns:
        The ids of those that were not stored before, and of those that were, each in the order given.
    """
    now = timezone.now()
    rows: dict[str, Message] = {}
    for turn in turns:
        id_ = turn.id or f"msg-{uuid.uuid4()}"
        at = turn.at or now
        row = Message(
            owner=owner,
            session_id=session_id,
            message_id=id_,
            role=turn.role,
            content=turn.content,
            author=turn.author,
            agent=agent,
            at=at if at.tzinfo else at.replace(tzinfo=now.tzinfo),
        )
        rows.setdefault(id_, row)
    with transaction.atomic():
        lock_owner(owner)
        count_write(owner)
        there = set(_messages_of(owner, session_id).filter(message_id__in=rows).values_list("message_id", flat=True))
        # Another sender of the same ids may be at this point too: the second stores nothing twice.
        Message.objects.bulk_create(
            [row for id_, row in rows.items() if id_ not in there], ignore_conflicts=True, batch_size=500
        )
    if len(there) < len(rows):
        store.enqueue_reindex(owner)
    return [id_ for id_ in rows if id_ not in there], [id_ for id_ in rows if id_ in there]


@dataclass(frozen=True)
class Conversation:
    """A conversation as lists show it.

    Args:
        newest: the number of the message stored last; it distinguishes sessions of the same time.
        agents: names of those that sent messages, as far as they are known.
        opening: the first `OPENING` characters of its first message.
        asked: the same of the first message of its user; empty where none is stored.
    """

    id: str
    count: int
    first_at: datetime
    last_at: datetime
    newest: int
    agents: tuple[str, ...]
    opening: str
    asked: str = ""

    @property
    def title(self) -> str:
        """Return what its user said first, in `_TITLE` characters; made from the messages, and not stored."""
        return first_words(self.asked or self.opening, _TITLE)


#: Characters of a title.
_TITLE = 80

#: Characters of its first message in a `Conversation`.
OPENING = 300


def sessions(owner: str, *, limit: int, before: tuple[datetime, int] | None = None) -> tuple[Conversation, ...]:
    """Return the stored conversations of an owner, the one with the newest message first, in three queries.

    Args:
        before: `last_at` and `newest` of the last conversation of the page before.
    """
    found = _grouped(Message.objects.filter(owner=owner)).order_by("-last_at", "-newest")
    if before is not None:
        at, newest = before
        found = found.filter(models.Q(last_at__lt=at) | models.Q(last_at=at, newest__lt=newest))
    return _described(owner, list(found[:limit]))


def find_session(owner: str, session_id: str) -> Conversation | None:
    """Return one conversation, or None where no message of it is stored."""
    found = _described(owner, list(_grouped(_messages_of(owner, session_id))))
    return found[0] if found else None


def is_kept(owner: str, session_id: str) -> bool:
    """Whether any message of a conversation is stored."""
    return _messages_of(owner, session_id).exists()


def messages(owner: str, session_id: str, *, start: int, limit: int) -> tuple[Message, ...]:
    """Return some of a conversation's messages in the order they were said, without the first `start`."""
    return tuple(_messages_of(owner, session_id).order_by("at", "id")[start : start + limit])


def messages_after(
    owner: str, session_id: str, last: tuple[datetime, int] | None, *, limit: int
) -> tuple[Message, ...]:
    """Return a conversation's messages in the order they were said, after the one of that time and number."""
    found = _messages_of(owner, session_id).order_by("at", "id")
    if last is not None:
        at, number = last
        found = found.filter(models.Q(at__gt=at) | models.Q(at=at, id__gt=number))
    return tuple(found[:limit])


def find_message(owner: str, session_id: str, number: int) -> Message | None:
    """Return the message of that number (its primary key), or None where that conversation has none such."""
    return _messages_of(owner, session_id).filter(pk=number).first()


def find_messages(owner: str, message_ids: Collection[str]) -> dict[tuple[str, str], Message]:
    """Return messages by session and the agent's own id, which several sessions may have used, in one query."""
    found = Message.objects.filter(owner=owner, message_id__in=message_ids)
    return {(message.session_id, message.message_id): message for message in found}


def are_there(owner: str) -> bool:
    """Whether any message of this owner is stored."""
    return Message.objects.filter(owner=owner).exists()


def how_many_before(message: Message) -> int:
    """Return how many messages of its conversation were said before this one."""
    earlier = models.Q(at__lt=message.at) | models.Q(at=message.at, id__lt=message.pk)
    return _messages_of(message.owner, message.session_id).filter(earlier).count()


def _grouped(messages: models.QuerySet[Message]) -> models.QuerySet[Any, Any]:
    """Return a row for each conversation, read from the index of that name alone."""
    return (
        messages.order_by()
        .values("session_id")
        .annotate(
            count=models.Count("pk"), first_at=models.Min("at"), last_at=models.Max("at"), newest=models.Max("pk")
        )
    )


def _described(owner: str, found: Sequence[dict[str, Any]]) -> tuple[Conversation, ...]:
    messages = _messages_of(owner, models.OuterRef("session_id"))
    first = messages.order_by("at", "id").values(start=Left("content", OPENING))
    asked = first.filter(role=Message.Role.USER)
    rows = {row.pop("session_id"): row for row in found}
    # Annotates one message per conversation, so that the subqueries run once for each.
    starts = {
        session_id: {"opening": opening, "asked": user_said or ""}
        for session_id, opening, user_said in Message.objects.filter(pk__in=[row["newest"] for row in found])
        .annotate(opening=models.Subquery(first[:1]), asked=models.Subquery(asked[:1]))
        .values_list("session_id", "opening", "asked")
    }
    agents: defaultdict[str, set[str]] = defaultdict(set)
    handed_in = Message.objects.filter(owner=owner, session_id__in=rows)
    for session_id, agent in handed_in.exclude(agent="").order_by().values_list("session_id", "agent").distinct():
        agents[session_id].add(agent)
    return tuple(
        Conversation(id=id_, agents=tuple(sorted(agents[id_])), **row, **starts.get(id_, {"opening": ""}))
        for id_, row in rows.items()
    )


def delete(owner: str, session_id: str, message_id: str | None = None, *, agent: str | None = None) -> tuple[int, int]:
    """Delete a session's messages, or only the one with this id.

    Args:
        agent: only those this agent sent: what one agent was told may be evidence for another's change.
            None for people, who may delete any.

    Returns:
        How many are gone, and how many stay because another agent sent them.
    """
    asked = _messages_of(owner, session_id)
    if message_id is not None:
        asked = asked.filter(message_id=message_id)
    there = dict(asked.values_list("message_id", "agent"))
    gone = [id_ for id_, kept_by in there.items() if agent is None or kept_by == agent]
    _remove(owner, session_id, gone)
    return len(gone), len(there) - len(gone)


def delete_all(owner: str, until: datetime) -> None:
    """Delete every message of an owner that was received until then."""
    gone = defaultdict[str, list[str]](list)
    every = Message.objects.filter(owner=owner, received_at__lte=until).order_by()
    for session_id, message_id in every.values_list("session_id", "message_id"):
        gone[session_id].append(message_id)
    for session_id, ids in gone.items():
        _remove(owner, session_id, ids)


def purge() -> int:
    """Delete what is older than `settings.CONVERSATION_DAYS` (0 keeps everything) and return how many there were."""
    if not settings.CONVERSATION_DAYS:
        return 0
    old = timezone.now() - timedelta(days=settings.CONVERSATION_DAYS)
    old_ones = Message.objects.filter(received_at__lt=old)
    sessions: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for owner, session_id, message_id in old_ones.order_by().values_list("owner", "session_id", "message_id"):
        sessions[owner, session_id].append(message_id)
    for (owner, session_id), ids in sessions.items():
        _remove(owner, session_id, ids)
    return sum(map(len, sessions.values()))


def _remove(owner: str, session_id: str, ids: Sequence[str]) -> None:
    """Delete messages and their chunks in the search index: both or, when interrupted, neither."""
    for some in batched(ids):
        with transaction.atomic():
            store.forget_messages(owner, session_id, some)
            _messages_of(owner, session_id).filter(message_id__in=some).delete()


def _messages_of(owner: str, session_id: str | models.OuterRef) -> models.QuerySet[Message]:
    return Message.objects.filter(owner=owner, session_id=session_id)
