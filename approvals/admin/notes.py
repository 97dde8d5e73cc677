"""Notes. Saving or deleting one here is a commit in the admin's name (`through_services`)."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from approvals.accounts.viewer import viewer_of
from approvals.admin.through_services import MemoryForm, ThroughServices
from approvals.forms.memory import with_line_breaks_of
from approvals.pages.note_list import TYPE_NAMES
from approvals.services import notes
from approvals.services.errors import NotesChanged
from approvals.services.notes import ChangeContext
from memory_app.models import MemoryNote, note_pk
from memory_app.reads import NoteNotFound


class NoteAdminForm(MemoryForm[MemoryNote]):
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
        typed: str = self.cleaned_data["tags"]
        # A tag may contain a comma; unchanged tags come back as they are.
        if self._loaded.sha256 and typed.strip() == ", ".join(self._loaded.tags):
            return tuple(self._loaded.tags)
        return notes.tidied(typed.split(","))

    def clean_content(self) -> str:
        return with_line_breaks_of(self._loaded.content, self.cleaned_data["content"])

    def clean_rationale(self) -> str:
        return with_line_breaks_of(self._loaded.rationale or "", self.cleaned_data["rationale"] or "")


@admin.register(MemoryNote)
class NoteAdmin(ThroughServices[MemoryNote]):
    form = NoteAdminForm
    changed = NotesChanged
    not_found = NoteNotFound
    list_display = ["__str__", "type", "opening", "source", "confidence", "created_at"]
    list_filter = ["type", "source", "created_at"]
    search_fields = ["note_id", "owner", "content"]
    names = ["owner"]
    content = ["content", "type", "tags", "category", "confidence", "rationale"]
    readonly_fields = [
        "note_id",
        "importance",
        "source",
        "session_id",
        "superseded_at",
        "superseded_by",
        "superseded_reason",
        "sha256",
        "created_at",
        "updated_at",
    ]

    @admin.display(description=gettext_lazy("content"))
    def opening(self, note: MemoryNote) -> str:
        return Truncator(note.content).chars(80)

    def text_of(self, row: MemoryNote) -> str:
        return row.content

    def pages_of(self, row: MemoryNote) -> list[tuple[str, str]]:
        return [(_("Page and history"), reverse("note", args=[row.owner, row.note_id]))]

    def save_model(self, request: HttpRequest, obj: MemoryNote, form: Any, change: bool) -> None:
        data = form.cleaned_data
        by = ChangeContext(actor=viewer_of(request), reasoning=data["comment"])
        typed = {
            "content": data["content"],
            "type": data["type"],
            "tags": data["tags"],
            "category": data["category"] or None,
            "confidence": data["confidence"],
            "rationale": data["rationale"] or None,
        }
        if change:
            notes.update(by=by, owner=obj.owner, note_id=obj.note_id, loaded_sha256=data["loaded_sha256"], **typed)
        else:
            made = notes.save(by=by, owner=obj.owner, **typed)
            obj.note_id, obj.pk = made.note_id, note_pk(obj.owner, made.note_id)

    def delete_seen(self, request: HttpRequest, row: MemoryNote, *, loaded_sha256: str, comment: str) -> None:
        by = ChangeContext(actor=viewer_of(request), reasoning=comment)
        notes.delete(by=by, owner=row.owner, note_id=row.note_id, loaded_sha256=loaded_sha256)
