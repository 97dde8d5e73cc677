"""People write memory themselves, in their own name, and never over what they have not seen."""

from functools import partial
from typing import Any

import pytest

from approvals import services
from approvals.models import User
from approvals.services.errors import BlockChanged
from memory_app import reads
from memory_app.dolt.errors import RevisionNotFound, WriteOutsideCommit
from memory_app.models import MemoryBlock
from memory_app.reads import Block
from memory_app.text.edits import ForbiddenCharacter
from tests.conftest import in_a_thread
from tests.support.first import dolt, head_of_main
from tests.support.fixtures import Propose
from tests.support.refusals import refusing


def fields(body: str = "New text.", **changed: Any) -> services.BlockFields:
    return services.BlockFields(**{"title": "Goals", "description": "", "body": body, "limit": 20_000} | changed)


def create(actor: User, label: str, body: str = "New text.", *, owner: str = "alice") -> None:
    services.create_block(actor=actor, owner=owner, label=label, fields=fields(body))


def edit(actor: Any, block: Any, wanted: services.BlockFields, **changed: Any) -> Any:
    arguments = {"loaded_sha256": block.sha256, "comment": ""} | changed
    return services.edit_block(actor=actor, owner=block.owner, label=block.label, fields=wanted, **arguments)


def test_a_direct_edit_is_a_commit_in_the_persons_name(goals: Block, alice: User) -> None:
    change = edit(alice, goals, fields(), comment="Tidied up.")
    commit = dolt().log(limit=1)[0]
    assert change.commit == commit.hash == head_of_main()
    assert (commit.author, commit.email) == ("Alice Berg", "alice@person.assent.invalid")
    assert (change.action, change.actor, change.comment) == ("edited", "alice", "Tidied up.")
    assert reads.block("alice", "goals").body == "New text."
    assert reads.block_at("alice", "goals", reads.history("alice", "block", "goals")[1].commit) == goals


def test_staff_write_in_their_own_name_and_others_not_at_all(
    goals: Block, admin: User, tim: User, mallory: User, ben: User
) -> None:
    for person in (tim, mallory, ben):
        with refusing("not_allowed"):
            edit(person, goals, fields())
        with refusing("not_allowed"):
            create(person, "new")
        with refusing("not_allowed"):
            services.delete_block(actor=person, owner="alice", label="goals", loaded_sha256=goals.sha256)
    assert edit(admin, goals, fields()).actor == "admin"


def test_an_edit_of_what_changed_meanwhile_shows_what_is_there(goals: Block, alice: User) -> None:
    edit(alice, goals, fields("First."))
    with refusing("block_changed") as refused:
        edit(alice, goals, fields("Second."))
    assert refused.value.current.body == "First."


def test_of_many_edits_at_once_one_wins(goals: Block, alice: User) -> None:
    outcomes: list[str] = []

    def work(number: int) -> None:
        try:
            edit(alice, goals, fields(f"Text {number}."))
            outcomes.append(f"Text {number}.")
        except BlockChanged:
            outcomes.append("")

    for thread in [in_a_thread(partial(work, number)) for number in range(6)]:
        thread.join()
    assert len(outcomes) == 6
    won = [outcome for outcome in outcomes if outcome]
    assert won == [reads.block("alice", "goals").body]


def test_what_is_not_acceptable_is_refused_by_name(goals: Block, alice: User) -> None:
    head = head_of_main()
    for wanted, error in (
        (fields("x" * 101, limit=100), "over_limit"),
        (fields(limit=0), "refused"),
        (fields(limit=200_001), "refused"),
        (fields("a\x00b"), ForbiddenCharacter),
        (fields(goals.body, title=goals.title), "no_change"),
    ):
        with refusing(error):
            edit(alice, goals, wanted)
    assert head_of_main() == head


def test_blocks_are_created_once_and_have_decent_labels(goals: Block, alice: User, ben: User) -> None:
    with refusing("label_taken"):
        create(alice, "goals")
    for label in ("", "With Space", "UPPER", "a" * 65, "ümlaut", "-dash", "a/b", "goals\n"):
        with refusing("label_invalid"):
            create(alice, label)
    create(ben, "goals", "Ben's.", owner="ben")
    assert reads.block("ben", "goals").body == "Ben's."
    assert reads.block("alice", "goals") == goals


def test_a_deleted_block_is_gone_and_its_history_stays(goals: Block, alice: User) -> None:
    before = head_of_main()
    change = services.delete_block(actor=alice, owner="alice", label="goals", loaded_sha256=goals.sha256)
    assert reads.blocks("alice") == ()
    assert change.action == "deleted"
    assert reads.block_at("alice", "goals", before) == goals
    assert [row.action for row in reads.history("alice", "block", "goals")] == ["deleted", "created"]
    create(alice, "goals", "Anew.")
    assert reads.block("alice", "goals").body == "Anew."


def test_nothing_writes_a_block_past_the_one_way(goals: Block) -> None:
    block = MemoryBlock.objects.get()
    block.title = "sneaked in"
    for write in (
        block.save,
        partial(MemoryBlock.objects.update, title="sneaked in"),
        MemoryBlock.objects.all().delete,
        partial(MemoryBlock.objects.create, id=block.pk, owner="x", label="y", limit=1),
    ):
        with pytest.raises(WriteOutsideCommit):
            write()
    assert dolt().dirty_tables() == ()


def test_reading_as_of_a_time_or_a_commit(goals: Block, alice: User, propose: Propose) -> None:
    first = reads.history("alice", "block", "goals")[0]
    edit(alice, goals, fields("Later."))
    assert reads.resolve_revision("alice", first.commit) == first.commit
    assert reads.resolve_revision("alice", first.at.isoformat()) == first.commit
    assert reads.resolve_revision("alice", "2199-01-01") == head_of_main()
    newest = reads.history("alice", "block", "goals")[0]
    assert reads.resolve_revision("alice", f"{newest.at:%Y-%m-%d}") == newest.commit  # a day means its end
    proposal = propose(reads.block("alice", "goals"), "Later", "Sooner")
    nonsense = ["yesterday", "", "1999-01-01", "2026-13-45", "0" * len(first.commit), "main", "p/1"]
    nonsense += ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00"]
    # The last is of a text nobody approved, which is not the memory's past.
    for revision in (*nonsense, proposal.current_revision.head_commit):
        with pytest.raises(RevisionNotFound):
            reads.resolve_revision("alice", revision)
