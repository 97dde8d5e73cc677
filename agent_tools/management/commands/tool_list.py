"""`manage.py tool_list`: writes docs/tools.md from the registry of tools."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from agent_tools.http import tool_list

PAGE = Path(settings.BASE_DIR) / "docs/tools.md"


class Command(BaseCommand):
    help = "Write docs/tools.md, the list of the tools."
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        PAGE.write_text(tool_list.page(), encoding="utf-8")
        self.stdout.write(f"{PAGE} written")
