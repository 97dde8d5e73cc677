"""Sending what is due: at least once, never twice at the same time, and no receiver holds up another."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from django.conf import settings
from django.db import connections
from django.utils import timezone

from agent_tools.models import DeliveryState, EventType, WebhookDelivery, WebhookEndpoint
from agent_tools.webhooks import deliveries, endpoints, messages, outbox, sending, signing, transport
from approvals import services
from approvals.models import Agent, User
from memory_app.celery import app
from memory_app.runtime import background
from tests import environment
from tests.agent_tools.webhooks.conftest import create, delivery, errors, pass_time, run
from tests.conftest import eventually
from tests.support.acts import approve
from tests.support.receiver import Receiver, hang, receiver

if TYPE_CHECKING:
    from agent_tools.webhooks.endpoints import NewSecret
    from memory_app.reads import Block
    from tests.support.fixtures import Propose

ROOT = Path(__file__).resolve().parents[3]


def queue(endpoint: WebhookEndpoint, count: int = 1) -> list[WebhookDelivery]:
    """Messages as decisions would make them."""
    body = messages.of_test("scribe", timezone.now())
    rows = [outbox.make(endpoint, EventType.APPROVED, body, event=number + 1) for number in range(count)]
    return WebhookDelivery.objects.bulk_create(rows)


def test_a_decision_arrives_signed(
    there: Receiver, hook: NewSecret, alice: User, goals: Block, propose: Propose
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
    hook.endpoint.refresh_from_db()
    assert hook.endpoint.last_success_at
    run()
    assert len(there.received) == 1


def test_a_decision_does_not_wait_for_a_receiver_that_hangs(
    there: Receiver, hook: NewSecret, alice: User, goals: Block, propose: Propose, monkeypatch: pytest.MonkeyPatch
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


def test_a_message_is_repeated_under_its_id(there: Receiver, hook: NewSecret) -> None:
    queue(hook.endpoint)
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


def test_after_a_rotation_both_secrets_sign_for_a_while(there: Receiver, hook: NewSecret) -> None:
    new = endpoints.rotate(hook.endpoint)
    queue(hook.endpoint)
    run()
    assert there.received[0].is_signed_with(hook.secret)
    assert there.received[0].is_signed_with(new.secret)
    pass_time(hours=24, minutes=1)
    WebhookDelivery.objects.update(state=DeliveryState.PENDING, next_at=timezone.now())
    run()
    assert not there.received[1].is_signed_with(hook.secret)
    assert there.received[1].is_signed_with(new.secret)


def test_the_overlap_can_be_ended_at_once(there: Receiver, hook: NewSecret) -> None:
    endpoints.rotate(hook.endpoint)
    endpoints.drop_previous_secret(hook.endpoint)
    queue(hook.endpoint)
    run()
    assert not there.received[0].is_signed_with(hook.secret)


def test_a_new_address_gets_what_still_waits(there: Receiver, hook: NewSecret) -> None:
    there.status = 500
    queue(hook.endpoint)
    run()
    with receiver() as moved:
        endpoints.change(hook.endpoint, url=moved.url, events=[EventType.APPROVED])
        pass_time(seconds=10)
        run()
        assert [each.id for each in moved.received] == [there.received[0].id]
    assert delivery().host == f"127.0.0.1:{moved.port}"


# -- several at once ------------------------------------------------------------------------------


def test_of_many_processes_one_sends(there: Receiver, hook: NewSecret) -> None:
    queue(hook.endpoint, 20)
    together = threading.Barrier(8)

    def process() -> None:
        together.wait()
        while claimed := deliveries.claim():
            sending.send(claimed)
        connections.close_all()

    threads = [threading.Thread(target=process) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    run()
    ids = [each.id for each in there.received]
    assert len(ids) == len(set(ids)) == 20
    assert not WebhookDelivery.objects.filter(state=DeliveryState.PENDING).exists()


def test_no_more_than_four_at_once_go_to_one_host(there: Receiver, hook: NewSecret) -> None:
    def slowly(handler: BaseHTTPRequestHandler) -> None:
        time.sleep(0.1)
        handler.send_response(204)
        handler.end_headers()

    there.answer = slowly
    queue(hook.endpoint, 12)
    together = threading.Barrier(8)

    def process() -> None:
        together.wait()
        while WebhookDelivery.objects.filter(state=DeliveryState.PENDING).exists():
            if claimed := deliveries.claim():
                sending.send(claimed)
        connections.close_all()

    threads = [threading.Thread(target=process) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(there.received) == 12
    # PostgreSQL lets claims of the same moment pass each other.
    most = deliveries.MOST_AT_ONE_HOST if environment.is_embedded() else 2 * deliveries.MOST_AT_ONE_HOST
    assert 2 <= there.most_at_once <= most


def test_a_receiver_that_hangs_does_not_hold_up_another(
    there: Receiver, hook: NewSecret, alice: User, scribe: Agent
) -> None:
    there.answer = hang
    queue(hook.endpoint, 30)
    sending.run()
    eventually(lambda: there.received)
    with receiver() as other:
        quick = create(alice, scribe, other.url)
        queue(quick.endpoint, 3)
        began = time.monotonic()
        sending.run()
        eventually(lambda: len(other.received) == 3)
        assert time.monotonic() - began < 3
        there.stopping.set()
        endpoints.delete(hook.endpoint)
        sending.settle()


def test_what_is_asked_for_while_threads_end_is_not_left_to_the_next_run(
    there: Receiver, hook: NewSecret, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread that had found nothing more was counted as at work while it closed its connections."""

    class Slow:
        def close_all(self) -> None:
            time.sleep(1)
            connections.close_all()

    monkeypatch.setattr(background, "connections", Slow())
    queue(hook.endpoint, 8)
    sending.run()
    eventually(lambda: not WebhookDelivery.objects.filter(state=DeliveryState.PENDING).exists())
    time.sleep(0.2)
    WebhookDelivery.objects.update(state=DeliveryState.PENDING, next_at=timezone.now())
    sending.run()
    eventually(lambda: len(there.received) == 16, seconds=5)


# -- crashes --------------------------------------------------------------------------------------


def test_what_a_killed_process_was_sending_is_sent_again_after_its_lease(there: Receiver, hook: NewSecret) -> None:
    queue(hook.endpoint)
    claimed = deliveries.claim()
    assert claimed is not None
    run()
    assert there.received == []
    pass_time(seconds=deliveries.LEASE.total_seconds())
    run()
    (one,) = there.received
    assert one.id == claimed.message_id
    # The first one was not dead after all: what it has to say is of no interest any more.
    deliveries.settle(claimed, transport.AttemptOutcome(500, "refused", 1))
    assert delivery().state == DeliveryState.DELIVERED
    assert errors(delivery()) == [""]


def test_the_places_of_killed_processes_at_a_host_are_free_again(there: Receiver, hook: NewSecret) -> None:
    queue(hook.endpoint, 6)
    taken = [deliveries.claim() for _ in range(6)]
    assert [claimed is not None for claimed in taken] == [True] * 4 + [False] * 2
    pass_time(seconds=deliveries.LEASE.total_seconds())
    run()
    assert len(there.received) == 6


_SEND = """
import django; django.setup()
from agent_tools.webhooks import sending
sending.run(); sending.settle(60)
"""


@pytest.mark.slow
def test_a_process_killed_while_it_sends_loses_nothing(there: Receiver, hook: NewSecret) -> None:
    there.answer = hang
    queue(hook.endpoint, 2)
    process = subprocess.Popen([sys.executable, "-c", _SEND], cwd=ROOT, env=environment_of_a_process())
    try:
        eventually(lambda: len(there.received) == 2, seconds=60)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    there.stopping.set()
    there.answer = None
    pass_time(seconds=deliveries.LEASE.total_seconds())
    run()
    assert sorted(each.id for each in there.received[2:]) == sorted(each.id for each in there.received[:2])
    assert set(WebhookDelivery.objects.values_list("state", flat=True)) == {DeliveryState.DELIVERED}


def environment_of_a_process() -> dict[str, str]:
    return os.environ | {
        "ASSENT_DATA_DIR": str(settings.DATA_DIR),
        "DJANGO_SETTINGS_MODULE": "memory_app.settings",
        "ASSENT_WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8",
    }


# -- by the clock ---------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.skipif(not environment.is_embedded(), reason="with workers, beat does it")
def test_without_workers_the_process_that_opens_the_databases_sends(
    there: Receiver, hook: NewSecret, alice: User, goals: Block, propose: Propose
) -> None:
    approve(alice, propose(goals, "math", "algebra"))
    script = "import django; django.setup(); from approvals.models import User; User.objects.count()"
    process = subprocess.Popen(
        [sys.executable, "-c", f"{script}; import time; time.sleep(60)"], cwd=ROOT, env=environment_of_a_process()
    )
    try:
        eventually(lambda: there.received, seconds=60)
        eventually(lambda: delivery().state == DeliveryState.DELIVERED)
    finally:
        process.kill()
        process.wait()
    assert there.received[0].is_signed_with(hook.secret)


@pytest.mark.slow
@pytest.mark.parametrize("pool", ["solo", "prefork"])
@pytest.mark.skipif(environment.is_embedded(), reason="needs Redis")
def test_a_worker_sends_when_beat_asks(
    there: Receiver, hook: NewSecret, alice: User, goals: Block, propose: Propose, pool: str
) -> None:
    approve(alice, propose(goals, "math", "algebra"))
    command = f"{sys.executable} -m celery -A memory_app.celery worker --pool {pool} -c 2 -Q hooks --without-mingle"
    process = subprocess.Popen(command.split(), cwd=ROOT, env=environment_of_a_process())
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
def test_a_worker_that_is_stopped_ends_what_it_sends(there: Receiver, hook: NewSecret) -> None:
    def slowly(handler: BaseHTTPRequestHandler) -> None:
        time.sleep(2)
        handler.send_response(204)
        handler.end_headers()

    there.answer = slowly
    queue(hook.endpoint)
    command = f"{sys.executable} -m celery -A memory_app.celery worker --pool prefork -c 1 -Q hooks --without-mingle"
    process = subprocess.Popen(command.split(), cwd=ROOT, env=environment_of_a_process())
    try:
        app.send_task(sending.TASK, queue="hooks")
        eventually(lambda: there.received, seconds=60)
    finally:
        process.terminate()
        process.wait(30)
    assert delivery().state == DeliveryState.DELIVERED
