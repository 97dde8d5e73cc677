"""Places for a few at a time, on the cache of each edition: this process's memory, or Redis."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from multiprocessing.synchronize import Event

import pytest

from memory_app.runtime import turns, waits
from tests import environment
from tests.support.crashing import FORKS

pytestmark = pytest.mark.slow


def test_as_many_have_a_place_as_may_and_the_others_get_theirs_after_them() -> None:
    under_way, most = 0, 0
    counting = threading.Lock()

    def work(_: int) -> bool:
        nonlocal under_way, most
        with turns.awaited("door", 3) as has_place:
            with counting:
                under_way += 1
                most = max(most, under_way)
            time.sleep(0.05)
            with counting:
                under_way -= 1
        return has_place

    with ThreadPoolExecutor(12) as threads:
        assert all(threads.map(work, range(24)))
    assert most == 3


def test_who_waits_in_vain_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "_PATIENCE", 0.2)
    with turns.awaited("door") as first, turns.awaited("door") as second, turns.awaited("window") as other:
        assert (first, second, other) == (True, False, True)
    with turns.awaited("door") as again:
        assert again


def test_a_place_is_kept_for_longer_than_its_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "_PATIENCE", turns._PLACE + 1.5)
    with turns.awaited("door"), turns.awaited("door") as second:
        assert not second


def test_who_waits_for_something_else_gives_the_place_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "_PATIENCE", 0.2)
    with turns.awaited("door") as outer, waits.place("key", "topic", most=1), turns.awaited("door") as inner:
        assert outer
        assert inner


def stay(taken: Event) -> None:
    """Take all places, and keep them."""
    with ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(turns.awaited("door", 3))
        taken.set()
        time.sleep(600)


@pytest.mark.skipif(environment.is_embedded(), reason="each process has a cache of its own")
def test_the_places_of_a_killed_process_are_free_before_anybody_is_refused() -> None:
    taken = FORKS.Event()
    process = FORKS.Process(target=stay, args=[taken], daemon=True)
    process.start()
    assert taken.wait(20)
    process.kill()
    process.join()
    began = time.monotonic()
    with turns.awaited("door", 3) as has_place:
        assert has_place
        assert time.monotonic() - began > 0.5, "the places were taken"
