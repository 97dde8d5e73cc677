"""What a page says of a proposal: its address, its row, its warnings, its outcome, its thread, the rule that let it in.

Also the link from wherever a session is named to the conversation kept of it: who may read a page that names a session
may read that owner's conversations, `permissions.may_read` answers both.
"""

from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

from django import template
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _

from approvals.forms.proposal import ApproveForm, everybodys_agent, new_batch
from approvals.models import Approval, Event, Kind, Proposal, RejectReason, Status, TrustRule
from approvals.pages.blocks import url_of_target
from approvals.pages.inbox_filters import Listing, url_of
from approvals.review import summary, trust
from approvals.review.turn import thread_summary
from approvals.risks.flags import Risk
from approvals.services.close import BEFORE_EXPIRY
from approvals.services.hand_back import REASONS
from approvals.templatetags.figures import once_a_page
from approvals.templatetags.texts import marked, opening
from memory_app import conversations

register = template.Library()
register.simple_tag(url_of_target, name="target_url")
register.simple_tag(new_batch, name="new_batch")  # so that sending a form twice decides once
register.simple_tag(everybodys_agent)
register.simple_tag(trust.kind_in_words, name="kind_words")
register.filter("risk_title", summary.risk_title)
register.filter("thread", thread_summary)


@register.simple_tag
def proposal_url(proposal: Proposal, list_query: str = "", page: str = "proposal", **more: object) -> str:
    """Return the address of a proposal with the list it is opened from; `more` are parameters of the page.

    Args:
        page: the name of another page of it, such as `edit`.
    """
    url = reverse(page, args=[proposal.pk])
    parameters = ({"list": list_query} if list_query else {}) | more
    return f"{url}?{urlencode(parameters)}" if parameters else url


@register.inclusion_tag("proposal/tick.html")
def tick(boxes: dict[str, Any], number: int, *, of_note: bool = False) -> dict[str, Any]:
    """Return the box of one change of a block, or of one note of an import, by its number."""
    id_ = boxes["ids"][number - 1]
    ticked, outdated = boxes["ticks"].is_on(id_), id_ in boxes["outdated"]
    return boxes | {"id": id_, "number": number, "of_note": of_note, "ticked": ticked, "outdated": outdated}


@register.simple_tag
def expires_soon(proposal: Proposal) -> str:
    """Return in how many days an undecided proposal is closed, where that is soon."""
    left = proposal.expires_at - timezone.now()
    if left > BEFORE_EXPIRY:
        return ""
    if left.days < 1:
        return _("expires today")
    return ngettext("expires in %(days)d day", "expires in %(days)d days", left.days) % {"days": left.days}


@register.simple_tag
def list_url_of(proposal: Proposal, listing: Listing) -> str:
    """Return the list narrowed to the target of a proposal."""
    return url_of(listing.parameters | {"owner": proposal.owner, "target": proposal.target})


@register.filter
def headline(proposal: Proposal) -> SafeString:
    """Return a proposal on one line: its reason, or where none was given what it does."""
    return opening(proposal.reasoning or capfirst(f"{Kind(proposal.kind).label}: {proposal.target_title}"))


@register.filter
def is_seen_first(proposal: Proposal) -> bool:
    """Whether it has a warning for which a person is asked, whatever a rule says."""
    return bool(trust.SEEN_FIRST.intersection(proposal.risks))


@register.inclusion_tag("components/risk.html")
def risk_text(risk: Risk) -> dict[str, Any]:
    """Return a flag's title, its sentence and what was found."""
    found = {"count": 0, "said": 0, "examples": [], **risk.params}
    added, more = found["count"] - found["said"], found["count"] - len(found["examples"])
    return found | {"risk": risk, "title": summary.risk_title(risk.key), "added": added, "more": more}


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


@register.simple_tag
def reasons(form: ApproveForm | None, *, must: bool = True) -> SafeString:
    """Return the reasons to choose from of a rejection, or without `must` of a request, with the one in the form."""
    return _reasons(get_language() or "", typed(form, "reason"), must=must)


@lru_cache(maxsize=64)
def _reasons(language: str, chosen: str, *, must: bool) -> SafeString:
    """Return the reasons to choose from, of a rejection or of a request for changes.

    Kept by language: drawn for each of 25 rows, they took a third of the time of the list's rows.
    """
    offered = RejectReason if must else REASONS
    reasons = [(reason.value, reason.label) for reason in offered]
    chosen = chosen if chosen in dict(reasons) else ""
    return render_to_string("components/reasons.html", {"reasons": reasons, "chosen": chosen, "must": must})


@register.filter
def typed(form: ApproveForm | None, name: str) -> str:
    """Return the value of a field of a form; empty without a form, and for a field that only another form has."""
    if not form or name not in form.fields:  # a name the context does not have arrives as ""
        return ""
    return str(form[name].value() or "")


@register.inclusion_tag("talk/at.html", takes_context=True)
def talk_at(context: template.Context, change: int | None, *, oob: bool = False) -> dict[str, Any]:
    """Return the link from a change to the thread, with how many comments are about it; empty outside a proposal.

    Args:
        oob: it takes the place of the one that the page has.
    """
    ids = context.get("change_ids") or {}
    id_ = ids.get(change) if context.get("talk_open") else None
    return {"id": id_, "number": change, "count": (context.get("comments_at") or {}).get(change, 0), "oob": oob}


@register.simple_tag
def rule_words(rule: dict[str, Any] | TrustRule) -> str:
    """Return a rule, or what an event keeps of one, in words."""
    return trust.in_words(trust.as_data(rule) if isinstance(rule, TrustRule) else rule)


@register.simple_tag
def applied_because(proposal: Proposal) -> str:
    """Return why no person was asked about an automatic change, in a sentence."""
    applied = proposal.events.filter(what=Event.What.APPLIED).first()
    if applied and (rule := applied.data.get("rule")):
        return _("A rule of the owner let it through: %(rule)s.") % {"rule": trust.in_words(rule)}
    return _("The owner’s policy lets agents write notes without asking.")


@register.filter
def in_decisions(found: trust.Acceptance | None) -> str:
    """Return what people decided, in words: "48 of 50 approved unchanged, 1 edited, 1 rejected"."""
    if found is None or not found.total:
        return _("no decisions in the last 12 weeks")
    unchanged = _("%(n)d of %(total)d approved unchanged") % {"n": found.as_proposed, "total": found.total}
    others = (
        (found.edited, _("%(n)d edited")),
        (found.rejected, _("%(n)d rejected")),
        (found.reverted, _("%(n)d undone")),
    )
    return ", ".join([unchanged, *(words % {"n": n} for n, words in others if n)])


@register.simple_tag(takes_context=True)
def conversation_url(context: template.Context, owner: str, session_id: str) -> str:
    """Return where the conversation of a session is read; empty when no message of it is kept.

    One query per session and page, so not for lists.
    """
    if not session_id:
        return ""

    def find() -> str:
        is_kept = conversations.is_kept(owner, session_id)
        return reverse("conversation", args=[owner, session_id]) if is_kept else ""

    return once_a_page(context, ("conversation", owner, session_id), find)


@register.simple_tag(takes_context=True)
def session_link(context: template.Context, owner: str, session_id: str) -> str:
    """Return a session's name, as a link where its conversation is kept."""
    address = conversation_url(context, owner, session_id)
    return format_html('<a href="{}">{}</a>', address, marked(session_id)) if address else marked(session_id)
