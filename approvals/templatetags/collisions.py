"""What a page says of undecided proposals that collide: a sentence for each kind of collision, with links."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from django import template
from django.utils.html import conditional_escape, format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from approvals.models import Kind, Proposal
from approvals.pages.inbox_filters import url_of
from approvals.pages.inbox_rows import InboxRow
from approvals.review.collisions import Collision, CollisionEffect
from approvals.review.whole_blocks import WHOLE_KINDS
from approvals.templatetags.proposals import headline, url_of_proposal
from memory_app.models import TargetKind

register = template.Library()

#: Proposals that a sentence or the list beside it names before it only counts them.
MOST_NAMED = 5


_MOST_IN_ROW = 3

#: What approving one proposal makes of another, beside its name.
_EFFECTS = {
    CollisionEffect.NO_LONGER_FITS: gettext_lazy("no longer fits after this"),
    CollisionEffect.TOO_LONG: gettext_lazy("no room after this"),
    CollisionEffect.SETTLED: gettext_lazy("settled by this"),
    CollisionEffect.STILL_FITS: gettext_lazy("same text, still fits"),
    CollisionEffect.IN_PART: gettext_lazy("same notes"),
}


@register.simple_tag
def collision_lines(proposal: Proposal, collisions: Sequence[Collision], list_query: str = "") -> list[SafeString]:
    """Return a sentence for each kind of collision, what no longer fits first."""
    order = list(CollisionEffect)
    found = sorted(collisions, key=lambda each: (order.index(each.effect), order.index(each.back or each.effect)))
    return [
        _line(proposal, list(group), list_query)
        for _key, group in groupby(found, key=lambda each: (each.effect, each.back))
    ]


@register.simple_tag
def touching_of(row: InboxRow, list_query: str = "") -> SafeString:
    """Return which listed proposals change the same words as one row, the first few by number."""
    links = [_link(pk, "", list_query) for pk in row.touching[:_MOST_IN_ROW]]
    if len(row.touching) > _MOST_IN_ROW:
        links.append(conditional_escape(_("%(n)d more") % {"n": len(row.touching) - _MOST_IN_ROW}))
    return format_html(_("changes the same words as {}"), _joined(links))


@register.simple_tag
def siblings_shown(siblings: Sequence[Proposal], collisions: Sequence[Collision]) -> list[tuple[Proposal, str]]:
    """Return the first few other proposals about a target, those that collide first, with what this does to them."""
    effects = {each.other.pk: each.effect for each in collisions}
    first = sorted(siblings, key=lambda each: each.pk not in effects)[:MOST_NAMED]
    return [(each, _effect_said(each, effects[each.pk]) if each.pk in effects else "") for each in first]


def _effect_said(other: Proposal, effect: CollisionEffect) -> str:
    """Return what approving a proposal makes of another, in a few words."""
    if other.kind == Kind.DELETE_BLOCK and effect is CollisionEffect.STILL_FITS:
        return _("deletes the block")
    return str(_EFFECTS[effect])


@register.simple_tag
def siblings_left(siblings: Sequence[Proposal]) -> int:
    """Return how many others `siblings_shown` leaves out."""
    return max(0, len(siblings) - MOST_NAMED)


@register.simple_tag
def siblings_url(proposal: Proposal) -> str:
    """Return the list narrowed to a proposal's target; of an import, to the notes of its owner."""
    if proposal.target_kind == TargetKind.IMPORT:
        return url_of({"owner": proposal.owner, "about": "note"})
    return url_of({"owner": proposal.owner, "target": proposal.target})


def _line(proposal: Proposal, group: Sequence[Collision], list_query: str) -> SafeString:
    others = [each.other for each in group]
    links = [_link(each.pk, headline(each), list_query) for each in others[:MOST_NAMED]]
    if len(others) > MOST_NAMED:
        said = _("%(n)d more") % {"n": len(others) - MOST_NAMED}
        links.append(format_html('<a href="{}">{}</a>', siblings_url(proposal), said))
    return format_html(_sentence(proposal, group[0], len(group)), _joined(links))


def _link(pk: int, title: str, list_query: str) -> SafeString:
    return format_html(
        '<a href="{}"{}><span class="visually-hidden">{} </span>#{}</a>',
        url_of_proposal(pk, list_query),
        format_html(' title="{}"', title) if title else "",
        _("proposal"),
        pk,
    )


def _joined(links: Sequence[SafeString]) -> SafeString:
    """Return them as one says it: "#12, #15 and 7 more"."""
    if len(links) == 1:
        return links[0]
    return format_html(_("{} and {}"), format_html_join(", ", "{}", ((link,) for link in links[:-1])), links[-1])


def _sentence(proposal: Proposal, collision: Collision, count: int) -> str:
    """Return what is said of proposals that collide alike, `{}` for their numbers."""
    if collision.effect == collision.back == CollisionEffect.SETTLED:
        return ngettext(
            "{} asks for the same; approving this settles it.",
            "{} ask for the same; approving this settles them.",
            count,
        )
    if collision.effect == CollisionEffect.SETTLED:
        return ngettext(
            "Approving this settles {}: this change has all that it asks for.",
            "Approving this settles {}: this change has all that they ask for.",
            count,
        )
    if proposal.kind in WHOLE_KINDS or collision.other.kind == Kind.DELETE_BLOCK:
        return _sentence_of_whole_block(proposal, count)
    if proposal.target_kind == TargetKind.BLOCK:
        return _sentence_of_block(collision, count)
    return _sentence_of_notes(proposal, collision, count)


def _sentence_of_whole_block(proposal: Proposal, count: int) -> str:
    """Return what is said of new blocks with one label, and of a deletion beside changes of the same block."""
    if proposal.kind == Kind.CREATE_BLOCK:
        return ngettext(
            "{} proposes a block with the same label: approving this hands it back to its agent.",
            "{} propose a block with the same label: approving this hands them back to their agents.",
            count,
        )
    if proposal.kind == Kind.DELETE_BLOCK:
        return ngettext(
            "Approving this leaves nothing for {} to change, and hands it back to its agent.",
            "Approving this leaves nothing for {} to change, and hands them back to their agents.",
            count,
        )
    return ngettext(
        "{} deletes this block: approving it leaves nothing for this one to change.",
        "{} delete this block: approving any of them leaves nothing for this one to change.",
        count,
    )


def _sentence_of_block(collision: Collision, count: int) -> str:
    match collision.effect, collision.back:
        case CollisionEffect.NO_LONGER_FITS, CollisionEffect.STILL_FITS:
            return ngettext(
                "Approving this makes {} no longer fit; this one would still fit after it.",
                "Approving this makes {} no longer fit; this one would still fit after any of them.",
                count,
            )
        case CollisionEffect.NO_LONGER_FITS, _back:
            return ngettext(
                "Approving this makes {} no longer fit: it changes the same text.",
                "Approving this makes {} no longer fit: they change the same text.",
                count,
            )
        case CollisionEffect.TOO_LONG, _back:
            return _("Approving this leaves no room in the block for {}.")
        case _effect, CollisionEffect.SETTLED:
            return ngettext(
                "{} asks for this and more; approving it settles this one.",
                "{} ask for this and more; approving any of them settles this one.",
                count,
            )
        case _effect, CollisionEffect.STILL_FITS:
            return ngettext(
                "{} changes the same text; it can still be approved after this.",
                "{} change the same text; they can still be approved after this.",
                count,
            )
    return ngettext(
        "{} can still be approved after this, but this one no longer fits after it.",
        "{} can still be approved after this, but this one no longer fits after any of them.",
        count,
    )


def _sentence_of_notes(proposal: Proposal, collision: Collision, count: int) -> str:
    if collision.effect == CollisionEffect.NO_LONGER_FITS:
        return ngettext(
            "Approving this makes {} no longer fit: it changes the same note.",
            "Approving this makes {} no longer fit: they change the same notes.",
            count,
        )
    if proposal.target_kind == TargetKind.IMPORT:
        return ngettext(
            "{} changes some of the same notes; after this, they can be left out of it.",
            "{} change some of the same notes; after this, they can be left out of them.",
            count,
        )
    return ngettext(
        "The import {} changes this note too; after this, the note can be left out of it.",
        "The imports {} change this note too; after this, the note can be left out of them.",
        count,
    )
