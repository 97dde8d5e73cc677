"""The forms with which a person makes and rotates tokens for their own memory.

A form that shows a secret has a nonce and does its work once: when the page with the secret is loaded again, nothing is
made a second time.
"""

import secrets
from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from agent_tools.models import Scope
from approvals.models import Agent, User

#: Who would seem to speak for this installation.
_OUR_OWN = frozenset(
    {"admin", "assent", "nobody", "policy", "recover", "root", "staff", "support", "system", "unknown"}
)


#: Where the session keeps which forms have done their work.
_USED = "forms_used"


def new_nonce() -> str:
    return secrets.token_hex(8)


def was_used(request: HttpRequest, told: str) -> bool:
    """Whether this form has done its work: the page with the secret was loaded again. Then the person is told."""
    is_used: bool = request.POST.get("nonce", "")[:64] in request.session.get(_USED, [])
    if is_used:
        messages.info(request, told)
    return is_used


def mark_used(request: HttpRequest) -> None:
    """Remember that this form does its work now."""
    if nonce := request.POST.get("nonce", "")[:64]:
        request.session[_USED] = [*request.session.get(_USED, []), nonce][-20:]


class TokenForm(forms.Form):
    """An agent's name, what it may do, and for how long. `agent` is there after validation."""

    name = forms.CharField(
        label=_("Agent"),
        max_length=64,
        help_text=_("a-z, 0-9, dot, underscore and dash. It is shown beside every proposal the agent makes."),
    )
    scopes = forms.MultipleChoiceField(
        label=_("It may"),
        choices=Scope.choices,
        initial=[Scope.MEMORY_READ, Scope.MEMORY_PROPOSE],
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": _("Choose at least one.")},
        help_text=_("Reading is part of each of them."),
    )
    toolset = forms.ChoiceField(
        label=_("Tools in its list"),
        choices=[(name, name) for name in ("core", "notes", "blocks", "files", "all")],
        required=False,
        help_text=_(
            "core: the ten most needed. A model reads the list in each request; it can call every tool by name."
        ),
    )
    days = forms.TypedChoiceField(
        label=_("Valid"),
        choices=[
            ("", _("until you revoke it")),
            ("30", _("for 30 days")),
            ("90", _("for 90 days")),
            ("365", _("for a year")),
        ],
        coerce=int,
        empty_value=None,
        required=False,
    )

    def __init__(self, *args: Any, owner: User, **kwargs: Any) -> None:
        self.owner = owner
        self.agent: Agent | None = None
        super().__init__(*args, **kwargs)

    def clean_name(self) -> str:
        """Return a name of the person's own agents, or a new one.

        A token of another person's agent would let its holder propose under that agent's name.
        """
        name: str = self.cleaned_data["name"]
        existing = Agent.objects.filter(name=name).first()
        # One answer for all of them: it must not show who has an account or what others call their agents.
        taken = forms.ValidationError(_("This name is taken, or it is a person's. Choose another."))
        if existing is None:
            if name in _OUR_OWN or User.objects.filter(username=name).exists():
                raise taken
            Agent._meta.get_field("name").run_validators(name)
            self.agent = Agent(name=name, created_by=self.owner)
        elif existing.created_by_id != self.owner.pk:
            raise taken
        elif not existing.is_active:
            raise forms.ValidationError(_("This agent was deactivated by an admin."))
        else:
            self.agent = existing
        return name

    @property
    def expires_at(self) -> datetime | None:
        days = self.cleaned_data["days"]
        return timezone.now() + timedelta(days=days) if days else None


class ConnectForm(TokenForm):
    """A token for a program that asks for it: with what it asked for or less; for whose memory, staff choose."""

    request = forms.CharField(widget=forms.HiddenInput)
    user = forms.CharField(label=_("Whose memory"), help_text=_("A username."))

    def __init__(self, *args: Any, owner: User, requested_scopes: list[str], **kwargs: Any) -> None:
        super().__init__(*args, owner=owner, **kwargs)
        self.served = owner
        asked = Scope.granted(requested_scopes)
        scopes: Any = self.fields["scopes"]
        scopes.choices = [(scope.value, scope.label) for scope in Scope if scope.value in asked]
        scopes.initial = asked
        self.fields["user"].initial = owner.username
        if not owner.is_staff:
            del self.fields["user"]

    def clean_user(self) -> str:
        username: str = self.cleaned_data["user"]
        served = User.objects.filter(username=username, is_active=True).first()
        if served is None:
            raise forms.ValidationError(_("There is no such person."))
        self.served = served
        return username


#: How long an old secret stays valid; None until somebody ends it.
_GRACES: dict[str, tuple[Any, timedelta | None]] = {
    "hour": (_("for an hour"), timedelta(hours=1)),
    "day": (_("for a day"), timedelta(days=1)),
    "week": (_("for a week"), timedelta(days=7)),
    "open": (_("until you end it"), None),
    "none": (_("not at all: it ends now"), timedelta()),
}


class RotateForm(forms.Form):
    """How long the old secret stays valid beside the new one."""

    grace = forms.ChoiceField(
        label=_("The old secret stays valid"),
        choices=[(grace, label) for grace, (label, _time) in _GRACES.items()],
        initial="day",
        widget=forms.RadioSelect,
    )

    @property
    def until(self) -> datetime | None:
        """Return when it ends; None where the person ends it."""
        _label, grace = _GRACES[self.cleaned_data["grace"]]
        return None if grace is None else timezone.now() + grace
