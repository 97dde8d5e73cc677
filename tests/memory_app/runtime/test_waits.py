"""Places for clients that wait: how many, for whom, and what wakes them."""

import threading
import time

import pytest

from memory_app.runtime import waits
from tests.conftest import eventually

pytestmark = pytest.mark.pure


def is_here() -> bool:
    return False


def test_there_are_so_many_places_and_one_for_each_key() -> None:
    with waits.place("a", "t", most=2) as first, waits.place("a", "t", most=2) as again:
        assert first is not None
        assert again is None
        with waits.place("b", "t", most=2) as second, waits.place("c", "t", most=2) as third:
            assert second is not None
            assert third is None
        assert waits.waiting() == 1
    assert waits.waiting() == 0
    with waits.place("a", "t", most=0) as none:
        assert none is None


def test_only_its_topic_wakes_it() -> None:
    with waits.place("a", "mine", most=2) as place, waits.place("b", "yours", most=2) as other:
        assert place is not None
        assert other is not None
        seen, seen_by_other = place.news, other.news
        waits.wake("mine")
        waits.wake("nobody's")
        assert place.wait(seen, 5, is_gone=is_here), "woken before it waited"
        assert not other.wait(seen_by_other, 0.01, is_gone=is_here)
        assert not place.wait(place.news, 0.01, is_gone=is_here), "once"


def test_news_from_another_thread_or_a_client_that_is_gone_ends_a_wait_at_once() -> None:
    gone = threading.Event()
    with waits.place("a", "t", most=1) as place:
        assert place is not None
        began = time.monotonic()
        threading.Timer(0.05, waits.wake, ["t"]).start()
        assert place.wait(place.news, 20, is_gone=is_here)
        threading.Timer(0.05, gone.set).start()
        assert not place.wait(place.news, 20, is_gone=gone.is_set)
        assert time.monotonic() - began < 10


def test_an_error_gives_the_place_back() -> None:
    with pytest.raises(ZeroDivisionError), waits.place("a", "t", most=1):
        raise ZeroDivisionError
    assert eventually(lambda: waits.waiting() == 0)


def test_the_end_of_the_process_ends_all_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    with waits.place("a", "t", most=1) as place:
        assert place is not None
        monkeypatch.setattr(waits._room, "is_closed", False)  # and so put back afterwards
        waits.close()
        began = time.monotonic()
        assert not place.wait(place.news, 20, is_gone=is_here)
        assert time.monotonic() - began < 5
    with waits.place("b", "t", most=1) as none:
        assert none is None
    assert waits.is_closed()
