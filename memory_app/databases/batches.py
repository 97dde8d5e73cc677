"""Parts of a long list, as many as one statement takes.

SQLite takes 32,766 parameters in a statement. A row of a note has 18, and some statements name an id twice.
"""

from collections.abc import Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")

#: Rows or ids in one statement.
BATCH = 500


def batched(things: Sequence[T], size: int = BATCH) -> Iterator[Sequence[T]]:
    """Yield `things` in parts of `size`, the last one shorter (`itertools.batched` comes with Python 3.12)."""
    for start in range(0, len(things), size):
        yield things[start : start + size]
