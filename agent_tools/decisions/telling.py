"""What was decided, beside the answer to another call: once for each token and owner, and about that owner alone.
A token that was rotated counts as one with those it replaces.

A success tells what was decided since its token was last told: at most `MOST` decisions, each a line below the text.
It moves the token's place (`ToldUntil`) in the transaction that keeps the answer under its key, so a call that is cut
off and repeated tells the same. Answers whose texts are complete as they stand (a file, or what goes into a prompt as
it is), and what programs read by address, tell nothing: there is no place for a line, and they are read most often.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import structlog
from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connections, transaction
from django.db.models import BigIntegerField, Count, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce
from django.utils import timezone
from pydantic import Field

from agent_tools import auth
from agent_tools.answers import bounds, fields, paging
from agent_tools.calls.arguments import BoundedArguments
from agent_tools.calls.idempotency import Finish
from agent_tools.calls.registry import Answer, ApiOperation, Call, endpoint, for_list
from agent_tools.decisions import reading
from agent_tools.errors import invalid_token
from agent_tools.models import Scope, ToldUntil
from approvals import services
from approvals.models import Event, Proposal
from approvals.services.events import told_to
from assent_client.text import invisible
from memory_app.databases import row_order
from memory_app.databases.prepared import Prepared, update
from memory_app.reads import EngineUnavailable
from memory_app.runtime import deadlines, waits

log = structlog.get_logger(__name__)

#: Decisions in one answer, and characters of their data.
MOST = 5
_CHARACTERS = 4_000

_HEADLINE = "Decided since you were last told:"


def _since(agent: int, owner: str, after: Any) -> QuerySet[Event]:
    return reading.told_to_agent(agent).filter(owner=owner, pk__gt=after)


def _places(token: int, owner: str) -> QuerySet[ToldUntil, int]:
    return ToldUntil.objects.filter(token=token, owner=owner).values_list("event_id", flat=True)


def _first_since(agent: int, owner: str, token: int, after: int) -> QuerySet[Event, int]:
    place = Coalesce(Subquery(_places(token, owner)), Value(after, output_field=BigIntegerField()))
    return _since(agent, owner, place).order_by().values_list("pk", flat=True)[:1]


def _how_many_since(agent: int, owner: str, after: int) -> QuerySet[Event, int]:
    by_agent = _since(agent, owner, after).order_by().values("tells")
    return by_agent.annotate(number=Count("pk")).values_list("number", flat=True)


_KINDS = {"agent": int, "owner": str, "after": int}
_NEWS = Prepared(_first_since, token=int, **_KINDS)
_TOLD_UNTIL = Prepared(_places, token=int, owner=str)
_WAITING = Prepared(lambda **values: reading.with_proposals(_since(**values))[: MOST + 1], **_KINDS)
#: Asked with each call while there are more than are told: putting it together each time took 1,200 function calls.
_LEFT_OUT = Prepared(_how_many_since, **_KINDS)


def news_for(tool: ApiOperation[Any], call: Call, answer: Answer) -> Finish | None:
    """Return what adds the decisions to an answer; None where there is nothing to tell. One query.

    Nothing is told where the call is about no owner.
    """
    owner = call.owner or str(answer.data.get("user_id") or "")
    if not owner or answer.tells_decisions or tool.text_is_complete:
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
        with transaction.atomic(), row_order.settled(told_to(call.caller.agent.pk)) as is_settled:
            return _told(call, payload) if is_settled else payload
    except (DatabaseError, EngineUnavailable) as error:
        log.warning("decisions_not_told", tool=tool.name, error=type(error).__name__)
        return payload


def _told(call: Call, payload: dict[str, Any]) -> dict[str, Any]:
    token, owner = call.caller.token, call.owner
    place = {"token_id": token.original_id, "owner": owner}
    before = _TOLD_UNTIL.first(token=token.original_id, owner=owner)
    waiting = _WAITING.all(agent=token.agent_id, owner=owner, after=token.tells_after if before is None else before)
    events = waiting[:MOST]
    every = reading.items_of(call, events)
    every = every[: bounds.that_fit(every, _CHARACTERS)]
    if not every:  # another call was faster
        return payload
    until = events[len(every) - 1].pk
    if before is None:
        ToldUntil.objects.create(**place, event_id=until)
    else:
        update(ToldUntil, {"event_id": until}, where=place)
    is_all = len(every) == len(waiting)
    left_out = 0 if is_all else _LEFT_OUT.first(agent=token.agent_id, owner=owner, after=until) or 0
    shown = [item for item in every if not _is_told_by(payload["data"], item)]
    if not shown and not left_out:
        return payload
    decisions = {"items": shown, "next": reading.after(until), "more": bool(left_out), "left_out": left_out}
    return payload | {
        "text": _with_lines(payload["text"], decisions),
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
        more = for_list(f": list_proposals with decided_since {decisions['next']} has them") or ", in the next answers"
        lines.append(f"({decisions['left_out']:,} more{more}.)")
    return "\n".join([text, "", _HEADLINE, *map(invisible.escaped, lines)])


# -- A call that waits for a decision: how long it may, and what it holds while it does.

#: Seconds a call may ask to wait: by address, and through a tool, whose callers give up after ten.
LONGEST = 20
LONGEST_OF_TOOL = 8
#: Seconds after which to ask again where there was no place, and where the process was to end.
_RETRY_AFTER = 5
_RETRY_AFTER_RESTART = 1
#: Seconds between two looks for what other processes decided.
_LOOK = 1.0


def until(is_over: Callable[[Call], bool], call: Call, seconds: int, *, work: float) -> tuple[Call, int | None]:
    """Wait until it is over or the time is up; look before each wait.

    Returns:
        The call, with its token as it is now, and the seconds after which to ask again where it could not wait as long
        as it was to.

    Args:
        is_over: asks the databases, in one or two queries, with the token as it is then.
        seconds: 0 looks for nothing and waits for nothing.
        work: seconds that the call may take beside waiting.

    Raises:
        ApiError: `invalid_token` or `missing_scope` when the token may no longer be used.
    """
    if not seconds or is_over(call):
        return call, None
    deadlines.allow(seconds + work)
    end = time.monotonic() + seconds
    token = call.caller.token
    with waits.place(token.original_id, told_to(token.agent_id), most=settings.MOST_WAITING) as place:
        if place is None:
            return call, _RETRY_AFTER_RESTART if waits.is_closed() else _RETRY_AFTER
        while True:
            seen = place.news
            call = _as_now(call)
            left = end - time.monotonic()
            if is_over(call) or left <= 0 or call.caller.is_gone():
                return call, None
            if waits.is_closed():
                return call, _RETRY_AFTER_RESTART
            connections.close_all()
            place.wait(seen, min(left, _LOOK), is_gone=call.caller.is_gone)


def _as_now(call: Call) -> Call:
    """Return the call with its token as it is now: it may have been revoked while the call waited."""
    token = auth.find_again(call.caller.token)
    if token is None:
        raise invalid_token()
    auth.require_scope(token, Scope.MEMORY_READ)
    return replace(call, caller=replace(call.caller, token=token))


# -- The list of decisions as a call: its arguments, waiting for the first of them, and its answer.


class DecisionListArguments(BoundedArguments):
    since: str = Field(
        default="",
        description="`next` of an answer before, or a time (ISO 8601); empty: from the start; now: nothing but the "
        "`next` to go on from.",
        max_length=200,
    )
    limit: int = Field(default=paging.DEFAULT, description="How many at most.", ge=1, le=paging.MOST)
    wait: int = Field(default=0, description="Seconds to wait for a decision while there is none.", ge=0, le=LONGEST)


@endpoint(returns=fields.DECISIONS, owner_optional=True)
def decision_list(call: Call, arguments: DecisionListArguments) -> Answer:
    return decisions(call, arguments, argument="since")


def decisions(call: Call, arguments: DecisionListArguments, *, argument: str) -> Answer:
    """Return the list from the place asked for; wait for something new where that is asked.

    Args:
        argument: what the call calls the place, for a refusal.
    """
    after = reading.place_of(call, arguments.since, argument=argument)
    expire_overdue()
    if after is None:
        after = reading.last(call)
        if not arguments.wait:
            return reading.answer(call, reading.DecisionPage([], after, has_more=False), argument=argument)
    work = decision_list.time_limit
    call, retry_after = until(lambda now: reading.has_news(now, after), call, arguments.wait, work=work)
    page = reading.read(call, after, limit=arguments.limit)
    most = bounds.characters(arguments)
    return reading.answer(call, page, argument=argument, characters=most, retry_after=retry_after)


def expire_overdue() -> None:
    """Expire proposals whose time is up: without a worker no process does, so reading them does."""
    if not settings.CELERY_TASK_ALWAYS_EAGER:
        return
    if Proposal.objects.decidable().filter(expires_at__lte=timezone.now()).exists():
        services.expire()
