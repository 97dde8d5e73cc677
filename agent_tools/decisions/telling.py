"""What was decided, beside the answer to another call: once for each token and owner, and about that owner alone.
A token that was rotated counts as one with those it replaces.

A success tells what was decided since its token was last told: at most `MOST` decisions, each a line below the text. It
moves the token's place (`ToldUntil`) in the transaction that keeps the answer under its key, so a call that is cut off
and repeated tells the same. Texts that are complete as they stand, and what programs read by address, get no line:
their answers have the decisions in `data` only and move nothing, since a model that sees the text alone was not
told.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

import structlog
from django.db import Error as DatabaseError
from django.db import transaction
from django.db.models import BigIntegerField, Q, Subquery, Value
from django.db.models.functions import Coalesce

from agent_tools.answers import bounds
from agent_tools.calls.api_operation import Answer, ApiOperation, Call
from agent_tools.calls.idempotency import Finish
from agent_tools.decisions import cursors, items, reading
from agent_tools.models import ToldUntil
from approvals.models import Event
from approvals.services.events import told_to
from memory_app.databases import row_order
from memory_app.databases.prepared import Prepared
from memory_app.reads import EngineUnavailable

log = structlog.get_logger(__name__)

#: Decisions in one answer, and characters of their data.
MOST = 5
_CHARACTERS = 4_000

_HEADLINE = "Decided since you were last told:"

_NEWS = Prepared(
    lambda agent, owner, token, after: (
        Event.objects.filter(
            tells=agent,
            owner=owner,
            pk__gt=Coalesce(
                Subquery(ToldUntil.objects.filter(token=token, owner=owner).values("event_id")),
                Value(after, output_field=BigIntegerField()),
            ),
        )
        .exclude(Q(what=Event.What.COMMENTED) & Q(text=""))
        .order_by()
        .values_list("pk", flat=True)[:1]
    ),
    agent=int,
    owner=str,
    token=int,
    after=int,
)


def news_for(tool: ApiOperation[Any], call: Call, answer: Answer) -> Finish | None:
    """Return what adds the decisions to an answer; None where there is nothing to tell. One query.

    Nothing is told without the scope memory:read, nor where the call is about no owner.
    """
    owner = call.owner or str(answer.data.get("user_id") or "")
    if not owner or answer.tells_decisions or not call.may_read:
        return None
    token = call.caller.token
    if _NEWS.first(agent=token.agent_id, owner=owner, token=token.original_id, after=token.tells_after) is None:
        return None
    return partial(_add, tool, replace(call, owner=owner))


def _add(tool: ApiOperation[Any], call: Call, payload: dict[str, Any]) -> dict[str, Any]:
    """Return the payload with what was decided; as it is where that cannot be read, which the next call makes up for.

    Nothing is told while somebody is deciding about a proposal of this agent: see `row_order.settled`.
    """
    try:
        with (
            nullcontext() if tool.text_is_complete else transaction.atomic(),
            row_order.settled(told_to(call.caller.agent.pk)) as is_settled,
        ):
            return _told(tool, call, payload) if is_settled else payload
    except (DatabaseError, EngineUnavailable) as error:
        log.warning("decisions_not_told", tool=tool.name, error=type(error).__name__)
        return payload


def _told(tool: ApiOperation[Any], call: Call, payload: dict[str, Any]) -> dict[str, Any]:
    told = ToldUntil.objects.filter(token=call.caller.token.original_id, owner=call.owner)
    before: int | None = told.values_list("event_id", flat=True).first()
    waiting = reading.visible(call).filter(pk__gt=call.caller.token.tells_after if before is None else before)
    events = list(reading.with_proposals(waiting)[:MOST])
    every = items.of_events(call, events)
    every = every[: bounds.that_fit(every, _CHARACTERS)]
    if not every:  # another call was faster
        return payload
    until = events[len(every) - 1].pk
    if not tool.text_is_complete:
        if before is None:
            ToldUntil.objects.create(token_id=call.caller.token.original_id, owner=call.owner, event_id=until)
        else:
            told.update(event_id=until)
    left_out = waiting.filter(pk__gt=until).count()
    shown = [item for item in every if not _is_told_by(payload["data"], item)]
    if not shown and not left_out:
        return payload
    decisions = {"items": shown, "next": cursors.after(until), "more": bool(left_out), "left_out": left_out}
    return payload | {
        "text": payload["text"] if tool.text_is_complete else _with_lines(payload["text"], decisions),
        "data": payload["data"] | {"decisions": decisions},
    }


def _is_told_by(data: dict[str, Any], item: dict[str, Any]) -> bool:
    """Whether the answer is about that proposal itself, and has what came of it: that of get_proposal."""
    if data.get("proposal_id") != item["proposal_id"] or "decision" not in data:
        return False
    return data["status"] == item["what"] or (item["what"] == Event.What.REVERTED and bool(data["reverted"]))


def _with_lines(text: str, decisions: dict[str, Any]) -> str:
    lines = [f"- {item['text']}" for item in decisions["items"]]
    if decisions["left_out"]:
        lines.append(
            f"({decisions['left_out']:,} more: list_proposals with decided_since {decisions['next']} has them.)"
        )
    return "\n".join([text, "", _HEADLINE, *lines])
