"""`manage.py check_memory`: do the two databases agree?"""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from approvals.integrity import problems


class Command(BaseCommand):
    help = "Check that open proposals have their branch, approved ones are in main, and the ledger equals the log."

    def handle(self, *args: Any, **options: Any) -> None:
        found = list(problems())
        for problem in found:
            self.stdout.write(problem)
        if found:
            raise CommandError(f"{len(found)} problem(s).")
        self.stdout.write("The memory is consistent.")
