"""The form that decides about several proposals: which ones, as they were shown, and what is said about all."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from approvals.models import RejectReason
from approvals.permissions import ReviewAction
from approvals.services import Item

#: The name of a tick, for one proposal or for one change of several people.
_NAME = re.compile(r"(?:item|group)-\d{1,9}", re.ASCII)
#: What stands in its value for each proposal: its number, the revision and the state of the target that were shown.
_SHOWN = re.compile(r"(\d{1,9}):(\d{1,9}):([0-9a-f]{0,64}|-)", re.ASCII)


_OFFERED = (ReviewAction.APPROVE, ReviewAction.REJECT)


class SeveralForm(forms.Form):
    """What is said about all of them. `batch` is one per page, so that pressing twice decides once."""

    action = forms.ChoiceField(choices=[(each.value, each.value) for each in _OFFERED])
    batch = forms.RegexField(r"^[0-9a-f]{32}\Z", required=False)
    reason = forms.ChoiceField(choices=RejectReason, required=False)
    comment = forms.CharField(required=False, max_length=2_000)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("action") != ReviewAction.REJECT:
            return cleaned | {"reason": ""}
        if not cleaned.get("reason") and "reason" not in self.errors:
            self.add_error("reason", _("Choose a reason; the agent learns from it."))
        if cleaned.get("reason") == RejectReason.OTHER and not cleaned.get("comment"):
            self.add_error("comment", _("Please say what’s wrong."))
        return cleaned

    @property
    def action_wanted(self) -> ReviewAction:
        return ReviewAction(self.cleaned_data["action"])


def ticked(fields: Mapping[str, str]) -> list[Item]:
    """Return the proposals that are ticked in a form; anything else in it is left out."""
    shown = [
        _SHOWN.fullmatch(each) for name, value in fields.items() if _NAME.fullmatch(name) for each in value.split()
    ]
    return [Item(int(each[1]), int(each[2]), None if each[3] == "-" else each[3]) for each in shown if each]


def is_tick(name: str) -> bool:
    """Whether a field of a form is a tick."""
    return bool(_NAME.fullmatch(name))


def new_batch() -> str:
    return uuid.uuid4().hex


def everybodys_agent() -> dict[str, Any]:
    """Return what stands for the proposal in fields that are drawn for several."""
    return {"pk": "several", "agent": {"name": _("the agent")}}
