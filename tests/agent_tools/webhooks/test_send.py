"""Sending what is due: at least once, never twice at the same time, and when trying ends.

No receiver holds up another; those that say they are gone or busy are heard, and the person is told.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from django.conf import settings
from django.core.cache import cache
from django.test import override_settings
from django.utils import timezone

from agent_tools import auth
from agent_tools.models import (
    AgentToken,
    DeliveryState,
    DisabledWhy,
    EndpointState,
    EventType,
    WebhookDelivery,
    WebhookEndpoint,
)
from agent_tools.webhooks import deliveries, endpoints, schedule, sending, signing, transport
from approvals.models import Agent, Mail, User
from memory_app.celery import app
from memory_app.reads import Block
from tests import environment
from tests.agent_tools.webhooks.conftest import create, delivery, errors, pass_time, queue, run
from tests.conftest import at_once, eventually
from tests.support.acts import approve, reject
from tests.support.fixtures import Propose
from tests.support.receiver import Receiver, hang, receiver
from tests.support.smtp import MailServer, mail_server

ROOT = Path(__file__).resolve().parents[3]


def test_a_decision_arrives_signed(
    there: Receiver, hook: WebhookEndpoint, alice: User, goals: Block, propose: Propose
) -> None:
    proposal = propose(goals, "math", "algebra")
    approve(alice, proposal)
    run()
    (one,) = there.received
    assert one.is_signed_with(hook.secret)
    assert not one.is_signed_with(signing.make_secret())
    assert one.message["type"] == "proposal.approved"
    assert one.message["data"]["proposal_id"] == proposal.pk
    row = delivery()
    assert (row.state, row.message_id) == (DeliveryState.DELIVERED, one.id)
    assert [(each["status"], each["error"]) for each in row.attempts] == [(204, "")]
    hook.refresh_from_db()
    assert hook.last_success_at
    run()
    assert len(there.received) == 1


def test_a_decision_does_not_wait_for_a_receiver_that_hangs(
    there: Receiver, hook: WebhookEndpoint, alice: User, goals: Block, propose: Propose, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "TOTAL", 4.0)
    there.answer = hang
    first, second = propose(goals, "math", "algebra"), propose(goals, "one book", "two books")
    approve(alice, first)
    sending.run()
    eventually(lambda: there.received)
    reject(alice, second)
    assert errors(delivery()) == []  # it still hangs
    sending.settle()
    assert errors(delivery()) == ["timed_out"]


def test_a_message_is_repeated_under_its_id(there: Receiver, hook: WebhookEndpoint) -> None:
    queue(hook)
    there.status = 500
    run()
    run()
    assert len(there.received) == 1  # not before it is time
    pass_time(seconds=10)
    there.status = 200
    run()
    first, second = there.received
    assert (first.id, first.body) == (second.id, second.body)
    assert second.is_signed_with(hook.secret)
    assert errors(delivery()) == ["refused", ""]


def test_after_a_rotation_both_secrets_sign_for_a_while(there: Receiver, hook: WebhookEndpoint) -> None:
    old = hook.secret
    endpoints.rotate(hook)
    queue(hook)
    run()
    assert there.received[0].is_signed_with(old)
    assert there.received[0].is_signed_with(hook.secret)
    pass_time(hours=24, minutes=1)
    WebhookDelivery.objects.update(state=DeliveryState.PENDING, next_at=timezone.now())
    run()
    assert not there.received[1].is_signed_with(old)
    assert there.received[1].is_signed_with(hook.secret)


def test_a_new_address_gets_what_still_waits(there: Receiver, hook: WebhookEndpoint) -> None:
    there.status = 500
    queue(hook)
    run()
    with receiver() as moved:
        endpoints.change(hook, url=moved.url, events=[EventType.APPROVED])
        pass_time(seconds=10)
        run()
        assert [each.id for each in moved.received] == [there.received[0].id]


def test_an_address_that_an_installation_no_longer_allows_is_not_reached(
    hook: WebhookEndpoint, there: Receiver
) -> None:
    queue(hook)
    with override_settings(WEBHOOK_ALLOWED_NETWORKS=[]):
        run()
    assert there.received == []
    assert delivery().attempts[0]["error"] == "address_refused"


# -- several at once ------------------------------------------------------------------------------


def test_of_many_processes_one_sends(there: Receiver, hook: WebhookEndpoint, alice: User, scribe: Agent) -> None:
    for each in (hook, *(create(alice, scribe, there.url) for _ in range(4))):
        queue(each, 4)
    waiting = WebhookDelivery.objects.filter(state=DeliveryState.PENDING)

    def process() -> None:
        while waiting.exists():
            if claimed := deliveries.claim():
                sending.send(claimed)

    at_once(process, 8)
    ids = [each.id for each in there.received]
    assert len(ids) == len(set(ids)) == 20


def test_a_receiver_that_hangs_does_not_hold_up_another(
    there: Receiver, hook: WebhookEndpoint, alice: User, scribe: Agent
) -> None:
    there.answer = hang
    queue(hook, 30)
    sending.run()
    eventually(lambda: there.received)
    with receiver() as other:
        quick = create(alice, scribe, other.url)
        queue(quick, 3)
        began = time.monotonic()
        sending.run()
        eventually(lambda: len(other.received) == 3)
        assert time.monotonic() - began < 3
        there.stopping.set()
        hook.delete()
        sending.settle()


# -- crashes --------------------------------------------------------------------------------------


def test_what_a_killed_process_was_sending_is_sent_again_after_its_lease(
    there: Receiver, hook: WebhookEndpoint
) -> None:
    queue(hook, 2)
    claimed = deliveries.claim()
    run()
    assert there.received == []  # one message at a time goes to a webhook
    pass_time(seconds=deliveries.LEASE.total_seconds())
    run()
    assert there.received[0].id == claimed.message_id
    assert len(there.received) == 2
    # The first one was not dead after all: what it has to say is of no interest any more.
    deliveries.settle(claimed, transport.AttemptOutcome(500, "refused", 1))
    claimed.refresh_from_db()
    assert claimed.state == DeliveryState.DELIVERED
    assert errors(claimed) == [""]


_SEND = """
import django; django.setup()
from agent_tools.webhooks import sending
sending.run(); sending.settle(60)
"""


@pytest.mark.slow
def test_a_process_killed_while_it_sends_loses_nothing(there: Receiver, hook: WebhookEndpoint) -> None:
    there.answer = hang
    queue(hook, 2)
    process = subprocess.Popen([sys.executable, "-c", _SEND], cwd=ROOT, env=environment_of_a_process())
    try:
        eventually(lambda: there.received, seconds=60)
    finally:
        process.kill()
        process.wait()
    there.stopping.set()
    there.answer = None
    pass_time(seconds=deliveries.LEASE.total_seconds())
    run()
    assert there.received[1].id == there.received[0].id
    assert len(there.received) == 3
    assert set(WebhookDelivery.objects.values_list("state", flat=True)) == {DeliveryState.DELIVERED}


def environment_of_a_process() -> dict[str, str]:
    return os.environ | {
        "ASSENT_DATA_DIR": str(settings.DATA_DIR),
        "DJANGO_SETTINGS_MODULE": "memory_app.settings",
        "ASSENT_WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8",
    }


def worker(pool: str) -> subprocess.Popen[bytes]:
    command = f"{sys.executable} -m celery -A memory_app.celery worker --pool {pool} -c 2 -Q hooks --without-mingle"
    return subprocess.Popen(command.split(), cwd=ROOT, env=environment_of_a_process())


@pytest.mark.slow
@pytest.mark.skipif(environment.is_embedded(), reason="needs Redis")
def test_a_worker_sends_when_beat_asks(
    there: Receiver, hook: WebhookEndpoint, alice: User, goals: Block, propose: Propose
) -> None:
    approve(alice, propose(goals, "math", "algebra"))
    process = worker("solo")
    try:
        for _time in range(3):
            app.send_task(settings.CELERY_BEAT_SCHEDULE["send webhooks"]["task"], queue="hooks")
        eventually(lambda: there.received, seconds=60)
        eventually(lambda: delivery().state == DeliveryState.DELIVERED)
    finally:
        process.terminate()
        process.wait(30)
    assert [each.is_signed_with(hook.secret) for each in there.received] == [True]


@pytest.mark.slow
@pytest.mark.skipif(environment.is_embedded(), reason="needs Redis")
def test_a_worker_that_is_stopped_ends_what_it_sends(there: Receiver, hook: WebhookEndpoint) -> None:
    def slowly(handler: BaseHTTPRequestHandler) -> None:
        time.sleep(2)
        handler.send_response(204)
        handler.end_headers()

    there.answer = slowly
    queue(hook)
    process = worker("prefork")
    try:
        app.send_task(sending.TASK, queue="hooks")
        eventually(lambda: there.received, seconds=60)
    finally:
        process.terminate()
        process.wait(30)
    assert delivery().state == DeliveryState.DELIVERED


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
    reject(alice, propose(goals, "math", "algebra"))
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
