"""Timing calls, and what came of it."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import quantiles
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Result:
    """One line of the report.

    Args:
        p50, p95: in milliseconds.
        target: of p50 in milliseconds; None where nothing was promised.
        ratio: of p50 to the machine's loop at the same time, which tells a slow machine (or one that has
            other things to do) from slow code.
        note: what else is worth knowing, such as the number of queries.
    """

    case: str
    p50: float
    p95: float
    target: float | None = None
    note: str = ""
    ratio: float | None = None


@dataclass(frozen=True)
class Against:
    """Ours beside something bare that was measured in the same minutes.

    Args:
        bare, ours: in milliseconds where `at_most` is given, and a number a second where `at_least` is.
        at_most, at_least: what ours divided by bare is to be.
    """

    case: str
    bare: float
    ours: float
    at_most: float | None = None
    at_least: float | None = None

    @property
    def ratio(self) -> float:
        return self.ours / self.bare

    @property
    def is_within(self) -> bool:
        return (self.at_most is None or self.ratio <= self.at_most) and (
            self.at_least is None or self.ratio >= self.at_least
        )


def timed(work: Callable[[T], object], items: Iterable[T], *, warm_up: int = 0) -> list[float]:
    """Call `work` with each item; milliseconds of each call after the first `warm_up`."""
    times = []
    for item in items:
        began = time.perf_counter()
        work(item)
        times.append((time.perf_counter() - began) * 1000)
    return times[warm_up:]


def result(case: str, times: list[float], *, target: float | None = None, note: str = "") -> Result:
    cuts = quantiles(times, n=20, method="inclusive")
    return Result(case, p50=cuts[9], p95=cuts[18], target=target, note=note)
