"""The progress of a long change, for the page or command that waits for it.

The reporter is set around the work (`reported_to`) and called from where the time goes (`report`). Between an import's
page and the rows it writes are eight calls, none of which has to pass it on. Without a reporter nothing happens. No
Django.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum
from typing import TypeVar

T = TypeVar("T")

#: How many things are done between two reports.
EVERY = 250


class Stage(StrEnum):
    """The stages, in order. Computing the difference is for proposals; the index of a large import is
    made after it."""

    READING = "reading"
    COMPARING = "comparing"
    WEIGHING = "weighing"
    WRITING = "writing"
    RECORDING = "recording"


#: What share of the time each takes, in percent (10,000 notes on DoltLite).
_SHARES = {
    Stage.READING: 5,
    Stage.COMPARING: 10,
    Stage.WEIGHING: 15,
    Stage.WRITING: 60,
    Stage.RECORDING: 10,
}

Reporter = Callable[[Stage, int, int], None]

_reporter: ContextVar[Reporter | None] = ContextVar("progress_reporter", default=None)


@contextmanager
def reported_to(reporter: Reporter) -> Iterator[None]:
    """Call `reporter` with the progress of the work inside: the stage, how many are done, of how many."""
    token = _reporter.set(reporter)
    try:
        yield
    finally:
        _reporter.reset(token)


def report(stage: Stage, done: int, of: int) -> None:
    if reporter := _reporter.get():
        reporter(stage, done, of)


def each(stage: Stage, things: Iterable[T], of: int) -> Iterator[T]:
    """Yield `things` one by one, reporting every so often."""
    report(stage, 0, of)
    for number, thing in enumerate(things, 1):
        yield thing
        if number % EVERY == 0 or number == of:
            report(stage, number, of)


def percent(stage: Stage, done: int, of: int) -> int:
    """Return how much of the whole that is, from 0 to 100; it never decreases."""
    before = sum(share for each, share in _SHARES.items() if list(Stage).index(each) < list(Stage).index(stage))
    return int(before + _SHARES[stage] * (min(done, of) / of if of else 0))
