"""What people are called on a page."""

from __future__ import annotations

from collections.abc import Mapping

from django import template

from approvals.accounts.sign_in import display_names

register = template.Library()


@register.filter
def named(username: str, names: Mapping[str, str] | None) -> str:
    """Return the name of a person, from the names the view looked up."""
    return (names or {}).get(username, username)


@register.simple_tag(takes_context=True)
def person(context: template.Context, username: str) -> str:
    """Return the name of a person. One query per person and page; lists use `named`."""
    key = "_people"
    names: dict[str, str] = context.get(key) or {}
    if username not in names:
        names = names | display_names({username})
        context.dicts[0][key] = names
    return names.get(username, username)
