"""Saying no: by a person, with a reason the agent gets back; by the agent itself; by time."""

from datetime import timedelta

import pytest
from django.utils import timezone

from approvals import services
from approvals.models import Agent, Event, Proposal, Status, User
from approvals.recovery.integrity import problems
from approvals.services.errors import AlreadyDecided, NewRevision, ProposalNotFound
from memory_app import reads
from memory_app.dolt.connections import dolt, head_of_main
from memory_app.reads import Block
from tests.support.fixtures import Propose


def test_rejecting_keeps_who_why_and_the_hash_and_leaves_the_memory(goals: Block, tim: User, propose: Propose) -> None:
    proposal = propose(goals, "math", "maths")
    before, hash_ = head_of_main(), proposal.current_revision.head_commit
    decided = services.reject(
        actor=tim, proposal_id=proposal.pk, revision=1, reason="badly_worded", comment=" Say it in German. "
    )
    assert decided.status == Status.REJECTED
    said = (decided.decided_by, decided.decision_reason, decided.decision_comment)
    assert said == (tim, "badly_worded", "Say it in German.")
    assert decided.decided_at is not None
    assert decided.current_revision.head_commit == hash_
    assert head_of_main() == before
    assert reads.block("alice", "goals") == goals
    assert [branch.name for branch in dolt().branches()] == ["main"]
    event = decided.events.last()
    assert (event.what, event.actor, event.data) == ("rejected", "tim", {"reason": "badly_worded"})
    assert list(problems()) == []


def test_only_what_was_shown_is_rejected_with_an_offered_reason(
    goals: Block, tim: User, mallory: User, propose: Propose
) -> None:
    pk = propose(goals, "math", "x").pk
    with pytest.raises(ValueError, match="unknown reject reason"):
        services.reject(actor=tim, proposal_id=pk, revision=1, reason="because")
    with pytest.raises(ProposalNotFound):
        services.reject(actor=mallory, proposal_id=pk, revision=1, reason="wrong")
    with pytest.raises(NewRevision):
        services.reject(actor=tim, proposal_id=pk, revision=2, reason="wrong")
    assert Proposal.objects.get().status == Status.OPEN


def test_an_agent_withdraws_its_own_proposal_only(goals: Block, scribe: Agent, propose: Propose) -> None:
    proposal = propose(goals, "math", "maths")
    other = Agent.objects.create(name="other")
    with pytest.raises(ProposalNotFound):
        services.withdraw(agent=other, proposal_id=proposal.pk)
    withdrawn = services.withdraw(agent=scribe, proposal_id=proposal.pk, comment="I misheard.")
    assert (withdrawn.status, withdrawn.decided_by) == (Status.WITHDRAWN, None)
    assert [branch.name for branch in dolt().branches()] == ["main"]
    with pytest.raises(AlreadyDecided, match="scribe was first"):
        services.withdraw(agent=scribe, proposal_id=proposal.pk)


def test_what_nobody_decided_about_expires(goals: Block, tim: User, propose: Propose) -> None:
    old, young = propose(goals, "math", "maths"), propose(goals, "June", "July")
    Proposal.objects.filter(pk=old.pk).update(expires_at=timezone.now() - timedelta(minutes=1))
    assert services.expire() == 1
    old.refresh_from_db()
    young.refresh_from_db()
    assert (old.status, young.status) == (Status.EXPIRED, Status.OPEN)
    event = old.events.last()
    assert (event.what, event.actor_kind) == (Event.What.EXPIRED, "assent")
    with pytest.raises(AlreadyDecided, match="expired"):
        services.approve(actor=tim, proposal_id=old.pk, revision=1, seen_sha256=goals.sha256)
    assert services.expire() == 0
