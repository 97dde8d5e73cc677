"""The list of decisions as a call: its arguments, waiting for the first of them, and its answer."""

from __future__ import annotations

from typing import Annotated

from django.conf import settings
from django.utils import timezone
from pydantic import Field

from agent_tools.answers import bounds, fields, paging
from agent_tools.auth import grants
from agent_tools.calls.api_operation import Answer, Call
from agent_tools.calls.arguments import BoundedArguments
from agent_tools.calls.registry import endpoint
from agent_tools.decisions import reading, waiting
from agent_tools.models import Scope
from approvals import services


class DecisionListArguments(BoundedArguments):
    since: Annotated[
        str,
        Field(
            description="`next` of an answer before; empty: from the start; now: nothing but the `next` to go on from.",
            max_length=200,
        ),
    ] = ""
    limit: Annotated[int, Field(description="How many at most.", ge=1, le=paging.MOST)] = paging.DEFAULT
    wait: Annotated[
        int, Field(description="Seconds to wait for a decision while there is none.", ge=0, le=waiting.LONGEST)
    ] = 0


@endpoint(
    called="the list of decisions",
    description=(
        "What people decided about the agent's own proposals, in the order it happened, none left out and none twice: "
        "approvals, rejections, requests for changes, what expired or was closed, what was undone, and comments by "
        "people."
    ),
    scope=Scope.MEMORY_READ,
    failing="Error listing decisions",
    returns=fields.DECISIONS,
    owner_optional=True,
)
def decision_list(call: Call, arguments: DecisionListArguments) -> Answer:
    return decisions(call, arguments, argument="since")


def decisions(call: Call, arguments: DecisionListArguments, *, argument: str) -> Answer:
    """Return the list from the place asked for; wait for something new where that is asked.

    Args:
        argument: what the call calls the place, for a refusal.
    """
    after = reading.place_of(call, arguments.since, argument=argument)
    expire_overdue(call)
    if after is None:
        after = reading.last(call)
        if not arguments.wait:
            return reading.answer(call, reading.DecisionPage([], after, has_more=False), characters=0)
    work = decision_list.time_limit
    waited = waiting.until(lambda now: reading.has_news(now, after), call, arguments.wait, work=work)
    page = reading.read(waited.call, after, limit=arguments.limit)
    return reading.answer(waited.call, page, characters=bounds.characters(arguments), retry_after=waited.retry_after)


def expire_overdue(call: Call) -> None:
    """Expire proposals whose time is up: without a worker no process does, so reading them does."""
    if not settings.CELERY_TASK_ALWAYS_EAGER:
        return
    visible = grants.visible_proposals(call.caller.token, call.owner or None)
    if visible.decidable().filter(expires_at__lte=timezone.now()).exists():
        services.expire()
