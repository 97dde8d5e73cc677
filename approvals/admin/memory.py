"""Blocks and the ledger. Saving a block here is a commit in the admin's name.

`ModelAdmin` saves inside `atomic()`, and a Dolt verb commits behind its back: the views that write are
called without it, and everything that would write rows directly (bulk deletion, editing in the list) is
off. A refusal by the service becomes an error on the form, with what was typed still in it.
"""

from __future__ import annotations

from copy import copy
from typing import Any, ClassVar, cast

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.db.models import QuerySet
from django.forms import ModelForm
from django.forms.models import construct_instance
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.csrf import csrf_protect

from approvals import services
from approvals.admin.plain_text import PlainList
from approvals.admin.read_only import ReadOnlyAdmin
from approvals.forms_memory import MAX_COMMENT, REFUSALS, add_refusal, check_label, with_line_breaks_of
from approvals.models import User
from approvals.services import BlockFields
from approvals.services.errors import BlockChanged, LabelTaken
from approvals.views.viewer import viewer_of
from memory_app.models import MAX_BLOCK_LIMIT, Change, MemoryBlock, block_id
from memory_app.recall import BlockNotFound


class BlockAdminForm(forms.ModelForm[MemoryBlock]):
    """A block, why it is changed, and the sha256 of what the admin was shown."""

    #: What the service answered to this form; set on the request's own subclass when it is shown again.
    refusal: ClassVar[Exception | None] = None

    limit = forms.IntegerField(label=gettext_lazy("Limit in characters"), min_value=1, max_value=MAX_BLOCK_LIMIT)
    comment = forms.CharField(
        label=gettext_lazy("Comment"),
        required=False,
        max_length=MAX_COMMENT,
        help_text=gettext_lazy("Why you change it. It stays in the history, under your name."),
        widget=forms.TextInput(attrs={"class": "vTextField"}),
    )
    loaded_sha256 = forms.CharField(required=False, widget=forms.HiddenInput)

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
        self.initial["loaded_sha256"] = self.instance.sha256
        self._loaded = copy(self.instance)  # validation writes what was typed into the instance

    def clean_owner(self) -> str:
        owner: str = self.cleaned_data["owner"]
        if not User.objects.filter(username=owner).exists():
            raise forms.ValidationError(_("There is no person of this username."))
        return owner

    def clean_label(self) -> str:
        label: str = self.cleaned_data["label"]
        check_label(label)
        return label

    def clean_description(self) -> str:
        return with_line_breaks_of(self._loaded.description, self.cleaned_data["description"])

    def clean_body(self) -> str:
        return with_line_breaks_of(self._loaded.body, self.cleaned_data["body"])

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if self.refusal is not None:
            add_refusal(self, self.refusal)
        return cleaned

    def _post_clean(self) -> None:
        """Fill the instance, no more: to check constraints (there are none), Django asks the router where it
        may write, and the router says nowhere. What makes a block valid is known to the services."""
        construct_instance(self, self.instance, self._meta.fields, self._meta.exclude)


@admin.register(MemoryBlock)
class MemoryBlockAdmin(PlainList[MemoryBlock]):
    form = BlockAdminForm
    actions = None  # bulk deletion writes rows outside a commit
    list_display = ["__str__", "title", "used", "limit", "read_only", "updated_at"]
    # No date_hierarchy: it truncates dates in SQL by time zone names, which Dolt does not know.
    list_filter = ["read_only", "updated_at"]
    search_fields = ["owner", "label", "title", "body"]
    list_per_page = 50
    show_full_result_count = False
    readonly_fields = ["schema_ref", "sha256", "created_at", "updated_at"]

    @admin.display(description=gettext_lazy("length"))
    def used(self, block: MemoryBlock) -> int:
        return len(block.body)

    def get_readonly_fields(self, request: HttpRequest, obj: MemoryBlock | None = None) -> list[str]:
        return [*self.readonly_fields, "owner", "label"] if obj else []

    def get_fieldsets(self, request: HttpRequest, obj: MemoryBlock | None = None) -> Any:
        content = ["title", "description", "body", "limit", "read_only", "comment", "loaded_sha256"]
        fieldsets: list[Any] = [(None, {"fields": ["owner", "label", *content]})]
        if obj:
            fieldsets.append(
                (gettext_lazy("Version"), {"fields": ["schema_ref", "sha256", "created_at", "updated_at"]})
            )
        return fieldsets

    def get_form(
        self, request: HttpRequest, obj: MemoryBlock | None = None, change: bool = False, **kwargs: Any
    ) -> type[ModelForm[MemoryBlock]]:
        form = super().get_form(request, obj, change=change, **kwargs)
        form.refusal = getattr(request, "block_refusal", None)  # type: ignore[attr-defined]
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
        if request.method == "POST" and object_id and self.get_object(request, unquote(object_id)) is None:
            return self._after_deletion(request, context)
        try:
            return self._form(request, object_id, form_url, context)
        except BlockNotFound:
            return self._after_deletion(request, context)
        except REFUSALS as error:
            if isinstance(error, BlockChanged) and error.current is None:
                return self._after_deletion(request, context)
            return self._shown_again(request, object_id, form_url, error, context)

    @method_decorator(csrf_protect)
    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        try:
            return cast(HttpResponse, self._delete_view(request, object_id, extra_context))  # type: ignore[attr-defined]
        except BlockChanged:
            self.message_user(
                request, _("The block changed after you opened this page. It was not deleted."), messages.ERROR
            )
        except REFUSALS as error:
            self.message_user(request, str(error), messages.ERROR)
        except BlockNotFound:
            self.message_user(request, _("Somebody deleted the block already."), messages.WARNING)
            return HttpResponseRedirect(reverse("admin:memory_app_memoryblock_changelist"))
        return HttpResponseRedirect(request.path)

    def _form(
        self, request: HttpRequest, object_id: str | None, form_url: str, context: dict[str, Any]
    ) -> HttpResponse:
        """Django's own view without the `atomic()` around it."""
        return cast(HttpResponse, self._changeform_view(request, object_id, form_url, context))  # type: ignore[attr-defined]

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

    def delete_model(self, request: HttpRequest, obj: MemoryBlock) -> None:
        services.delete_block(
            actor=viewer_of(request),
            owner=obj.owner,
            label=obj.label,
            loaded_sha256=request.POST.get("loaded_sha256", ""),
        )
        super().log_deletions(request, [obj])  # type: ignore[arg-type]

    def log_deletions(self, request: HttpRequest, queryset: QuerySet[MemoryBlock]) -> Any:
        """Django logs before it deletes; whether it may be deleted is known after."""

    def get_deleted_objects(
        self, objs: Any, request: HttpRequest
    ) -> tuple[list[Any], dict[str, int], set[str], list[str]]:
        """The block alone: nothing hangs on it, and collecting would open its table for writing."""
        return [str(obj) for obj in objs], {str(self.opts.verbose_name_plural): len(objs)}, set(), []

    def _shown_again(
        self, request: HttpRequest, object_id: str | None, form_url: str, error: Exception, context: dict[str, Any]
    ) -> HttpResponse:
        """The form as it was sent, with the refusal on it; sent once more, it is about what is there now."""
        request.block_refusal = error  # type: ignore[attr-defined]
        if isinstance(error, BlockChanged) and error.current:
            context["current"] = error.current
            _amend(request, loaded_sha256=error.current.sha256)
        response = self._form(request, object_id, form_url, context)
        response.status_code = 409 if isinstance(error, BlockChanged | LabelTaken) else 422
        return response

    def _after_deletion(self, request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
        """The block went while it was edited: a form to make it again, with what was typed."""
        owner, _slash, label = request.POST.get("target", "").partition("/")
        _amend(request, owner=owner, label=label, loaded_sha256="")
        return self._shown_again(
            request, None, reverse("admin:memory_app_memoryblock_add"), BlockChanged(None), context | {"deleted": True}
        )


def _amend(request: HttpRequest, **values: str) -> None:
    """Change what was posted, for showing it again."""
    data = request.POST.copy()
    for name, value in values.items():
        data[name] = value
    request.POST = data  # type: ignore[assignment]


@admin.register(Change)
class ChangeAdmin(ReadOnlyAdmin[Change]):
    """The ledger: who did what to which block, and the commit it is in."""

    list_display = ["at", "owner", "target", "action", "actor", "agent", "proposal_link", "short_commit"]
    list_display_links = ["at"]
    list_filter = ["action", "target_kind"]
    search_fields = ["owner", "target", "commit", "actor", "agent", "comment"]
    date_hierarchy = "at"

    @admin.display(description=gettext_lazy("commit"), ordering="commit")
    def short_commit(self, change: Change) -> str:
        return change.commit[:10]

    @admin.display(description=gettext_lazy("proposal"), ordering="proposal_id")
    def proposal_link(self, change: Change) -> str:
        if change.proposal_id is None:
            return ""
        url = reverse("admin:approvals_proposal_change", args=[change.proposal_id])
        return format_html('<a href="{}">#{}</a>', url, change.proposal_id)
