"""Nothing waits unseen for long: reviewers are told again, then the owner, before a proposal expires."""

from datetime import UTC, datetime, timedelta

import pytest
from django.core import mail as outbox
from django.test import Client, override_settings
from django.urls import reverse
from django.utils import timezone

from approvals import services
from approvals.models import Event, Mail, Proposal, User
from approvals.services.close import due_at
from memory_app.reads import Block
from tests.approvals.notifications.conftest import made_earlier, pass_time, send, wants
from tests.conftest import in_a_thread
from tests.support.acts import approve
from tests.support.fixtures import Propose
from tests.support.pages import words


def reminders(proposal: Proposal) -> list[str]:
    return [event.data["to"] for event in proposal.events.filter(what=Event.What.REMINDED).order_by("id")]


def test_reviewers_are_told_again_after_seven_days_and_the_owner_after_fourteen(
    alice: User, told: User, algebra: Proposal, as_tim: Client
) -> None:
    wants(alice)
    assert send() == 2
    assert services.remind() == 0
    pass_time(days=8)
    assert services.remind() == 1
    assert services.remind() == 0
    assert reminders(algebra) == ["reviewers"]
    assert "Reminded Assent" in words(as_tim.get(algebra.get_absolute_url()))
    assert send() == 1
    assert outbox.outbox[-1].to == ["tim@example.org"]
    assert "It has waited for 8 days." in outbox.outbox[-1].body
    pass_time(days=7)
    assert services.remind() == 1
    assert reminders(algebra) == ["reviewers", "owner"]
    assert send() == 1
    assert outbox.outbox[-1].to == ["alice@example.org"]
    assert send(hours=3) == 0
    approve(told, algebra)
    pass_time(days=30)
    assert services.remind() == 0


def test_an_owner_without_a_tutor_is_the_reviewer(alice: User, algebra: Proposal) -> None:
    wants(alice)
    assert send() == 1
    pass_time(days=8)
    assert services.remind() == 1
    assert send() == 1
    assert "It has waited for" in outbox.outbox[-1].body


def test_a_reminder_is_in_the_next_digest_of_the_day(tim: User, algebra: Proposal) -> None:
    wants(tim, Mail.DAILY, mailed_at=timezone.now())
    made_earlier(algebra, days=8)
    assert send(days=1) == 0
    assert services.remind() == 1
    assert send(days=1) == 1


def test_what_waits_long_comes_first_and_is_marked(
    goals: Block, tim: User, algebra: Proposal, propose: Propose
) -> None:
    wants(tim, mailed_at=timezone.now() - timedelta(minutes=10))
    made_earlier(algebra, days=8)
    propose(goals, "B2", "C1")
    services.remind()
    assert send() == 1
    body = outbox.outbox[-1].body
    assert body.index("algebra") < body.index("C1")
    assert body.count("It has waited for") == 1


def test_what_its_agent_changed_waits_anew(algebra: Proposal) -> None:
    made_earlier(algebra, days=8)
    assert services.remind() == 1
    changed = {"what": Event.What.AMENDED, "actor": "scribe", "actor_kind": "agent", "revision": 2}
    Event.objects.create(proposal=algebra, owner="alice", **changed)
    Proposal.objects.filter(pk=algebra.pk).update(current_revision_number=2)
    pass_time(days=6)
    Proposal.objects.filter(pk=algebra.pk).update(expires_at=timezone.now() + timedelta(days=25))
    assert services.remind() == 0
    pass_time(days=2)
    assert services.remind() == 1
    assert reminders(algebra) == ["reviewers", "reviewers"]


def test_of_many_runs_one_reminds(algebra: Proposal) -> None:
    made_earlier(algebra, days=20)
    threads = [in_a_thread(services.remind) for _ in range(4)]
    for thread in threads:
        thread.join(30)
    assert sorted(reminders(algebra)) == ["owner", "reviewers"]


def test_reminders_can_be_switched_off(algebra: Proposal) -> None:
    made_earlier(algebra, days=20)
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


def test_a_row_says_when_its_proposal_expires_soon(as_tim: Client, algebra: Proposal) -> None:
    assert "expires in" not in words(as_tim.get(reverse("inbox")))
    for left, said in ((timedelta(days=3, hours=1), "expires in 3 days"), (timedelta(minutes=30), "expires today")):
        Proposal.objects.update(expires_at=timezone.now() + left)
        assert said in words(as_tim.get(reverse("inbox")))
