"""How often people took what an agent proposed, and what owners let agents do without asking."""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from approvals import services
from approvals.models import Agent, Approval, Policy, Proposal, User
from approvals.review.trust import PERIOD, Acceptance, acceptance
from approvals.services import notes
from approvals.services.notes import ChangeContext
from memory_app import reads
from memory_app.reads import Block
from tests.support.acts import approve, as_seen, edit
from tests.support.fixtures import MakeBlock, Propose
from tests.support.pages import words


def reject(actor: User, proposal: Proposal) -> Proposal:
    return services.reject(actor=actor, proposal_id=proposal.pk, revision=1, reason="wrong")


def test_what_people_decided_is_counted_by_how(alice: User, goals: Block, propose: Propose) -> None:
    approve(alice, propose(goals, "math", "maths"))
    edited = approve(alice, propose(goals, "June", "July"))
    Proposal.objects.filter(pk=edited.pk).update(approval=Approval.EDITED)
    reject(alice, propose(goals, "one book", "two books"))
    propose(goals, "month", "week")  # waits: nobody has said anything about it
    found = acceptance(Proposal.objects.of_owner("alice"))
    assert found == {("scribe",): Acceptance(as_proposed=1, edited=1, rejected=1)}
    assert found["scribe",].share == pytest.approx(1 / 3)
    assert Acceptance().share is None


def test_groups_are_by_the_fields_asked_for(alice: User, goals: Block, make_block: MakeBlock, propose: Propose) -> None:
    approve(alice, propose(goals, "math", "maths"))
    reject(alice, propose(make_block(alice, "profile", "Likes tea."), "tea", "coffee"))
    found = acceptance(Proposal.objects.all(), by=("agent__name", "target"))
    assert found == {("scribe", "goals"): Acceptance(as_proposed=1), ("scribe", "profile"): Acceptance(rejected=1)}


def test_what_was_in_the_memory_already_is_nobodys_mistake(alice: User, goals: Block, propose: Propose) -> None:
    proposal = propose(goals, "math", "maths")
    edit(alice, "goals", "math", "maths")
    services.close_already_applied(actor=alice, **as_seen(proposal))
    assert acceptance(Proposal.objects.all()) == {}


def test_an_automatic_change_counts_once_a_person_reverted_it(alice: User, scribe: Agent) -> None:
    by = ChangeContext(actor=scribe, may_apply=True)
    kept = notes.save(by=by, owner="alice", content="Likes tea.")
    assert kept.is_applied
    assert acceptance(Proposal.objects.all()) == {}
    gone = notes.save(by=by, owner="alice", content="Likes coffee.")
    assert gone.proposal is not None
    services.undo(actor=alice, proposal_id=gone.proposal.pk)
    assert acceptance(Proposal.objects.all()) == {("scribe",): Acceptance(reverted=1)}


def test_old_decisions_no_longer_count(alice: User, goals: Block, propose: Propose) -> None:
    done = approve(alice, propose(goals, "math", "maths"))
    Proposal.objects.filter(pk=done.pk).update(decided_at=timezone.now() - PERIOD - timedelta(days=1))
    assert acceptance(Proposal.objects.all()) == {}


# -- policies ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("chosen", "applied"), [("", True), ("apply", True), ("review", False)])
def test_an_owner_chooses_whether_notes_are_applied_at_once(
    chosen: str, applied: bool, as_alice: Client, scribe: Agent
) -> None:
    assert as_alice.post(reverse("policies"), {"notes": chosen}).status_code == 302
    outcome = notes.save(by=ChangeContext(actor=scribe, may_apply=True), owner="alice", content="Likes tea.")
    assert outcome.is_applied is applied
    assert bool(reads.notes("alice")) is applied


def test_an_unknown_policy_is_refused(as_alice: Client) -> None:
    assert as_alice.post(reverse("policies"), {"notes": "sometimes"}).status_code == 422
    assert not Policy.objects.exists()


def test_a_tutor_reads_what_students_chose_and_sets_their_own(as_tim: Client) -> None:
    Policy.objects.create(owner="alice", notes="review")
    assert "Notes about Alice Berg wait for approval." in words(as_tim.get(reverse("policies")))
    as_tim.post(reverse("policies"), {"notes": "apply", "owner": "alice"})
    assert Policy.objects.get(owner="alice").notes == "review"
    assert Policy.objects.get(owner="tim").notes == "apply"
