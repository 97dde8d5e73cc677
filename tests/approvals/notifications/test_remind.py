"""Nothing waits unseen for long: reviewers are told again, then the owner, before a proposal expires."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from django.core import mail as outbox
from django.test import override_settings
from django.urls import reverse
from django.utils import timezone

from approvals import services
from approvals.models import Event, Mail, Proposal, User
from approvals.services.close import due_at
from tests.approvals.notifications.conftest import made_earlier, pass_time, send, wants
from tests.conftest import in_a_thread
from tests.support.acts import approve
from tests.support.pages import words

if TYPE_CHECKING:
    from memory_app.reads import Block
    from tests.support.fixtures import ClientOf, Propose


def reminders(proposal: Proposal) -> list[str]:
    return [event.data["to"] for event in proposal.events.filter(what=Event.What.REMINDED).order_by("id")]


def test_reviewers_are_told_again_after_seven_days_and_the_owner_after_fourteen(
    goals: Block, alice: User, tim: User, propose: Propose, client_of: ClientOf
) -> None:
    wants(tim)
    wants(alice)
    proposal = propose(goals, "math", "algebra")
    assert send() == 2
    assert services.remind() == 0
    pass_time(days=8)
    assert services.remind() == 1
    assert services.remind() == 0
    assert reminders(proposal) == ["reviewers"]
    assert "Reminded Assent" in words(client_of(tim).get(proposal.get_absolute_url()))
    assert send() == 1
    assert outbox.outbox[-1].to == ["tim@example.org"]
    assert "It has waited for 8 days." in outbox.outbox[-1].body
    pass_time(days=7)
    assert services.remind() == 1
    assert reminders(proposal) == ["reviewers", "owner"]
    assert send() == 1
    assert outbox.outbox[-1].to == ["alice@example.org"]
    assert send(hours=3) == 0
    approve(tim, proposal)
    pass_time(days=30)
    assert services.remind() == 0


def test_an_owner_without_a_tutor_is_the_reviewer(goals: Block, alice: User, propose: Propose) -> None:
    wants(alice)
    propose(goals, "math", "algebra")
    assert send() == 1
    pass_time(days=8)
    assert services.remind() == 1
    assert send() == 1
    assert "It has waited for" in outbox.outbox[-1].body


def test_a_reminder_is_in_the_next_digest_of_the_day(goals: Block, tim: User, propose: Propose) -> None:
    wants(tim, Mail.DAILY, mailed_at=timezone.now())
    made_earlier(propose(goals, "math", "algebra"), days=8)
    assert send(days=1) == 0
    assert services.remind() == 1
    assert send(days=1) == 1


def test_what_waits_long_comes_first_and_is_marked(goals: Block, tim: User, propose: Propose) -> None:
    wants(tim, mailed_at=timezone.now() - timedelta(minutes=10))
    made_earlier(propose(goals, "math", "algebra"), days=8)
    propose(goals, "B2", "C1")
    services.remind()
    assert send() == 1
    body = outbox.outbox[-1].body
    assert body.index("algebra") < body.index("C1")
    assert body.count("It has waited for") == 1


def test_what_its_agent_changed_waits_anew(goals: Block, propose: Propose) -> None:
    proposal = made_earlier(propose(goals, "math", "algebra"), days=8)
    assert services.remind() == 1
    changed = {"what": Event.What.AMENDED, "actor": "scribe", "actor_kind": "agent", "revision": 2}
    Event.objects.create(proposal=proposal, owner="alice", **changed)
    Proposal.objects.filter(pk=proposal.pk).update(current_revision_number=2)
    pass_time(days=6)
    Proposal.objects.filter(pk=proposal.pk).update(expires_at=timezone.now() + timedelta(days=25))
    assert services.remind() == 0
    pass_time(days=2)
    assert services.remind() == 1
    assert reminders(proposal) == ["reviewers", "reviewers"]


def test_of_many_runs_one_reminds(goals: Block, propose: Propose) -> None:
    proposal = made_earlier(propose(goals, "math", "algebra"), days=20)
    threads = [in_a_thread(services.remind) for _ in range(4)]
    for thread in threads:
        thread.join(30)
    assert sorted(reminders(proposal)) == ["owner", "reviewers"]


def test_reminders_can_be_switched_off(goals: Block, propose: Propose) -> None:
    made_earlier(propose(goals, "math", "algebra"), days=20)
    with override_settings(REMIND_AFTER=timedelta(0), REMIND_OWNER_AFTER=timedelta(0)):
        assert services.remind() == 0
    with override_settings(REMIND_AFTER=timedelta(0)):
        assert services.remind() == 1


@pytest.mark.pure
@pytest.mark.parametrize(
    ("life", "reviewers", "owner"),
    [(30, 7, 14), (20, 7, 13), (14, 7, 7), (10, 5, 5), (2, 1, 1)],
)
def test_both_are_reminded_before_it_expires(life: int, reviewers: int, owner: int) -> None:
    since = datetime(2026, 11, 1, tzinfo=UTC)
    assert due_at(since, since + timedelta(days=life)) == (
        since + timedelta(days=reviewers),
        since + timedelta(days=owner),
    )


def test_a_row_says_when_its_proposal_expires_soon(
    goals: Block, tim: User, propose: Propose, client_of: ClientOf
) -> None:
    proposal = propose(goals, "math", "algebra")
    client = client_of(tim)
    assert "expires in" not in words(client.get(reverse("inbox")))
    Proposal.objects.filter(pk=proposal.pk).update(expires_at=timezone.now() + timedelta(days=3, hours=1))
    assert "expires in 3 days" in words(client.get(reverse("inbox")))
    Proposal.objects.filter(pk=proposal.pk).update(expires_at=timezone.now() + timedelta(minutes=30))
    assert "expires today" in words(client.get(reverse("inbox")))
