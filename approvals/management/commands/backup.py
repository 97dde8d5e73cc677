"""`manage.py backup DIR [--verify]`: copy both databases while the site runs."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from approvals import services
from memory_app.databases.backups import BackupError
from memory_app.dolt.errors import DoltError
from memory_app.management.commands.prepare import require_prepared


class Command(BaseCommand):
    help = "Write a backup of both databases into a new folder, while the site runs. `restore` reads it."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path, help="the folder to create; must be missing or empty")
        parser.add_argument(
            "--verify", action="store_true", help="afterwards, open the backup in a temporary place and check it there"
        )

    def handle(self, *args: Any, folder: Path, verify: bool, **options: Any) -> None:
        require_prepared()
        try:
            made = services.backup(folder)
            size = sum(file["bytes"] for file in made.files.values())
            self.stdout.write(
                f"{folder}: {made.commits} commits, {made.branches - 1} proposals' branches, "
                f"{made.counts['people']} people, {size / 1e6:.1f} MB."
            )
            if verify:
                services.verify(folder)
                self.stdout.write("Verified: it opens, and both databases agree.")
        except BackupError as error:
            raise CommandError(str(error)) from error
        except (DatabaseError, DoltError) as error:
            raise CommandError(f"A database does not answer, and nothing was copied: {error}") from error
