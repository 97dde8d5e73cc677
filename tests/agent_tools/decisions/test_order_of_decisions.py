"""The order of decisions under concurrency: a reader who goes on from a cursor misses none and gets none twice."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection, transaction

from approvals import services
from approvals.models import Event, Proposal, User
from approvals.services import events
from memory_app.databases import row_order
from memory_app.reads import Block
from tests import environment
from tests.agent_tools.checks import answered
from tests.agent_tools.conftest import Machine
from tests.agent_tools.decisions.conftest import FEED, ReadOn
from tests.conftest import eventually, in_a_thread
from tests.support.fixtures import Propose

needs_postgresql = pytest.mark.skipif(environment.is_embedded(), reason="SQLite has one writer at a time")
DECIDERS = 4
EACH = 12


@contextmanager
def deciding(person: User, number: int, text: str = "Slowly.") -> Iterator[None]:
    """A transaction has recorded a decision, and commits at the end of the block."""
    is_under_way, may_end = threading.Event(), threading.Event()

    def decide() -> None:
        with transaction.atomic():
            proposal = Proposal.objects.get(pk=number)
            events.record(proposal, Event.What.REJECTED, actor=person, text=text, reason="wrong")
            is_under_way.set()
            may_end.wait(20)

    thread = in_a_thread(decide)
    try:
        assert is_under_way.wait(20)
        yield
    finally:
        may_end.set()
        thread.join()


def test_none_is_lost_and_none_comes_twice_while_many_decide(
    api: Machine, tim: User, goals: Block, propose: Propose, read_on: ReadOn
) -> None:
    numbers = [propose(goals, "likes math", f"likes math {n}").pk for n in range(DECIDERS)]

    def comment(number: int) -> None:
        for n in range(EACH):
            services.comment(actor=tim, proposal_id=number, text=f"{n}")

    threads = [in_a_thread(lambda number=number: comment(number)) for number in numbers]  # type: ignore[misc]
    found: list[Any] = []
    cursor = ""
    while any(thread.is_alive() for thread in threads):
        data = answered(api.get(f"{FEED}?limit=3&since={cursor}"))["data"]
        found, cursor = found + data["items"], data["next"]
    rest, _ = read_on(api, cursor)
    found += rest
    for number in numbers:
        assert [item["comment"] for item in found if item["proposal_id"] == number] == [str(n) for n in range(EACH)]
    assert len(found) == DECIDERS * EACH
    assert found == read_on(api)[0], "read again from the start, it is the same"


@needs_postgresql
def test_one_that_was_begun_first_and_ends_last_is_not_passed_over(
    api: Machine, tim: User, goals: Block, propose: Propose, read_on: ReadOn
) -> None:
    first, second = propose(goals, "likes", "loves").pk, propose(goals, "one book", "two books").pk
    with deciding(tim, first):
        services.reject(actor=tim, proposal_id=second, revision=1, reason="wrong")
        response = api.get(FEED)
        data = answered(response)["data"]
        assert (data["items"], data["more"], response["Retry-After"]) == ([], True, "1")
    items, _ = read_on(api, data["next"])
    assert [item["proposal_id"] for item in items] == [first, second]


@needs_postgresql
def test_now_waits_for_what_is_being_decided_but_not_for_ever(api: Machine, tim: User, proposal: Proposal) -> None:
    with deciding(tim, proposal.pk):
        now = answered(api.get(f"{FEED}?since=now"))["data"]
    assert (now["items"], now["more"]) == ([], False)


@needs_postgresql
def test_those_who_decide_do_not_wait_for_each_other(
    tim: User, goals: Block, propose: Propose, api: Machine, read_on: ReadOn
) -> None:
    first, second = propose(goals, "likes", "loves").pk, propose(goals, "one book", "two books").pk
    with deciding(tim, first), deciding(tim, second, "Also slowly."):
        pass
    assert len(read_on(api)[0]) == 2


def test_what_is_read_is_settled_only_when_no_one_writes(goals: Block, proposal: Proposal, tim: User) -> None:
    name = events.told_to(proposal.agent_id)
    with row_order.settled(name) as is_settled:
        assert is_settled
    if connection.vendor != "postgresql":
        return
    with deciding(tim, proposal.pk):
        with row_order.settled(name) as is_settled:
            assert not is_settled
        with row_order.settled("something else") as is_settled:
            assert is_settled
    assert eventually(lambda: _is_settled(name))


def _is_settled(name: str) -> bool:
    with row_order.settled(name) as is_settled:
        return is_settled
