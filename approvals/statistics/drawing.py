"""Pictures of numbers, made here as SVG: no script draws in the browser, and each has its words and a table.

Colours are classes of the style sheet. What is told by colour is told by place or shape too.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import accumulate

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from approvals.statistics.agents import WeekOfAgent
from approvals.statistics.board import WeekOfOwner

#: Of one week in a sparkline: its width with the gap, that of the wide bar and of the narrow one inside it.
_STEP, _WIDE, _NARROW = 9, 7, 3
_ABOVE, _BELOW = 20, 8


def highest(rows: Iterable[Sequence[WeekOfOwner]]) -> int:
    """Return the highest number of a week, for a scale that all sparklines of a page share."""
    return max((max(week.proposed, week.approved, week.rejected) for weeks in rows for week in weeks), default=0)


def sparkline(weeks: Sequence[WeekOfOwner], *, most: int, key: str, title: str) -> SafeString:
    """Return twelve weeks as bars: proposed wide, approved narrow inside, rejected below the line.

    Args:
        most: the highest number of the page, see `highest`.
        key: makes the ids of this picture's texts unique on the page.
        title: what it is about.
    """
    width, line = _STEP * len(weeks), _ABOVE + 1
    inset = (_WIDE - _NARROW) // 2
    proposed = _bars((week.proposed for week in weeks), most, at=0, width=_WIDE, room=_ABOVE, base=_ABOVE, up=True)
    approved = _bars(
        (week.approved for week in weeks), most, at=inset, width=_NARROW, room=_ABOVE, base=_ABOVE, up=True
    )
    rejected = _bars((week.rejected for week in weeks), most, at=0, width=_WIDE, room=_BELOW, base=line + 1, up=False)
    return SafeString(
        f'<svg class="spark" role="img" viewBox="0 0 {width} {line + 1 + _BELOW}" width="{width}" '
        f'height="{line + 1 + _BELOW}" aria-labelledby="spark-{key} spark-{key}-more">'
        f'<title id="spark-{key}">{html.escape(title)}</title>'
        f'<desc id="spark-{key}-more">{html.escape(described(weeks))}</desc>'
        f'<path class="spark-line" d="M0 {_ABOVE + 0.5}h{width - _STEP + _WIDE}"/>'
        f"{_path('spark-proposed', proposed)}{_path('spark-approved', approved)}{_path('spark-rejected', rejected)}"
        "</svg>"
    )


def described(weeks: Sequence[WeekOfOwner]) -> str:
    """Return twelve weeks in a sentence."""
    proposed, approved, rejected = (
        sum(week.proposed for week in weeks),
        sum(week.approved for week in weeks),
        sum(week.rejected for week in weeks),
    )
    return ngettext(
        "%(proposed)d proposed in %(weeks)d weeks, %(approved)d approved, %(rejected)d rejected.",
        "%(proposed)d proposed in %(weeks)d weeks, %(approved)d approved, %(rejected)d rejected.",
        proposed,
    ) % {"proposed": proposed, "weeks": len(weeks), "approved": approved, "rejected": rejected}


def legend() -> SafeString:
    """Return what the bars of a sparkline mean, each beside a piece of it."""
    pieces = (
        ("spark-proposed", _("proposed"), f"M2 2h{_WIDE}v12h-{_WIDE}z"),
        ("spark-approved", _("approved"), f"M4 2h{_NARROW}v12h-{_NARROW}z"),
        ("spark-rejected", _("rejected, below the line"), f"M2 9h{_WIDE}v5h-{_WIDE}z"),
    )
    return SafeString(
        "".join(
            f'<span class="key"><svg width="12" height="16" aria-hidden="true">{_path(css, d)}</svg> '
            f"{html.escape(name)}</span>"
            for css, name, d in pieces
        )
    )


#: The parts of a stacked bar, from below: the class of each, and its pattern where its colour alone would say it.
_PARTS = ("approved", "changed", "rejected", "unused", "automatic")
_PATTERNS = {
    "changed": '<rect class="part-ground" width="6" height="6"/><path class="part-stroke" d="M0 6L6 0"/>',
    "unused": '<rect class="part-ground" width="6" height="6"/><path class="part-dot" d="M2 2h2v2h-2z"/>',
    "automatic": '<rect class="part-ground" width="6" height="6"/><path class="part-stroke" d="M0 3h6"/>',
}
_COLUMN, _BAR, _HEIGHT, _LABELS, _AXIS = 56, 36, 160, 20, 36


def stacked(weeks: Sequence[WeekOfAgent], began: Sequence[datetime], *, title: str) -> SafeString:
    """Return what was decided week by week as stacked bars, with a scale and the Mondays below."""
    most = max((sum(week.parts) for week in weeks), default=0) or 1
    width, base = _AXIS + _COLUMN * len(weeks), _HEIGHT + 12
    bars = []
    for number, (week, monday) in enumerate(zip(weeks, began, strict=True)):
        left = _AXIS + number * _COLUMN + (_COLUMN - _BAR) // 2
        ends = [round(_HEIGHT * value / most) for value in accumulate(week.parts)]
        for css, bottom, top in zip(_PARTS, [0, *ends], ends, strict=False):
            if top > bottom:
                bars.append(_rect(css, left, base - top, top - bottom))
        day = html.escape(date_format(timezone.localtime(monday), "j M"))
        bars.append(f'<text class="axis" x="{left + _BAR // 2}" y="{base + 16}" text-anchor="middle">{day}</text>')
    ticks = "".join(
        f'<text class="axis" x="{_AXIS - 8}" y="{base - round(_HEIGHT * value / most) + 4}" text-anchor="end">{value}'
        f'</text><path class="grid" d="M{_AXIS} {base - round(_HEIGHT * value / most) + 0.5}H{width}"/>'
        for value in sorted({0, most // 2 if most > 1 else 0, most})
    )
    said = _("%(number)d decisions in %(weeks)d weeks; the numbers are in the table below.") % {
        "number": sum(sum(week.parts) for week in weeks),
        "weeks": len(weeks),
    }
    return SafeString(
        f'<svg class="stacked" role="img" viewBox="0 0 {width} {base + _LABELS}" '
        'aria-labelledby="stacked stacked-more">'
        f'<title id="stacked">{html.escape(title)}</title><desc id="stacked-more">{html.escape(said)}</desc>'
        f"<defs>{''.join(map(_pattern, _PATTERNS))}</defs>{ticks}{''.join(bars)}</svg>"
    )


def part_key(css: str) -> SafeString:
    """Return a piece of a part of a stacked bar, for the legend and the head of the table."""
    return SafeString(
        f'<svg class="part-key" width="16" height="16" aria-hidden="true">{_rect(css, 0, 0, 16, width=16)}</svg>'
    )


def _pattern(css: str) -> str:
    return (
        f'<pattern id="part-{css}" class="part-{css}" width="6" height="6" patternUnits="userSpaceOnUse">'
        f"{_PATTERNS[css]}</pattern>"
    )


def _rect(css: str, left: int, top: int, height: int, *, width: int = _BAR) -> str:
    fill = f' fill="url(#part-{css})"' if css in _PATTERNS else ""
    return f'<rect class="part-{css}" x="{left}" y="{top}" width="{width}" height="{height}"{fill}/>'


def _bars(numbers: Iterable[int], most: int, *, at: int, width: int, room: int, base: int, up: bool) -> str:
    sign = "-" if up else ""
    return "".join(
        f"M{at + number * _STEP} {base}v{sign}{_height(value, most, room)}h{width}v{'' if up else '-'}"
        f"{_height(value, most, room)}z"
        for number, value in enumerate(numbers)
        if value
    )


def _height(value: int, most: int, room: int) -> int:
    return max(2, round(room * value / most))


def _path(css: str, d: str) -> str:
    return f'<path class="{css}" d="{d}"/>' if d else ""
