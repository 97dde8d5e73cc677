"""The forms of talking about a proposal, assigning it and putting it off."""

from __future__ import annotations

from datetime import datetime, time, timedelta

from django import forms
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from approvals.services.talk.commenting import MOST_CHARACTERS

#: What a press puts off for.
SNOOZES = {"day": timedelta(days=1), "week": timedelta(days=7)}


class CommentForm(forms.Form):
    """A comment. Its field is not called `comment`, as that of a decision on the same page is."""

    said = forms.CharField(
        label=_("Comment"),
        max_length=MOST_CHARACTERS,
        error_messages={"required": _("Please write something.")},
        widget=forms.Textarea(attrs={"rows": 3}),
    )
    change = forms.CharField(required=False, max_length=64)
    # One form, one comment: sent twice, it is the same.
    nonce = forms.RegexField(regex=r"^[0-9a-f]{32}\Z", widget=forms.HiddenInput)


class AssignForm(forms.Form):
    to = forms.CharField(label=_("Assigned to"), required=False, max_length=64)


class SnoozeForm(forms.Form):
    """Until when: by a press, or by a day."""

    span = forms.ChoiceField(choices=[(name, name) for name in SNOOZES], required=False)
    until = forms.DateField(
        label=_("Until"),
        required=False,
        error_messages={"invalid": _("Choose a day.")},
        widget=forms.DateInput(attrs={"type": "date"}),
    )

    def at(self) -> datetime | None:
        """Return the time; None where none was chosen. A day begins at midnight where the viewer is."""
        if span := self.cleaned_data.get("span"):
            return timezone.now() + SNOOZES[span]
        day = self.cleaned_data.get("until")
        try:
            return timezone.make_aware(datetime.combine(day, time())) if day else None
        except (OverflowError, ValueError):  # the ends of the calendar
            return None
