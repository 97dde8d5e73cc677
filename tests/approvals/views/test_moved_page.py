"""A paragraph that was moved, as its reviewer reads it in each view and decides about it."""

import re
from typing import Any

import pytest
from django.test import Client

from approvals.models import Agent, Approval, Proposal, User
from approvals.services.approving import Rest
from memory_app import reads
from memory_app.text.edits import Rewrite
from tests.approvals.views.test_proposal_page import approve_url, url
from tests.support.acts import change
from tests.support.fixtures import MakeBlock
from tests.support.pages import form, words

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
    page = as_tim.get(f"{url(moved)}?view={view}")
    said = words(page).lower()
    assert "+2 −2 words, 1 paragraph moved" in words(page)
    assert "+2 −2 words, 1 moved" in words(page)
    assert "in 2 places" in said
    assert said.count("moved from here") == said.count("moved here") == 1
    assert said.index("moved from here") < said.index("moved here")
    drawn = page.content.decode()
    if view == "inline":  # struck in the one place, new in the other
        assert re.search(r"<del>.{,60}Alice reads.*every.*</del>.*<ins>.{,60}Alice reads.*each.*</ins>", drawn, re.S)
        return
    gone, *_blank = re.findall(r'<del class="moved">(.*?)</del>', drawn, re.S)
    assert "Alice" in gone
    here = drawn[drawn.index('<ins class="moved">') :]
    assert re.search(r"<del>.{,60}every</del>.*?<ins>.{,60}each</ins>", here, re.S)


def test_both_places_lead_to_each_other(as_tim: Client, moved: Proposal) -> None:
    drawn = as_tim.get(url(moved)).content.decode()
    assert drawn.count('href="#moved-1"') == drawn.count('id="moved-1"') == 1
    assert 'id="change-1"' in drawn
    assert drawn.index('id="change-1"') < drawn.index('href="#moved-1"') < drawn.index('id="moved-1"')


def test_a_moved_paragraph_has_one_box(as_tim: Client, moved: Proposal) -> None:
    assert len(form(as_tim.get(url(moved)), approve_url(moved))["accepted"]) == 2


@pytest.mark.parametrize("taken", [0, 1], ids=["the move", "the other change"])
def test_a_move_is_taken_or_left_in_both_places(as_tim: Client, moved: Proposal, taken: int) -> None:
    fields: dict[str, Any] = form(as_tim.get(url(moved)), approve_url(moved))
    fields |= {"accepted": fields["accepted"][taken], "rest": Rest.AGENT, "reason": "wrong"}
    as_tim.post(approve_url(moved), fields)
    moved.refresh_from_db()
    assert moved.approval == Approval.PART
    body = reads.block("alice", "plan").body
    assert body.count("Alice reads one chapter") == 1
    assert body.index("Alice") > body.index("aunt") if taken == 0 else body.index("Alice") < body.index("swims")
    assert ("sixth" in body) == (taken == 1)
    page = words(as_tim.get(url(moved)))
    assert "What was left out" in page


def test_the_list_says_what_was_moved(as_tim: Client, moved: Proposal) -> None:
    page = words(as_tim.get("/"))
    assert "1 paragraph moved" in page
    assert "moved: Alice reads one chapter" in page
