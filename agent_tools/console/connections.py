"""OAuth for MCP clients: where they find it, how they register, and the page on which a person lets one in.

The protocol is allauth's (`allauth.idp.oidc`). What a person allows becomes an agent's token like any other, which
access and refresh tokens lead to by their grant (`agent_tools.auth.find`): who ends it ends these.
"""

import functools
import secrets
from collections.abc import Callable
from datetime import timedelta
from http import HTTPStatus
from typing import Any, cast
from urllib.parse import urlsplit

from allauth.core import context
from allauth.idp.oidc import views
from allauth.idp.oidc.adapter import DefaultOIDCAdapter
from allauth.idp.oidc.internal.oauthlib.utils import get_validator_context, respond_html_error
from allauth.idp.oidc.internal.resources import InvalidTargetError
from allauth.idp.oidc.models import Client
from allauth.idp.oidc.models import Token as Grant
from django.conf import settings
from django.contrib.auth.mixins import LoginRequiredMixin
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.text import slugify
from django.utils.translation import gettext as _

from agent_tools import auth
from agent_tools.forms import ConnectForm
from agent_tools.models import AgentToken, Scope
from approvals.audit import client_address
from approvals.models import Agent
from memory_app.runtime import rate_limit

_LOOPBACK = ("127.0.0.1", "::1", "localhost")
#: Calls of one address that may fail in this time.
_REFUSED, _WINDOW = 30, timedelta(minutes=1)
#: The type of refresh tokens that were used, and how long they are known: a program may leave four in an hour.
_USED, _KEPT = "us", timedelta(days=7)
#: Processes of one program may use the same token at once: then the later is refused, and nothing ends.
_AT_ONCE = timedelta(minutes=1)


class ConnectionAdapter(DefaultOIDCAdapter):
    """What clients may register and ask for."""

    def get_issuer(self) -> str:
        return settings.PUBLIC_URL

    def generate_client_secret(self) -> str:
        """Return one without characters that the standard wants encoded in a header: allauth does not decode them."""
        return secrets.token_urlsafe(32)

    def validate_client_registration(self, *, client: Client, **kwargs: Any) -> None:
        if not all(map(_is_safe, client.get_redirect_uris())):
            raise ValidationError("Redirect URIs have to be https, or http to this machine itself.")
        # Whatever it asked for: a person gives it what it gets, and it is known by no secret alone.
        client.name = client.name or "MCP client"
        client.set_scopes([*Scope])
        client.set_default_scopes(Scope.usual())
        client.set_grant_types([Client.GrantType.AUTHORIZATION_CODE, Client.GrantType.REFRESH_TOKEN])
        client.set_response_types([Client.ResponseType.CODE])

    def validate_resource_uris(self, *, uris: list[str], **kwargs: Any) -> None:
        if all(uri.partition("?")[0].rstrip("/") in (settings.PUBLIC_URL, _mcp()) for uri in uris):
            return
        if context.request.method == "POST":
            raise InvalidTargetError
        raise ValidationError(_("The program asked for access to another site."))


def _is_safe(uri: str) -> bool:
    try:
        parts = urlsplit(uri)
    except ValueError:  # of `http://[`
        return False
    is_here = parts.scheme == "http" and parts.hostname in _LOOPBACK
    return bool(parts.hostname) and not parts.fragment and (is_here or parts.scheme == "https")


def limited(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Count what a program's address is refused: each secret is hashed for half a second, right or wrong."""

    @functools.wraps(view)
    def counted(request: HttpRequest) -> HttpResponse:
        key = rate_limit.key_of("oauth", client_address(request))
        if rate_limit.hit(key, _REFUSED, _WINDOW):
            seconds = str(int(_WINDOW.total_seconds()))
            return JsonResponse({"error": "slow_down"}, status=429, headers={"Retry-After": seconds})
        response = view(request)
        if response.status_code < HTTPStatus.BAD_REQUEST:
            rate_limit.take_back(key)
        return response

    return counted


def _mcp() -> str:
    return f"{settings.PUBLIC_URL}/mcp"


def _public(data: dict[str, Any]) -> HttpResponse:
    return JsonResponse(data, headers={"Access-Control-Allow-Origin": "*"})


def resource_metadata(request: HttpRequest) -> HttpResponse:
    """Answer where tokens for /mcp come from (RFC 9728)."""
    return _public(
        {
            "resource": _mcp(),
            "authorization_servers": [settings.PUBLIC_URL],
            "scopes_supported": Scope.usual(),
            "bearer_methods_supported": ["header"],
            "resource_name": "Assent",
        }
    )


def server_metadata(request: HttpRequest) -> HttpResponse:
    """Answer how they are asked for (RFC 8414)."""
    addresses = {
        "authorization_endpoint": "authorization",
        "token_endpoint": "token",
        "revocation_endpoint": "revoke",
        "registration_endpoint": "client_registration",
    }
    return _public(
        {
            "issuer": settings.PUBLIC_URL,
            **{said: settings.PUBLIC_URL + reverse(f"idp:oidc:{name}") for said, name in addresses.items()},
            "scopes_supported": [*Scope],
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "token_endpoint_auth_methods_supported": ["none", "client_secret_basic", "client_secret_post"],
            "code_challenge_methods_supported": ["S256"],
        }
    )


class Connect(LoginRequiredMixin, views.AuthorizationView):
    """Ask a person whether a program may connect: as which agent, for whose memory, to do what."""

    form_class = ConnectForm
    template_name = "agents/connect.html"

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not request.GET.get("code_challenge"):
            return respond_html_error(request, error=ValidationError(_("The program did not use PKCE.")))
        return super().get(request, *args, **kwargs)

    def get_form_kwargs(self) -> dict[str, Any]:
        given = super().get_form_kwargs()
        given.pop("user")
        client = Client.objects.get(pk=self._request_info["client_id"])
        name = slugify(client.name)[:40].strip("-_") or "agent"
        if Agent.objects.filter(name=name).exclude(created_by=self.request.user).exists():
            name = f"{name[:20]}-{self.request.user.get_username()}"[:64]
        given["initial"]["name"] = name
        return given | {"owner": self.request.user}

    def form_valid(self, form: ConnectForm) -> HttpResponse:
        agent = cast(Agent, form.agent)
        try:
            with transaction.atomic():
                agent.save()
                response = super().form_valid(form)
                if grant := get_validator_context().grant_id:
                    given = {name: form.cleaned_data[name] for name in ("scopes", "toolset")}
                    given |= {"owners": [form.served], "created_by": self.request.user, "grant": grant}
                    auth.issue(agent=agent, expires_at=form.expires_at, **given)
        except IntegrityError:
            form.add_error("name", _("An agent of this name was just created. Choose another."))
            return self.form_invalid(form)
        return response

    def render_to_response(self, context: dict[str, Any], **kwargs: Any) -> HttpResponse:
        back = urlsplit(self._request_info["redirect_uri"])
        response: HttpResponse = super().render_to_response(
            context | {"section": "agents", "host": back.netloc}, status=422 if context["form"].errors else 200
        )
        # A browser also holds the redirect that follows the form against it.
        response._csp_update = {"form-action": [f"{back.scheme}://{back.netloc}"]}  # type: ignore[attr-defined]
        return response


class GiveTokens(views.TokenView):
    def post(self, request: HttpRequest) -> HttpResponse:
        """Answer as allauth does, but not to refresh what somebody has ended.

        Of two that refresh with the same token one has stolen it, so what it leads to ends (RFC 9700, 4.14).
        """
        told = request.POST.get("refresh_token", "")
        refreshed = Grant.objects.lookup(Grant.Type.REFRESH_TOKEN, told)
        if refreshed and not AgentToken.objects.working().filter(grant=refreshed.get_grant_id()).exists():
            return JsonResponse({"error": "invalid_grant"}, status=400)
        if (used := Grant.objects.lookup(_USED, told)) and used.created_at < timezone.now() - _AT_ONCE:
            _end(used)
        try:
            response: HttpResponse = super().post(request)
        except ValidationError:  # a resource that is no address
            return JsonResponse({"error": "invalid_target"}, status=400)
        if refreshed and not Grant.objects.filter(pk=refreshed.pk).exists():
            known = {"client_id": refreshed.client_id, "user_id": refreshed.user_id, "data": refreshed.data}
            known |= {"expires_at": timezone.now() + _KEPT}
            Grant.objects.get_or_create(type=_USED, hash=refreshed.hash, defaults=known)
        return response


def _end(grant: Grant) -> None:
    for token in AgentToken.objects.filter(grant=grant.get_grant_id()):
        auth.revoke(token)


def purge() -> int:
    """Delete codes and tokens that ended, and programs that registered a month ago and that nobody lets in."""
    a_month_ago = timezone.now() - timedelta(days=30)
    ended = Grant.objects.expired().delete()[0]
    return ended + Client.objects.filter(token=None, created_at__lt=a_month_ago).delete()[0]


class Revoke(views.RevokeView):
    def post(self, request: HttpRequest) -> HttpResponse:
        """End the agent's token with its refresh token."""
        told = Grant.objects.lookup(Grant.Type.REFRESH_TOKEN, request.POST.get("token", ""))
        response: HttpResponse = super().post(request)
        if told and not Grant.objects.filter(pk=told.pk).exists():
            _end(told)
        return response
