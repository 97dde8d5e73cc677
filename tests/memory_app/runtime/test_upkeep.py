"""The thread that looks after embedded databases: in every process that opens one, and in no other."""

import fcntl
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connections

from approvals.models import User
from approvals.recovery import history
from memory_app import reads
from memory_app.databases import wal
from memory_app.dolt import maintenance
from memory_app.dolt.types import FIRST
from memory_app.runtime import upkeep
from tests import environment
from tests.conftest import eventually, in_a_thread
from tests.memory_app.dolt.test_engine_contract import branch, write
from tests.services import HOST, Services, free_ports
from tests.support.acts import edit
from tests.support.first import dolt, open_at
from tests.support.fixtures import MakeBlock
from tests.support.places import ROOT, manage, python
from tests.support.sites import answers
from tests.support.workers import celery_worker

pytestmark = pytest.mark.slow

embedded = pytest.mark.skipif(not environment.is_embedded(), reason="servers keep their own house")
server = pytest.mark.skipif(environment.is_embedded(), reason="needs Redis and a memory on a server")

MB = 1024 * 1024


@pytest.fixture
def looked_after() -> Iterator[None]:
    upkeep.start()
    yield
    upkeep.stop()


def memory_file() -> Path:
    return Path(settings.DATABASES["memory"]["NAME"])


def a_while_ago(file: Path) -> None:
    """As if nobody had written to it for a minute."""
    os.utime(file, (time.time() - 60, time.time() - 60))


def make_garbage(megabytes: int) -> None:
    """Propose much and drop it again: the file grows by that, and none of it is ever read."""
    write()
    goal = memory_file().stat().st_size + megabytes * MB
    number = 0
    while memory_file().stat().st_size < goal:
        number += 1
        dolt().create_branch(f"p/{number}", dolt().head())
        with open_at(f"p/{number}"):
            for _ in range(4):
                write(body=os.urandom(250_000).hex())
        dolt().drop_branch(f"p/{number}")


# -- the log of `default` --------------------------------------------------------------------------

LOAD = """
import os, time
from django.conf import settings
from django.contrib.sessions.backends.db import SessionStore
from memory_app.databases import wal
largest = 0
for number in range(3000):
    kept = SessionStore()
    kept["text"] = os.urandom(2000).hex()
    kept.save()
    time.sleep(0.001)  # a loop of writes alone outruns a busy disk
    if number % 20 == 0:
        largest = max(largest, wal.size())
print(largest, settings.DEFAULT_FILE.stat().st_size, flush=True)
os._exit(0)  # as a kill: nothing is tidied up
"""


def shell(folder: Path, script: str) -> str:
    done = manage("shell", "-v", "0", "-c", script, ASSENT_DATA_DIR=str(folder))
    assert done.returncode == 0, done.stderr
    return done.stdout


def log_in(folder: Path) -> int:
    file = folder / "assent.sqlite3-wal"
    return file.stat().st_size if file.exists() else 0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Migrated databases that no other process has open."""
    connections.close_all()
    return Path(shutil.copytree(settings.DATA_DIR, tmp_path / "data", ignore=shutil.ignore_patterns("template")))


@embedded
def test_the_log_stays_small_and_the_main_file_follows_while_a_command_writes(folder: Path) -> None:
    largest, main = map(int, shell(folder, LOAD).split())
    assert largest < 16 * MB  # 60 MB without
    assert main > 8 * MB  # of the 12 MB written


@embedded
def test_a_command_that_ends_leaves_an_empty_log_although_others_have_the_file_open(folder: Path) -> None:
    script = "from django.contrib.sessions.backends.db import SessionStore as S; k = S(); k['a'] = 1; k.save()"
    holder = subprocess.Popen(
        [sys.executable, "-c", f"import django; django.setup(); {script}; print(1, flush=True); input()"],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env=os.environ | {"ASSENT_DATA_DIR": str(folder), "DJANGO_SETTINGS_MODULE": "memory_app.settings"},
    )  # fmt: skip
    holder.stdout.readline()
    try:
        shell(folder, script)
        assert (folder / "assent.sqlite3-wal").exists()  # the other has it open
        assert log_in(folder) == 0
    finally:
        holder.communicate("")


@embedded
def test_the_web_server_empties_the_log_that_a_kill_left(folder: Path, tmp_path: Path) -> None:
    shell(folder, LOAD.replace("range(3000)", "range(50)"))
    assert log_in(folder) > 0
    (port,) = free_ports(1)
    env = os.environ | {"ASSENT_DATA_DIR": str(folder), "ASSENT_BIND": f"{HOST}:{port}"}
    started = Services(tmp_path)
    try:
        command = [sys.executable, "-m", "memory_app.webserver"]
        started.start("web", command, ready=lambda: answers(f"http://{HOST}:{port}/readyz"), env=env, cwd=ROOT)
        eventually(lambda: log_in(folder) == 0)
    finally:
        started.stop()


@embedded
def test_the_tasks_are_loaded_before_a_thread_begins(tmp_path: Path) -> None:
    """Two threads that import the tasks at once lost half of them, and nothing said so."""
    said = python(
        """
import threading
from django.db import connection
from memory_app.celery import app
assert "agent_tools.purge" not in app.tasks
start = threading.Thread.start
def report_and_start(thread):
    print(thread.name, "agent_tools.purge" in app.tasks)
    start(thread)
threading.Thread.start = report_and_start
connection.ensure_connection()
""",
        ASSENT_DATA_DIR=str(tmp_path),
    )
    assert "upkeep True" in said


@server
def test_celerys_children_empty_the_log_of_an_embedded_default_beside_a_memory_on_a_server(tmp_path: Path) -> None:
    from memory_app.celery import app

    # Not measured: writing its coverage takes long enough for the process to empty the log before it ends.
    env = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")} | {
        "ASSENT_DATA_DIR": str(tmp_path),
        "DATABASE_URL": "",
        "DJANGO_SETTINGS_MODULE": "memory_app.settings",
    }
    run = [sys.executable, "manage.py"]
    subprocess.run([*run, "migrate", "-v", "0", "--skip-checks"], cwd=ROOT, env=env, check=True)
    # Written over two seconds: the thread of upkeep begins with emptying the log, a moment after the first of them.
    load = LOAD.replace("range(3000)", "range(50)").replace("time.sleep(0.001)", "time.sleep(0.05)")
    subprocess.run([*run, "shell", "-v", "0", "-c", load], cwd=ROOT, env=env, check=True)
    assert log_in(tmp_path) > 0
    with celery_worker("upkeep", pool="prefork", environment=env) as worker:
        app.send_task("agent_tools.purge", queue="upkeep")
        eventually(lambda: log_in(tmp_path) == 0, seconds=90)
        assert worker.poll() is None
        # Its checks at the start, which close the file first, come before it can be asked or ended.
        name = f"upkeep@{socket.gethostname()}"
        eventually(lambda: app.control.ping([name], timeout=0.5), seconds=90)
        assert "Umask:\t0077" in Path(f"/proc/{worker.pid}/status").read_text()
    assert worker.returncode == 0


@embedded
def test_a_reader_in_the_way_delays_the_upkeep_and_does_not_end_it(
    looked_after: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "SETTLED", 0)
    from tests.memory_app.dolt.test_embedded_engine import connect, fill

    with closing(connect()) as writer, closing(connect()) as reader:
        fill(writer, 10)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM filled").fetchone()
        fill(writer, 10)
        time.sleep(2 * upkeep.TICK)
        assert wal.size() > 0
        reader.execute("COMMIT")
        eventually(lambda: wal.size() == 0)


# -- the garbage of `memory` -----------------------------------------------------------------------


@embedded
def test_garbage_is_collected_by_itself_in_a_quiet_moment(looked_after: None, monkeypatch: pytest.MonkeyPatch) -> None:
    make_garbage(10)
    before = memory_file().stat().st_size
    a_while_ago(memory_file())
    upkeep.stop()
    monkeypatch.setattr(upkeep, "GARBAGE_TICK", 0)
    upkeep.start()
    eventually(lambda: memory_file().stat().st_size < before - 9 * MB)
    assert reads.block("alice", "goals").body == "one"


@embedded
def test_nothing_is_collected_while_others_write_before_there_is_much() -> None:
    make_garbage(10)
    assert not maintenance.collect_garbage("memory").done  # somebody wrote this moment
    a_while_ago(memory_file())
    collected = maintenance.collect_garbage("memory")
    assert collected.done
    assert collected.after < collected.before - 9 * MB
    a_while_ago(memory_file())
    assert not maintenance.collect_garbage("memory").done  # nothing has grown since


@embedded
def test_much_garbage_is_collected_although_others_write() -> None:
    make_garbage(35)
    assert maintenance.collect_garbage("memory").done


@embedded
def test_two_never_collect_at_once() -> None:
    make_garbage(10)
    a_while_ago(memory_file())
    lock = memory_file().with_name("memory.doltlite.gc-lock")
    done: list[maintenance.Collection] = []
    with lock.open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        assert not maintenance.collect_garbage("memory").done
        waiting = in_a_thread(lambda: done.append(maintenance.collect_garbage("memory", force=True)))
        waiting.join(0.5)
        assert not done
    waiting.join(30)
    assert done[0].done


@embedded
def test_a_record_that_was_written_in_part_does_not_end_collecting() -> None:
    write()
    memory_file().with_name("memory.doltlite.gc-size").write_text("")
    assert not maintenance.collect_garbage("memory").done
    assert maintenance.collect_garbage("memory", force=True).done


def test_the_command_collects_and_says_what_came_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    base = write()
    head = branch(base, body="rejected")
    dolt().drop_branch("p/1")
    call_command("gc")
    call_command("gc", force=True)
    said = capsys.readouterr().out
    for words in ["too little to collect", "before"] if environment.is_embedded() else ["Collected. Dolt's server"]:
        assert words in said
    connections.close_all()
    assert not dolt().exists(head)
    assert reads.block_at("alice", "goals", base).body == "one"
    write(body="two")


@pytest.fixture
def modest(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Assent's own user has its database and nothing else, as in docker-compose.yml."""
    memory = connections["memory"]
    name = memory.settings_dict["NAME"]
    with memory.cursor() as cursor:
        cursor.execute("CREATE USER IF NOT EXISTS modest@'%%' IDENTIFIED BY 'modest'", [])
        cursor.execute(f"GRANT ALL ON `{name}`.* TO modest@'%%'", [])
    memory.close()
    monkeypatch.setitem(memory.settings_dict, "USER", "modest")
    monkeypatch.setitem(memory.settings_dict, "PASSWORD", "modest")
    yield
    memory.close()


@server
@pytest.mark.usefixtures("modest")
def test_a_server_that_denies_it_is_no_error_for_who_collects_on_the_way() -> None:
    assert not maintenance.collect_garbage("memory", force=True).done
    with pytest.raises(CommandError, match="GRANT EXECUTE ON PROCEDURE"):
        call_command("gc")


@server
@pytest.mark.usefixtures("modest")
def test_who_has_its_database_alone_can_end_its_history(alice: User, make_block: MakeBlock) -> None:
    make_block(alice, "goals", "To sail.")
    edit(alice, "goals", "sail", "row")
    history.squash(FIRST, for_good=True)
    assert len(dolt().log()) == 2
    assert reads.block("alice", "goals").body == "To row."
