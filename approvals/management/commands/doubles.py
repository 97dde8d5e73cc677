"""`manage.py doubles [--owner NAME] [--fold]`: the notes that say the same."""

from argparse import ArgumentParser
from itertools import chain
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from approvals.models import User
from approvals.services import bulk_notes
from memory_app import reads
from memory_app.reads.catalogue import catalogue
from memory_app.text.lines import first_words


class Command(BaseCommand):
    help = (
        "List the notes that say the same: case, white space and punctuation aside. With --fold one of each stays, the "
        "one that agents used most, of equals the oldest, with the tags of all."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--owner", help="username; everybody without it")
        parser.add_argument("--fold", action="store_true", help="fold them, in the owner's name: a page undoes it")

    def handle(self, *args: Any, owner: str | None, fold: bool, **options: Any) -> None:
        people = User.objects.filter(is_active=True).order_by("username")
        if owner and not (people := people.filter(username=owner)):
            raise CommandError(f"There is nobody called {owner}.")
        for person in people:
            groups = catalogue(person.username).doubled
            for group in groups:
                ids = ", ".join(entry.id for entry in group)
                self.stdout.write(f"{person}: {len(group)} say “{first_words(group[0].said, 80)}”: {ids}")
            if fold and groups:
                there = reads.find_notes(person.username, [entry.id for entry in chain(*groups)])
                done = bulk_notes.change_many(
                    actor=person,
                    owner=person.username,
                    action=bulk_notes.BulkAction.FOLD,
                    seen={id_: note.sha256 for id_, note in there.items()},
                )
                gone = sum(change.after is None for change in done.outcome.changes)
                self.stdout.write(f"{person}: {gone} folded in commit {done.outcome.commit}.")
