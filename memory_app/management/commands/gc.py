"""`manage.py gc [--force]`: collect the memory's garbage now."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError
from django.template.defaultfilters import filesizeformat

from memory_app.dolt import maintenance
from memory_app.dolt.errors import DoltError
from memory_app.dolt.placement import databases
from memory_app.management.commands.prepare import require_prepared


class Command(BaseCommand):
    help = (
        "Free the space of decided proposals. The embedded memory and Dolt's server also do this automatically. "
        "Safe while the site runs; writers wait until it ends."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--force", action="store_true", help="embedded: collect however little there is (a server always collects)"
        )

    def handle(self, *args: Any, force: bool, **options: Any) -> None:
        require_prepared()
        failed = []
        for database in databases():
            try:
                collected = maintenance.collect_garbage(database, force=force or not settings.EMBEDDED_MEMORY)
            except (DatabaseError, DoltError) as error:  # the others have their turn
                failed.append(f"The database {database} cannot be collected now: {error}")
                continue
            if not (collected.done or settings.EMBEDDED_MEMORY):
                raise CommandError(
                    "Dolt's server, which also collects by itself, does not let our user do that: "
                    f"GRANT EXECUTE ON PROCEDURE `{settings.DATABASES[database]['NAME']}`.dolt_gc TO …"
                )
            self.stdout.write(f"{database}: {_said(collected)}")
        if failed:
            raise CommandError("\n".join(failed))


def _said(collected: maintenance.Collection) -> str:
    if not collected.done:
        return "There is too little to collect, or others are writing or collecting (--force does it anyway)."
    if not settings.EMBEDDED_MEMORY:
        return "Collected. Dolt's server also does that by itself."
    return f"Collected: {filesizeformat(collected.before)} before, {filesizeformat(collected.after)} after."
