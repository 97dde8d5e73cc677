"""What a page says of a proposal: its address, its row, its warnings, its outcome."""

from __future__ import annotations

import html
from typing import Any
from urllib.parse import urlencode

from django import template
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from approvals.forms.proposal import ApproveForm, TickBoxes, new_batch
from approvals.models import Approval, Kind, Mergeability, Proposal, RejectReason, ReviewReason, Status
from approvals.pages import inbox, risk_wording
from approvals.pages.blocks import url_of_target
from approvals.pages.inbox_filters import Listing, url_of
from approvals.review import trust
from approvals.risks.flags import Risk
from approvals.services.decide.close import BEFORE_EXPIRY
from approvals.services.turn.hand_back import REASONS
from approvals.templatetags.changes import words_of
from approvals.templatetags.figures import age, number
from approvals.templatetags.people import named
from approvals.templatetags.texts import marked, opening
from memory_app.models import TargetKind

register = template.Library()

#: How many risks a row names before it only counts them.
_CHIPS = 2


@register.simple_tag
def target_url(proposal: Proposal) -> str:
    """Return the page of a proposal's target; for one that does not exist yet, the list it would be in."""
    return url_of_target(proposal)


@register.simple_tag
def proposal_url(proposal: Proposal, list_query: str = "", page: str = "proposal", **more: object) -> str:
    """Return the address of a proposal with the list it is opened from; `more` are parameters of the page.

    Args:
        page: the name of another page of it, such as `edit`.
    """
    return url_of_proposal(proposal.pk, list_query, page, **more)


def url_of_proposal(pk: int, list_query: str, page: str = "proposal", **more: object) -> str:
    """Return what `proposal_url` does, of a proposal by its id."""
    url = reverse(page, args=[pk])
    parameters = ({"list": list_query} if list_query else {}) | more
    return f"{url}?{urlencode(parameters)}" if parameters else url


@register.inclusion_tag("proposal/tick.html")
def tick_change(boxes: TickBoxes, number: int) -> dict[str, Any]:
    """Return the box of one change of a block, by its number."""
    id_ = boxes.ids[number - 1]
    return {"id": id_, "number": number, "total": boxes.total, "ticked": boxes.ticks.is_on(id_)}


@register.inclusion_tag("proposal/tick.html")
def tick_note(boxes: TickBoxes, id_: str, number: int) -> dict[str, Any]:
    """Return the box of one note of an import."""
    ticked, outdated = boxes.ticks.is_on(id_), id_ in boxes.outdated
    return {"id": id_, "number": number, "of_note": True, "ticked": ticked, "outdated": outdated}


@register.simple_tag(takes_context=True)
def row_facts(context: template.Context, proposal: Proposal, single: inbox.Group | str = "") -> SafeString:
    """Return the facts of a row on one line; where the target has no header of its own, also its owner and title.

    Args:
        single: the group of such a row.
    """
    facts: list[str] = []
    if isinstance(single, inbox.Group):
        if context.get("several_owners"):
            facts.append(html.escape(named(single.owner, context.get("names"))))
        if single.target_kind == TargetKind.BLOCK:
            link = f'<a href="{html.escape(url_of_target(proposal))}">{marked(single.title)}</a>'
            facts.append(f'<span class="row-target">{link}</span>')
        if single.total > 1:
            every = html.escape(_("all %(number)s proposals") % {"number": number(single.total)})
            facts.append(f'<a href="{html.escape(list_url_of(single, context["listing"]))}">{every}</a>')
    facts += [words_of(proposal), html.escape(proposal.agent.name)]
    if proposal.is_decided:
        facts.append(f"{decided(proposal)} {age(proposal.decided_at)}")
    else:
        facts.append(age(proposal.created_at))
        facts.append(html.escape(expires_soon(proposal)))
    return SafeString("".join(f"<span>{fact}</span>" for fact in facts if fact))


def expires_soon(proposal: Proposal) -> str:
    """Return in how many days an undecided proposal is closed, where that is soon."""
    left = proposal.expires_at - timezone.now()
    if left > BEFORE_EXPIRY:
        return ""
    if left.days < 1:
        return _("expires today")
    return ngettext("expires in %(days)d day", "expires in %(days)d days", left.days) % {"days": left.days}


@register.simple_tag
def list_url_of(group: inbox.Group, listing: Listing) -> str:
    """Return the list narrowed to one target."""
    return url_of(listing.parameters | {"owner": group.owner, "target": group.target})


@register.simple_tag(name="new_batch")
def batch_of_form() -> str:
    """Return an id for a form that decides about several, so that sending it twice decides once."""
    return new_batch()


@register.filter
def headline(proposal: Proposal) -> SafeString:
    """Return a proposal on one line: its reason, or where none was given what it does."""
    return opening(proposal.reasoning or capfirst(f"{Kind(proposal.kind).label}: {proposal.target_title}"))


@register.simple_tag
def policy_says(proposal: Proposal, *, is_own: bool, owner_name: str) -> str:
    """Return why a person is asked about a proposal, or none was, in a sentence.

    Args:
        is_own: the viewer is the owner.
        owner_name: what the owner is called.
    """
    if proposal.auto_applied:
        return _("Applied automatically.")
    if proposal.review_reason == ReviewReason.REPEATED:
        return _("A person rejected or undid the same before.")
    if proposal.review_reason == ReviewReason.LARGE:
        return _("A rule lets small changes of this agent through; this one is larger.")
    if proposal.review_reason == ReviewReason.RULE and trust.SEEN_FIRST.intersection(proposal.risks):
        return _("Whatever a rule says, a person first sees a change with warnings like these.")
    if proposal.review_reason == ReviewReason.RULE:
        return _("A rule says to ask first.")
    if proposal.kind == Kind.DELETE_BLOCK:
        return _("Deleting a block always needs approval, whatever a rule says.")
    if proposal.target_kind == TargetKind.BLOCK and proposal.review_reason == ReviewReason.SCOPE:
        return _("A rule would let it through, but this agent’s token may only propose.")
    if proposal.target_kind == TargetKind.BLOCK and proposal.review_reason == ReviewReason.SECRETS:
        return _("Whatever a rule says, a person first sees a change with warnings like these.")
    if proposal.target_kind == TargetKind.BLOCK:
        return _("Block changes need approval, unless a rule of the owner lets them through.")
    if proposal.review_reason == ReviewReason.POLICY and is_own:
        return _("Your policy is to ask first when an agent writes notes.")
    if proposal.review_reason == ReviewReason.POLICY:
        return _("%(owner)s’s policy is to ask first when an agent writes notes.") % {"owner": owner_name}
    if proposal.review_reason == ReviewReason.SCOPE:
        return _("This agent’s token may only propose notes.")
    if proposal.review_reason == ReviewReason.SECRETS:
        return _(
            "The note, the agent’s reason or a message it quotes reads like a key, token, password or card number, "
            "so a person sees it first."
        )
    # Older than the column: which of the two it was is not known.
    return _("The owner’s policy is to ask first, or this agent’s token may only propose notes.")


@register.simple_tag
def chips(proposal: Proposal, is_changed_since: bool = False) -> SafeString:
    """Return chips for what is out of the ordinary about a proposal; empty for an ordinary one.

    Args:
        is_changed_since: it has another revision than the one the viewer has seen.
    """
    if _is_ordinary(proposal):
        return SafeString()
    values = {
        "proposal": proposal,
        "is_changed_since": is_changed_since,
        "is_open": not proposal.is_decided,
        "is_repeated": proposal.review_reason == ReviewReason.REPEATED,
        "stale": proposal.mergeability == Mergeability.REBASABLE,
        "conflict": proposal.mergeability == Mergeability.CONFLICT,
        "already": proposal.mergeability == Mergeability.ALREADY_APPLIED,
        "unknown": proposal.mergeability == Mergeability.UNKNOWN,
        "risks": [risk_wording.title(key) for key in proposal.risks[:_CHIPS]],
        "more_risks": max(0, len(proposal.risks) - _CHIPS),
    }
    return render_to_string("components/chips.html", values)


def _is_ordinary(proposal: Proposal) -> bool:
    """Whether there is nothing to say of a proposal in chips, which need a template of their own."""
    fits = proposal.is_decided or proposal.mergeability == Mergeability.CLEAN
    is_edit = proposal.kind == Kind.EDIT
    is_changed = proposal.current_revision_number > 1 or proposal.is_redacted or proposal.reverted_by_commit
    is_repeated = proposal.review_reason == ReviewReason.REPEATED
    return fits and is_edit and not is_changed and not proposal.risks and not is_repeated


@register.simple_tag
def risk_title(risk: Risk) -> str:
    """Return a flag in two or three words."""
    return risk_wording.title(risk.key)


@register.inclusion_tag("components/risk.html")
def risk_text(risk: Risk) -> dict[str, Any]:
    """Return a flag's title, its sentence and what was found."""
    return {
        "title": risk_wording.title(risk.key),
        "sentence": risk_wording.sentence(risk),
        "examples": risk.params.get("examples", []),
        "more": risk.params.get("count", 0) - len(risk.params.get("examples", [])),
    }


@register.simple_tag
def decided(proposal: Proposal) -> str:
    """Return the outcome in words: "Approved by Tim"."""
    who = proposal.decided_by.display_name if proposal.decided_by else ""
    outcomes = {
        Status.APPROVED: _("Approved by %(who)s"),
        Status.REJECTED: _("Rejected by %(who)s"),
        Status.WITHDRAWN: _("Withdrawn by %(agent)s"),
        Status.EXPIRED: _("Expired"),
        Status.APPLIED: _("Applied automatically"),
        Status.CHANGES_REQUESTED: _("Changes requested"),
    }
    how = {
        Approval.PART: _("Approved in part by %(who)s"),
        Approval.EDITED: _("Approved with changes by %(who)s"),
        Approval.RESOLVED: _("Approved by %(who)s after resolving a conflict"),
    }
    if proposal.approval in how:
        outcomes[Status.APPROVED] = how[Approval(proposal.approval)]
    if proposal.was_already_applied:
        by_person = _("Closed by %(who)s: already in the memory")
        outcomes[Status.REJECTED] = by_person if who else _("Closed automatically: already in the memory")
    said = outcomes.get(Status(proposal.status), Status(proposal.status).label)
    return conditional_escape(str(said) % {"who": who, "agent": proposal.agent.name})


@register.inclusion_tag("components/reject_fields.html")
def reject_fields(proposal: Proposal, form: ApproveForm | None = None) -> dict[str, Any]:
    """Return the fields of reasons and free text, filled in from `form`."""
    return {
        "proposal": proposal,
        "reasons": RejectReason.choices,
        "reason": _typed(form, "reason"),
        "comment": _typed(form, "comment"),
        "reason_errors": form.errors.get("reason", []) if form else [],
        "comment_errors": form.errors.get("comment", []) if form else [],
    }


@register.inclusion_tag("proposal/request_fields.html")
def request_fields(proposal: Proposal, form: ApproveForm | None = None) -> dict[str, Any]:
    """Return the fields of what should change and why, filled in from `form`."""
    return {
        "proposal": proposal,
        "reasons": [(reason.value, reason.label) for reason in REASONS],
        "reason": _typed(form, "reason"),
        "comment": _typed(form, "comment"),
        "comment_errors": form.errors.get("comment", []) if form else [],
    }


@register.filter
def typed(form: ApproveForm | None, name: str) -> str:
    """Return the value of a field of a form; empty without a form."""
    return _typed(form, name)


def _typed(form: ApproveForm | None, name: str) -> str:
    if not form:  # a name the context does not have arrives as ""
        return ""
    return str(form[name].value() or "")
