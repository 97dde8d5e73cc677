"""No regular expression over untrusted text takes more than linear time: the matcher holds the whole process.

`re` keeps other threads from running while it matches. `!?\\[([^\\]]*)\\]` over 60,000 brackets stopped the server for
11 seconds. Every compiled pattern of the project is found here by itself; a new one needs no entry.
"""

import ast
import importlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
from django import forms
from django.apps import apps
from django.core.validators import EmailValidator, RegexValidator
from django.urls import URLResolver, get_resolver

import agent_tools
import approvals
import memory_app
from tests.hostile.growth import superlinear
from tests.hostile.shapes import shapes

pytestmark = [pytest.mark.slow, pytest.mark.pure]

PACKAGES = (memory_app, approvals, agent_tools)
#: Needs the client library of a server, which the embedded edition does not have.
SERVER_ONLY = {"memory_app.dolt.server.base"}

#: Compiled for one search (`test_functions` has the function), and for one comparison, of a set of characters.
MADE_WHEN_CALLED = {"approvals.pages.memory_search", "memory_app.text.worddiff.moved"}
#: Of Django's admin; no address that long gets as far (`test_addresses`).
BOUNDED_ELSEWHERE = "address.r/<path:content_type_id>/<path:object_id>/"

SIZES = (16, 128, 1_024, 8_192)

METHODS: dict[str, Callable[[re.Pattern[str], str], object]] = {
    "finditer": lambda pattern, text: sum(1 for _ in pattern.finditer(text)),
    "match": lambda pattern, text: pattern.match(text),
    "fullmatch": lambda pattern, text: pattern.fullmatch(text),
}
#: The methods of `re` and what each costs.
COSTS = {
    **dict.fromkeys(("search", "finditer", "findall", "sub", "subn", "split"), "finditer"),
    "match": "match",
    "fullmatch": "fullmatch",
}


def trees() -> Iterator[tuple[str, ast.Module]]:
    """Every module by its name, as it is written."""
    for package in PACKAGES:
        top = Path(package.__path__[0])
        for path in sorted(top.rglob("*.py")):
            name = ".".join((package.__name__, *path.relative_to(top).with_suffix("").parts))
            yield name.removesuffix(".__init__"), ast.parse(path.read_text())


def modules() -> Iterator[ModuleType]:
    """Those in which patterns are compiled, by us or for a form; others are not imported for this."""
    for name, tree in trees():
        if any(isinstance(node, ast.Name) and node.id in ("re", "RegexValidator", "forms") for node in ast.walk(tree)):
            try:
                yield importlib.import_module(name)
            except ImportError:
                assert name in SERVER_ONLY


def used() -> dict[str, set[str]]:
    """How each pattern is used, by its name: `_RULE.fullmatch(line)`; what is used in other ways is not here."""
    found: dict[str, set[str]] = defaultdict(set)
    named: dict[str, int] = defaultdict(int)
    for _, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
                named[_name(node)] += 1
            if isinstance(node, ast.Attribute) and node.attr in COSTS:
                found[_name(node.value)].add(COSTS[node.attr])
                named[_name(node.value)] -= 1
    # A name that is handed on as well may be used in any way.
    return {name: methods for name, methods in found.items() if name and not named[name]}


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def patterns_in(values: Iterable[tuple[str, object]]) -> Iterator[tuple[str, re.Pattern[str]]]:
    for name, value in values:
        if isinstance(value, re.Pattern):
            yield name, value
        elif isinstance(value, RegexValidator):
            yield name, re.compile(value.regex)
        elif isinstance(value, EmailValidator):
            yield from ((name, pattern) for pattern in (value.user_regex, value.domain_regex))
        elif isinstance(value, list | tuple | set | frozenset):
            yield from patterns_in((name, each) for each in value)
        elif isinstance(value, dict):
            yield from patterns_in((name, each) for each in value.values())


def every_pattern() -> dict[str, tuple[re.Pattern[str], set[str]]]:
    """Each pattern by where it stands, and how it is used."""
    methods = used()
    found: dict[str, tuple[re.Pattern[str], set[str]]] = {}

    def take(where: str, values: Iterable[tuple[str, object]], *ways: str) -> None:
        for name, pattern in patterns_in(values):
            if isinstance(pattern.pattern, str):
                known = {way for way in ways or methods.get(name, ()) if way} or set(METHODS)
                # Test processes have to agree on the names, and one pattern has a secret that each process draws.
                shown = re.sub(r"[0-9a-f]{16}", "secret", pattern.pattern[:40])
                found.setdefault(f"{where}.{name} {shown!r}", (pattern, known))

    for module in modules():
        take(module.__name__, vars(module).items())
        for owner in {value for value in vars(module).values() if isinstance(value, type)}:
            if owner.__module__ == module.__name__:
                take(f"{module.__name__}.{owner.__name__}", vars(owner).items())
                if issubclass(owner, forms.BaseForm):
                    fields = getattr(owner, "base_fields", {})
                    take(owner.__name__, ((name, field.validators) for name, field in fields.items()), "finditer")
    for model in apps.get_models():
        if model.__module__.split(".")[0] in {package.__name__ for package in PACKAGES}:
            fields = ((field.name, getattr(field, "validators", ())) for field in model._meta.get_fields())
            take(model.__name__, fields, "finditer")
    take("address", addresses(get_resolver()), "finditer")
    return found


def addresses(resolver: URLResolver) -> Iterator[tuple[str, re.Pattern[str]]]:
    for each in resolver.url_patterns:
        yield str(each.pattern), each.pattern.regex
        if isinstance(each, URLResolver):
            yield from addresses(each)


EVERY = every_pattern()


def slow_shape(pattern: re.Pattern[str], methods: Iterable[str]) -> str:
    """The first hostile text that takes more than linear time, and how much more."""
    for described, text_of in shapes(pattern):
        for method in sorted(methods):
            run = METHODS[method]
            if found := superlinear(lambda text, run=run: run(pattern, text), text_of, SIZES):  # type: ignore[misc]
                return f"{method} of {described}: {found}"
    return ""


# Sorted, since forms are found in an order of their own each time, and test processes have to agree.
@pytest.mark.parametrize("where", sorted(where for where in EVERY if not where.startswith(BOUNDED_ELSEWHERE)))
def test_no_pattern_takes_more_than_linear_time(where: str) -> None:
    assert slow_shape(*EVERY[where]) == ""


def test_the_patterns_of_the_project_are_found() -> None:
    names = " ".join(EVERY)
    assert len(EVERY) > 60
    for known in ("rendering._LINK", "prompt_injection._STRONG", "ranking.chunking._CUTS", "User.username"):
        assert known in names, known


@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        (r"!?\[([^\]]*)\]\([^)]*\)", "finditer"),
        (r"[\s|:]*-{3,}[\s|:-]*", "fullmatch"),
        (r"^ {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$", "match"),
        (r"(?<![\w-])(?=[\w.-]*[\d_])[^\W_]+(?:[-_.][^\W_]+)+(?![\w-])", "finditer"),
        (r"[\"“][^\"”]+[\"”]", "finditer"),
        (r"\s+$", "finditer"),
        (r"(?:a+)+b", "match"),
        (r"(?:a|a)*b", "match"),
        (r"(\w+\s?)*!", "match"),
    ],
)
def test_slow_patterns_are_told(pattern: str, method: str) -> None:
    assert slow_shape(re.compile(pattern), {method}) != ""


@pytest.mark.parametrize(("where", "tree"), [pytest.param(*each, id=each[0]) for each in trees()])
def test_patterns_are_compiled_where_they_can_be_found(where: str, tree: ast.Module) -> None:
    inline: list[int] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inline += [
                call.lineno
                for call in ast.walk(node)
                if isinstance(call, ast.Call)
                and isinstance(call.func, ast.Attribute)
                and isinstance(call.func.value, ast.Name)
                and call.func.value.id == "re"
                and call.func.attr != "escape"
            ]
    assert inline == [] or where in MADE_WHEN_CALLED, "a pattern in a function is in no test: compile it in the module"
