"""`{% load statistics %}`: the pictures of the board and of agents, and the links behind their numbers."""

from __future__ import annotations

import html
from collections.abc import Sequence
from datetime import datetime
from urllib.parse import urlencode

from django import template
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from approvals.models import Agent, Status
from approvals.pages.inbox_filters import AS_PROPOSED, CHANGED, url_of
from approvals.statistics import drawing
from approvals.statistics.agents import AgentCounts
from approvals.statistics.board import BoardRow, WeekOfOwner
from approvals.templatetags.figures import age, number, percent

register = template.Library()

register.simple_tag(drawing.legend, name="spark_legend")
register.simple_tag(drawing.part_key)


@register.simple_tag
def listed(count: int, **parameters: str) -> SafeString:
    """Return a number as a link to the list it counts."""
    return SafeString(f'<a href="{html.escape(url_of(parameters))}">{number(count)}</a>')


@register.filter
def week_name(began: datetime) -> str:
    """Return a week by its Monday: "2 Nov"."""
    return date_format(timezone.localtime(began), "j M")


@register.simple_tag
def board_rows(rows: Sequence[BoardRow], most: int) -> SafeString:
    """Return the rows of the board; each number is a link to the list it counts.

    In one go: with words and addresses looked up for each cell, two hundred rows took three times as long.
    """
    common = _Common()
    return SafeString("".join(common.row(row, most) for row in rows))


class _Common:
    """What all rows have in common: words in the viewer's language, and addresses with a blank for the person."""

    _BLANK = "0-owner-0"  # the same in an address, and in nothing else of it

    def __init__(self) -> None:
        self.titles = (_("Waiting"), _("Oldest"), _("Decided, 7 days"), _("Automatic, 7 days"), _("Last change"))
        self.week_by_week, self.deactivated = _("%(name)s, week by week"), html.escape(_("deactivated"))
        self.memory = html.escape(reverse("memory", args=[self._BLANK]))
        self.proposal = html.escape(f"{reverse('proposal', args=[0])}?{urlencode({'list': f'owner={self._BLANK}'})}")
        self.waiting = self._list()
        self.approved, self.rejected, self.automatic = (
            self._list(tab="decided", state=state, decided="week")
            for state in (Status.APPROVED, Status.REJECTED, Status.APPLIED)
        )
        self.approved_words, self.rejected_words = html.escape(_("approved")), html.escape(_("rejected"))

    def _list(self, **parameters: str) -> str:
        return html.escape(url_of({"owner": self._BLANK} | parameters))

    def row(self, row: BoardRow, most: int) -> str:
        owner = row.username
        after = f' <span class="meta">{owner}</span>' if row.name != owner else ""
        after += "" if row.is_active else f' <span class="chip">{self.deactivated}</span>'
        decided = (
            self._link(self.approved, owner, row.approved, self.approved_words),
            self._link(self.rejected, owner, row.rejected, self.rejected_words),
        )
        cells = (
            self._link(self.waiting, owner, row.waiting),
            self._oldest(row),
            " · ".join(filter(None, decided)),
            self._link(self.automatic, owner, row.automatic),
            age(row.last),
        )
        drawn = "".join(_cell(title, content) for title, content in zip(self.titles, cells, strict=True))
        picture = drawing.sparkline(
            row.weeks, most=most, key=owner.replace(".", "-dot-"), title=self.week_by_week % {"name": row.name}
        )
        return (
            f'<tr role="row"><th scope="row" role="rowheader"><a href="{self.memory.replace(self._BLANK, owner)}">'
            f'{html.escape(row.name)}</a>{after}</th>{drawn}<td role="cell" class="board-weeks">{picture}</td></tr>\n'
        )

    def _oldest(self, row: BoardRow) -> str:
        if not row.oldest:
            return ""
        url = self.proposal.replace("/0/", f"/{row.oldest}/").replace(self._BLANK, row.username)
        return f'<a href="{url}">{age(row.oldest_at)}</a>'

    def _link(self, url: str, owner: str, count: int, words: str = "") -> str:
        said = f"{number(count)} {words}" if words else number(count)
        return f'<a href="{url.replace(self._BLANK, owner)}">{said}</a>' if count else ""


def _cell(title: str, content: str) -> str:
    if not content:
        return '<td role="cell" class="none"><span aria-hidden="true">–</span></td>'
    return f'<td role="cell" data-title="{html.escape(title)}">{content}</td>'


@register.simple_tag
def week_cells(weeks: Sequence[WeekOfOwner]) -> SafeString:
    """Return three numbers for each week."""
    numbers = (value for week in weeks for value in (week.proposed, week.approved, week.rejected))
    return SafeString("".join(f"<td>{value or ''}</td>" for value in numbers))


@register.simple_tag
def agent_cells(agent: AgentCounts, owner: str, since: str) -> SafeString:
    """Return the cells of an agent that count."""
    numbers = (
        (_("Proposed"), number(agent.proposed) if agent.proposed else ""),
        (_("Waiting"), listed_of(agent.waiting, agent, owner)),
        (_("Approved as proposed"), listed_of(agent.as_proposed, agent, owner, since, AS_PROPOSED)),
        (_("With changes or in part"), listed_of(agent.changed, agent, owner, since, CHANGED)),
        (_("Rejected"), listed_of(agent.rejected_and_already_applied, agent, owner, since, Status.REJECTED)),
        (_("Automatic"), listed_of(agent.automatic, agent, owner, since, Status.APPLIED)),
        (_("Acceptance"), percent(agent.acceptance.share) if agent.acceptance.share is not None else ""),
    )
    return SafeString("".join(_cell(title, shown) for title, shown in numbers))


@register.simple_tag
def listed_of(count: int, agent: AgentCounts | Agent, owner: str, since: str = "", state: str = "") -> SafeString:
    """Return a number of an agent's proposals as a link to them.

    Args:
        since: a date; of what was decided, what was decided since then.
        state: an outcome that Review filters by; without one, what waits.
    """
    if not count:
        return SafeString("0") if isinstance(agent, Agent) else SafeString()
    of_decided = {"tab": "decided", "state": state, "decided": since} if state else {}
    return listed(count, agent=agent.name, **of_decided, **({"owner": owner} if owner else {}))
