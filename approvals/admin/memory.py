"""Blocks and the ledger. Saving or deleting a block here is a commit in the admin's name (`through_services`)."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from approvals import services
from approvals.accounts.viewer import viewer_of
from approvals.admin.read_only import ReadOnlyAdmin
from approvals.admin.through_services import MemoryForm, ThroughServices
from approvals.forms.memory import check_label, with_line_breaks_of
from approvals.services import BlockFields
from approvals.services.errors import BlockChanged
from memory_app.models import MAX_BLOCK_LIMIT, Change, DirectWrite, MemoryBlock, block_id
from memory_app.reads import BlockNotFound


class BlockAdminForm(MemoryForm[MemoryBlock]):
    limit = forms.IntegerField(label=gettext_lazy("Limit in characters"), min_value=1, max_value=MAX_BLOCK_LIMIT)

    class Meta:
        model = MemoryBlock
        fields = ["owner", "label", "title", "description", "body", "limit", "read_only"]
        widgets = {
            "description": forms.Textarea(attrs={"rows": 2, "class": "vLargeTextField"}),
            "body": forms.Textarea(attrs={"rows": 24, "class": "vLargeTextField"}),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "body" in self.fields:
            self.fields["body"].strip = False  # type: ignore[attr-defined]

    def clean_label(self) -> str:
        label: str = self.cleaned_data["label"]
        check_label(label)
        return label

    def clean_description(self) -> str:
        return with_line_breaks_of(self._loaded.description, self.cleaned_data["description"])

    def clean_body(self) -> str:
        return with_line_breaks_of(self._loaded.body, self.cleaned_data["body"])


@admin.register(MemoryBlock)
class MemoryBlockAdmin(ThroughServices[MemoryBlock]):
    form = BlockAdminForm
    changed = BlockChanged
    not_found = BlockNotFound
    list_display = ["__str__", "title", "used", "limit", "read_only", "updated_at"]
    list_filter = ["read_only", "updated_at"]
    search_fields = ["owner", "label", "title", "body"]
    names = ["owner", "label"]
    content = ["title", "description", "body", "limit", "read_only"]
    readonly_fields = ["schema_ref", "sha256", "created_at", "updated_at"]

    @admin.display(description=gettext_lazy("length"))
    def used(self, block: MemoryBlock) -> int:
        return len(block.body)

    def text_of(self, row: MemoryBlock) -> str:
        return row.body

    def pages_of(self, row: MemoryBlock) -> list[tuple[str, str]]:
        return [
            (_("Page"), reverse("block", args=[row.owner, row.label])),
            (_("History of the text"), reverse("block_history", args=[row.owner, row.label])),
        ]

    def save_model(self, request: HttpRequest, obj: MemoryBlock, form: Any, change: bool) -> None:
        data = form.cleaned_data
        fields = BlockFields(
            title=data["title"],
            description=data["description"],
            body=data["body"],
            limit=data["limit"],
            read_only=data["read_only"],
            schema_ref=obj.schema_ref,
        )
        actor = viewer_of(request)
        if change:
            services.edit_block(
                actor=actor,
                owner=obj.owner,
                label=obj.label,
                fields=fields,
                loaded_sha256=data["loaded_sha256"],
                comment=data["comment"],
            )
        else:
            services.create_block(actor=actor, owner=obj.owner, label=obj.label, fields=fields, comment=data["comment"])
            obj.pk = block_id(obj.owner, obj.label)

    def delete_seen(self, request: HttpRequest, row: MemoryBlock, *, loaded_sha256: str, comment: str) -> None:
        services.delete_block(
            actor=viewer_of(request), owner=row.owner, label=row.label, loaded_sha256=loaded_sha256, comment=comment
        )


@admin.register(Change)
class ChangeAdmin(ReadOnlyAdmin[Change]):
    """The ledger: who did what to which block or note, and the commit it is in."""

    list_display = ["at", "owner", "target", "action", "actor", "agent", "proposal_link", "short_commit"]
    list_display_links = ["at"]
    list_filter = ["action", "target_kind", "at"]
    search_fields = ["owner", "target", "commit", "actor", "agent", "comment"]

    @admin.display(description=gettext_lazy("commit"), ordering="commit")
    def short_commit(self, change: Change) -> str:
        return change.commit[:10]

    @admin.display(description=gettext_lazy("proposal"), ordering="proposal_id")
    def proposal_link(self, change: Change) -> str:
        if change.proposal_id is None:
            return ""
        url = reverse("admin:approvals_proposal_change", args=[change.proposal_id])
        return format_html('<a href="{}">#{}</a>', url, change.proposal_id)


@admin.register(DirectWrite)
class DirectWriteAdmin(ReadOnlyAdmin[DirectWrite]):
    """What people wrote without a proposal, as it was announced before it was made."""

    list_display = ["at", "owner", "action", "actor", "operation"]
    list_display_links = ["at"]
    list_filter = ["action"]
    search_fields = ["owner", "operation", "actor", "comment"]
