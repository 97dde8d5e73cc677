"""How processor time grows with the length of a text. Growth is compared, never seconds."""

import gc
import time
from collections.abc import Callable, Iterable
from itertools import pairwise

#: Times as long a text: linear work takes about 8 times as long, quadratic work 64 times.
FACTOR = 8
#: Caches and the allocator make linear work look like 12 at most; n·log n is 9 to 10.
MOST = 22
#: Shorter runs are not compared: in half a millisecond an interruption by another process counts too much.
_LEAST_SECONDS = 0.0005
_ENOUGH_SECONDS = 0.005
_REPEATS = 5


def superlinear(run: Callable[[str], object], text_of: Callable[[int], str], sizes: Iterable[int]) -> str:
    """How much longer a text `FACTOR` times as long takes, in words, where that is too much; else the empty text.

    Args:
        text_of: a text of about so many characters.
        sizes: lengths to try in ascending order, each `FACTOR` times the one before, so that what grows too fast is
            found at the shortest length that shows it.
    """
    # What doubles with each character would never end at the lengths below.
    few, more = text_of(12), text_of(24)
    if _grows(run, few, more, repeats=1) > MOST and _grows(run, few, more, repeats=_REPEATS) > MOST:
        return "24 characters take far longer than 12"
    for size, larger in pairwise(sizes):
        assert larger == FACTOR * size
        if _grows(run, text_of(size), text_of(larger), repeats=1) > MOST:
            # A bounded repetition may end between the two lengths: what is over quickly is tried at longer ones.
            if _seconds(run, text_of(larger)) < _ENOUGH_SECONDS:
                size, larger = larger, FACTOR * larger
            # Once more with care: the least of several runs is what the work itself takes.
            factor = _grows(run, text_of(size), text_of(larger), repeats=_REPEATS)
            if factor > MOST:
                return f"{larger:,} characters take {factor:.0f} times as long as {size:,}"
    return ""


def _grows(run: Callable[[str], object], text: str, longer: str, *, repeats: int) -> float:
    most = min(_seconds(run, longer) for _ in range(repeats))
    if most < _LEAST_SECONDS:
        return 0
    return most / max(min(_seconds(run, text) for _ in range(repeats + 2)), 1e-7)


def _seconds(run: Callable[[str], object], text: str) -> float:
    gc.disable()
    try:
        start = time.thread_time()
        run(text)
        return time.thread_time() - start
    finally:
        gc.enable()
