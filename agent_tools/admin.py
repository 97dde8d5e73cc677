"""Tokens, tool calls, idempotency keys and webhooks in the admin; read-only but for making and revoking tokens and
disabling webhooks."""

from collections import ChainMap
from datetime import datetime
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext_lazy as _
from django_stubs_ext import StrOrPromise

from agent_tools import auth
from agent_tools.calls import toolsets
from agent_tools.calls.registry import ENDPOINTS, TOOLS
from agent_tools.errors import ErrorCode
from agent_tools.forms import RotateForm
from agent_tools.models import (
    AgentToken,
    DisabledWhy,
    IdempotencyKey,
    Scope,
    ToolCall,
    WebhookDelivery,
    WebhookEndpoint,
)
from agent_tools.webhooks import deliveries
from approvals.accounts.sign_in import viewer_of
from approvals.admin.through_services import NeverDeleted, PlainList, ReadOnlyAdmin, register_read_only, values_filter


class NewTokenForm(forms.ModelForm[AgentToken]):
    scopes = forms.MultipleChoiceField(
        label=_("scopes"), choices=Scope.choices, widget=forms.CheckboxSelectMultiple, initial=Scope.usual()
    )

    toolset = forms.ChoiceField(
        label=_("tools in its list"), choices=[(name, name) for name in toolsets.NAMES], required=False
    )

    class Meta:
        model = AgentToken
        fields = ["agent", "scopes", "toolset", "owners", "all_owners", "expires_at"]

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if not cleaned.get("all_owners") and not cleaned.get("owners"):
            self.add_error("owners", _("Choose whom the token serves, or that it serves everyone."))
        return cleaned


@admin.register(AgentToken)
class AgentTokenAdmin(NeverDeleted, PlainList[AgentToken]):
    form = NewTokenForm
    list_display = tuple("prefix agent serves scopes created_by replaces created_at last_used_at state".split())
    list_filter = ["agent", "all_owners", "revoked_at"]
    search_fields = ["prefix", "agent__name", "owners__username"]
    list_select_related = ["agent", "created_by", "replaces", "replaces__agent"]
    autocomplete_fields = ["agent", "owners"]
    actions = ["rotate", "revoke"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[AgentToken]:
        works = Exists(AgentToken.objects.working().filter(pk=OuterRef("pk")))
        return super().get_queryset(request).prefetch_related("owners").annotate(works=works)

    def has_change_permission(self, request: HttpRequest, obj: AgentToken | None = None) -> bool:
        """Refuse: a token is not widened after it was handed out. Make another and revoke this one."""
        return False

    def save_model(self, request: HttpRequest, obj: AgentToken, form: Any, change: bool) -> None:
        issued = auth.issue(created_by=viewer_of(request), **form.cleaned_data)
        obj.__dict__.update(issued.token.__dict__)
        request.issued = issued  # type: ignore[attr-defined]

    def response_add(self, request: HttpRequest, obj: AgentToken, post_url_continue: str | None = None) -> HttpResponse:
        """Return the page with the secret, which no other page shows."""
        return self._secret_page(request, _("New token"), request.issued)  # type: ignore[attr-defined]

    def _secret_page(self, request: HttpRequest, title: object, issued: auth.Issued) -> HttpResponse:
        context = self.admin_site.each_context(request) | {"title": title, "issued": issued, "opts": self.opts}
        response = TemplateResponse(request, "agents/admin_token.html", context)
        add_never_cache_headers(response)
        return response

    @admin.action(description=_("Rotate the selected token…"), permissions=["add"])
    def rotate(self, request: HttpRequest, queryset: QuerySet[AgentToken]) -> HttpResponse | None:
        """Ask how long the old secret stays valid, then show the new one on a page that no other page repeats."""
        chosen = list(queryset.select_related("agent")[:2])
        if len(chosen) != 1:
            messages.error(request, _("Select one token to rotate."))
            return None
        form = RotateForm(request.POST if "grace" in request.POST else None)
        context = self.admin_site.each_context(request) | {"opts": self.opts, "token": chosen[0], "form": form}
        if not form.is_valid():
            context["title"] = _("Rotate a token")
            return TemplateResponse(request, "agents/admin_rotate.html", context)
        try:
            issued = auth.rotate(chosen[0], by=viewer_of(request), until=form.until)
        except auth.NotRotatable:
            messages.error(request, _("This token can’t be rotated: it was replaced, has ended or has no secret."))
            return None
        self.log_change(request, chosen[0], f"rotated: {issued.token.prefix}")
        self.log_addition(request, issued.token, f"replaces {chosen[0].prefix}")
        return self._secret_page(request, _("New secret"), issued)

    @admin.action(description=_("Revoke the selected tokens"), permissions=["add"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[AgentToken]) -> None:
        chosen = list(queryset.filter(revoked_at=None))
        for token in chosen:
            auth.revoke(token)
            self.log_change(request, token, "revoked")
        messages.success(request, _("Revoked: %(number)d.") % {"number": len(chosen)})

    @admin.display(description=_("serves"))
    def serves(self, token: AgentToken) -> StrOrPromise:
        return _("everyone") if token.all_owners else ", ".join(map(str, token.owners.all()))

    @admin.display(description=_("state"))
    def state(self, token: AgentToken) -> StrOrPromise:
        if token.works:  # type: ignore[attr-defined]
            return _("usable")
        if token.is_usable:
            return _("its agent or who made it lost access")
        return _("revoked") if token.revoked_at else _("expired")


register_read_only(
    ToolCall,
    "at agent owner tool target outcome status duration_ms request_id",
    "owner target session_id request_id agent__name",
    list_filter=[
        values_filter("tool", _("tool"), ChainMap[str, Any](TOOLS, ENDPOINTS)),
        values_filter("outcome", _("outcome"), ["ok", *(code.code for code in ErrorCode)]),
        "agent",
        "at",
    ],
    list_select_related=["agent"],
)
register_read_only(
    IdempotencyKey,
    "key token status created_at lease_expires_at",
    "key operation token__prefix",
    list_filter=["created_at"],
    ordering=["-id"],
    list_select_related=["token__agent"],
    exclude=["response"],  # it quotes the memory's text
)


@admin.register(WebhookEndpoint)
class WebhookEndpointAdmin(ReadOnlyAdmin[WebhookEndpoint]):
    """Without secrets, and of addresses the host alone: the rest may contain a secret of the receiver's."""

    list_display = tuple("agent host created_by all_owners state disabled_why last_success_at failing_since".split())
    list_filter = ["state", "disabled_why", "all_owners", "agent"]
    search_fields = ["agent__name", "created_by__username"]  # not the address, of which the list shows the host alone
    list_select_related = ["agent", "created_by"]
    fields = (
        *("agent", "host", "created_by", "all_owners", "events", "state", "disabled_why", "disabled_at"),
        *("created_at", "last_success_at", "last_failure_at", "failing_since"),
    )
    actions = ["disable"]

    @admin.action(description=_("Disable the selected webhooks"), permissions=["view"])
    def disable(self, request: HttpRequest, queryset: QuerySet[WebhookEndpoint]) -> None:
        if not request.user.has_perm("agent_tools.change_webhookendpoint"):
            raise PermissionDenied
        stopped = [each for each in queryset if deliveries.disable(each.pk, why=DisabledWhy.BY_PERSON)]
        for endpoint in stopped:
            self.log_change(request, endpoint, "disabled")
        messages.success(request, _("Disabled: %(number)d.") % {"number": len(stopped)})


@admin.register(WebhookDelivery)
class WebhookDeliveryAdmin(ReadOnlyAdmin[WebhookDelivery]):
    list_display = tuple("created_at endpoint type proposal_id state last tries next_attempt done_at".split())
    list_filter = ["type", "state", "created_at"]
    search_fields = ["message_id", "endpoint__agent__name"]
    list_select_related = ["endpoint", "endpoint__agent"]
    raw_id_fields = ["proposal"]

    @admin.display(description=_("last answer"))
    def last(self, delivery: WebhookDelivery) -> str:
        if not delivery.attempts:
            return ""
        attempt = delivery.attempts[-1]
        said = (attempt["status"], deliveries.ERRORS.get(attempt["error"], attempt["error"]))
        return ": ".join(str(part) for part in said if part)

    @admin.display(description=_("next attempt"), ordering="next_at")
    def next_attempt(self, delivery: WebhookDelivery) -> datetime | None:
        return delivery.next_at if delivery.is_pending else None
