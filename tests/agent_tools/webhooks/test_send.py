"""Sending what is due: at least once, never twice at the same time, and no receiver holds up another."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from django.conf import settings
from django.test import override_settings
from django.utils import timezone

from agent_tools.models import DeliveryState, EventType, WebhookDelivery, WebhookEndpoint
from agent_tools.webhooks import deliveries, endpoints, sending, signing, transport
from approvals import services
from approvals.models import Agent, User
from memory_app.celery import app
from tests import environment
from tests.agent_tools.webhooks.conftest import create, delivery, errors, pass_time, queue, run
from tests.conftest import eventually, in_a_thread
from tests.support.acts import approve
from tests.support.receiver import Receiver, hang, receiver

if TYPE_CHECKING:
    from memory_app.reads import Block
    from tests.support.fixtures import Propose

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
    services.reject(actor=alice, proposal_id=second.pk, revision=1, reason="wrong")
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
    together = threading.Barrier(8)

    def process() -> None:
        together.wait()
        while waiting.exists():
            if claimed := deliveries.claim():
                sending.send(claimed)

    for thread in [in_a_thread(process) for _ in range(8)]:
        thread.join()
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
