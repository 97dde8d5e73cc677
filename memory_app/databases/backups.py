"""What a backup is made of: copies of the two databases and a manifest that says what they hold.

Belongs here: copying one database and putting it back (`default` in `databases`; the memory's engines do
their own, see `dolt.operations`), ids that must not be used twice (`sequences`) and the manifest. Which
database comes first, and what is checked afterwards, is decided in `approvals.recovery`.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from django.apps import apps
from django.db import connection, connections, models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder


class BackupError(Exception):
    """What can go wrong with a backup; the message says what to do, for the person at the command line."""


class CopyFailed(BackupError):
    """A database could not be copied, or could not be replaced by a copy."""


# -- The manifest of a backup: what is in it, in which state, and a checksum of each file.

NAME = "manifest.json"

#: Goes up when a backup can no longer be read by the version before. The second has further memories; a backup of one
#: is still the first.
FORMAT = 2


@dataclass(frozen=True)
class Database:
    """One of the two databases in a backup.

    Args:
        engine: Django's vendor name of `default`, the engine's name of the memory.
        copy: name of the file or folder in the backup.
        migrations: `app.name` of every migration that had been applied.
    """

    engine: str
    version: str
    copy: str
    migrations: tuple[str, ...]


@dataclass(frozen=True)
class Further:
    """A database of the memory beside the first: its copy, and the commit of main just before it was copied."""

    server: str
    copy: str
    head: str


@dataclass(frozen=True)
class Manifest:
    """What a backup holds.

    Args:
        began_at, made_at: UTC, ISO 8601. What was acknowledged before `began_at` is in the backup.
        head: commit of main just before the memory was copied; the copy holds it and perhaps more.
        last_ids: table → the highest id it had assigned when the backup ended.
        counts: what there was of each kind, for people.
        files: path in the backup → {"sha256": …, "bytes": …}.
        further: the memory's databases beside the first, by name.
    """

    began_at: str
    made_at: str
    default: Database
    memory: Database
    head: str
    commits: int
    branches: int
    last_ids: dict[str, int]
    counts: dict[str, int]
    files: dict[str, dict[str, Any]]
    further: dict[str, Further] = field(default_factory=dict)
    format: int = FORMAT

    def write(self, folder: Path) -> None:
        """Write the manifest into the folder, readable by its user alone."""
        with os.fdopen(os.open(folder / NAME, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
            json.dump(asdict(self), file, indent=1, ensure_ascii=False)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """Return the manifest of a backup.

        Raises:
            BackupError: there is none, so the backup was not finished or this is something else; it cannot be read; or
                a newer version of Assent wrote it.
        """
        path = folder / NAME
        if not path.is_file():
            raise BackupError(f"{folder} is not a backup: it has no {NAME}. One that was interrupted has none either.")
        try:
            values = json.loads(path.read_text())
            if int(values["format"]) > FORMAT:
                raise BackupError(
                    f"This backup has format {values['format']}, and this version of Assent reads up to {FORMAT}: "
                    "restore it with the version that made it, or a newer one."
                )
            default, memory = (_database(values.pop(alias)) for alias in ("default", "memory"))
            further = {name: Further(**each) for name, each in values.pop("further", {}).items()}
            return cls(**values, default=default, memory=memory, further=further)
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise BackupError(f"{path} cannot be read ({type(error).__name__}): the backup is damaged.") from error

    def require_intact(self, folder: Path) -> None:
        """Raise BackupError unless every file exists and is as it was when the backup was made."""
        present = {str(path.relative_to(folder)) for path in files_in(folder)}
        missing, unknown = sorted(self.files.keys() - present), sorted(present - self.files.keys())
        if missing or unknown:
            what = [f"{name} is missing" for name in missing] + [f"{name} does not belong to it" for name in unknown]
            raise BackupError(f"The backup in {folder} is damaged: {', '.join(what[:5])}.")
        for name, recorded in sorted(self.files.items()):
            if fingerprint(folder / name) != recorded:
                raise BackupError(
                    f"The backup in {folder} is damaged: {name} is not what it was when the backup was made."
                )

    def require_known_migrations(self) -> None:
        """Raise BackupError when a migration was applied that this version of Assent does not have."""
        loader = MigrationLoader(None)
        known = {f"{app}.{name}" for app, name in loader.disk_migrations}
        known |= {f"{app}.{name}" for each in loader.disk_migrations.values() for app, name in each.replaces}
        newer = sorted({*self.default.migrations, *self.memory.migrations} - known)
        if newer:
            raise BackupError(
                f"This backup was made by a newer Assent: this version does not know its migration {newer[0]}"
                f"{f' and {len(newer) - 1} more' if newer[1:] else ''}. Restore it with the version that made it."
            )


def files_in(folder: Path) -> Iterable[Path]:
    """Return the files of a backup, except the manifest."""
    return (path for path in folder.rglob("*") if path.is_file() and path != folder / NAME)


def fingerprint(path: Path) -> dict[str, Any]:
    """Return the SHA-256 and the length of a file."""
    with path.open("rb") as file:
        return {"sha256": hashlib.file_digest(file, "sha256").hexdigest(), "bytes": path.stat().st_size}


def applied_migrations(alias: str) -> tuple[str, ...]:
    applied = MigrationRecorder(connections[alias]).applied_migrations()
    return tuple(sorted(f"{app}.{name}" for app, name in applied))


def _database(values: dict[str, Any]) -> Database:
    return Database(**values | {"migrations": tuple(values["migrations"])})


# -- Copying SQLite's and DoltLite's files while others write, and replacing them by a copy.

#: What an embedded database leaves beside its file, and what must not exist when a copy replaces it.
BESIDE = ("-wal", "-shm", "-journal", ".gc-size")


#: sqlite3 retries for ever while a writer holds the lock it needs.
MOST_SECONDS = 300


def path_of(name: str) -> Path:
    """Return the file that a NAME in the settings (a path or a `file:` URI) names."""
    return Path(name.removeprefix("file:").partition("?")[0])


def copy_database(name: str, to: Path) -> None:
    """Copy the database of this NAME to the file `to`, which must not exist; readable by its user alone.

    Copied in one step: with a WAL that is a snapshot, and DoltLite ignores a number of pages. With 54 MB it took 0.5 to
    0.7 s, and the slowest of 60 writes a second 0.13 s (0.10 s without a backup).

    Raises:
        CopyFailed: the disk is full, or the database cannot be read.
    """
    query = name.partition("?")[2]
    parameters = f"?{query}" if query else ""
    try:
        os.close(os.open(to, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        with (
            closing(sqlite3.connect(f"file:{path_of(name)}{parameters}", uri=True, timeout=20)) as source,
            closing(sqlite3.connect(f"file:{to}{parameters}", uri=True)) as target,
        ):
            source.backup(target, progress=_ends_at(time.monotonic() + MOST_SECONDS))
        to.with_name(f".{to.name}-lock").unlink(missing_ok=True)  # DoltLite's, beside whatever it opens
        with to.open("rb+") as copied:
            os.fsync(copied.fileno())
    except (sqlite3.Error, OSError) as error:
        raise CopyFailed(f"{path_of(name).name} could not be copied: {error}") from error


def _ends_at(end: float) -> Callable[[int, int, int], None]:
    def look(_status: int, _remaining: int, _total: int) -> None:
        if time.monotonic() > end:
            raise TimeoutError(f"others kept writing for {MOST_SECONDS} s")

    return look


def files_of(name: str) -> list[Path]:
    """Return the existing files of the database of this NAME, except empty ones."""
    files = [Path(f"{path_of(name)}{ending}") for ending in ("", *BESIDE)]
    return [file for file in files if file.exists() and file.stat().st_size]


def place(copied: Path, name: str) -> None:
    """Put a copy where the database of this NAME is expected.

    Raises:
        CopyFailed: the disk is full, or the copy cannot be read.
    """
    path = path_of(name)
    try:
        with (
            copied.open("rb") as source,
            os.fdopen(os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "wb") as to,
        ):
            shutil.copyfileobj(source, to, 1024 * 1024)
    except OSError as error:
        raise CopyFailed(f"{copied.name} could not be copied to {path}: {error}") from error


# -- The last ids that each table of `default` has assigned.


def last_ids() -> dict[str, int]:
    """Return the highest id each table has ever assigned, by table, also when that row is gone."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("SELECT name, seq FROM sqlite_sequence")
            return {str(table): int(last) for table, last in cursor.fetchall()}
        found = {}
        for table in _tables():
            name = connection.ops.quote_name(table)
            cursor.execute("SELECT pg_sequence_last_value(pg_get_serial_sequence(%s, 'id')::regclass)", [name])
            found[table] = int(cursor.fetchone()[0] or 0)
        return found


def go_on_above(ids: Mapping[str, int]) -> None:
    """Never assign an id up to these again. Tables whose sequence is higher stay as they are."""
    present = last_ids()
    there = set(_tables())  # others are of an older version; gone since
    behind = {table: last for table, last in ids.items() if table in there and last > present.get(table, 0)}
    with connection.cursor() as cursor:
        for table, last in behind.items():
            if connection.vendor != "sqlite":
                name = connection.ops.quote_name(table)
                cursor.execute("SELECT setval(pg_get_serial_sequence(%s, 'id'), %s)", [name, last])
            elif table in present:
                cursor.execute("UPDATE sqlite_sequence SET seq = %s WHERE name = %s", [last, table])
            else:
                cursor.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (%s, %s)", [table, last])


def _tables() -> list[str]:
    """Return the tables of `default` whose ids are assigned from a sequence."""
    return sorted(
        model._meta.db_table
        for model in apps.get_models(include_auto_created=True)
        if isinstance(model._meta.pk, models.AutoField | models.BigAutoField) and model._meta.managed
    )


# -- Copying PostgreSQL with its own programs, `pg_dump` and `pg_restore`.

#: Django's names → libpq's variables.
_SETTINGS = {"HOST": "PGHOST", "PORT": "PGPORT", "USER": "PGUSER", "PASSWORD": "PGPASSWORD", "NAME": "PGDATABASE"}
#: Of the OPTIONS in the settings, those that say how to connect.
_OPTIONS = ("sslmode", "sslrootcert", "sslcert", "sslkey", "service", "passfile")


def _run(program: str, *arguments: str) -> None:
    settings, found = connection.settings_dict, shutil.which(program)
    if found is None:
        raise CopyFailed(
            f"{program} is not on PATH. Install PostgreSQL's client programs, at least of the server's version "
            "(Debian: postgresql-client)."
        )
    environment = os.environ | {variable: str(settings[name]) for name, variable in _SETTINGS.items() if settings[name]}
    options = settings.get("OPTIONS", {})
    environment |= {f"PG{name.upper()}": str(options[name]) for name in _OPTIONS if name in options}
    done = subprocess.run(
        [found, *arguments], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise CopyFailed(f"{program} failed: {done.stderr.strip()}")


# -- The copy of `default`, whichever of its two engines it is on.


def copy_name() -> str:
    """Return the name of the copy of `default` in a backup."""
    return "assent.sqlite3" if connection.vendor == "sqlite" else "assent.pgdump"


def back_up_default(to: Path) -> None:
    """Copy `default` while others write; from PostgreSQL a snapshot in pg_dump's own format. Raises CopyFailed."""
    if connection.vendor == "sqlite":
        copy_database(str(connection.settings_dict["NAME"]), to)
        return
    _run("pg_dump", "--format=custom", "--no-owner", "--no-privileges", f"--file={to}")
    to.chmod(0o600)


def restore_default(copied: Path) -> None:
    """Replace `default`, which is empty, by a copy; in PostgreSQL by all of it, or nothing. Raises CopyFailed."""
    name = str(connection.settings_dict["NAME"])
    if connection.vendor == "sqlite":
        connections["default"].close()
        place(copied, name)
        return
    options = ("--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges")
    _run("pg_restore", *options, f"--dbname={name}", str(copied))


def contents_of(database: BaseDatabaseWrapper) -> str:
    """Return what prevents a restore into a database, in words for a person; empty when nothing does."""
    name = str(database.settings_dict["NAME"])
    if database.vendor == "sqlite":
        return ", ".join(map(str, files_of(name)))
    with database.cursor() as cursor:
        tables = database.introspection.table_names(cursor)
    return f"{len(tables)} tables in the {database.display_name} database {name}" if tables else ""
