"""Comparing two texts of which lines may have been moved, and counting what a change adds, removes and moves.

Moved lines are put aside, each run of them behind a sign that neither text has; the rest is compared in order, and the
signs found in the result become the moved lines again.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, pairwise
from typing import NamedTuple

from rapidfuzz.distance import Indel
from rapidfuzz.process import cdist

from memory_app.text.lines import common, continues, with_ends, without_number
from memory_app.text.worddiff.compare import (
    Kind,
    Segment,
    coded_words,
    common_ends,
    diff_in_order,
    joined,
    rising,
    side_of,
    single_pairs,
    words,
)
from memory_app.text.worddiff.layout import Paragraph, paragraphs, with_replaced_paragraphs, with_starts


def diff(before: str, after: str) -> tuple[Segment, ...]:
    """Return the segments that lead from `before` to `after`, in reading order.

    Between two that are the same, what was removed stands before what was added. The same and removed segments joined
    are `before`; the same and added ones joined are `after`; none is empty and no two neighbours are of one kind and
    one move. A move has one segment of either kind, which is whole lines. The same texts always give the same segments.
    """
    if not before or not after:  # a new text, or one that is deleted: nothing to compare
        return (Segment("added" if after else "removed", before or after),) if before or after else ()
    end = _missing_end(before, after)
    moves = moved_lines(*_between_ends(before + end, after + end))
    for _ in range(_MOST_ROUNDS):
        if not moves:
            break
        segments = _with_moves(before + end, after + end, moves)
        torn = _torn(segments)
        if not torn:
            return _without_end(segments, end)
        moves = [move for number, move in enumerate(moves, 1) if number not in torn]
    return diff_in_order(before, after)


def redlined(segments: Iterable[Segment]) -> tuple[Paragraph, ...]:
    """Return the paragraphs of the redline: rewritten ones as a whole, the last line like any other."""
    return closed(segments)[0]


def closed(segments: Iterable[Segment]) -> tuple[tuple[Paragraph, ...], str]:
    """Return the redline's paragraphs, and the line end that was put after both texts, if any.

    That is done where neither text has one and lines come or go at the end: the line above them would count as changed
    otherwise, and they could not be taken one by one.
    """
    segments = tuple(segments)
    end = ""
    if segments and segments[-1].kind != "same":
        before, after = side_of(segments, "removed"), side_of(segments, "added")
        if end := _missing_end(before, after):
            segments = diff(before + end, after + end)
    return paragraphs(with_replaced_paragraphs(segments)), end


def _missing_end(before: str, after: str) -> str:
    """Return the line end that neither of two texts has at its end; empty where one has it, or has no line."""
    if not before or not after or before.endswith("\n") or after.endswith("\n"):
        return ""
    return "\r\n" if "\r\n" in before + after else "\n"


def _without_end(segments: Sequence[Segment], end: str) -> tuple[Segment, ...]:
    """Return the segments without the line end that was put after both texts."""
    if not end:
        return tuple(segments)
    last = len(segments) - 1
    found = list(segments)
    found[last] = replace(found[last], text=found[last].text.removesuffix(end))
    if segments[last].kind != "same":
        # The other text ends in the last segment that it has too.
        at = next(at for at in range(last - 1, -1, -1) if segments[at].kind != segments[last].kind)
        found[at] = replace(found[at], text=found[at].text.removesuffix(end))
        if segments[at].kind == "same":
            found.insert(at + 1, Segment(segments[last].kind, end))
    return joined(segment for segment in found if segment.text)


def _with_moves(before: str, after: str, moves: Sequence[Move]) -> tuple[Segment, ...]:
    """Return the segments with what was moved."""
    head, tail = common_ends(before, after)
    used = set(before + after)
    points = chain(range(0xF0000, 0x110000), range(0x20000, 0xF0000))  # private use first; no text has all of them
    signs = (sign for point in points if (sign := chr(point)) not in used)
    moved: dict[str, Segment] = {}
    texts = []
    kinds: tuple[Kind, Kind] = ("removed", "added")
    for kind, text, lines in zip(kinds, (before, after), _between_ends(before, after), strict=True):
        for number, move in enumerate(moves, 1):
            start = move.start if kind == "removed" else move.new_start
            sign = next(signs)
            moved[sign] = Segment(kind, "".join(lines[start : start + move.length]), number)
            lines[start : start + move.length] = [sign] + [""] * (move.length - 1)
        texts.append(text[:head] + "".join(lines) + text[len(text) - tail :])
    cut = re.compile(f"([{''.join(moved)}])")
    found: list[Segment] = []
    for segment in diff_in_order(*texts):
        pieces = cut.split(segment.text) if segment.kind != "same" else [segment.text]
        found += _with_blank_lines([moved.get(piece) or Segment(segment.kind, piece) for piece in pieces if piece])
    return joined(found)


def _between_ends(before: str, after: str) -> tuple[list[str], list[str]]:
    """Return the lines of both texts with their ends, but for those that both begin and end with."""
    head, tail = common_ends(before, after)
    return with_ends(before[head : len(before) - tail]), with_ends(after[head : len(after) - tail])


def _with_blank_lines(parts: list[Segment]) -> Iterator[Segment]:
    """Yield what was removed or added at one place, blank lines as part of the move beside them."""
    for number, part in enumerate(parts):
        if not part.move and part.text.endswith("\n") and not part.text.strip():
            beside = (*parts[:number][-1:], *parts[number + 1 : number + 2])
            part = replace(part, move=next((each.move for each in beside if each.move), 0))
        yield part


def _torn(segments: Sequence[Segment]) -> set[int]:
    """Return the moves of which a half does not stand on lines of its own, or not apart from the other one.

    One could not be taken without what stands on the same line otherwise. Where nothing is left between both halves,
    since the lines there were added or removed themselves, the line was changed in its place.
    """
    torn = {one.move for one, other in pairwise(segments) if one.move == other.move}
    for paragraph, is_start in with_starts(paragraphs(with_replaced_paragraphs(segments))):
        if not (paragraph.move and is_start):
            torn.update(segment.move for segment in paragraph.segments)
    return torn - {0}


def count_words(segments: Sequence[Segment]) -> tuple[int, int]:
    """Return how many words were added and how many removed; of what was moved, those that were changed as well."""
    added = sum(len(words(segment.text)) for segment in segments if segment.kind == "added" and not segment.move)
    removed = sum(len(words(segment.text)) for segment in segments if segment.kind == "removed" and not segment.move)
    for was, now in _moved_texts(segments):
        if was != now:
            inside = count_words(diff_in_order(was, now))
            added, removed = added + inside[0], removed + inside[1]
    return added, removed


def count_moved(segments: Sequence[Segment]) -> int:
    """Return how many paragraphs were moved: headings, items and rows too, each by itself."""
    count = 0
    for _was, now in _moved_texts(segments):
        above = ""
        for line in now.splitlines():
            count += bool(line.strip()) and not (above.strip() and continues(above, line))
            above = line
    return count


def count_moved_words(segments: Sequence[Segment]) -> int:
    """Return how many words the moved paragraphs have."""
    return sum(len(words(now)) for _was, now in _moved_texts(segments))


def _moved_texts(segments: Sequence[Segment]) -> list[tuple[str, str]]:
    """Return what each move took and what it put elsewhere, without the blank lines around them."""
    was = {segment.move: segment.text for segment in segments if segment.move and segment.kind == "removed"}
    now = {segment.move: segment.text for segment in segments if segment.move and segment.kind == "added"}
    return [(was[move].strip("\r\n"), now[move].strip("\r\n")) for move in sorted(was.keys() & now.keys())]


def changes_inside(items: Sequence[Paragraph]) -> dict[int | None, tuple[Segment, ...]]:
    """Return what changed in the lines that a redline's moves put elsewhere, by their number in the text after.

    The segments lead from the one line to the other, without line ends.
    """
    gone: defaultdict[int, list[Paragraph]] = defaultdict(list)
    come: defaultdict[int, list[Paragraph]] = defaultdict(list)
    for item in items:
        if item.move and not item.is_blank:
            (come if item.before_line is None else gone)[item.move].append(item)
    return {
        now.after_line: diff_in_order(was.text.rstrip("\r\n"), now.text.rstrip("\r\n"))
        for move in gone
        for was, now in zip(gone[move], come[move], strict=True)
    }


# -- which lines were moved -----------------------------------------------------------------------

#: Words and letters of a line from which on it may have been moved; of one that was also changed, words.
_WORDS, _LETTERS, _WORDS_CHANGED = 3, 12, 5
#: Share of the words of two lines that is in both when one is the other, changed; and the share from which on a line
#: resembles another one too much for that to be told.
_STAYS, _RESEMBLES = 0.6, 0.5
#: Lines of both texts together that are compared in this way. More are a new text.
_MOST_LINES = 1_000

#: How often a comparison is begun anew without the moves that turned out to be torn.
_MOST_ROUNDS = 3

Pair = tuple[int, int]


class Move(NamedTuple):
    """So many lines from `start` in the text before are as many lines from `new_start` in the text after."""

    start: int
    new_start: int
    length: int


def moved_lines(old: Sequence[str], new: Sequence[str]) -> list[Move]:
    """Return the lines that were moved, in the order of the text before. The same lines give the same moves, always."""
    kept, put = ([without_number(line).strip() for line in text] for text in (old, new))
    if min(len(kept), len(put)) - sum(common(kept, put)) < 2:
        return []  # one line is in its place among those around it, which are the same
    pairs = [pair for pair in single_pairs(kept, put) if _is_long(kept[pair[0]], _WORDS)]
    pairs = sorted([*pairs, *_changed_pairs(kept, put, pairs)])
    stays = set(rising(pairs))
    return _joined([pair for pair in pairs if pair not in stays], stays, kept, put)


def _is_long(line: str, least: int) -> bool:
    if len(line) < _LETTERS:
        return False
    found = words(line[:200])
    return len(found) >= least and sum(map(len, found)) >= _LETTERS


def _changed_pairs(old: Sequence[str], new: Sequence[str], pairs: Sequence[Pair]) -> list[Pair]:
    """Return pairs of lines that differ in some words and that no other line resembles."""
    taken, new_taken = {index for index, _ in pairs}, {index for _, index in pairs}
    left = [index for index, line in enumerate(old) if index not in taken and _is_long(line, _WORDS_CHANGED)]
    new_left = [index for index, line in enumerate(new) if index not in new_taken and _is_long(line, _WORDS_CHANGED)]
    if not left or not new_left or len(left) + len(new_left) > _MOST_LINES:
        return []
    codes = coded_words([*(old[index] for index in left), *(new[index] for index in new_left)])
    shares = cdist(codes[: len(left)], codes[len(left) :], scorer=Indel.normalized_similarity)
    resembles = shares >= _RESEMBLES
    is_only = (resembles.sum(axis=1) == 1)[:, None] & (resembles.sum(axis=0) == 1)[None, :]
    return [
        (left[row], new_left[column]) for row, column in zip(*(is_only & (shares >= _STAYS)).nonzero(), strict=True)
    ]


def _joined(moved: Sequence[Pair], stays: set[Pair], old: Sequence[str], new: Sequence[str]) -> list[Move]:
    """Return the moved lines with those that went along: equal ones between them, and above the first of them."""
    partner = dict(moved)
    taken = {index for index, _ in (*stays, *moved)}
    new_taken = {index for _, index in (*stays, *moved)}

    def goes_along(index: int, new_index: int) -> bool:
        is_inside = 0 <= index < len(old) and 0 <= new_index < len(new)
        return is_inside and index not in taken and new_index not in new_taken and old[index] == new[new_index]

    moves: list[Move] = []
    for index, new_index in moved:
        if moves and index < moves[-1].start + moves[-1].length:
            continue
        start, new_start = index, new_index
        while goes_along(start - 1, new_start - 1):
            start, new_start = start - 1, new_start - 1
        ahead = end = index + 1
        while (beside := new_start + ahead - start) == partner.get(ahead) or goes_along(ahead, beside):
            ahead += 1
            if old[ahead - 1]:
                end = ahead
        while not old[start]:  # blank lines are with what they are beside, on either side
            start, new_start = start + 1, new_start + 1
        taken.update(range(start, end))
        new_taken.update(range(new_start, new_start + end - start))
        moves.append(Move(start, new_start, end - start))
    return moves
