"""`/agents/`: agents and what became of their proposals; tokens for the viewer's own memory, made, rotated, revoked."""

from functools import partial
from typing import Any

from django.contrib import messages
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache

from agent_tools import auth, snippets
from agent_tools.forms import RotateForm, TokenForm, mark_used, new_nonce, was_used
from agent_tools.models import AgentToken, AgentTokenQuerySet
from approvals.accounts.sign_in import viewer_of
from approvals.models import User
from approvals.statistics import agents as agents_statistics
from approvals.views.request import form_page


def usable_of(viewer: User) -> AgentTokenQuerySet:
    """Return the tokens that open this person's memory now."""
    return AgentToken.objects.serving(viewer.username).working()


def rows_of(viewer: User, *, agent_id: int | None = None) -> list[dict[str, Any]]:
    """Return the tokens that open this person's memory now, newest first; of one agent where it is named."""
    found = usable_of(viewer).select_related("agent", "created_by", "replaced_by").prefetch_related("owners")
    if agent_id is not None:
        found = found.filter(agent=agent_id)
    families: dict[int, list[AgentToken]] = {}
    for token in found:
        families.setdefault(token.original_id, []).append(token)
    return [_row(family, viewer) for family in families.values()]


def _row(family: list[AgentToken], viewer: User) -> dict[str, Any]:
    """Return a token as the pages show it, with those it replaced that still work, the newest first."""
    newest, *replaced = sorted(family, key=lambda token: token.pk, reverse=True)
    old = []
    for token in replaced:
        at, used_at = token.replaced_by.created_at, token.last_used_at
        # Uses are noted once a minute.
        old.append({"token": token, "replaced_at": at, "is_in_use": used_at is not None and used_at > at})
    return {
        "token": newest,
        "old": old,
        "may_rotate": auth.may_rotate(newest, viewer),
        "is_by_admin": newest.created_by_id != viewer.pk and not newest.all_owners,
        "is_shared": len(newest.owners.all()) > 1,  # with others, too; not told with whom
    }


@form_page
@never_cache
def agents(request: HttpRequest) -> HttpResponse:
    """Show the tokens that serve this person, and make one.

    A new secret is in the answer to the POST only: not in the session, not behind an address.
    """
    viewer = viewer_of(request)
    if request.method != "POST":
        return tokens_page(request, viewer)
    form = TokenForm(request.POST, owner=viewer)
    if _has_made_its_token(request):
        return redirect("agents")
    if not form.is_valid() or form.agent is None:
        return tokens_page(request, viewer, form, status=422)
    try:
        with transaction.atomic():
            form.agent.save()
    except IntegrityError:  # made by another request since the form was checked
        form.add_error("name", _("An agent of this name was just created. Create the token again."))
        return tokens_page(request, viewer, form, status=422)
    mark_used(request)
    given = {name: form.cleaned_data[name] for name in ("scopes", "toolset")}
    made = auth.issue(agent=form.agent, owners=[viewer], created_by=viewer, expires_at=form.expires_at, **given)
    return tokens_page(request, viewer, issued=made)


@partial(form_page, return_to=lambda pk: reverse("agents"))
@never_cache
def revoke(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask, then end a token; one that serves others too only stops serving this person."""
    viewer = viewer_of(request)
    serving_me = AgentToken.objects.usable().filter(owners=viewer, all_owners=False).select_related("agent")
    token = get_object_or_404(serving_me, pk=pk)
    family = Q(first=token.original_id) | Q(pk=token.original_id)
    old = list(serving_me.filter(family, pk__lt=token.pk))
    if request.method != "POST":
        context = {"section": "agents", "token": token, "old": old}
        return render(request, "agents/revoke.html", context)
    ended = [token, *(old if "old" in request.POST else [])]
    for each in ended:
        auth.stop_serving(each, viewer)
    messages.success(
        request,
        _("The token %(prefix)s… of %(agent)s no longer opens your memory.")
        % {"prefix": "…, ".join(each.prefix for each in ended), "agent": token.agent.name},
    )
    return redirect("agents")


def _has_made_its_token(request: HttpRequest) -> bool:
    """Whether this form has made its token: the page with the secret was loaded again. One press, one token."""
    told = _("That token has already been created. Its secret was shown once and is not stored.")
    return was_used(request, told)


def tokens_page(
    request: HttpRequest,
    viewer: User,
    form: TokenForm | None = None,
    *,
    issued: auth.Issued | None = None,
    old: AgentToken | None = None,
    status: int = 200,
) -> HttpResponse:
    """Render the page.

    Args:
        form: as it was refused.
        issued: the token that was made by this request, with its secret.
        old: the one it replaces.
    """
    serving = AgentToken.objects.serving(viewer.username).select_related("agent")
    owners, counted = agents_statistics.narrowed(request)
    rows = rows_of(viewer)
    own = [row for row in rows if not row["token"].all_owners]
    names = [row["token"].agent.name for row in own] if counted["owner"] in ("", viewer.username) else []
    context: dict[str, Any] = {
        **counted,
        "agents": agents_statistics.agents_of(owners, counted["began"], others=names),
        "form": form or TokenForm(owner=viewer),
        "nonce": new_nonce(),
        "own": own,
        "admins": [row for row in rows if row["token"].all_owners],
        "ended": serving.exclude(pk__in=usable_of(viewer).values("pk"))[:20],
        "issued": issued,
        "old": old,
        # What to type to connect: with the new secret, or with the variable it belongs into.
        "ways": snippets.ways(request.build_absolute_uri("/").rstrip("/"), issued.secret if issued else "asn_…"),
    }
    return render(request, "agents/agents.html", context, status=status)


@partial(form_page, return_to=lambda pk: reverse("agents"))
@never_cache
def rotate(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask how long the old secret stays valid, then show the new one, in the answer to the POST only."""
    viewer = viewer_of(request)
    found = get_object_or_404(usable_of(viewer).select_related("agent", "replaced_by"), pk=pk)
    if request.method == "POST" and _has_made_its_token(request):
        return redirect("agents")
    if not auth.may_rotate(found, viewer):
        messages.warning(request, _("This token can’t be rotated here. It was rotated before, or an admin created it."))
        return redirect("agents")
    form = RotateForm(request.POST if request.method == "POST" else None)
    if not form.is_valid():
        context = {"section": "agents", "token": found, "form": form, "nonce": new_nonce()}
        return render(request, "agents/rotate.html", context, status=422 if form.is_bound else 200)
    try:
        issued = auth.rotate(found, by=viewer, until=form.until)
    except auth.NotRotatable:  # by another request since it was looked up
        messages.warning(request, _("This token was just rotated or revoked elsewhere."))
        return redirect("agents")
    mark_used(request)
    found.refresh_from_db()
    return tokens_page(request, viewer, issued=issued, old=found)
