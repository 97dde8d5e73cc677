"""The README is short, names the commands people start with, and its map is that of the folders."""

import re
from itertools import takewhile

import pytest

from tests.docs.documents import ROOT, document, folders
from tests.pictures import LARGEST, PICTURES, THEMES

pytestmark = pytest.mark.pure


def named(line: str) -> set[str]:
    """The folders a line begins with: `views/ forms/     load, call one service, render`."""
    return {word.rstrip("/") for word in takewhile(lambda word: word.endswith("/"), line.split())}


def lines_of_the_map() -> list[str]:
    return next(document("README.md").fences("text")).splitlines()


@pytest.mark.parametrize("app", ["", "memory_app", "approvals", "agent_tools"])
def test_the_map_has_every_folder_and_no_other(app: str) -> None:
    above, drawn = "", set[str]()
    for line in lines_of_the_map():
        is_inside = line.startswith(" ")
        if not is_inside:
            above = line.split("/")[0]
        if app == (above if is_inside else ""):
            drawn |= named(line)
    assert drawn == folders(ROOT / app)


def test_folders_of_ours_say_what_they_are_for() -> None:
    of_django = {"formats", "management", "migrations", "templatetags"}
    for line in lines_of_the_map():
        words = re.sub(r"^\s*(?:\S+/\s+)+", "", line + " ").strip()
        assert words or named(line) <= of_django, line


def test_it_is_short_and_says_how_to_start() -> None:
    text = document("README.md").text
    assert len(text.splitlines()) <= 120
    assert max(map(len, text.splitlines())) <= 140
    shell = "\n".join(document("README.md").fences("sh"))
    assert "make run" in shell
    assert "make test" in shell
    assert "TOKEN=$(cat var/demo_token)" in text


def test_its_pictures_are_those_made_and_small() -> None:
    made = {
        f"docs/pictures/{picture.file(theme).name}": picture.file(theme) for picture in PICTURES for theme in THEMES
    }
    assert sorted(made) == sorted(re.findall(r'(?:src|srcset)="([^"]+)"', document("README.md").text))
    assert sorted((ROOT / "docs" / "pictures").iterdir()) == sorted(made.values())
    assert all(file.stat().st_size < LARGEST for file in made.values())
