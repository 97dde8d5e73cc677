"""Blocks and the ledger. Saving or deleting a block here is a commit in the admin's name (`through_services`)."""

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from approvals import services
from approvals.accounts.sign_in import viewer_of
from approvals.admin.through_services import (
    DatabaseFilter,
    MemoryForm,
    ReadOnlyAdmin,
    ThroughServices,
    register_read_only,
)
from approvals.forms.memory import check_label, tags_of
from approvals.pages.notes_page import TYPE_NAMES
from approvals.services import BlockFields, delete_messages, notes
from approvals.services.errors import BlockChanged, NotesChanged, Refusal
from memory_app.models import (
    MAX_BLOCK_LIMIT,
    Change,
    DirectWrite,
    MemoryBlock,
    MemoryNote,
    Message,
    NoteAccess,
    SiteRecord,
    block_id,
    note_pk,
)
from memory_app.reads import BlockNotFound, NoteNotFound
from memory_app.search.ranking.chunking import Source


class BlockAdminForm(MemoryForm[MemoryBlock]):
    texts = ("description", "body")
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
        if "label" in self.fields:
            self.fields["label"].validators.append(check_label)


@admin.register(MemoryBlock)
class MemoryBlockAdmin(ThroughServices[MemoryBlock]):
    form = BlockAdminForm
    changed = BlockChanged
    not_found = BlockNotFound
    list_display = ["__str__", "title", "used", "limit", "read_only", "updated_at"]
    list_filter = [DatabaseFilter, "read_only", "updated_at"]
    search_fields = ["owner", "label"]
    source = Source.MEMORY_BLOCK
    names = ["owner", "label"]
    content = ["title", "description", "body", "limit", "read_only"]
    text = "body"
    readonly_fields = ["schema_ref", "sha256", "created_at", "updated_at"]

    @admin.display(description=gettext_lazy("length"))
    def used(self, block: MemoryBlock) -> int:
        return len(block.body)

    def key_of(self, owner: str, name: str) -> UUID:
        return block_id(owner, name)

    def pages_of(self, row: MemoryBlock) -> list[tuple[str, str]]:
        return [
            (_("Page"), reverse("block", args=[row.owner, row.label])),
            (_("History of the text"), reverse("block_history", args=[row.owner, row.label])),
        ]

    def save_model(self, request: HttpRequest, obj: MemoryBlock, form: Any, change: bool) -> None:
        data = form.cleaned_data
        fields = BlockFields(schema_ref=obj.schema_ref, **{name: data[name] for name in self.content})
        said = {"actor": viewer_of(request), "owner": obj.owner, "label": obj.label, "comment": data["comment"]}
        if change:
            services.edit_block(fields=fields, loaded_sha256=data["loaded_sha256"], **said)
        else:
            services.create_block(fields=fields, **said)
            obj.pk = block_id(obj.owner, obj.label)

    def delete_seen(self, request: HttpRequest, row: MemoryBlock, *, loaded_sha256: str, comment: str) -> None:
        services.delete_block(
            actor=viewer_of(request), owner=row.owner, label=row.label, loaded_sha256=loaded_sha256, comment=comment
        )


@admin.register(Change)
class ChangeAdmin(ReadOnlyAdmin[Change]):
    """The ledger: who did what to which block or note, and the commit it is in."""

    list_display = ["at", "owner", "target", "action", "actor", "agent", "proposal_link", "commit"]
    list_filter = ["action", "target_kind", "at"]
    search_fields = ["owner", "target", "commit", "actor", "agent", "comment"]
    ordering = ["-id"]  # of all databases: only each one's rows are in an index by their time

    @admin.display(description=gettext_lazy("proposal"), ordering="proposal_id")
    def proposal_link(self, change: Change) -> str:
        if change.proposal_id is None:
            return ""
        url = reverse("admin:approvals_proposal_change", args=[change.proposal_id])
        return format_html('<a href="{}">#{}</a>', url, change.proposal_id)


class NoteAdminForm(MemoryForm[MemoryNote]):
    texts = ("content", "rationale")
    type = forms.ChoiceField(label=gettext_lazy("Type"), choices=lambda: list(TYPE_NAMES.items()), initial="note")
    tags = forms.CharField(
        label=gettext_lazy("Tags"),
        required=False,
        help_text=gettext_lazy("Separated by commas."),
        widget=forms.TextInput(attrs={"class": "vTextField"}),
    )
    confidence = forms.FloatField(label=gettext_lazy("Confidence"), min_value=0, max_value=1, initial=0.8)

    class Meta:
        model = MemoryNote
        fields = ["owner", "content", "type", "category", "confidence", "rationale"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.sha256:
            self.initial["tags"] = ", ".join(self.instance.tags)

    def clean_tags(self) -> tuple[str, ...]:
        return tags_of(self.cleaned_data["tags"], self._loaded.tags)


@admin.register(MemoryNote)
class NoteAdmin(ThroughServices[MemoryNote]):
    form = NoteAdminForm
    changed = NotesChanged
    not_found = NoteNotFound
    list_display = ["__str__", "type", "opening", "source", "confidence", "created_at"]
    list_filter = [DatabaseFilter, "type", "source", "created_at"]
    search_fields = ["note_id", "owner"]
    source = Source.USER_MEMORY
    names = ["owner"]
    content = ["content", "type", "tags", "category", "confidence", "rationale"]
    text = "content"
    readonly_fields = [
        *("note_id", "importance", "source", "session_id"),
        *("superseded_at", "superseded_by", "superseded_reason"),
        *("sha256", "created_at", "updated_at"),
    ]

    @admin.display(description=gettext_lazy("content"))
    def opening(self, note: MemoryNote) -> str:
        return Truncator(note.content).chars(80)

    def key_of(self, owner: str, name: str) -> UUID:
        return note_pk(owner, name)

    def pages_of(self, row: MemoryNote) -> list[tuple[str, str]]:
        return [(_("Page and history"), reverse("note", args=[row.owner, row.note_id]))]

    def save_model(self, request: HttpRequest, obj: MemoryNote, form: Any, change: bool) -> None:
        data = form.cleaned_data
        by = notes.ChangeContext(actor=viewer_of(request), reasoning=data["comment"])
        typed = {name: data[name] for name in self.content}
        typed |= {name: data[name] or None for name in ("category", "rationale")}
        if change:
            notes.update(by=by, owner=obj.owner, note_id=obj.note_id, loaded_sha256=data["loaded_sha256"], **typed)
        else:
            made = notes.save(by=by, owner=obj.owner, **typed)
            if made.known:
                raise Refusal(_("Note %(id)s says so already.") % {"id": made.note_id})
            obj.note_id, obj.pk = made.note_id, note_pk(obj.owner, made.note_id)

    def delete_seen(self, request: HttpRequest, row: MemoryNote, *, loaded_sha256: str, comment: str) -> None:
        by = notes.ChangeContext(actor=viewer_of(request), reasoning=comment)
        notes.delete(by=by, owner=row.owner, note_id=row.note_id, loaded_sha256=loaded_sha256)


# -- What lies beside the memory: conversations (may be deleted, never changed) and how often notes were recalled.


@admin.register(Message)
class MessageAdmin(ReadOnlyAdmin[Message]):
    list_display = ["owner", "session_id", "role", "author", "agent", "at"]
    list_filter = ["role", "received_at"]
    ordering = ["-id"]  # not the model's, which sorts all conversations
    search_fields = ["owner", "session_id", "content"]

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.is_superuser)  # people may ask for it

    def delete_model(self, request: HttpRequest, obj: Message) -> None:
        named = {"owner": obj.owner, "session_id": obj.session_id, "message_id": obj.message_id}
        delete_messages(actor=viewer_of(request), **named)  # which makes search forget it too

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Message]) -> None:
        for message in queryset:
            self.delete_model(request, message)


# What people wrote without a proposal, as it was announced before it was made.
register_read_only(
    DirectWrite, "at owner action actor operation", "owner operation actor comment", list_filter=["action"]
)
register_read_only(NoteAccess, "owner note_id count last_at", "owner note_id", list_filter=["last_at"])
register_read_only(SiteRecord, "name at", "name")
