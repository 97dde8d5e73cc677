"""The forms of deciding about a proposal."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from approvals import services
from approvals.forms.memory import with_line_breaks_of
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


class ApproveSomeForm(ApproveForm):
    """Approving the ticked changes: what becomes of the others."""

    rest = forms.ChoiceField(
        choices=[(services.Rest.AGENT, ""), (services.Rest.REJECT, "")],
        error_messages={"required": _("Choose what happens to the changes you left out.")},
    )
    rest_reason = forms.ChoiceField(
        choices=[("", ""), *((reason.value, reason.label) for reason in services.REASONS_FOR_REST)], required=False
    )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("rest") == services.Rest.REJECT and not cleaned.get("rest_reason"):
            self.add_error("rest_reason", _("Choose a reason; the agent learns from it."))
        return cleaned

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the service, but for what is accepted."""
        chosen = {"rest": services.Rest(self.cleaned_data["rest"]), "reason": self.cleaned_data["rest_reason"]}
        return _without_agent(super().arguments()) | chosen


class RewordForm(ApproveForm):
    """Approving a text of the reviewer's own."""

    text = forms.CharField(
        label=_("Text"),
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 18, "class": "prose-input"}),
    )
    field_order = ["text"]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if "text" in cleaned and not cleaned["text"].strip():
            self.add_error(
                "text", _("The text is empty. To delete it, reject this proposal and delete it on its page.")
            )
        return cleaned

    def arguments_with(self, line_breaks_of: str) -> dict[str, Any]:
        """Return the arguments of the service.

        Args:
            line_breaks_of: the text whose kind of line breaks the typed one keeps.
        """
        text = with_line_breaks_of(line_breaks_of, self.cleaned_data["text"])
        return _without_agent(self.arguments()) | {"text": text}


class RewordBlockForm(RewordForm):
    """Approving a new block with a title and a text of the reviewer's own."""

    title = forms.CharField(label=_("Title"), max_length=200, required=False)

    def clean(self) -> dict[str, Any]:
        return super(RewordForm, self).clean() or {}  # a new block may be empty

    def arguments_with(self, line_breaks_of: str) -> dict[str, Any]:
        return super().arguments_with(line_breaks_of) | {"title": self.cleaned_data.get("title", "")}


class CloseForm(ApproveForm):
    """Closing what is already in the memory."""

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


def _without_agent(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments for what is not done while the agent is asked for changes."""
    return {name: value for name, value in arguments.items() if name != "is_with_agent"}
