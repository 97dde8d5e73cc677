"""Fresh real databases for every test, on both engines.

Django's TestCase cannot be used: its transaction cannot hold Dolt's verbs. Instead every test begins
from the migrated state: DoltLite and SQLite by copying the two files (2 ms), Dolt by dropping branches
and resetting main to a baseline commit (10 ms), PostgreSQL by deleting the rows there are (4 ms).
"""

import shutil
import time
from pathlib import Path
from urllib.parse import urlparse

import redis
from django.apps import apps
from django.core.cache import cache
from django.core.management import call_command
from django.db import OperationalError, connection, connections, transaction

from memory_app import sealing
from memory_app.celery import app
from memory_app.databases.routers import is_versioned
from memory_app.dolt import placement
from memory_app.dolt.types import FIRST, MAIN
from memory_app.models import MemoryDatabase
from memory_app.reads.catalogue import catalogues
from memory_app.search.cache import indices
from tests.environment import once_a_run
from tests.support.first import dolt

#: How often emptying the tables is tried, a tenth of a second apart.
ATTEMPTS = 50
#: Seconds a test waits for what the one before left to the worker.
WORKER_SECONDS = 10


class EmbeddedDatabases:
    """Two files in the data directory, copied from migrated ones before each test."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.template = data / "template"

    def create(self) -> None:
        with once_a_run("migrated") as migrated:
            if not migrated.exists():  # the first process of this run
                _migrate()
                connections.close_all()
                _copy_files(self.data, migrated)
        _copy_files(migrated, self.template)

    def reset(self) -> None:
        connections.close_all()
        # New files, not new contents: a connection somebody left open keeps its own old file.
        for file in self.data.iterdir():
            if file.is_file():
                file.unlink()
        for file in self.template.iterdir():
            # Whole from its first moment: a process of the test before that is still ending may open it meanwhile.
            fresh = self.template.with_name(f"{file.name}.new")
            shutil.copy2(file, fresh)
            fresh.replace(self.data / file.name)

    def destroy(self) -> None:
        connections.close_all()


class ServerDatabases:
    """One database per worker on each server, put back to its migrated state before each test."""

    baseline = ""
    tables: list[str]
    sequences: list[str]

    def __init__(self, data: Path) -> None:
        self.data = data

    def create(self) -> None:
        self._on_both("DROP DATABASE IF EXISTS", "CREATE DATABASE")
        _migrate()
        self.baseline = dolt().head(MAIN)
        self.tables = [
            model._meta.db_table
            for model in apps.get_models(include_auto_created=True)
            if not is_versioned(model) and model._meta.model_name not in {"contenttype", "permission"}
        ]
        with connection.cursor() as cursor:
            found = (connection.introspection.get_sequences(cursor, table) for table in self.tables)
            self.sequences = [sequence["name"] for each in found for sequence in each]

    def reset(self) -> None:
        connections.close_all()
        app.control.purge()  # what the test before asked of the worker is of no use to this one
        wait_for_the_worker()
        verbs = dolt()
        for name in verbs.branches():
            if name != MAIN:
                verbs.drop_branch(name)
        reset_hard(self.baseline)
        for attempt in range(ATTEMPTS):
            try:
                self._empty_tables()
                return
            except OperationalError as error:
                # A worker still at what the test before left behind locks tables in another order.
                if "deadlock" not in str(error) or attempt == ATTEMPTS - 1:
                    raise
                time.sleep(0.1)

    def _empty_tables(self) -> None:
        """Delete the rows of `default`: TRUNCATE makes 200 new files, which takes a tenth of a second."""
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL session_replication_role = replica")  # rows are deleted in any order
            cursor.execute(f"LOCK TABLE {', '.join(self.tables)} IN EXCLUSIVE MODE")  # nobody is still writing any
            found = (f"SELECT '{table}' WHERE EXISTS (SELECT 1 FROM {table})" for table in self.tables)
            cursor.execute(" UNION ALL ".join(found))
            for (table,) in cursor.fetchall():
                cursor.execute(f"DELETE FROM {table}")
            MemoryDatabase.objects.create(name=FIRST)  # as a migration does
            cursor.execute(f"SELECT {', '.join(f'setval({name!r}, 1, false)' for name in self.sequences)}")

    def destroy(self) -> None:
        connections.close_all()
        self._on_both("DROP DATABASE IF EXISTS")

    def _on_both(self, *verbs: str) -> None:
        import MySQLdb
        import psycopg
        from django.conf import settings

        url = urlparse(settings.MEMORY_DATABASE_URL)
        mysql = MySQLdb.connect(
            host=url.hostname, port=url.port, user=url.username, password=url.password or "", autocommit=True
        )
        postgres = psycopg.connect(settings.DATABASE_URL.rsplit("/", 1)[0] + "/postgres", autocommit=True)
        with mysql, postgres:
            for verb in verbs:
                mysql.cursor().execute(f"{verb} `{url.path[1:]}`")
                # A worker that is still ending holds a session open; it has nothing left to do there.
                forced = " WITH (FORCE)" if verb.startswith("DROP") else ""
                postgres.execute(f'{verb} "{urlparse(settings.DATABASE_URL).path[1:]}"{forced}')


def reset_hard(revision: str) -> None:
    """Discard uncommitted changes of main and move it to `revision`."""
    dolt()._call("dolt_reset", "--hard", revision)


def forget() -> None:
    """Forget what this process remembers of the databases: versions begin anew with them, and ids of the ledger."""
    cache.clear()
    indices.clear()
    catalogues.clear()
    placement.forget()
    sealing.forget()


def wait_for_the_worker() -> None:
    """A task it has taken would go on through the reset, and write down what it read of the test before: an index
    that says it reflects the ledger's row 50 hides the first fifty of this test."""
    from django.conf import settings

    with redis.Redis.from_url(settings.REDIS_URL) as broker:
        end = time.monotonic() + WORKER_SECONDS
        while broker.hlen("unacked") and time.monotonic() < end:  # Celery's own name for what is under way
            time.sleep(0.01)
        broker.delete("unacked", "unacked_index")  # of a worker that was killed


def _copy_files(source: Path, target: Path) -> None:
    unfinished = target.with_name(f"{target.name}.unfinished")
    unfinished.mkdir()
    for file in source.iterdir():
        if file.is_file():
            shutil.copy2(file, unfinished / file.name)
    unfinished.rename(target)


def _migrate() -> None:
    for alias in ("default", "memory"):
        call_command("migrate", database=alias, verbosity=0, skip_checks=True)
    cache.clear()
