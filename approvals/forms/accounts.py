"""The forms of people's accounts: signing in, one's own settings, and what agents may do without asking."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any
from zoneinfo import available_timezones

from django import forms
from django.conf import settings
from django.contrib.auth.forms import AuthenticationForm
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from approvals.models import Kind, Mail, Policy, TrustRule, User

#: Regions of the time zone list, in its order. The rest of the database is history and aliases.
_REGIONS = (
    "Africa", "America", "Antarctica", "Arctic", "Asia", "Atlantic", "Australia", "Europe", "Indian", "Pacific",
)  # fmt: skip


class SignInForm(AuthenticationForm):
    """Says neither which of the two was wrong nor whether there is such a person."""

    error_messages = dict.fromkeys(("invalid_login", "inactive"), _("Username or password is wrong."))

    def __init__(self, request: Any = None, *args: Any, **kwargs: Any) -> None:
        super().__init__(request, *args, **kwargs)
        if self.data.get("username"):  # it is filled in again: what is left to type is the password
            del self.fields["username"].widget.attrs["autofocus"]
            self.fields["password"].widget.attrs["autofocus"] = True


class AccountForm(forms.ModelForm[User]):
    """What people set for themselves. An address that refused mail is tried again."""

    time_zone = forms.ChoiceField(
        label=_("Time zone"), help_text=_("Times on every page are shown in it."), choices=lambda: time_zones()
    )

    language = forms.ChoiceField(
        label=_("Language"),
        required=False,
        help_text=_("Of pages, mails and the feed. Unless you choose one, mails are in the language of this site."),
        choices=[("", _("As in the browser")), *settings.LANGUAGES],
    )

    class Meta:
        model = User
        fields = ["first_name", "last_name", "email", "mail", "language", "time_zone", "shortcuts"]
        labels = {"mail": _("Mail when proposals are waiting for you")}
        help_texts = {
            "mail": format_lazy(
                _(
                    "At once: within a minute. Once a day: at {hour}:00 your time; once a week: on Mondays. Each mail "
                    "has the changed words and a link."
                ),
                hour=settings.MAIL_HOUR,
            ),
            "email": _("For password resets and mail about proposals. No one else sees it."),
            "shortcuts": _("j and k move through lists, ? shows all of them."),
        }

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("mail") not in (None, Mail.NEVER) and not cleaned.get("email") and "email" not in self.errors:
            self.add_error("email", _("Enter an address, or choose “Never”."))
        return cleaned

    def save(self, commit: bool = True) -> User:
        """Write the form's fields, not the whole row: until when they were told may be moved in the same moment."""
        self.instance.mail_failure, fields = "", [*self.fields, "mail_failure"]
        if "email" in self.changed_data:
            self.instance.proved_email = ""
            fields.append("proved_email")
        self.instance.save(update_fields=fields)
        return self.instance


def time_zones() -> Sequence[tuple[str, Any]]:
    """Return names of the time zone database by region, for a select with groups."""
    regions: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for name in sorted(available_timezones()):
        region, slash, place = name.partition("/")
        if slash and region in _REGIONS:
            regions[region].append((name, f"{place.replace('_', ' ')} ({region})"))
    return [("UTC", "UTC"), *((region, regions[region]) for region in _REGIONS)]


def is_time_zone(name: str) -> bool:
    """Whether people may choose it."""
    return any(name == zone for _region, zones in time_zones()[1:] for zone, _label in zones)


class PolicyForm(forms.ModelForm[Policy]):
    """What an owner lets agents do without asking."""

    class Meta:
        model = Policy
        fields = ["notes"]
        widgets = {"notes": forms.RadioSelect}


#: Kinds a rule may name, in the order they are offered. Deletions always ask.
KINDS = (Kind.EDIT, Kind.REWRITE, Kind.CREATE_BLOCK, Kind.SAVE, Kind.UPDATE, Kind.FORGET, Kind.IMPORT)


class NeedsForm(forms.Form):
    """What an existing rule asks for."""

    needs = forms.ChoiceField(choices=TrustRule.Needs.choices, error_messages={"required": _("Choose what happens.")})


class RuleForm(NeedsForm):
    """A new rule: what it asks for, and of which agent, block and kind of change; an empty one means any."""

    agent = forms.CharField(required=False, max_length=64)
    block = forms.CharField(required=False, max_length=64)
    kind = forms.CharField(required=False, max_length=16)
