"""`manage.py check_memory`: do the two databases agree?"""

import json
import time
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from approvals.recovery.integrity import Check
from memory_app.management.commands.prepare import require_prepared

SINCE_LAST = (
    "check what is open, and what came after the last run that found nothing; everything, if main does not have its "
    "commit any more. Files, and rows and texts older than that run, are not read again: a whole run finds what "
    "somebody altered there, so make one each week"
)

#: Seconds between two lines of progress.
_EVERY = 3.0


class Command(BaseCommand):
    help = "Check that proposals, branches, the ledger and the memory agree; exit 1 with a list when they do not."
    # A damaged database must be a finding, not a failed system check.
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print the findings as a JSON list")
        parser.add_argument("--since-last", action="store_true", help=SINCE_LAST)

    def handle(self, *args: Any, **options: Any) -> None:
        require_prepared()
        self._told_at = time.monotonic()
        check = Check(since_last=options["since_last"], tell=self._tell)
        if options["since_last"] and not check.marks:
            self.stderr.write("Nothing to go on from: everything is checked.")
        found = list(check.problems())
        if options["json"]:
            self.stdout.write(json.dumps(list(map(asdict, found)), indent=2))
        else:
            for finding in found:
                self.stdout.write(str(finding))
        if found:
            raise CommandError(f"{len(found)} problem(s).")
        check.keep()
        if not options["json"]:
            self.stdout.write("The memory is consistent.")

    def _tell(self, what: str, done: int, of: int) -> None:
        if time.monotonic() - self._told_at >= _EVERY:
            self._told_at = time.monotonic()
            self.stderr.write(f"Checking {what}: {done:,} of {of:,}")
