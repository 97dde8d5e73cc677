"""Patterns and word lists that stand in a TOML file beside a module."""

from pathlib import Path

import pytest

from memory_app.text import patterns

pytestmark = pytest.mark.pure

FILE = r"""
greeting = '''<hello>,? (?:<people>)
      \b'''
[parts]
hello = 'good <times>'
times = '(?:morning|evening)'
[words]
people = ['tim', 'alice mallory']
"""


def test_parts_and_words_stand_in_for_their_names(tmp_path: Path) -> None:
    (tmp_path / "greetings.toml").write_text(FILE)

    read = patterns.beside(str(tmp_path / "greetings.py"))

    assert read["greeting"] == r"good (?:morning|evening),? (?:mallory|alice|tim)\b"
    assert read["words"]["people"] == ["tim", "alice mallory"]
