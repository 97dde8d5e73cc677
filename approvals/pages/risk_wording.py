"""Short titles for the flags of `risks`, for lists; their sentences are in `components/risk.html`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _

_TITLES: Mapping[str, Any] = {
    "secrets": _("reads like a secret"),
    "hidden_characters": _("hidden characters"),
    "mixed_scripts": _("mixed alphabets"),
    "reads_like_instructions": _("reads like instructions"),
    "deletes_much": _("large deletion"),
    "links_added": _("links added"),
    "contacts_added": _("contact details added"),
}


def title(key: str) -> str:
    """Return two or three words; the key itself where it is an old one."""
    return str(_TITLES.get(key, key))
