"""A diff laid out for reading: as paragraphs of which the unchanged ones fold, as the redline, or as two columns.

A paragraph here is what ends with a line feed: prose in memory blocks has one line per paragraph or list item. In the
redline a mostly rewritten one is shown as the old one and then the new one, since kept words would tear both apart, and
the last line is a line like any other.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

from memory_app.text.worddiff.compare import Segment, joined, side_of, words

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
    rows: list[list[list[Segment]]] = []
    unfinished: list[list[Segment] | None] = [None, None]  # a line of either side that was cut in the other one
    alone: tuple[deque[int], deque[int]] = deque(), deque()  # rows with one side, which a line may yet come beside
    for paragraph in paragraphs(segments):
        row: list[list[Segment]] = [[], []]
        for side, other in enumerate(("added", "removed")):
            if parts := [segment for segment in paragraph.segments if segment.kind != other]:
                line = unfinished[side] or row[side]
                line += parts
                unfinished[side] = None if parts[-1].text.endswith("\n") else line
        full = int(bool(row[1]))
        if all(row) or paragraph.move:  # what was moved has nothing to do with what it would be beside
            alone = deque(), deque()
        elif row[full] and alone[1 - full]:
            rows[alone[1 - full].popleft()][full] = row[full]
            continue
        elif row[full]:
            alone[full].append(len(rows))
        if any(row):
            rows.append(row)
    numbers = [accumulate(int(bool(line)) for line in side) for side in zip(*rows, strict=True)]
    return tuple(_row(*row, *lines) for row, *lines in zip(rows, *numbers, strict=True))


def _row(left: Sequence[Segment], right: Sequence[Segment], left_line: int, right_line: int) -> DiffRow:
    return DiffRow(
        left=tuple(left),
        right=tuple(right),
        left_line=left_line if left else None,
        right_line=right_line if right else None,
        # Two lines that were one before hold nothing but `same` parts and still differ.
        changed=[part.text for part in left] != [part.text for part in right]
        or any(part.kind != "same" for part in (*left, *right)),
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
    shorter, longer = sorted(
        (_letters(side_of(paragraph.segments, "removed")), _letters(side_of(paragraph.segments, "added")))
    )
    return stays < _OF_THE_LONGER * longer and stays < _OF_THE_SHORTER * shorter


def _replaced(paragraph: Paragraph) -> Iterator[Segment]:
    before, after = side_of(paragraph.segments, "removed"), side_of(paragraph.segments, "added")
    # The end of the line is in both texts.
    end = next((end for end in ("\r\n", "\n") if before.endswith(end) and after.endswith(end)), "")
    yield Segment("removed", before.removesuffix(end))
    yield Segment("added", after.removesuffix(end))
    if end:
        yield Segment("same", end)


def _letters(text: str) -> int:
    return sum(map(len, words(text)))


def with_starts(items: Iterable[Paragraph]) -> Iterator[tuple[Paragraph, bool]]:
    """Yield the paragraphs, and whether a line begins at each in both texts."""
    at_start = {"removed": True, "added": True}
    for paragraph in items:
        yield paragraph, all(at_start.values())
        for segment in paragraph.segments:
            for side in at_start:
                if segment.kind in ("same", side):
                    at_start[side] = segment.text.endswith("\n")


def kind_of(paragraph: Paragraph) -> Literal["removed", "added", "edited"]:
    """Return whether all of a changed paragraph goes or comes; `edited` for unchanged ones too."""
    kinds = {segment.kind for segment in paragraph.segments}
    return "added" if kinds == {"added"} else "removed" if kinds == {"removed"} else "edited"
