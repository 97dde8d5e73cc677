"""Notes. Saving one here is a commit in the admin's name, through the same service as its owner's pages.

As with blocks (`admin.memory`), the views that write are called without Django's `atomic()`, and what
would write rows directly is off. A refusal becomes an error on the form, with what was typed still in it.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any, ClassVar, cast

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.forms import ModelForm
from django.forms.models import construct_instance
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.csrf import csrf_protect

from approvals.admin.plain_text import PlainList
from approvals.forms_memory import MAX_COMMENT, REFUSALS, with_line_breaks_of
from approvals.forms_notes import add_note_refusal
from approvals.models import Kind, User
from approvals.note_pages import TYPE_NAMES
from approvals.services import notes as services
from approvals.services.errors import NotesChanged
from approvals.services.notes import By, NoteChange
from approvals.views.viewer import viewer_of
from memory_app import recall
from memory_app.models import Note, note_pk
from memory_app.recall import NoteNotFound


class NoteAdminForm(forms.ModelForm[Note]):
    """A note, why it is changed, and the sha256 of what the admin was shown."""

    #: What the service answered to this form; set on the request's own subclass when it is shown again.
    refusal: ClassVar[Exception | None] = None

    type = forms.ChoiceField(label=gettext_lazy("Type"), choices=lambda: list(TYPE_NAMES.items()), initial="note")
    tags = forms.CharField(
        label=gettext_lazy("Tags"),
        required=False,
        help_text=gettext_lazy("Separated by commas."),
        widget=forms.TextInput(attrs={"class": "vTextField"}),
    )
    confidence = forms.FloatField(label=gettext_lazy("Confidence"), min_value=0, max_value=1, initial=0.8)
    comment = forms.CharField(
        label=gettext_lazy("Comment"),
        required=False,
        max_length=MAX_COMMENT,
        help_text=gettext_lazy("Why you change it. It stays in the history, under your name."),
        widget=forms.TextInput(attrs={"class": "vTextField"}),
    )
    loaded_sha256 = forms.CharField(required=False, widget=forms.HiddenInput)

    class Meta:
        model = Note
        fields = ["owner", "content", "type", "category", "confidence", "rationale"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["loaded_sha256"] = self.instance.sha256
        if self.instance.sha256:
            self.initial["tags"] = ", ".join(self.instance.tags)
        self._loaded = copy(self.instance)  # validation writes what was typed into the instance

    def clean_owner(self) -> str:
        owner: str = self.cleaned_data["owner"]
        if not User.objects.filter(username=owner).exists():
            raise forms.ValidationError(_("There is no person of this username."))
        return owner

    def clean_tags(self) -> tuple[str, ...]:
        typed: str = self.cleaned_data["tags"]
        # A tag may hold a comma; tags that nobody touched come back as they are.
        if self._loaded.sha256 and typed.strip() == ", ".join(self._loaded.tags):
            return tuple(self._loaded.tags)
        return services.tidied(typed.split(","))

    def clean_content(self) -> str:
        return with_line_breaks_of(self._loaded.content, self.cleaned_data["content"])

    def clean_rationale(self) -> str:
        return with_line_breaks_of(self._loaded.rationale or "", self.cleaned_data["rationale"] or "")

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if isinstance(self.refusal, NoteNotFound):
            self.add_error(None, _("Somebody deleted the note. Saving makes it again."))
        elif self.refusal is not None:
            add_note_refusal(self, self.refusal)
        return cleaned

    def _post_clean(self) -> None:
        """Fill the instance, no more; what makes a note valid is known to the services."""
        construct_instance(self, self.instance, self._meta.fields, self._meta.exclude)


@admin.register(Note)
class NoteAdmin(PlainList[Note]):
    form = NoteAdminForm
    actions = None  # bulk deletion writes rows outside a commit
    list_display = ["__str__", "type", "opening", "source", "confidence", "created_at"]
    list_filter = ["type", "source", "created_at"]
    search_fields = ["note_id", "owner", "content"]
    list_per_page = 50
    show_full_result_count = False
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
    def opening(self, note: Note) -> str:
        return Truncator(note.content).chars(80)

    def get_readonly_fields(self, request: HttpRequest, obj: Note | None = None) -> list[str]:
        return [*self.readonly_fields, "owner"] if obj else []

    def get_fieldsets(self, request: HttpRequest, obj: Note | None = None) -> Any:
        content = ["owner", "content", "type", "tags", "category", "confidence", "rationale", "comment"]
        fieldsets: list[Any] = [(None, {"fields": [*content, "loaded_sha256"]})]
        if obj:
            fieldsets.append((gettext_lazy("Version"), {"fields": self.readonly_fields}))
        return fieldsets

    def get_form(
        self, request: HttpRequest, obj: Note | None = None, change: bool = False, **kwargs: Any
    ) -> type[ModelForm[Note]]:
        form = super().get_form(request, obj, change=change, **kwargs)
        form.refusal = getattr(request, "note_refusal", None)  # type: ignore[attr-defined]
        return form

    # -- writing: through the services, outside atomic() ----------------------------------------------

    @method_decorator(csrf_protect)
    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        context = dict(extra_context or {})
        try:
            return self._form(request, object_id, form_url, context)
        except NoteNotFound:
            self.message_user(request, _("Somebody deleted the note. Nothing was saved."), messages.WARNING)
            return HttpResponseRedirect(reverse("admin:memory_app_note_changelist"))
        except REFUSALS as error:
            request.note_refusal = error  # type: ignore[attr-defined]
            if isinstance(error, NotesChanged):
                self._about_now(request, object_id)
            response = self._form(request, object_id, form_url, context)
            response.status_code = 409 if isinstance(error, NotesChanged) else 422
            return response

    @method_decorator(csrf_protect)
    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        try:
            return cast(HttpResponse, self._delete_view(request, object_id, extra_context))  # type: ignore[attr-defined]
        except REFUSALS as error:
            self.message_user(request, str(error), messages.ERROR)
        except NoteNotFound:
            self.message_user(request, _("Somebody deleted the note already."), messages.WARNING)
            return HttpResponseRedirect(reverse("admin:memory_app_note_changelist"))
        return HttpResponseRedirect(request.path)

    def _form(
        self, request: HttpRequest, object_id: str | None, form_url: str, context: dict[str, Any]
    ) -> HttpResponse:
        """Django's own view without the `atomic()` around it."""
        return cast(HttpResponse, self._changeform_view(request, object_id, form_url, context))  # type: ignore[attr-defined]

    def _about_now(self, request: HttpRequest, object_id: str | None) -> None:
        """Sent once more, the form is about the note as it is now."""
        row = self.get_object(request, object_id or "")
        data = request.POST.copy()
        data["loaded_sha256"] = row.sha256 if row else ""
        request.POST = data  # type: ignore[assignment]

    def save_model(self, request: HttpRequest, obj: Note, form: Any, change: bool) -> None:
        data = form.cleaned_data
        by = By(actor=viewer_of(request), reasoning=data["comment"])
        typed = {
            "content": data["content"],
            "type": data["type"],
            "tags": data["tags"],
            "category": data["category"] or None,
            "confidence": data["confidence"],
            "rationale": data["rationale"] or None,
        }
        if not change:
            made = services.save(by=by, owner=obj.owner, **typed)
            obj.note_id, obj.pk = made.note_id, note_pk(obj.owner, made.note_id)
            return
        current = recall.note(obj.owner, obj.note_id)
        if current.sha256 != data["loaded_sha256"]:
            raise NotesChanged([obj.note_id])
        after = services.stamped(replace(current, **typed), timezone.now())
        services.require_valid(after)
        services.change_notes(
            by=by, owner=obj.owner, kind=Kind.UPDATE, changes=[NoteChange(obj.note_id, current, after)]
        )

    def delete_model(self, request: HttpRequest, obj: Note) -> None:
        services.delete(by=By(actor=viewer_of(request)), owner=obj.owner, note_id=obj.note_id)
        super().log_deletions(request, [obj])  # type: ignore[arg-type]

    def log_deletions(self, request: HttpRequest, queryset: QuerySet[Note]) -> Any:
        """Django logs before it deletes; whether it may be deleted is known after."""

    def get_deleted_objects(
        self, objs: Any, request: HttpRequest
    ) -> tuple[list[Any], dict[str, int], set[str], list[str]]:
        """The note alone: nothing hangs on it, and collecting would open its table for writing."""
        return [str(obj) for obj in objs], {str(self.opts.verbose_name_plural): len(objs)}, set(), []
