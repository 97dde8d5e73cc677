"""The change in its four views: all count the same places, and the one chosen last is shown again."""

import re
from typing import Any

import pytest
from django.test import Client

from approvals.models import Agent, Proposal, User
from approvals.review.diff_mode import DiffMode, change_shown
from approvals.review.presentation import review_of
from memory_app.reads import Block
from memory_app.text.edits import Rewrite
from tests.support.acts import change
from tests.support.fixtures import MakeBlock, Propose
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
    return change(scribe, Rewrite(AFTER), label="points")


def test_every_view_counts_the_same_places(rewritten: Proposal, tim: User, as_tim: Client) -> None:
    counts = {view: change_shown(review_of(rewritten, tim), view)["changes"] for view in DiffMode}
    assert len(set(counts.values())) == 1
    assert counts[DiffMode.INLINE] > 1
    for view in DiffMode:
        assert f"in {counts[view]} places" in words(as_tim.get(f"/proposals/{rewritten.pk}/?view={view}"))


def test_the_places_beside_each_other_are_numbered_as_in_the_redline(rewritten: Proposal, tim: User) -> None:
    review = review_of(rewritten, tim)
    side = change_shown(review, DiffMode.SIDE)
    numbers = [number for row in side["table"] for number in row.get("changes", ())]
    assert sorted(numbers) == list(range(1, side["changes"] + 1))


def test_the_view_chosen_last_is_shown_on_the_next_proposal(
    as_tim: Client, proposal: Proposal, goals: Block, propose: Propose
) -> None:
    one, other = (each.get_absolute_url() for each in (proposal, propose(goals, "one book", "two books")))
    as_tim.cookies["assent_view"] = "<script>"  # from elsewhere
    assert chosen(as_tim.get(other)) == "Redline"
    as_tim.get(f"{one}?view=source", headers=PART)
    assert chosen(as_tim.get(other)) == "Source"
    assert chosen(as_tim.get(f"{other}?view=nonsense")) == "Source"
    as_tim.get(f"{one}?view=inline", headers=PART)
    assert chosen(as_tim.get(other)) == "Redline"


def chosen(page: Any) -> str:
    switch = page.content.decode().split('class="menu view-menu"')[1].split("</nav>")[0]
    [name] = re.findall(r'aria-current="page">([^<]+)<', switch)
    return str(name)
