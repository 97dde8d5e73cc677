"""The copy of `default`, whichever of its two engines it is on."""

from __future__ import annotations

from pathlib import Path

from django.db import connection, connections

from memory_app.databases.backups import postgresql, sqlite_files


def copy_name() -> str:
    """Return the name of the copy of `default` in a backup."""
    return "assent.sqlite3" if connection.vendor == "sqlite" else "assent.pgdump"


def back_up_default(to: Path) -> None:
    """Copy `default` while others write. Raises CopyFailed."""
    if connection.vendor == "sqlite":
        sqlite_files.copy_database(str(connection.settings_dict["NAME"]), to)
    else:
        postgresql.dump(connection.settings_dict, to)


def restore_default(copied: Path) -> None:
    """Replace `default`, which is empty, by a copy. Raises CopyFailed."""
    if connection.vendor == "sqlite":
        connections["default"].close()
        sqlite_files.place(copied, str(connection.settings_dict["NAME"]))
    else:
        postgresql.load(connection.settings_dict, copied)


def contents_of_default() -> str:
    """Return what prevents a restore into `default`, in words for a person; empty when nothing does."""
    if connection.vendor == "sqlite":
        files = sqlite_files.files_of(str(connection.settings_dict["NAME"]))
        return ", ".join(map(str, files))
    with connection.cursor() as cursor:
        tables = connection.introspection.table_names(cursor)
    name = connection.settings_dict["NAME"]
    return f"{len(tables)} tables in the PostgreSQL database {name}" if tables else ""
