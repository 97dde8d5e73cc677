"""Whose search index is behind: found without a look at each owner, and after a crash too."""

import pytest
from django.db import connection
from django.db.models import F

from approvals.models import User
from memory_app.models import SearchIndex
from memory_app.search import embedders, index_state, store
from memory_app.tasks import reindex_all
from tests.conftest import eventually
from tests.memory_app.search.indexed import save, texts, up_to_date
from tests.support.background import wait_for_threads
from tests.support.crashing import killed
from tests.support.rows_read import rows_read

pytestmark = pytest.mark.usefixtures("worker")

#: Saves a note in a process that dies once it is on record.
CUT = """
from approvals.models import User
from approvals.services import notes
from approvals.services.notes import ChangeContext
from memory_app.search import store
store.enqueue_reindex = die
notes.save(by=ChangeContext(actor=User.objects.get()), owner="alice", content="Likes coffee.")
"""


def searched(count: int, *, first: int = 0) -> None:
    """Give so many owners an index that is up to date."""
    settled = {"embedder": embedders.configured_name(), "writes": 1, "writes_indexed": 1}
    names = range(first, first + count)
    SearchIndex.objects.bulk_create([SearchIndex(owner=f"owner-{number}", **settled) for number in names])
    with connection.cursor() as cursor:  # as the server does by itself, some time after many rows were written
        # Without the rows of the tests before, which are deleted and which an index still has until then.
        vacuum = "VACUUM" if connection.vendor == "postgresql" else ""
        cursor.execute(f"{vacuum} ANALYZE {SearchIndex._meta.db_table}")


def test_a_hundred_times_the_owners_cost_no_more() -> None:
    searched(20)
    assert index_state.owners_behind() == []
    small = rows_read(index_state.owners_behind)
    searched(1_980, first=20)
    assert rows_read(index_state.owners_behind) <= small + 10
    SearchIndex.objects.filter(owner="owner-1").update(embedder="another")
    SearchIndex.objects.filter(owner="owner-7").update(writes=F("writes") + 1)
    assert index_state.owners_behind() == ["owner-1", "owner-7"]


@pytest.mark.slow
def test_a_change_whose_process_died_before_it_was_indexed_is_known(alice: User) -> None:
    save(alice, "Likes tea.")
    assert texts("tea") == ["Likes tea."]
    wait_for_threads()
    assert index_state.owners_behind() == []
    killed(CUT)
    assert index_state.owners_behind() == ["alice"]
    assert texts("coffee") == ["Likes coffee."]
    assert index_state.owners_behind() == []


def test_a_change_that_did_not_count_itself_is_found_by_turns(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    """As one that a process of an older release recorded."""
    save(alice, "Likes tea.")
    texts("tea")
    up_to_date()
    wait_for_threads()
    eventually(lambda: not SearchIndex.objects.exclude(busy_until=None).exists())
    SearchIndex.objects.update(change_id=0)
    monkeypatch.setattr(index_state, "LOOKED_AT", 3)
    searched(5)
    SearchIndex.objects.filter(owner="alice").update(id=10_000)
    assert index_state.owners_behind() == []
    assert [index_state.behind_by_the_ledger() for _ in range(3)] == [[], ["alice"], []]
    assert [reindex_all() for _ in range(2)][-1] == 1
    assert not index_state.is_behind("alice")


def test_what_was_deleted_before_it_was_indexed_does_not_count_for_ever(alice: User) -> None:
    save(alice, "Likes tea.")
    texts("tea")
    up_to_date()
    wait_for_threads()
    SearchIndex.objects.update(writes=F("writes") + 1)
    assert index_state.owners_behind() == ["alice"]

    def is_settled() -> bool:
        store.reindex("alice")  # does nothing while the worker still indexes what was saved
        return index_state.owners_behind() == []

    eventually(is_settled)
