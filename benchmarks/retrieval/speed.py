"""How long a search, a cold start and one more chunk take at 1,000, 10,000 and 100,000 chunks of one owner.

The chunks are made up: 24 words each, half of them stop words as in English, the others drawn by Zipf's law from 30,000
invented ones; vectors are random. That is harder than real text: the frequent words of its queries are in every fifth
chunk.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from statistics import quantiles
from typing import TypeVar

import numpy as np

from memory_app.search.ranking.chunking import (
    IndexRow,
    TextChunk,
    chunks_of_message,
    chunks_of_note,
    row_of,
)
from memory_app.search.ranking.dense import wordllama
from memory_app.search.ranking.index import OwnerIndex
from memory_app.search.ranking.vocabulary import STOP_WORDS

#: p50 in milliseconds by number of chunks; a cold start is promised for 10,000.
SEARCH_TARGETS = {1_000: 3, 10_000: 8, 100_000: 40}
COLD_TARGETS = {10_000: 300}

T = TypeVar("T")

_WORDS, _PER_CHUNK, _PER_SESSION, _QUERIES = 30_000, 24, 25, 60


def report(largest: int) -> str:
    """The table."""
    lines = [
        "search in process, one owner",
        f"{'':22} {'chunks':>8} {'p50':>9} {'p95':>9}  target   {'cold':>8} {'1st query':>9} {'add':>8} {'memory':>8}",
    ]
    wordllama()
    for size in (size for size in SEARCH_TARGETS if size <= largest):
        for name, made in (("notes", notes), ("messages", messages)):
            lines.append(_measured(name, size, made))
    return "\n".join([*lines, ""])


def _measured(name: str, size: int, made: Callable[[Text, int], Iterator[TextChunk]]) -> str:
    text = Text(size)
    more = 50
    rows = rows_of(list(made(text, size + more)))
    index, cold = _timed(lambda: OwnerIndex(rows[:size], wordllama()))
    queries = [text.query() for _ in range(_QUERIES)]
    _, first = _timed(lambda: index.search(queries[0], top_k=10))
    searches = [_timed(lambda query=query: index.search(query, top_k=10))[1] for query in queries[1:]]  # type: ignore[misc]
    adds = [_timed(lambda row=row: index.add([row]))[1] for row in rows[size : size + more]]  # type: ignore[misc]
    cuts, target = quantiles(searches, n=20, method="inclusive"), SEARCH_TARGETS[size]
    verdict = f"≤ {target} {'within' if cuts[9] <= target else 'OVER'}"
    return (
        f"{name:22} {size:8,} {cuts[9]:6.2f} ms {cuts[18]:6.2f} ms  {verdict:12} {cold:5.0f} ms {first:6.1f} ms "
        f"{sorted(adds)[len(adds) // 2]:5.2f} ms {index.nbytes / 1e6:5.1f} MB"
        + (f"  (cold ≤ {COLD_TARGETS[size]} ms)" if size in COLD_TARGETS else "")
    )


def rows_of(chunks: Sequence[TextChunk]) -> list[IndexRow]:
    vectors = np.random.default_rng(1).standard_normal((len(chunks), wordllama().dimensions), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    kept = vectors.astype("<f2")
    return [row_of(number, chunk, kept[number].tobytes()) for number, chunk in enumerate(chunks)]


class Text:
    """Invented text, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        syllables = [a + b for a in "bcdfglmnprst" for b in ("a", "e", "i", "o", "u", "an", "er", "is")]
        self._words = ["".join(self._chance.choices(syllables, k=self._chance.choice((2, 3)))) for _ in range(_WORDS)]
        self._weights = list(accumulate(1 / (rank + 20) for rank in range(_WORDS)))
        self._stop = sorted(STOP_WORDS)

    def sentence(self) -> str:
        telling = self._chance.choices(self._words, cum_weights=self._weights, k=_PER_CHUNK // 2)
        return " ".join(
            word for pair in zip(telling, self._chance.choices(self._stop, k=12), strict=True) for word in pair
        )

    def query(self) -> str:
        telling = self._chance.choices(self._words, cum_weights=self._weights, k=5)
        return f"When did {' '.join(telling)} in March 2024?"


def notes(text: Text, count: int) -> Iterator[TextChunk]:
    for number in range(count):
        yield from chunks_of_note(note_id=f"note-{number}", content=text.sentence(), at=_day(number))


def messages(text: Text, count: int) -> Iterator[TextChunk]:
    for session in range(-(-count // _PER_SESSION)):
        size = min(_PER_SESSION, count - session * _PER_SESSION)
        for number in range(size):
            yield from chunks_of_message(
                f"session-{session}",
                f"{session}-{number}",
                text.sentence() + (" ?" if number % 3 == 0 else "."),
                sequence=number,
                author=("Alice", "Ben")[number % 2],
                at=_day(session),
            )


def _day(number: int) -> datetime:
    return datetime(2022, 1, 1, tzinfo=UTC) + timedelta(days=number % 1_000)


def _timed(work: Callable[[], T]) -> tuple[T, float]:
    began = time.perf_counter()
    result = work()
    return result, (time.perf_counter() - began) * 1000
