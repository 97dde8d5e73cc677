"""`manage.py settings_reference`: writes docs/settings.md from how the settings are read and what they mean."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from memory_app.configuration import reference

PAGE = Path(settings.BASE_DIR) / "docs" / "settings.md"


class Command(BaseCommand):
    help = "Write docs/settings.md, the reference of the settings."
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        from memory_app.settings import env

        PAGE.write_text(reference.page(env.readings), encoding="utf-8")
        self.stdout.write(f"{PAGE} written")
