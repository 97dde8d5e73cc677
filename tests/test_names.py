"""A stranger finds things by name: one class for one name, and files and functions of a size one can read.

These are limits of the three apps and the client, and for names of the benchmarks too. Not here: the words of texts
(test_wording.py) and what documents name (docs/test_documents.py).
"""

import ast
import functools
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.nightly import NIGHTLY, NIGHTLY_ON_SERVERS

pytestmark = pytest.mark.pure

ROOT = Path(__file__).resolve().parent.parent
APPS = ("memory_app", "approvals", "agent_tools")
#: Its names are those of other clients (`Proposal`, `Page`), so they are compared with each other alone. What is
#: written from the registry has the size of the registry.
CLIENT = "clients/python/assent_client"
LINES = 600
FUNCTION_LINES = 60

#: Names that Django looks for, so that they stand in many places; migrations are not looked at.
GIVEN = {"Meta", "Command", "DatabaseWrapper"}


def modules(folders: tuple[str, ...] = APPS) -> Iterator[Path]:
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if not {"migrations", "_generated"} & set(path.parts):
                yield path.relative_to(ROOT)


@functools.cache
def tree(path: Path) -> ast.Module:
    return ast.parse((ROOT / path).read_text())


def packages() -> list[Path]:
    return sorted({path.parent for path in modules((*APPS, CLIENT))})


@pytest.mark.parametrize("folders", [(*APPS, "benchmarks"), (CLIENT,)], ids=["server", "client"])
def test_no_class_name_stands_for_two_things(folders: tuple[str, ...]) -> None:
    places = defaultdict(list)
    for path in modules(folders):
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ClassDef) and node.name not in GIVEN:
                places[node.name].append(f"{path}:{node.lineno}")
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_a_folder_says_what_belongs_in_it() -> None:
    django = ("management", "commands")  # each command says what it does
    silent = [str(folder) for folder in packages() if not ast.get_docstring(tree(folder / "__init__.py"))]
    assert [folder for folder in silent if not folder.endswith(django)] == []


def test_no_file_is_longer_than_one_reads() -> None:
    lengths = {str(path): len((ROOT / path).read_text().splitlines()) for path in modules((*APPS, CLIENT))}
    assert {path: lines for path, lines in lengths.items() if lines > LINES} == {}


def test_no_function_is_longer_than_a_screen() -> None:
    lengths = {
        f"{path}:{node.lineno} {node.name}": (node.end_lineno or 0) - node.lineno + 1
        for path in modules((*APPS, CLIENT))
        for node in ast.walk(tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert {where: lines for where, lines in lengths.items() if lines > FUNCTION_LINES} == {}


@pytest.mark.parametrize("path", [*NIGHTLY, *NIGHTLY_ON_SERVERS])
def test_what_runs_at_night_is_there(path: str) -> None:
    file, _, test = path.partition("::")
    assert f"def {test.partition('[')[0]}" in (ROOT / file).read_text()
