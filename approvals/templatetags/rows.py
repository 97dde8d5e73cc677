"""What the rows of a list draw: their forms, rendered once for all of them, and the people that one stands for."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping

from django import template
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from approvals.pages.inbox_rows import InboxRow
from approvals.templatetags.people import named
from approvals.templatetags.proposals import headline

register = template.Library()

#: What stands for a row's own values in what is drawn once for all rows. The number has no proposal, and the
#: characters of the private area come from nowhere else: what people typed is drawn apart from the blanks.
PK_BLANK = 8_070_605_040_302_010
_AGENT, _SHA256, BACK_BLANK, HEADLINE_BLANK = "\ue001", "\ue002", "\ue003", "\ue004"
_BLANKS = re.compile(f"({PK_BLANK}|[{_AGENT}-{HEADLINE_BLANK}])")

#: How many people a row names before it only counts them.
_PEOPLE = 6


@register.simple_tag(takes_context=True)
def row_actions(context: template.Context, row: InboxRow) -> SafeString:
    """Return the forms of a row that decide about it. A list renders them once and fills in each row's own values:
    25 rows of six reasons each took two thirds of the page's time."""
    proposal, typed_form, typed_request = row.proposal, context.get("reject_form"), context.get("request_form")
    values = {
        "proposal": {"pk": PK_BLANK, "agent": {"name": _AGENT}},
        "approve_url": reverse("approve", args=[PK_BLANK]),
        "reject_url": reverse("reject", args=[PK_BLANK]),
        "request_url": reverse("request_changes", args=[PK_BLANK]),
        "seen_sha256": _SHA256,
        "row_url": BACK_BLANK,
        "headline": HEADLINE_BLANK,
        "reject_form": typed_form,
        "request_form": typed_request,
    }
    parts = drawn_once(context, "inbox/row_actions.html", values, anew=bool(typed_form or typed_request))
    own = {
        str(PK_BLANK): str(proposal.pk),
        _AGENT: html.escape(proposal.agent.name),
        _SHA256: html.escape(row.seen_sha256),
        BACK_BLANK: html.escape(str(context.get("row_url") or "")),
        HEADLINE_BLANK: str(headline(proposal)),
    }
    return filled(parts, own)


def drawn_once(
    context: template.Context, template_name: str, values: dict[str, object], *, anew: bool = False
) -> list[str]:
    """Return a part of a row in pieces, blanks among them, rendered for the first row and kept for the others.

    Args:
        values: what it is rendered with, with blanks for what differs from row to row.
        anew: it has what was typed into one row: render it for that one.
    """
    kept = context.dicts[0].setdefault("_drawn", {})
    if anew or template_name not in kept:
        parts = _BLANKS.split(render_to_string(template_name, values, request=context.get("request")))
        if anew:
            return parts
        kept[template_name] = parts
    drawn: list[str] = kept[template_name]
    return drawn


def filled(parts: list[str], own: Mapping[str, str]) -> SafeString:
    """Return such a part with a row's own values. Each piece is looked at once: what is filled in may hold anything."""
    return SafeString("".join(own.get(part, part) for part in parts))


@register.simple_tag
def people_of(row: InboxRow, names: Mapping[str, str]) -> SafeString:
    """Return the people one row stands for by name: all of them to read, the first few at once."""
    called = [named(each.proposal.owner, names) for each in row.together]
    shown, rest = called[:_PEOPLE], called[_PEOPLE:]
    line = html.escape(", ".join(shown))
    if rest:
        more = _("and %(n)s more") % {"n": len(rest)}
        every = html.escape(", ".join(rest))
        line += f' <span title="{every}">{html.escape(more)}</span><span class="visually-hidden">: {every}</span>'
    return SafeString(line)
