"""Clients that wait for something to happen: how many may, what wakes them, and when all of them have to end.

A client that waits holds a thread of the web server, so only some may, and one for each key. What happens in this
process wakes them at once; for what other processes do, the caller looks now and then. Nothing here knows what is
waited for, and no database is asked. A call that waits is not under way meanwhile (`counted`): it would be in the way
of the other calls of its own client.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

#: Seconds between two looks whether the client is gone, or the process is to end.
_LOOK = 0.25


@dataclass
class _Room:
    """Who waits in this process, and how often each topic was woken."""

    changed: threading.Condition
    keys: set[Hashable]
    topics: Counter[str]
    is_closed: bool = False


_room = _Room(threading.Condition(), set(), Counter())
_thread = threading.local()


@contextmanager
def counted(give_back: Callable[[], None]) -> Iterator[None]:
    """Count this thread's call among those under way for the block: give that back at its end, or when it waits."""
    held: list[Callable[[], None]] = _thread.__dict__.setdefault("held", [])
    held.append(give_back)
    try:
        yield
    finally:
        if give_back in held:
            held.remove(give_back)
            give_back()


class Place:
    """A client's place in the room; see `place`."""

    def __init__(self, topic: str) -> None:
        self._topic = topic

    @property
    def news(self) -> int:
        """Return a number that grows whenever the topic is woken: read it before looking, and wait from it."""
        with _room.changed:
            return _room.topics[self._topic]

    def wait(self, seen: int, seconds: float, *, is_gone: Callable[[], bool]) -> bool:
        """Wait until the topic is woken, at most so long. Return whether it was.

        Args:
            seen: what `news` was before the caller looked.
            is_gone: whether the client has hung up, as far as can be known.
        """
        end = time.monotonic() + seconds
        while not (_room.is_closed or is_gone()):
            left = end - time.monotonic()
            with _room.changed:
                if _room.topics[self._topic] != seen:
                    return True
                if left <= 0:
                    return False
                _room.changed.wait(min(left, _LOOK))
        return False


@contextmanager
def place(key: Hashable, topic: str, *, most: int) -> Iterator[Place | None]:
    """Take a place; None where `most` wait already, this key has one, or the process is to end."""
    with _room.changed:
        has_room = len(_room.keys) < most and key not in _room.keys and not _room.is_closed
        if has_room:
            _room.keys.add(key)
    if not has_room:
        yield None
        return
    try:
        held: list[Callable[[], None]] = getattr(_thread, "held", [])
        while held:
            held.pop()()
        yield Place(topic)
    finally:
        with _room.changed:
            _room.keys.discard(key)


def wake(topic: str) -> None:
    """Wake the clients that wait for this topic."""
    with _room.changed:
        _room.topics[topic] += 1
        _room.changed.notify_all()


def waiting() -> int:
    """Return how many clients wait in this process."""
    return len(_room.keys)


def close() -> None:
    """End all waits within a moment, and begin none: the process is to end.

    Called in signal handlers, which may come while this thread holds any lock: it only sets a flag.
    """
    _room.is_closed = True


def is_closed() -> bool:
    """Whether the process is to end."""
    return _room.is_closed
