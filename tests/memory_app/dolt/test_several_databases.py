"""One memory in two databases: each owner's rows are in one of them, and everything else works over both."""

import shutil
import uuid
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import OperationalError, connections
from django.urls import reverse

from approvals import services
from approvals.models import Agent, Proposal, Status, Tutorship, User
from approvals.recovery import backup
from approvals.recovery.integrity import Check, problems
from approvals.services.errors import Refusal
from approvals.services.recheck import recheck
from memory_app import reads
from memory_app.databases.backups import Manifest
from memory_app.dolt import moving, placement
from memory_app.dolt.connections import dolt, dolt_of, head_of_main, open_at, settings_of, transaction_on
from memory_app.dolt.errors import EngineUnavailable, RevisionNotFound
from memory_app.dolt.types import FIRST
from memory_app.models import Change, MemoryBlock, MemoryDatabase, MemoryOwner, block_id
from memory_app.search import service as search
from tests import environment
from tests.conftest import at_once
from tests.environment import once_a_run
from tests.support.acts import approve, edit
from tests.support.fixtures import ClientOf, MakeBlock, Propose
from tests.support.places import manage

SECOND = "memory_2"


@pytest.fixture
def second() -> Iterator[str]:
    """A second database, to which the next new owner goes that comes after one of the first."""
    if environment.is_embedded():
        # Migrated once a run: each time would take six seconds of a processor. The command finishes it.
        path, half_made = Path(settings_of(SECOND, "")["NAME"]), {"takes_owners": False, "epoch": -1}
        with once_a_run("second") as migrated:
            if not migrated.exists():
                memories("add", SECOND)
                connections.close_all()
                shutil.copy2(path, migrated)
            shutil.copy2(migrated, path)
        MemoryDatabase.objects.update_or_create(name=SECOND, defaults=half_made)
    memories("add", SECOND)
    yield SECOND
    if not environment.is_embedded():
        moving.drop_database(settings_of(SECOND, "")["NAME"], "")


def memories(*arguments: str) -> str:
    out = StringIO()
    call_command("memories", *arguments, stdout=out)
    return out.getvalue()


@pytest.fixture
def owners(second: str, alice: User, ben: User, make_block: MakeBlock) -> list[User]:
    """alice in the first database and ben in the second, each with a block of the same label."""
    for owner in (alice, ben):
        make_block(owner, "goals", f"{owner.username} likes math.\nShe reads one book a month.\n")
    assert [placement.database_of(owner.username) for owner in (alice, ben)] == [FIRST, SECOND]
    return [alice, ben]


def take_away(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing connect to a database."""
    kind = type(next(iter(connections["memory"].beside.values())))  # type: ignore[attr-defined]
    connections["memory"].close()
    monkeypatch.setattr(kind, "get_new_connection", _but(database, kind.get_new_connection))


def _but(database: str, original: Any) -> Any:

    def get_new_connection(self: Any, parameters: Any) -> Any:
        if self.database == database:
            raise EngineUnavailable(f"{database} is away")
        return original(self, parameters)

    return get_new_connection


def test_a_quick_check_goes_on_in_each_database_from_where_the_last_one_was(
    owners: list[User], propose: Propose
) -> None:
    check = Check()
    assert list(check.problems()) == []
    check.keep()
    marks = dict(MemoryDatabase.objects.values_list("name", "checked_commit"))
    assert marks == {database: dolt_of(database).head() for database in (FIRST, SECOND)}
    for owner in owners:
        approved = approve(owner, propose(reads.block(owner.username, "goals"), "likes math", "loves math"))
    assert list(Check(since_last=True).problems()) == []
    Change.objects.filter(commit=approved.merge_commit).update(actor="mallory")
    quick = Check(since_last=True)
    assert [(found.code, found.about) for found in quick.problems()] == [("ledger_differs", approved.merge_commit)]
    assert quick.marks
    MemoryDatabase.objects.filter(name=SECOND).update(checked_commit="")  # as of one that no run has looked at
    assert not Check(since_last=True).marks


def test_owners_of_two_databases_propose_approve_undo_and_read_what_was(
    owners: list[User], propose: Propose, scribe: Agent
) -> None:
    for owner in owners:
        name = owner.username
        before = reads.head(name)
        proposal = propose(reads.block(name, "goals"), "likes math", "loves math")
        revision = proposal.current_revision
        assert dolt(name).head(revision.branch) == revision.head_commit
        with open_at(name, revision.branch):
            assert MemoryBlock.objects.get(owner=name).body.startswith(f"{name} loves")
        approve(owner, proposal)
        assert reads.block(name, "goals").body.startswith(f"{name} loves math")
        assert reads.block_at(name, "goals", before).body.startswith(f"{name} likes math")
        services.undo(actor=owner, proposal_id=proposal.pk)
        assert reads.block(name, "goals").body.startswith(f"{name} likes math")
        assert [change.action for change in reads.history(name, "block", "goals")] == [
            "reverted",
            "approved",
            "created",
        ]
        assert reads.commit_at_time(name, Change.objects.filter(owner=name).latest("at").at) == reads.head(name)
        assert search.search(owner=name, query="book a month", top_k=3).results
    (of_alice, of_ben) = (Change.objects.filter(owner=owner.username).latest("id") for owner in owners)
    assert (of_alice.database, of_ben.database) == (FIRST, SECOND)
    for other, commit in (("alice", of_ben.commit), ("ben", of_alice.commit)):
        with pytest.raises(RevisionNotFound):  # a hash means nothing in another database
            reads.resolve_revision(other, commit)
    assert list(problems()) == []


def test_a_block_of_one_owner_is_in_one_database(owners: list[User]) -> None:
    held = {
        database: {row["owner"] for row in dolt_of(database).rows(reads.BLOCKS, None)}
        for database in placement.databases()
    }
    assert held == {FIRST: {"alice"}, SECOND: {"ben"}}
    assert set(reads.find_blocks([("alice", "goals"), ("ben", "goals"), ("ben", "nothing")])) == {
        ("alice", "goals"),
        ("ben", "goals"),
    }


def test_the_first_write_of_an_owner_chooses_one_database_for_all_processes(second: str) -> None:
    owners = [f"student{number}" for number in range(6)]
    chosen = at_once(lambda: [placement.database_for(owner) for owner in owners], 4)
    assert all(each == chosen[0] for each in chosen)
    assert sorted(chosen[0]) == [FIRST] * 3 + [second] * 3
    assert dict(MemoryDatabase.objects.values_list("name", "owners")) == {FIRST: 3, second: 3}


def test_an_owner_who_only_reads_is_placed_by_nobody(second: str) -> None:
    assert (reads.blocks("carla"), placement.database_of("carla")) == ((), FIRST)
    assert not MemoryOwner.objects.exists()
    assert head_of_main("carla") == dolt("carla").head()
    assert MemoryOwner.objects.get().owner == "carla"


def test_a_row_of_an_owner_is_not_remembered_before_it_is_there_to_stay(second: str) -> None:
    from django.db import transaction

    with pytest.raises(ZeroDivisionError), transaction.atomic():
        placement.database_for("carla")
        raise ZeroDivisionError
    assert placement.database_of("carla") == FIRST
    assert not MemoryOwner.objects.exists()


def test_databases_are_made_listed_and_drained(second: str) -> None:
    assert "there already" in memories("add", second)
    assert "there already" in memories("add", second, "--server", "first")
    assert memories("list").splitlines()[1].startswith(second)
    memories("drain", FIRST)
    assert {placement.database_for(f"student{number}") for number in range(3)} == {second}
    with pytest.raises(CommandError, match="only one"):
        memories("drain", second)
    memories("drain", FIRST, "--back")
    assert placement.database_for("carla") == FIRST
    for name in ("memory", "other", "memory_", "memory_A", "memory_2; DROP"):
        with pytest.raises(CommandError, match="is called"):
            memories("add", name)


def test_a_database_without_owners_is_removed(second: str, alice: User, make_block: MakeBlock) -> None:
    with pytest.raises(CommandError, match="takes new owners: run `memories drain memory_2` first"):
        memories("remove", SECOND)
    memories("drain", SECOND)
    make_block(alice, "goals", "She reads.")
    with pytest.raises(CommandError, match="is the first one, has owners, who stay, or is not there"):
        memories("remove", FIRST)
    assert memories("remove", SECOND) == "memory_2 is removed.\n"
    assert memories("list").count("\n") == 1
    assert list(problems()) == []
    assert "memory_2 is made:" in memories("add", SECOND)
    MemoryOwner.objects.create(owner="ben", database_id=SECOND)
    memories("drain", SECOND)
    with pytest.raises(CommandError, match="has owners, who stay"):
        memories("remove", SECOND)


@pytest.mark.skipif(environment.is_embedded(), reason="files do not move")
def test_prepare_says_in_a_sentence_that_the_server_of_the_first_is_away(alice: User) -> None:
    MemoryDatabase.objects.filter(name=FIRST).update(server="east")
    servers = ("", "east=mysql://demo:demo@127.0.0.1:1/none")
    runs = [manage("prepare", ASSENT_MEMORY_SERVERS=each) for each in servers]
    MemoryDatabase.objects.filter(name=FIRST).update(server="")
    for done in runs:
        assert done.returncode == 1
        assert "CommandError: A database does not answer (" in done.stderr
        assert "Traceback" not in done.stderr
        assert len([line for line in done.stderr.splitlines() if "rror" in line]) == 1, done.stderr


def test_recover_names_the_database_that_is_away(owners: list[User], monkeypatch: pytest.MonkeyPatch) -> None:
    take_away(SECOND, monkeypatch)
    out = StringIO()
    with pytest.raises(CommandError, match=r"Not recovered, as it does not answer: memory_2\."):
        call_command("recover", stdout=out)
    assert "memory_2 does not answer" in out.getvalue()


def test_a_database_of_somebody_else_is_not_taken(owners: list[User]) -> None:
    MemoryOwner.objects.filter(database=SECOND).delete()
    MemoryDatabase.objects.filter(name=SECOND).delete()  # as another site would find it
    with pytest.raises(CommandError, match="something of that name"):
        memories("add", SECOND)
    assert placement.databases() == [FIRST]


def test_a_backup_says_in_a_sentence_that_a_database_is_away(
    owners: list[User], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take_away(SECOND, monkeypatch)
    with pytest.raises(CommandError, match="memory_2 is away"):
        call_command("backup", str(tmp_path / "kept"))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("away", "there"), [(FIRST, SECOND), (SECOND, FIRST)])
def test_garbage_of_the_others_is_collected_while_one_is_away(
    owners: list[User], monkeypatch: pytest.MonkeyPatch, away: str, there: str
) -> None:
    take_away(away, monkeypatch)
    out = StringIO()
    with pytest.raises(CommandError, match=f"^The database {away} cannot be collected now: [^\n]*is away"):
        call_command("gc", "--force", stdout=out)
    assert out.getvalue().startswith(f"{there}: Collected")


@pytest.mark.parametrize("step", ["moving.create_database", "prepare.migrate_memory"])
def test_a_database_half_made_is_finished_by_the_same_command(step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def die(*arguments: Any) -> None:
        raise EngineUnavailable("killed")

    with monkeypatch.context() as patch, pytest.raises(CommandError):
        patch.setattr(f"memory_app.management.commands.memories.{step}", die)
        memories("add", SECOND)
    assert placement.databases() == [FIRST]
    assert placement.database_for("carla") == FIRST
    memories("add", SECOND)
    assert placement.databases() == [FIRST, SECOND]
    assert (placement.database_for("dora"), reads.blocks("dora")) == (SECOND, ())
    if not environment.is_embedded():
        moving.drop_database(settings_of(SECOND, "")["NAME"], "")


def test_recover_and_rebuild_work_in_both(owners: list[User]) -> None:
    rows = list(Change.objects.order_by("id").values("database", "commit", "owner", "target"))
    Change.objects.all().delete()
    MemoryOwner.objects.filter(owner="ben").delete()  # as in a `default` from before the first write
    placement.forget()
    assert services.recover().ledger_rows == 2
    assert placement.database_of("ben") == SECOND
    assert sorted(map(str, Change.objects.values("database", "commit", "owner", "target"))) == sorted(map(str, rows))
    Change.objects.all().delete()
    call_command("rebuild_ledger", stdout=StringIO())
    assert Change.objects.count() == 2
    for database in (FIRST, SECOND):
        with transaction_on(database, takes_stray_rows=True):
            MemoryBlock.objects.filter(label="goals").update(title=f"stray {uuid.uuid4()}")
    assert [finding.code for finding in problems()] == ["uncommitted"] * 2
    assert len(services.recover().dirt.split()) == 2
    assert not [finding for finding in problems() if finding.code != "ledger_differs"]


def test_a_database_that_is_away_takes_only_its_owners_with_it(
    owners: list[User], propose: Propose, client_of: ClientOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_ben = propose(reads.block("ben", "goals"), "likes math", "loves math")
    take_away(SECOND, monkeypatch)
    proposal = propose(reads.block("alice", "goals"), "likes math", "loves math")
    approve(owners[0], proposal)
    assert reads.block("alice", "goals").body.startswith("alice loves math")
    with pytest.raises(EngineUnavailable):
        reads.block("ben", "goals")
    assert client_of(owners[1]).get("/memory/ben/blocks/goals/").status_code == 503
    services.recover()  # the other database is looked after
    ready = client_of(owners[0]).get("/readyz")
    assert (ready.status_code, ready.json()["data"]["parts"][SECOND]["ok"]) == (200, False)
    assert Proposal.objects.get(pk=of_ben.pk).status == Status.OPEN


def test_check_memory_says_which_database_is_away_and_checks_the_others(
    owners: list[User], propose: Propose, monkeypatch: pytest.MonkeyPatch
) -> None:
    for owner in owners:
        approve(owner, propose(reads.block(owner.username, "goals"), "likes math", "loves math"))
        propose(reads.block(owner.username, "goals"), "one book", "two books")
    with monkeypatch.context() as patch:
        take_away(SECOND, patch)
        (away,) = problems()
        assert (away.code, away.about) == ("unreadable", SECOND)
        Change.objects.filter(action="approved").update(actor="mallory")
        assert [finding.code for finding in problems()] == ["unreadable", "ledger_differs"]
    connections.close_all()
    assert [finding.code for finding in problems()] == ["ledger_differs"] * 2


def test_a_backup_has_both_and_is_restored_and_verified(owners: list[User], propose: Propose, tmp_path: Path) -> None:
    propose(reads.block("ben", "goals"), "likes math", "loves math")
    manifest = backup.backup(tmp_path / "kept")
    assert (manifest.format, list(manifest.further)) == (2, [SECOND])
    assert Manifest.read(tmp_path / "kept") == manifest
    backup.verify(tmp_path / "kept")


def test_the_admin_lists_and_opens_the_blocks_of_each(owners: list[User], admin: User, client_of: ClientOf) -> None:
    client = client_of(admin)
    listed = reverse("admin:memory_app_memoryblock_changelist")
    for query, (there, elsewhere) in (("", ("alice", "ben")), (f"?database={SECOND}", ("ben", "alice"))):
        page = client.get(f"{listed}{query}").content.decode()
        assert f"{there}/goals" in page
        assert f"{elsewhere}/goals" not in page
    opened = client.get(reverse("admin:memory_app_memoryblock_change", args=[block_id("ben", "goals")]))
    assert (opened.status_code, "ben likes math" in opened.content.decode()) == (200, True)


def test_open_proposals_are_bounded_in_each(
    owners: list[User], propose: Propose, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "MAX_OPEN_PROPOSALS", 1)
    propose(reads.block("alice", "goals"), "likes math", "loves math")
    propose(reads.block("ben", "goals"), "likes math", "loves math")
    with pytest.raises(Refusal, match="wait for a decision already"):
        propose(reads.block("ben", "goals"), "one book", "two books")


def test_a_tutor_decides_about_the_owners_whose_memory_answers(
    owners: list[User], tim: User, propose: Propose, client_of: ClientOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    Tutorship.objects.create(tutor=tim, owner=owners[1])
    math, books = ("likes math", "loves math"), ("one book", "two books")
    for owner, proposed, edited in ((owners[0], math, books), (owners[1], books, math)):
        propose(reads.block(owner.username, "goals"), *proposed)
        edit(owner, "goals", *edited)
        recheck(owner.username, (("block", "goals"),))  # a worker's, on servers
    take_away(SECOND, monkeypatch)
    page = client_of(tim).get("/").content.decode()
    of_alice, of_ben = (Proposal.objects.get(owner=owner.username) for owner in owners)
    assert reverse("approve", args=[of_alice.pk]) in page
    assert reverse("approve", args=[of_ben.pk]) not in page
    assert f"#{of_ben.pk}" in page or of_ben.get_absolute_url() in page


@pytest.mark.skipif(environment.is_embedded(), reason="the embedded engine has no standby")
def test_a_standby_s_refusal_says_that_the_memory_is_away() -> None:
    refused = dolt_of(FIRST).translate(OperationalError(1105, "database memory is read-only"))
    assert isinstance(refused, EngineUnavailable)
