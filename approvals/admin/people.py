"""People, who tutors whom, and agents."""

import csv
from collections.abc import Iterable
from itertools import chain
from types import SimpleNamespace
from typing import Any, TypeVar

from allauth.account.models import EmailAddress
from allauth.idp.oidc.models import Client, Token
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
from django import forms
from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.forms import AdminUserCreationForm, UserChangeForm
from django.contrib.auth.models import Group
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import URLPattern, path
from django.utils import translation
from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from django_stubs_ext import StrOrPromise

from approvals import audit
from approvals.accounts import courses, invitations, leaving, people_file
from approvals.accounts.sign_in import viewer_of
from approvals.admin.through_services import NeverDeleted, PlainList, ReadOnly, ReadOnlyAdmin, register_read_only
from approvals.forms.accounts import time_zones
from approvals.forms.memory import packed, unpacked
from approvals.models import Attention, Policy, SavedFilter, TrustRule, counts
from approvals.models.people import Agent, AuditEvent, Course, Tutorship, User
from memory_app.runtime import deadlines

M = TypeVar("M", bound=Model)


class NewPersonForm(AdminUserCreationForm[User]):
    class Meta(AdminUserCreationForm.Meta):
        model = User
        fields = ("username", "first_name", "last_name", "email")


class PersonForm(UserChangeForm[User]):
    time_zone = forms.ChoiceField(label=_("Time zone"), choices=time_zones)

    class Meta(UserChangeForm.Meta):
        model = User
        fields = "__all__"


#: What only a superuser gives and takes.
_RIGHTS = ("is_staff", "is_superuser", "groups", "user_permissions")


#: What is needed to change people by a file, and seconds that may take.
_FOR_FILES = [
    f"approvals.{what}" for what in ("add_user", "change_user", "add_course", "change_course", "add_tutorship")
]
_FILE_SECONDS = 600


def _in_words(value: Any) -> str:
    """Return what a right was set to: on or off, or the names of what was chosen."""
    return ("on" if value else "off") if isinstance(value, bool) else ", ".join(map(str, value)) or "none"


@admin.register(User)
class PersonAdmin(NeverDeleted, PlainList[User], UserAdmin[User]):
    form = PersonForm
    add_form = NewPersonForm
    list_display = ["username", "first_name", "last_name", "email", "is_staff", "is_active", "last_login", "invitation"]
    list_filter = ["is_active", "is_staff", "is_superuser", "groups"]
    search_fields = ["username", "first_name", "last_name", "email"]
    date_hierarchy = "date_joined"
    readonly_fields = ["last_login", "date_joined", "invitation"]
    actions = ["invite"]
    names = ["username"]
    fieldsets = [
        (None, {"fields": ["username", "password"]}),
        (_("Person"), {"fields": ["first_name", "last_name", "email", "mail", "time_zone", "shortcuts"]}),
        (_("Rights"), {"fields": ["is_active", "is_staff", "is_superuser", "groups", "user_permissions"]}),
        (_("Dates"), {"fields": ["last_login", "date_joined", "invitation"]}),
    ]
    add_fieldsets = [
        (
            None,
            {
                "classes": ["wide"],
                "description": _("The username is written into the history of the memory and can never be changed."),
                "fields": [*NewPersonForm.Meta.fields, "usable_password", "password1", "password2"],
            },
        ),
    ]

    def get_urls(self) -> list[URLPattern]:
        pages = (("file/", self.file, "people_file"), ("<int:pk>/leaves/", self.leaves, "person_leaves"))
        ours = [path(route, self.admin_site.admin_view(view), name=name) for route, view, name in pages]
        return [*ours, *super().get_urls()]

    def file(self, request: HttpRequest) -> HttpResponseBase:
        """Show what a file of people would do, and do it; without a file, a form and the present people as one."""
        by, data, lines, error = viewer_of(request), b"", [], ""
        if not by.has_perms(_FOR_FILES):
            raise PermissionDenied
        if "export" in request.GET:
            audit.record(AuditEvent.Act.OPENED, detail="people (export)")
            return _as_file(people_file.write(), "people.csv")
        if request.method == "POST":
            deadlines.allow(_FILE_SECONDS)
            try:
                sent = request.FILES.get("file")
                data = sent.read() if sent else unpacked(request.POST.get("carried", ""))
                lines = people_file.plan(data)
            except people_file.Unreadable as refused:
                error = str(refused)
            except ValueError:
                error = str(_("Choose a file."))
        wrong = sum(bool(line.errors) for line in lines)
        # Another file is shown first.
        if lines and "apply" in request.POST and not request.FILES and (not wrong or "skip_errors" in request.POST):
            try:
                number = people_file.apply(lines, by=by, invites="invites" in request.POST)
                said = ngettext("One line was applied.", "%(number)d lines were applied.", number)
                self.message_user(request, said % {"number": number})
                return redirect("admin:people_file")
            except IntegrityError:  # or the button was pressed twice
                error = str(_("Somebody else changed people at the same time. Show what the file would do now."))
        context = {"lines": lines, "wrong": wrong, "carried": packed(data), "columns": people_file.COLUMNS}
        return self._page(request, "people_file", _("People from a file"), error, **context)

    def leaves(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Show what ends when a person leaves; when it is confirmed, do it."""
        person, by, error = get_object_or_404(User, pk=pk), viewer_of(request), ""
        deletes = "deletes" in request.POST
        if not self.has_change_permission(request, person) or (deletes and not by.is_superuser):
            raise PermissionDenied
        to = User.objects.filter(username=request.POST.get("to", "")).first()
        if request.method == "POST":
            try:
                if request.POST.get("to") and not to:
                    raise leaving.CannotLeave(_("There is nobody of this username."))
                leaving.leave(person, by=by, hand_over_to=to, deletes=deletes)
                self.message_user(request, _("%(name)s has left.") % {"name": person.username})
                return redirect("admin:approvals_user_change", pk)
            except leaving.CannotLeave as refused:
                error = str(refused)
        context = {"person": person, "said": leaving.what_happens(person)}
        return self._page(request, "leaves", _("%(name)s leaves") % {"name": person}, error, **context)

    def _page(
        self, request: HttpRequest, name: str, title: StrOrPromise, error: str, **context: object
    ) -> HttpResponse:
        context |= {**self.admin_site.each_context(request), "opts": self.opts, "title": title, "error": error}
        return render(request, f"admin/approvals/user/{name}.html", context, status=422 if error else 200)

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> list[str]:
        is_self = obj == request.user  # so that the last superuser stays one
        fixed = [*super().get_readonly_fields(request, obj), *(["is_active"] if is_self else [])]
        # Otherwise staff who may edit people could give themselves every right.
        return fixed if request.user.is_superuser and not is_self else [*fixed, *_RIGHTS]

    @admin.display(description=_("invitation"))
    def invitation(self, obj: User) -> str:
        said = invitations.state_of(obj)
        return f"{said}, {date_format(localtime(obj.invited_at), 'SHORT_DATE_FORMAT')}" if obj.invited_at else said

    @admin.action(description=_("Invite by mail to choose a password"), permissions=["change"])
    def invite(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        chosen = [user for user in queryset if self.has_change_permission(request, user)]
        invited = len(invitations.invite(chosen, by=viewer_of(request)))
        said = _(
            "Invited: %(invited)d of %(chosen)d. Left out are people without an address, deactivated, signed in "
            "before, or with more rights than you."
        )
        self.message_user(request, said % {"invited": invited, "chosen": queryset.count()})

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        """Save what was changed, not the row as it was read: a mail sent since would be sent once more."""
        if not change:
            super().save_model(request, obj, form, change)
            return
        if {"email", "mail"} & set(form.changed_data):
            obj.mail_failure = ""
        obj.save(update_fields=[*(set(form.changed_data) & {f.name for f in User._meta.fields}), "mail_failure"])

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        if changed := [name for name in ("is_active", *_RIGHTS) if name in form.changed_data]:
            with translation.override(None):  # as it is recorded
                said = "; ".join(f"{name}: {_in_words(form.cleaned_data[name])}" for name in changed)
            audit.record(AuditEvent.Act.RIGHTS_CHANGED, owner=form.instance.username, detail=said)

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        """Staff who edit people edit others' rows only where those have no rights to take over.

        A new password, or an address to which a link for one is mailed, is as good as the rights themselves.
        """
        if obj and (obj.is_superuser or obj.is_staff) and obj != request.user and not request.user.is_superuser:
            return False
        return super().has_change_permission(request, obj)


class LostAndFoundAdmin(ReadOnly, PlainList[M]):
    """Second factors and links to the provider, which an admin ends for who lost a phone, or has another account."""

    list_select_related = ["user"]
    search_fields = ["user__username"]

    def get_fields(self, request: HttpRequest, obj: M | None = None) -> Any:
        return self.list_display  # not the secrets

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Only a superuser ends those of people with rights: what is left to sign in with is less than before."""
        is_theirs = obj is None or request.user.is_superuser or not obj.user.is_staff
        return is_theirs and admin.ModelAdmin.has_delete_permission(self, request, obj)

    def log_deletions(self, request: HttpRequest, queryset: Any) -> Any:
        for row in queryset:
            what = AuditEvent.Act.PROVIDER_UNLINKED if hasattr(row, "provider") else AuditEvent.Act.FACTOR_REMOVED
            audit.record(what, owner=row.user.username, detail=getattr(row, "provider", None) or row.type)
        return super().log_deletions(request, queryset)


for _theirs in (EmailAddress, SocialApp, SocialToken, SocialAccount, Authenticator, Client, Token):
    admin.site.unregister(_theirs)
admin.site.register(Authenticator, LostAndFoundAdmin, list_display=["user", "type", "created_at", "last_used_at"])
admin.site.register(SocialAccount, LostAndFoundAdmin, list_display=["user", "provider", "uid", "last_login"])

admin.site.unregister(Group)


@admin.register(Group)
class RolesAdmin(PlainList[Group], GroupAdmin):
    """Groups of rights, as Django has them."""

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        with translation.override(None):
            said = f"group {form.instance}: {_in_words(form.cleaned_data['permissions'])}"
        audit.record(AuditEvent.Act.RIGHTS_CHANGED, detail=said)

    def log_deletions(self, request: HttpRequest, queryset: Any) -> Any:
        for group in queryset:
            audit.record(AuditEvent.Act.RIGHTS_CHANGED, detail=f"group {group}: deleted")
        return super().log_deletions(request, queryset)


@admin.register(Course)
class CourseAdmin(PlainList[Course]):
    """Who is in a course; tutorships follow."""

    list_display = ["name"]
    search_fields = ["name"]
    autocomplete_fields = ["tutors", "students"]

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        before = {*form.instance.students.values_list("pk", flat=True)}
        super().save_related(request, form, formsets, change)
        courses.keep_tutorships(before.union(form.instance.students.values_list("pk", flat=True)))

    def has_delete_permission(self, request: HttpRequest, obj: Course | None = None) -> bool:
        """Only one without students, from which no tutorship follows."""
        return (obj is None or not obj.students.exists()) and super().has_delete_permission(request, obj)


@admin.register(Tutorship)
class TutorshipAdmin(PlainList[Tutorship]):
    list_display = ["tutor", "owner", "by_hand", "created_at"]
    list_select_related = ["tutor", "owner"]
    search_fields = ["tutor__username", "tutor__last_name", "owner__username", "owner__last_name"]
    date_hierarchy = "created_at"
    autocomplete_fields = ["tutor", "owner"]
    readonly_fields = ["by_hand", "created_at"]
    names = ["tutor", "owner"]  # end it and make another

    def has_delete_permission(self, request: HttpRequest, obj: Tutorship | None = None) -> bool:
        """What follows from a course ends there."""
        return (obj is None or obj.by_hand) and super().has_delete_permission(request, obj)

    def delete_model(self, request: HttpRequest, obj: Tutorship) -> None:
        self.delete_queryset(request, Tutorship.objects.filter(pk=obj.pk))

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Tutorship]) -> None:
        owners = {*queryset.values_list("owner", flat=True)}
        super().delete_queryset(request, queryset)
        courses.keep_tutorships(owners)

    def log_addition(self, request: HttpRequest, obj: Tutorship, message: Any) -> Any:
        audit.record(AuditEvent.Act.TUTOR_ASSIGNED, owner=obj.owner.username, detail=obj.tutor.username)
        return super().log_addition(request, obj, message)

    def log_deletions(self, request: HttpRequest, queryset: Any) -> Any:
        for row in queryset:
            audit.record(AuditEvent.Act.TUTOR_REMOVED, owner=row.owner.username, detail=row.tutor.username)
        return super().log_deletions(request, queryset)


@admin.register(TrustRule)
class TrustRuleAdmin(PlainList[TrustRule]):
    list_display = ["owner", "agent", "block", "kind", "needs", "made_by", "updated_at"]
    list_filter = ["needs", "kind"]
    list_select_related = ["agent", "made_by"]
    search_fields = ["owner", "agent__name", "block"]
    autocomplete_fields = ["agent"]
    readonly_fields = ["made_by"]

    def save_model(self, request: HttpRequest, obj: TrustRule, form: Any, change: bool) -> None:
        if not change:
            obj.made_by = viewer_of(request)
        super().save_model(request, obj, form, change)


@admin.register(Agent)
class AgentAdmin(NeverDeleted, PlainList[Agent]):
    list_display = ["name", "description", "created_by", "is_active", "created_at"]
    list_filter = ["is_active"]
    list_select_related = ["created_by"]
    search_fields = ["name", "description", "created_by__username"]
    date_hierarchy = "created_at"
    autocomplete_fields = ["created_by"]
    readonly_fields = ["created_at"]
    names = ["name"]


admin.site.register(
    Policy, PlainList, list_display=["owner", "notes", "updated_at"], list_filter=["notes"], search_fields=["owner"]
)
register_read_only(Attention, "proposal_id person seen_revision seen_at", "person__username")
register_read_only(counts.OwnerCounts, "person waiting decided automatic proposed counted_at", "person__username")
register_read_only(counts.WeekCount, "owner agent at part what is_reverted number", "owner agent__name")
register_read_only(SavedFilter, "person name query", "person__username name")


@admin.register(AuditEvent)
class AuditEventAdmin(ReadOnlyAdmin[AuditEvent]):
    """What people did; filtered and searched, and exported as it is shown."""

    list_display = ["at", "what", "actor", "owner", "detail", "address", "request_id"]
    list_filter = ["what", "at"]
    search_fields = ["actor", "owner", "detail", "address", "request_id"]
    actions = ["export"]

    @admin.action(description=_("Export the selected events (CSV)"), permissions=["view"])
    def export(self, request: HttpRequest, queryset: QuerySet[AuditEvent]) -> StreamingHttpResponse:
        audit.record(AuditEvent.Act.OPENED, detail="audit events (export)")
        columns = [str(name) for name in self.list_display]
        rows = chain([columns], queryset.values_list(*columns).iterator(chunk_size=1_000))
        writer = csv.writer(SimpleNamespace(write=str))  # `writerow` returns the line
        lines = (writer.writerow(map(people_file.as_cell, row)) for row in rows)
        return _as_file(lines, "audit-events.csv")


def _as_file(lines: Iterable[str], name: str) -> StreamingHttpResponse:
    answer = StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer
