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
        parser.add_argument("--for-good", action="store_true", help="with --now: keep nothing of it")

    def handle(self, *args: Any, now: str | None, for_good: bool, **options: Any) -> None:
        require_prepared()
        try:
            if now:
                kept = history.squash(now, for_good=for_good)
                ended = [f"{now}, nothing kept" if for_good else f"{now}, kept as {kept}"]
            else:
                ended = history.end_history()
        except EngineUnavailable as error:
            raise CommandError(f"Nothing was squashed: {error}") from error
        self.stdout.write(f"Squashed or dropped: {'; '.join(ended) or 'nothing is due'}.")
