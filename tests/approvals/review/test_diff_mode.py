"""The change in its four views: all count the same places, and the one chosen last is shown again."""

import re
from typing import Any

import pytest

from approvals import services
from approvals.models import Agent, Kind, Proposal, User
from approvals.review.diff_mode import DiffMode, change_shown
from approvals.review.presentation import review_of
from memory_app.reads import Block
from memory_app.text.edits import Replace
from tests.support.fixtures import ClientOf, MakeBlock, Propose
from tests.support.pages import words

PART = {"HX-Request": "true", "HX-Target": "change"}

BEFORE = """# Points

Which sum is meant?
Measure theory: the trace of a map
Writes it from left to right.

Arabic
Two vowels are wrong.

Proofs
Says “clearly”.
"""
AFTER = """# Points

## Mathematics
Measure theory: the trace of a map
Which sum is meant?

## Arabic
Two vowels are wrong.
Says “clearly”.

Convergence of distributions.
"""


@pytest.fixture
def rewritten(alice: User, scribe: Agent, make_block: MakeBlock) -> Proposal:
    make_block(alice, "points", BEFORE)
    return services.propose(
        agent=scribe,
        owner="alice",
        label="points",
        edits=[Replace(BEFORE, AFTER)],
        kind=Kind.REWRITE,
        reasoning="Sorted by subject.",
    ).proposal


def test_every_view_counts_the_same_places(rewritten: Proposal, tim: User, client_of: ClientOf) -> None:
    counts = {view: change_shown(review_of(rewritten, tim), view)["changes"] for view in DiffMode}
    assert len(set(counts.values())) == 1
    assert counts[DiffMode.INLINE] > 1
    client = client_of(tim)
    for view in DiffMode:
        assert f"in {counts[view]} places" in words(client.get(f"/proposals/{rewritten.pk}/?view={view}"))


def test_the_places_beside_each_other_are_numbered_as_in_the_redline(rewritten: Proposal, tim: User) -> None:
    review = review_of(rewritten, tim)
    side = change_shown(review, DiffMode.SIDE)
    numbers = [number for row in side["table"] for number in row.get("changes", ())]
    assert sorted(numbers) == list(range(1, side["changes"] + 1))


def test_the_view_chosen_last_is_shown_on_the_next_proposal(
    goals: Block, propose: Propose, tim: User, client_of: ClientOf
) -> None:
    one, other = propose(goals, "in June", "in July"), propose(goals, "one book", "two books")
    client = client_of(tim)
    assert chosen(client.get(other.get_absolute_url())) == "Redline"
    client.get(f"{one.get_absolute_url()}?view=source", headers=PART)
    assert chosen(client.get(other.get_absolute_url())) == "Source"
    assert chosen(client.get(f"{other.get_absolute_url()}?view=nonsense")) == "Source"
    client.get(f"{one.get_absolute_url()}?view=inline", headers=PART)
    assert chosen(client.get(other.get_absolute_url())) == "Redline"


def test_a_cookie_from_elsewhere_chooses_nothing(
    goals: Block, propose: Propose, tim: User, client_of: ClientOf
) -> None:
    client = client_of(tim)
    client.cookies["assent_view"] = "<script>"
    assert chosen(client.get(propose(goals, "in June", "in July").get_absolute_url())) == "Redline"


def chosen(page: Any) -> str:
    switch = page.content.decode().split('class="switch"')[1].split("</nav>")[0]
    [name] = re.findall(r'aria-current="page">([^<]+)<', switch)
    return str(name)
