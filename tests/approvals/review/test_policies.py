"""What owners let agents do without asking."""

import pytest
from django.test import Client
from django.urls import reverse

from approvals.models import Agent, Policy
from approvals.services import notes
from approvals.services.notes import ChangeContext
from memory_app import reads
from tests.support.pages import words


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
