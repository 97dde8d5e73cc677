"""The catalogues in locale/: complete, compiled, and written as CONTRIBUTING.md says."""

import ast
import gettext
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import polib
import pytest
from django.utils.translation.template import templatize

from tests.support.reading import APPS, ROOT

pytestmark = pytest.mark.pure

CATALOGUES = sorted((ROOT / "locale").rglob("*.po"))
OURS = sorted((ROOT / "locale").glob("*/LC_MESSAGES/django.po"))
_PLACEHOLDERS = re.compile(r"%\(\w+\)[sd]|\{\w+\}|#(?!%)[nm]?|</?[a-z][^<>]*>|%%")
#: Calls by which a text is translated, and where among their arguments it is.
_CALLS = {"_": 0, "gettext": 0, "gettext_lazy": 0, "gettext_noop": 0, "ngettext": 0, "ngettext_lazy": 0}
_CALLS |= {"pgettext": 1, "pgettext_lazy": 1, "npgettext": 1, "npgettext_lazy": 1}
_IN_TEMPLATES = re.compile(r"\b(?:gettext|_)\(\s*('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")")


def texts_of_sources() -> Iterator[tuple[str, str]]:
    """Yield each text that templates and modules have translated, with where it is."""
    for path in sorted((ROOT / "templates").rglob("*.*")):
        for found in _IN_TEMPLATES.finditer(templatize(path.read_text())):
            yield ast.literal_eval(found[1]), str(path)
    for app in APPS[:3]:
        for path in sorted((ROOT / app).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                name = ast.unparse(node.func).rpartition(".")[2] if isinstance(node, ast.Call) else ""
                if isinstance(node, ast.Call) and name in _CALLS and len(node.args) > _CALLS[name]:
                    said = node.args[_CALLS[name]]
                    if isinstance(said, ast.Constant) and isinstance(said.value, str):
                        yield said.value, str(path)


def texts_of_data() -> Iterator[str]:
    """Yield each text of a data file that pages show translated."""
    for way in tomllib.loads((ROOT / "agent_tools" / "snippets.toml").read_text())["ways"]:
        yield from (way["title"], way["about"], *(each["title"] for each in way["snippets"]))
    for person in tomllib.loads((ROOT / "approvals" / "demo" / "story.toml").read_text())["people"]:
        yield person["what"]


def said_by(entry: polib.POEntry) -> list[str]:
    return list(entry.msgstr_plural.values()) if entry.msgid_plural else [entry.msgstr]


@pytest.mark.parametrize("path", CATALOGUES, ids=str)
def test_every_text_has_a_translation_with_its_placeholders(path: Path) -> None:
    for entry in polib.pofile(str(path)):
        assert not entry.fuzzy, entry.msgid
        assert not entry.obsolete, entry.msgid
        assert all(said_by(entry)), f"not translated: {entry.msgid}"
        for place, said in enumerate(said_by(entry)):
            source = entry.msgid_plural if entry.msgid_plural else entry.msgid
            left_out = set(_PLACEHOLDERS.findall(source)) - set(_PLACEHOLDERS.findall(said))
            invented = set(_PLACEHOLDERS.findall(said)) - set(_PLACEHOLDERS.findall(source))
            assert not invented, (entry.msgid, said)
            assert not left_out or (entry.msgid_plural and place == 0), (entry.msgid, said)


@pytest.mark.parametrize("path", CATALOGUES, ids=str)
def test_what_is_compiled_is_what_is_written(path: Path) -> None:
    """Django reads the .mo, which is stored with its .po: who runs Assent needs no gettext. `make texts` compiles."""
    with path.with_suffix(".mo").open("rb") as compiled:
        read = gettext.GNUTranslations(compiled)
    catalogue = dict(read._catalog)  # type: ignore[attr-defined]
    del catalogue[""]
    written: dict[object, str] = {}
    for entry in polib.pofile(str(path)):
        key = f"{entry.msgctxt}\x04{entry.msgid}" if entry.msgctxt else entry.msgid
        written |= (
            {(key, place): said for place, said in entry.msgstr_plural.items()}
            if entry.msgid_plural
            else {key: entry.msgstr}
        )
    assert catalogue == written, "run `make texts`"


@pytest.mark.parametrize("path", OURS, ids=str)
def test_every_text_of_the_sources_is_in_the_catalogue(path: Path) -> None:
    known = {entry.msgid for entry in polib.pofile(str(path))}
    missing = sorted({f"{where}: {said}" for said, where in texts_of_sources() if said and said not in known})
    assert not missing, "\n".join(["run `make texts` and translate:", *missing])
    assert len(known) > 2_000, "texts are found"


def test_every_text_of_data_files_is_in_the_catalogue() -> None:
    for path in OURS:
        beside = ROOT / "locale" / "of-libraries" / path.relative_to(ROOT / "locale")
        known = {entry.msgid for entry in polib.pofile(str(beside))}
        assert not set(texts_of_data()) - known


def german() -> Iterator[str]:
    for path in CATALOGUES:
        if "de" in path.parts:
            for entry in polib.pofile(str(path)):
                yield from said_by(entry)


def test_german_says_du_and_writes_german_quotes() -> None:
    for said in german():
        # At the beginning of a sentence it is "they" or "she".
        assert not re.search(r"(?<![.!?:„“] )(?<!^)(?<!„)\b(Sie|Ihnen|Ihr|Ihre[mnrs]?)\b", said), said
        assert said.count("„") == said.count("“"), said
        assert not re.search(r'[”"]', re.sub(r"<[^>]*>", "", said)), said
