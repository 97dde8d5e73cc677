"""What the upkeep of an embedded installation relies on: SQLite's log as DoltLite keeps it, and collections of garbage.

The first test holds a fault of the engine: once a later version fixes it, it fails, and `databases.wal` may be deleted.
"""

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connections

from memory_app import conversations, reads
from memory_app.databases import wal
from memory_app.dolt import errors
from tests import environment
from tests.memory_app.dolt.test_engine_contract import branch, write
from tests.support.first import dolt, open_at
from tests.support.places import manage, python
from tests.support.sites import prepared

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not environment.is_embedded(), reason="servers keep their own house"),
]

PAGE = 4096
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def raw() -> Iterator[sqlite3.Connection]:
    """A connection to `default` as everybody opens it."""
    with closing(connect()) as connection:
        yield connection


def connect() -> sqlite3.Connection:
    connection = sqlite3.connect(settings.DATABASES["default"]["NAME"], uri=True, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=NORMAL")
    return connection


def main_size() -> int:
    return settings.DEFAULT_FILE.stat().st_size


def contents(file: Path) -> bytes:
    """By another process: closing a file ends all locks that this process has on it, those of SQLite too."""
    return subprocess.check_output(["cat", file])


def fill(connection: sqlite3.Connection, rows: int = 1500) -> None:
    connection.execute("CREATE TABLE IF NOT EXISTS filled (id INTEGER PRIMARY KEY, text TEXT)")
    for _ in range(rows):
        connection.execute("INSERT INTO filled (text) VALUES (?)", ["x" * 400])


def test_the_engine_never_empties_the_log_by_itself(raw: sqlite3.Connection) -> None:
    before = main_size()
    assert raw.execute("PRAGMA wal_autocheckpoint").fetchone() == (1000,)
    fill(raw)
    assert wal.size() > 1000 * PAGE
    assert main_size() == before


def test_a_checkpoint_moves_the_log_into_the_main_file_and_cuts_it(raw: sqlite3.Connection) -> None:
    before = main_size()
    fill(raw)
    assert wal.checkpoint()
    assert wal.size() == 0
    assert main_size() >= before + 1500 * 400
    assert raw.execute("SELECT count(*) FROM filled").fetchone() == (1500,)


def test_a_checkpoint_waits_for_nobody_who_still_reads_an_older_state(raw: sqlite3.Connection) -> None:
    fill(raw, 100)
    with closing(connect()) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM filled").fetchone()
        fill(raw, 100)
        assert not wal.checkpoint()
        assert wal.size() > 0
        fill(raw, 1)  # others go on writing
        assert reader.execute("SELECT count(*) FROM filled").fetchone() == (100,)
    assert wal.checkpoint()
    assert wal.size() == 0


def test_a_checkpoint_makes_no_database_where_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone.sqlite3"
    monkeypatch.setitem(settings.DATABASES["default"], "NAME", f"file:{gone}?doltlite_engine=sqlite")
    with pytest.raises(sqlite3.OperationalError):
        wal.checkpoint()
    assert not gone.exists()


def test_what_was_deleted_is_in_neither_file_nor_log() -> None:
    secret = "she told nobody but me"
    conversations.keep("alice", "s", [conversations.Turn("user", f"{secret} {number}") for number in range(200)])
    wal.checkpoint()
    assert contents(settings.DEFAULT_FILE).count(secret.encode()) >= 200
    conversations.delete("alice", "s")
    assert wal.checkpoint()
    assert secret.encode() not in contents(settings.DEFAULT_FILE)
    assert wal.size() == 0


def test_a_connection_to_the_memory_caches_4_mb_where_the_engine_would_cache_64(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "usual.doltlite")) as usual:
        assert usual.execute("PRAGMA cache_size").fetchone() == (-65536,)
    base = write()
    with connections["memory"].cursor() as cursor:
        assert cursor.execute("PRAGMA cache_size").fetchone() == (-4096,)
    with open_at(base), connections["memory"].cursor() as cursor:
        assert cursor.execute("PRAGMA cache_size").fetchone() == (-4096,)


def test_a_collection_drops_the_texts_of_dropped_branches_and_keeps_main_and_the_mode_of_the_file() -> None:
    base = write(body="kept on main")
    head = branch(base, body="only ever proposed")
    dolt().drop_branch("p/1")
    memory = Path(settings.DATABASES["memory"]["NAME"])
    assert b"only ever proposed" in contents(memory)
    memory.chmod(0o600)
    before = memory.stat().st_ino
    dolt().gc()
    assert b"only ever proposed" not in contents(memory)
    assert memory.stat().st_ino != before  # it is written anew
    assert stat.S_IMODE(memory.stat().st_mode) == 0o600
    assert reads.block_at("alice", "goals", base).body == "kept on main"
    with pytest.raises(errors.RevisionNotFound):
        dolt().rows("memory_app_memoryblock", head)


def test_collections_beside_a_process_that_writes_and_reads_lose_nothing() -> None:
    write()
    connections.close_all()
    other = subprocess.Popen(
        [sys.executable, "-c", OTHER],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "memory_app.settings"},
    )
    assert other.stdout.readline() == "writing\n"
    for _ in range(5):
        dolt().gc()
        assert reads.block("alice", "goals").body
    other.stdin.close()
    made = other.stdout.read().split()
    assert other.wait(60) == 0
    assert len(made) > 1
    assert {commit.hash for commit in dolt().log()} >= set(made)


#: Commits one change after another until its input ends, on one connection and on a branch; prints the hashes.
OTHER = """
import sys, threading
import django; django.setup()
from memory_app import reads
from memory_app.dolt.connections import retrying
from tests.support.first import dolt, open_at
from tests.support.places import manage, python
from tests.memory_app.dolt.test_engine_contract import write
reads.block("alice", "goals")
print("writing", flush=True)
told = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), told.set()), daemon=True).start()
number = 0
while not told.is_set() or number < 5:
    number += 1
    print(retrying(lambda: write(body=f"text {number}")), flush=True)
    retrying(lambda: dolt().create_branch(f"p/{number}", dolt().head()))
    with open_at(f"p/{number}"):
        retrying(lambda: write(body=f"proposed {number}"))
    retrying(lambda: dolt().drop_branch(f"p/{number}"))
"""


def test_a_file_that_is_gone_is_not_made_anew(tmp_path: Path) -> None:
    """An empty one would take writes, which are lost once the file is put back."""
    folder = shutil.copytree(prepared(), tmp_path / "data")
    save = (
        "from approvals import services; from approvals.models import User; "
        "by = User.objects.get_or_create(username='alice')[0]; fields = services.BlockFields('', '', 'Sails.', 100); "
        "services.create_block(actor=by, owner='alice', label='goals', fields=fields)"
    )
    python(save, ASSENT_DATA_DIR=str(folder))
    file = folder / "memory.doltlite"
    file.rename(tmp_path / "away")
    for command in (["prepare"], ["shell", "-c", save.replace("'goals'", "'more'")]):
        failed = manage(*command, ASSENT_DATA_DIR=str(folder))
        assert failed.returncode == 1
        assert f"unable to open database file {file}: put it back" in failed.stderr
        assert not file.exists()
    (tmp_path / "away").rename(file)
    python(save.replace("'goals'", "'more'"), ASSENT_DATA_DIR=str(folder))
