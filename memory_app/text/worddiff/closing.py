"""The paragraphs of a redline: rewritten ones as a whole, and the last line like any other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import takewhile
from typing import Literal

from memory_app.text.worddiff.layout import Paragraph, paragraphs
from memory_app.text.worddiff.replaced import with_replaced_paragraphs
from memory_app.text.worddiff.segments import Segment


def redlined(segments: Iterable[Segment]) -> tuple[Paragraph, ...]:
    """Return the paragraphs of the redline: rewritten ones as a whole, the last line like any other."""
    return closed(segments)[0]


def closed(segments: Iterable[Segment]) -> tuple[tuple[Paragraph, ...], str]:
    """Return the redline's paragraphs, and the line end that was put after both texts, if any.

    That is done where neither text has one and lines come or go at the end: the line above them would count as changed
    otherwise, and they could not be taken one by one.
    """
    segments = with_replaced_paragraphs(segments)
    if longer_ones := _with_line_ends(segments):
        return paragraphs(longer_ones), "\n"
    items = paragraphs(segments)
    tail = list(takewhile(lambda item: kind_of(item) != "edited", reversed(items)))
    if not tail or len(tail) == len(items) or len({kind_of(item) for item in tail}) == 2 or _text_end(tail[0]):
        return items, ""
    last = items[-1 - len(tail)]
    end = _text_end(last)
    cut = last.segments[-1]
    if not end or cut.kind != kind_of(tail[0]):
        return items, ""
    shorter = [Segment(cut.kind, cut.text.removesuffix(end), cut.move)] if cut.text != end else []
    segments = (*last.segments[:-1], *shorter, Segment("same", end))
    changed = any(segment.kind != "same" for segment in segments)
    longer = replace(tail[0], segments=(*tail[0].segments, Segment(cut.kind, end, tail[0].move)))
    return (
        *items[: -1 - len(tail)],
        replace(last, segments=segments, changed=changed),
        *tail[:0:-1],
        longer,
    ), end


def _with_line_ends(segments: tuple[Segment, ...]) -> tuple[Segment, ...] | None:
    """Return the segments with a line end after both texts, where lines go and others come at the end and some moved.

    None for all others.
    """
    run = list(takewhile(lambda segment: segment.kind != "same", reversed(segments)))
    removed = next((number for number, segment in enumerate(run) if segment.kind == "removed"), 0)
    if not removed or not any(segment.move for segment in run):  # nothing is added after what is removed
        return None
    if any(run[number].text.endswith("\n") for number in (0, removed)):
        return None
    for number in (0, removed):
        run[number] = replace(run[number], text=f"{run[number].text}\n")
    return (*segments[: len(segments) - len(run)], *reversed(run))


def _text_end(paragraph: Paragraph) -> str:
    text = paragraph.segments[-1].text
    return next((end for end in ("\r\n", "\n") if text.endswith(end)), "")


def kind_of(paragraph: Paragraph) -> Literal["removed", "added", "edited"]:
    """Return whether all of a changed paragraph goes or comes; `edited` for unchanged ones too."""
    kinds = {segment.kind for segment in paragraph.segments}
    return "added" if kinds == {"added"} else "removed" if kinds == {"removed"} else "edited"
