"""Whose a change of the memory is, for pictures that tell changes apart."""

from __future__ import annotations

from enum import StrEnum

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from memory_app.models import Change


class ChangeBy(StrEnum):
    """Who made a change; the value is part of a class of the style sheet."""

    PERSON = "person"
    AGENT = "agent"
    AUTOMATIC = "automatic"
    UNKNOWN = "unknown"

    @classmethod
    def of(cls, change: Change | None) -> ChangeBy:
        """Return whose a change is; of None, a version the ledger does not know, nobody knows."""
        if change is None or change.action == Change.Action.RECOVERED:
            return cls.UNKNOWN
        if change.action == Change.Action.APPLIED:
            return cls.AUTOMATIC
        return cls.AGENT if change.action == Change.Action.APPROVED else cls.PERSON

    @property
    def name_shown(self) -> Promise:
        return _NAMES[self]


_NAMES = {
    ChangeBy.PERSON: _("Written by a person"),
    ChangeBy.AGENT: _("Proposed by an agent, approved"),
    ChangeBy.AUTOMATIC: _("Automatic"),
    ChangeBy.UNKNOWN: _("Author unknown"),
}
