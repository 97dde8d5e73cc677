"""`manage.py rebuild_ledger`: make the ledger again from the log of main."""

from typing import Any

from django.core.management.base import BaseCommand
from django.db import transaction

from approvals.services.ledger import top_up_ledger
from memory_app.models import Change


class Command(BaseCommand):
    help = "Make the ledger again from the commit log of the memory."

    def handle(self, *args: Any, **options: Any) -> None:
        with transaction.atomic():
            removed = Change.objects.all().delete()[0]
            added = top_up_ledger(whole=True)
        self.stdout.write(f"{removed} rows removed, {added} rows written.")
