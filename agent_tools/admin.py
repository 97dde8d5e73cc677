"""Tokens, tool calls and idempotency keys in the admin. Everything but making and revoking is read-only."""

from __future__ import annotations

from collections import ChainMap
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext_lazy as _

from agent_tools.auth import tokens
from agent_tools.calls.registry import ENDPOINTS, TOOLS
from agent_tools.errors import ErrorCode
from agent_tools.models import AgentToken, IdempotencyKey, Scope, ToolCall
from approvals.admin.read_only import ReadOnlyAdmin, values_filter
from approvals.models import User


class NewTokenForm(forms.ModelForm[AgentToken]):
    scopes = forms.MultipleChoiceField(
        label=_("scopes"), choices=Scope.choices, widget=forms.CheckboxSelectMultiple, initial=Scope.usual()
    )

    class Meta:
        model = AgentToken
        fields = ["agent", "scopes", "owners", "all_owners", "expires_at"]

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if not cleaned.get("all_owners") and not cleaned.get("owners"):
            self.add_error("owners", _("Choose whom the token serves, or that it serves everyone."))
        return cleaned


@admin.register(AgentToken)
class AgentTokenAdmin(admin.ModelAdmin[AgentToken]):
    form = NewTokenForm
    list_display = ["prefix", "agent", "serves", "scopes", "created_by", "created_at", "last_used_at", "state"]
    list_filter = ["agent", "all_owners", "revoked_at"]
    search_fields = ["prefix", "agent__name", "owners__username"]
    list_select_related = ["agent", "created_by"]
    filter_horizontal = ["owners"]
    actions = ["revoke"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[AgentToken]:
        return super().get_queryset(request).prefetch_related("owners")

    def has_change_permission(self, request: HttpRequest, obj: AgentToken | None = None) -> bool:
        """Refuse: a token is not widened after it was handed out. Make another and revoke this one."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: AgentToken | None = None) -> bool:
        """Refuse: revoked tokens stay, since tool calls name them."""
        return False

    def save_model(self, request: HttpRequest, obj: AgentToken, form: Any, change: bool) -> None:
        assert isinstance(request.user, User)
        issued = tokens.issue(
            agent=obj.agent,
            scopes=form.cleaned_data["scopes"],
            owners=form.cleaned_data["owners"],
            all_owners=obj.all_owners,
            created_by=request.user,
            expires_at=obj.expires_at,
        )
        obj.__dict__.update(issued.token.__dict__)
        request.issued = issued  # type: ignore[attr-defined]

    def response_add(self, request: HttpRequest, obj: AgentToken, post_url_continue: str | None = None) -> HttpResponse:
        """Return the page with the secret, which no other page shows."""
        context = self.admin_site.each_context(request) | {
            "title": _("New token"),
            "issued": request.issued,  # type: ignore[attr-defined]
            "opts": self.opts,
        }
        response = TemplateResponse(request, "agents/admin_token.html", context)
        add_never_cache_headers(response)
        return response

    @admin.action(description=_("Revoke the selected tokens"), permissions=["add"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[AgentToken]) -> None:
        chosen = list(queryset.filter(revoked_at=None))
        for token in chosen:
            tokens.revoke(token)
            self.log_change(request, token, "revoked")
        messages.success(request, _("Revoked: %(number)d.") % {"number": len(chosen)})

    @admin.display(description=_("serves"))
    def serves(self, token: AgentToken) -> str:
        if token.all_owners:
            return str(_("everyone"))
        return ", ".join(owner.username for owner in token.owners.all())

    @admin.display(description=_("state"))
    def state(self, token: AgentToken) -> str:
        if token.revoked_at:
            return str(_("revoked"))
        return str(_("usable") if token.is_usable else _("expired"))


@admin.register(ToolCall)
class ToolCallAdmin(ReadOnlyAdmin[ToolCall]):
    list_display = ["at", "agent", "owner", "tool", "target", "outcome", "status", "duration_ms", "request_id"]
    list_filter = [
        values_filter("tool", _("tool"), ChainMap[str, Any](TOOLS, ENDPOINTS)),
        values_filter("outcome", _("outcome"), ["ok", *(code.code for code in ErrorCode)]),
        "agent",
        "at",
    ]
    search_fields = ["owner", "target", "session_id", "request_id", "agent__name"]
    list_select_related = ["agent"]


@admin.register(IdempotencyKey)
class IdempotencyKeyAdmin(ReadOnlyAdmin[IdempotencyKey]):
    list_display = ["key", "token", "status", "created_at", "lease_expires_at"]
    list_filter = ["created_at"]
    ordering = ["-id"]
    search_fields = ["key", "operation", "token__prefix"]
    list_select_related = ["token", "token__agent"]
    # The answer kept with a key quotes the memory's text.
    exclude = ["response"]
