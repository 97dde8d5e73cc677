"""Times, numbers and shares on a page, numbers as links to the lists they count, and what people are called."""

from collections.abc import Callable, Hashable, Mapping
from datetime import UTC, datetime

from django import template
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.dates import MONTHS_3
from django.utils.formats import date_format, number_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timesince import timesince
from django.utils.translation import gettext as _

from approvals.accounts.sign_in import display_names
from approvals.pages.inbox_filters import url_of
from approvals.templatetags.texts import plain

register = template.Library()


@register.simple_tag
def when(at: datetime | None) -> str:
    """Return the date and time in the viewer's zone."""
    if at is None:
        return ""
    local = timezone.localtime(at)
    return format_html('<time datetime="{}">{}</time>', local.isoformat(timespec="seconds"), _written(local))


@register.simple_tag
def when_said(text: str) -> str:
    """Return a time an agent wrote down; text that is no time comes back as it is."""
    try:
        at = parse_datetime(text)
        return when(at if timezone.is_aware(at) else timezone.make_aware(at, UTC)) if at else plain(text)
    except (ValueError, OverflowError):  # the first or last day of the calendar has no time in another zone
        return plain(text)


@register.simple_tag
def age(at: datetime | None) -> str:
    """Return how long ago it was, with date and time on hover."""
    if at is None:
        return ""
    local = timezone.localtime(at)
    is_new = (timezone.now() - at).total_seconds() < 60
    ago = _("just now") if is_new else _("%(time)s ago") % {"time": timesince(at, depth=1)}
    exactly = local.isoformat(timespec="seconds")
    return format_html('<time datetime="{}" title="{}">{}</time>', exactly, _written(local), ago)


def _written(local: datetime) -> str:
    # As the format "j M Y, H:i" has it, which takes Django ten times as long to read.
    return f"{local.day} {MONTHS_3[local.month].title()} {local:%Y, %H:%M}"


@register.filter
def number(value: int) -> str:
    """Return a number with separators between thousands."""
    if 0 <= value < 1_000:
        return str(value)
    return str(number_format(value, force_grouping=True))


@register.filter
def milliseconds(value: float) -> str:
    """Return how long something took: "3 ms", "1.2 s"."""
    if value >= 1_000:
        return _("%(seconds)s s") % {"seconds": number_format(value / 1_000, decimal_pos=1)}
    return _("%(number)d ms") % {"number": max(1, round(value))}


@register.simple_tag
def percent(share_of_one: float) -> str:
    """Return a share of 1 in percent; below one percent, say so."""
    if 0 < share_of_one < 0.01:
        return _("less than 1%")
    return _("%(percent)d%%") % {"percent": int(share_of_one * 100)}


@register.simple_tag
def share(part: int, whole: int) -> int:
    """Return the percentage of a whole, for the length of a bar."""
    return min(100, round(100 * part / whole)) if whole else 0


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


@register.filter
def named(username: str, names: Mapping[str, str] | None) -> str:
    """Return the name of a person, from the names the view looked up."""
    return (names or {}).get(username, username)


@register.simple_tag(takes_context=True)
def person(context: template.Context, username: str) -> str:
    """Return the name of a person. One query per person and page; lists use `named`."""
    return once_a_page(context, ("person", username), lambda: display_names({username}).get(username, username))


def once_a_page(context: template.Context, key: Hashable, find: Callable[[], str]) -> str:
    """Return what `find` returned the first time that this page asked for the key.

    Args:
        key: begins with what is looked for: an owner may be called as anything else is.
    """
    known: dict[Hashable, str] = context.dicts[0].setdefault("_once", {})
    if key not in known:
        known[key] = find()
    return known[key]
