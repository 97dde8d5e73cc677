"""The rate limiter's contract, on the cache of each edition: this process's memory, or Redis."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from memory_app.runtime import rate_limit
from tests.conftest import eventually

pytestmark = pytest.mark.slow

QUARTER = timedelta(minutes=15)


def test_the_hit_after_the_last_is_over_the_limit() -> None:
    assert [rate_limit.hit("door", 3, QUARTER) for _ in range(5)] == [False, False, False, True, True]
    assert not rate_limit.hit("window", 3, QUARTER)


def test_hits_at_the_same_time_are_all_counted() -> None:
    with ThreadPoolExecutor(8) as threads:
        over = list(threads.map(lambda _: rate_limit.hit("door", 30, QUARTER), range(50)))
    # The first eight may find no count yet, and each of them begins one; only the first beginning counts.
    assert over.count(False) == 30


def test_a_window_ends_by_itself_and_hits_make_it_no_longer() -> None:
    second = timedelta(seconds=2)
    assert [rate_limit.hit("door", 1, second), rate_limit.hit("door", 1, QUARTER)] == [False, True]
    assert eventually(lambda: not rate_limit.hit("door", 1, second))


def test_a_hit_can_be_taken_back() -> None:
    assert [rate_limit.hit("door", 1, QUARTER) for _ in range(2)] == [False, True]
    for _ in range(2):
        rate_limit.take_back("door")
    assert not rate_limit.hit("door", 1, QUARTER)
    rate_limit.take_back("never-hit")
    # Or the count begins again.
    assert rate_limit.hit("door", 1, QUARTER)
    rate_limit.reset("door")
    assert not rate_limit.hit("door", 1, QUARTER)
