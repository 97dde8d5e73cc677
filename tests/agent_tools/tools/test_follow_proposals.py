"""What became of a proposal: list_proposals, get_proposal, withdraw_proposal, and their addresses."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import override_settings
from django.utils import timezone

from agent_tools.models import IdempotencyKey
from approvals import services
from approvals.models import Agent, Kind, Proposal, User
from memory_app.reads import Block
from memory_app.text.edits import Replace
from tests.agent_tools.checks import answered, refused
from tests.agent_tools.conftest import Call, Issue, Machine, MachineOf
from tests.support.fixtures import Propose


@pytest.fixture
def proposal(goals: Block, propose: Propose) -> Proposal:
    return propose(goals, "likes math", "loves math")


def test_an_open_proposal_is_told_with_its_mergeability(call: Call, proposal: Proposal) -> None:
    answer = answered(call("get_proposal", proposal_id=proposal.pk))
    data = answer["data"]
    assert (data["status"], data["mergeability"], data["decision"]) == ("open", "clean", None)
    assert data["result"] == proposal.current_revision.result_text
    assert data["edits"][0]["old_string"] == "likes math"
    assert answer["text"] == f"Proposal {proposal.pk} for block 'goals' is open (clean)."


def test_a_rejection_comes_back_with_its_reason(call: Call, tim: User, proposal: Proposal) -> None:
    services.reject(actor=tim, proposal_id=proposal.pk, revision=1, reason="badly_worded", comment="Say it warmer.")
    answer = answered(call("get_proposal", proposal_id=proposal.pk))
    decision = answer["data"]["decision"]
    assert (decision["by"], decision["reason"], decision["comment"]) == ("tim", "badly_worded", "Say it warmer.")
    assert answer["text"].endswith("is rejected, by tim (badly_worded): Say it warmer.")
    assert answer["data"]["mergeability"] is None


def test_the_list_says_what_the_reviewer_said(call: Call, tim: User, proposal: Proposal) -> None:
    services.reject(
        actor=tim, proposal_id=proposal.pk, revision=1, reason="badly_worded", comment="Say it warmer.\n" + "x" * 400
    )
    line = answered(call("list_proposals"))["text"].split("\n")[-1]
    assert line.startswith(f"- {proposal.pk}: block 'goals', rejected (badly_worded): Say it warmer. xxx")
    assert line.endswith("x… (get_proposal has all of it)")


def test_a_branch_is_named_for_as_long_as_it_is_there(call: Call, tim: User, proposal: Proposal) -> None:
    def branch() -> str | None:
        found: str | None = answered(call("get_proposal", proposal_id=proposal.pk))["data"]["branch"]
        return found

    assert branch() == f"p/{proposal.pk}"
    services.reject(actor=tim, proposal_id=proposal.pk, revision=1, reason="badly_worded")
    assert branch() is None
    saved = answered(call("memory_save", content="She sails."))["data"]
    assert (saved["status"], saved["branch"]) == ("applied", None)


def test_proposals_are_listed_newest_first_and_by_status(
    call: Call, goals: Block, propose: Propose, proposal: Proposal
) -> None:
    second = propose(goals, "likes math", "hates math")
    answered(call("withdraw_proposal", proposal_id=proposal.pk))
    listed = answered(call("list_proposals"))
    assert [item["proposal_id"] for item in listed["data"]["items"]] == [second.pk, proposal.pk]
    assert f"- {second.pk}: block 'goals', open" in listed["text"]
    withdrawn = answered(call("list_proposals", status="withdrawn"))["data"]["items"]
    assert [item["proposal_id"] for item in withdrawn] == [proposal.pk]
    assert answered(call("list_proposals", block_label="nothing"))["text"] == "You have no such proposals."


def test_proposals_come_in_pages(api: Machine, goals: Block, propose: Propose) -> None:
    numbers = [propose(goals, "likes math", f"likes {n}").pk for n in range(3)]
    first = answered(api.get("/api/v1/proposals/?limit=2"))["data"]
    rest = answered(api.get(f"/api/v1/proposals/?limit=2&cursor={first['next']}"))["data"]
    assert [item["proposal_id"] for item in first["items"] + rest["items"]] == numbers[::-1]
    assert rest["next"] is None
    refused(api.get("/api/v1/proposals/?cursor=x"), 400, "invalid_arguments")


def test_an_unknown_status_names_the_known_ones(api: Machine) -> None:
    error = refused(api.get("/api/v1/proposals/?status=opened"), 400, "invalid_arguments")
    assert "open, changes_requested, merging" in error["details"]["fields"]["status"]


def test_addresses_answer_the_same_as_tools(api: Machine, call: Call, proposal: Proposal) -> None:
    assert answered(api.get(f"/api/v1/proposals/{proposal.pk}/")) == answered(
        call("get_proposal", proposal_id=proposal.pk)
    )
    assert answered(api.get("/api/v1/proposals/?user_id=alice")) == answered(call("list_proposals"))


def test_a_token_of_several_owners_sees_all_of_them_or_one(
    machine: MachineOf, issue: Issue, alice: User, ben: User, proposal: Proposal
) -> None:
    both = machine(issue(alice, ben))
    assert len(answered(both.get("/api/v1/proposals/"))["data"]["items"]) == 1
    assert answered(both.get("/api/v1/proposals/?user_id=ben"))["data"]["items"] == []
    answered(both.call("get_proposal", proposal_id=proposal.pk))
    refused(both.call("get_proposal", proposal_id=proposal.pk, user_id="ben"), 404, "proposal_not_found")


def test_a_foreign_proposal_looks_like_one_that_does_not_exist(
    machine: MachineOf, issue: Issue, alice: User, ben: User, proposal: Proposal
) -> None:
    other_agent = machine(issue(alice, agent=Agent.objects.create(name="reader")))
    other_owner = machine(issue(ben))
    for stranger in (other_agent, other_owner):
        for number in (proposal.pk, proposal.pk + 1):
            error = refused(stranger.get(f"/api/v1/proposals/{number}/"), 404, "proposal_not_found")
            assert error["text"] == f"Error: Proposal {number} not found."
            refused(stranger.post(f"/api/v1/proposals/{number}/withdraw/"), 404, "proposal_not_found")
        assert answered(stranger.get("/api/v1/proposals/"))["data"]["items"] == []
    proposal.refresh_from_db()
    assert proposal.status == "open"


@pytest.mark.parametrize("number", [0, -1, 2**63, "1", 1.5, True, None])
def test_a_number_that_is_none_is_named(call: Call, number: Any) -> None:
    error = refused(call("get_proposal", proposal_id=number), 400, "invalid_arguments")
    assert "proposal_id" in error["details"]["fields"]


def test_a_huge_number_in_the_address_is_no_crash(api: Machine) -> None:
    assert api.get(f"/api/v1/proposals/{10**30}/").status_code == 400


def test_an_agent_takes_its_proposal_back(api: Machine, proposal: Proposal) -> None:
    answer = answered(api.post(f"/api/v1/proposals/{proposal.pk}/withdraw/", {"reasoning": "I was wrong."}))
    assert answer["text"] == f"Proposal {proposal.pk} withdrawn."
    assert answer["data"]["status"] == "withdrawn"
    proposal.refresh_from_db()
    assert (proposal.status, proposal.decision_comment) == ("withdrawn", "I was wrong.")


def test_a_withdrawal_whose_answer_was_lost_is_answered_again(call: Call, proposal: Proposal) -> None:
    first = answered(call("withdraw_proposal", proposal_id=proposal.pk, idempotency_key="k"))
    IdempotencyKey.objects.update(status=None, response="", lease_expires_at=timezone.now())
    assert answered(call("withdraw_proposal", proposal_id=proposal.pk, idempotency_key="k")) == first
    refused(call("withdraw_proposal", proposal_id=proposal.pk, idempotency_key="other"), 409, "already_decided")


def test_a_decided_proposal_cannot_be_taken_back(call: Call, tim: User, proposal: Proposal) -> None:
    services.reject(actor=tim, proposal_id=proposal.pk, revision=1, reason="wrong")
    error = refused(call("withdraw_proposal", proposal_id=proposal.pk), 409, "already_decided")
    assert error["details"]["proposal"]["status"] == "rejected"
    assert "rejected, by tim (wrong)" in error["text"]


def test_a_proposal_under_decision_says_when_to_try_again(call: Call, proposal: Proposal) -> None:
    Proposal.objects.filter(pk=proposal.pk).update(
        status="merging", lease_expires_at=timezone.now() + timedelta(seconds=30)
    )
    response = call("withdraw_proposal", proposal_id=proposal.pk)
    refused(response, 409, "being_decided")
    assert response["Retry-After"] == "2"


@override_settings(CELERY_TASK_ALWAYS_EAGER=True)
def test_an_overdue_proposal_reads_as_expired(call: Call, proposal: Proposal) -> None:
    Proposal.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert answered(call("get_proposal", proposal_id=proposal.pk))["data"]["status"] == "expired"
    refused(call("withdraw_proposal", proposal_id=proposal.pk), 409, "already_decided")


def test_it_is_told_which_of_its_own_change_the_same(
    call: Call, goals: Block, propose: Propose, proposal: Proposal, scribe: Agent
) -> None:
    assert answered(call("get_proposal", proposal_id=proposal.pk))["data"]["collides_with"] == []
    other = propose(goals, "likes math", "hates math")
    propose(goals, "one book", "two books")
    services.propose(
        agent=Agent.objects.create(name="another"),
        owner="alice",
        label="goals",
        edits=[Replace("likes math", "teaches math")],
        kind=Kind.EDIT,
        reasoning="She said so.",
    )
    answer = answered(call("get_proposal", proposal_id=proposal.pk))
    against = {"proposal_id": other.pk, "effect": "no_longer_fits", "other_first": "no_longer_fits"}
    assert answer["data"]["collides_with"] == [against]
    assert f"(Once it is approved, these of yours no longer fit: {other.pk}." in answer["text"]
    services.withdraw(agent=scribe, proposal_id=proposal.pk)
    assert answered(call("get_proposal", proposal_id=proposal.pk))["data"]["collides_with"] == []
