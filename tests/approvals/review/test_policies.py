"""What owners let agents do without asking."""

import pytest
from django.urls import reverse

from approvals.models import Agent, Policy, User
from approvals.services import notes
from approvals.services.notes import ChangeContext
from memory_app import reads
from tests.support.fixtures import ClientOf
from tests.support.pages import words


@pytest.mark.parametrize(("chosen", "applied"), [("", True), ("apply", True), ("review", False)])
def test_an_owner_chooses_whether_notes_are_applied_at_once(
    chosen: str, applied: bool, alice: User, scribe: Agent, client_of: ClientOf
) -> None:
    assert client_of(alice).post(reverse("policies"), {"notes": chosen}).status_code == 302
    outcome = notes.save(by=ChangeContext(actor=scribe, may_apply=True), owner="alice", content="Likes tea.")
    assert outcome.is_applied is applied
    assert bool(reads.notes("alice")) is applied


def test_an_unknown_policy_is_refused(alice: User, client_of: ClientOf) -> None:
    assert client_of(alice).post(reverse("policies"), {"notes": "sometimes"}).status_code == 422
    assert not Policy.objects.exists()


def test_a_tutor_reads_what_students_chose_and_sets_their_own(alice: User, tim: User, client_of: ClientOf) -> None:
    Policy.objects.create(owner="alice", notes="review")
    client = client_of(tim)
    assert "Notes about Alice Berg wait for approval." in words(client.get(reverse("policies")))
    client.post(reverse("policies"), {"notes": "apply", "owner": "alice"})
    assert Policy.objects.get(owner="alice").notes == "review"
    assert Policy.objects.get(owner="tim").notes == "apply"
