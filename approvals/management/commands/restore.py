"""`manage.py restore DIR [--verify]`: restore a backup into empty databases."""

import json
from argparse import SUPPRESS, ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from approvals import services
from memory_app.databases.backups import BackupError


class Command(BaseCommand):
    help = "Restore a backup into the databases the settings name, which must be empty. Stop the site first."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path, help="the folder that `backup` wrote")
        parser.add_argument(
            "--verify", action="store_true", help="only check that it could be restored, in a temporary place"
        )
        # `restore` itself uses it, in a child process with other databases.
        parser.add_argument("--here", action="store_true", help=SUPPRESS)

    def handle(self, *args: Any, folder: Path, verify: bool, here: bool, **options: Any) -> None:
        try:
            if verify:
                services.verify(folder)
                self.stdout.write("Verified: it opens, and both databases agree.")
                return
            report, problems = services.restore(folder, here=here)
        except BackupError as error:
            raise CommandError(str(error)) from error
        if here:
            self.stdout.write(json.dumps([report, problems]))
            return
        self.stdout.write(f"{folder} is restored.{f' Brought up to date: {report}.' if report else ''}")
        if not (settings.ERASED_LIST and settings.ERASED_LIST.exists()):
            what = f"Nothing was erased again: there is no {settings.ERASED_LIST or 'ASSENT_ERASED_LIST'}."
            self.stdout.write(f"{what} If you have it, put it there and run `manage.py recover --trust-log`.")
        for problem in problems:
            self.stdout.write(self.style.WARNING(problem))
        if problems:
            self.stdout.write(f"{len(problems)} problem(s) were in the backup already, or could not be fixed.")
