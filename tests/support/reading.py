"""Collect every string that people can read: on pages, in mails, in the admin, from commands and scripts.

What agents are told (errors and results of the API) is not collected: its texts are fixed by contract.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: The apps, and the command, which is part of the client; the rest of the client has texts for programmers.
APPS = ("approvals", "memory_app", "agent_tools", "clients/python/assent_client/cli")
_GETTEXT = frozenset({"_", "gettext", "gettext_lazy", "ngettext", "ngettext_lazy", "pgettext", "pgettext_lazy"})


@dataclass(frozen=True)
class Text:
    """A text and where it is written; `path` from the repository's folder on."""

    path: str
    line: int
    words: str


@cache
def texts() -> tuple[Text, ...]:
    """Every such string of the repository, read once."""
    found: list[Text] = []
    for path in sorted((ROOT / "templates").rglob("*.*")):
        found += _of_template(path)
    for app in APPS:
        for path in sorted((ROOT / app).rglob("*.py")):
            if "migrations" not in path.parts:
                found += _of_module(path)
    for path in sorted((ROOT / "static").glob("*.js")):
        found += _of_script(path)
    return (*found, *_of_makefile(ROOT / "Makefile"))


_NOT_SHOWN = re.compile(r"\{#.*?#\}|\{% comment.*?endcomment %\}|<style.*?</style>|<script.*?</script>", re.S)
_QUOTED = re.compile(r"""\{%\s*(?:translate|trans)\s+(?:"([^"]*)"|'([^']*)')[^%]*%\}""")
_TAGS = re.compile(r"\{%.*?%\}|\{\{.*?\}\}|<[^<>]*>", re.S)


def _blank(found: re.Match[str]) -> str:
    """Nothing in the place of what is not shown, with its line ends, so that lines keep their numbers."""
    return " " + "\n" * found[0].count("\n")


def _of_template(path: Path) -> Iterator[Text]:
    shown = _NOT_SHOWN.sub(_blank, path.read_text())
    # A translated string may be the value of an attribute, so it is taken out of its tag before tags go.
    for found in _QUOTED.finditer(shown):
        yield Text(_name(path), shown.count("\n", 0, found.start()) + 1, found[1] or found[2] or "")
    for number, line in enumerate(_TAGS.sub(_blank, _QUOTED.sub(_blank, shown)).splitlines(), 1):
        if line.strip():
            yield Text(_name(path), number, " ".join(line.split()))


def _of_module(path: Path) -> Iterator[Text]:
    tree = ast.parse(path.read_text())
    is_command = "commands" in path.parts or "cli" in path.parts
    for_us = {id(docstring) for node in ast.walk(tree) if (docstring := _docstring_for_us(node))}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in _GETTEXT:
            found = [argument for argument in node.args if isinstance(argument, ast.Constant)]
        elif is_command and isinstance(node, ast.Constant) and id(node) not in for_us:
            found = [node]
        else:
            continue
        for each in found:
            if isinstance(each.value, str) and (not is_command or " " in each.value):
                yield Text(_name(path), each.lineno, each.value)


def _docstring_for_us(node: ast.AST) -> ast.Constant | None:
    """The docstring of a node that no command prints: that of a decorated function is a command's help."""
    if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) or not node.body:
        return None
    if isinstance(node, ast.FunctionDef) and node.decorator_list:
        return None
    first = node.body[0]
    return first.value if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) else None


_COMMENT = re.compile(r"/\*.*?\*/|(?<![:\"'])//[^\n]*", re.S)
_LITERAL = re.compile(r'"([^"\n]*)"|`([^`]*)`')


def _of_script(path: Path) -> Iterator[Text]:
    code = _COMMENT.sub(_blank, path.read_text())
    for found in _LITERAL.finditer(code):
        words = found[1] or found[2] or ""
        if " " in words:
            yield Text(_name(path), code.count("\n", 0, found.start()) + 1, words)


def _of_makefile(path: Path) -> Iterator[Text]:
    """What `make` prints, and the help behind its targets."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        for found in re.finditer(r"(?:echo|printf) ['\"]([^'\"]*)['\"]|## (.*)", line):
            yield Text(_name(path), number, found[1] or found[2] or "")


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()
