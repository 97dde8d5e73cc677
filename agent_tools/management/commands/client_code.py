"""`manage.py client_code`: writes the generated part of the Python client from the registry; `--check` compares."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from agent_tools.client_code.writing import ClientSource

FOLDER = Path(settings.BASE_DIR) / "clients" / "python" / "assent_client" / "_generated"


def differences(folder: Path = FOLDER) -> list[str]:
    """Return the modules in `folder` that are not what the registry says: changed, missing, or left over."""
    made = ClientSource().modules()
    there = {str(path.relative_to(folder)): path.read_text(encoding="utf-8") for path in folder.rglob("*.py")}
    return sorted(name for name in {*made, *there} if made.get(name) != there.get(name))


class Command(BaseCommand):
    help = "Write clients/python/assent_client/_generated from the registry of tools."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--check", action="store_true", help="Write nothing; fail when something differs.")

    def handle(self, *args: Any, check: bool = False, **options: Any) -> None:
        different = differences()
        if check and different:
            raise CommandError(f"make client: {', '.join(different)} differ from the registry")
        made = ClientSource().modules()
        for name in () if check else different:
            path = FOLDER / name
            if name in made:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(made[name], encoding="utf-8")
            else:
                path.unlink()
        self.stdout.write(f"{FOLDER}: {len(made)} modules, {len(different)} {'differ' if check else 'written'}")
