"""Empty places to restore a backup into, and commands that run there."""

import os
import secrets
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from tests import environment

ROOT = Path(__file__).resolve().parents[2]


@contextmanager
def empty_place(folder: Path) -> Iterator[dict[str, str]]:
    """The environment of a new, empty Assent: a folder, or two new databases on the servers of this run."""
    place = {"ASSENT_DATA_DIR": str(folder), "REDIS_URL": ""}
    if environment.is_embedded():
        yield place
        return
    from django.db import connections

    name = f"place_{secrets.token_hex(4)}"
    urls = {"default": "DATABASE_URL", "memory": "MEMORY_DATABASE_URL"}
    for alias in urls:
        with connections[alias].cursor() as cursor:
            cursor.execute(f"CREATE DATABASE {name}")
    try:
        yield place | {
            variable: urlsplit(os.environ[variable])._replace(path=f"/{name}").geturl() for variable in urls.values()
        }
    finally:
        for alias in urls:
            with connections[alias].cursor() as cursor:
                cursor.execute(f"DROP DATABASE {name}")
                if alias == "memory":
                    cursor.execute(f"DROP DATABASE IF EXISTS {name}_2")


def manage(*arguments: object, **place: str) -> subprocess.CompletedProcess[str]:
    """Run `manage.py` with these databases."""
    return run([sys.executable, "manage.py", *map(str, arguments)], place)


def python(program: str, **place: str) -> str:
    """Run a program against these databases; what it printed."""
    start = "import sys, django; django.setup()\n"
    done = run([sys.executable, "-c", start + program], place | {"DJANGO_SETTINGS_MODULE": "memory_app.settings"})
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def run(command: list[str], place: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT), "ASSENT_LOG_LEVEL": "ERROR"} | place,
        capture_output=True,
        text=True,
        check=False,
    )
