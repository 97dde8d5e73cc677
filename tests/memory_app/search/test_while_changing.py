"""Search while what it reads changes: nothing is dropped without a word, and what breaks ends with the call."""

import itertools
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from approvals.models import User
from approvals.services import notes
from approvals.services.notes import ChangeContext
from memory_app import conversations, reads
from memory_app.models import Chunk, Message, SearchIndex
from memory_app.runtime import background
from memory_app.search import index_state, service, store
from memory_app.search.cache import IndexCache, indices
from memory_app.search.ranking.chunking import Source
from memory_app.search.ranking.index import ChunkHit, OwnerIndex
from memory_app.search.ranking.postings import Postings
from memory_app.search.service import rank_notes, search
from tests.agent_tools.checks import answered
from tests.agent_tools.conftest import Machine
from tests.conftest import in_a_thread
from tests.memory_app.search.indexed import save, texts, up_to_date
from tests.support import acts
from tests.support.acts import imported
from tests.support.fixtures import MakeBlock

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("worker")]


@pytest.fixture
def kayak(alice: User) -> str:
    """A note that has the word in all its versions, found before."""
    id_ = save(alice, "Kayak 0")
    assert texts("kayak")
    return id_


@pytest.fixture
def changed_after_searching(alice: User, kayak: str, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Have the note changed after each of the next so many searches of the arrays, before rows are read."""
    left, versions = [0], itertools.count(1)

    def changing_after(find: Callable[..., Any]) -> Callable[..., Any]:
        def find_and_change(*arguments: Any, **named: Any) -> Any:
            found = find(*arguments, **named)
            if left[0]:
                left[0] -= 1
                content = f"Kayak {next(versions)}"
                notes.update(by=ChangeContext(actor=alice), owner="alice", note_id=kayak, content=content)
                up_to_date()
            return found

        return find_and_change

    monkeypatch.setattr(OwnerIndex, "search", changing_after(OwnerIndex.search))
    monkeypatch.setattr(OwnerIndex, "rank_items", changing_after(OwnerIndex.rank_items))

    def change(times: int) -> None:
        left[0] = times

    return change


def test_a_note_changed_during_a_search_is_found_as_it_became(changed_after_searching: Any, kayak: str) -> None:
    changed_after_searching(1)
    answer = search("alice", "kayak")
    assert [hit.text for hit in answer.results] == ["Kayak 1"]
    assert not answer.index_behind
    changed_after_searching(1)
    assert rank_notes("alice", "kayak", top_k=5) == ((kayak,), True, False)


def test_a_search_that_keeps_missing_a_note_says_that_it_is_behind(changed_after_searching: Any) -> None:
    changed_after_searching(2)
    answer = search("alice", "kayak")
    assert (answer.results, answer.index_behind) == ((), True)
    changed_after_searching(2)
    *_found, is_behind = rank_notes("alice", "kayak", top_k=5)
    assert is_behind
    assert texts("kayak") == ["Kayak 4"]


def test_an_index_that_stays_behind_shows_nothing_that_is_gone(
    alice: User, token: str, make_block: MakeBlock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a process that died with the lease: another minute passes until somebody may index."""
    block = make_block(alice, "boats", "Sails a red kayak on Sundays.\n")
    reworded, other, gone, old = (save(alice, f"Kayak in {colour}.") for colour in ("red", "blue", "green", "grey"))
    imported(alice, 3, "A new kayak.")
    up_to_date()
    (doubled,) = (hit for hit in search("alice", "kayak", top_k=20).results if hit.same)
    assert len(texts("kayak", top_k=20)) == 6
    by = ChangeContext(actor=alice)
    monkeypatch.setattr(background, "_GATHERING", 60.0)  # nothing is indexed by this process
    monkeypatch.setattr(service, "LONGEST_WAIT", 0.2)
    SearchIndex.objects.update(busy_until=timezone.now() + timedelta(hours=1))
    notes.update(by=by, owner="alice", note_id=reworded, content="Kayak in yellow.")
    notes.update(by=by, owner="alice", note_id=other, content="Keeps bees.")
    for id_ in (gone, doubled.note_id, doubled.same[0]):
        notes.delete(by=by, owner="alice", note_id=id_ or "")
    notes.supersede(by=by, owner="alice", note_id=old)
    acts.edit(alice, "boats", block.body, "Sails a kayak in Bonn.")
    answers = [answered(Machine(token).call(tool, query="kayak")) for tool in ("memory_search", "recall")]
    hits = answers[0]["data"]["results"]
    assert sorted(hit["text"] for hit in hits) == ["A new kayak.", "Kayak in yellow.", "Sails a kayak in Bonn."]
    assert next(hit for hit in hits if hit.get("note_id") == doubled.same[1]).get("same_notes") is None
    assert reworded in answers[1]["text"]
    assert gone not in answers[1]["text"]
    for answer in answers:
        assert answer["data"]["index_behind"]
        assert "does not know the newest changes yet" in answer["text"]
    SearchIndex.objects.update(busy_until=None)
    assert set(texts("kayak")) - {"Keeps bees."} == {"A new kayak.", "Kayak in yellow.", "Sails a kayak in Bonn."}


def test_what_a_process_without_its_lease_writes_late_is_written_again(alice: User, kayak: str) -> None:
    """It read the note before the next change, stood still until another had indexed that, and then wrote."""
    late = index_state.state_of("alice")
    read = store.memory_chunks([], [reads.note("alice", kayak)])
    notes.update(by=ChangeContext(actor=alice), owner="alice", note_id=kayak, content="Kayak 1")
    up_to_date()
    marks = {"change_id": late.change_id, "commit": late.commit}
    store._write("alice", read, marks, {Source.USER_MEMORY: [kayak]})
    SearchIndex.objects.update(busy_until=None)
    assert texts("kayak") == ["Kayak 1"]
    assert Chunk.objects.filter(removed=False).count() == 1


def test_arrays_take_up_a_changed_note_in_one_step(alice: User, kayak: str, monkeypatch: pytest.MonkeyPatch) -> None:
    index, add = indices.index_of("alice"), OwnerIndex.add
    found: list[ChunkHit] = []
    searching: list[threading.Thread] = []

    def add_while_another_thread_searches(self: OwnerIndex, rows: Any) -> None:
        if self is index and not searching:
            searching.append(in_a_thread(lambda: found.extend(index.search("kayak").hits)))
            searching[0].join(0.5)
        add(self, rows)

    notes.update(by=ChangeContext(actor=alice), owner="alice", note_id=kayak, content="Kayak 1")
    up_to_date()
    monkeypatch.setattr(OwnerIndex, "add", add_while_another_thread_searches)
    assert indices.index_of("alice") is index
    searching[0].join()
    assert [hit.item_id for hit in found] == [kayak]


def test_arrays_that_took_up_half_of_a_change_are_loaded_anew(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    save(alice, "She sails.")
    assert texts("sails")
    extend = Postings.extend

    def fail_once(postings: Postings, terms: Any, sizes: Any) -> None:
        monkeypatch.setattr(Postings, "extend", extend)
        raise MemoryError

    acts.save(alice, "She rows.")
    up_to_date()
    monkeypatch.setattr(Postings, "extend", fail_once)
    with pytest.raises(MemoryError):
        search("alice", "rows")
    assert texts("rows") == ["She rows."]


def test_sizes_are_added_up_as_they_change_and_the_least_recently_used_owner_goes(
    alice: User, ben: User, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asking 2,000 owners' arrays for their size took each search 20 ms, one at a time."""
    for owner in (alice, ben):
        save(owner, "Likes tea.")
    cache = IndexCache()
    measure: Any = OwnerIndex.__dict__["nbytes"]
    measured: list[OwnerIndex] = []

    def count_and_measure(index: OwnerIndex) -> Any:
        measured.append(index)
        return measure.fget(index)

    hers, his = cache.index_of("alice"), cache.index_of("ben")
    monkeypatch.setattr(OwnerIndex, "nbytes", property(count_and_measure))
    assert (cache.index_of("alice"), cache.index_of("ben")) == (hers, his)
    assert measured == []
    acts.save(alice, "Likes coffee.")
    up_to_date()
    assert cache.index_of("alice") is hers
    assert measured == [hers]
    assert cache._nbytes == hers.nbytes + his.nbytes
    before = hers.nbytes
    hers.search("coffee")
    assert hers.nbytes == before, "measured with what its first search makes"
    settings.SEARCH_MEMORY_MB = 0
    cache.index_of("alice")
    assert list(cache._owners) == ["alice"]
    assert cache._nbytes == hers.nbytes


def test_a_message_deleted_while_the_first_index_is_begun_is_not_kept_by_it(alice: User) -> None:
    """On PostgreSQL the deletion, which found no index, and the index, which found the message, passed each other."""
    conversations.keep("alice", "s1", [conversations.Turn("user", "My sister is called Ada.")])
    has_looked, go_on = threading.Event(), threading.Event()
    forget = store.forget_messages

    def forget_and_wait(*arguments: Any) -> None:
        forget(*arguments)
        has_looked.set()
        assert go_on.wait(20)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "forget_messages", forget_and_wait)
        deleting = in_a_thread(lambda: conversations.delete("alice", "s1"))
        assert has_looked.wait(20)
        indexing = in_a_thread(lambda: store.reindex("alice"))
        indexing.join(2)  # without waiting for the deletion it would be done
        go_on.set()
        deleting.join(20)
        indexing.join(20)
    assert not Message.objects.exists()
    assert not Chunk.objects.filter(text__contains="Ada").exists()
    assert texts("sister Ada", sources=["conversation"]) == []


def test_a_change_recorded_after_a_run_s_last_look_is_indexed(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    save(alice, "She sails.")
    look, has_saved = index_state.state_of, threading.Event()

    def look_and_save(owner: str) -> Any:
        state = look(owner)
        if not state.is_behind and not has_saved.is_set():
            has_saved.set()
            in_a_thread(lambda: acts.save(alice, "She rows.")).join(20)
        return state

    monkeypatch.setattr(index_state, "state_of", look_and_save)
    store.reindex("alice")
    assert has_saved.is_set()
    assert not index_state.is_behind("alice")
