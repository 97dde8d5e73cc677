"""What is asked about one owner, or one page of many, reads no more rows of a site with ten times the owners."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.db import connections
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from approvals.models import Agent, Event, Policy, Proposal, TrustRule, User
from benchmarks import population
from tests.agent_tools.conftest import Machine
from tests.support.rows_read import rows_read

pytestmark = pytest.mark.slow

OWNER = "student-000"
SMALL, LARGE = 60, 600


def grow(count: int, *, first: int = 0) -> None:
    """Add so many students of tim with ten open proposals each, a decision about one of them, and a rule."""
    names = population.make_students(count, first=first)
    population.make_open_rows(names, count * 10)
    agent, tim = Agent.objects.get(), User.objects.get(username="tim")
    told = Proposal.objects.filter(owner__in=names).order_by("pk")[:count]
    said: dict[str, Any] = {"what": Event.What.REJECTED, "actor": "tim", "actor_kind": Event.ActorKind.PERSON}
    said |= {"revision": 1, "at": timezone.now(), "tells": agent}
    Event.objects.bulk_create([Event(proposal=each, owner=each.owner, **said) for each in told])
    TrustRule.objects.bulk_create([TrustRule(owner=name, agent=agent, needs="ask", made_by=tim) for name in names])
    Policy.objects.bulk_create([Policy(owner=name, notes=Policy.Notes.REVIEW) for name in names[::2]])


def client_of(username: str) -> Client:
    client = Client()
    client.force_login(User.objects.get(username=username))
    return client


def looked_at(token: str) -> dict[str, Callable[[], Any]]:
    agent, staff = Machine(token), client_of("admin")
    newest = Proposal.objects.order_by("-pk").values_list("pk", flat=True)[0]
    decisions, proposals = "/api/v1/proposals/decisions/", "/api/v1/proposals/"
    asked = f"{proposals}?", f"{proposals}?status=expired", f"{decisions}?", f"{decisions}?since=now"
    return {
        **{path: partial(agent.get, path) for path in asked},
        "one": partial(agent.get, f"{proposals}{newest}/"),
        **{f"{path} of one": partial(agent.get, f"{path}&user_id={OWNER}") for path in asked},
        "list_proposals": partial(agent.call, "list_proposals", user_id=OWNER),
        "form of a token": partial(staff.get, "/admin/agent_tools/agenttoken/add/"),
    }


def test_ten_times_the_owners_cost_no_more() -> None:
    population.make_people(0)
    token = population.make_agent()
    grow(SMALL)

    def measured() -> dict[str, int]:
        looks = looked_at(token)
        for look in looks.values():
            assert look().status_code == 200
        return {name: rows_read(look) for name, look in looks.items()}

    small = measured()
    grow(LARGE - SMALL, first=SMALL)
    large = measured()
    grown = {name: (small[name], read) for name, read in large.items() if read > 1.5 * small[name]}
    assert not grown, grown


def test_policies_of_many_students_are_read_at_once() -> None:
    population.make_people(0)
    population.make_agent()
    tim = client_of("tim")
    for count, first in ((3, 0), (57, 3)):
        grow(count, first=first)
        tim.get("/settings/policies/")
        with (
            CaptureQueriesContext(connections["default"]) as default,
            CaptureQueriesContext(connections["memory"]) as memory,
        ):
            page = tim.get("/settings/policies/")
        # Where an owner's memory is, is looked up beside, and kept.
        asked = [each["sql"] for each in default if not re.search("memoryowner|memorydatabase", each["sql"])]
        assert len(asked) + len(memory) <= 12, "\n".join(asked)
    assert page.content.decode().count("scribe · every change · always ask") == 60
    assert page.content.decode().count("wait for approval") >= 30
