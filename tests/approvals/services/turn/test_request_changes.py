"""A person asks an agent for changes, takes that back, or decides all the same."""

from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from approvals import services
from approvals.models import Agent, Event, Proposal, Status, User
from approvals.pages.inbox import counts_for, waiting_for
from approvals.pages.inbox_filters import Tab
from approvals.permissions import ReviewAction, available_actions
from approvals.recovery.integrity import problems
from approvals.review.turn import change_request
from approvals.services.errors import AlreadyDecided, NewRevision, ProposalNotFound, WithAgent
from approvals.services.hand_back import hand_back
from memory_app import reads
from memory_app.dolt.connections import dolt, head_of_main
from memory_app.reads import Block
from tests.support.fixtures import Propose

WANTED = "Say which exam."


def ask(person: User, proposal: Proposal, **changed: object) -> Proposal:
    given = {"revision": 1, "comment": WANTED} | changed
    return services.request_changes(actor=person, proposal_id=proposal.pk, **given)


def test_asking_for_changes_gives_the_turn_to_the_agent_and_keeps_its_branch(
    goals: Block, tim: User, propose: Propose
) -> None:
    proposal = propose(goals, "math", "maths")
    before = head_of_main()
    asked = ask(tim, proposal, comment=f" {WANTED} ", reason="wrong")
    proposal.refresh_from_db()
    assert asked.status == proposal.status == Status.CHANGES_REQUESTED
    assert proposal.handed_back_at is not None
    assert not proposal.is_decided
    event = proposal.events.get(what=Event.What.CHANGES_REQUESTED)
    assert (event.actor, event.text, event.data) == ("tim", WANTED, {"reason": "wrong"})
    request = change_request(proposal)
    assert (request.by, request.by_name, request.comment, request.reason) == ("tim", "Tim Okafor", WANTED, "wrong")
    assert head_of_main() == before
    assert dolt().head(proposal.current_revision.branch) == proposal.current_revision.head_commit
    assert list(problems()) == []


def test_it_leaves_your_turn_and_is_waiting_for_the_agent(goals: Block, tim: User, propose: Propose) -> None:
    ask(tim, propose(goals, "math", "maths"))
    propose(goals, "in June", "in July")
    assert waiting_for(tim) == 1
    assert counts_for(tim) == {Tab.YOURS: 1, Tab.AGENT: 1, Tab.DECIDED: 0}


def test_a_request_says_what_should_change(goals: Block, tim: User, propose: Propose) -> None:
    proposal = propose(goals, "math", "maths")
    for given in ({"comment": " \n"}, {"reason": "too_private"}, {"reason": "because"}):
        with pytest.raises(ValueError, match=r"request|reason"):
            ask(tim, proposal, **given)
    proposal.refresh_from_db()
    assert proposal.status == Status.OPEN


def test_only_of_what_was_shown_and_only_by_who_may_decide(
    goals: Block, tim: User, mallory: User, propose: Propose
) -> None:
    proposal = propose(goals, "math", "maths")
    with pytest.raises(NewRevision):
        ask(tim, proposal, revision=2)
    with pytest.raises(ProposalNotFound):
        ask(mallory, proposal)
    services.reject(actor=tim, proposal_id=proposal.pk, revision=1, reason="wrong")
    with pytest.raises(AlreadyDecided):
        ask(tim, proposal)
    assert not Event.objects.filter(what=Event.What.CHANGES_REQUESTED).exists()


def test_a_second_reviewer_is_told_that_somebody_asked_already(
    goals: Block, tim: User, alice: User, propose: Propose
) -> None:
    proposal = propose(goals, "math", "maths")
    ask(tim, proposal)
    with pytest.raises(WithAgent) as refused:
        ask(alice, proposal, comment="Something else.")
    assert refused.value.message == "Tim Okafor asked scribe for changes."
    assert proposal.events.filter(what=Event.What.CHANGES_REQUESTED).count() == 1


def test_who_does_not_know_of_the_request_decides_nothing(
    goals: Block, tim: User, alice: User, propose: Propose
) -> None:
    proposal = propose(goals, "math", "maths")
    ask(tim, proposal)
    decision = {"actor": alice, "proposal_id": proposal.pk, "revision": 1}
    with pytest.raises(WithAgent):
        services.approve(**decision, seen_sha256=goals.sha256)
    with pytest.raises(WithAgent):
        services.reject(**decision, reason="wrong")
    assert reads.block("alice", "goals") == goals


def test_it_can_be_approved_as_it_is(goals: Block, tim: User, propose: Propose) -> None:
    proposal = propose(goals, "math", "maths")
    ask(tim, proposal)
    approved = services.approve(
        actor=tim, proposal_id=proposal.pk, revision=1, seen_sha256=goals.sha256, is_with_agent=True
    )
    assert approved.status == Status.APPROVED
    assert "maths" in reads.block("alice", "goals").body
    assert list(problems()) == []


def test_it_can_be_rejected_and_withdrawn_all_the_same(
    goals: Block, tim: User, scribe: Agent, propose: Propose
) -> None:
    first, second = propose(goals, "math", "maths"), propose(goals, "in June", "in July")
    ask(tim, first)
    ask(tim, second)
    rejected = services.reject(actor=tim, proposal_id=first.pk, revision=1, reason="wrong", is_with_agent=True)
    withdrawn = services.withdraw(agent=scribe, proposal_id=second.pk, comment="No, then.")
    assert (rejected.status, withdrawn.status) == (Status.REJECTED, Status.WITHDRAWN)
    assert [branch.name for branch in dolt().branches()] == ["main"]


def test_a_request_is_taken_back(goals: Block, tim: User, alice: User, propose: Propose) -> None:
    proposal = propose(goals, "math", "maths")
    ask(tim, proposal)
    assert available_actions(alice, Proposal.objects.get()) == {
        ReviewAction.APPROVE,
        ReviewAction.REJECT,
        ReviewAction.BACK_TO_REVIEW,
    }
    back = services.back_to_review(actor=alice, proposal_id=proposal.pk, revision=1)
    assert (back.status, back.handed_back_at) == (Status.OPEN, None)
    again = services.back_to_review(actor=alice, proposal_id=proposal.pk, revision=1)
    assert again.events.filter(what=Event.What.REOPENED).count() == 1
    assert change_request(again) is None
    assert ReviewAction.REQUEST_CHANGES in available_actions(tim, again)


def test_taking_back_another_revision_or_a_strangers_does_nothing(
    goals: Block, tim: User, mallory: User, propose: Propose
) -> None:
    proposal = propose(goals, "math", "maths")
    ask(tim, proposal)
    with pytest.raises(NewRevision):
        services.back_to_review(actor=tim, proposal_id=proposal.pk, revision=2)
    with pytest.raises(ProposalNotFound):
        services.back_to_review(actor=mallory, proposal_id=proposal.pk, revision=1)
    proposal.refresh_from_db()
    assert proposal.status == Status.CHANGES_REQUESTED


def test_what_its_agent_leaves_expires_but_not_at_once(goals: Block, tim: User, propose: Propose) -> None:
    proposal = propose(goals, "math", "maths")
    Proposal.objects.update(expires_at=timezone.now() + timedelta(minutes=1))
    ask(tim, proposal)
    assert services.expire(now=timezone.now() + timedelta(days=6)) == 0
    assert services.expire(now=timezone.now() + timedelta(days=8)) == 1
    proposal.refresh_from_db()
    assert proposal.status == Status.EXPIRED
    assert [branch.name for branch in dolt().branches()] == ["main"]


def test_a_proposal_that_moved_on_is_not_handed_back(goals: Block, tim: User, propose: Propose) -> None:
    proposal = propose(goals, "math", "maths")
    services.reject(actor=tim, proposal_id=proposal.pk, revision=1, reason="wrong")
    with transaction.atomic():
        assert not hand_back(proposal, actor=None, automatic="conflict")
    proposal.refresh_from_db()
    assert proposal.status == Status.REJECTED
