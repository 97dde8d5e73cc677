"""A deadline interrupts waiting on real databases: for a lock, for a server that hangs, for the index builder."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from django.db import Error as DatabaseError
from django.db import OperationalError, connection, connections, transaction

from approvals.models import User
from memory_app import reads
from memory_app.dolt.connections import MEMORY, retrying
from memory_app.models import SearchIndex
from memory_app.reads import Block
from memory_app.runtime import deadlines
from memory_app.search.cache import indices
from tests import environment
from tests.conftest import in_a_thread
from tests.support.first import dolt, dolt_transaction, head_of_main, open_at
from tests.support.holding import frozen, held, held_row

pytestmark = pytest.mark.slow

#: Seconds an answer may be late on a busy machine.
LATE = 2.0


@contextmanager
def timed(seconds: float) -> Iterator[None]:
    """Assert that the block takes about this many seconds."""
    began = time.monotonic()
    yield
    assert seconds - 0.1 <= time.monotonic() - began < seconds + LATE


def test_a_deadline_that_does_not_pass_changes_nothing(goals: Block) -> None:
    with deadlines.within(5) as deadline:
        assert reads.block("alice", "goals").body == goals.body
        with open_at(head_of_main()):
            assert 4 < deadlines.remaining() <= 5
    assert not deadline.has_passed
    assert deadlines.remaining() == float("inf")
    assert not any(connections[alias].execute_wrappers for alias in connections)


def test_no_statement_is_sent_after_the_deadline(goals: Block) -> None:
    with deadlines.within(0):
        for ask in (SearchIndex.objects.exists, head_of_main, lambda: reads.block("alice", "goals")):
            with pytest.raises(deadlines.DeadlineExceeded):
                ask()
    assert not SearchIndex.objects.filter(owner="carol").exists()
    assert reads.block("alice", "goals").body == goals.body


@pytest.mark.skipif(not environment.is_embedded(), reason="a server has no lock for all of its memory")
def test_waiting_for_the_writer_of_the_memory_ends_at_the_deadline(goals: Block) -> None:
    def write() -> None:
        with dolt_transaction():
            raise AssertionError("another process was writing")

    with held(MEMORY), timed(1), deadlines.within(1), pytest.raises(DatabaseError):
        retrying(write)
    with dolt_transaction() as verbs:
        assert verbs.dirty_tables() == ()


# Owners without a memory: a worker may still be indexing for the test before.


def test_waiting_for_a_row_ends_at_the_deadline_and_writes_nothing(alice: User) -> None:
    SearchIndex.objects.create(owner="carol")
    with held_row(SearchIndex, owner="carol"), timed(1), deadlines.within(1) as deadline:
        with pytest.raises(DatabaseError), transaction.atomic():
            SearchIndex.objects.create(owner="dora")
            SearchIndex.objects.filter(owner="carol").update(version=5)
        assert deadline.remaining < 0.2
    assert SearchIndex.objects.get(owner="carol").version == 0
    assert not SearchIndex.objects.filter(owner="dora").exists()


def test_the_lock_timeout_is_as_configured_after_a_deadline(alice: User) -> None:
    with deadlines.within(1):
        SearchIndex.objects.create(owner="carol")
    with held_row(SearchIndex, owner="carol", seconds=2):
        assert SearchIndex.objects.filter(owner="carol").update(version=5) == 1


@pytest.mark.skipif(environment.is_embedded(), reason="the embedded engine is no server")
@pytest.mark.parametrize(("alias", "ask"), [("default", SearchIndex.objects.exists), ("memory", head_of_main)])
def test_waiting_for_a_server_that_hangs_ends_at_the_deadline(
    goals: Block, alias: str, ask: Callable[[], object]
) -> None:
    with frozen(alias), timed(1), deadlines.within(1) as deadline:
        with pytest.raises((DatabaseError, reads.EngineUnavailable)):
            ask()
        assert deadline.has_passed
    ask()  # on a new connection


def test_extending_a_passed_deadline_allows_a_few_writes(alice: User) -> None:
    with deadlines.within(0.2) as deadline:
        time.sleep(0.4)
        with pytest.raises(deadlines.DeadlineExceeded):
            SearchIndex.objects.create(owner="carol")
        deadlines.extend()
        SearchIndex.objects.create(owner="carol")
        assert deadline.has_passed
        assert 0 < deadlines.remaining() <= deadlines.GRACE


def test_of_nested_deadlines_the_earlier_one_counts(alice: User) -> None:
    with deadlines.within(5), deadlines.within(10):
        assert deadlines.remaining() <= 5
    with deadlines.within(5):
        with deadlines.within(0), pytest.raises(DatabaseError):
            SearchIndex.objects.exists()
        assert not SearchIndex.objects.filter(owner="carol").exists()


def test_a_running_statement_is_interrupted() -> None:
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    with timed(1), deadlines.within(1), pytest.raises(DatabaseError), connection.cursor() as cursor:
        cursor.execute(endless)
    assert not SearchIndex.objects.filter(owner="carol").exists()


def test_waiting_for_another_index_builder_ends_at_the_deadline(alice: User) -> None:
    SearchIndex.objects.create(owner="carol")
    indices.index_of("carol")
    building = indices._building.setdefault("carol", threading.Lock())
    with building, timed(0.5), deadlines.within(0.5), pytest.raises(deadlines.DeadlineExceeded):
        indices.index_of("carol")
    indices.index_of("carol")


def test_a_deadline_that_cannot_begin_leaves_no_trace_on_its_thread(
    goals: Block, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(deadlines, "_watchdog", deadlines._Watchdog())
        patched.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError, match="new thread"), deadlines.within(0.01):
            pass

    time.sleep(0.02)
    assert deadlines.remaining() == float("inf")
    assert reads.block("alice", "goals").body == goals.body
    with deadlines.within(5):
        assert reads.block("alice", "goals").body == goals.body


def test_a_deadline_applies_to_its_thread_only(goals: Block) -> None:
    seen: list[float] = []
    with deadlines.within(0):
        in_a_thread(lambda: seen.extend([deadlines.remaining(), len(reads.blocks("alice"))])).join()
    assert seen == [float("inf"), 1]


def test_work_is_not_retried_after_the_deadline() -> None:
    code = ("database is locked",) if environment.is_embedded() else (1213, "deadlock")
    calls: list[float] = []

    def always_busy() -> None:
        calls.append(deadlines.remaining())
        raise OperationalError(*code)

    assert dolt().is_retryable(OperationalError(*code))
    with deadlines.within(0.3), pytest.raises(deadlines.DeadlineExceeded):
        retrying(always_busy, attempts=1_000)
    assert len(calls) > 1
    assert min(calls) > -0.1
