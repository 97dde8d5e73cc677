"""`manage.py prepare`: migrate both databases if needed.

`migrate` handles one database at a time and takes seconds to find that nothing is to be done. `make setup`, every start
of `serve` and the container that runs before the others call this command instead.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from django.conf import settings
from django.core.checks import Tags
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connections
from django.db.migrations.executor import MigrationExecutor
from django.db.utils import Error as DatabaseError

from memory_app.dolt import placement
from memory_app.dolt.connections import MEMORY, dolt_of, standing_on
from memory_app.dolt.errors import DoltError
from memory_app.dolt.types import FIRST
from memory_app.runtime import upkeep

ALIASES = ("default", "memory")


class Command(BaseCommand):
    help = "Migrate both databases; quick when they are up to date."
    # The database checks query tables that may not exist yet.
    requires_system_checks = []

    @upkeep.paused()
    def handle(self, *args: Any, **options: Any) -> None:
        self._is_told = False
        if self._is_behind("default"):
            call_command("migrate", database="default", verbosity=0, interactive=False)
        with _said_in_a_sentence():
            dolt_of(FIRST).head()  # where it moved to, another server may be away
        with standing_on(FIRST) as verbs:  # wherever it moved to, which `default` knows
            if self._is_behind(MEMORY):
                verbs.ready_to_migrate()
                call_command("migrate", database=MEMORY, verbosity=0, interactive=False)
        for database in placement.databases()[1:]:
            try:
                migrate_memory(database)
            except (DatabaseError, DoltError) as error:  # the other owners can work
                self.stderr.write(f"The memory {database} does not answer, and is not prepared: {error}")
        with standing_on(FIRST):
            self.check(tags=[Tags.database], databases=ALIASES)
        connections.close_all()

    def _is_behind(self, alias: str) -> bool:
        """Return `is_behind`, and say once that something is to be done."""
        with _said_in_a_sentence():
            found = is_behind(alias)
        if found and not self._is_told:
            self.stdout.write(f"[3/4] preparing the databases ({describe_databases()})")
            self._is_told = True
        return found


@contextmanager
def _said_in_a_sentence() -> Iterator[None]:
    """Raise CommandError where a database does not answer in this block."""
    try:
        yield
    except (DatabaseError, DoltError) as error:
        reason = " ".join(str(error).split())
        raise CommandError(
            f"A database does not answer ({reason}): check DATABASE_URL, MEMORY_DATABASE_URL and ASSENT_MEMORY_SERVERS."
        ) from error


def require_prepared() -> None:
    """Raise CommandError where a database has the tables of an older version. Nothing else is looked for."""
    with suppress(DatabaseError, DoltError), standing_on(FIRST):
        if any(is_behind(alias) for alias in ALIASES):
            raise CommandError("The databases have the tables of an older version: run `manage.py prepare` first.")


def migrate_memory(database: str) -> None:
    """Migrate one database of the memory, if needed."""
    with standing_on(database) as verbs:
        if is_behind(MEMORY):
            verbs.ready_to_migrate()
            call_command("migrate", database=MEMORY, verbosity=0, interactive=False, skip_checks=True)


def is_behind(alias: str) -> bool:
    """Whether this database still has migrations to apply."""
    executor = MigrationExecutor(connections[alias])
    return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))


def describe_databases() -> str:
    names = [connections[alias].display_name for alias in reversed(ALIASES)]
    return " and ".join(names) + (f" in {settings.DATA_DIR}" if settings.EMBEDDED_MEMORY else "")
