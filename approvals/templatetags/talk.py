"""What a row and a change say of the talk about a proposal."""

from __future__ import annotations

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from approvals.models import Proposal
from approvals.pages.talk import RowTalk, talk_of

register = template.Library()


@register.simple_tag(takes_context=True)
def talk_chips(context: template.Context, proposal: Proposal) -> SafeString:
    """Return the chips of a row: comments, and to whom it is assigned."""
    talk: RowTalk | None = (context.get("talk") or {}).get(proposal.pk)
    if talk is None and "request" in context:
        talk = talk_of([proposal], context["request"].user)[proposal.pk]
    parts = _chips(talk, proposal) if talk else []
    if not parts:
        return SafeString()
    return SafeString(f'<p class="chips talk-chips">{"".join(parts)}</p>')


def _chips(talk: RowTalk, proposal: Proposal) -> list[str]:
    parts = []
    comments = talk.thread.comments
    if talk.thread.is_answered and not proposal.is_decided:
        parts.append(_chip(_("%(agent)s answered") % {"agent": proposal.agent.name}, "chip-accent"))
    if comments:
        parts.append(_chip(ngettext("%(n)d comment", "%(n)d comments", comments) % {"n": comments}))
    if talk.assigned_to and not proposal.is_decided:
        said = _("assigned to you") if talk.is_mine else _("assigned to %(who)s") % {"who": talk.assigned_to}
        parts.append(_chip(said, "chip-accent" if talk.is_mine else ""))
    return parts


def _chip(text: str, more: str = "") -> str:
    return format_html('<span class="chip {}">{}</span>', more, text)


@register.simple_tag(takes_context=True)
def talk_at(context: template.Context, change: int | None, *, oob: bool = False) -> SafeString:
    """Return the link from a change to the thread, with how many comments are about it; empty outside a proposal.

    Args:
        oob: it takes the place of the one that the page has.
    """
    ids = context.get("change_ids") or {}
    if not change or change not in ids or not context.get("talk_open"):
        return SafeString()
    count = (context.get("comments_at") or {}).get(change, 0)
    said = ngettext("%(n)d comment", "%(n)d comments", count) % {"n": count} if count else _("Comment")
    return format_html(
        '<a id="talk-at-{}" class="talk-at{}" href="#talk" data-about="{}"{}>{}'
        '<span class="visually-hidden"> {}</span></a>',
        change,
        " talk-at-some" if count else "",
        ids[change],
        SafeString(' hx-swap-oob="true"') if oob else "",
        said,
        _("about change %(number)d") % {"number": change},
    )
