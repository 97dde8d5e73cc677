"""When trying ends: retries over a week, receivers that say they are gone or are busy, and telling the person."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from django.conf import settings
from django.core.cache import cache
from django.test import override_settings
from django.utils import timezone

from agent_tools import auth
from agent_tools.models import AgentToken, DeliveryState, DisabledWhy, EndpointState, WebhookDelivery, WebhookEndpoint
from agent_tools.webhooks import deliveries, endpoints, schedule, sending
from approvals import services
from approvals.models import Mail, User
from memory_app.reads import Block
from tests.agent_tools.webhooks.conftest import delivery, pass_time, queue, run
from tests.support.fixtures import Propose
from tests.support.receiver import Receiver
from tests.support.smtp import MailServer, mail_server


@pytest.fixture
def smtp() -> Iterator[MailServer]:
    with mail_server() as server:
        yield server


@pytest.fixture
def mailed(alice: User) -> User:
    """alice has an address."""
    User.objects.filter(pk=alice.pk).update(email="alice@example.org", mail=Mail.DAILY)
    return alice


def state_of(hook: WebhookEndpoint) -> tuple[str, str]:
    return WebhookEndpoint.objects.values_list("state", "disabled_why").get(pk=hook.pk)


# -- the schedule ---------------------------------------------------------------------------------


@pytest.mark.pure
def test_fourteen_attempts_take_a_little_over_a_week() -> None:
    now = begin = datetime(2026, 3, 1, tzinfo=UTC)
    tries = 1
    while (at := schedule.next_attempt(now, tries=tries)) is not None:
        assert at > now
        now, tries = at, tries + 1
    assert tries == 14
    assert timedelta(days=7) < now - begin < timedelta(days=9)
    # What failed together is not tried together.
    assert len({schedule.next_attempt(now, tries=3) for _ in range(20)}) > 10


@pytest.mark.pure
@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("120", 120),
        (" 7 ", 7),
        ("0", None),
        ("-5", None),
        ("99999999", 86_400),
        ("9" * 400, None),
        ("soon", None),
        ("", None),
        ("Sun, 01 Mar 2026 00:10:00 GMT", 600),
        ("Sun, 01 Mar 2026 00:10:00", 600),
        ("Sat, 28 Feb 2026 00:10:00 GMT", None),
        ("Sun, 01 Mar 2099 00:10:00 GMT", 86_400),
        ("Mon, 01 Jan 99999999999999999999 00:00:00 GMT", None),
        ("Mon, 01 Jan 2030 00:00:00 +999999999999999999", None),
    ],
)
def test_what_a_receiver_asks_for_is_read_with_a_limit(header: str, seconds: int | None) -> None:
    found = schedule.retry_after(header, datetime(2026, 3, 1, tzinfo=UTC))
    assert (found and found.total_seconds()) == seconds


# -- failures -------------------------------------------------------------------------------------


def test_five_hundred_for_a_day_and_then_an_answer_is_a_delivery(there: Receiver, hook: WebhookEndpoint) -> None:
    queue(hook)
    there.status = 500
    for _hour in range(26):
        run()
        pass_time(hours=1)
    assert 5 <= len(there.received) <= 7
    assert state_of(hook)[0] == EndpointState.ACTIVE
    assert WebhookEndpoint.objects.get().failing_since is not None
    there.status = 200
    pass_time(hours=15)
    run()
    assert delivery().state == DeliveryState.DELIVERED
    assert WebhookEndpoint.objects.get().failing_since is None
    assert len({each.id for each in there.received}) == 1


def test_a_week_of_nothing_but_failures_disables_it_and_its_person_is_told_once(
    there: Receiver, hook: WebhookEndpoint, mailed: User, smtp: MailServer
) -> None:
    there.status = 500
    queue(hook, 2)
    for _half_day in range(18):
        run()
        pass_time(hours=12)
    assert state_of(hook) == (EndpointState.DISABLED, DisabledWhy.FAILING)
    assert not WebhookDelivery.objects.filter(state=DeliveryState.PENDING).exists()
    run()
    ((to, mail),) = smtp.mails
    text = mail.get_content()
    assert to == "alice@example.org"
    assert f"{settings.PUBLIC_URL}/settings/webhooks/{hook.pk}/" in text
    assert "nothing arrived for a week" in text
    assert "/hook" not in text  # a path may be a secret of the receiver's
    tried = len(there.received)
    pass_time(days=2)
    run()
    assert len(there.received) == tried


def test_one_success_in_the_week_keeps_it_active(there: Receiver, hook: WebhookEndpoint) -> None:
    first, _second = queue(hook, 2)
    there.status = 500
    for day in range(10):
        run()
        pass_time(days=1)
        if day == 4:
            WebhookDelivery.objects.filter(pk=first.pk).update(next_at=timezone.now())
            WebhookDelivery.objects.exclude(pk=first.pk).update(next_at=timezone.now() + timedelta(days=1))
            there.status = 200
            run()
            there.status = 500
    assert state_of(hook)[0] == EndpointState.ACTIVE


def test_a_message_that_was_tried_for_a_week_beside_others_that_arrive_is_given_up(
    there: Receiver, hook: WebhookEndpoint
) -> None:
    queue(hook)
    there.status = 500
    for _day in range(16):
        run()
        pass_time(hours=28)
        WebhookEndpoint.objects.update(failing_since=timezone.now())  # as if another had arrived in between
    row = delivery()
    assert row.state == DeliveryState.FAILED
    assert len(row.attempts) == 14
    assert state_of(hook)[0] == EndpointState.ACTIVE


def test_gone_disables_at_once(there: Receiver, hook: WebhookEndpoint, mailed: User, smtp: MailServer) -> None:
    queue(hook, 3)
    there.status = 410
    run()
    assert state_of(hook) == (EndpointState.DISABLED, DisabledWhy.GONE)
    assert not WebhookDelivery.objects.filter(state=DeliveryState.PENDING).exists()
    run()
    assert len(smtp.mails) == 1
    assert len(there.received) <= 3


def test_gone_at_an_address_that_was_changed_since_is_not_held_against_the_new_one(
    there: Receiver, hook: WebhookEndpoint
) -> None:
    queue(hook)
    claimed = deliveries.claim()
    endpoints.change(hook, url=f"{there.url}/new", events=hook.events)
    there.status = 410
    sending.send(claimed)
    assert state_of(hook)[0] == EndpointState.ACTIVE


def test_a_receiver_that_asks_for_time_gets_it_for_everything(there: Receiver, hook: WebhookEndpoint) -> None:
    queue(hook)
    there.status, there.headers = 429, {"Retry-After": "600"}
    run()
    assert delivery().next_at > timezone.now() + timedelta(minutes=9)
    WebhookDelivery.objects.update(next_at=timezone.now())
    there.status, there.headers = 200, {}
    run()
    assert len(there.received) == 1
    pass_time(minutes=11)
    run()
    assert len(there.received) == 2


# -- telling the person ---------------------------------------------------------------------------


def test_a_mail_server_that_is_away_is_tried_later(there: Receiver, hook: WebhookEndpoint, mailed: User) -> None:
    queue(hook)
    there.status = 410
    with override_settings(
        EMAIL_BACKEND="django.core.mail.backends.smtp.EmailBackend", EMAIL_HOST="127.0.0.1", EMAIL_PORT=9
    ):
        run()
        run()
    assert WebhookEndpoint.objects.get().told_at is None
    cache.clear()
    with mail_server() as smtp:
        run()
        run()
        assert len(smtp.mails) == 1


def test_who_wants_no_mail_or_disabled_it_gets_none(
    there: Receiver, hook: WebhookEndpoint, mailed: User, smtp: MailServer
) -> None:
    deliveries.disable(hook.pk, why=DisabledWhy.BY_PERSON)
    run()
    endpoints.enable(hook)
    User.objects.filter(pk=mailed.pk).update(mail=Mail.NEVER)
    deliveries.disable(hook.pk, why=DisabledWhy.GONE)
    run()
    assert smtp.mails == []


# -- disabled and enabled -------------------------------------------------------------------------


@pytest.mark.parametrize(("status", "state"), [(500, DeliveryState.MISSED), (200, DeliveryState.DELIVERED)])
def test_one_that_was_being_sent_when_it_was_disabled_does_not_come_later(
    there: Receiver, hook: WebhookEndpoint, status: int, state: DeliveryState
) -> None:
    queue(hook)
    claimed = deliveries.claim()
    deliveries.disable(hook.pk, why=DisabledWhy.BY_PERSON)
    there.status = status
    sending.send(claimed)
    run()
    assert delivery().state == state
    assert len(there.received) == 1


def test_nothing_is_sent_again_while_it_is_disabled_or_being_sent(there: Receiver, hook: WebhookEndpoint) -> None:
    (row,) = queue(hook)
    deliveries.claim()
    with pytest.raises(endpoints.NotSendable):
        endpoints.send_again(row)
    deliveries.disable(hook.pk, why=DisabledWhy.BY_PERSON)
    pass_time(seconds=deliveries.LEASE.total_seconds())
    with pytest.raises(endpoints.NotSendable):
        endpoints.send_again(row)
    assert there.received == []
    endpoints.enable(hook)
    endpoints.send_again(row)  # the process that was sending it is gone
    run()
    endpoints.send_again(delivery())
    run()
    first, second = there.received
    assert first.id == second.id
    assert len(delivery().attempts) == 2


# -- the log --------------------------------------------------------------------------------------


def test_the_log_is_deleted_after_its_days_and_what_waits_is_kept(there: Receiver, hook: WebhookEndpoint) -> None:
    old, waiting, _young = queue(hook, 3)
    WebhookDelivery.objects.exclude(pk=waiting.pk).update(state=DeliveryState.DELIVERED)
    WebhookDelivery.objects.filter(pk__in=[old.pk, waiting.pk]).update(created_at=timezone.now() - timedelta(days=31))
    with override_settings(WEBHOOK_DELIVERY_DAYS=0):
        assert deliveries.purge() == 0
    assert deliveries.purge() == 1
    assert not WebhookDelivery.objects.filter(pk=old.pk).exists()


def test_what_waits_is_not_sent_once_the_agent_serves_its_owner_no_more(
    there: Receiver, hook: WebhookEndpoint, alice: User, goals: Block, propose: Propose
) -> None:
    proposal = propose(goals, "math", "algebra")
    services.reject(actor=alice, proposal_id=proposal.pk, revision=1, reason="wrong")
    there.status = 500
    run()
    auth.stop_serving(AgentToken.objects.get(), alice)
    pass_time(minutes=1)
    there.status = 200
    run()
    assert len(there.received) == 1
    assert (delivery().state, len(delivery().attempts)) == (DeliveryState.MISSED, 1)
    endpoints.send_again(delivery())
    run()
    assert len(there.received) == 1
