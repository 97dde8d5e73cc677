"""`manage.py end_history`: end the versions of the memory that are older than the site keeps."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from approvals.recovery import history
from memory_app.dolt.errors import EngineUnavailable
from memory_app.management.commands.prepare import require_prepared


class Command(BaseCommand):
    help = "End the history that is older than ASSENT_HISTORY_DAYS, as happens by itself once a day."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--now", metavar="NAME", help="squash this database's history (memory) whatever its age")

    def handle(self, *args: Any, now: str | None, **options: Any) -> None:
        require_prepared()
        try:
            ended = [f"{now}, kept as {history.squash(now)}"] if now else history.end_history()
        except EngineUnavailable as error:
            raise CommandError(f"Nothing was squashed: {error}") from error
        self.stdout.write(f"Squashed or dropped: {'; '.join(ended) or 'nothing is due'}.")
