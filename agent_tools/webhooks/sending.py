"""Sending what is due, in a few threads of the process: of a Celery worker, and without workers of any other.

Threads, so that a receiver that hangs holds up neither the other tasks of a worker nor the messages to others. The
number of threads is a bound for the process, `deliveries` counts for each host across processes.
"""

from __future__ import annotations

import threading
import time

import structlog
from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connections
from django.utils import timezone

from agent_tools.models import WebhookEndpoint
from agent_tools.webhooks import deliveries, outbox, signing, telling, transport
from memory_app.runtime.workers import NoWorker, enqueue

log = structlog.get_logger(__name__)

TASK = "agent_tools.send_webhooks"
THREAD = "webhook sender"

#: Messages at once from one process; at most half of them to endpoints at which nothing arrived lately.
_THREADS = 8
_OF_FAILING = _THREADS // 2


class _Senders:
    """The threads, and how many of them are busy with endpoints that only fail."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        # Those that will look once more before they end, unlike one that found nothing and is closing its connections.
        self._working: list[threading.Thread] = []
        self._asked = 0
        self._failing = 0
        self._is_stopping = False

    def start(self) -> int:
        """Have as many threads at work as there is work for. Return how many were started."""
        due = deliveries.count_due(most=_THREADS)
        with self._lock:
            if self._is_stopping:
                return 0
            self._asked += 1
            self._threads = [thread for thread in self._threads if thread.is_alive()]
            self._working = [thread for thread in self._working if thread.is_alive()]  # a forked child has none
            new = min(due, _THREADS - len(self._working))
            for _number in range(new):
                thread = threading.Thread(target=self._run, name=THREAD, daemon=True)
                self._threads.append(thread)
                self._working.append(thread)
                thread.start()
            return new

    def settle(self, seconds: float) -> None:
        """Wait until nothing is being sent, at most so long."""
        until = time.monotonic() + seconds
        while (thread := next((each for each in self._threads if each.is_alive()), None)) is not None:
            thread.join(max(0.0, until - time.monotonic()))
            if time.monotonic() >= until:
                return

    def stop(self, seconds: float) -> None:
        """Begin nothing new, and wait for what is being sent."""
        self._is_stopping = True
        self.settle(seconds)
        self._is_stopping = False

    def _run(self) -> None:
        asked: int | None = -1
        try:
            while (asked := self._next_round(asked)) is not None:
                while not self._is_stopping and self._send_one():
                    pass
        except DatabaseError as error:  # the lease runs out, and the next run sends it
            log.warning("webhooks_not_sent", error=type(error).__name__)
        except Exception:
            log.exception("webhook_sender_failed")
        finally:
            with self._lock:
                self._leave()
            connections.close_all()  # this thread's alone

    def _next_round(self, asked: int | None) -> int | None:
        """Return which call of `start` is looked for now; None when that was done, so that the thread ends."""
        with self._lock:
            if asked != self._asked and not self._is_stopping:
                return self._asked
            self._leave()
        return None

    def _leave(self) -> None:
        """Count this thread no more; with the lock."""
        self._working = [thread for thread in self._working if thread is not threading.current_thread()]

    def _send_one(self) -> bool:
        with self._lock:
            with_failing = self._failing < _OF_FAILING
            # Counted before it is known: two threads that ask at once do not both take the last place.
            self._failing += with_failing
        try:
            claimed = deliveries.claim(with_failing=with_failing)
            if with_failing and (claimed is None or not claimed.is_failing):
                with_failing = self._give_up_place()
            if claimed is None:
                return False
            send(claimed)
        finally:
            if with_failing:
                self._give_up_place()
        return True

    def _give_up_place(self) -> bool:
        with self._lock:
            self._failing -= 1
        return False


_senders = _Senders()


def run() -> int:
    """Make the deliveries of what was decided, and begin to send what is due. Return how many threads were started."""
    if not WebhookEndpoint.objects.exists():
        return 0
    outbox.collect()
    deliveries.give_up_disabled()
    started = _senders.start()
    telling.tell()
    return started


def soon() -> None:
    """Have it done now rather than at the next run, by a worker or by threads of this process."""
    try:
        enqueue(TASK)
    except NoWorker:
        _senders.start()


def send(claimed: deliveries.Claimed) -> None:
    """Send one message and record what became of it."""
    headers = signing.headers(claimed.secrets, message_id=claimed.message_id, at=timezone.now(), body=claimed.body)
    outcome = transport.post(claimed.url, headers, claimed.body, allowed=settings.WEBHOOK_ALLOWED_NETWORKS)
    deliveries.settle(claimed, outcome)


def settle(seconds: float = 20.0) -> None:
    """Wait until this process sends nothing, at most so long."""
    _senders.settle(seconds)


def stop(seconds: float = transport.TOTAL) -> None:
    """Begin nothing new in this process, and wait for what is being sent: before it ends."""
    _senders.stop(seconds)
