"""After a decision the other proposals on what changed are checked again: rightly, and without a query for each."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connections

from approvals import services
from approvals.models import Mergeability, Proposal, User
from memory_app.reads import Block
from tests.conftest import eventually
from tests.end_to_end.test_away import gone
from tests.support.acts import approve, edit
from tests.support.fixtures import ClientOf, MakeBlock, Propose

Again = Callable[[int], Proposal]

LINES = [f"{number}. She has read chapter {number}." for number in range(60)]


@contextmanager
def statements() -> Iterator[list[str]]:
    """The statements made on both databases meanwhile."""
    made: list[str] = []

    def count(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        made.append(sql)
        return execute(sql, params, many, context)

    with connections["default"].execute_wrapper(count), connections["memory"].execute_wrapper(count):
        yield made


@pytest.fixture
def block(alice: User, make_block: MakeBlock) -> Block:
    return make_block(alice, "reading", "\n".join(LINES))


@pytest.fixture
def again(block: Block, propose: Propose) -> Again:
    """`again(3)`: scribe proposes that she has to read the third chapter again."""
    return lambda number: propose(block, LINES[number], f"{number}. She has to read it again.")


def test_checking_more_siblings_takes_no_more_statements(again: Again, settings: Any) -> None:
    settings.PENDING_CAP = 1_000
    taken = []
    for first, last in ((0, 5), (5, 45)):
        for number in range(first, last):
            again(number)
        with statements() as made:
            assert services.recheck("alice", [["block", "reading"]]) == last
        taken.append(len(made))
    assert taken[1] <= taken[0] + 2


def test_each_sibling_is_told_its_state(block: Block, alice: User, again: Again, propose: Propose, worker: Any) -> None:
    approved, fits, same = map(again, (1, 2, 3))
    against = propose(block, "She has read chapter 1.", "She skipped chapter 1.")
    approve(alice, approved)
    expected = {fits.pk: Mergeability.REBASABLE, same.pk: Mergeability.REBASABLE, against.pk: Mergeability.CONFLICT}
    eventually(lambda: dict(Proposal.objects.open().values_list("pk", "mergeability")) == expected)


def test_what_is_left_unchecked_is_unknown_until_recovery_checks_it(alice: User, again: Again, worker: Any) -> None:
    for number in range(6):
        again(number)
    edit(alice, "reading", "", "", title="Another")
    states = Proposal.objects.order_by("pk").values_list("mergeability", flat=True)
    eventually(lambda: set(states.all()) == {Mergeability.REBASABLE})  # or a worker would check all of them afterwards
    assert services.recheck("alice", [["block", "reading"]], most=4) == 6
    assert list(states) == [Mergeability.REBASABLE] * 4 + [Mergeability.UNKNOWN] * 2
    services.recover()
    assert set(states.all()) == {Mergeability.REBASABLE}


def test_the_page_of_an_unchecked_sibling_says_how_it_stands_now(
    block: Block, alice: User, again: Again, propose: Propose, client_of: ClientOf
) -> None:
    first, second = again(1), propose(block, "chapter 1.", "chapter one.")
    approve(alice, first)
    Proposal.objects.filter(pk=second.pk).update(mergeability=Mergeability.UNKNOWN)
    page = client_of(alice).get(second.get_absolute_url())
    assert page.context["review"].state == Mergeability.CONFLICT


def test_while_the_memory_is_away_it_is_unknown_how_they_stand(again: Again) -> None:
    again(1)
    Proposal.objects.update(mergeability=Mergeability.CLEAN)
    with gone("memory"):
        assert services.recheck("alice", [["block", "reading"]]) == 1
    assert Proposal.objects.get().mergeability == Mergeability.UNKNOWN
