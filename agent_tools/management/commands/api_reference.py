"""`manage.py api_reference`: writes docs/agent-api.md from the code."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from agent_tools.http import reference

PAGE = Path(settings.BASE_DIR) / "docs" / "agent-api.md"


class Command(BaseCommand):
    help = "Writes the reference page of the agent API, or checks that it is current."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when it is not current")

    def handle(self, *args: Any, check: bool, **options: Any) -> None:
        page = reference.page()
        if check:
            if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != page:
                raise CommandError("docs/agent-api.md is not current: run `manage.py api_reference`.")
            return
        PAGE.parent.mkdir(exist_ok=True)
        PAGE.write_text(page, encoding="utf-8")
        self.stdout.write(f"{PAGE} written")
