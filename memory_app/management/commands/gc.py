"""`manage.py gc [--force]`: collect the memory's garbage now."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.template.defaultfilters import filesizeformat

from memory_app.dolt import maintenance
from memory_app.dolt.errors import DoltError
from memory_app.dolt.placement import databases


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
        for database in databases():
            try:
                collected = maintenance.collect_garbage(database, force=force or not settings.EMBEDDED_MEMORY)
            except DoltError as error:
                raise CommandError(f"The memory {database} cannot be collected now: {error}") from error
            self._tell(collected)

    def _tell(self, collected: maintenance.Collection) -> None:
        if settings.EMBEDDED_MEMORY and collected.done:
            self.stdout.write(
                f"Collected: {filesizeformat(collected.before)} before, {filesizeformat(collected.after)} after."
            )
        elif settings.EMBEDDED_MEMORY:
            self.stdout.write(
                "There is too little to collect, or others are writing or collecting (--force does it anyway)."
            )
        elif collected.done:
            self.stdout.write("Collected. Dolt's server also does that by itself.")
        else:
            raise CommandError("Dolt's server lets only an administrator do that; it also collects by itself.")
