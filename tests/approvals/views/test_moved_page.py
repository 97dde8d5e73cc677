"""A paragraph that was moved, as its reviewer reads it in each view and decides about it."""

import re

import pytest
from django.test import Client

from approvals.models import Agent, Approval, Proposal, User
from approvals.services.approving import Rest
from memory_app import reads
from memory_app.text.edits import Rewrite
from tests.support.acts import change, filled, send
from tests.support.fixtures import MakeBlock
from tests.support.pages import assert_says, html, words

ALGEBRA = "Alice reads one chapter of the algebra book every week."
SWIMS = "She swims on Tuesday evening with Ben."
EXAM = "The exam is on the fifth of June in Munich."
AUNT = "Her aunt lives in Graz and has two cats."
BEFORE = f"{ALGEBRA}\n\n{SWIMS}\n\n{EXAM}\n\n{AUNT}\n"
AFTER = f"{SWIMS}\n\n{EXAM.replace('fifth', 'sixth')}\n\n{AUNT}\n\n{ALGEBRA.replace('every', 'each')}\n"


@pytest.fixture
def moved(alice: User, scribe: Agent, make_block: MakeBlock) -> Proposal:
    make_block(alice, "plan", BEFORE)
    return change(scribe, Rewrite(AFTER), label="plan", reasoning="What is next.")


@pytest.mark.parametrize("view", ["inline", "source", "side"])
def test_a_moved_paragraph_says_so_in_both_places_and_what_changed_in_it(
    as_tim: Client, moved: Proposal, view: str
) -> None:
    page = as_tim.get(moved.get_absolute_url(), {"view": view})
    assert_says(page, "+2 −2 words, 1 paragraph moved", "+2 −2 words, 1 moved", "in 2 places")
    said = words(page).lower()
    assert said.count("moved from here") == said.count("moved here") == 1
    assert said.index("moved from here") < said.index("moved here")
    drawn = html(page)
    if view == "inline":  # struck in the one place, new in the other, and each leads to the other
        assert re.search(r"<del>.{,60}Alice reads.*every.*</del>.*<ins>.{,60}Alice reads.*each.*</ins>", drawn, re.S)
        assert drawn.count('href="#moved-1"') == drawn.count('id="moved-1"') == 1
        assert drawn.index('id="change-1"') < drawn.index('href="#moved-1"') < drawn.index('id="moved-1"')
        return
    gone, *_blank = re.findall(r'<del class="moved">(.*?)</del>', drawn, re.S)
    assert "Alice" in gone
    here = drawn[drawn.index('<ins class="moved">') :]
    assert re.search(r"<del>.{,60}every</del>.*?<ins>.{,60}each</ins>", here, re.S)


@pytest.mark.parametrize("taken", [0, 1], ids=["the move", "the other change"])
def test_a_move_has_one_box_and_is_taken_or_left_in_both_places(as_tim: Client, moved: Proposal, taken: int) -> None:
    assert_says(as_tim.get("/"), "1 paragraph moved", "moved: Alice reads one chapter")
    boxes = filled(as_tim, "approve", moved)["accepted"]
    assert len(boxes) == 2
    page = send(as_tim, "approve", moved, accepted=boxes[taken], rest=Rest.AGENT, reason="wrong")
    assert_says(page, "What was left out")
    moved.refresh_from_db()
    assert moved.approval == Approval.PART
    body = reads.block("alice", "plan").body
    assert body.count("Alice reads one chapter") == 1
    assert (body.index("Alice") > body.index("aunt")) == (taken == 0)
    assert ("sixth" in body) == (taken == 1)
