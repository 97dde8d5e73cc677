"""A database moves to another server while its owners write: nothing acknowledged is lost, wherever the move dies."""

import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from approvals import services
from approvals.models import User
from approvals.recovery import backup
from approvals.recovery.integrity import problems
from memory_app import reads
from memory_app.dolt import moving, placement
from memory_app.dolt.connections import connect, dolt_of
from memory_app.dolt.errors import EngineUnavailable, MemoryMoving
from memory_app.dolt.types import FIRST
from memory_app.models import Change, MemoryDatabase
from memory_app.writing import ledger
from tests import environment
from tests.conftest import in_a_thread
from tests.memory_app.dolt.test_several_databases import SECOND, memories, owners, second  # noqa: F401 (fixtures)
from tests.services import HOST, Services, find_programs, free_ports, start_dolt
from tests.support.acts import approve, save
from tests.support.crashing import crash_at
from tests.support.fixtures import Propose

pytestmark = pytest.mark.skipif(environment.is_embedded(), reason="embedded databases do not move")


@pytest.fixture
def other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Another Dolt server."""
    running = Services(tmp_path / "other")
    running.folder.mkdir()
    (port,) = free_ports(1)
    start_dolt(running, find_programs(), port)
    monkeypatch.setattr(settings, "MEMORY_SERVERS", {"other": f"mysql://root@{HOST}:{port}/"})
    monkeypatch.setattr(moving, "SETTLES", 0.2)
    monkeypatch.setattr(placement, "FRESH", 0.05)
    yield f"mysql://root@{HOST}:{port}/"
    running.stop()


def move_to(server: str, url: str, folder: str) -> None:
    settings.MEMORY_SERVERS = {"other": url}
    moving.SETTLES = 0.2
    moving.move(SECOND, server, Path(folder))


def contents(owner: User) -> set[str]:
    return {note.content for note in reads.notes(owner.username)}


def test_a_database_moves_while_its_owners_write(
    owners: list[User],  # noqa: F811
    propose: Propose,
    other: str,
    tmp_path: Path,
) -> None:
    alice, ben = owners
    proposal = propose(reads.block("ben", "goals"), "likes math", "loves math")
    before = dolt_of(SECOND).branches()
    told: dict[str, set[str]] = {"alice": set(), "ben": set()}
    refused: list[Exception] = []
    ended = threading.Event()

    def write(owner: User) -> None:
        number = 0
        while not ended.is_set():
            number += 1
            content = f"{owner.username} {threading.get_ident()} {number}"
            try:
                save(owner, content)
            except EngineUnavailable as error:
                assert owner == ben
                refused.append(error)
                time.sleep(0.02)
            else:
                told[owner.username].add(content)

    writers = [in_a_thread(lambda owner=owner: write(owner)) for owner in (alice, ben, ben)]  # type: ignore[misc]
    time.sleep(0.5)
    said = memories("move", SECOND, "other", "--folder", str(tmp_path))
    time.sleep(0.5)
    ended.set()
    for writer in writers:
        writer.join()
    assert "On first, `" in said
    assert any(isinstance(error, MemoryMoving) for error in refused)
    assert told["ben"] <= contents(ben)
    assert told["alice"] <= contents(alice)
    here = dolt_of(SECOND)
    assert str(here.connection.settings_dict["PORT"]) in other
    assert before.items() - {("main", before["main"])} <= here.branches().items()
    assert here.is_ancestor(before["main"])  # no hash changed
    services.recover()
    approve(ben, proposal)
    assert reads.block("ben", "goals").body.startswith("ben loves math")
    assert list(problems()) == []
    assert set(Change.objects.filter(owner="ben").values_list("database", flat=True)) == {SECOND}


def test_a_write_that_began_before_a_move_is_not_acknowledged_after_it(owners: list[User], other: str) -> None:  # noqa: F811
    """Its commit is made where the database was, after the copy."""
    entry = ledger.LedgerEntry(action="edited", owner="ben", targets=(("note", "n"),), operation="0" * 32)
    epoch = placement.place_of(SECOND).epoch
    with moving.held(MemoryDatabase.objects.get(name=SECOND)):
        placement.look_again()
        with pytest.raises(MemoryMoving):
            placement.database_for("ben")
        with pytest.raises(MemoryMoving):
            ledger.record(SECOND, "f" * 32, entry, timezone.now(), epoch=epoch)
        with pytest.raises(MemoryMoving):  # nor one that knows the new epoch: it may look where the database is no more
            ledger.record(SECOND, "f" * 32, entry, timezone.now(), epoch=epoch + 1)
    placement.look_again()
    with pytest.raises(MemoryMoving):
        ledger.record(SECOND, "f" * 32, entry, timezone.now(), epoch=epoch)
    assert not Change.objects.filter(commit="f" * 32).exists()
    save(owners[1], "after it")


def test_owners_are_told_that_their_memory_moves(
    owners: list[User],  # noqa: F811
    other: str,
    token: str,
) -> None:
    MemoryDatabase.objects.update(moving_until=timezone.now() + timedelta(minutes=1))
    placement.look_again()
    answer = Client().post(
        "/api/v1/tools/memory_save/",
        {"content": "Likes tea.", "user_id": "alice"},
        content_type="application/json",
        headers={"authorization": f"Bearer {token}"},
    )
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
    assert "is under maintenance" in answer.content.decode()
    assert reads.block("alice", "goals").body  # reading goes on
    MemoryDatabase.objects.update(moving_until=timezone.now() - timedelta(seconds=1))  # the move died
    placement.look_again()
    save(owners[0], "after it")


def test_a_database_of_somebody_else_is_not_overwritten(owners: list[User], other: str, tmp_path: Path) -> None:  # noqa: F811
    move_to("other", other, str(tmp_path))
    placement.look_again()
    with connect(SECOND, "") as left:
        left.dolt._query("CREATE TABLE mine (id INT PRIMARY KEY)")
        left.dolt._call("dolt_commit", "-A", "-m", "mine")
    with pytest.raises(CommandError, match="another"):
        memories("move", SECOND, "first", "--folder", str(tmp_path))
    save(owners[1], "still on the other")


def test_the_first_database_is_backed_up_and_prepared_where_it_moved_to(
    owners: list[User],  # noqa: F811
    other: str,
    tmp_path: Path,
) -> None:
    memories("move", FIRST, "other", "--folder", str(tmp_path), "--drop")
    try:
        call_command("prepare")
        backup.backup(tmp_path / "kept")
        with connect(FIRST, "other") as moved:
            before = moved.dolt.branches()
        backup.verify(tmp_path / "kept")
        with connect(FIRST, "other") as moved:
            assert moved.dolt.branches() == before
        save(owners[0], "where it is now")
    finally:
        memories("move", FIRST, "first", "--folder", str(tmp_path))


def test_a_move_killed_before_any_write_is_finished_by_the_same_command(
    owners: list[User],  # noqa: F811
    other: str,
    tmp_path: Path,
) -> None:
    ben, step, known = owners[1], 0, set()
    while True:
        step += 1
        place = MemoryDatabase.objects.get(name=SECOND).server
        to = "" if place else "other"
        died = crash_at(step, move_to, to, other, str(tmp_path))
        MemoryDatabase.objects.update(moving_until=None)  # the lease runs out
        placement.look_again()
        known.add(f"after step {step}")
        save(ben, f"after step {step}")
        if not died:
            break
        move_to(to, other, str(tmp_path))
        placement.look_again()
        assert MemoryDatabase.objects.get(name=SECOND).server == to
        assert contents(ben) == known
    assert step > 5
    services.recover()
    assert list(problems()) == []
