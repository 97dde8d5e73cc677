"""Text without what is only its form: white space, case, kinds of quotation marks and dashes, marks on letters.

Belongs here: folding a text for comparison, and finding a place of the folded text in the original.
Not here: the form in which words are searched, with spaces and stems (`stems`), and the stricter one in which two notes
say the same, with accents (`alike.said_by`).
"""

import unicodedata
from bisect import bisect_right
from itertools import accumulate

# Text is folded block by block: finding a place again folds one block and not the whole text. The smaller the blocks,
# the more are ASCII, which folds fastest: blocks of 1,024 take a tenth longer.
_BLOCK = 256

#: Typographic quotation marks, with the ASCII ones that are typed for them.
QUOTES = {**dict.fromkeys(map(ord, "‘’‚‛"), "'"), **dict.fromkeys(map(ord, "“”„‟"), '"')}
_PLAIN = {
    **QUOTES,
    ord("′"): "'",
    **dict.fromkeys(map(ord, "«»″"), '"'),
    **dict.fromkeys(map(ord, "‐‑‒–—―−"), "-"),
}


class _Table(dict[int, str]):
    """What each character becomes, computed at first use."""

    def __missing__(self, point: int) -> str:
        spread = unicodedata.normalize("NFKD", chr(point)).translate(_PLAIN)
        plain = "".join(char for char in spread if unicodedata.category(char) not in ("Mn", "Me", "Cf")).casefold()
        self[point] = plain
        return plain


_TABLE = _Table()


def fold(text: str) -> str:
    """Return the text as it is compared. Each character folds by itself, so folding parts gives the folded whole."""
    if text.isascii():
        return "".join(text.lower().split())
    # Each character by itself: normalising 200,000 marks on one letter takes 30 s, and they are dropped anyway.
    return "".join(text.translate(_TABLE).split())


def plain_quotes(text: str) -> str:
    """Return the text with typographic quotes and dashes replaced by ASCII ones."""
    return text.translate(_PLAIN)


class Folded:
    """A folded text, with the places of its characters in the original."""

    def __init__(self, original: str) -> None:
        self.original = original
        blocks = [fold(original[at : at + _BLOCK]) for at in range(0, len(original), _BLOCK)]
        self.text = "".join(blocks)
        self._ends = list(accumulate(map(len, blocks)))

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return where `text[start:end]` (not empty) is in the original, with the marks on its last character."""
        first, last = self._place(start), self._place(end - 1) + 1
        while last < len(self.original) and not self.original[last].isspace() and not fold(self.original[last]):
            last += 1
        return first, last

    def _place(self, at: int) -> int:
        """Return which character of the original became the folded character `at`."""
        block = bisect_right(self._ends, at)
        left = at - (self._ends[block - 1] if block else 0)
        for place in range(block * _BLOCK, len(self.original)):
            left -= len(fold(self.original[place]))
            if left < 0:
                return place
        raise IndexError(at)
