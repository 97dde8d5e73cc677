"""A mostly rewritten paragraph, shown as the old one and then the new one: kept words would tear both apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from memory_app.text.worddiff.layout import Paragraph, paragraphs
from memory_app.text.worddiff.segments import Kind, Segment, is_word, joined, tokens

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
