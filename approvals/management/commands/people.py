"""`manage.py people FILE [--apply]`: people, their groups and tutors from a CSV file."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import IntegrityError
from django.utils.translation import ngettext

from approvals.accounts import people_file


class Command(BaseCommand):
    help = "Say what each line of a CSV file of people would do; with --apply, do it. Without a file, write one."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", nargs="?", type=Path, help="without it, the present people are written as one")
        parser.add_argument("--apply", action="store_true", help="do what the lines say; run it again after a failure")
        parser.add_argument("--skip-errors", action="store_true", help="apply the other lines where some have errors")
        parser.add_argument("--no-invitation", action="store_true", help="mail nobody a link to choose a password")

    def handle(self, *args: Any, file: Path | None, **options: Any) -> None:
        if file is None:
            self.stdout.writelines(people_file.write())
            return
        try:
            lines = people_file.plan(file.read_bytes())
        except (OSError, people_file.Unreadable) as error:
            raise CommandError(str(error)) from error
        for line in lines:
            said = "; ".join([*(f"ERROR {error}" for error in line.errors), *line.effects]) or "nothing"
            self.stdout.write(f"{line.number} {line.username}: {said}")
        wrong = sum(bool(line.errors) for line in lines)
        if wrong and not options["skip_errors"]:
            raise CommandError(f"Lines with errors: {wrong}. Nothing was applied; --skip-errors leaves them out.")
        if options["apply"]:
            try:
                number = people_file.apply(lines, by=None, invites=not options["no_invitation"])
            except IntegrityError as error:
                raise CommandError("Somebody else changed people at the same time. Run it again.") from error
            said = ngettext("One line was applied.", "%(number)d lines were applied.", number)
            self.stdout.write(said % {"number": number})
        else:
            self.stdout.write("Nothing was changed. --apply does it.")
