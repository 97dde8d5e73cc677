"""`manage.py move DIR`: move an embedded site to the servers of the settings."""

from argparse import SUPPRESS, ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from approvals.recovery import servers
from memory_app.databases.backups import BackupError
from memory_app.dolt.replay import as_line


class Command(BaseCommand):
    help = "Move an embedded site, with all its history, to the empty servers that the settings name. Stop it first."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path, help="the ASSENT_DATA_DIR of the embedded site; its files stay")
        # `move` itself uses it, in a child process with the settings of that site.
        parser.add_argument("--tell", action="store_true", help=SUPPRESS)

    def handle(self, *args: Any, folder: Path, tell: bool, **options: Any) -> None:
        try:
            if tell:
                for each in servers.tell():
                    self.stdout.write(as_line(each))
                return
            report, problems = servers.move(folder.absolute(), self.stdout.write)
        except BackupError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{folder} is moved.{f' Brought up to date: {report}.' if report else ''}")
        for problem in problems:
            self.stdout.write(self.style.WARNING(problem))
        if problems:
            raise CommandError(
                f"{len(problems)} problem(s): the embedded site may have them too; see its check_memory."
            )
