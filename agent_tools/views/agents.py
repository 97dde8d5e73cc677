"""`/settings/agents/`: which agents serve me, a token for my own memory, taking one back."""

from __future__ import annotations

import secrets
from typing import Any

from django.contrib import messages
from django.db import IntegrityError, transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from agent_tools.auth import tokens
from agent_tools.forms import TokenForm
from agent_tools.models import AgentToken, Scope
from approvals.accounts.sign_in import signed_in
from approvals.accounts.viewer import viewer_of
from approvals.models import User

#: Where the session keeps which forms have made their token.
_USED = "token_forms_used"


@signed_in()
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def agents(request: HttpRequest) -> HttpResponse:
    """Show the tokens that serve this person, and make one.

    A new secret is in the answer to the POST only: not in the session, not behind an address.
    """
    viewer = viewer_of(request)
    if request.method == "POST":
        form = TokenForm(request.POST, owner=viewer)
        nonce = request.POST.get("nonce", "")[:64]
        used = request.session.get(_USED, [])
        if nonce in used:  # the page with the secret was loaded again: one press, one token
            messages.info(
                request, _("That token has already been created. Its secret was shown once and is not stored.")
            )
            return redirect("agents")
        if form.is_valid() and form.agent is not None:
            try:
                with transaction.atomic():
                    form.agent.save()
            except IntegrityError:  # made by another request since the form was checked
                form.add_error("name", _("An agent of this name was just created. Create the token again."))
                return _page(request, viewer, form, status=422)
            if nonce:
                request.session[_USED] = [*used, nonce][-20:]
            issued = tokens.issue(
                agent=form.agent,
                scopes=form.cleaned_data["scopes"],
                owners=[viewer],
                created_by=viewer,
                expires_at=form.expires_at,
            )
            return _page(request, viewer, TokenForm(owner=viewer), issued=issued, curl=_curl(request, issued))
        return _page(request, viewer, form, status=422)
    return _page(request, viewer, TokenForm(owner=viewer))


@signed_in(return_to=lambda pk: reverse("agents"))
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def revoke(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask, then end a token; one that serves others too only stops serving this person."""
    viewer = viewer_of(request)
    token = AgentToken.objects.usable().filter(owners=viewer, all_owners=False, pk=pk).select_related("agent").first()
    if token is None:
        raise Http404
    if request.method == "POST":
        tokens.stop_serving(token, viewer)
        messages.success(
            request,
            _("The token %(prefix)s… of %(agent)s no longer opens your memory.")
            % {"prefix": token.prefix, "agent": token.agent.name},
        )
        return redirect("agents")
    return render(request, "agents/revoke.html", {"section": "settings", "token": token})


def _page(request: HttpRequest, viewer: User, form: TokenForm, *, status: int = 200, **more: Any) -> HttpResponse:
    serving = AgentToken.objects.serving(viewer.username).select_related("agent", "created_by")
    usable = serving.usable().filter(agent__is_active=True)
    context = {
        "section": "settings",
        "form": form,
        "nonce": secrets.token_hex(8),
        "tokens": usable,
        "ended": serving.exclude(pk__in=usable.values("pk"))[:20],
        **more,
    }
    return render(request, "agents/agents.html", context, status=status)


def _curl(request: HttpRequest, issued: tokens.Issued) -> str:
    """Return a first call that works with this token, for a shell."""
    lines = [f'-H "Authorization: Bearer {issued.secret}"']
    if Scope.MEMORY_READ.value in issued.token.scopes:
        url = request.build_absolute_uri(reverse("api_tool", args=["list_memory_blocks"]))
        lines += ['-H "Content-Type: application/json"', "-d '{}'"]
    else:
        url = request.build_absolute_uri(reverse("api_tools"))
    return " \\\n  ".join([f"curl -s {url}", *lines])
