"""Search follows the memory: what is saved is found, what is gone is not, whoever was killed in between."""

import itertools
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.db import DatabaseError, connection, connections
from django.db.models import QuerySet
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from approvals.models import Agent, Policy, Proposal, Status, User
from approvals.services import notes
from approvals.services.notes import ChangeContext
from memory_app import conversations, reads
from memory_app.models import Change, Chunk, Message, SearchIndex
from memory_app.reads import Block
from memory_app.reads.catalogue import catalogues
from memory_app.runtime import background
from memory_app.runtime.deadlines import DeadlineExceeded
from memory_app.search import index_state, store
from memory_app.search.cache import indices
from memory_app.search.service import search
from memory_app.tasks import reindex, reindex_all
from tests import environment
from tests.conftest import eventually
from tests.memory_app.search.indexed import save, texts, up_to_date
from tests.support import acts
from tests.support.acts import imported
from tests.support.background import wait_for_threads
from tests.support.workers import celery_worker

pytestmark = pytest.mark.usefixtures("worker")  # in the server leg, which reindexes


def written() -> int:
    """How many chunks there are."""
    return Chunk.objects.filter(removed=False).count()


@contextmanager
def failing_to_write(number: int, error: type[BaseException]) -> Iterator[None]:
    """Have the so manieth portion of chunks end with an error."""
    write, calls = store._write, itertools.count(1)

    def fail(*arguments: Any, **named: Any) -> bool:
        if next(calls) == number:
            raise error
        return write(*arguments, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "_write", fail)
        yield


def test_what_is_saved_is_found_changed_and_gone(alice: User) -> None:
    assert texts("name", for_agents=True) == []
    id_ = save(alice, "User's name is Shantanu")
    assert texts("name") == ["User's name is Shantanu"]
    notes.update(by=ChangeContext(actor=alice), owner="alice", note_id=id_, content="User prefers SG")
    up_to_date()
    assert texts("name") == [], "people's search lists what matches"
    assert texts("name", for_agents=True) == ["User prefers SG"]
    notes.delete(by=ChangeContext(actor=alice), owner="alice", note_id=id_)
    up_to_date()
    assert texts("name", for_agents=True) == []


def test_blocks_are_found_by_their_sections(goals: Block, alice: User) -> None:
    hit = search("alice", "B2 exam").results[0]
    assert (hit.source, hit.block_label, hit.note_id, hit.type) == ("memory_block", "goals", None, "block")
    assert "B2 exam" in hit.text
    assert hit.title == "Learning goals › Goals"
    assert 0 < hit.score <= 1
    acts.edit(alice, "goals", goals.body, "Plays the violin.")
    up_to_date()
    assert texts("B2 exam") == []
    assert texts("violin") == ["Plays the violin."]


def test_filters_and_superseded(alice: User) -> None:
    old = save(alice, "Lives in Bonn.", type="fact", tags=["home"], category="place")
    save(alice, "Lives for music.", type="note", tags=["hobby"])
    for only in ({"types": ["fact"]}, {"tags": ["home", "nothing"]}, {"category": "place"}):
        assert texts("lives", **only) == ["Lives in Bonn."]
    notes.supersede(by=ChangeContext(actor=alice), owner="alice", note_id=old, reason="Moved.")
    up_to_date()
    assert texts("lives") == ["Lives for music."]
    assert set(texts("lives", include_superseded=True)) == {"Lives in Bonn.", "Lives for music."}


def test_the_past_is_searched_as_it_was(alice: User) -> None:
    id_ = save(alice, "Has a dog named Rex.")
    then = reads.history("alice", "note", id_)[0].commit
    notes.delete(by=ChangeContext(actor=alice), owner="alice", note_id=id_)
    up_to_date()
    assert texts("dog") == []
    assert texts("dog", as_of=then) == ["Has a dog named Rex."]
    with pytest.raises(reads.RevisionNotFound):
        search("alice", "dog", as_of="never")


def test_conversations_are_searched_when_asked_for_and_forgotten_when_deleted(alice: User) -> None:
    said = ["My sister is called Ada.", "What does she do?", "She builds bridges."]
    turns = [conversations.Turn("user", text, id=str(at), author="Alice") for at, text in enumerate(said)]
    conversations.keep("alice", "s1", turns)
    store.reindex("alice")
    assert texts("sister") == []
    hit = search("alice", "sister Ada", sources=["conversation"]).results[0]
    assert (hit.source, hit.message_id, hit.session_id, hit.author) == ("conversation", "0", "s1", "Alice")
    conversations.delete("alice", "s1")
    assert texts("sister Ada", sources=["conversation"]) == []
    assert not Chunk.objects.filter(text__contains="Ada").exists()


def test_a_run_cut_short_loses_nothing(alice: User) -> None:
    assert texts("x") == []
    store.reindex("alice")
    with failing_to_write(1, RuntimeError):
        id_ = acts.save(alice, "Saved while the index was down.")
        store.settle()
    assert reads.find_note("alice", id_)
    store.reindex("alice")
    assert texts("index") == ["Saved while the index was down."]
    assert not search("alice", "index").index_behind


@pytest.mark.slow
def test_an_index_that_is_behind_says_so(alice: User) -> None:
    save(alice, "One.")
    texts("One")
    wait_for_threads()  # one that still indexes would bring it up

    def is_behind() -> bool:
        # As if another process were making it, and did not come to an end.
        SearchIndex.objects.update(change_id=0, busy_until=timezone.now() + timedelta(hours=1))
        return search("alice", "One").index_behind

    eventually(is_behind)  # a worker that was under way writes over it once
    assert index_state.owners_behind() == ["alice"]


def test_an_index_whose_first_making_was_cut_short_is_made_by_the_next_search(alice: User) -> None:
    save(alice, "Likes tea.")
    Chunk.objects.all().delete()
    SearchIndex.objects.update(change_id=0, message_id=0, busy_until=None)
    indices.clear()
    assert texts("tea") == ["Likes tea."]
    assert not search("alice", "tea").index_behind


def test_an_index_left_behind_is_brought_up_by_the_next_search(alice: User) -> None:
    texts("tea")
    save(alice, "Likes tea.")
    state = SearchIndex.objects.get()
    save(alice, "Likes coffee.")
    Chunk.objects.filter(text__contains="coffee").delete()
    SearchIndex.objects.update(change_id=state.change_id)
    indices.clear()
    assert texts("coffee") == ["Likes coffee."]
    assert not search("alice", "coffee").index_behind


def test_a_first_search_reads_no_list_of_notes(alice: User) -> None:
    """Which took three quarters of it, and a kilobyte for each note."""
    imported(alice, 3, "Likes tea.")
    store.reindex("alice")
    up_to_date()
    for query in ("tea", "What do you know about me?"):
        indices.clear()
        catalogues.clear()
        (hit,) = search("alice", query, for_agents=True).results
        assert len(hit.same) == 2
        assert not catalogues


@pytest.mark.slow
@pytest.mark.skipif(not environment.is_embedded(), reason="a worker indexes what is much")
@pytest.mark.parametrize("way", ["a person", "policy", "a decision"])
def test_many_changes_are_indexed_by_the_next_search_and_hold_nothing_up(alice: User, scribe: Agent, way: str) -> None:
    save(alice, "Likes tea.")
    if way == "a decision":
        Policy.objects.create(owner="alice", notes=Policy.Notes.REVIEW)
    imported(alice if way == "a person" else scribe, store.MANY + 1, "Sails the sea, day {}")
    if way == "a decision":
        acts.approve(alice, Proposal.objects.get(status=Status.OPEN))
    assert index_state.is_behind("alice")
    acts.save(alice, "Keeps bees.")
    assert index_state.is_behind("alice"), "a small change after it would take as long"
    found = search("alice", "sails", top_k=20)
    if found.index_behind:  # a busy machine takes longer than a search waits; the work it began goes on
        up_to_date()
        found = search("alice", "sails", top_k=20)
    assert (len(found.results), found.index_behind) == (20, False)
    assert texts("bees") == ["Keeps bees."]


def test_changes_that_follow_each_other_are_indexed_in_one_run(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    save(alice, "Likes tea.")
    version = SearchIndex.objects.get(owner="alice").version
    # Five saves take longer than the tenth of a second on a busy machine; `settle` ends the wait.
    monkeypatch.setattr(background, "_GATHERING", 60.0)
    for number in range(5):
        acts.save(alice, f"Rows on day {number}.")
    store.settle()
    assert not index_state.is_behind("alice")
    assert SearchIndex.objects.get(owner="alice").version - version == 1
    imported(alice, store.MANY, "Sails the sea, day {}")
    store.settle()
    assert not index_state.is_behind("alice"), "so many are indexed without a search"


def test_an_import_is_added_to_the_index_and_nothing_else_is_written(alice: User) -> None:
    for number in range(3):
        save(alice, f"Sails the sea, day {number}")
    before = set(Chunk.objects.values_list("id", "version"))
    imported(alice, store.MANY + 100, "Keeps bees, hive {}")
    texts("bees")
    up_to_date()
    assert before <= set(Chunk.objects.values_list("id", "version")), "chunks of other notes were made anew"
    assert written() == 3 + store.MANY + 100
    assert "Keeps bees, hive 399" in texts("hive 399", top_k=20)


def test_a_long_catching_up_goes_on_from_where_it_was_cut(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    save(alice, "Likes tea.")
    SearchIndex.objects.update(busy_until=timezone.now() + timedelta(hours=1))  # no worker takes it up
    monkeypatch.setattr(background, "_GATHERING", 60.0)  # nor does a thread of this process, when the lease has ended
    imported(alice, 30, "Sails the sea, day {}")
    SearchIndex.objects.update(busy_until=None)
    monkeypatch.setattr(store, "PORTION", 7)
    with failing_to_write(3, DeadlineExceeded), pytest.raises(DeadlineExceeded):
        store.reindex("alice")
    assert written() == 1 + 14
    assert index_state.state_of("alice").is_behind_by(15)
    assert not index_state.state_of("alice").is_behind_by(16)
    assert store.reindex("alice").documents == 16
    assert not index_state.is_behind("alice")


@pytest.mark.slow
def test_who_may_not_index_finds_somebody_else_at_it() -> None:
    """Two who come first at the same moment: a search that saw neither at it answered from nothing."""

    def took_or_found_another(owner: str, together: threading.Barrier) -> bool:
        together.wait()
        try:
            return index_state.take_lease(owner) or index_state.is_busy(owner)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(3) as pool:
        for number in range(60):
            owners, together = [f"owner-{number}"] * 3, threading.Barrier(3)
            assert all(pool.map(took_or_found_another, owners, [together] * 3)), number


def test_a_run_that_leaves_a_first_index_to_the_search_takes_no_lease(alice: User) -> None:
    """The run after a save took the lease and then left the work: a search that found the lease taken found nothing."""
    save(alice, "Likes tea.")
    SearchIndex.objects.get_or_create(owner="alice", defaults={"embedder": ""})
    SearchIndex.objects.update(embedder="", change_id=0, busy_until=None)
    with CaptureQueriesContext(connection) as statements:
        store.reindex("alice", unless_many=True)
    assert [query["sql"] for query in statements if not query["sql"].strip().startswith("SELECT")] == []


def test_reindexing_again_changes_nothing_and_a_rebuild_waits_for_a_worker_that_began_just_before(
    alice: User, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """The command had asked whether a worker was indexing; one that began right then made it say "0 documents"."""
    save(alice, "Likes tea.")
    before = Chunk.objects.filter(removed=False).values_list("text", "terms")
    kept = list(before)
    assert store.reindex("alice").documents == 0
    take, tries = index_state.take_lease, []

    def take_second(owner: str) -> bool:
        tries.append(owner)
        # Not with a lease written here: the worker of the server leg, at work on the save above, would end it.
        return len(tries) > 1 and take(owner)

    monkeypatch.setattr(index_state, "take_lease", take_second)
    call_command("reindex", owner="alice")
    assert len(tries) >= 2
    assert "alice: 1 documents" in capsys.readouterr().out
    assert list(before.all()) == kept
    assert texts("tea") == ["Likes tea."]


@pytest.mark.skipif(not environment.is_embedded(), reason="a worker would finish it")
def test_a_rebuild_that_was_killed_half_way_is_not_taken_for_finished(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    imported(alice, 6, "Keeps bees, hive {}")
    monkeypatch.setattr(store, "PORTION", 2)
    with failing_to_write(2, KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
        store.reindex("alice", whole=True)
    assert index_state.is_behind("alice")
    store.reindex("alice")
    assert len(texts("bees", top_k=20)) == written() == 6


@pytest.mark.slow
def test_messages_deleted_meanwhile_are_told_among_more_conversations_than_a_statement_takes(alice: User) -> None:
    now = timezone.now()
    said = [
        Message(owner="alice", session_id=f"s{number}", message_id="m", role="user", content="Hello.", at=now)
        for number in range(32_800)  # SQLite takes 32,766 parameters
    ]
    Message.objects.bulk_create(said, batch_size=500)
    read = store.message_chunks("alice", after=0)
    conversations.delete("alice", "s7")
    assert store._deleted_since("alice", read) == {("s7", "m")}


def test_a_message_deleted_while_it_is_being_indexed_is_not_found_after_all(alice: User) -> None:
    conversations.keep("alice", "s1", [conversations.Turn("user", "My sister is called Ada.", id="m1")])
    read = store.message_chunks("alice", after=0)
    conversations.delete("alice", "s1")
    store._write("alice", read, {}, {})
    assert not Chunk.objects.filter(text__contains="Ada").exists()
    assert texts("sister Ada", sources=["conversation"]) == []


@pytest.mark.skipif(environment.is_embedded(), reason="there is no worker on the embedded leg")
def test_a_worker_killed_in_the_middle_of_a_rebuild_loses_nothing(alice: User) -> None:
    many = 8_000
    # As if a process were at it, so that the worker of the other tests leaves the owner alone.
    SearchIndex.objects.update_or_create(owner="alice", defaults={"busy_until": timezone.now() + timedelta(hours=1)})
    imported(alice, many, "Keeps bees, hive {}")
    assert Change.objects.count() == many
    for _ in range(5):  # on a busy machine the worker may be done before it is seen to have begun
        Chunk.objects.all().delete()
        SearchIndex.objects.update(busy_until=None, change_id=0)
        reindex.apply_async(["alice"], queue="killed")
        with celery_worker("killed", pool="threads") as process:
            eventually(written, seconds=90)
            process.kill()
        if written() < many:
            break
    assert 0 < written() < many
    assert search("alice", "bees").index_behind
    SearchIndex.objects.update(busy_until=None)  # its lease ran out
    # What the killed worker had taken is given out again after an hour; the beat does not wait for that.
    reindex_all.apply_async(queue="killed")
    with celery_worker("killed", pool="threads"):
        eventually(lambda: not index_state.is_behind("alice"), seconds=90)
    assert written() == many
    assert not search("alice", "bees").index_behind


def test_a_deletion_cut_short_deletes_nothing_and_can_be_made_again(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversations.keep("alice", "s1", [conversations.Turn("user", "My secret is xylophone.", id="m1")])
    assert texts("xylophone", sources=["conversation"])
    delete = QuerySet.delete

    def cut(messages: QuerySet[Any]) -> Any:
        delete(messages)
        raise DatabaseError("the time is up")

    with monkeypatch.context() as patch, pytest.raises(DatabaseError):
        patch.setattr(QuerySet, "delete", cut)
        conversations.delete("alice", "s1")
    assert Message.objects.filter(message_id="m1").exists()
    assert conversations.delete("alice", "s1") == (1, 0)
    assert texts("xylophone", sources=["conversation"]) == []
    assert not Chunk.objects.filter(text__contains="xylophone").exists()
