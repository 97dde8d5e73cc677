"""Proposals, their revisions and events: read-only, with the decisions staff may take.

A decision names what was seen. The list does not show it, so "approve" and "reject" lead to a page that
does, with the sha256 of each target as it is on that page; the services check the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import structlog
from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.html import format_html_join
from django.utils.safestring import mark_safe
from django.utils.text import Truncator, capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from approvals import services
from approvals.accounts.sign_in import viewer_of
from approvals.admin.through_services import ReadOnlyAdmin, ReadOnlyInline
from approvals.models import (
    Event,
    Mergeability,
    Proposal,
    ProposedNote,
    RejectedFingerprint,
    RejectReason,
    Revision,
    Status,
)
from approvals.pages import risk_wording
from approvals.permissions import ReviewAction
from approvals.review.presentation import Review, review_of
from approvals.services.decide.several import require_plain
from approvals.services.errors import OpenToDecide
from approvals.templatetags.changes import excerpt
from approvals.templatetags.texts import marked
from approvals.views.request import whole_number
from memory_app.text import worddiff

log = structlog.get_logger(__name__)

#: Proposals on one page that are decided together; a person does not read more of them.
MOST_AT_ONCE = 25


class DecisionForm(forms.Form):
    """What is said about all the chosen proposals at once."""

    comment = forms.CharField(
        label=gettext_lazy("Comment"), required=False, max_length=1_000, widget=forms.Textarea(attrs={"rows": 2})
    )


class RejectionForm(DecisionForm):
    reason = forms.ChoiceField(
        label=gettext_lazy("Reason"),
        choices=RejectReason.choices,
        help_text=gettext_lazy("“Too private” also permanently removes what the agent wrote."),
    )
    field_order = ["reason", "comment"]


@dataclass(frozen=True)
class DecisionCandidate:
    """One chosen proposal on the page of a joint decision.

    Args:
        why_not: why it is left out; empty when it is going to be decided.
    """

    review: Review
    segments: tuple[worddiff.Segment, ...]
    why_not: str


class RevisionInline(ReadOnlyInline[Revision, Proposal]):
    model = Revision
    fields = ["number", "origin", "made_by", "branch", "base", "head", "created_at"]
    readonly_fields = ["base", "head"]

    @admin.display(description=gettext_lazy("base"))
    def base(self, revision: Revision) -> str:
        return revision.base_commit[:10]

    @admin.display(description=gettext_lazy("head"))
    def head(self, revision: Revision) -> str:
        return revision.head_commit[:10]


class EventInline(ReadOnlyInline[Event, Proposal]):
    model = Event
    fields = ["at", "what", "actor", "revision", "said"]
    readonly_fields = ["said"]

    @admin.display(description=gettext_lazy("text"))
    def said(self, event: Event) -> str:
        return marked(event.text)


@admin.register(Proposal)
class ProposalAdmin(ReadOnlyAdmin[Proposal]):
    list_display = ["__str__", "why", "agent", "status", "mergeability", "created_at"]
    list_filter = ["status", "mergeability", "kind", "confidence", "agent", "created_at"]
    list_select_related = ["agent", "decided_by"]
    search_fields = ["=id", "owner", "target", "target_title", "agent__name", "reasoning", "merge_commit"]
    actions = ["approve_selected", "reject_selected"]
    inlines = [RevisionInline, EventInline]
    readonly_fields = ["change", "quoted", "warnings"]
    view_on_site = False  # the button to its review says more
    fieldsets = [
        (None, {"fields": ["owner", "target_kind", "target", "target_title", "kind", "agent", "change"]}),
        (gettext_lazy("Why"), {"fields": ["reasoning", "confidence", "session_id", "quoted"]}),
        (
            gettext_lazy("State"),
            {
                "fields": [
                    "status",
                    "mergeability",
                    "warnings",
                    "current_revision_number",
                    "created_at",
                    "updated_at",
                    "expires_at",
                ]
            },
        ),
        (
            gettext_lazy("Decision"),
            {
                "fields": [
                    "decided_by",
                    "decided_at",
                    "approval",
                    "decision_reason",
                    "decision_comment",
                    "merge_commit",
                    "redacted_at",
                ]
            },
        ),
        (
            gettext_lazy("For repairs"),
            {
                "classes": ["collapse"],
                "fields": [
                    "operation",
                    "result_sha256",
                    "seen_sha256",
                    "merge_operation",
                    "main_before",
                    "lease_expires_at",
                    "is_garbage_left",
                ],
            },
        ),
    ]

    @admin.display(description=gettext_lazy("change"))
    def change(self, proposal: Proposal) -> str:
        return excerpt(proposal.excerpt)

    @admin.display(description=gettext_lazy("evidence"))
    def quoted(self, proposal: Proposal) -> str:
        """Return the messages given as evidence, a line for each."""
        turns = (
            (marked(str(turn.get("role", ""))), marked(str(turn.get("content", "")))) for turn in proposal.evidence
        )
        return format_html_join(mark_safe("<br>"), "<strong>{}</strong> {}", turns) or "-"

    @admin.display(description=gettext_lazy("warnings"))
    def warnings(self, proposal: Proposal) -> str:
        return ", ".join(capfirst(risk_wording.title(key)) for key in proposal.risks) or "-"

    @admin.display(description=gettext_lazy("reason"))
    def why(self, proposal: Proposal) -> str:
        return Truncator(proposal.reasoning).words(12)

    def has_decide_permission(self, request: HttpRequest) -> bool:
        """Whether to offer the decisions: to staff. The service checks each decision again."""
        user = viewer_of(request)
        return user.is_active and user.is_staff

    @admin.action(description=gettext_lazy("Approve selected proposals"), permissions=["decide"])
    def approve_selected(self, request: HttpRequest, queryset: QuerySet[Proposal]) -> HttpResponse | None:
        form = DecisionForm(request.POST if "decide" in request.POST else None)
        if not form.is_valid():
            return self._page(request, queryset, ReviewAction.APPROVE, form)
        self._decide(request, queryset, ReviewAction.APPROVE, comment=form.cleaned_data["comment"])
        return None

    @admin.action(description=gettext_lazy("Reject selected proposals"), permissions=["decide"])
    def reject_selected(self, request: HttpRequest, queryset: QuerySet[Proposal]) -> HttpResponse | None:
        form = RejectionForm(request.POST if "decide" in request.POST else None)
        if not form.is_valid():
            return self._page(request, queryset, ReviewAction.REJECT, form)
        said = {name: form.cleaned_data[name] for name in ("reason", "comment")}
        self._decide(request, queryset, ReviewAction.REJECT, **said)
        return None

    def get_queryset(self, request: HttpRequest) -> QuerySet[Proposal]:
        # Until its branch is made, a proposal is nothing anybody could look at.
        return super().get_queryset(request).exclude(status=Status.PREPARING)

    # -- deciding about several ---------------------------------------------------------------------

    def _page(
        self, request: HttpRequest, queryset: QuerySet[Proposal], action: ReviewAction, form: DecisionForm
    ) -> HttpResponse:
        """Return the page with the change of every chosen proposal, and one button."""
        chosen = list(queryset.select_related("agent", "decided_by").order_by("created_at", "id")[: MOST_AT_ONCE + 1])
        candidates = [_candidate(request, proposal, action) for proposal in chosen[:MOST_AT_ONCE]]
        approving = action is ReviewAction.APPROVE
        context = {
            **self.admin_site.each_context(request),
            "title": _("Approve proposals") if approving else _("Reject proposals"),
            "opts": self.opts,
            "form": form,
            "approving": approving,
            "candidates": candidates,
            "deciding": [candidate for candidate in candidates if not candidate.why_not],
            "left_out": max(0, len(chosen) - MOST_AT_ONCE),
            "most": MOST_AT_ONCE,
            "action_name": "approve_selected" if approving else "reject_selected",
            "checkbox_name": ACTION_CHECKBOX_NAME,
        }
        status = 422 if form.is_bound and form.errors else 200
        return TemplateResponse(request, "admin/approvals/proposal/decide.html", context, status=status)

    def _seen(self, request: HttpRequest, queryset: QuerySet[Proposal]) -> list[services.Item]:
        """Return the proposals that the page showed, as it showed them."""
        seen = []
        for pk in queryset.order_by("created_at", "id").values_list("pk", flat=True):
            revision = whole_number(request.POST.get(f"revision_{pk}", ""))
            if revision is not None:
                seen.append(services.Item(pk, revision, request.POST.get(f"seen_{pk}", "")))
        return seen

    def _decide(self, request: HttpRequest, queryset: QuerySet[Proposal], action: ReviewAction, **said: str) -> None:
        """Decide about what the page showed, and say what came of each."""
        items = self._seen(request, queryset)[:MOST_AT_ONCE]
        outcome = services.decide_several(actor=viewer_of(request), items=items, action=action, **said)
        done = _("approved") if action is ReviewAction.APPROVE else _("rejected")
        for result in outcome.results:
            if result.is_done:
                self.message_user(request, f"{result.proposal}: {done}", messages.SUCCESS)
            else:
                self.message_user(request, f"#{result.proposal_id}: {result.why}", messages.ERROR)


def _why_not_among_others(review: Review) -> str:
    try:
        require_plain(review.proposal, review.assessment)
    except OpenToDecide as error:
        return error.message
    # Tags, a replacement, a day: none of them is on this page.
    return _("It changes more than the text shown here. Open it to decide.") if review.notes else ""


def _candidate(request: HttpRequest, proposal: Proposal, action: ReviewAction) -> DecisionCandidate:
    review = review_of(proposal, viewer_of(request))
    why_not: Any = ""
    if action not in review.actions or proposal.is_with_agent:
        why_not = (
            _("It is %(status)s.") % {"status": proposal.get_status_display()}
            if proposal.status != Status.OPEN
            else Mergeability(review.state).label
        )
    elif action is ReviewAction.APPROVE:
        why_not = _why_not_among_others(review)
    return DecisionCandidate(
        review=review, segments=worddiff.diff(review.before_text, review.after_text), why_not=str(why_not)
    )


@admin.register(Revision)
class RevisionAdmin(ReadOnlyAdmin[Revision]):
    list_display = ["proposal", "number", "origin", "branch", "created_at"]
    list_filter = ["origin", "created_at"]
    ordering = ["-id"]  # not the model's, which sorts all texts by their proposals
    list_select_related = ["proposal"]
    search_fields = ["=proposal__id", "proposal__owner", "proposal__target", "branch", "base_commit", "head_commit"]


@admin.register(Event)
class EventAdmin(ReadOnlyAdmin[Event]):
    list_display = ["at", "what", "actor", "actor_kind", "owner", "proposal", "revision"]
    list_filter = ["what", "actor_kind", "at"]
    ordering = ["-id"]
    list_select_related = ["proposal"]
    search_fields = ["=proposal__id", "owner", "actor", "text"]


@admin.register(ProposedNote)
class ProposedNoteAdmin(ReadOnlyAdmin[ProposedNote]):
    list_display = ["proposal", "note_id"]
    list_select_related = ["proposal"]
    search_fields = ["=proposal__id", "proposal__owner", "=note_id"]


@admin.register(RejectedFingerprint)
class RejectedFingerprintAdmin(ReadOnlyAdmin[RejectedFingerprint]):
    list_display = ["proposal", "owner", "agent", "decided_at"]
    list_filter = ["agent"]
    search_fields = ["=proposal__id", "owner"]
    list_select_related = ["proposal", "agent"]
    show_full_result_count = False
