"""Second factors: that staff have one before any page shows them what they may see, and what is recorded of them.

The pages, the codes and the passkeys are those of allauth.mfa. A session has its second factor when allauth noted that
one was used in it, also to confirm, or made; or that the sign-in provider saw one (`providers`).
"""

import base64
from typing import Any

from allauth.account.adapter import get_adapter
from allauth.account.authentication import get_authentication_records
from allauth.account.internal.flows.login import clear_authentication_records, record_authentication
from allauth.mfa import signals
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings
from django.contrib import messages
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.crypto import salted_hmac
from django.utils.http import urlencode
from django.utils.translation import gettext as _

from approvals import audit
from approvals.models import AuditEvent, User
from memory_app.webserver import requests

#: Pages that staff may open who have not proved a second factor in this session; and, where they have none yet, those
#: to make one. Who has one must not make another with the password alone.
_TO_PROVE = ("mfa_reauthenticate", "mfa_reauthenticate_webauthn", "sign_out", "account_logout", "manifest")
_TO_SET_UP = ("mfa_", "account_reauthenticate")


class FactorAdapter(DefaultMFAAdapter):
    """Keeps the secrets of apps and recovery codes encrypted with a key made from the site's secret key."""

    def encrypt(self, text: str) -> str:
        return _fernet().encrypt(text.encode()).decode()

    def decrypt(self, encrypted_text: str) -> str:
        try:
            return _fernet().decrypt(encrypted_text.encode()).decode()
        except InvalidToken:  # the site has another secret key than when it was made
            raise self.validation_error("incorrect_code") from None


def _fernet() -> Fernet:
    key = salted_hmac("approvals.second_factor", "", algorithm="sha256").digest()
    return Fernet(base64.urlsafe_b64encode(key))


def is_proved(request: HttpRequest) -> bool:
    """Whether a second factor was used, or made, in this session by its person."""
    records = get_authentication_records(request, request.user)
    return any(record["method"] == "mfa" for record in records)


def asked_first(request: HttpRequest) -> HttpResponse | None:
    """Return where a member of staff has to prove, or set up, a second factor before anything else; None for others."""
    if not settings.SECOND_FACTOR_REQUIRED or requests.is_machine(request.path) or not request.COOKIES:
        return None
    name = getattr(request.resolver_match, "view_name", None) or ""
    user = request.user
    if not (user.is_authenticated and user.is_staff) or name in _TO_PROVE or is_proved(request):
        return None
    here = request.get_full_path() if request.method == "GET" else "/"
    ways = [way for way in get_adapter().get_reauthentication_methods(user) if way["id"].startswith("mfa_")]
    if ways:
        return redirect(f"{ways[0]['url']}?{urlencode({'next': here})}")
    if name.startswith(_TO_SET_UP):
        return None
    messages.warning(request, _("Your account has rights over others’. Set up a second factor to continue."))
    return redirect("mfa_index")


@receiver(signals.authenticator_added)
def _added(request: HttpRequest, user: User, authenticator: Authenticator, **kwargs: Any) -> None:
    audit.record(AuditEvent.Act.FACTOR_ADDED, owner=user.username, detail=authenticator.type)
    record_authentication(request, user, "mfa", type=authenticator.type)


@receiver(signals.authenticator_removed)
def _removed(request: HttpRequest, user: User, authenticator: Authenticator, **kwargs: Any) -> None:
    audit.record(AuditEvent.Act.FACTOR_REMOVED, owner=user.username, detail=authenticator.type)
    if not Authenticator.objects.filter(user=user).exists():
        clear_authentication_records(request)  # who needs one is led to set up another at once


@receiver(signals.authentication_failed)
def _failed(user: User, authenticator: Authenticator, **kwargs: Any) -> None:
    audit.record(AuditEvent.Act.SIGN_IN_FAILED, owner=user.username, detail=f"second factor: {authenticator.type}")
