"""`manage.py api_reference`: writes docs/api.md from the code. The file is not committed: `make docs` makes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from agent_tools.http import reference

PAGE = Path(settings.BASE_DIR) / "docs" / "api.md"


class Command(BaseCommand):
    help = "Write docs/api.md, the reference of the agent API."
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        PAGE.write_text(reference.page(), encoding="utf-8")
        self.stdout.write(f"{PAGE} written")
