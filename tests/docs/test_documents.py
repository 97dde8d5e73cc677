"""What the documents say exists, does: files they link, paths, tests, commands and settings they name."""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest
from django.core.management import get_commands

from memory_app.configuration.environment import READ_ELSEWHERE
from memory_app.settings import env
from tests.docs.documents import ROOT, Document, document, documents, folders

pytestmark = pytest.mark.pure

THIS = Path(__file__).resolve()

_TEST = re.compile(r"(tests/[\w/]+\.py)::(\w+)")
_PATH = re.compile(r"\.?[\w.-]+(?:/[\w.-]+)*/?")
_DOTTED = re.compile(r"(?:memory_app|approvals|agent_tools|benchmarks)(?:\.(?![EW]\d{3})\w+)+")
_SETTING = re.compile(r"\b(?:(?:ASSENT|MEMORIES)_[A-Z_]+[A-Z]|(?:MEMORY_)?DATABASE_URL|REDIS_URL)\b")
_SUFFIXES = {".py", ".md", ".toml", ".yml", ".yaml", ".txt", ".conf", ".css", ".js", ".html", ".sql", ".png"}

#: What examples of shells set for themselves.
_OF_EXAMPLES = {"ASSENT"}

#: Named in the documents, and made by commands or by people; `__init__.py` is named as any folder's.
NOT_COMMITTED = {"memories.md", "__init__.py", "AGENTS.md", "ask.py", "workspace.md"}


@cache
def source(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def test_every_document_is_read() -> None:
    assert {"README.md", "CONTRIBUTING.md", "docs/architecture.md", "docs/decisions/foundations.md"} <= set(
        map(str, documents())
    )


def wrong(found: Callable[[Document], Iterable[str]]) -> list[str]:
    """Return what is wrong in each document, with its name."""
    return [f"{page}: {each}" for page in documents() for each in found(page)]


def test_links_lead_somewhere() -> None:
    def is_broken(page: Document, link: str) -> bool:
        target, fragment = page.target(link), link.partition("#")[2]
        if not target.exists() or not target.is_relative_to(ROOT):
            return True
        return bool(fragment) and fragment not in document(target.relative_to(ROOT).as_posix()).anchors()

    def broken(page: Document) -> list[str]:
        ours = (link for link in page.links() if not link.startswith(("https://", "http://")))
        return [link for link in ours if is_broken(page, link)]

    assert wrong(broken) == []


def test_paths_in_backticks_exist() -> None:
    top = folders(ROOT)

    def missing(page: Document) -> Iterator[str]:
        for path in (code.partition("::")[0] for code in page.code()):
            if _PATH.fullmatch(path) and path not in NOT_COMMITTED:
                is_ours = path.split("/")[0] in top if "/" in path else Path(path).suffix in _SUFFIXES
                if is_ours and not (ROOT / path).exists() and not (ROOT / page.name).parent.joinpath(path).exists():
                    yield path

    assert wrong(missing) == []


def test_tests_that_are_named_exist() -> None:
    def is_there(path: str, name: str) -> bool:
        return (ROOT / path).exists() and bool(re.search(rf"^(?:async )?def {name}\(", source(ROOT / path), re.M))

    assert wrong(lambda page: [name for path, name in _TEST.findall(page.text) if not is_there(path, name)]) == []


def test_dotted_names_exist() -> None:
    assert wrong(lambda page: [code for code in page.code() if _DOTTED.fullmatch(code) and not is_ours(code)]) == []


def is_ours(dotted: str) -> bool:
    """Whether this is a package, a module, or begins with one that has the next name in its text."""
    path, parts = ROOT, dotted.split(".")
    while parts and (path / parts[0]).is_dir():
        path /= parts.pop(0)
    if parts and (path / f"{parts[0]}.py").is_file():
        path /= f"{parts.pop(0)}.py"
    elif parts:
        path /= "__init__.py"
    return not parts or bool(re.search(rf"\b{parts[0]}\b", source(path)))


@pytest.mark.parametrize(
    ("called", "kind"), [(r"(?:^|&& |; )make ([a-z][a-z-]*)", "targets"), (r"manage\.py ([a-z_]+)", "commands")]
)
def test_commands_exist(called: str, kind: str) -> None:
    known = set(get_commands())
    if kind == "targets":
        known = set(re.findall(r"^([a-z][a-z-]*):", source(ROOT / "Makefile"), re.MULTILINE))
    assert wrong(lambda page: {name for code in page.code() for name in re.findall(called, code)} - known) == []


def test_settings_exist() -> None:
    known = env.readings.keys() | READ_ELSEWHERE | _OF_EXAMPLES
    named = wrong(lambda page: {name.removesuffix("_FILE") for name in _SETTING.findall(page.text)} - known)
    assert named == []


def test_no_plan_is_cited_that_is_not_here() -> None:
    in_documents = re.compile(r"§\s?\d|\b(?:edit|their|that) plan\b")
    assert wrong(lambda page: in_documents.findall(page.text)) == []
    in_code = re.compile(r"(?<!docs/)\b(?:design|tools|style|review-ui|retrieval)\.md\b|\.md §")
    files = [path for folder in folders(ROOT) for path in (ROOT / folder).glob("**/*.py") if path != THIS]
    assert [path for path in files if in_code.search(source(path))] == []


def test_every_invariant_has_its_test() -> None:
    page = document("docs/architecture.md").text.partition("## Invariants")[2]
    rows = [row for row in page.splitlines() if row.startswith("| ")][2:]
    assert len(rows) > 30
    assert all(_TEST.search(row) for row in rows), [row for row in rows if not _TEST.search(row)]


def test_the_diagrams_have_no_semicolon() -> None:
    """Mermaid ends a statement there, also inside a label."""
    diagrams = [drawn for page in documents() for drawn in page.fences("mermaid")]
    assert len(diagrams) >= 3
    assert not any(";" in drawn for drawn in diagrams)


def test_the_index_of_decisions_is_complete() -> None:
    index, first = document("docs/decisions/README.md"), document("docs/decisions/foundations.md")
    records = [each for each in documents() if re.match(r"docs/decisions/\d", each.name)]
    assert {first.name, *(each.name for each in records)} == {
        index.target(link).relative_to(ROOT).as_posix() for link in index.links()
    }
    assert re.findall(r"^## (\d+)\. ", first.text, re.M) == [str(number) for number in range(1, 9)]
    assert "| 1–8 | [" in index.text
    for each in records:
        number, _, said = each.text.splitlines()[0].removeprefix("# ").partition(". ")
        assert each.name.startswith(f"docs/decisions/{int(number):04}-")
        assert f"| {number} | [{said}](" in index.text
