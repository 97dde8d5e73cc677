"""Which request gets the next thread: waitress's own threads, our queue, and requests that last until they are told."""

import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from waitress.channel import HTTPChannel
from waitress.task import ThreadedTaskDispatcher

from memory_app.runtime import waits
from memory_app.webserver import server
from tests.conftest import eventually

pytestmark = pytest.mark.pure

THREADS = 8


class Connection(server._Channel):
    """A connection with one request, which is answered when it is told to."""

    def __init__(self, threads: ThreadedTaskDispatcher, token: str) -> None:
        headers = {"AUTHORIZATION": token} if token else {}
        self.requests = [SimpleNamespace(headers=headers, error=None, path="")]
        self.server = SimpleNamespace(task_dispatcher=threads)
        self.began, self.ends, self.waits = threading.Event(), threading.Event(), threading.Event()


def answer(self: Any) -> None:
    self.began.set()
    if self.waits.is_set():
        with waits.place(object(), "topic", most=9):
            self.ends.wait(20)
    self.ends.wait(20)


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[ThreadedTaskDispatcher]:
    monkeypatch.setattr(HTTPChannel, "service", answer)
    made = ThreadedTaskDispatcher()
    made.queue = server._Queue(made, 4)
    made.set_thread_count(THREADS)
    eventually(lambda: made.active_count == 0)
    yield made
    made.set_thread_count(0)


def ask(threads: ThreadedTaskDispatcher, token: str, count: int, *, is_wait: bool = False) -> list[Connection]:
    asked = [Connection(threads, token) for _ in range(count)]
    for each in asked:
        if is_wait:
            each.waits.set()
        threads.add_task(each)
    return asked


def begun(connections: list[Connection]) -> int:
    """How many of them a thread has, once that stays as it is."""
    time.sleep(0.1)
    return sum(each.began.is_set() for each in connections)


def end(*connections: Connection) -> None:
    for each in connections:
        each.ends.set()


def test_one_agent_alone_has_as_many_as_may_be_and_all_its_calls_have_their_turn(
    threads: ThreadedTaskDispatcher,
) -> None:
    calls = ask(threads, "greedy", 24)
    assert begun(calls) == 4
    end(calls[0])
    assert [begun(calls), calls[4].began.is_set()] == [5, True], "in their order"
    pages = ask(threads, "", 4)
    assert begun(pages) == 4
    end(calls[1])
    assert begun(calls) == 5, "the thread that is free is for others"
    end(*calls, *pages)
    assert eventually(lambda: all(each.began.is_set() for each in calls))


def test_beside_many_others_it_has_one(threads: ThreadedTaskDispatcher) -> None:
    others = [ask(threads, f"other {number}", 1)[0] for number in range(6)]
    assert begun(others) == 6
    greedy = ask(threads, "greedy", 24)
    assert begun(greedy) == 1
    late = ask(threads, "late", 2)
    assert begun(late) == 1
    end(greedy[0])
    assert begun(greedy) == 2, "its next one"
    end(*others)
    assert begun(greedy) >= 4, "half of what is free again"
    assert begun(late) == 2
    end(*greedy, *late)


def test_what_takes_long_or_waits_for_a_decision_holds_up_no_other_call_of_its_agent(
    threads: ThreadedTaskDispatcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = ask(threads, "patient", 1, is_wait=True)
    pages = ask(threads, "", 6)
    assert begun(waiting + pages) == 7
    call = ask(threads, "patient", 1)
    assert begun(call) == 1, "one thread is free, and a call that waits is not counted"
    end(*call)
    monkeypatch.setattr(server, "_LONG", 0.3)
    slow = ask(threads, "slow", 1)
    assert begun(slow) == 1
    second = ask(threads, "slow", 1)
    end(pages[0])
    assert begun(second) == 0
    time.sleep(0.3)
    end(pages[1])
    assert begun(second) == 1
    end(*waiting, *slow, *second, *pages)
