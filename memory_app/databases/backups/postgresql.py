"""Copying PostgreSQL with its own programs, `pg_dump` and `pg_restore`.

The server's address and the password are passed in the environment: every user of the machine sees arguments.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from memory_app.databases.backups.errors import CopyFailed

#: Django's names → libpq's variables.
_SETTINGS = {"HOST": "PGHOST", "PORT": "PGPORT", "USER": "PGUSER", "PASSWORD": "PGPASSWORD", "NAME": "PGDATABASE"}
#: Of the OPTIONS in the settings, those that say how to connect.
_OPTIONS = ("sslmode", "sslrootcert", "sslcert", "sslkey", "service", "passfile")


def dump(settings: dict[str, Any], to: Path) -> None:
    """Write a snapshot of the database to `to`, in pg_dump's own format. It blocks no writer.

    Raises:
        CopyFailed: pg_dump is not here, is older than the server, or failed.
    """
    _run("pg_dump", ["--format=custom", "--no-owner", "--no-privileges", f"--file={to}"], settings)
    to.chmod(0o600)


def load(settings: dict[str, Any], dumped: Path) -> None:
    """Load a dump into the empty database: all of it, or nothing.

    Raises:
        CopyFailed: pg_restore is not here or failed; the database is as empty as before.
    """
    arguments = ["--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges"]
    _run("pg_restore", [*arguments, f"--dbname={settings['NAME']}", str(dumped)], settings)


def _run(program: str, arguments: list[str], settings: dict[str, Any]) -> None:
    found = shutil.which(program)
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
