"""One contract for both engines: what every verb does, and by which name it fails."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from django.db import connections
from django.test.utils import CaptureQueriesContext

from memory_app import reads
from memory_app.dolt import errors
from memory_app.dolt.connections import retrying
from memory_app.dolt.operations import DoltOperations
from memory_app.dolt.types import Author
from memory_app.models import MemoryBlock, block_id
from memory_app.writing import rows
from memory_app.writing.values import BlockFields, BlockWrite
from tests import environment
from tests.support.first import dolt, dolt_transaction, open_at

AUTHOR = Author("Alice <script>\n", "")
TABLE = MemoryBlock._meta.db_table
FIELDS = BlockFields(title="", description="", body="one", limit=1000)


def write(owner: str = "alice", label: str = "goals", body: str = "one") -> str:
    """Commit one block, new or as it is now, on the branch this thread stands on; the hash."""
    with dolt_transaction() as verbs:
        there = MemoryBlock.objects.filter(owner=owner, label=label).first()
        fields = BlockFields(title="", description="", body=body, limit=1_000_000)
        rows.write_block(BlockWrite(owner, label, fields, reads.row_sha256(vars(there)) if there else ""))
        return verbs.commit(f"Write {label}\n\nOperation: {body[:32]}", AUTHOR)


def branch(base: str, name: str = "p/1", *, label: str = "goals", body: str = "two") -> str:
    """Make a branch at a hash, with one commit; its hash."""
    dolt().create_branch(name, base)
    with open_at(name):
        return write(label=label, body=body)


def merge(head: str, message: str = "Merge") -> str:
    with dolt_transaction() as verbs:
        return verbs.merge(head, message, AUTHOR)


def leave_uncommitted(title: str = "stray") -> None:
    """Write past Assent, without a commit."""
    with connections["memory"].cursor() as cursor:
        cursor.execute(f"UPDATE {TABLE} SET title = %s", [title])


def in_threads(works: list[Callable[[], Any]]) -> list[Any]:
    """Do each in a thread of its own at once; what each returned."""

    def run(work: Callable[[], Any]) -> Any:
        try:
            return work()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(run, works))


def test_a_commit_moves_main_and_is_in_the_log_with_its_author() -> None:
    before = dolt().head()
    made = write()
    assert dolt().head() == made != before
    newest = dolt().log(limit=1)[0]
    assert (newest.hash, newest.author, newest.email) == (made, "Alice script", "unknown@assent.invalid")
    assert newest.message.rstrip("\n") == "Write goals\n\nOperation: one"
    assert newest.at.tzinfo is not None


def test_a_branch_starts_at_a_hash_and_its_writes_stay_off_main() -> None:
    head = branch(write())
    with open_at("p/1"):
        assert reads.block_at("alice", "goals", "HEAD").body == "two"
    assert reads.block("alice", "goals").body == "one"
    assert reads.block_at("alice", "goals", head).body == "two"
    assert dolt().head("p/1") == head


def test_a_connection_at_a_hash_reads_and_refuses_to_write() -> None:
    first = write()
    write(body="two")
    with open_at(first):
        assert MemoryBlock.objects.get(owner="alice").body == "one"
        with pytest.raises(Exception, match=r"(?i)read.?only|cannot|not allowed|detached"):
            write(body="three")
    assert reads.block("alice", "goals").body == "two"


def test_leaving_a_branch_restores_main_even_after_an_error() -> None:
    base = write()
    dolt().create_branch("p/1", base)
    outer = connections["memory"]
    with pytest.raises(ZeroDivisionError), open_at("p/1"):
        raise ZeroDivisionError
    assert connections["memory"] is outer


def test_an_unknown_revision_has_a_name() -> None:
    write()
    gone = "0" * len(dolt().head())
    for attempt in (
        lambda: dolt().head("p/404"),
        lambda: dolt().rows(TABLE, gone),
        lambda: dolt().log(gone),
        lambda: dolt().is_ancestor(gone),
        lambda: dolt().create_branch("p/1", gone),
        lambda: dolt().merge(gone, "m", AUTHOR),
    ):
        with pytest.raises(errors.RevisionNotFound):
            attempt()
    for revision in ("p/404", gone):
        with pytest.raises(errors.RevisionNotFound), open_at(revision):
            pass


def test_of_several_revisions_those_that_exist_are_told_apart() -> None:
    first = write()
    dolt().create_branch("p/1", first)
    assert dolt().those_there(["p/1", first, "main"]) == {"p/1", first, "main"}
    assert dolt().those_there(["p/1", "p/2", "never_made"]) == {"p/1"}
    assert dolt().those_there([]) == set()
    assert write(body="two") == dolt().head()  # what was missing left nothing behind


def test_branches_cannot_be_made_twice_and_can_be_dropped_twice() -> None:
    base = write()
    dolt().create_branch("p/1", base)
    with pytest.raises(errors.BranchExists):
        dolt().create_branch("p/1", base)
    dolt().drop_branch("p/1")
    dolt().drop_branch("p/1")
    assert list(dolt().branches()) == ["main"]


@pytest.mark.parametrize("name", ["refs/heads/x", "main..p", "", "P/1", "p/1/2", "-D"])
def test_names_the_engines_choke_on_are_refused_and_main_is_never_dropped(name: str) -> None:
    with pytest.raises(ValueError, match="branch name"):
        dolt().create_branch(name, dolt().head())
    with pytest.raises(ValueError, match="main"):
        dolt().drop_branch("main")


def test_committing_nothing_is_an_error_and_leaves_nothing_behind() -> None:
    before = write()
    with pytest.raises(errors.NothingToCommit), dolt_transaction() as verbs:
        verbs.commit("nothing", AUTHOR)
    assert dolt().head() == before
    assert write(body="two") != before


def test_a_merge_takes_the_hash_and_makes_a_commit_of_its_own() -> None:
    base = write()
    head = branch(base)
    with open_at("p/1"):
        write(body="three")
    merged = merge(head, f"Merge\n\nOperation: {'a' * 32}")
    assert reads.block("alice", "goals").body == "two"  # not "three": the hash, not the branch
    assert dolt().is_ancestor(head)
    assert not dolt().is_ancestor(dolt().head("p/1"))
    found = dolt().find_operation("a" * 32, since=base)
    assert found is not None
    assert (found.hash, found.parents) == (merged, (base, head))
    assert dolt().find_operation("b" * 32, since=base) is None
    assert [commit.hash for commit in dolt().own_log(since=base)] == [merged]
    assert dolt().own_log()[:2] == (found, *dolt().log(base, limit=1))


def test_messages_are_kept_whole_or_refused() -> None:
    """DoltLite cuts the message of a merge without a word: at 255 bytes, if need be inside a character."""
    base = write()
    for number, most in enumerate((dolt().commit_message_limit, dolt().merge_message_limit)):
        longest = "é" * ((most - 60) // 2)
        longest = f"Merge\n\n{longest}\n\nOperation: {'a' * 32}\n".rstrip("\n")
        longest += "x" * (most - len(longest.encode()))
        dolt().create_branch(f"p/{number}", base)
        with open_at(f"p/{number}"), dolt_transaction() as branch:
            rows.write_block(BlockWrite("alice", f"b{number}", FIELDS, ""))
            head = branch.commit(longest if number == 0 else "Change", AUTHOR)
        if number == 1:
            head = merge(head, longest)
        assert dolt().log(head, limit=1)[0].message == longest
    with pytest.raises(ValueError, match="keeps"), dolt_transaction() as verbs:
        verbs.commit("x" * (verbs.commit_message_limit + 1), AUTHOR)
    with pytest.raises(ValueError, match="keeps"):
        merge(base, "x" * (dolt().merge_message_limit + 1))


def test_a_log_that_was_cut_inside_a_character_can_be_read() -> None:
    """Memories written before messages had to fit have such merges, and one would have made the log unreadable."""
    head = branch(write())
    with dolt_transaction() as verbs:
        merged = verbs._merge(head, "é" * 200, AUTHOR)
    assert dolt().log(merged, limit=1)[0].message.startswith("é" * 100)


def test_merging_twice_is_harmless_and_says_so_and_takes_no_branch_name() -> None:
    head = branch(write())
    merged = merge(head)
    with pytest.raises(errors.AlreadyMerged):
        merge(head)
    with pytest.raises(ValueError, match="hash"):
        merge("p/1")
    assert dolt().head() == merged


def test_two_changes_of_one_row_conflict_even_in_different_columns() -> None:
    head = branch(write())
    current = reads.block("alice", "goals")
    with dolt_transaction() as verbs:
        retitled = BlockFields(title="Other title", description="", body="one", limit=1000)
        rows.write_block(BlockWrite("alice", "goals", retitled, current.sha256))
        before = verbs.commit("Retitle", AUTHOR)
    with pytest.raises(errors.MergeConflict):
        merge(head)
    assert dolt().head() == before
    assert dolt().dirty_tables() == ()
    assert reads.block("alice", "goals").title == "Other title"


def test_two_branches_that_create_one_label_conflict() -> None:
    base = dolt().head()
    heads = [branch(base, f"p/{number}", body=f"text {number}") for number in (1, 2)]
    merge(heads[0])
    with pytest.raises(errors.MergeConflict):
        merge(heads[1])


def test_branches_of_different_rows_merge() -> None:
    head = branch(write(), label="profile", body="profile")
    write(body="two")
    merge(head)
    assert [block.body for block in reads.blocks("alice")] == ["two", "profile"]


def test_differences_of_rows_between_commits() -> None:
    first = write()
    write(label="profile", body="profile")
    second = write(body="two")
    with dolt_transaction() as verbs:
        MemoryBlock.objects.filter(label="goals").delete()
        third = verbs.commit("Delete", AUTHOR)

    changed = {(after or before)["id"]: (before, after) for before, after in dolt().diff_rows(TABLE, first, second)}
    goals, profile = block_id("alice", "goals").hex, block_id("alice", "profile").hex
    assert changed.keys() == {goals, profile}
    assert changed[goals][0] == dolt().rows(TABLE, first, {"id": goals})[0]
    assert changed[profile][0] is None
    ((before, after),) = dolt().diff_rows(TABLE, second, third)
    assert ((before or {})["id"], after) == (goals, None)
    ((deleted, _),) = dolt().diff_rows(TABLE, second, third, columns=("owner", "label"))
    assert deleted == {"id": goals, "owner": "alice", "label": "goals"}
    assert changed[goals][1] == dolt().rows(TABLE, second, {"id": goals})[0]
    with pytest.raises(errors.RevisionNotFound):
        dolt().diff_rows(TABLE, first, first[::-1])


def test_an_error_rolls_the_rows_back() -> None:
    before = write()
    with pytest.raises(ZeroDivisionError), dolt_transaction():
        MemoryBlock.objects.filter(label="goals").update(body="never")
        raise ZeroDivisionError
    assert MemoryBlock.objects.get(label="goals").body == "one"
    assert dolt().dirty_tables() == ()
    assert dolt().head() == before


def test_a_writer_refuses_to_sweep_up_what_others_left_uncommitted_and_a_reader_sees_none_of_it() -> None:
    base = write()
    leave_uncommitted()
    with pytest.raises(errors.DirtyMemory) as refused:
        write(label="profile", body="x")
    assert refused.value.tables == (TABLE,)
    commit, block = reads.snapshot("alice", "goals")
    assert (commit, block.title) == (base, "")


@pytest.mark.skipif(environment.is_embedded(), reason="DoltLite has no such function")
def test_ancestry_is_asked_of_dolt_and_not_counted_in_its_log() -> None:
    """0.3 ms at 100,000 commits, where a range of the log takes 122."""
    first = write()
    write(body="two")
    with CaptureQueriesContext(connections["memory"]) as asked:
        assert dolt().is_ancestor(first)
    assert any("has_ancestor" in query["sql"] for query in asked)


def test_collections_asked_for_at_once_all_end() -> None:
    """Two of Dolt's wait for each other's statement: neither ended, nor any that came after, until a restart."""
    write()
    ended: list[int] = []

    def collect(number: int) -> None:
        for again in range(4):
            branch = f"p/{number}-{again}"
            retrying(partial(dolt().create_branch, branch, dolt().head()))
            retrying(partial(dolt().drop_branch, branch))
            retrying(partial(dolt().gc, full=True))
        connections["memory"].close()
        ended.append(number)

    threads = [threading.Thread(target=collect, args=[number], daemon=True) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(ended) == [0, 1, 2, 3]


def test_threads_stand_on_branches_of_their_own() -> None:
    base = write()

    def work(number: int) -> str:
        retrying(lambda: dolt().create_branch(f"p/{number}", base))
        with open_at(f"p/{number}"):
            retrying(lambda: write(body=f"text {number}"))
            return MemoryBlock.objects.get(label="goals").body

    assert in_threads([partial(work, number) for number in range(6)]) == [f"text {number}" for number in range(6)]
    assert reads.block("alice", "goals").body == "one"


def test_every_column_survives_the_way_through_the_engine() -> None:
    body = "Zeile eins\r\nשלום \u202eabc 👩‍🏫 𝒳 ' \" \\ %s {0}\n" + "ß" * 20_000
    fields = BlockFields("Ziele ⟨B2⟩", "d", body, limit=200_000, read_only=True, schema_ref="s")
    with dolt_transaction() as verbs:
        rows.write_block(BlockWrite("alice", "goals", fields, ""))
        made = verbs.commit("All", AUTHOR)
    block = reads.block_at("alice", "goals", made)
    assert {name: getattr(block, name) for name in vars(fields)} == vars(fields)
    assert block.sha256 == reads.row_sha256(vars(block))
    assert reads.block("alice", "goals").updated_at == MemoryBlock.objects.get(label="goals").updated_at


def test_usernames_that_differ_in_case_are_different_owners() -> None:
    write()
    assert reads.blocks("Alice") == ()


def test_a_new_session_begins_on_main_while_another_stands_on_a_branch() -> None:
    branch(write())
    with open_at("p/1"):
        assert in_threads([lambda: (reads.block("alice", "goals").body, dolt().dirty_tables())]) == [("one", ())]
    assert reads.block("alice", "goals").body == "one"


def test_a_session_lost_on_a_branch_is_not_taken_for_one_on_main() -> None:
    base = write()
    dolt().create_branch("p/1", base)
    with pytest.raises(errors.EngineUnavailable), open_at("p/1"):
        connections["memory"].close()
        write(body="two")
    assert dolt().head() == base
    assert dolt().dirty_tables() == ()
    assert reads.block("alice", "goals").body == "one"


def test_dirt_on_main_stays_there_while_a_branch_is_written() -> None:
    base = write()
    leave_uncommitted()
    branch(base)
    with open_at("p/1"):
        assert reads.block_at("alice", "goals", "HEAD").title == ""
    assert dolt().dirty_tables() == (TABLE,)
    assert MemoryBlock.objects.get().title == "stray"


def test_a_block_and_its_commit_are_read_together_while_others_write() -> None:
    """What a proposal is made on: a text that is not at its base commit would be merged unseen."""
    write(body="0")
    is_over = threading.Event()

    def write_on() -> None:
        for number in range(1, 60):
            retrying(partial(write, body=str(number)))
        is_over.set()

    def read_on() -> list[tuple[str, str]]:
        seen = []
        while not is_over.is_set():
            commit, block = reads.snapshot("alice", "goals")
            seen.append((block.body, reads.block_at("alice", "goals", commit).body))
        return seen

    _, one, two = in_threads([write_on, read_on, read_on])
    assert len({body for body, _ in one + two}) > 3, "nothing was read while it was written"
    assert [pair for pair in one + two if pair[0] != pair[1]] == []


def squash(keep_as: str) -> str:
    with dolt_transaction() as verbs:
        return verbs.squash(keep_as, "Squash", AUTHOR)


def test_a_squashed_history_can_be_read_where_it_is_kept_and_ends_where_it_is_dropped() -> None:
    first, last = write(), write(body="two")
    dolt().create_branch("before", dolt().parent(first))  # for the tests after this one
    squashed = squash("h/1")
    assert [commit.hash for commit in dolt().own_log()][:-1] == [squashed] == [dolt().head()]
    assert [each.body for each in (reads.find_block("alice", "goals", at) for at in (first, last, "main")) if each] == [
        "one",
        "two",
        "two",
    ]
    assert write(body="three") == dolt().head()
    dolt().drop_branch("h/1")
    dolt().gc(full=True)
    with pytest.raises(errors.RevisionNotFound):
        reads.find_block("alice", "goals", first)
    assert reads.block("alice", "goals").body == "three"


def test_a_squash_beside_a_writer_is_refused_and_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of a squash's verbs is there to stay at once, on both engines, and nobody keeps this writer away."""
    write()
    writers: list[threading.Thread] = []
    create_branch = DoltOperations.create_branch

    def meanwhile(verbs: DoltOperations, name: str, at: str) -> None:
        create_branch(verbs, name, at)
        if name == "h/1":
            works = partial(in_threads, [partial(retrying, partial(write, body="meanwhile"))])
            writers.append(threading.Thread(target=works))
            writers[0].start()
            writers[0].join(2)

    with monkeypatch.context() as patch:
        patch.setattr(DoltOperations, "create_branch", meanwhile)
        with pytest.raises(errors.EngineUnavailable, match="was written while"):
            squash("h/1")
    writers[0].join()
    assert dolt().dirty_tables() == ()
    assert reads.block("alice", "goals").body == "meanwhile"
    squash("h/2")
    assert [reads.block("alice", "goals").body, dolt().dirty_tables()] == ["meanwhile", ()]
