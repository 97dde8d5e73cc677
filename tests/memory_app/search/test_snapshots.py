"""What is packed of an owner's chunks: read by a first search, followed, forgotten with what it was made of."""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import pytest
from django.db import connections
from hypothesis import given, settings
from hypothesis import strategies as st

from approvals.models import User
from approvals.services import notes
from approvals.services.notes import ChangeContext
from memory_app import conversations
from memory_app.models import Chunk, PackedChunks, SearchIndex
from memory_app.search import embedders, snapshots, store
from memory_app.search.cache import IndexCache
from memory_app.search.ranking.chunking import Source, TextChunk, row_of
from memory_app.search.ranking.dense import stored, wordllama
from memory_app.search.ranking.packed import PackedRows, as_bytes, from_bytes, packed, without
from tests.memory_app.search.indexed import save, texts, up_to_date
from tests.support import acts
from tests.support.acts import imported
from tests.support.background import wait_for_threads

worker = pytest.mark.usefixtures("worker")  # in the server leg, which reindexes
QUERIES = ("tea", "heading 12", "drinks in the morning", "violni", "what did she say on day 150", "", "the")


@pytest.fixture
def many(alice: User, request: pytest.FixtureRequest) -> int:
    """So many notes of alice, packed; how many are in no row."""
    save(alice, "Likes tea.")
    imported(alice, 300, "On day {} she drinks tea under heading 12.")
    all_packed()
    return len(unpacked())


def all_packed() -> None:
    """Wait until what was written is indexed, by a worker too, and pack it."""
    store.reindex("alice")
    up_to_date()
    wait_for_threads()
    snapshots.pack("alice")


def unpacked(owner: str = "alice") -> list[Any]:
    return snapshots.read(owner, embedders.configured_name())[1]


def answers() -> list[list[tuple[str, float]]]:
    """What a process finds that has searched nothing before."""
    index = IndexCache().index_of("alice")
    return [[(hit.item_id, hit.score) for hit in index.search(query, top_k=20).hits] for query in QUERIES]


def packed_data() -> bytes:
    return b"".join(bytes(data) for data in PackedChunks.objects.values_list("data", flat=True))


def assert_as_from_rows() -> None:
    """Whether what is packed, with newer rows, is what all rows are; each chunk once."""
    found, kept = answers(), [*PackedChunks.objects.order_by("after")]
    batches, rows = snapshots.read("alice", embedders.configured_name())
    ids = [id_ for batch in batches for id_ in batch.arrays["chunk_ids"].tolist()] + [row.chunk_id for row in rows]
    assert sorted(ids) == sorted(Chunk.objects.filter(owner="alice", removed=False).values_list("id", flat=True))
    assert all(one.last <= other.after for one, other in pairwise(kept))
    PackedChunks.objects.all().delete()
    assert found == answers()
    wait_for_threads()  # which pack again what was read from rows
    PackedChunks.objects.all().delete()
    PackedChunks.objects.bulk_create(kept)


@worker
def test_a_first_search_reads_what_is_packed_and_few_rows_and_finds_the_same(many: int) -> None:
    assert many < snapshots._LEAST < 300
    assert_as_from_rows()


@worker
def test_a_few_changes_later_few_rows_are_read_and_little_is_written(many: int, alice: User) -> None:
    before = {*PackedChunks.objects.values_list("pk", "data")}
    for number in range(3):
        acts.save(alice, f"Plays the violin, piece {number}.")
        up_to_date()
    assert {*PackedChunks.objects.values_list("pk", "data")} == before, "a note that is new rewrites nothing"
    some = Chunk.objects.filter(owner="alice", removed=False).order_by("id").values_list("item_id", flat=True)[:3]
    for id_ in list(some):
        notes.update(by=ChangeContext(actor=alice), owner="alice", note_id=id_, content=f"Now another thing: {id_}")
        up_to_date()
    notes.delete(by=ChangeContext(actor=alice), owner="alice", note_id=list(some)[2])
    up_to_date()
    assert len(unpacked()) <= many + 6
    assert_as_from_rows()


@worker
def test_what_is_deleted_is_in_nothing_that_is_packed(alice: User) -> None:
    kept = save(alice, "Xylophones are loud.", tags=["glockenspiel"])
    conversations.keep("alice", "s1", [conversations.Turn("user", f"Zanzibar, {n}", id=str(n)) for n in range(200)])
    imported(alice, 200, "Memory {}.")
    all_packed()
    words = (b"xylophones", b"glockenspiel", b"zanzibar", kept.encode())
    assert all(word in packed_data() for word in words)
    notes.delete(by=ChangeContext(actor=alice), owner="alice", note_id=kept)
    conversations.delete("alice", "s1")
    up_to_date()
    assert not [word for word in (*words, b"xylophon") if word in packed_data()]
    assert_as_from_rows()


@worker
@pytest.mark.parametrize("way", ["damaged", "cut", "empty", "another format", "another embedder"])
def test_what_cannot_be_read_is_read_from_rows_and_packed_again(many: int, way: str) -> None:
    expected, row = answers(), PackedChunks.objects.earliest("after")
    data = bytes(row.data)
    row.data = {
        "damaged": data[:3_000] + b"?!" + data[3_002:],
        "cut": data[:-100],
        "empty": b"",
        "another format": b"assent-0" + data[8:],
        "another embedder": as_bytes(from_bytes(data, embedders.configured_name()) or PackedRows({}, {}), "another"),
    }[way]
    row.save()
    assert answers() == expected
    wait_for_threads()
    assert len(unpacked()) == many
    assert answers() == expected


@worker
def test_many_who_change_and_pack_at_once_leave_each_chunk_once(many: int, alice: User) -> None:
    ids = list(Chunk.objects.filter(removed=False).order_by("id").values_list("item_id", flat=True)[:8])
    PackedChunks.objects.filter(after__gt=0).delete()

    def change(id_: str) -> None:
        try:
            notes.update(by=ChangeContext(actor=alice), owner="alice", note_id=id_, content=f"Changed {id_}")
            snapshots.pack("alice")
            store.reindex("alice")
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(change, ids))
    up_to_date()
    snapshots.pack("alice")
    assert len(texts("changed", top_k=20)) == 8
    assert_as_from_rows()


@worker
def test_rows_of_which_little_is_left_are_made_one(many: int, alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "_SIZE", 8)
    monkeypatch.setattr(snapshots, "_LEAST", 4)
    PackedChunks.objects.all().delete()
    snapshots.pack("alice")
    there = PackedChunks.objects.count()
    Chunk.objects.filter(item_id__in=Chunk.objects.order_by("id").values_list("item_id", flat=True)[20:]).update(
        removed=True, version=SearchIndex.objects.get(owner="alice").version
    )
    snapshots.remove("alice", SearchIndex.objects.get(owner="alice").version)
    assert PackedChunks.objects.count() == there > 30
    snapshots.pack("alice")
    assert PackedChunks.objects.count() <= 3
    assert_as_from_rows()


chunks = st.builds(
    TextChunk,
    source=st.sampled_from(Source),
    document_id=st.sampled_from(["a", "b", "süß"]),
    item_id=st.text(max_size=3),
    order=st.integers(0, 1 << 50),
    text=st.sampled_from(["The dog walks.", "東京 on 2026-11-20", "dogs and C++", "", "went in May 2023"]),
    tags=st.lists(st.sampled_from(["x", "y"]), max_size=2).map(tuple),
    author=st.sampled_from(["", "Ann"]),
)


def content(batch: PackedRows) -> Any:
    return {name: array.tolist() for name, array in batch.arrays.items()}, batch.texts


@pytest.mark.pure
@given(st.lists(chunks, max_size=8), st.sets(st.integers(0, 8)))
@settings(deadline=None, max_examples=50)
def test_what_is_left_is_what_would_be_packed_without_the_rest(some: list[TextChunk], gone: set[int]) -> None:
    embedder = wordllama()
    rows = [row_of(at, each, stored(embedder.embed([each.meaning])[0])) for at, each in enumerate(some)]
    whole = packed(rows, embedder, with_pieces=True)
    again = from_bytes(as_bytes(whole, "form"), "form")
    assert again is not None
    assert content(again) == content(whole)
    left = without(again, gone)
    expected = packed([row for row in rows if row.chunk_id not in gone], embedder, with_pieces=True)
    assert set(left.texts["words"]) == set(expected.texts["words"])
    assert set(left.texts["strings"]) == set(expected.texts["strings"])
    for name, texts_of in {"words": "words", "items": "strings", "documents": "strings", "authors": "strings"}.items():
        said, other = left.arrays[name].tolist(), expected.arrays[name].tolist()
        assert [left.texts[texts_of][n] for n in said] == [expected.texts[texts_of][n] for n in other]
    for name in ("chunk_ids", "order", "sizes", "named_days", "vectors", "scales"):
        assert left.arrays[name].tolist() == expected.arrays[name].tolist()
