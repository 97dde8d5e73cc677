"""An index that is changed chunk by chunk equals one built anew."""

import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_app.search.ranking import chunking, vocabulary
from memory_app.search.ranking.chunking import IndexRow, Source, TextChunk, row_of
from memory_app.search.ranking.dense import Vectors
from memory_app.search.ranking.index import OwnerIndex
from memory_app.search.ranking.postings import ChunkFilters

pytestmark = pytest.mark.pure

WORDS = ["dog", "cat", "tea", "algebra", "bakery", "June", "walks", "went", "the", "of"]
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
QUERIES = ("dog", "algebra tea", "June cat bakery", "the", "walk dogs go")


def note(chunk_id: int, text: str) -> IndexRow:
    return row_of(chunk_id, TextChunk(Source.USER_MEMORY, f"n{chunk_id}", f"n{chunk_id}", 0, text))


def message(chunk_id: int, text: str, order: int) -> IndexRow:
    at = datetime(2024, 1, 1, tzinfo=UTC)
    return row_of(chunk_id, TextChunk(Source.CONVERSATION, "s", f"m{chunk_id}", order, text, author="Alice", at=at))


def answers(index: OwnerIndex) -> list[set[tuple[int, float]]]:
    found = [index.search(query, top_k=50).hits for query in QUERIES]
    return [{(hit.chunk_id, round(hit.score, 3)) for hit in hits} for hits in found]


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 12), st.one_of(st.none(), texts), st.booleans()), max_size=30))
@settings(deadline=None, max_examples=60)
def test_any_order_of_adding_replacing_and_removing_comes_to_the_same(
    steps: list[tuple[int, str | None, bool]],
) -> None:
    index = OwnerIndex()
    rows: dict[int, IndexRow] = {}
    for chunk_id, text, said in steps:
        if text is None:
            index.remove([chunk_id])
            rows.pop(chunk_id, None)
        else:
            # Every text is one of a kind, or which of two equal ones is listed would be the order's choice.
            unique = f"{text} n{chunk_id}x"
            row = message(chunk_id, unique + "?" * (chunk_id % 2), chunk_id) if said else note(chunk_id, unique)
            index.add([row])
            rows[chunk_id] = row

    assert len(index) == len(rows)
    assert answers(index) == answers(OwnerIndex(list(rows.values())))


def test_many_single_additions_are_merged_and_still_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vocabulary, "_PACK_AT_LEAST", 20)
    rows = [note(i, f"{WORDS[i % 8]} number{i}") for i in range(90)]
    index = OwnerIndex(rows[:30])
    for row in rows[30:]:
        index.add([row])
        index.remove([row.chunk_id - 25])
    assert answers(index) == answers(OwnerIndex(rows[65:] + rows[:5]))


def test_a_message_added_later_takes_its_place_in_the_conversation() -> None:
    def row(chunk_id: int, sequence: int, text: str) -> IndexRow:
        (said,) = chunking.chunks_of_message("s", f"m{sequence}", text, sequence=sequence, author="Alice")
        return row_of(chunk_id, said)

    answer, asked, other = row(1, 2, "A spaniel"), row(2, 1, "Which puppy breed?"), row(3, 0, "Hello there")
    index = OwnerIndex([answer, other])
    assert index.search("puppy").hits == ()

    index.add([asked])
    assert {hit.chunk_id for hit in index.search("puppy").hits} == {1, 2}

    index.remove([2])
    assert index.search("puppy").hits == ()


def test_idf_is_that_of_today() -> None:
    index = OwnerIndex([note(i, f"tea n{i}x") for i in range(9)] + [note(9, "dog n9x")])
    index.remove(range(8))
    index.add([note(20 + i, f"dog n{i}x") for i in range(7)])

    # "tea" was everywhere and is rare now.
    assert index.search("tea dog").hits[0].chunk_id == 8


def test_memory_is_reported_and_wear_is_seen() -> None:
    small, large = OwnerIndex([note(1, "dog")]), OwnerIndex([note(i, f"dog number{i}") for i in range(2_500)])
    assert 0 < small.nbytes < large.nbytes
    assert not large.is_fragmented

    large.remove(range(2_000))
    assert large.is_fragmented


def test_an_index_may_be_searched_while_it_changes() -> None:
    index = OwnerIndex([note(i, f"dog number{i}") for i in range(200)])
    works: list[Callable[[int], object]] = [
        lambda step: index.search("dog number7"),
        lambda step: index.add([note(1_000 + step, f"cat number{step}")]),
        lambda step: index.remove([step]),
    ]
    with ThreadPoolExecutor(len(works)) as pool:
        list(pool.map(lambda work: [work(step) for step in range(100)], works))
    assert len(index) == 200


def test_asking_how_large_an_index_is_changes_nothing_in_it() -> None:
    """The cache asks so of every owner's index, whoever is changing it meanwhile."""
    index, done = OwnerIndex([note(0, "dog")]), threading.Event()
    switching = sys.getswitchinterval()
    with ThreadPoolExecutor(1) as pool:
        measuring = pool.submit(lambda: [index.nbytes > 0 for _ in iter(done.is_set, True)])
        sys.setswitchinterval(1e-6)
        try:
            for number in range(1, 900):
                index.add([note(number, f"dog number{number}")])
        finally:
            done.set()
            sys.setswitchinterval(switching)
    assert all(measuring.result())
    hits = index.search("dog number899", top_k=1).hits
    assert [hit.chunk_id for hit in hits] == [899]


class Hanging:
    """An embedder of whole texts whose service does not answer until it is let go."""

    name, dimensions = "hanging", 4

    def __init__(self) -> None:
        self.asked, self.let_go = threading.Event(), threading.Event()

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.asked.set()
        assert self.let_go.wait(20)
        return np.ones((len(texts), self.dimensions), dtype=np.float32)


def test_an_index_is_free_while_its_embedder_is_waited_for() -> None:
    """Eight searches of one owner waited 5 s each, one after another, for a service that hung."""
    embedder = Hanging()
    index = OwnerIndex([note(1, "dog")], embedder)
    with ThreadPoolExecutor(2) as pool:
        pool.submit(index.search, "dog")
        try:
            assert embedder.asked.wait(20)
            pool.submit(index.add, [note(2, "dogs")]).result(5)
            assert len(index) == 2
        finally:
            embedder.let_go.set()


def test_an_embedder_is_not_asked_where_nothing_is_searched() -> None:
    embedder = Hanging()
    facts = ChunkFilters(types=frozenset({"fact"}))
    assert OwnerIndex([], embedder).search("dog").hits == ()
    assert OwnerIndex([note(1, "dog")], embedder).search("dog", filters=facts).hits == ()
    assert not embedder.asked.is_set()
