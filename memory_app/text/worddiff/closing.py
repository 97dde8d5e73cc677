"""The paragraphs of a redline: rewritten ones as a whole, and the last line like any other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import takewhile
from typing import Literal

from memory_app.text.worddiff.layout import Paragraph, paragraphs
from memory_app.text.worddiff.replaced import with_replaced_paragraphs
from memory_app.text.worddiff.segments import Kind, Segment, joined


def redlined(segments: Iterable[Segment]) -> tuple[Paragraph, ...]:
    """Return the paragraphs of the redline: rewritten ones as a whole, the last line like any other."""
    return closed(segments)[0]


def closed(segments: Iterable[Segment]) -> tuple[tuple[Paragraph, ...], str]:
    """Return the redline's paragraphs, and the line end that was put after both texts, if any.

    That is done where neither text has one and lines come or go at the end: the line above them would count as changed
    otherwise, and they could not be taken one by one.
    """
    items = paragraphs(with_replaced_paragraphs(segments))
    if items and (halves := _halves_at_the_end(items[-1])):
        return (*items[:-1], *halves), "\n"
    tail = list(takewhile(lambda item: kind_of(item) != "edited", reversed(items)))
    if not tail or len(tail) == len(items) or len({kind_of(item) for item in tail}) == 2 or _text_end(tail[0]):
        return items, ""
    last = items[-1 - len(tail)]
    end = _text_end(last)
    cut = last.segments[-1]
    if not end or cut.kind != kind_of(tail[0]):
        return items, ""
    shorter = [Segment(cut.kind, cut.text.removesuffix(end))] if cut.text != end else []
    segments = (*last.segments[:-1], *shorter, Segment("same", end))
    changed = any(segment.kind != "same" for segment in segments)
    longer = replace(tail[0], segments=(*tail[0].segments, Segment(cut.kind, end, tail[0].move)))
    return (
        *items[: -1 - len(tail)],
        replace(last, segments=segments, changed=changed),
        *tail[:0:-1],
        longer,
    ), end


def _halves_at_the_end(last: Paragraph) -> list[Paragraph]:
    """Return what goes and what comes on the last line, each on a line of its own, where one of them was moved."""
    kinds = {segment.kind for segment in last.segments}
    if kinds != {"removed", "added"} or _text_end(last) or not any(segment.move for segment in last.segments):
        return []
    halves = []
    sides: tuple[Kind, ...] = ("removed", "added")
    for kind in sides:
        parts = [segment for segment in last.segments if segment.kind == kind]
        ending = Segment(kind, "\n", parts[-1].move)
        before_line, after_line = (last.before_line, None) if kind == "removed" else (None, last.after_line)
        halves.append(Paragraph(joined((*parts, ending)), before_line, after_line, changed=True))
    return halves


def _text_end(paragraph: Paragraph) -> str:
    text = paragraph.segments[-1].text
    return next((end for end in ("\r\n", "\n") if text.endswith(end)), "")


def kind_of(paragraph: Paragraph) -> Literal["removed", "added", "edited"]:
    """Return whether all of a changed paragraph goes or comes; `edited` for unchanged ones too."""
    kinds = {segment.kind for segment in paragraph.segments}
    return "added" if kinds == {"added"} else "removed" if kinds == {"removed"} else "edited"
