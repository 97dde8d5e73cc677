"""Pictures of numbers, made here as SVG: no script draws in the browser, and each has its words and a table.

Colours are classes of the style sheet. What is told by colour is told by place or shape too.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

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
