"""The forms of asking an agent for changes, and of taking that back."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from approvals.forms.proposal import ApproveForm
from approvals.services.turn.hand_back import REASONS


class RequestChangesForm(ApproveForm):
    """What should change, in words, and why."""

    comment = forms.CharField(
        label=_("What should change?"),
        max_length=2_000,
        widget=forms.Textarea(attrs={"rows": 3}),
        error_messages={"required": _("Please say what should change; the agent has nothing else to go by.")},
    )
    reason = forms.ChoiceField(
        label=_("Reason"),
        required=False,
        choices=[(reason.value, reason.label) for reason in REASONS],
        widget=forms.RadioSelect,
    )

    def arguments(self) -> dict[str, Any]:
        return {name: self.cleaned_data[name] for name in ("revision", "comment", "reason")}


class BackToReviewForm(ApproveForm):
    """Taking back a request for changes."""

    def arguments(self) -> dict[str, Any]:
        return {"revision": self.cleaned_data["revision"]}
