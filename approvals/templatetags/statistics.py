"""`{% load statistics %}`: numbers of the board and of agents, as links to the lists they count."""

from __future__ import annotations

from datetime import datetime

from django import template
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString

from approvals.pages.inbox_filters import url_of
from approvals.templatetags.figures import number

register = template.Library()


@register.simple_tag
def listed(count: int, words: str = "", **parameters: str) -> SafeString:
    """Return a number as a link to the list it counts; a plain 0 without one. Empty parameters do not narrow it."""
    if not count:
        return SafeString("0")
    url = url_of({name: value for name, value in parameters.items() if value})
    return format_html('<a href="{}">{}{}{}</a>', url, number(count), " " if words else "", words)


@register.simple_tag
def cell(title: str, count: int, **parameters: str) -> SafeString:
    """Return a cell of a table that a narrow screen lays out as cards: a number with its list, and what it counts."""
    if not count:
        return SafeString('<td role="cell" class="none"><span aria-hidden="true">–</span></td>')
    shown = listed(count, **parameters) if parameters else number(count)
    return format_html('<td role="cell" data-title="{}">{}</td>', title, shown)


@register.filter
def week_name(began: datetime) -> str:
    """Return a week by its Monday: "2 Nov"."""
    return date_format(timezone.localtime(began), "j M")
