"""Proposals, their revisions and events: read-only, with the decisions about several that staff may take.

A decision names what was seen. The list does not show it, so both actions lead to a page that does; what is not plain
is decided on its own page, as in the list of what waits.
"""

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
from approvals.admin.through_services import ReadOnlyAdmin, ReadOnlyInline, register_read_only
from approvals.forms.proposal import SeveralForm, ticked
from approvals.models import Batch, Event, Proposal, ProposedNote, RejectedFingerprint, Revision, Status
from approvals.pages.inbox_rows import rows_of
from approvals.permissions import ReviewAction
from approvals.review.summary import risk_title
from approvals.templatetags.assent import bdi, excerpt, marked

#: Proposals on one page that are decided together; a person does not read more of them.
MOST_AT_ONCE = 25


class RevisionInline(ReadOnlyInline[Revision, Proposal]):
    model = Revision
    fields = ["number", "origin", "made_by", "branch", "base_commit", "head_commit", "created_at"]


class EventInline(ReadOnlyInline[Event, Proposal]):
    model = Event
    fields = ["at", "what", "actor", "revision", "said"]
    readonly_fields = ["said"]

    @admin.display(description=gettext_lazy("text"))
    def said(self, event: Event) -> str:
        return bdi(event.text)


_TIMES = ["created_at", "updated_at", "expires_at"]
_DECISION = (
    *("decided_by", "decided_at", "approval", "decision_reason", "decision_comment"),
    *("merge_commit", "redacted_at"),
)
_FOR_REPAIRS = (
    *("operation", "result_sha256", "seen_sha256", "merge_operation", "main_before", "lease_expires_at"),
    "is_garbage_left",
)


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
        (gettext_lazy("State"), {"fields": ["status", "mergeability", "warnings", "current_revision_number", *_TIMES]}),
        (gettext_lazy("Decision"), {"fields": _DECISION}),
        (gettext_lazy("For repairs"), {"classes": ["collapse"], "fields": _FOR_REPAIRS}),
    ]

    @admin.display(description=gettext_lazy("change"))
    def change(self, proposal: Proposal) -> str:
        return bdi(excerpt(proposal.excerpt))

    @admin.display(description=gettext_lazy("evidence"))
    def quoted(self, proposal: Proposal) -> str:
        """Return the messages given as evidence, a line for each."""
        turns = ((marked(str(turn.get("role", ""))), bdi(str(turn.get("content", "")))) for turn in proposal.evidence)
        return format_html_join(mark_safe("<br>"), "<strong>{}</strong> {}", turns) or "-"

    @admin.display(description=gettext_lazy("warnings"))
    def warnings(self, proposal: Proposal) -> str:
        return ", ".join(capfirst(risk_title(key)) for key in proposal.risks) or "-"

    @admin.display(description=gettext_lazy("reason"))
    def why(self, proposal: Proposal) -> str:
        return bdi(Truncator(proposal.reasoning).words(12))

    def get_queryset(self, request: HttpRequest) -> QuerySet[Proposal]:
        # Until its branch is made, a proposal is nothing anybody could look at.
        return super().get_queryset(request).exclude(status=Status.PREPARING)

    @admin.action(description=gettext_lazy("Approve selected proposals"), permissions=["view"])
    def approve_selected(self, request: HttpRequest, queryset: QuerySet[Proposal]) -> HttpResponse | None:
        return self._decide(request, queryset, ReviewAction.APPROVE)

    @admin.action(description=gettext_lazy("Reject selected proposals"), permissions=["view"])
    def reject_selected(self, request: HttpRequest, queryset: QuerySet[Proposal]) -> HttpResponse | None:
        return self._decide(request, queryset, ReviewAction.REJECT)

    def _decide(self, request: HttpRequest, queryset: QuerySet[Proposal], action: ReviewAction) -> HttpResponse | None:
        """Show what was chosen with one button; when that is pressed, decide, and say what came of each."""
        sent = request.POST.dict() | {"action": action.value}
        form = SeveralForm(sent if "decide" in sent else None)
        is_approval = action is ReviewAction.APPROVE
        if form.is_valid():
            items = ticked(sent)[:MOST_AT_ONCE]
            outcome = services.decide_several(actor=viewer_of(request), items=items, **form.cleaned_data)
            for result in outcome.results:
                done, level = (_("approved") if is_approval else _("rejected")), messages.SUCCESS
                if result.code:
                    done, level = result.why, messages.ERROR
                self.message_user(request, f"{result.proposal or f'#{result.proposal_id}'}: {done}", level)
            return None
        chosen = queryset.select_related("agent").order_by("created_at", "id")
        rows = rows_of(chosen[:MOST_AT_ONCE], looking=True)
        # Type and tags of a note are not on this page.
        deciding = {
            row.proposal.pk
            for row in rows
            if row.proposal.status == Status.OPEN and (not is_approval or (row.is_plain and not row.note))
        }
        context = {
            **self.admin_site.each_context(request),
            "title": _("Approve proposals") if is_approval else _("Reject proposals"),
            "opts": self.opts,
            "form": form,
            "is_approval": is_approval,
            "rows": rows,
            "deciding": deciding,
            "most": MOST_AT_ONCE,
            "left_out": chosen.count() > MOST_AT_ONCE,
            "checkbox_name": ACTION_CHECKBOX_NAME,
        }
        status = 422 if form.is_bound else 200
        return TemplateResponse(request, "admin/approvals/proposal/decide.html", context, status=status)


register_read_only(
    Batch, "person action created_at finished_at", "person__username", list_filter=["action", "created_at"]
)
register_read_only(
    Revision,
    "proposal number origin branch created_at",
    "=proposal__id proposal__owner proposal__target branch base_commit head_commit",
    list_filter=["origin", "created_at"],
    ordering=["-id"],  # not the model's, which sorts all texts by their proposals
    list_select_related=["proposal"],
)
register_read_only(
    Event,
    "at what actor actor_kind owner proposal revision",
    "=proposal__id owner actor text",
    list_filter=["what", "actor_kind", "at"],
    ordering=["-id"],
    list_select_related=["proposal"],
)
register_read_only(ProposedNote, "proposal note_id", "=proposal__id proposal__owner =note_id")
register_read_only(RejectedFingerprint, "proposal owner agent decided_at", "=proposal__id owner", list_filter=["agent"])
