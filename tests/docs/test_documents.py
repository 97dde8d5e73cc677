"""What the documents say exists, does: files they link, paths, tests, commands and settings they name."""

import re
from functools import cache
from pathlib import Path

import pytest
from django.core.management import get_commands

from memory_app.configuration import reference
from memory_app.configuration.environment import READ_ELSEWHERE
from tests.docs.documents import ROOT, document, documents, folders

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


def test_links_lead_somewhere() -> None:
    wrong = []
    for page in documents():
        for link in page.links():
            if link.startswith(("https://", "http://")):
                continue
            target, fragment = page.target(link), link.partition("#")[2]
            is_there = target.exists() and target.is_relative_to(ROOT)
            if not is_there or (fragment and fragment not in document(target.relative_to(ROOT).as_posix()).anchors()):
                wrong.append(f"{page}: {link}")
    assert not wrong


def test_paths_in_backticks_exist() -> None:
    top, wrong = folders(ROOT), []
    for page in documents():
        for code in page.code():
            path = code.partition("::")[0]
            if not _PATH.fullmatch(path) or path in NOT_COMMITTED:
                continue
            is_ours = path.split("/")[0] in top if "/" in path else Path(path).suffix in _SUFFIXES
            here = (ROOT / page.name).parent
            if is_ours and not (ROOT / path).exists() and not (here / path).exists():
                wrong.append(f"{page}: {code}")
    assert not wrong


def test_tests_that_are_named_exist() -> None:
    missing = []
    for page in documents():
        for path, name in _TEST.findall(page.text):
            if not (ROOT / path).exists() or not re.search(rf"^(?:async )?def {name}\(", source(ROOT / path), re.M):
                missing.append(f"{page}: {path}::{name}")
    assert not missing


def test_dotted_names_exist() -> None:
    wrong = []
    for page in documents():
        for code in page.code():
            if _DOTTED.fullmatch(code) and not is_name_of_ours(code):
                wrong.append(f"{page}: {code}")
    assert not wrong


def is_name_of_ours(dotted: str) -> bool:
    """Whether this is a package, a module, or begins with one that has the next name in its text."""
    path, parts = ROOT, dotted.split(".")
    while parts and (path / parts[0]).is_dir():
        path /= parts.pop(0)
    if parts and (path / f"{parts[0]}.py").is_file():
        path /= f"{parts.pop(0)}.py"
    elif parts:
        path /= "__init__.py"
    return not parts or bool(re.search(rf"\b{parts[0]}\b", source(path)))


def test_commands_exist() -> None:
    targets = set(re.findall(r"^([a-z][a-z-]*):", source(ROOT / "Makefile"), re.MULTILINE))
    commands, wrong = get_commands(), []
    for page in documents():
        for code in page.code():
            named = re.findall(r"(?:^|&& |; )make ([a-z][a-z-]*)", code)
            called = re.findall(r"manage\.py ([a-z_]+)", code)
            if not targets.issuperset(named) or not commands.keys() >= set(called):
                wrong.append(f"{page}: {code}")
    assert not wrong


def test_settings_exist() -> None:
    known = {name for group in reference.MEANINGS.values() for name in group} | READ_ELSEWHERE.keys() | _OF_EXAMPLES
    wrong = [
        f"{page}: {name}"
        for page in documents()
        for name in _SETTING.findall(page.text)
        if name.removesuffix("_FILE") not in known
    ]
    assert not wrong


def test_code_cites_no_document_that_is_not_here() -> None:
    cites = re.compile(r"(?<!docs/)\b(?:design|tools|style|review-ui|retrieval)\.md\b|\.md §")
    files = [path for folder in sorted(folders(ROOT)) for path in (ROOT / folder).glob("**/*.py")]
    named = [path.relative_to(ROOT).as_posix() for path in files if cites.search(source(path)) and path != THIS]
    assert not named


def test_nothing_is_cited_that_is_not_here() -> None:
    cites = re.compile(r"§\s?\d|\b(?:edit|their|that) plan\b")
    assert [str(page) for page in documents() if cites.search(page.text)] == []


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
    titles = re.findall(r"^## (.+)$", first.text, re.M)
    for each in records:
        titles.append(each.text.splitlines()[0].removeprefix("# "))
        assert each.name.startswith(f"docs/decisions/{int(titles[-1].partition('. ')[0]):04}-")
    for title in titles:
        number, _, said = title.partition(". ")
        assert f"| {number} | [{said}](" in index.text
