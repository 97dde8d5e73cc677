"""README.md's table names every setting, and no setting that does not exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.pure

ROOT = Path(__file__).resolve().parents[2]
#: Where settings are read from the environment.
READERS = ("memory_app/settings.py", "memory_app/webserver/options.py")
_NAME = r"(?:(?:ASSENT|MEMORIES)_[A-Z_]+|(?:MEMORY_)?DATABASE_URL|REDIS_URL)"
_ROW = re.compile(rf"^\|\s*`({_NAME})`", re.MULTILINE)


def names_read(path: Path) -> set[str]:
    """The names given to `env.str(…)`, `env.int(…)`, `os.environ.get(…)` and their like."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or not node.args:
            continue
        first = node.args[0]
        if ast.unparse(node.func.value) in ("env", "os.environ") and isinstance(first, ast.Constant):
            found.add(str(first.value))
    return found


def test_the_readers_are_understood() -> None:
    assert {"ASSENT_DEBUG", "MEMORY_DATABASE_URL", "REDIS_URL"} <= names_read(ROOT / "memory_app/settings.py")


@pytest.mark.parametrize("reader", READERS)
def test_every_setting_is_in_the_readme(reader: str) -> None:
    described = set(_ROW.findall((ROOT / "README.md").read_text()))
    assert names_read(ROOT / reader) - described == set(), f"add them to the settings table of README.md ({reader})"


def test_the_readme_invents_no_setting() -> None:
    described = set(_ROW.findall((ROOT / "README.md").read_text()))
    assert described, "README.md has a settings table: | `NAME` | default | meaning |"
    others = ("tests/run.py", "tests/services.py", "tests/conftest.py", "deploy/healthcheck.py", "docker-compose.yml")
    texts = "".join((ROOT / name).read_text() for name in (*READERS, *others))
    assert {name for name in described if name not in texts} == set()
