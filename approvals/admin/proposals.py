"""Proposals, their revisions and events: read-only. Staff decide on the pages, where they see all that waits."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html_join
from django.utils.safestring import mark_safe
from django.utils.text import Truncator, capfirst
from django.utils.translation import gettext_lazy

from approvals.admin.through_services import ReadOnlyAdmin, ReadOnlyInline
from approvals.models import Event, Proposal, ProposedNote, RejectedFingerprint, Revision, Status
from approvals.pages import risk_wording
from approvals.templatetags.changes import excerpt
from approvals.templatetags.texts import marked


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

    def get_queryset(self, request: HttpRequest) -> QuerySet[Proposal]:
        # Until its branch is made, a proposal is nothing anybody could look at.
        return super().get_queryset(request).exclude(status=Status.PREPARING)


admin.site.register(
    Revision,
    ReadOnlyAdmin,
    list_display=["proposal", "number", "origin", "branch", "created_at"],
    list_filter=["origin", "created_at"],
    ordering=["-id"],  # not the model's, which sorts all texts by their proposals
    list_select_related=["proposal"],
    search_fields=["=proposal__id", "proposal__owner", "proposal__target", "branch", "base_commit", "head_commit"],
)
admin.site.register(
    Event,
    ReadOnlyAdmin,
    list_display=["at", "what", "actor", "actor_kind", "owner", "proposal", "revision"],
    list_filter=["what", "actor_kind", "at"],
    ordering=["-id"],
    list_select_related=["proposal"],
    search_fields=["=proposal__id", "owner", "actor", "text"],
)
admin.site.register(
    ProposedNote,
    ReadOnlyAdmin,
    list_display=["proposal", "note_id"],
    list_select_related=["proposal"],
    search_fields=["=proposal__id", "proposal__owner", "=note_id"],
)
admin.site.register(
    RejectedFingerprint,
    ReadOnlyAdmin,
    list_display=["proposal", "owner", "agent", "decided_at"],
    list_filter=["agent"],
    list_select_related=["proposal", "agent"],
    search_fields=["=proposal__id", "owner"],
)
