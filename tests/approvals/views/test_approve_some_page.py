"""The page on which some changes of a proposal are approved: with and without scripts, also what goes wrong."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from approvals.models import Agent, Approval, Proposal, Status, User
from approvals.services import notes
from memory_app import reads
from memory_app.reads import Block
from tests.approvals.views.test_proposal_page import HTMX, approve_url, url
from tests.support.acts import edit, proposed_import, sign_in_again
from tests.support.fixtures import Propose
from tests.support.pages import form, words


def fields_of(client: Client, proposal: Proposal) -> dict[str, Any]:
    return form(client.get(url(proposal)), approve_url(proposal))


def ticks_url(proposal: Proposal, page: int) -> str:
    return f"{reverse('ticks', args=[proposal.pk])}?page={page}"


def test_every_change_has_a_box_that_is_ticked_but_for_a_single_one(
    as_tim: Client, three_changes: Proposal, goals: Block, propose: Propose
) -> None:
    page = as_tim.get(url(three_changes))
    assert "Change 2 of 3" in words(page)
    assert len(form(page, approve_url(three_changes))["accepted"]) == 3
    assert "Approve some" not in words(page)
    assert "accepted" not in fields_of(as_tim, propose(goals, "math", "maths"))


@pytest.mark.parametrize("headers", [{}, HTMX], ids=["a form", "htmx"])
def test_two_of_three_are_approved_and_the_third_goes_back(
    as_tim: Client, goals: Block, three_changes: Proposal, headers: dict[str, str]
) -> None:
    fields = fields_of(as_tim, three_changes)
    fields["accepted"] = fields["accepted"][1:]
    answer = as_tim.post(approve_url(three_changes), fields | {"comment": "Still math."}, headers=headers, follow=True)
    assert answer.status_code == 200
    three_changes.refresh_from_db()
    assert three_changes.approval == Approval.PART
    assert "Approved in part by Tim Okafor" in words(answer)
    assert "1 of 3 changes went back to scribe." in words(answer)
    body = reads.block("alice", "goals").body
    assert "C1 exam" in body
    assert "two books" in body
    assert "likes math." in body


def test_the_rest_is_rejected_with_a_reason(as_tim: Client, three_changes: Proposal) -> None:
    fields = fields_of(as_tim, three_changes)
    some = fields | {"accepted": fields["accepted"][:1], "rest": "reject"}
    answer = as_tim.post(approve_url(three_changes), some)
    assert answer.status_code == 422
    assert "Choose a reason; the agent learns from it." in words(answer)
    again = form(answer, approve_url(three_changes))
    assert (again["accepted"], again["rest"]) == (some["accepted"], "reject")
    answer = as_tim.post(approve_url(three_changes), again | {"rest_reason": "outdated"}, follow=True)
    assert "2 of 3 changes were not accepted" in words(answer)
    three_changes.refresh_from_db()
    assert (three_changes.status, three_changes.decision_reason) == (Status.APPROVED, "outdated")
    assert not three_changes.rest_went_back


def test_without_a_word_about_the_rest_it_is_asked(as_tim: Client, three_changes: Proposal) -> None:
    fields = fields_of(as_tim, three_changes)
    del fields["rest"]
    answer = as_tim.post(
        approve_url(three_changes), fields | {"accepted": fields["accepted"][:1], "comment": "Only the first."}
    )
    assert answer.status_code == 422
    assert "Choose what happens to the changes you left out." in words(answer)
    again = form(answer, approve_url(three_changes))
    assert (again["accepted"], again["comment"]) == (fields["accepted"][:1], "Only the first.")
    assert "Approve 1 of 3" in words(answer)


def test_no_ticks_and_ticks_of_another_text_are_refused_in_words(
    as_tim: Client, goals: Block, three_changes: Proposal
) -> None:
    fields = fields_of(as_tim, three_changes)
    accepted = fields.pop("accepted")
    for ticks, said in (
        ({}, "Nothing is ticked."),
        (
            {"accepted": [*accepted[:1], "0" * 12]},
            "What is ticked are not the changes of this proposal as it is now.",
        ),
    ):
        answer = as_tim.post(approve_url(three_changes), fields | ticks)
        assert answer.status_code == 409
        assert said in words(answer)
    assert reads.block("alice", "goals") == goals


def test_after_another_change_the_ticks_and_the_comment_are_kept(
    as_tim: Client, goals: Block, alice: User, three_changes: Proposal
) -> None:
    fields = fields_of(as_tim, three_changes)
    some = fields | {"accepted": fields["accepted"][1:], "comment": "Not the first."}
    edit(alice, "goals", "# Goals", "# My goals")
    answer = as_tim.post(approve_url(three_changes), some)
    assert answer.status_code == 409
    again = form(answer, approve_url(three_changes))
    # The line above the first change is another, and so is its id.
    assert (len(again["accepted"]), again["comment"]) == (2, "Not the first.")
    assert fields["accepted"][0] not in again["shown"]
    assert as_tim.post(approve_url(three_changes), again, follow=True).status_code == 200
    assert "likes math." in reads.block("alice", "goals").body


def test_the_ticks_outlive_an_expired_session(as_tim: Client, tim: User, three_changes: Proposal) -> None:
    fields = fields_of(as_tim, three_changes)
    some = fields | {"accepted": fields["accepted"][:2], "rest": "reject", "rest_reason": "wrong", "comment": "Typed."}
    as_tim.logout()
    again = form(sign_in_again(as_tim, tim, as_tim.post(approve_url(three_changes), some)), approve_url(three_changes))
    kept = [again[name] for name in ("accepted", "rest", "rest_reason", "comment")]
    assert kept == [some["accepted"], "reject", "wrong", "Typed."]


# -- imports --------------------------------------------------------------------------------------


@pytest.fixture
def many(alice: User, tim: User, scribe: Agent) -> Proposal:
    return proposed_import(scribe, 205)


def test_ticks_go_along_from_page_to_page(as_tim: Client, many: Proposal) -> None:
    fields = fields_of(as_tim, many)
    assert len(fields["accepted"]) == 100
    fields["accepted"].remove("mem-7-aaaa")
    second = as_tim.post(ticks_url(many, 2), fields)
    assert "204 of 205 notes ticked" in words(second)
    assert "Approve 204 of 205" in words(second)
    fields = form(second, approve_url(many))
    fields["accepted"].remove("mem-150-aaaa")
    first = as_tim.post(ticks_url(many, 1), fields)
    fields = form(first, approve_url(many))
    assert "mem-7-aaaa" not in fields["accepted"]
    answer = as_tim.post(approve_url(many), fields, follow=True)
    assert "2 of 205 notes went back to scribe" in words(answer)
    ids = {note.id for note in reads.notes("alice")}
    assert len(ids) == 203
    assert not {"mem-7-aaaa", "mem-150-aaaa"} & ids


def test_many_are_ticked_at_once_and_turning_the_page_keeps_what_is_typed(as_tim: Client, many: Proposal) -> None:
    fields = fields_of(as_tim, many) | {"comment": "Not yet.", "rest": "reject", "rest_reason": "wrong"}
    again = form(as_tim.post(ticks_url(many, 3), fields), approve_url(many))
    assert [again[name] for name in ("comment", "rest", "rest_reason")] == ["Not yet.", "reject", "wrong"]
    del fields["accepted"]
    for which, count, here in (("all", 205, 100), ("none", 0, 0), ("page", 100, 100)):
        answer = as_tim.post(ticks_url(many, 1), fields | {"tick": which})
        assert f"{count} of 205 notes ticked" in words(answer)
        assert len(form(answer, approve_url(many)).get("accepted", [])) == here
    many.refresh_from_db()
    assert many.status == Status.OPEN


def test_of_an_import_with_a_note_that_changed_the_others_can_be_approved(
    as_tim: Client, alice: User, many: Proposal
) -> None:
    by = notes.ChangeContext(actor=alice)
    notes.save(by=by, owner="alice", content="Mine.", note_id="mem-3-aaaa")
    page = as_tim.get(url(many))
    assert "Changed since, left out" in words(page)
    assert "Approve 204 of 205" in words(page)
    fields = form(page, approve_url(many))
    assert "mem-3-aaaa" not in fields["accepted"]
    answer = as_tim.post(approve_url(many), fields | {"rest": "reject", "rest_reason": "outdated"}, follow=True)
    assert "1 of 205 notes was not accepted" in words(answer)
    assert reads.note("alice", "mem-3-aaaa").content == "Mine."
