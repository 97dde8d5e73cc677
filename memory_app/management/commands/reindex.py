"""`manage.py reindex [--owner NAME]`: rebuild the search index."""

import time
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from memory_app.models import Change, Message
from memory_app.search import store


class Command(BaseCommand):
    help = "Rebuild the search index of one owner, or of all, from the memory and the conversations."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--owner", help="username; all owners without it")

    def handle(self, *args: Any, owner: str | None, **options: Any) -> None:
        known = {*Change.objects.values_list("owner", flat=True), *Message.objects.values_list("owner", flat=True)}
        if owner is not None and owner not in known:
            raise CommandError(f"There is no memory of {owner}.")
        for name in [owner] if owner is not None else sorted(known):
            # Not asked beforehand whether a worker is indexing: one can begin between the question and the rebuild.
            while not (done := store.reindex(name, whole=True)).is_anew:
                time.sleep(0.2)  # a worker is indexing; its lease ends within a minute
            note = "" if done.has_vectors else " (the embedder did not answer: by words only)"
            self.stdout.write(f"{name}: {done.documents} documents{note}")
