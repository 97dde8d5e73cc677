"""The changes of a diff one by one, as a reviewer ticks them: "Change n of m", each with a name of its own.

A hunk is whole paragraphs: an item of a list, a row of a table, a paragraph, or several of them that make sense only
together. The redline numbers its changes with `hunk_numbers`, so both always agree.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, takewhile
from typing import Literal

from memory_app.text import lines
from memory_app.text.worddiff.compare import Kind, Segment, diff
from memory_app.text.worddiff.layout import Paragraph, paragraphs
from memory_app.text.worddiff.replaced import with_replaced_paragraphs

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
        id: 12 hex digits that name what changes and where: the texts before and after, the nearest line above, and
            which of several equal ones it is. It stays when other parts of the text change.
        number: its place among the changes, from 1, as the redline says it.
        before: the changed lines in the text before, with their line ends; empty when all of it is new.
        after: the same in the text after; empty when all of it goes.
        before_line: 1-based number of its first line in the text before; for new text the line it is put in front of.
        before_count: how many lines of the text before it covers.
        after_line: the same for the text after.
        after_count: how many lines of the text after it covers.
    """

    id: str
    number: int
    before: str
    after: str
    before_line: int
    before_count: int
    after_line: int
    after_count: int


def hunks(before: str, after: str) -> tuple[Hunk, ...]:
    """Return the changes that lead from `before` to `after`, in reading order; none when the texts are equal."""
    return tuple(part for part in _parts(redlined(diff(before, after))) if isinstance(part, Hunk))


def apply_some(before: str, after: str, ids: Collection[str]) -> str:
    """Return `before` with only these of its changes to `after`: all of them give `after`, none gives `before`.

    Raises:
        UnknownHunk: an id is none of this change's.
    """
    items, end = _closed(diff(before, after))
    parts = list(_parts(items))
    if unknown := set(ids) - {part.id for part in parts if isinstance(part, Hunk)}:
        raise UnknownHunk(unknown)
    text = "".join(part if isinstance(part, str) else part.after if part.id in ids else part.before for part in parts)
    return text.removesuffix(end)


def hunk_numbers(items: Sequence[Paragraph]) -> list[int]:
    """Return for each of the redline's paragraphs the number of the change it belongs to; 0 for unchanged ones."""
    numbers: list[int] = []
    number = 0
    for group in _grouped(items):
        number += group[0].changed
        numbers += [number if group[0].changed else 0] * len(group)
    return numbers


def redlined(segments: Iterable[Segment]) -> tuple[Paragraph, ...]:
    """Return the paragraphs of the redline: rewritten ones as a whole, the last line like any other."""
    return _closed(segments)[0]


def _closed(segments: Iterable[Segment]) -> tuple[tuple[Paragraph, ...], str]:
    """Return the redline's paragraphs, and the line end that was put after both texts, if any.

    That is done where neither text has one and lines come or go at the end: the line above them would count as changed
    otherwise, and they could not be taken one by one.
    """
    items = paragraphs(with_replaced_paragraphs(segments))
    tail = list(takewhile(lambda item: _kind(item) != "edited", reversed(items)))
    if not tail or len(tail) == len(items) or len({_kind(item) for item in tail}) == 2 or _text_end(tail[0]):
        return items, ""
    last = items[-1 - len(tail)]
    end = _text_end(last)
    cut = last.segments[-1]
    if not end or cut.kind != _kind(tail[0]):
        return items, ""
    shorter = [Segment(cut.kind, cut.text.removesuffix(end))] if cut.text != end else []
    segments = (*last.segments[:-1], *shorter, Segment("same", end))
    changed = any(segment.kind != "same" for segment in segments)
    longer = replace(tail[0], segments=(*tail[0].segments, Segment(cut.kind, end)))
    return (
        *items[: -1 - len(tail)],
        replace(last, segments=segments, changed=changed),
        *tail[:0:-1],
        longer,
    ), end


def _text_end(paragraph: Paragraph) -> str:
    text = paragraph.segments[-1].text
    return next((end for end in ("\r\n", "\n") if text.endswith(end)), "")


def _kind(paragraph: Paragraph) -> Literal["removed", "added", "edited"]:
    """Return whether all of a changed paragraph goes or comes; `edited` for unchanged ones too."""
    kinds = {segment.kind for segment in paragraph.segments}
    return "added" if kinds == {"added"} else "removed" if kinds == {"removed"} else "edited"


def _parts(items: Sequence[Paragraph]) -> Iterator[Hunk | str]:
    """Yield the hunks and the unchanged text between them."""
    number, above = 0, ""
    line = new_line = 1
    seen: set[str] = set()
    for group in _grouped(items):
        old, new = (_text(group, side) for side in ("removed", "added"))
        count, new_count = (len(text.split("\n")) - text.endswith("\n") if text else 0 for text in (old, new))
        if group[0].changed:
            number += 1
            yield Hunk(_id(above, old, new, seen), number, old, new, line, count, new_line, new_count)
        else:
            yield old
        above = next((text for text in reversed(old.split("\n")) if text.strip()), above)
        line += old.count("\n")
        new_line += new.count("\n")


def _id(above: str, old: str, new: str, seen: set[str]) -> str:
    """Return the hash, of the first few that is not taken."""
    number = 0
    while True:
        whole = repr((above, old, new, number)).encode()
        name = hashlib.sha256(whole).hexdigest()[:_ID_LENGTH]
        if name not in seen:
            seen.add(name)
            return name
        number += 1


def _text(group: Iterable[Paragraph], side: Kind) -> str:
    return "".join(
        segment.text for paragraph in group for segment in paragraph.segments if segment.kind in ("same", side)
    )


# -- which paragraphs belong together ---------------------------------------------------------------


class _Line:
    """A changed paragraph with what decides whether a change may begin at it.

    Attributes:
        is_start: whether a line begins here in both texts.
    """

    def __init__(self, paragraph: Paragraph, *, is_start: bool) -> None:
        self.paragraph = paragraph
        self.is_start = is_start
        self.before, self.after = (_text([paragraph], side).rstrip("\r\n") for side in ("removed", "added"))
        self.kind = _kind(paragraph)

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
    at_start = {"removed": True, "added": True}
    run: list[_Line] = []
    unchanged: list[Paragraph] = []
    for paragraph in items:
        if paragraph.changed:
            if unchanged:
                yield unchanged
                unchanged = []
            run.append(_Line(paragraph, is_start=all(at_start.values())))
        else:
            yield from _changes(run)
            run = []
            unchanged.append(paragraph)
        for segment in paragraph.segments:
            for side in at_start:
                if segment.kind in ("same", side):
                    at_start[side] = segment.text.endswith("\n")
    if unchanged:
        yield unchanged
    yield from _changes(run)


def _changes(run: Sequence[_Line]) -> Iterator[list[Paragraph]]:
    """Yield the changes in a run of changed paragraphs."""
    is_one_table = any(line.is_reshaped for line in run)
    group: list[_Line] = []
    for part, section in groupby(run, key=lambda line: line.kind == "edited"):
        members = list(section)
        is_replacement = not part and len({line.kind for line in members}) == 2
        for place, line in enumerate(members):
            cut = line.is_start and not (is_replacement and place) and not line.is_renumbered
            if is_one_table and lines.is_table_row(line.text):
                cut = False
            if group and cut and _is_apart(line, group):
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
