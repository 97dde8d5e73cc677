"""`manage.py rebuild_ledger`: rebuild the ledger from the log of main."""

from typing import Any

from django.core.management.base import BaseCommand

from approvals.recovery.ledger import rebuild_ledger
from memory_app.dolt.placement import databases
from memory_app.management.commands.prepare import require_prepared


class Command(BaseCommand):
    help = "Rebuild the ledger from the commits of the memory; correct rows stay as they are."

    def handle(self, *args: Any, **options: Any) -> None:
        require_prepared()
        removed, written, kept = map(sum, zip(*map(rebuild_ledger, databases()), strict=True))
        self.stdout.write(f"{removed} rows removed, {written} rows written, {kept} kept.")
