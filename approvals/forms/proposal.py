"""The forms of deciding about a proposal."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from approvals.models import RejectReason


class ApproveForm(forms.Form):
    """What a decision names: the revision that was shown, and the target it was shown against."""

    revision = forms.IntegerField(min_value=1, max_value=10_000, widget=forms.HiddenInput)
    # Empty when the block was missing.
    seen_sha256 = forms.CharField(max_length=64, required=False, widget=forms.HiddenInput)
    comment = forms.CharField(
        label=_("Comment"),
        required=False,
        max_length=2_000,
        widget=forms.Textarea(attrs={"rows": 3}),
    )

    # The page said that its agent is asked for changes.
    is_with_agent = forms.BooleanField(required=False, widget=forms.HiddenInput)

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the service that takes this decision."""
        return {name: self.cleaned_data[name] for name in ("revision", "seen_sha256", "comment", "is_with_agent")}


class CloseForm(ApproveForm):
    """Closing what is in the memory already."""

    def arguments(self) -> dict[str, Any]:
        return {name: self.cleaned_data[name] for name in ("revision", "seen_sha256", "is_with_agent")}


class UndoForm(forms.Form):
    """Undoing: with `seen_sha256`, as the page of undoing showed it."""

    seen_sha256 = forms.CharField(max_length=64, required=False, widget=forms.HiddenInput)
    is_shown = forms.BooleanField(required=False, widget=forms.HiddenInput)
    comment = forms.CharField(required=False, max_length=2_000, widget=forms.Textarea(attrs={"rows": 3}))

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the service. A target that is gone has no hash, but was shown."""
        seen = self.cleaned_data["seen_sha256"] if self.cleaned_data["is_shown"] else None
        return {"seen_sha256": seen, "comment": self.cleaned_data["comment"]}


class RejectForm(ApproveForm):
    reason = forms.ChoiceField(
        label=_("Reason for rejecting"),
        choices=RejectReason,
        widget=forms.RadioSelect,
        error_messages={"required": _("Choose a reason; the agent learns from it.")},
    )

    def arguments(self) -> dict[str, Any]:
        return {name: self.cleaned_data[name] for name in ("revision", "reason", "comment", "is_with_agent")}

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("reason") == RejectReason.OTHER and not cleaned.get("comment"):
            self.add_error("comment", _("Please say what’s wrong."))
        return cleaned
