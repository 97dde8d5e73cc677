"""What may be looked at and never changed by hand: audit rows, and rows written by services only."""

from __future__ import annotations

from typing import Any, TypeVar

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from approvals.admin.plain_text import PlainList, make_plain

M = TypeVar("M", bound=Model)
Parent = TypeVar("Parent", bound=Model)


class ReadOnly:
    """For admins and inlines: everything shown, nothing changed."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class ReadOnlyAdmin(ReadOnly, PlainList[M]):
    list_per_page = 50
    show_full_result_count = False

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> M | None:
        found = super().get_object(request, object_id, from_field)
        if found is not None:
            make_plain(found)
        return found


class ReadOnlyInline(ReadOnly, admin.TabularInline[M, Parent]):
    extra = 0
    show_change_link = True
