"""`manage.py check_memory`: do the two databases agree?"""

import json
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from approvals.recovery.integrity import problems


class Command(BaseCommand):
    help = "Check that proposals, branches, the ledger and the memory agree; exit 1 with a list when they do not."
    # A damaged database must be a finding, not a failed system check.
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print the findings as a JSON list")

    def handle(self, *args: Any, **options: Any) -> None:
        found = list(problems())
        if options["json"]:
            self.stdout.write(json.dumps(list(map(asdict, found)), indent=2))
        else:
            for finding in found:
                self.stdout.write(str(finding))
        if found:
            raise CommandError(f"{len(found)} problem(s).")
        if not options["json"]:
            self.stdout.write("The memory is consistent.")
