"""The changes of a diff one by one, as a reviewer ticks them: "Change n of m", each with a name of its own.

A hunk is whole paragraphs: an item of a list, a row of a table, a paragraph, or several of them that make sense only
together. What was moved is one hunk in two places, which are taken or left together: one of them alone would lose or
double it. The redline numbers its changes with `hunk_numbers`, so both always agree.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, groupby
from typing import NamedTuple

from memory_app.text import lines
from memory_app.text.worddiff.compare import Segment, side_of
from memory_app.text.worddiff.layout import Paragraph, kind_of, with_starts
from memory_app.text.worddiff.moved import closed, diff, redlined

_ID_LENGTH = 12


class UnknownHunk(LookupError):
    """An id is none of the change's: the texts are others than those the id was made for.

    Attributes:
        ids: the ids that are unknown, sorted.
    """

    def __init__(self, ids: Collection[str]) -> None:
        self.ids = tuple(sorted(ids))
        super().__init__(f"no such hunk: {', '.join(self.ids)}")


@dataclass(frozen=True, slots=True)
class Hunk:
    """One change of a text.

    Attributes:
        id: 12 hex digits that name what changes and where: the texts before and after, the nearest line above (of what
            was moved, in both places), and which of several equal ones it is. It stays when other parts change.
        number: its place among the changes, from 1, as the redline says it.
        before: the changed lines in the text before, with their line ends; empty when all of it is new.
        after: the same in the text after; empty when all of it goes.
        before_line: 1-based number of its first line in the text before; for new text the line it is put in front of.
        after_line: the same for the text after.
        is_moved: the lines before stand elsewhere afterwards, some of them perhaps changed.
    """

    id: str
    number: int
    before: str
    after: str
    before_line: int
    after_line: int
    is_moved: bool = False


def hunks(before: str, after: str) -> tuple[Hunk, ...]:
    """Return the changes that lead from `before` to `after`, in reading order; none when the texts are equal.

    What was moved counts where the first of its two places is.
    """
    return hunks_of(diff(before, after))


def hunks_of(segments: Iterable[Segment]) -> tuple[Hunk, ...]:
    """Return the changes of a diff: what `hunks` returns of its texts."""
    return tuple(_hunks(_places(redlined(segments))).values())


def apply_some(before: str, after: str, ids: Collection[str]) -> str:
    """Return `before` with only these of its changes to `after`: all of them give `after`, none gives `before`.

    Raises:
        UnknownHunk: an id is none of this change's.
    """
    items, end = closed(diff(before, after))
    places = list(_places(items))
    found = _hunks(places)
    if unknown := set(ids) - {hunk.id for hunk in found.values()}:
        raise UnknownHunk(unknown)
    taken = {number for number, hunk in found.items() if hunk.id in ids}
    text = "".join(place.new if place.number in taken else place.old for place in places)
    return text.removesuffix(end)


def hunk_numbers(items: Sequence[Paragraph]) -> list[int]:
    """Return for each of the redline's paragraphs the number of the change it belongs to; 0 for unchanged ones."""
    return [number for number, group in _numbered(items) for _paragraph in group]


class _Place(NamedTuple):
    """Neighbouring paragraphs in both texts: all of a change, one of the two places of a move, or unchanged ones.

    Attributes:
        number: of the change, 0 for unchanged paragraphs.
        above: the nearest line above in the text before.
        line, new_line: the first line in either text, from 1.
    """

    number: int
    above: str
    old: str
    new: str
    line: int
    new_line: int


def _places(items: Sequence[Paragraph]) -> Iterator[_Place]:
    above = ""
    line = new_line = 1
    for number, group in _numbered(items):
        segments = [segment for paragraph in group for segment in paragraph.segments]
        old, new = side_of(segments, "removed"), side_of(segments, "added")
        yield _Place(number, above, old, new, line, new_line)
        above = next((text for text in reversed(old.split("\n")) if text.strip()), above)
        line += old.count("\n")
        new_line += new.count("\n")


def _numbered(items: Sequence[Paragraph]) -> Iterator[tuple[int, list[Paragraph]]]:
    """Yield the paragraphs of each change with its number, the same for both places of a move, and unchanged ones."""
    count = 0
    of_move: dict[int, int] = {}
    for group in _grouped(items):
        number, move = 0, group[0].move
        if group[0].changed:
            number = of_move.get(move, count + 1)
            count = max(count, number)
        if move:
            of_move[move] = number
        yield number, group


def _hunks(places: Iterable[_Place]) -> dict[int, Hunk]:
    """Return the changes by their numbers."""
    of_number: defaultdict[int, list[_Place]] = defaultdict(list)
    for place in places:
        if place.number:
            of_number[place.number].append(place)
    seen: set[str] = set()
    found = {}
    for number, parts in of_number.items():
        # The same place twice, but for what was moved.
        source = next((part for part in parts if part.old), parts[0])
        target = next((part for part in parts if part.new), parts[0])
        where = (source.above,) if source is target else (source.above, target.above)
        found[number] = Hunk(
            id=_id((*where, source.old, target.new), seen),
            number=number,
            before=source.old,
            after=target.new,
            before_line=source.line,
            after_line=target.new_line,
            is_moved=source is not target,
        )
    return found


def _id(what: tuple[str, ...], seen: set[str]) -> str:
    """Return the hash, of the first few that is not taken."""
    wholes = (repr((*what, number)).encode() for number in count())
    names = (hashlib.sha256(whole).hexdigest()[:_ID_LENGTH] for whole in wholes)
    name = next(name for name in names if name not in seen)
    seen.add(name)
    return name


# -- which paragraphs belong together ---------------------------------------------------------------


class _Line:
    """A changed paragraph with what decides whether a change may begin at it.

    Attributes:
        is_start: whether a line begins here in both texts.
    """

    def __init__(self, paragraph: Paragraph, *, is_start: bool) -> None:
        self.paragraph = paragraph
        self.is_start = is_start
        self.before = side_of(paragraph.segments, "removed").rstrip("\r\n")
        self.after = side_of(paragraph.segments, "added").rstrip("\r\n")
        self.kind = kind_of(paragraph)
        self.move = paragraph.move

    @property
    def text(self) -> str:
        return self.before or self.after

    @property
    def is_renumbered(self) -> bool:
        """Whether nothing but its number in a list changed."""
        return self.kind == "edited" and lines.without_number(self.before) == lines.without_number(self.after)

    @property
    def is_reshaped(self) -> bool:
        """Whether it changes the columns of a table or begins one."""
        if self.kind == "edited":
            return lines.is_table_row(self.text) and self.before.count("|") != self.after.count("|")
        return lines.is_table_rule(self.text)

    def continues(self, above: _Line) -> bool:
        """Whether it goes on with the line above in one of the two texts."""
        sides = ((above.before, self.before), (above.after, self.after))
        return any(upper and lower and lines.continues(upper, lower) for upper, lower in sides)


def _grouped(items: Iterable[Paragraph]) -> Iterator[list[Paragraph]]:
    """Yield the paragraphs of each change, and runs of unchanged ones between them."""
    for is_changed, run in groupby(with_starts(items), key=lambda each: each[0].changed):
        if is_changed:
            yield from _changes([_Line(paragraph, is_start=is_start) for paragraph, is_start in run])
        else:
            yield [paragraph for paragraph, _ in run]


def _changes(run: Sequence[_Line]) -> Iterator[list[Paragraph]]:
    """Yield the changes in a run of changed paragraphs."""
    is_one_table = any(line.is_reshaped for line in run)
    group: list[_Line] = []
    for part, section in groupby(run, key=lambda line: line.kind == "edited"):
        members = list(section)
        is_replacement = not part and len({line.kind for line in members if not line.move}) == 2
        for place, line in enumerate(members):
            cut = line.is_start and not (is_replacement and place) and not line.is_renumbered
            if is_one_table and lines.is_table_row(line.text):
                cut = False
            # The two places of a move are whole by themselves: `diff` sees to it that they are on lines of their own.
            is_other_move = bool(group) and line.move != group[-1].move
            if group and (is_other_move or (not line.move and cut and _is_apart(line, group))):
                yield [member.paragraph for member in group]
                group = []
            group.append(line)
    if group:
        yield [member.paragraph for member in group]


def _is_apart(line: _Line, group: Sequence[_Line]) -> bool:
    """Whether a line makes sense without the changed ones above it."""
    above = group[-1]
    first = next((each.text for each in group if each.text.strip()), "")
    if not first or not line.text.strip() or line.continues(above):
        return False
    if line.kind != above.kind or line.kind == "edited":
        return True
    is_own = lines.begins_anew(line.text) or not above.text.strip()
    return is_own and lines.depth(line.text) <= lines.depth(first)
