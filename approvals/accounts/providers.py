"""Who is who at the sign-in provider: which person a first sign-in is, and who is not let in.

An account of the provider is known by its issuer and `sub`, never again by its mail or name. docs/decisions has why a
first one is matched as it is.
"""

import time
import unicodedata
from typing import Any, Never

from allauth.account import app_settings as account_settings
from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.authentication import get_authentication_records
from allauth.account.internal.flows.login import record_authentication
from allauth.core import context
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount import signals
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialAccount, SocialLogin
from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from approvals import audit
from approvals.forms.accounts import is_time_zone
from approvals.models import Agent, AuditEvent, User
from memory_app.models import Change

#: Where the session keeps the zone of a browser that is about to sign in.
TIME_ZONE = "browser_time_zone"
_DEACTIVATED = gettext_lazy("Your account here was deactivated. Ask an administrator of this site.")


class AccountAdapter(DefaultAccountAdapter):
    """What all ways to sign in have in common. Nobody signs up: admins make people, or what the provider says does."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def get_client_ip(self, request: HttpRequest) -> str:
        return audit.client_address(request)

    def login(self, request: HttpRequest, user: Any) -> None:
        _take_time_zone(user, request.session.pop(TIME_ZONE, ""))
        super().login(request, user)

    def respond_user_inactive(self, request: HttpRequest, user: Any) -> HttpResponse:
        audit.record(AuditEvent.Act.SIGN_IN_FAILED, owner=user.username, detail="deactivated")
        return refused(request, str(_DEACTIVATED))

    def validation_error(self, code: str, *args: Any) -> ValidationError:
        if code == "too_many_login_attempts":
            audit.record(AuditEvent.Act.LIMITED, detail="second factor")
        return super().validation_error(code, *args)

    def is_reauthentication_required(self, *, app: str, **kwargs: Any) -> bool:
        """Whether a person has to confirm who they are: not just after they signed in, nor where they could not."""
        request = context.request
        since = time.time() - account_settings.REAUTHENTICATION_TIMEOUT
        is_fresh = any(record["at"] > since for record in get_authentication_records(request, request.user))
        return not is_fresh and bool(self.get_reauthentication_methods(request.user))


def _take_time_zone(user: User, zone: str) -> None:
    """At their first sign-in people get the zone their browser is in; from then on it is their setting."""
    if user.last_login is None and user.time_zone == "UTC" and is_time_zone(zone):
        user.time_zone = zone
        user.save(update_fields=["time_zone"])


def refused(request: HttpRequest, why: str) -> HttpResponse:
    return render(request, "registration/refused.html", {"why": why}, status=403)


class ProviderAdapter(DefaultSocialAccountAdapter):
    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Match the account to a person or make one; note a second factor that the provider saw."""
        told = sociallogin.account.extra_data
        signed = told.get("id_token") or {}
        claims = signed | (told.get("userinfo") or {})
        if signed and signed.get("sub") != claims.get("sub"):
            _refuse(request, _("The sign-in provider spoke of two people at once."), "two subjects")
        if settings.SAML_ENTITY_ID:  # whose attributes have many names, which allauth knows
            user = sociallogin.user
            claims = {"email": user.email, "given_name": user.first_name, "family_name": user.last_name}
            claims[settings.OIDC_USERNAME_CLAIM] = user.username
        if sociallogin.state.get("process") == "connect":
            return
        if not sociallogin.is_existing:
            sociallogin.connect(request, _person_of(request, claims))
        means = signed.get("amr") or []
        means = [*means, signed.get("acr")] if isinstance(means, list) else [means]
        if "any" in settings.OIDC_SECOND_FACTOR or set(settings.OIDC_SECOND_FACTOR) & set(map(str, means)):
            record_authentication(request, sociallogin.user, "mfa", type="provider")

    def on_authentication_error(self, request: HttpRequest, provider: Any, **kwargs: Any) -> None:
        said = str(kwargs.get("exception") or kwargs.get("error") or "")
        audit.record(AuditEvent.Act.SIGN_IN_FAILED, detail=f"{provider.sub_id}: {said}")


def _person_of(request: HttpRequest, claims: dict[str, Any]) -> User:
    """Return whose first sign-in this is: somebody known by a verified address, or somebody new.

    Refused by a page that says what to do: an address nobody has verified; a person who has rights over others, or has
    signed in here and never proved the address, who link the account themselves; and who is not from an allowed domain.
    """
    address = str(claims.get("email") or "").strip()
    domain = address.rpartition("@")[2].lower()
    is_verified = claims.get("email_verified") in (True, "true")
    if "email_verified" not in claims:
        is_verified = settings.OIDC_TRUST_MAIL and domain in settings.OIDC_DOMAINS
    ask = _("Ask an administrator of this site to let you in.")
    if not address or not is_verified:
        _refuse(request, _("The provider did not say that your mail address is yours.") + f" {ask}", "no verified mail")
    # A database may take the dotless ı for i.
    known = [person for person in User.objects.filter(email__iexact=address) if _same(person.email, address)]
    if len(known) > 1:
        _refuse(request, _("Several accounts here have your mail address.") + f" {ask}", "address of several")
    if known:
        (person,) = known
        if not person.is_active:
            _refuse(request, str(_DEACTIVATED), "deactivated", person)
        is_proved = person.last_login is None or person.proved_email.lower() == address.lower()
        if person.is_staff or not is_proved:
            link = _("Sign in with your password once, and link the account under Settings.")
            _refuse(request, _("Your account here is not linked to this one yet.") + f" {link}", "not linked", person)
        return person
    if domain not in settings.OIDC_DOMAINS:
        _refuse(request, _("There is no account here with your mail address.") + f" {ask}", "no such person")
    return _made(request, claims, address, ask)


def _made(request: HttpRequest, claims: dict[str, Any], address: str, ask: str) -> User:
    username = str(claims.get(settings.OIDC_USERNAME_CLAIM) or "").lower()
    name, _at, domain = username.rpartition("@")
    person = User(
        username=name if domain in settings.OIDC_DOMAINS else username,
        email=address,
        proved_email=address,
        first_name=str(claims.get("given_name") or "")[:150],
        last_name=str(claims.get("family_name") or "")[:150],
    )
    person.set_unusable_password()
    try:
        person.clean_fields(exclude=["password"])
        person.validate_unique()
        # Usernames are never used again.
        is_past = Change.objects.filter(owner=person.username).exists()
        if is_past or Agent.objects.filter(name=person.username).exists():
            raise ValidationError(person.username)
        person.save()
    except (ValidationError, IntegrityError):
        said = _("Your name at the provider cannot be a username here, or somebody has it.")
        _refuse(request, f"{said} {ask}", "username")
    return person


def _same(one: str, other: str) -> bool:
    return unicodedata.normalize("NFKC", one).casefold() == unicodedata.normalize("NFKC", other).casefold()


def _refuse(request: HttpRequest, why: str, detail: str, person: User | None = None) -> Never:
    owner = person.username if person else ""
    audit.record(AuditEvent.Act.SIGN_IN_FAILED, owner=owner, detail=f"{settings.OIDC_PROVIDER}: {detail}")
    raise ImmediateHttpResponse(refused(request, why))


@receiver(signals.social_account_added)
def _linked(sociallogin: SocialLogin, **kwargs: Any) -> None:
    _record(AuditEvent.Act.PROVIDER_LINKED, sociallogin.account)


@receiver(signals.social_account_removed)
def _unlinked(socialaccount: SocialAccount, **kwargs: Any) -> None:
    _record(AuditEvent.Act.PROVIDER_UNLINKED, socialaccount)


def _record(what: AuditEvent.Act, account: SocialAccount) -> None:
    audit.record(what, owner=account.user.username, detail=f"{account.provider}: {account.uid}")
