"""The forms of signing in and of deciding. Forms of the memory pages are `forms.memory`."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.forms import AuthenticationForm
from django.utils.translation import gettext_lazy as _

from approvals.models import RejectReason


class SignInForm(AuthenticationForm):
    """Says neither which of the two was wrong nor whether there is such a person."""

    error_messages = {
        "invalid_login": _("Username or password is wrong."),
        "inactive": _("Username or password is wrong."),
    }

    def __init__(self, request: Any = None, *args: Any, **kwargs: Any) -> None:
        super().__init__(request, *args, **kwargs)
        if self.data.get("username"):  # it is filled in again: what is left to type is the password
            del self.fields["username"].widget.attrs["autofocus"]
            self.fields["password"].widget.attrs["autofocus"] = True


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

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the service that takes this decision."""
        return {name: self.cleaned_data[name] for name in ("revision", "seen_sha256", "comment")}


class CloseForm(ApproveForm):
    """Closing what is in the memory already."""

    def arguments(self) -> dict[str, Any]:
        return {name: self.cleaned_data[name] for name in ("revision", "seen_sha256")}


class RejectForm(ApproveForm):
    reason = forms.ChoiceField(
        label=_("Reason for rejecting"),
        choices=RejectReason,
        widget=forms.RadioSelect,
        error_messages={"required": _("Choose a reason; the agent learns from it.")},
    )

    def arguments(self) -> dict[str, Any]:
        return {name: self.cleaned_data[name] for name in ("revision", "reason", "comment")}

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("reason") == RejectReason.OTHER and not cleaned.get("comment"):
            self.add_error("comment", _("Please say what’s wrong."))
        return cleaned
