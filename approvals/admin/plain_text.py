"""Texts of people and agents in the admin's lists and read-only pages, which print fields as they are."""

from __future__ import annotations

from typing import Any, TypeVar

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import Model
from django.http import HttpRequest

from memory_app.text import invisible

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


class PlainList(admin.ModelAdmin[M]):
    """A list that names unseen characters. Nothing is edited in lists here, so no row of one is saved."""

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        listed = super().get_changelist_instance(request)
        for row in listed.result_list:
            make_plain(row)
        return listed
