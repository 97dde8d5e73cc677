"""The blocks of a rendered redline as passages of a page: put into their lists, folded, and sanitised."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import NamedTuple

import nh3
from django.utils.safestring import SafeString, mark_safe

from approvals.markdown.rendering import ATTRIBUTES, SCHEMES, TAGS, TOP
from memory_app.text.worddiff import Paragraph

_SPANS = {"mark", "stray", "stray-script", "visually-hidden", "space", "trailing", "slot"}
_CLEANER = nh3.Cleaner(
    tags=TAGS | {"ins", "span", "wbr"},
    attributes={
        **ATTRIBUTES,
        "div": ATTRIBUTES["div"] - {"class"} | {"dir"},
        "span": {"title"},
        "td": {"dir", "colspan"},
        **{tag: {"dir", "aria-level"} for tag in ("h3", "h4", "h5", "h6")},
        "li": {"value"},
    },
    allowed_classes={
        "div": {"table-box", "changed", "is-moved", "lines"},
        "li": {"changed"},
        "tr": {"changed", "is-moved", "change-row", "skipped-rows"},
        "span": _SPANS,
        "ins": {"moved"},
        "del": {"moved"},
    },
    url_schemes=SCHEMES,
    link_rel="noopener noreferrer nofollow",
)
#: Where the heading of a change goes. No text can say it: it is another one in each process.
_SECRET = secrets.token_hex(8)
_SLOT = re.compile(r'<span class="slot">([0-9a-f]{16}-(?:change|rows|from|to)-\d+(?:-again)?)</span>')
#: The beginning of a heading; what texts say is escaped.
_HEADING_TAG = re.compile(r"<h(?P<level>[3-6])\b")
CONTAINERS = {"bullet_list": "ul", "ordered_list": "ol", "blockquote": "blockquote", "list_item": "li"}
#: As in the redline of the source: so many unchanged blocks stay beside a change, and fewer are not worth a fold.
_CONTEXT, _WORTH_FOLDING = 1, 2


class RedlinePart(NamedTuple):
    """Sanitised HTML, or the place of a change's heading, or of a table's unchanged rows that were left out.

    Args:
        moved: the place where to say that what follows was moved `from` here or `to` here; `number` is its change, and
            `is_again` says that its heading is at the other place.
    """

    html: SafeString = SafeString()
    change: int = 0
    rows: int = 0
    moved: str = ""
    number: int = 0
    is_again: bool = False


@dataclass(frozen=True)
class RenderedPassage:
    """A part of the redline: HTML with places for the headings of changes, or lines of the source.

    Args:
        parts: HTML, and between it the headings of the changes that begin there.
        folded: how many unchanged blocks it has, when it folds.
        source: the lines of a change that changes nothing one sees, such as which sign a list has.
        number: the number of that change.
    """

    parts: tuple[RedlinePart, ...] = ()
    folded: int = 0
    source: tuple[Paragraph, ...] = ()
    number: int = 0


@dataclass(frozen=True)
class Entry:
    """A block of the page; an item of a list, and a line of a paragraph, by itself.

    Args:
        around: what it stands in together with its neighbours: a kind of list, or the lines of one paragraph.
    """

    html: str
    place: int
    is_changed: bool
    around: str = ""
    source: tuple[Paragraph, ...] = ()
    number: int = 0


def folded(entries: Sequence[Entry]) -> Iterator[RenderedPassage]:
    """Yield the entries with what changed and a little beside it, and the others folded away."""
    shown: list[Entry] = []
    levels = _Levels()
    for is_near, numbers in beside_changes([entry.is_changed for entry in entries]):
        together = [entries[number] for number in numbers]
        if is_near:
            shown += (replace(entry, html=levels.without_gaps(entry.html)) for entry in together)
            continue
        yield from _passages(shown)
        yield RenderedPassage(_sanitised(together), folded=len(together))
        shown = []
    yield from _passages(shown)


@dataclass
class _Levels:
    """The levels of the headings outside folds: one whose heading above is folded away says that it is a level higher.

    It looks as it does in the whole text. `last`: of the heading before, the page's own at first.
    """

    last: int = TOP - 1

    def without_gaps(self, html: str) -> str:
        return _HEADING_TAG.sub(self._said, html)

    def _said(self, tag: re.Match[str]) -> str:
        level = int(tag["level"])
        self.last = min(level, self.last + 1)
        return tag[0] if self.last == level else f'{tag[0]} aria-level="{self.last}"'


def beside_changes(changed: Sequence[bool]) -> Iterator[tuple[bool, list[int]]]:
    """Yield the numbers of blocks or rows in runs: those to show, and those worth leaving out."""
    near: set[int] = set()
    for number, is_changed in enumerate(changed):
        if is_changed:
            near.update(range(number - _CONTEXT, number + _CONTEXT + 1))
    for is_near, group in groupby(range(len(changed)), key=near.__contains__):
        numbers = list(group)
        yield is_near or len(numbers) < _WORTH_FOLDING, numbers


def _passages(entries: Sequence[Entry]) -> Iterator[RenderedPassage]:
    for is_source, group in groupby(entries, key=lambda entry: bool(entry.source)):
        if is_source:
            yield from (RenderedPassage(source=entry.source, number=entry.number) for entry in group)
        else:
            yield RenderedPassage(_sanitised(list(group)))


def _sanitised(entries: Sequence[Entry]) -> tuple[RedlinePart, ...]:
    written: list[str] = []
    for around, group in groupby(entries, key=lambda entry: entry.around):
        opening, closing = tags(around.split(" ")[0]) if around else ("", "")
        written += (opening, *(entry.html for entry in group), closing)
    clean = _CLEANER.clean("".join(written))
    parts: list[RedlinePart] = []
    html, *slots = _SLOT.split(clean)
    parts.append(RedlinePart(mark_safe(html)))  # noqa: S308  # nh3 just made it so
    for slot, html in zip(slots[::2], slots[1::2], strict=True):
        secret, kind, number, *again = slot.split("-")
        if secret == _SECRET:
            parts.append(_part(kind, int(number), is_again=bool(again)))
        parts.append(RedlinePart(mark_safe(html)))  # noqa: S308
    return tuple(part for part in parts if part != RedlinePart())


def _part(kind: str, number: int, *, is_again: bool) -> RedlinePart:
    if kind == "change":
        return RedlinePart(change=number)
    return RedlinePart(rows=number) if kind == "rows" else RedlinePart(moved=kind, number=number, is_again=is_again)


def tags(kind: str) -> tuple[str, str]:
    """Return the tags of a block of blocks."""
    if kind == "lines":
        return '<div class="lines" dir="auto">', "</div>"
    tag = CONTAINERS[kind]
    # Browsers look for a list's direction in what has none of its own: its items are left without.
    return f"<{tag}>" if tag == "li" else f'<{tag} dir="auto">', f"</{tag}>"


def heading_slots(numbers: Sequence[int]) -> str:
    """Return the places of the headings of these changes, as HTML to be sanitised."""
    return "".join(f'<span class="slot">{_SECRET}-change-{number}</span>' for number in numbers)


def moved_slot(side: str, number: int, *, is_again: bool) -> str:
    """Return the place that says that what follows was moved, as HTML to be sanitised; see `RedlinePart`."""
    return f'<span class="slot">{_SECRET}-{side}-{number}{"-again" if is_again else ""}</span>'


def rows_slot(rows: int) -> str:
    """Return the place that says how many rows of a table were left out, as HTML to be sanitised."""
    return f'<span class="slot">{_SECRET}-rows-{rows}</span>'
