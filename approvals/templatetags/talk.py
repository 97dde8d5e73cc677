"""What a row and a change say of the talk about a proposal."""

from __future__ import annotations

from typing import Any

from django import template

from approvals.models import Proposal
from approvals.pages.talk import RowTalk, talk_of

register = template.Library()


@register.simple_tag(takes_context=True)
def talk_of_row(context: template.Context, proposal: Proposal) -> RowTalk | None:
    """Return what is said about a proposal: what the view of the list read for all, or a query for a single row."""
    talk: RowTalk | None = (context.get("talk") or {}).get(proposal.pk)
    if talk is None and "request" in context:
        talk = talk_of([proposal], context["request"].user)[proposal.pk]
    return talk


@register.inclusion_tag("talk/at.html", takes_context=True)
def talk_at(context: template.Context, change: int | None, *, oob: bool = False) -> dict[str, Any]:
    """Return the link from a change to the thread, with how many comments are about it; empty outside a proposal.

    Args:
        oob: it takes the place of the one that the page has.
    """
    ids = context.get("change_ids") or {}
    id_ = ids.get(change) if context.get("talk_open") else None
    return {"id": id_, "number": change, "count": (context.get("comments_at") or {}).get(change, 0), "oob": oob}
