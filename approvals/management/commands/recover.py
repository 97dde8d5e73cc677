"""`manage.py recover`: finish what a crash left half done."""

from typing import Any

from django.core.management.base import BaseCommand

from approvals import services


class Command(BaseCommand):
    help = "Finish proposals and merges a crash left half done, top up the ledger, drop left-over branches."

    def handle(self, *args: Any, **options: Any) -> None:
        report = services.recover()
        expired = services.expire()
        self.stdout.write(f"{report}; {expired} expired")
