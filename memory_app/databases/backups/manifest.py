"""The manifest of a backup: what is in it, in which state, and a checksum of each file.

It is written last: a folder without one is no backup.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from django.db import connections
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from memory_app.databases.backups.errors import Damaged, NotABackup, TooNew

NAME = "manifest.json"

#: Goes up when a backup can no longer be read by the version before.
FORMAT = 1


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
class Manifest:
    """What a backup holds.

    Args:
        began_at, made_at: UTC, ISO 8601. What was acknowledged before `began_at` is in the backup.
        head: commit of main just before the memory was copied; the copy holds it and perhaps more.
        last_ids: table → the highest id it had assigned when the backup ended.
        counts: what there was of each kind, for people.
        files: path in the backup → {"sha256": …, "bytes": …}.
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
            NotABackup: there is none, so the backup was not finished or this is something else.
            Damaged: it cannot be read.
            TooNew: a newer version of Assent wrote it.
        """
        path = folder / NAME
        if not path.is_file():
            raise NotABackup(f"{folder} is not a backup: it has no {NAME}. One that was interrupted has none either.")
        try:
            values = json.loads(path.read_text())
            if int(values["format"]) > FORMAT:
                raise TooNew(
                    f"This backup has format {values['format']}, and this version of Assent reads up to {FORMAT}: "
                    "restore it with the version that made it, or a newer one."
                )
            default, memory = (_database(values.pop(alias)) for alias in ("default", "memory"))
            return cls(**values, default=default, memory=memory)
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise Damaged(f"{path} cannot be read ({type(error).__name__}): the backup is damaged.") from error

    def require_intact(self, folder: Path) -> None:
        """Raise Damaged unless every file exists and is as it was when the backup was made."""
        present = {str(path.relative_to(folder)) for path in files_in(folder)}
        missing, unknown = sorted(self.files.keys() - present), sorted(present - self.files.keys())
        if missing or unknown:
            what = [f"{name} is missing" for name in missing] + [f"{name} does not belong to it" for name in unknown]
            raise Damaged(f"The backup in {folder} is damaged: {', '.join(what[:5])}.")
        for name, recorded in sorted(self.files.items()):
            if fingerprint(folder / name) != recorded:
                raise Damaged(f"The backup in {folder} is damaged: {name} is not what it was when the backup was made.")

    def require_known_migrations(self) -> None:
        """Raise TooNew when a migration was applied that this version of Assent does not have."""
        loader = MigrationLoader(None)
        known = {f"{app}.{name}" for app, name in loader.disk_migrations}
        known |= {f"{app}.{name}" for each in loader.disk_migrations.values() for app, name in each.replaces}
        newer = sorted({*self.default.migrations, *self.memory.migrations} - known)
        if newer:
            raise TooNew(
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
