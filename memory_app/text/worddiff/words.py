"""Cutting a text into words, white space, line ends and punctuation, so that the pieces joined are the text.

A piece never ends inside what a reader sees as one character: accents stay with their letter, and an
emoji made of several code points stays whole. Scripts written without spaces are cut per character.
"""

from __future__ import annotations

import re
import sys
import unicodedata

# Scripts written without spaces between words: a "word" of a whole Chinese sentence would make every
# change of one character look like a new sentence. Kana, CJK, Thai to Lao, Myanmar, Khmer.
_UNSPACED = (
    "\u0e01-\u0e30\u0e32\u0e33\u0e40-\u0e46\u0e81-\u0eb0\u0eb2\u0eb3\u0ebd-\u0ec6\u1000-\u102a\u1780-\u17b3"
    "\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9d\U00020000-\U0003ffff"
)


def _marks() -> str:
    """Return every combining mark as ranges for a character class: `\\w` lacks them, so Hindi would fall apart."""
    ranges: list[list[int]] = []
    # No marks are assigned between the end of plane 1 and the variation selectors; scanning all planes takes 0.1 s.
    for point in (*range(0x300, 0x20000), *range(0xE0100, 0xE01F0)):
        if unicodedata.category(chr(point)).startswith("M"):
            if ranges and ranges[-1][1] == point - 1:
                ranges[-1][1] = point
            else:
                ranges.append([point, point])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)


_MARK = f"[{_marks()}\u200c\u200d]"
_LETTER = rf"[^\W{_UNSPACED}]"
# Possessive: what follows a word is never part of one, and giving letters back would take exponential time.
_LETTERS = f"{_LETTER}++(?:{_MARK}++{_LETTER}*+)*+"
# What prolongs an emoji: marks and variation selectors, skin tones, tags (regional flags), a joiner and the next one.
_PROLONGED = f"(?:\u200d\\S|{_MARK}|[\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f])*+"

_PIECE = re.compile(
    "|".join(
        (
            rf"{_LETTERS}(?:['’]{_LETTERS}|(?<=\d)[.,](?=\d){_LETTERS})*+",
            r"\r\n|[\r\n]",
            r"[^\S\r\n]+",
            rf"[\U0001f1e6-\U0001f1ff]{{2}}|[^\s]{_PROLONGED}",
        )
    ),
    re.DOTALL,
)
_UNSPACED_CHAR = re.compile(f"[{_UNSPACED}]")
_LINE_ENDS = frozenset(("\n", "\r\n", "\r"))


def tokens(text: str) -> list[str]:
    """Return `text` cut into words, runs of white space, single line ends, and single other characters."""
    # The same few thousand words come again and again; sharing them makes the comparisons that follow quicker.
    return [sys.intern(piece) for piece in _PIECE.findall(text)]


def is_word(piece: str) -> bool:
    """Whether the piece is a word (or a character of a script without spaces)."""
    return piece[:1].isalnum()


def is_spaced(char: str) -> bool:
    """Whether the character belongs to a script that puts spaces between words."""
    return not _UNSPACED_CHAR.match(char)


def is_line_end(piece: str) -> bool:
    """Whether the piece ends a line."""
    return piece in _LINE_ENDS
