"""Sending what is due, in a few threads of the process: of a Celery worker, and without workers of any other.

Threads, so that a receiver that hangs holds up neither the other tasks of a worker nor the messages to others. The
number of threads is a bound for the process. `deliveries` looks how many are sent to a host, from all processes.
"""

from __future__ import annotations

import structlog
from django.conf import settings
from django.db import Error as DatabaseError
from django.utils import timezone

from agent_tools.models import WebhookEndpoint
from agent_tools.webhooks import deliveries, outbox, signing, telling, transport
from memory_app.runtime import background
from memory_app.runtime.workers import NoWorker, enqueue

log = structlog.get_logger(__name__)

TASK = "agent_tools.send_webhooks"
THREAD = "webhook sender"

#: Messages at once from one process.
_THREADS = 8

_is_stopping = False


def _start() -> int:
    """Have as many threads begin as there is work for, and return their number. Those at work look once more."""
    due = 0 if _is_stopping else deliveries.count_due(most=_THREADS)
    if not due:
        return 0
    names = [f"{THREAD} {number}" for number in range(_THREADS)]
    at_work = [name for name in names if background.is_at_work(name)]
    idle = [name for name in names if name not in at_work][:due]
    for name in at_work + idle:
        background.soon(name, _send_what_is_due)
    return len(idle)


def _send_what_is_due() -> None:
    try:
        while not _is_stopping and (claimed := deliveries.claim()) is not None:
            send(claimed)
    except DatabaseError as error:  # the lease runs out, and the next run sends it
        log.warning("webhooks_not_sent", error=type(error).__name__)


def run() -> int:
    """Make the deliveries of what was decided, and begin to send what is due. Return how many threads were started."""
    if not WebhookEndpoint.objects.exists():
        return 0
    outbox.collect()
    deliveries.give_up_disabled()
    started = _start()
    telling.tell()
    return started


def soon() -> None:
    """Have it done now rather than at the next run, by a worker or by threads of this process."""
    try:
        enqueue(TASK)
    except NoWorker:
        _start()


def send(claimed: deliveries.Claimed) -> None:
    """Send one message and record what became of it."""
    headers = signing.headers(claimed.secrets, message_id=claimed.message_id, at=timezone.now(), body=claimed.body)
    outcome = transport.post(claimed.url, headers, claimed.body, allowed=settings.WEBHOOK_ALLOWED_NETWORKS)
    deliveries.settle(claimed, outcome)


def settle(seconds: float = 20.0) -> None:
    """Wait until this process sends nothing, at most so long."""
    background.settle(THREAD, seconds)


def stop(seconds: float = transport.TOTAL) -> None:
    """Begin nothing new in this process, and wait for what is being sent: before it ends."""
    global _is_stopping
    _is_stopping = True
    settle(seconds)
    _is_stopping = False
