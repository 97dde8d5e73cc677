"""`manage.py backup` and `restore`: nothing lost, nothing doubled, and nothing restored that is no backup."""

import io
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connections

from approvals import services
from approvals.models import Agent, Proposal, User
from approvals.recovery import history, proof
from approvals.recovery.integrity import problems
from approvals.services import erasing, notes
from approvals.services.notes import ChangeContext
from memory_app import reads
from memory_app.databases import backups
from memory_app.databases.backups import NAME, fingerprint
from memory_app.dolt import moving
from memory_app.dolt.types import FIRST
from memory_app.reads import Block
from tests import environment
from tests.support.acts import approve
from tests.support.crashing import killed
from tests.support.first import dolt
from tests.support.fixtures import MakeBlock, Propose
from tests.support.places import ROOT, empty_place, manage, python

pytestmark = pytest.mark.slow

embedded_only = pytest.mark.skipif(not environment.is_embedded(), reason="of the files of embedded databases")
server_only = pytest.mark.skipif(environment.is_embedded(), reason="of the servers")


@pytest.fixture
def made(goals: Block, propose: Propose, tmp_path: Path) -> Path:
    """A backup of alice's memory, with one proposal that waits."""
    propose(goals, "math", "maths")
    folder = tmp_path / "backup"
    services.backup(folder)
    return folder


def forge(folder: Path, **values: Any) -> None:
    """Write a manifest that fits the files as they are now, and says something else."""
    path = folder / NAME
    manifest = json.loads(path.read_text()) | values
    manifest["files"] = {
        str(file.relative_to(folder)): fingerprint(file)
        for file in folder.rglob("*")
        if file.is_file() and file != path
    }
    path.write_text(json.dumps(manifest))


def copy_of_default(folder: Path) -> Path:
    return folder / backups.copy_name()


@contextmanager
def restored(folder: Path, to: Path, **place: str) -> Iterator[dict[str, str]]:
    """A new place into which the backup was restored."""
    with empty_place(to) as made:
        done = manage("restore", folder, **made | place)
        assert done.returncode == 0, done.stderr
        yield made | place


GO_ON = """
import json
from approvals.models import Agent, Proposal, User
from approvals.recovery.integrity import problems
from memory_app import reads
from memory_app.models import Change
from tests.support.acts import approve, change
found = list(map(str, problems()))
waiting = approve(User.objects.get(username="tim"), Proposal.objects.open().get())
new = change(Agent.objects.get(), ("June", "July"))
print(json.dumps([[*found, *map(str, problems())], waiting.pk, new.pk, reads.block("alice", "goals").body,
    sorted(note.content for note in reads.notes("alice")),
    sorted(set(Change.objects.values_list("commit", "comment")))]))
"""


def test_a_backup_is_restored_elsewhere_and_goes_on_with_new_ids(
    goals: Block, tim: User, scribe: Agent, propose: Propose, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = propose(goals, "math", "maths")
    approved = approve(tim, propose(goals, "book", "novel"), comment="Fine.")
    by = ChangeContext(actor=scribe, may_apply=True)
    saved = notes.save(by=by, owner="alice", content="Likes tea.")
    last: list[int] = []
    copy = backups.back_up_default

    def copy_then_go_on(to: Path) -> None:
        """The site runs on between the two copies: a proposal more that is rejected leaves nothing but its number."""
        copy(to)
        notes.save(by=by, owner="alice", content="Likes milk.")
        services.reject(actor=tim, proposal_id=waiting.pk, revision=1, reason="wrong")
        services.undo(actor=tim, proposal_id=waiting.pk)
        gone = propose(reads.block("alice", "goals"), "B2", "C1")
        services.reject(actor=tim, proposal_id=gone.pk, revision=1, reason="wrong")
        last.append(gone.pk)

    monkeypatch.setattr(backups, "back_up_default", copy_then_go_on)
    folder = tmp_path / "backup"
    call_command("backup", str(folder))

    with empty_place(tmp_path / "new") as place:
        done = manage("restore", folder, **place)
        assert done.returncode == 0, done.stderr
        assert "1 proposals made again from the memory" in done.stdout
        found, open_one, new, body, texts, ledger = json.loads(python(GO_ON, **place))
    assert (found, open_one) == ([], waiting.pk)
    assert new > last[0]
    assert "maths" in body
    assert "novel" in body
    assert texts == ["Likes milk.", "Likes tea."]
    assert [approved.merge_commit, "Fine."] in ledger
    assert [saved.commit, ""] in ledger
    if environment.is_embedded():
        files = [path for path in (tmp_path / "new").iterdir() if path.name.endswith(("sqlite3", "doltlite"))]
        assert [path.stat().st_mode & 0o777 for path in files] == [0o600, 0o600]


def test_a_history_that_is_squashed_meanwhile_is_copied_again(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The older half would take the commit in the place of the history for somebody else's."""
    monkeypatch.setattr(moving, "SETTLES", 0)
    copy = backups.back_up_default

    def copy_then_squash(to: Path) -> None:
        copy(to)
        history.squash(FIRST)

    with monkeypatch.context() as patch:
        patch.setattr(backups, "back_up_default", copy_then_squash)
        with pytest.raises(CommandError, match="squashed during the backup: make another one"):
            call_command("backup", str(tmp_path / "other"))
    assert not (tmp_path / "other").exists()
    call_command("backup", str(tmp_path / "other"), verify=True)


def test_a_site_whose_secrets_come_from_files_is_verified_and_restored(made: Path, tmp_path: Path) -> None:
    """The process that restores is told of other databases, which the site's files must not gainsay."""
    with empty_place(tmp_path / "new") as place:
        secrets = {"REDIS_URL": os.environ.get("REDIS_URL") or "redis://127.0.0.1:1/0"}
        secrets |= {name: place.pop(name) for name in ("DATABASE_URL", "MEMORY_DATABASE_URL") if name in place}
        secrets["ASSENT_SECRET_KEY"] = os.environ["ASSENT_SECRET_KEY"]
        for name, value in secrets.items():
            path = tmp_path / name.lower()
            path.write_text(f"{value}\n")
            place |= {name: "", f"{name}_FILE": str(path)}
        for arguments in (("--verify",), ()):
            done = manage("restore", made, *arguments, **place)
            assert done.returncode == 0, done.stderr
        place["REDIS_URL_FILE"] = ""
        assert json.loads(python(GO_ON.replace('username="tim"', 'username="alice"'), **place))[0] == []


def test_a_backup_is_for_its_user_alone_and_says_what_is_in_it(made: Path) -> None:
    assert made.stat().st_mode & 0o777 == 0o700
    files = [path for path in made.rglob("*") if path.is_file()]
    if environment.is_embedded():
        assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    manifest = json.loads((made / NAME).read_text())
    assert manifest["head"] == dolt().head()
    assert manifest["commits"] == len(dolt().log())
    assert manifest["branches"] == 2
    assert manifest["last_ids"]["approvals_proposal"] == Proposal.objects.get().pk
    assert manifest["counts"]["proposals open"] == 1
    assert "approvals.0001_initial" in manifest["default"]["migrations"]
    assert set(manifest["files"]) == {str(path.relative_to(made)) for path in files} - {NAME}


def test_neither_a_backup_nor_a_restore_overwrites_anything(made: Path) -> None:
    with pytest.raises(CommandError, match=r"There is something already: .*restored into an empty place"):
        call_command("restore", str(made))
    assert Proposal.objects.open().count() == 1
    before = {path: path.read_bytes() for path in made.rglob("*") if path.is_file()}
    with pytest.raises(CommandError, match="is not empty: name a new folder"):
        call_command("backup", str(made))
    assert {path: path.read_bytes() for path in made.rglob("*") if path.is_file()} == before


# -- refusals -------------------------------------------------------------------------------------


def test_a_damaged_backup_is_refused_by_name(made: Path, tmp_path: Path) -> None:
    name = copy_of_default(made).name
    content = (made / name).read_bytes()
    flipped = bytearray(content)
    flipped[len(content) // 2] ^= 1
    damages = [(name, content[:-100]), (name, bytes(flipped)), (name, None), ("more", b"")]
    damages += [(NAME, (made / NAME).read_bytes()[:200]), (NAME, None)]
    for number, (file, damaged) in enumerate(damages):
        folder = tmp_path / f"damaged {number}"
        shutil.copytree(made, folder)
        if damaged is None:
            (folder / file).unlink()
        else:
            (folder / file).write_bytes(damaged)
        with pytest.raises(CommandError, match=r"is damaged|is not a backup") as refused:
            call_command("restore", str(folder), verify=True)
        assert str(folder) in str(refused.value)


def test_a_backup_of_a_newer_version_or_other_engines_is_refused(made: Path) -> None:
    manifest = json.loads((made / NAME).read_text())
    migrations = [*manifest["memory"]["migrations"], "memory_app.9999_later"]
    other = "postgresql" if environment.is_embedded() else "sqlite"
    for changed, said in (
        ({"format": 3}, "format 3, and this version of Assent reads up to 2"),
        ({"memory": manifest["memory"] | {"migrations": migrations}}, r"not know its migration memory_app\.9999_later"),
        ({"default": manifest["default"] | {"engine": other}}, f"is from {other}, and DATABASE_URL names"),
    ):
        forge(made, **manifest | changed)
        with pytest.raises(CommandError, match=said):
            call_command("restore", str(made), verify=True)


def test_halves_of_two_backups_are_refused(made: Path, tim: User, tmp_path: Path) -> None:
    approve(tim, Proposal.objects.get())
    later = tmp_path / "later"
    services.backup(later)
    shutil.copy(copy_of_default(later), copy_of_default(made))
    with pytest.raises(CommandError, match="is not what it was when the backup was made"):
        call_command("restore", str(made), verify=True)
    # Also when the manifest says that it is as it should be.
    forge(made)
    with pytest.raises(CommandError, match=r"This is no pair\. The memory is older than the rest.* 1 change\(s\)"):
        call_command("restore", str(made), verify=True)


@embedded_only
def test_verify_opens_what_the_checksums_say_is_whole(made: Path) -> None:
    copied = made / "memory.doltlite"
    content = bytearray(copied.read_bytes())
    content[4096 : len(content) // 2] = bytes(len(content) // 2 - 4096)
    copied.write_bytes(content)
    forge(made)
    with pytest.raises(CommandError) as refused:
        call_command("restore", str(made), verify=True)
    assert "Traceback" not in str(refused.value)


def test_a_whole_backup_is_verified_and_nothing_is_left_of_that(made: Path) -> None:
    out = io.StringIO()
    call_command("restore", str(made), verify=True, stdout=out)
    assert out.getvalue() == "Verified: it opens, and both databases agree.\n"
    if not environment.is_embedded():
        for alias, every in (("default", "SELECT datname FROM pg_database"), ("memory", "SHOW DATABASES")):
            with connections[alias].cursor() as cursor:
                cursor.execute(every)
                assert not [name for (name,) in cursor.fetchall() if name.endswith("_verify")]


RESTORE_SLOWLY = """
import threading, time
from pathlib import Path
from approvals import services
from approvals.recovery import backup
from memory_app.runtime import upkeep
upkeep.FIRST = 0.0
recover, seen = backup.recover, []
def slowly(**given):
    time.sleep(3 * upkeep.TICK)
    seen.extend(thread.name for thread in threading.enumerate())
    return recover(**given)
backup.recover = slowly
services.restore(Path({folder!r}), here=True)
print([name for name in seen if name in ("upkeep", upkeep.TASKS)])
"""


PROVE = """
from django.core.management import call_command
from approvals.recovery.integrity import problems
call_command("erase", "alice", "--prove", "likes math", "--in", %r)
print(list(map(str, problems())))
"""


def test_what_was_erased_since_a_backup_is_erased_again_where_it_is_restored(
    made: Path, goals: Block, tmp_path: Path, settings: Any
) -> None:
    settings.ERASED_LIST = tmp_path / "erased"
    assert [*proof.in_memory("likes math")]
    # As proposals quote it there. PostgreSQL's copy is packed.
    assert f"file: {copy_of_default(made)}" in [*proof.in_files("math", [made])]
    erasing.ask(by=None, owner="alice", kind="block", target="goals", waits=True)
    erasing.finish()
    assert list(problems()) == []
    after = tmp_path / "after"
    services.backup(after)
    with restored(made, tmp_path / "elsewhere", ASSENT_ERASED_LIST=str(settings.ERASED_LIST)) as place:
        assert python(PROVE % str(after), **place).endswith("in no file.\n[]")


def test_nothing_is_done_by_the_clock_in_a_place_that_is_being_restored(made: Path, tmp_path: Path) -> None:
    """After ten seconds its tasks made the files that had to be missing; and they would mail what a backup has."""
    with empty_place(tmp_path / "new") as place:
        assert python(RESTORE_SLOWLY.format(folder=str(made)), **place) == "[]"


@server_only
def test_editions_can_be_mixed(tmp_path: Path) -> None:
    """SQLite beside a Dolt server."""
    folder = tmp_path / "backup"
    with empty_place(tmp_path / "old") as place:
        place |= {"DATABASE_URL": ""}
        assert manage("prepare", **place).returncode == 0
        python("from approvals.models import User; User.objects.create_user('alice')", **place)
        done = manage("backup", folder, **place)
        assert done.returncode == 0, done.stderr
    with restored(folder, tmp_path / "new", DATABASE_URL="") as place:
        assert python("from approvals.models import User; print(User.objects.get().username)", **place) == "alice"


@embedded_only
def test_nothing_is_left_of_a_restore_that_is_refused(made: Path, tmp_path: Path) -> None:
    forge(made, head="0" * 40)
    place = tmp_path / "new"
    done = manage("restore", made, ASSENT_DATA_DIR=str(place))
    assert done.returncode == 1
    assert "which the manifest names" in done.stderr
    assert "Traceback" not in done.stderr
    assert [path.name for path in place.iterdir() if path.name != "secret_key"] == []


# -- faults ---------------------------------------------------------------------------------------


def test_a_backup_that_is_killed_leaves_nothing_that_looks_like_one(goals: Block, tmp_path: Path) -> None:
    folder = tmp_path / "backup"
    killed(f"""
    from pathlib import Path
    from approvals import services
    from memory_app.databases.backups import Manifest
    Manifest.write = die
    services.backup(Path({str(folder)!r}))
    """)
    assert not folder.exists()
    (left,) = tmp_path.glob("backup.*.partial")
    with pytest.raises(CommandError, match="is not a backup"):
        call_command("restore", str(left), verify=True)
    services.backup(folder)  # and it is in nobody's way
    assert (folder / NAME).exists()


def test_a_disk_that_is_full_leaves_nothing(goals: Block, tmp_path: Path) -> None:
    """No file may grow above 50 kB, which the copy of `default` does."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))

    connections.close_all()
    # Nor may the file in which its coverage would be.
    unmeasured = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    done = subprocess.run(
        [sys.executable, "manage.py", "backup", str(tmp_path / "backup")],
        cwd=ROOT,
        env=unmeasured | {"ASSENT_LOG_LEVEL": "ERROR"},
        preexec_fn=limit,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "CommandError: " in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


@server_only
def test_pg_dump_that_is_missing_is_named(goals: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CommandError, match=r"pg_dump is not on PATH.*postgresql-client"):
        call_command("backup", str(tmp_path / "backup"))
    assert list(tmp_path.iterdir()) == []


@server_only
def test_the_password_is_no_argument(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program in pg_dump's place says how it was called."""
    program = tmp_path / "pg_dump"
    program.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/arguments\necho $PGPASSWORD > {tmp_path}/password\nexit 1\n')
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setitem(connections["default"].settings_dict, "PASSWORD", "hunter2")
    with pytest.raises(CommandError, match="pg_dump failed"):
        call_command("backup", str(tmp_path / "backup"))
    assert "hunter2" not in (tmp_path / "arguments").read_text()
    assert (tmp_path / "password").read_text() == "hunter2\n"


@server_only
def test_a_user_who_may_not_back_up_is_told_what_to_grant(goals: Block, tmp_path: Path) -> None:
    memory = connections["memory"]
    name = memory.settings_dict["NAME"]
    with memory.cursor() as cursor:
        cursor.execute("CREATE USER IF NOT EXISTS plain@'%' IDENTIFIED BY 'demo'")
        cursor.execute(f"GRANT ALL ON `{name}`.* TO plain@'%'")
    url = re.sub(r"//[^@]*@", "//plain:demo@", os.environ["MEMORY_DATABASE_URL"])
    refused = manage("backup", tmp_path / "backup", MEMORY_DATABASE_URL=url)
    assert refused.returncode == 1
    grant = f"GRANT EXECUTE ON PROCEDURE `{name}`.dolt_backup TO `plain`@`%`"
    assert grant in refused.stderr
    with memory.cursor() as cursor:
        cursor.execute(grant)
    done = manage("backup", tmp_path / "backup", MEMORY_DATABASE_URL=url)
    assert done.returncode == 0, done.stderr


@server_only
def test_dolt_on_another_machine_is_told_of(tmp_path: Path) -> None:
    """In a database of its own: Dolt empties the one it is to restore into before it looks for the backup."""
    program = f"""
from pathlib import Path
from memory_app.databases.backups import CopyFailed
from tests.support.first import dolt
try:
    dolt().restore(Path({str(tmp_path / "nowhere")!r}))
except CopyFailed as error:
    print(error)
"""
    with empty_place(tmp_path / "new") as place:
        assert "to see this folder under the same path" in python(program, **place)


# -- while others write -----------------------------------------------------------------------------

WRITER = """
import json, sys, time, django; django.setup()
from approvals import services
from approvals.models import Agent, User
from approvals.services import notes
from approvals.services.notes import ChangeContext
from memory_app import reads
from tests.support.acts import approve, change, edit
tim, scribe = User.objects.get(username="tim"), Agent.objects.get()
number, mark = 0, int(sys.argv[1])
def said(what, *more):
    print(json.dumps([time.time(), what, *more]), flush=True)
while True:
    old, new, label = f"mark {number}.", f"mark {number + 1}.", f"b{mark}"
    proposal = change(scribe, (old, new), label=label, force=True, reasoning=f"So it is, {mark} {number}.")
    said("proposed", proposal.pk)
    number += 1
    if number % 3:
        approve(tim, proposal)
        said("approved", proposal.pk, label, number)
    else:
        services.reject(actor=tim, proposal_id=proposal.pk, revision=1, reason="wrong")
        said("rejected", proposal.pk)
        edit(User.objects.get(username="alice"), label, old, new)
    saved = notes.save(by=ChangeContext(actor=scribe, may_apply=True), owner="alice", content=f"Note {mark} {number}.")
    said("saved", saved.note_id)
"""

MODEL = """
import json
from approvals.models import Proposal
from approvals.recovery.integrity import problems
from memory_app import reads
print(json.dumps([list(map(str, problems())),
    dict(Proposal.objects.values_list("pk", "status")), [note.id for note in reads.notes("alice")],
    {label: int(reads.block("alice", label).body.split()[1].rstrip(".")) for label in ("b0", "b1")}]))
"""


def test_what_was_acknowledged_before_a_backup_is_in_it_while_others_write(
    alice: User, tim: User, scribe: Agent, make_block: MakeBlock, tmp_path: Path
) -> None:
    for mark in range(2):
        make_block(alice, f"b{mark}", "mark 0.")
    connections.close_all()
    env = os.environ | {"DJANGO_SETTINGS_MODULE": "memory_app.settings", "ASSENT_LOG_LEVEL": "CRITICAL"}
    started: dict[str, Any] = {"cwd": ROOT, "env": env, "stdout": subprocess.PIPE, "text": True}
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(mark)], **started) for mark in range(2)]
    folder = tmp_path / "backup"
    try:
        said = [json.loads(writer.stdout.readline()) for writer in writers for _ in range(8)]
        began = time.time()
        services.backup(folder)
        said += [json.loads(writer.stdout.readline()) for writer in writers for _ in range(4)]
    finally:
        for writer in writers:
            writer.terminate()
    for writer in writers:
        said += [json.loads(line) for line in writer.stdout if line.endswith("\n")]
        writer.wait(20)
        writer.stdout.close()

    with restored(folder, tmp_path / "new") as place:
        found, statuses, ids, marks = json.loads(python(MODEL, **place))
    assert found == []
    before = [more for at, *more in said if at < began]
    assert len(before) >= 16
    for what, key, *more in before:
        if what == "saved":
            assert key in ids
        elif what == "approved":
            assert statuses[str(key)] == "approved"
            assert marks[more[0]] >= more[1]
        elif what == "rejected":
            assert statuses[str(key)] == "rejected"
        else:
            assert str(key) in statuses
