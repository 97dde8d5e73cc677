"""A diff laid out for reading: as paragraphs of which the unchanged ones fold, as the redline, or as two columns.

A paragraph here is what ends with a line feed: prose in memory blocks has one line per paragraph or list item. In the
redline a mostly rewritten one is shown as the old one and then the new one, since kept words would tear both apart, and
the last line is a line like any other.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from memory_app.text.worddiff.segments import Kind, Segment, is_word, joined, tokens

# Folding a single paragraph away saves no room: the line that says so is as tall.
_WORTH_FOLDING = 2


@dataclass(frozen=True, slots=True)
class Paragraph:
    """One line of the merged view, its line end included.

    Attributes:
        before_line: its 1-based line number in the text before; None when nothing of it was there.
        after_line: the same for the text after.
        changed: whether anything of it was added or removed.
    """

    segments: tuple[Segment, ...]
    before_line: int | None
    after_line: int | None
    changed: bool

    @property
    def text(self) -> str:
        """Return everything in it, removed and added alike."""
        return "".join(segment.text for segment in self.segments)

    @property
    def is_blank(self) -> bool:
        """Whether there is nothing to read in it."""
        return not self.text.strip()

    @property
    def move(self) -> int:
        """Return the number of the move that all of it is a half of; 0 when none of it is, or not all."""
        first = self.segments[0]
        is_whole = first.move and all(each.move == first.move and each.kind == first.kind for each in self.segments)
        return first.move if is_whole else 0


@dataclass(frozen=True, slots=True)
class Fold:
    """Unchanged paragraphs that need not be shown.

    Attributes:
        count: how many of them have something to read (blank lines are not counted).
    """

    count: int
    paragraphs: tuple[Paragraph, ...]


@dataclass(frozen=True, slots=True)
class DiffRow:
    """A line of the text before beside a line of the text after; None where the other side has one line more."""

    left: tuple[Segment, ...]
    right: tuple[Segment, ...]
    left_line: int | None
    right_line: int | None
    changed: bool


def paragraphs(segments: Iterable[Segment]) -> tuple[Paragraph, ...]:
    """Return the segments cut at every line feed, whichever text it is in."""
    found: list[Paragraph] = []
    before_line = after_line = 1
    current: list[Segment] = []

    def finished() -> Paragraph:
        if len(current) == 1 and current[0].kind == "same":  # most of a long text
            return Paragraph((current[0],), before_line, after_line, changed=False)
        return Paragraph(
            segments=tuple(current),
            before_line=before_line if any(segment.kind != "added" for segment in current) else None,
            after_line=after_line if any(segment.kind != "removed" for segment in current) else None,
            changed=any(segment.kind != "same" for segment in current),
        )

    for part in _cut_at_line_feeds(segments):
        current.append(part)
        if part.text.endswith("\n"):
            found.append(finished())
            before_line += part.kind != "added"
            after_line += part.kind != "removed"
            current = []
    if current:
        found.append(finished())
    return tuple(found)


def fold(items: Sequence[Paragraph], *, context: int = 1) -> tuple[Paragraph | Fold, ...]:
    """Return the paragraphs with runs of unchanged ones folded, but for `context` readable ones beside each change."""
    shown = [paragraph.changed for paragraph in items]
    for order in (range(len(items)), range(len(items) - 1, -1, -1)):
        left = 0
        for index in order:
            if items[index].changed:
                left = context
            elif left:
                shown[index] = True
                left -= not items[index].is_blank
    result: list[Paragraph | Fold] = []
    hidden: list[Paragraph] = []
    for paragraph, is_shown in zip(items, shown, strict=True):
        if is_shown:
            result += _folded(hidden)
            result.append(paragraph)
            hidden = []
        else:
            hidden.append(paragraph)
    return (*result, *_folded(hidden))


def _folded(hidden: list[Paragraph]) -> Sequence[Paragraph | Fold]:
    readable = sum(not paragraph.is_blank for paragraph in hidden)
    return [Fold(readable, tuple(hidden))] if readable >= _WORTH_FOLDING else hidden


def side_by_side(segments: Iterable[Segment]) -> tuple[DiffRow, ...]:
    """Return the lines before beside the lines after; lines that share text are in one row."""
    left, right = _Column(), _Column()
    links: list[tuple[int, int]] = []
    for part in _cut_at_line_feeds(segments):
        if part.kind == "same":
            links.append((left.line, right.line))
        if part.kind != "added":
            left.add(part)
        if part.kind != "removed":
            right.add(part)
    rows: list[DiffRow] = []
    at = right_at = 0
    for line, right_line in (*links, (len(left.lines), len(right.lines))):
        if line < at or right_line < right_at:
            continue  # one of the two is in a row already, beside the first line it shares text with
        pairs = _beside(left, right, range(at, line), range(right_at, right_line))
        rows += (_row(left, right, index, right_index) for index, right_index in pairs)
        if line < len(left.lines) and right_line < len(right.lines):
            rows.append(_row(left, right, line, right_line))
        at, right_at = line + 1, right_line + 1
    return tuple(rows)


class _Column:
    """The lines of one side while they are being collected."""

    def __init__(self) -> None:
        self.lines: list[list[Segment]] = []
        self._ended = True

    @property
    def line(self) -> int:
        """Return the index of the line the next part goes to."""
        return len(self.lines) - (not self._ended)

    def is_moved(self, index: int) -> bool:
        return any(part.move for part in self.lines[index])

    def add(self, part: Segment) -> None:
        if self._ended:
            self.lines.append([])
        self.lines[-1].append(part)
        self._ended = part.text.endswith("\n")


def _beside(
    left: _Column, right: _Column, mine: Iterable[int], its: Iterable[int]
) -> Iterator[tuple[int | None, int | None]]:
    """Yield which lines are in one row: what was moved is alone, since it has nothing to do with what it is beside."""
    lines, right_lines = deque(mine), deque(its)
    while lines or right_lines:
        if lines and left.is_moved(lines[0]):
            yield lines.popleft(), None
        elif right_lines and right.is_moved(right_lines[0]):
            yield None, right_lines.popleft()
        else:
            yield lines.popleft() if lines else None, right_lines.popleft() if right_lines else None


def _row(left: _Column, right: _Column, index: int | None, right_index: int | None) -> DiffRow:
    left_parts = () if index is None else tuple(left.lines[index])
    right_parts = () if right_index is None else tuple(right.lines[right_index])
    return DiffRow(
        left=left_parts,
        right=right_parts,
        left_line=None if index is None else index + 1,
        right_line=None if right_index is None else right_index + 1,
        # Two lines that were one before hold nothing but `same` parts and still differ.
        changed=[part.text for part in left_parts] != [part.text for part in right_parts]
        or any(part.kind != "same" for part in (*left_parts, *right_parts)),
    )


def _cut_at_line_feeds(segments: Iterable[Segment]) -> Iterator[Segment]:
    """Yield the segments in parts that have a line feed at their end or not at all."""
    for segment in segments:
        for line in segment.text.split("\n")[:-1]:
            yield Segment(segment.kind, line + "\n", segment.move)
        rest = segment.text.rpartition("\n")[2]
        if rest:
            yield Segment(segment.kind, rest, segment.move)


#: Shares of the letters of the longer and of the shorter of the two, the old paragraph and the new one: where as many
#: stay, the changes are shown inside it.
_OF_THE_LONGER, _OF_THE_SHORTER = 0.4, 0.6


def with_replaced_paragraphs(segments: Iterable[Segment]) -> tuple[Segment, ...]:
    """Return the segments, with a paragraph that was mostly rewritten removed as a whole and added as a whole.

    What `diff` says of its result holds of this one too. A paragraph with one change, with additions only or with
    removals only stays as it is. For reading only: counting words here would count what stays as removed and added.
    """
    found: list[Segment] = []
    is_start = True  # of a line in both texts
    for paragraph in paragraphs(segments):
        last = paragraph.segments[-1]
        is_whole = is_start and (last.kind == "same" or not last.text.endswith("\n"))
        found += _replaced(paragraph) if is_whole and _is_torn(paragraph) else paragraph.segments
        if not paragraph.move:  # which leaves the other text where it was
            is_start = last.kind == "same" and last.text.endswith("\n")
    return joined(found)


def _is_torn(paragraph: Paragraph) -> bool:
    """Whether it has several changes and little that stays."""
    if not paragraph.changed:  # most of a long text
        return False
    changed = [index for index, segment in enumerate(paragraph.segments) if segment.kind != "same"]
    if changed[-1] - changed[0] < len(changed):  # one change, which is most of them: nothing is between
        return False
    kept = [_letters(segment.text) if segment.kind == "same" else 0 for segment in paragraph.segments]
    if not any(kept[changed[0] : changed[-1]]):
        return False
    stays = sum(kept)
    shorter, longer = sorted((_letters(_text(paragraph, "removed")), _letters(_text(paragraph, "added"))))
    return stays < _OF_THE_LONGER * longer and stays < _OF_THE_SHORTER * shorter


def _replaced(paragraph: Paragraph) -> Iterator[Segment]:
    before, after = _text(paragraph, "removed"), _text(paragraph, "added")
    # The end of the line is in both texts.
    end = next((end for end in ("\r\n", "\n") if before.endswith(end) and after.endswith(end)), "")
    yield Segment("removed", before.removesuffix(end))
    yield Segment("added", after.removesuffix(end))
    if end:
        yield Segment("same", end)


def _text(paragraph: Paragraph, side: Kind) -> str:
    """Return what the paragraph was (`removed`) or will be (`added`)."""
    return "".join(segment.text for segment in paragraph.segments if segment.kind in ("same", side))


def _letters(text: str) -> int:
    return sum(len(piece) for piece in tokens(text) if is_word(piece))


def kind_of(paragraph: Paragraph) -> Literal["removed", "added", "edited"]:
    """Return whether all of a changed paragraph goes or comes; `edited` for unchanged ones too."""
    kinds = {segment.kind for segment in paragraph.segments}
    return "added" if kinds == {"added"} else "removed" if kinds == {"removed"} else "edited"
