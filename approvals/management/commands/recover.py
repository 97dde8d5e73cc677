"""`manage.py recover`: finish what a crash interrupted."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from approvals import services
from approvals.services import erasing
from memory_app.management.commands.prepare import require_prepared


class Command(BaseCommand):
    help = "Finish interrupted proposals and merges, add missing ledger rows, drop left-over branches."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--trust-log",
            action="store_true",
            help="after restoring an older `default` by hand: believe what the log of the memory says",
        )

    def handle(self, *args: Any, trust_log: bool = False, **options: Any) -> None:
        require_prepared()
        report = services.recover(everything=True, trust_log=trust_log)
        if trust_log:
            erasing.finish()  # what the restored `default` did not know of
        expired = services.expire()
        self.stdout.write(f"{report}; {expired} expired")
        if report.away:
            raise CommandError(f"Not recovered, as it does not answer: {', '.join(report.away)}.")
