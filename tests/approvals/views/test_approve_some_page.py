"""The page on which some changes of a proposal are approved: with and without scripts, also what goes wrong, and a
paragraph that was moved, which is one change in two places."""

import re
from typing import Any

import pytest
from django.test import Client

from approvals.models import Agent, Approval, Proposal, Status, User
from approvals.services import notes
from approvals.services.approving import Rest
from memory_app import reads
from memory_app.reads import Block
from memory_app.text.edits import Rewrite
from tests.support.acts import address, change, edit, filled, fresh, look, proposed_import, send, sign_in_again
from tests.support.fixtures import MakeBlock, Propose
from tests.support.pages import assert_says, form, html, htmx, words


def turn_to(client: Client, proposal: Proposal, page: int, fields: dict[str, Any]) -> Any:
    """Turn to a page of an import with what is ticked and typed."""
    return client.post(f"{address('ticks', proposal)}?page={page}", fields)


def test_every_change_has_a_box_that_is_ticked_but_for_a_single_one(
    as_tim: Client, three_changes: Proposal, goals: Block, propose: Propose
) -> None:
    page = look(as_tim, three_changes)
    assert_says(page, "Change 2 of 3")
    assert "Approve some" not in words(page)
    assert len(form(page, address("approve", three_changes))["accepted"]) == 3
    assert "accepted" not in filled(as_tim, "approve", propose(goals, "math", "maths"))


@pytest.mark.parametrize("headers", [{}, htmx("proposal")], ids=["a form", "htmx"])
def test_two_of_three_are_approved_and_the_third_goes_back(
    as_tim: Client, three_changes: Proposal, headers: dict[str, str]
) -> None:
    two = filled(as_tim, "approve", three_changes)["accepted"][1:]
    answer = send(as_tim, "approve", three_changes, headers, accepted=two, comment="Still math.")
    assert_says(answer, "Approved in part by Tim Okafor", "1 of 3 changes went back to scribe.", "+3 −3 words")
    assert fresh(three_changes).approval == Approval.PART
    body = reads.block("alice", "goals").body
    for text in ("C1 exam", "two books", "likes math."):
        assert text in body


def test_what_becomes_of_the_rest_is_asked_and_it_is_rejected_with_a_reason(
    as_tim: Client, three_changes: Proposal
) -> None:
    url, fields = address("approve", three_changes), filled(as_tim, "approve", three_changes)
    first = fields["accepted"][:1]
    del fields["rest"]
    answer = as_tim.post(url, fields | {"accepted": first, "comment": "Only the first."})
    assert_says(answer, "Choose what happens to the changes you left out.", "Approve 1 of 3", status=422)
    answer = as_tim.post(url, form(answer, url) | {"rest": "reject"})
    assert_says(answer, "Choose a reason; the agent learns from it.", status=422)
    again = form(answer, url)
    assert [again[name] for name in ("accepted", "comment", "rest")] == [first, "Only the first.", "reject"]
    answer = as_tim.post(url, again | {"rest_reason": "outdated"}, follow=True)
    assert_says(answer, "2 of 3 changes were not accepted")
    three_changes.refresh_from_db()
    assert (three_changes.status, three_changes.decision_reason) == (Status.APPROVED, "outdated")
    assert not three_changes.rest_went_back


def test_no_ticks_and_ticks_of_another_text_are_refused_in_words(
    as_tim: Client, goals: Block, three_changes: Proposal
) -> None:
    fields = filled(as_tim, "approve", three_changes)
    accepted = fields.pop("accepted")
    stale = "What is ticked are not the changes of this proposal as it is now."
    for ticks, said in (({}, "Nothing is ticked."), ({"accepted": [*accepted[:1], "0" * 12]}, stale)):
        assert_says(as_tim.post(address("approve", three_changes), fields | ticks), said, status=409)
    assert reads.block("alice", "goals") == goals


def test_after_another_change_and_an_expired_session_the_ticks_are_kept(
    as_tim: Client, tim: User, alice: User, three_changes: Proposal
) -> None:
    url, fields = address("approve", three_changes), filled(as_tim, "approve", three_changes)
    typed = {"rest": "reject", "rest_reason": "wrong", "comment": "Not the first."}
    as_tim.logout()
    sent = as_tim.post(url, fields | typed | {"accepted": fields["accepted"][1:]})
    again = form(sign_in_again(as_tim, tim, sent), url)
    assert again["accepted"] == fields["accepted"][1:]
    assert {name: again[name] for name in typed} == typed
    edit(alice, "goals", "# Goals", "# My goals")
    answer = as_tim.post(url, again)
    assert answer.status_code == 409
    again = form(answer, url)
    # The line above the first change is another, and so is its id.
    assert (len(again["accepted"]), again["comment"]) == (2, "Not the first.")
    assert fields["accepted"][0] not in again["shown"]
    assert as_tim.post(url, again, follow=True).status_code == 200
    assert "likes math." in reads.block("alice", "goals").body


# -- imports --------------------------------------------------------------------------------------


@pytest.fixture
def many(alice: User, tim: User, scribe: Agent) -> Proposal:
    return proposed_import(scribe, 205)


def test_ticks_go_along_from_page_to_page(as_tim: Client, many: Proposal) -> None:
    url, fields = address("approve", many), filled(as_tim, "approve", many)
    assert len(fields["accepted"]) == 100
    fields["accepted"].remove("mem-7-aaaa")
    second = turn_to(as_tim, many, 2, fields)
    assert_says(second, "204 of 205 ticked", "Approve 204 of 205")
    assert "mem-150-aaaa" not in words(second), "its id tells a person nothing"
    fields = form(second, url)
    fields["accepted"].remove("mem-150-aaaa")
    fields = form(turn_to(as_tim, many, 1, fields), url)
    assert "mem-7-aaaa" not in fields["accepted"]
    assert_says(as_tim.post(url, fields, follow=True), "2 of 205 notes went back to scribe")
    ids = {note.id for note in reads.notes("alice")}
    assert len(ids) == 203
    assert not {"mem-7-aaaa", "mem-150-aaaa"} & ids


def test_many_are_ticked_at_once_and_turning_the_page_keeps_what_is_typed(as_tim: Client, many: Proposal) -> None:
    typed = {"comment": "Not yet.", "rest": "reject", "rest_reason": "wrong"}
    fields = filled(as_tim, "approve", many, **typed)
    again = form(turn_to(as_tim, many, 3, fields), address("approve", many))
    assert {name: again[name] for name in typed} == typed
    del fields["accepted"]
    for which, count, here in (("all", 205, 100), ("none", 0, 0), ("page", 100, 100)):
        answer = turn_to(as_tim, many, 1, fields | {"tick": which})
        assert_says(answer, f"{count} of 205 ticked")
        assert len(form(answer, address("approve", many)).get("accepted", [])) == here
    assert fresh(many).status == Status.OPEN


def test_of_an_import_with_a_note_that_changed_the_others_can_be_approved(
    as_tim: Client, alice: User, many: Proposal
) -> None:
    by = notes.ChangeContext(actor=alice)
    notes.save(by=by, owner="alice", content="Mine.", note_id="mem-3-aaaa")
    assert_says(look(as_tim, many), "Changed since, left out", "Approve 204 of 205")
    assert "mem-3-aaaa" not in filled(as_tim, "approve", many)["accepted"]
    answer = send(as_tim, "approve", many, rest="reject", rest_reason="outdated")
    assert_says(answer, "1 of 205 notes was not accepted")
    assert reads.note("alice", "mem-3-aaaa").content == "Mine."


# -- what was moved --------------------------------------------------------------------------------


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
    assert_says(page, "+2 −2 words, 1 paragraph moved", "in 2 places")
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
    assert fresh(moved).approval == Approval.PART
    body = reads.block("alice", "plan").body
    assert body.count("Alice reads one chapter") == 1
    assert (body.index("Alice") > body.index("aunt")) == (taken == 0)
    assert ("sixth" in body) == (taken == 1)
