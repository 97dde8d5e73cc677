"""`manage.py rebuild_ledger`: make the ledger again from what main went through."""

from typing import Any

from django.core.management.base import BaseCommand

from approvals.recovery.ledger import rebuild_ledger


class Command(BaseCommand):
    help = "Make the ledger again from the commits of the memory; rows that are right stay as they are."

    def handle(self, *args: Any, **options: Any) -> None:
        rebuilt = rebuild_ledger()
        self.stdout.write(f"{rebuilt.removed} rows removed, {rebuilt.written} rows written, {rebuilt.kept} kept.")
