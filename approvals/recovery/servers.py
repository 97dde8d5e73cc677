"""Move an embedded site to servers: its history commit by commit, and every row of `default`.

Two processes take part: this one, whose settings name the servers, and a child with those of the embedded site, which
tells what is in its memory (`memory_app.dolt.replay`). The files stay as they are. What a move that died had written is
written anew by the next one: a branch of the first memory says that it was ours, and `default` is written last, in one
transaction with the new hashes.
"""

import io
import re
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from django.core.management.color import no_style
from django.db import connection, router, transaction

from approvals.models import Proposal, User
from approvals.recovery.backup import Restored, environment_with
from approvals.recovery.integrity import problems
from approvals.recovery.recover import RecoveryReport, recover
from memory_app.configuration.environment import as_text_key
from memory_app.databases.backups import BackupError
from memory_app.dolt import moving, placement, replay
from memory_app.dolt.connections import dolt_of, standing_on
from memory_app.dolt.placement import databases
from memory_app.dolt.replay import Replay
from memory_app.dolt.types import FIRST, MAIN, MOVING
from memory_app.management.commands import prepare
from memory_app.models import Change, MemoryBlock, MemoryDatabase, MemoryNote
from memory_app.runtime import upkeep

_QUOTED_HASH = re.compile(r'"([0-9a-f]{40})"')
#: Fields that are a commit (that of a squash is its comment), and those of JSON that name some. What else reads like
#: one was written by somebody.
_COMMITS = "commit checked_commit base_commit head_commit main_before merge_commit reverted_by_commit comment".split()
_NAME_COMMITS = "data response body".split()


def tell() -> Iterator[dict[str, Any]]:
    """Yield what is in the memory of this embedded site: for the child process.

    Raises:
        BackupError: its databases are of an older version.
    """
    if any(map(prepare.is_behind, prepare.ALIASES)):
        raise BackupError("The embedded site is of an older version: run `manage.py prepare` there first.")
    for database in databases():
        yield {"database": database}
        yield from replay.tell(database)


@upkeep.paused()
def move(folder: Path, progress: Callable[[str], None]) -> Restored:
    """Write everything in the folder of an embedded site into the servers of the settings, which must be empty.

    The site may not write meanwhile: its `default` is locked.

    Raises:
        BackupError: the folder has no site, or its texts another key; the servers have something else, or what was
            written there differs.
    """
    if settings.EMBEDDED_MEMORY or connection.vendor != "postgresql":
        raise BackupError("Set DATABASE_URL and MEMORY_DATABASE_URL to the servers that the site is to move to.")
    file = folder / "assent.sqlite3"
    if not file.is_file() or not (folder / "memory.doltlite").is_file():
        raise BackupError(f"{folder} is not the ASSENT_DATA_DIR of an embedded site: it has no assent.sqlite3.")
    key = folder / "text_key"
    if key.exists() and as_text_key(key.read_text()) != settings.TEXT_KEY:
        raise BackupError(f"Set ASSENT_TEXT_KEY to what {key} has: the texts of the memory are sealed with it.")
    call_command("prepare", stdout=io.StringIO())
    if not _is_copied():
        with _locked(file) as source:
            hashes = _replay(folder, source, progress)
            progress("Copying people, proposals and decisions")
            _copy(source, hashes)
    placement.forget()
    progress("Checking")
    report = recover(everything=True)
    found = [str(problem) for problem in problems()]
    for database in reversed(databases()):  # the first one's last: it says that the servers' content is a move's
        dolt_of(database).drop_branch(MOVING)
    return "" if report == RecoveryReport() else str(report), found


def _is_copied() -> bool:
    """Whether an earlier move came so far. Raises BackupError where there is something that no move has written."""
    has_people = User.objects.exists() or Proposal.objects.exists() or Change.objects.exists()
    with standing_on(FIRST) as verbs:
        is_ours, is_written = verbs.exists(MOVING), MemoryBlock.objects.exists() or MemoryNote.objects.exists()
    if not is_ours and (has_people or is_written or verbs.branches().keys() - {MAIN}):
        raise BackupError(
            "There is something already in the databases that DATABASE_URL and MEMORY_DATABASE_URL name. A site is "
            "moved into an empty place: make new databases, and try again."
        )
    return is_ours and has_people


@contextmanager
def _locked(file: Path) -> Iterator[sqlite3.Connection]:
    """Yield the former `default`, which nobody writes in this block: so no change of the memory is acknowledged."""
    with closing(sqlite3.connect(f"file:{file}?doltlite_engine=sqlite", uri=True, isolation_level=None)) as source:
        try:
            source.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            raise BackupError(f"{file} cannot be locked ({error}): stop the site.") from error
        yield source


def _replay(folder: Path, source: sqlite3.Connection, progress: Callable[[str], None]) -> dict[str, str]:
    """Write the memory's databases anew. Return what each commit is called now, by what it was called."""
    further = [
        name for (name,) in source.execute("SELECT name FROM memory_app_memorydatabase WHERE name <> ?", [FIRST])
    ]
    for name in further:
        moving.create_database(name, "")
        MemoryDatabase.objects.get_or_create(name=name)
        placement.look_again()
        prepare.migrate_memory(name)
    hashes: dict[str, str] = {}
    told_of = set()
    with _told(folder) as told:
        for each in told:
            database = each["database"]
            replayed = Replay(database)
            replayed.write(told, lambda done: progress(f"{database}: {done:,} commits are written"))  # noqa: B023
            hashes |= replayed.hashes
            told_of.add(database)
        if told_of != {FIRST, *further}:
            raise ValueError("it told nothing")
    return hashes


@contextmanager
def _told(folder: Path) -> Iterator[Iterator[dict[str, Any]]]:
    """Yield what a process with the settings of the embedded site tells. Raises BackupError where it fails."""
    embedded = {"ASSENT_DATA_DIR": str(folder), "MEMORY_DATABASE_URL": "", "DATABASE_URL": "", "REDIS_URL": ""}
    command = [sys.executable, str(settings.BASE_DIR / "manage.py"), "move", str(folder), "--tell"]
    environment = environment_with(embedded | {"ASSENT_MEMORY_SERVERS": ""})
    with tempfile.TemporaryFile("w+") as said:
        child = subprocess.Popen(
            command, env=environment, cwd=settings.BASE_DIR, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=said, text=True,
        )  # fmt: skip
        with child:
            try:
                yield map(replay.from_line, child.stdout or ())
            except ValueError as error:
                said.seek(0)
                why = said.read().rpartition("Error: ")[2].strip() or str(error)
                raise BackupError(f"The embedded memory could not be moved: {why}") from error
            finally:
                child.kill()


def _copy(source: sqlite3.Connection, hashes: Mapping[str, str]) -> None:
    """Copy every row of `default`, with the new hashes; all of it, or nothing."""
    models = [
        model
        for model in apps.get_models(include_auto_created=True)
        if model._meta.managed and not model._meta.proxy and router.allow_migrate_model("default", model)
    ]
    quote = connection.ops.quote_name
    tables = {model: quote(model._meta.db_table) for model in models}
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"TRUNCATE {', '.join(tables.values())}")
        for model, table in tables.items():
            columns = [field.column for field in model._meta.concrete_fields if field.column and not field.generated]
            names = ", ".join(map(quote, columns))
            # The counts that triggers keep are copied too.
            cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
            with cursor.copy(f"COPY {table} ({names}) FROM STDIN") as copy:
                for row in source.execute(f"SELECT {names} FROM {table}"):  # noqa: S608 (names of models)
                    copy.write_row([_moved(name, value, hashes) for name, value in zip(columns, row, strict=True)])
        connection.check_constraints()  # which wait for the end of a transaction, and keep tables from being altered
        for table in tables.values():
            cursor.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")
        for statement in connection.ops.sequence_reset_sql(no_style(), models):
            cursor.execute(statement)


def _moved(column: str, value: Any, hashes: Mapping[str, str]) -> Any:
    """Return a value with the hashes of today."""
    if column in _NAME_COMMITS and isinstance(value, str):
        return _QUOTED_HASH.sub(lambda found: f'"{hashes.get(found[1], found[1])}"', value)
    return hashes.get(value, value) if column in _COMMITS else value
