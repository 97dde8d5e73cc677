"""`manage.py leave USERNAME [--hand-over-to USERNAME] [--delete] [--apply]`: somebody leaves."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from approvals.accounts import leaving
from approvals.models import User
from approvals.services import erasing


class Command(BaseCommand):
    help = "Say what ends when a person leaves; with --apply, deactivate them, with --delete erase account and memory."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username")
        parser.add_argument("--hand-over-to", default="", metavar="USERNAME", help="gets their students and agents")
        parser.add_argument("--delete", action="store_true", help="erase the personal data and the memory for good")
        parser.add_argument("--apply", action="store_true", help="do it")

    def handle(self, *args: Any, username: str, hand_over_to: str, delete: bool, **options: Any) -> None:
        people = User.objects.in_bulk([username, *filter(None, [hand_over_to])], field_name="username")
        if missing := {username, hand_over_to} - {*people, ""}:
            raise CommandError(f"There is nobody called {', '.join(missing)}.")
        self.stdout.write(leaving.what_happens(people[username]))
        if not options["apply"]:
            self.stdout.write("Nothing was changed. --apply does it.")
            return
        try:
            leaving.leave(people[username], by=None, hand_over_to=people.get(hand_over_to), deletes=delete)
        except leaving.CannotLeave as error:
            raise CommandError(str(error)) from error
        erasing.finish()
        self.stdout.write(f"{username} has left.")
