"""What the admins share: lists that answer their own filters alone and name unseen characters, read-only pages, and the
admins of blocks and notes, where each save and deletion is a commit in the admin's name.

`ModelAdmin` saves inside `atomic()`, and a Dolt verb commits behind its back: the views that write are
called without it, and everything that would write rows directly (bulk deletion, editing in the list) is
off. A refusal by the service becomes an error on the form, with what was typed still in it; a form and a
confirmation carry the sha256 of what the admin was shown.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from copy import copy
from functools import wraps
from typing import Any, ClassVar, TypeVar, cast
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.exceptions import DisallowedModelAdminLookup
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.utils import unquote
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import SuspiciousOperation, ValidationError
from django.db import DatabaseError
from django.db.models import Model, Q, QuerySet
from django.forms.models import construct_instance
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import translation
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.csrf import csrf_protect

from approvals import audit
from approvals.forms.memory import MAX_COMMENT, REFUSALS, add_refusal, with_line_breaks_of
from approvals.models import User
from approvals.services.errors import LabelTaken
from assent_client.text import invisible
from memory_app import reads
from memory_app.models import (
    Chunk,
    MemoryBlock,
    MemoryDatabase,
    MemoryNote,
    MemoryOwner,
    PackedChunks,
    SearchIndex,
    TextErasure,
    TextKey,
)

M = TypeVar("M", bound=Model)


def make_plain(row: Model) -> None:
    """Name unseen characters in the fields of a row that is shown and never saved."""
    for field in row._meta.concrete_fields:
        if field.attname in row.__dict__:  # others were left out of the query
            setattr(row, field.attname, _plain(getattr(row, field.attname)))


def _plain(value: Any) -> Any:
    match value:
        case str():
            return invisible.plain(value)
        case list():
            return [_plain(each) for each in value]
        case dict():
            return {key: _plain(each) for key, each in value.items()}
    return value


class OwnFilters(ChangeList):
    """A list that takes the look-ups of its filters and no others.

    Django takes any look-up of the list's own columns, those it does not show too: a link could ask for a secret
    character by character, or for a regular expression that Python runs inside SQLite and no deadline ends.
    """

    def get_filters(self, request: HttpRequest) -> Any:
        try:
            found = super().get_filters(request)
        except (ValueError, OverflowError) as error:  # the year after 9999
            raise IncorrectLookupParameters from error
        of_year = {f"{self.date_hierarchy}__{bound}" for bound in ("gte", "lt")}  # made of the year in the address
        if refused := set(found[2]) - of_year:
            raise DisallowedModelAdminLookup(f"No filter of this list takes {sorted(refused)[0]}.")
        return found


#: Characters and words of a search in a list. Each word is looked for in each of up to seven columns, and SQLite
#: refuses an expression of a thousand parts.
_LONGEST_SEARCH, _MOST_WORDS = 500, 40


def _owner_of(row: Model) -> str:
    """Return the username of the person a row is about; empty where there is none."""
    return str(row) if isinstance(row, User) else str(getattr(getattr(row, "proposal", row), "owner", ""))


class PlainList(admin.ModelAdmin[M]):
    """The base of every admin: a list that answers its own filters alone and names unseen characters.

    Nothing is edited in lists here, so no row of one is saved.
    """

    show_facets = admin.ShowFacets.NEVER  # a count of the whole table for each value of each filter
    #: Fields that are typed once, for a new row.
    names: ClassVar[list[str]] = []

    def get_readonly_fields(self, request: HttpRequest, obj: M | None = None) -> list[str]:
        return [*self.readonly_fields, *(self.names if obj else [])]

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return OwnFilters

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> M | None:
        found = super().get_object(request, object_id, from_field)
        if found is not None:
            audit.opened(_owner_of(found), f"{self.opts.verbose_name_raw} (admin)")
        return found

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        listed = super().get_changelist_instance(request)
        with translation.override(None):  # as it is recorded
            audit.opened("", f"{self.opts.verbose_name_plural} (list in the admin)")
        for row in listed.result_list:
            make_plain(row)
        return listed

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[M], search_term: str
    ) -> tuple[QuerySet[M], bool]:
        if len(search_term) > _LONGEST_SEARCH or len(search_term.split()) > _MOST_WORDS:
            raise SuspiciousOperation("This search is too long.")
        return super().get_search_results(request, queryset, search_term)


Parent = TypeVar("Parent", bound=Model)


def _denied(self: object, request: HttpRequest, obj: Any = None) -> bool:
    return False


class NeverDeleted:
    """For rows that the history of the memory names for ever; people and agents are switched off instead."""

    has_delete_permission = _denied


class ReadOnly(NeverDeleted):
    """For admins and inlines: everything shown, nothing changed."""

    has_add_permission = has_change_permission = _denied


class ReadOnlyAdmin(ReadOnly, PlainList[M]):
    list_per_page = 50
    show_full_result_count = False

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> M | None:
        found = super().get_object(request, object_id, from_field)
        if found is not None:
            make_plain(found)
        return found


def register_read_only(model: type[Model], columns: str, searched: str, **options: Any) -> None:
    """Register a model whose rows are not changed here.

    Args:
        columns, searched: names of what its list shows and searches, with blanks between them.
        options: others of `ModelAdmin`.
    """
    options |= {"list_display": columns.split(), "search_fields": searched.split()}
    admin.site.register(model, ReadOnlyAdmin, **options)


class ReadOnlyInline(ReadOnly, admin.TabularInline[M, Parent]):
    extra = 0
    show_change_link = True


def values_filter(field: str, title: Any, values: Iterable[str]) -> type[admin.SimpleListFilter]:
    """Return a filter by the values that a column without choices may have. Django's own asks the whole table for them,
    and its date hierarchy for the days: 50,000 tool calls took 0.4 s a page."""
    column, shown_title = field, title

    class ValuesFilter(admin.SimpleListFilter):
        title = shown_title
        parameter_name = column

        def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
            return [(value, value.replace("_", " ")) for value in values]

        def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
            return queryset.filter(**{column: value}) if (value := self.value()) else queryset

    return ValuesFilter


SOURCES = ("user_memory", "memory_block", "conversation")


register_read_only(SearchIndex, "owner embedder change_id message_id version updated_at", "owner")
register_read_only(PackedChunks, "owner after last", "owner", exclude=["data"])
register_read_only(MemoryDatabase, "name server takes_owners epoch moving_until", "name")
register_read_only(MemoryOwner, "owner database", "owner")
register_read_only(TextKey, "owner made_at closed_at", "owner", exclude=["wrapped"])
register_read_only(TextErasure, "at owner kind target by", "owner target by")
register_read_only(
    Chunk,
    "owner source document_id title type at removed",
    "owner document_id text",
    exclude=["vector"],
    list_filter=[values_filter("source", gettext_lazy("source"), SOURCES), "removed"],
)


#: Rows whose texts a search of the admin finds.
_MOST_FOUND = 500

MemoryRow = TypeVar("MemoryRow", bound=MemoryBlock | MemoryNote)


class Gone(Exception):
    """Somebody deleted the row while it was edited."""


class MemoryForm(forms.ModelForm[MemoryRow]):
    """A block or a note, why it is changed, and the sha256 of what the admin was shown."""

    #: What the service answered to this form; set on the request's own subclass when it is shown again.
    refusal: ClassVar[Exception | None] = None

    comment = forms.CharField(
        label=gettext_lazy("Comment"),
        required=False,
        max_length=MAX_COMMENT,
        help_text=gettext_lazy("Why you’re making this change. Saved in the history under your name."),
        widget=forms.TextInput(attrs={"class": "vTextField"}),
    )
    loaded_sha256 = forms.CharField(required=False, widget=forms.HiddenInput)

    #: Texts of several lines, which a browser sends with others.
    texts: ClassVar[tuple[str, ...]]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["loaded_sha256"] = self.instance.sha256
        self._loaded: MemoryRow = copy(self.instance)  # validation writes what was typed into the instance

    def clean_owner(self) -> str:
        owner: str = self.cleaned_data["owner"]
        if not User.objects.filter(username=owner).exists():
            raise forms.ValidationError(_("There is no person of this username."))
        return owner

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        for name in self.texts:
            cleaned[name] = with_line_breaks_of(getattr(self._loaded, name) or "", cleaned.get(name) or "")
        if isinstance(self.refusal, Gone):
            self.add_error(None, _("Someone deleted it. Saving creates it again."))
        elif self.refusal is not None:
            add_refusal(self, self.refusal)
        return cleaned

    def _post_clean(self) -> None:
        """Fill the instance and check nothing: for constraints (there are none) Django would ask the router where it
        may write, which is nowhere. The services know what makes a row valid."""
        construct_instance(self, self.instance, self._meta.fields, self._meta.exclude)


class DatabaseFilter(admin.SimpleListFilter):
    """Which database of the memory the list is of, where there are several: a list reads one."""

    title, parameter_name = gettext_lazy("memory"), "database"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        names = reads.databases()
        return [(name, name) for name in names] if names[1:] else []

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset

    def choices(self, changelist: Any) -> Iterator[Any]:
        for name, title in self.lookup_choices:
            chosen = name == reads.standing()
            yield {
                "selected": chosen,
                "query_string": changelist.get_query_string({"database": name}),
                "display": title,
            }


View = TypeVar("View", bound=Callable[..., HttpResponse])


def _in_its_database(view: View) -> View:
    """Let a view of the admin read the database of the memory that has the row, or that was chosen for the list."""

    @wraps(view)
    def inside(self: Any, request: HttpRequest, *args: Any, **options: Any) -> HttpResponse:
        object_id = options.get("object_id") or (args[0] if args and isinstance(args[0], str) else None)
        with reads.standing_on(_database(self.model, object_id, request.GET.get("database", ""))):
            response = view(self, request, *args, **options)
            return response.render() if isinstance(response, TemplateResponse) else response

    return cast(View, inside)


def _database(model: type[Model], object_id: str | None, chosen: str) -> str:
    names = reads.databases()
    if object_id and names[1:]:
        for name in names:
            # Neither one that is away, nor what is no id.
            with suppress(DatabaseError, reads.EngineUnavailable, ValidationError), reads.standing_on(name):
                if model._default_manager.filter(pk=unquote(object_id)).exists():
                    return name
    return chosen if chosen in names else names[0]


class ThroughServices(PlainList[MemoryRow]):
    """`save_model` and `delete_model` of the children call a service; this decides what becomes of its refusal."""

    #: What the services raise when the row is not what was loaded, and when it is gone.
    changed: ClassVar[type[Exception]]
    not_found: ClassVar[type[Exception]]

    #: Fields that may change, and the one shown beside what was typed and before the row is deleted.
    content: ClassVar[list[str]]
    text: ClassVar[str]

    #: Where their texts are found.
    source: ClassVar[str]

    actions = None  # bulk deletion writes rows outside a commit
    # No date_hierarchy: it truncates dates in SQL by time zone names, which Dolt does not know.
    list_per_page = 50
    show_full_result_count = False
    change_form_template = "admin/memory_app/change_form_of_memory.html"
    delete_confirmation_template = "admin/memory_app/delete_confirmation_of_memory.html"

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[MemoryRow], search_term: str
    ) -> tuple[QuerySet[MemoryRow], bool]:
        """Find words of the texts too, in the chunks: in the table itself they are sealed."""
        found, may_repeat = super().get_search_results(request, queryset, search_term)
        if not search_term:
            return found, may_repeat
        said = Chunk.objects.filter(source=self.source, removed=False)
        for word in search_term.split():
            said = said.filter(Q(text__icontains=word) | Q(title__icontains=word))
        named = said.values_list("owner", "document_id").distinct()[:_MOST_FOUND]
        return found | queryset.filter(pk__in=[self.key_of(*each) for each in named]), may_repeat

    def key_of(self, owner: str, name: str) -> UUID:
        """Return the key of an owner's row."""
        raise NotImplementedError

    def pages_of(self, row: MemoryRow) -> list[tuple[str, str]]:
        """Return titles and addresses of people's pages about the row."""
        raise NotImplementedError

    def delete_seen(self, request: HttpRequest, row: MemoryRow, *, loaded_sha256: str, comment: str) -> None:
        """Delete the row by its service, if it still is what the confirmation showed."""
        raise NotImplementedError

    def get_fieldsets(self, request: HttpRequest, obj: MemoryRow | None = None) -> Any:
        fieldsets: list[Any] = [(None, {"fields": [*self.names, *self.content, "comment", "loaded_sha256"]})]
        if obj:
            fieldsets.append((gettext_lazy("Version"), {"fields": self.readonly_fields}))
        return fieldsets

    def get_form(
        self, request: HttpRequest, obj: MemoryRow | None = None, change: bool = False, **kwargs: Any
    ) -> type[forms.ModelForm[MemoryRow]]:
        form = super().get_form(request, obj, change=change, **kwargs)
        form.refusal = getattr(request, "memory_refusal", None)  # type: ignore[attr-defined]
        return form

    @_in_its_database
    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        return super().changelist_view(request, extra_context)

    @_in_its_database
    @method_decorator(csrf_protect)
    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        context = dict(extra_context or {})
        row = self._row(request, object_id)
        if row is not None:
            context["pages"] = self.pages_of(row)
        elif request.method == "POST" and object_id:
            return self._made_again(request, context)
        try:
            return self._form(request, object_id, form_url, context)
        except self.not_found:
            return self._made_again(request, context)
        except REFUSALS as error:
            return self._shown_again(request, object_id, form_url, error, context)

    def _shown_again(
        self, request: HttpRequest, object_id: str | None, form_url: str, error: Exception, context: dict[str, Any]
    ) -> HttpResponse:
        """Return the form as it was sent, with the refusal on it; sent once more, it is about what is there now."""
        request.memory_refusal = error  # type: ignore[attr-defined]
        if object_id and isinstance(error, self.changed):
            row = self._row(request, object_id)
            if row is None:
                return self._made_again(request, context)
            context["current"] = getattr(row, self.text)
            _amend(request, loaded_sha256=row.sha256)
        response = self._form(request, object_id, form_url, context)
        response.status_code = 409 if isinstance(error, (self.changed, Gone, LabelTaken)) else 422
        return response

    def _made_again(self, request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
        """Return a form to make the row again with what was typed: it was deleted while it was edited."""
        owner, _slash, name = request.POST.get("target", "").partition("/")
        _amend(request, owner=owner, label=name, loaded_sha256="")
        add = reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_add")
        return self._shown_again(request, None, add, Gone(), context | {"deleted": True, "pages": []})

    def _form(
        self, request: HttpRequest, object_id: str | None, form_url: str, context: dict[str, Any]
    ) -> HttpResponse:
        """Return the answer of Django's own view without the `atomic()` around it."""
        return cast(HttpResponse, self._changeform_view(request, object_id, form_url, context))  # type: ignore[attr-defined]

    @_in_its_database
    @method_decorator(csrf_protect)
    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        context = dict(extra_context or {})
        try:
            return self._confirmation(request, object_id, context)
        except self.not_found:
            self.message_user(request, _("Someone has already deleted it."), messages.WARNING)
            return HttpResponseRedirect(reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_changelist"))
        except self.changed:
            context["overtaken"] = True
        except REFUSALS as error:
            self.message_user(request, str(error), messages.ERROR)
            return HttpResponseRedirect(request.path)
        # Asked once more, about what is there now, with the comment that was typed.
        context["comment"] = request.POST.get("comment", "")
        request.POST = QueryDict()
        response = self._confirmation(request, object_id, context)
        if isinstance(response, TemplateResponse):
            response.status_code = 409
        return response

    def _confirmation(self, request: HttpRequest, object_id: str, context: dict[str, Any]) -> HttpResponse:
        """Return the answer of Django's own view without the `atomic()` around it."""
        row = self._row(request, object_id)
        context["text"] = getattr(row, self.text, "")
        return cast(HttpResponse, self._delete_view(request, object_id, context))  # type: ignore[attr-defined]

    def delete_model(self, request: HttpRequest, obj: MemoryRow) -> None:
        self.delete_seen(
            request,
            obj,
            loaded_sha256=request.POST.get("loaded_sha256", ""),
            comment=request.POST.get("comment", "")[:MAX_COMMENT],
        )
        super().log_deletions(request, [obj])  # type: ignore[arg-type]

    def log_deletions(self, request: HttpRequest, queryset: QuerySet[MemoryRow]) -> Any:
        """Django logs before it deletes; whether it may be deleted is known after."""

    def get_deleted_objects(
        self, objs: Any, request: HttpRequest
    ) -> tuple[list[Any], dict[str, int], set[str], list[str]]:
        """Return the row alone: no other row refers to it, and collecting would open its table for writing."""
        return [str(obj) for obj in objs], {str(self.opts.verbose_name_plural): len(objs)}, set(), []

    def _row(self, request: HttpRequest, object_id: str | None) -> MemoryRow | None:
        return self.get_object(request, unquote(object_id)) if object_id else None


def _amend(request: HttpRequest, **values: str) -> None:
    """Change what was posted, for showing it again."""
    data = request.POST.copy()
    for name, value in values.items():
        data[name] = value
    request.POST = data  # type: ignore[assignment]
