"""A text cut into units with separators between them: paragraphs, rows of a table, cells, sentences."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, repeat
from typing import NamedTuple

from rapidfuzz.distance import Indel, LCSseq

from memory_app.text import lines
from memory_app.text.worddiff import compare

_CELL = re.compile(r"(?:\\.|[^|\\]|\\$)+|\|", re.DOTALL)
_CLOSERS = re.escape(lines.CLOSERS)
_SENTENCE_END = re.compile(rf"(?<![.!?…])[.!?…]++[{_CLOSERS}]*+(?=\s)|[。！？]+[{_CLOSERS}]*+")


class Units(NamedTuple):
    """A text in units, none empty, and the separators before, between and after them (one more than units)."""

    texts: list[str]
    separators: list[str]

    def raw(self, start: int, end: int) -> str:
        """Return the text of the units `[start:end]` with the separators before and after them."""
        inside = self.inner(start, end) + self.separators[end] if start < end else ""
        return self.separators[start] + inside

    def inner(self, start: int, end: int) -> str:
        """Return the text of the units `[start:end]` without the separators around them."""
        found = self.texts[start : start + 1] if start < end else []
        for index in range(start + 1, end):
            found += (self.separators[index], self.texts[index])
        return "".join(found)

    def part(self, start: int, end: int) -> Units:
        """Return the units `[start:end]` with the separators before and after them."""
        return Units(self.texts[start:end], self.separators[start : end + 1])


Splitter = Callable[[str], Units]


class Level(NamedTuple):
    """A way to cut a text.

    Attributes:
        across: what to do where the sides cut a passage differently: merge its sentences, its words, or neither.
        strict: white space between two units is a change like any other; else it gives way to changed words.
        ends: signs by which to know that what was put into a unit could be one of its own.
        is_fixed: a unit is told by its place, whatever is in it.
        replaced: a unit with less than this share of the words of the one in its place is another one. Of two
            sentences taken at random 1 in 200 shares more, of a sentence and a paraphrase of it 1 in 7 less.
    """

    split: Splitter
    across: str = ""
    strict: bool = True
    ends: str = ""
    is_fixed: bool = False
    replaced: float = 0.25


def paragraphs(text: str) -> Units:
    """Cut at line ends. Lines of a paragraph wrapped by hand, and the rows of a table, are one unit."""
    texts: list[str] = []
    separators: list[str] = []
    separator = above = ""
    was_row = False
    has_rows = "|" in text
    found = lines.with_ends(text)
    for line, is_wrapped in zip(found, _are_wrapped(found), strict=True):
        body = line.rstrip()
        if not body:
            separator += line
            continue
        is_row = has_rows and lines.is_table_row(body)
        goes_on = separator.count("\n") == 1
        if was_row or is_row:
            goes_on = goes_on and was_row and is_row
        elif goes_on:
            goes_on = not separator.startswith("  ") and lines.continues(above, body)
            goes_on = goes_on and (is_wrapped or above.rstrip(lines.CLOSERS)[-1:] not in lines.STOPS)
        if goes_on:
            texts[-1] += separator + body
        else:
            separators.append(separator)
            texts.append(body)
        above, separator, was_row = body, line[len(body) :], is_row
    return Units(texts, [*separators, separator])


def _are_wrapped(found: Sequence[str]) -> Iterator[bool]:
    """Yield for each line whether it and those around it, up to an empty one, may have been wrapped by hand.

    Where one is longer, each sentence may have a line of its own, and an end of a line is the end of a paragraph.
    """
    for is_empty, run in groupby(found, key=str.isspace):
        together = list(run)
        longest = 0 if is_empty else max(map(len, together))
        yield from repeat(longest <= lines.LONGEST_WRAPPED, len(together))


def rows(text: str) -> Units:
    """Cut a table into its rows; anything else is one unit."""
    if not lines.is_table_row(text) or "\n" not in text:
        return Units([text], ["", ""])
    return _stripped(lines.with_ends(text))


def cells(text: str) -> Units:
    """Cut a row of a table into cells and the bars between them; anything else is one unit."""
    if not lines.is_table_row(text) or "\n" in text:
        return Units([text], ["", ""])
    return _stripped(_CELL.findall(text))


def sentences(text: str) -> Units:
    """Cut a paragraph after each sentence, and after the sign a list item or heading begins with."""
    pieces: list[str] = []
    start = 0
    marker = lines.MARKER.match(text)
    if marker and marker.end() < len(text):
        start = marker.end()
        pieces.append(text[:start])
    for match in _SENTENCE_END.finditer(text, start):
        if match[0] == "." and lines.is_abbreviated(text, start, match.end()):
            continue
        pieces.append(text[start : match.end()])
        start = match.end()
    return _stripped([*pieces, text[start:]])


def flat(units: Units) -> Units:
    """Return the sentences of all the paragraphs, a table being one of them."""
    texts: list[str] = []
    separators = [units.separators[0]]
    for text, after in zip(units.texts, units.separators[1:], strict=True):
        inner = Units([text], ["", ""]) if lines.is_table_row(text) else sentences(text)
        texts += inner.texts
        separators[-1] += inner.separators[0]
        separators += inner.separators[1:]
        separators[-1] += after
    return Units(texts, separators)


def _stripped(pieces: Iterable[str]) -> Units:
    """Return the pieces as units, with the white space around them in the separators."""
    texts: list[str] = []
    separators: list[str] = []
    separator = ""
    for piece in pieces:
        body = piece.strip()
        if not body:
            separator += piece
            continue
        start = piece.index(body[0])
        separators.append(separator + piece[:start])
        texts.append(body)
        separator = piece[start + len(body) :]
    return Units(texts, [*separators, separator])


# -- alignment ------------------------------------------------------------------------------------

#: For each unit of the base its place in the changed text, or None; rising.
Match = list[int | None]

#: Share of the words of two units that is in both, from which one is taken for the other, changed.
ALIKE = 0.5

#: Pairs of equal units compared at once, about 35 ms and 31 MB; and pairs of units compared by their words, 40 ms.
_MOST_PAIRS = 250_000_000
_MOST_SIMILAR_PAIRS = 40_000


def aligned(old: Sequence[str], new: Sequence[str]) -> Match:
    """Return where each unit of `old` is in `new`: equal ones first, then similar ones between them."""
    match: Match = [None] * len(old)
    _match_equal(old, new, match)
    at = new_at = 0
    for index, new_index in [*enumerate(match), (len(old), len(new))]:
        if new_index is not None:
            _match_similar(old, new, (at, index, new_at, new_index), match)
            at, new_at = index + 1, new_index + 1
    return match


class Side(NamedTuple):
    """A changed text: its units, and where those of the base are among them."""

    texts: Sequence[str]
    match: Match


def reconciled(old: Sequence[str], one: Side, other: Side) -> Match:
    """Return the match of `one` so that what is new in both sides is read as in `other`: a unit changed, or put in."""
    origins = {other.texts[place]: index for index, place in enumerate(other.match) if place is not None}
    put_in = set(other.texts) - set(origins)
    taken = {place for place in one.match if place is not None}
    changed = {origins[text]: place for place, text in enumerate(one.texts) if text in origins and place not in taken}
    match: Match = []
    before = -1
    for index, (place, after) in enumerate(zip(one.match, _following(one), strict=True)):
        new = place
        if place is None and before < changed.get(index, -1) < after:
            around = (at for at in (changed[index] - 1, changed[index] + 1) if before < at < after)
            if not any(_is_inside(*compare.coded_words([one.texts[at], old[index]])) for at in around):
                new = changed[index]
        elif place is not None and one.texts[place] in put_in and similarity(old[index], one.texts[place]) < ALIKE:
            new = None
        match.append(new)
        before = before if new is None else new
    return match


def _following(side: Side) -> list[int]:
    """Return for each unit of the base where the next one that is matched is in the changed text."""
    found = []
    after = len(side.texts)
    for place in reversed(side.match):
        after = after if place is None else place
        found.append(after)
    return found[::-1]


def similarity(one: str, other: str) -> float:
    """Return which share of the words and signs of two texts is in both, in the same order; from 0 to 1."""
    return Indel.normalized_similarity(*compare.coded_words([one, other]))


def is_replaced(old: str, new: str, share: float) -> bool:
    """Whether another unit stands in the place of one: less than a share of the words is in both."""
    much = int(2 * share * max(len(old), len(new))) + 1
    if old[:much] == new[:much] or old[-much:] == new[-much:]:
        return False
    words, new_words = _words(old), _words(new)
    return bool(words and new_words) and Indel.normalized_similarity(*compare.coded(words, new_words)) < share


def _words(text: str) -> list[str]:
    """Return the words; of a script without spaces each two characters in a row, as a single one says little."""
    found = [piece for piece in compare.visible_words(text) if compare.is_word(piece)]
    return [
        word + after if len(word) == len(after) == 1 and not compare.is_spaced(word) else word
        for word, after in zip(found, [*found[1:], ""], strict=False)
    ]


def moved(gone: Sequence[str], put_in: Sequence[str]) -> frozenset[str]:
    """Return the units that were taken out at one place and put in at another, both as they were and as they are."""
    found = {*gone} & {*put_in}
    if len(gone) * len(put_in) <= _MOST_SIMILAR_PAIRS:
        codes = compare.coded_words([*gone, *put_in])
        for old, code in zip(gone, codes, strict=False):
            for new, new_code in zip(put_in, codes[len(gone) :], strict=True):
                if Indel.normalized_similarity(code, new_code) >= ALIKE:
                    found |= {old, new}
    return frozenset(found)


# -- equal units ------------------------------------------------------------------------------------

Range = tuple[int, int, int, int]


def _match_equal(old: Sequence[str], new: Sequence[str], match: Match) -> None:
    """Match what both begin and end with, then what occurs once in both, then the longest common subsequence."""
    stack: list[Range] = [(0, len(old), 0, len(new))]
    while stack:
        start, end, new_start, new_end = stack.pop()
        while start < end and new_start < new_end and old[start] == new[new_start]:
            match[start] = new_start
            start, new_start = start + 1, new_start + 1
        while start < end and new_start < new_end and old[end - 1] == new[new_end - 1]:
            end, new_end = end - 1, new_end - 1
            match[end] = new_end
        if start == end or new_start == new_end:
            continue
        pairs = compare.rising(compare.single_pairs(old[start:end], new[new_start:new_end]))
        chain = [(start + index, new_start + new_index) for index, new_index in pairs]
        if not chain:
            if (end - start) * (new_end - new_start) <= _MOST_PAIRS:
                changes = compare.matched(*compare.coded(old[start:end], new[new_start:new_end]))
                for at, place in compare.unchanged(changes, end - start):
                    match[start + at] = new_start + place
            continue
        for index, new_index in chain:
            match[index] = new_index
            stack.append((start, index, new_start, new_index))
            start, new_start = index + 1, new_index + 1
        stack.append((start, end, new_start, new_end))


# -- similar units ----------------------------------------------------------------------------------


#: A unit's text, and its words coded.
_Coded = tuple[str, str]


def _match_similar(old: Sequence[str], new: Sequence[str], where: Range, match: Match) -> None:
    """Match units that differ inside, so that the similarities of all pairs add up to most."""
    start, end, new_start, new_end = where
    count, new_count = end - start, new_end - new_start
    if count == new_count == 1:
        match[start] = new_start
        return
    if count == new_count:
        pairs = list(zip(range(start, end), range(new_start, new_end), strict=True))
        if all(similarity(old[index], new[new_index]) >= ALIKE for index, new_index in pairs):
            for index, new_index in pairs:
                match[index] = new_index
            return
    if not count or not new_count or count * new_count > _MOST_SIMILAR_PAIRS:
        return
    codes = compare.coded_words([*old[start:end], *new[new_start:new_end]])
    left, right = codes[:count], codes[count:]
    paired = list(_best_pairs(left, right))
    taken, new_taken = {index for index, _ in paired}, {index for _, index in paired}
    parts = [*zip(old[start:end], left, strict=True)]
    new_parts = [*zip(new[new_start:new_end], right, strict=True)]
    for index, new_index in paired:
        was_joined = any(_is_part(each, new_parts[new_index]) for each in _free_beside(index, parts, taken))
        was_split = any(_is_part(each, parts[index]) for each in _free_beside(new_index, new_parts, new_taken))
        if not was_joined and not was_split:
            match[start + index] = new_start + new_index


def _best_pairs(left: Sequence[str], right: Sequence[str]) -> Iterator[tuple[int, int]]:
    rows, columns = len(left), len(right)
    alike = [[Indel.normalized_similarity(one, other, score_cutoff=ALIKE) for other in right] for one in left]
    best = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    for row in reversed(range(rows)):
        for column in reversed(range(columns)):
            share = alike[row][column]
            both = best[row + 1][column + 1] + share if share else 0.0
            best[row][column] = max(best[row + 1][column], best[row][column + 1], both)
    row = column = 0
    while row < rows and column < columns:
        share = alike[row][column]
        if share and best[row][column] == best[row + 1][column + 1] + share:
            yield row, column
            row, column = row + 1, column + 1
        elif best[row][column] == best[row + 1][column]:
            row += 1
        else:
            column += 1


def _free_beside(index: int, units: Sequence[_Coded], taken: set[int]) -> Iterator[_Coded]:
    """Yield the unmatched units directly before and after."""
    for step in (-1, 1):
        other = index + step
        while 0 <= other < len(units) and other not in taken:
            yield units[other]
            other += step


def _is_part(part: _Coded, whole: _Coded) -> bool:
    """Whether at least half of a unit is in another one, or a sentence of at least three words in both."""
    if _is_inside(part[1], whole[1]):
        return True
    shared = {*sentences(part[0]).texts} & {*sentences(whole[0]).texts}
    return any(len(compare.words(text)) > 2 for text in shared)


def _is_inside(part: str, whole: str) -> bool:
    """Whether at least half of a unit is in another one."""
    return LCSseq.similarity(part, whole) >= ALIKE * len(part)
