"""`/settings/playground/`: try a tool: see its form, the request, the answer, and what a reviewer will see."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from agent_tools import snippets
from agent_tools import tools as tool_modules  # noqa: F401 - `tools` fills the registry
from agent_tools.auth import tokens
from agent_tools.calls import registry
from agent_tools.calls.api_operation import ApiOperation, Effect
from agent_tools.calls.arguments import (
    Arguments,
    BoundedArguments,
    NoteWriteArguments,
    ProposeArguments,
    WriteArguments,
)
from agent_tools.console import schema_form, tryout
from agent_tools.console.tokens_page import address_of, usable_of
from agent_tools.models import Scope
from approvals.accounts.sign_in import signed_in, typed_before, viewer_of
from approvals.models import Proposal, User
from approvals.review.diff_mode import DiffMode, change_shown
from approvals.review.presentation import review_of
from approvals.views.request import whole_number
from memory_app import reads

#: What all tools of a kind take: drawn behind a tool's own arguments.
_SHARED = frozenset(
    name
    for model in (Arguments, BoundedArguments, WriteArguments, NoteWriteArguments, ProposeArguments)
    for name in model.model_fields
) - {"reasoning"}

_GROUPS = ((Effect.READ_ONLY, gettext_lazy("Read")), (Effect.SIDE_EFFECTING, gettext_lazy("Change")))

#: Waiting proposals of the playground that the page lists.
_MOST_WAITING = 20


@signed_in()
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def playground(request: HttpRequest) -> HttpResponse:
    """Show the form of a tool; run it when it is sent. Nothing is run by following a link."""
    viewer = viewer_of(request)
    if request.method != "POST":
        typed = typed_before(request) or request.GET.dict()
        return _page(request, viewer, _tool(typed) or registry.switched_on(registry.Family.ALL)[0], typed)
    typed = request.POST.dict()
    tool = _tool(typed)
    if tool is None:
        raise Http404
    if (item := typed.get("add", "")) in tool.schema["properties"]:
        return _page(request, viewer, tool, schema_form.with_one_more_row(typed, item), added=item)
    if "correct" in typed:
        typed = schema_form.corrected(tool.schema, typed, typed["correct"])
        return _page(request, viewer, tool, typed, problem=_("The corrected call is filled in. Nothing was sent yet."))
    fields = _fields(tool, typed)
    if unreadable := schema_form.names_of_unreadable(fields):
        said = _("This is not JSON: %(names)s. Nothing was sent.") % {"names": ", ".join(unreadable)}
        return _page(request, viewer, tool, typed, problem=said, status=422)
    arguments = schema_form.arguments_of(tool.schema, typed)
    if "show" in typed:
        return _page(request, viewer, tool, typed, arguments=arguments)
    try:
        if withdrawn := whole_number(typed.get("withdraw", "")):
            tried = tryout.run(viewer, _withdraw(), {"proposal_id": withdrawn}, [Scope.MEMORY_PROPOSE])
            return _page(request, viewer, tool, typed, tried=tried)
        tried = tryout.run(viewer, tool, arguments, _scopes(typed))
    except tryout.PlaygroundDeactivated:
        said = _("An admin deactivated your playground. Nothing was sent.")
        return _page(request, viewer, tool, typed, problem=said, status=422)
    return _page(request, viewer, tool, typed, arguments=arguments, tried=tried)


def _page(
    request: HttpRequest,
    viewer: User,
    tool: ApiOperation[Any],
    typed: Mapping[str, str],
    *,
    arguments: Mapping[str, Any] | None = None,
    tried: tryout.Tried | None = None,
    problem: str = "",
    added: str = "",
    status: int = 200,
) -> HttpResponse:
    """Render the page.

    Args:
        added: the argument that got one more item, which gets the focus.
        arguments: of the request that was made, or is to be shown.
        problem: why nothing was sent.
    """
    fields = _fields(tool, typed)
    shared = [field for field in fields if field.is_shared]
    scopes = _scopes(typed) if request.method == "POST" or _has_scopes(typed) else _scopes_like(viewer, typed)
    context: dict[str, Any] = {
        "section": "settings",
        "tool": tool,
        "is_write": tool.effect is Effect.SIDE_EFFECTING,
        "groups": [
            (label, [each for each in registry.switched_on(registry.Family.ALL) if each.effect is effect])
            for effect, label in _GROUPS
        ],
        "fields": [field for field in fields if not field.is_shared],
        "shared": shared,
        "shared_is_open": any(field.is_filled or field.error or field.label == added for field in shared),
        "scopes": [(scope, scope in scopes) for scope in Scope],
        "block_labels": [block.label for block in reads.blocks(viewer.username)],
        "problem": problem,
        "added": added,
        "tried": tried,
        **_requested(request, tool, arguments),
        **_proposals(viewer, tried),
    }
    return render(request, "agents/playground.html", context, status=status)


def _tool(typed: Mapping[str, str]) -> ApiOperation[Any] | None:
    name = typed.get("tool", "")
    return next((tool for tool in registry.switched_on(registry.Family.ALL) if tool.name == name), None)


def _withdraw() -> ApiOperation[Any]:
    return registry.TOOLS["withdraw_proposal"]


def _fields(tool: ApiOperation[Any], typed: Mapping[str, str]) -> tuple[schema_form.FormField, ...]:
    return schema_form.fields_of(tool.schema, typed, shared=_SHARED)


def _has_scopes(typed: Mapping[str, str]) -> bool:
    return any(name.startswith("scope-") for name in typed)


def _scopes(typed: Mapping[str, str]) -> set[Scope]:
    return {scope for scope in Scope if f"scope-{scope.value}" in typed}


def _scopes_like(viewer: User, typed: Mapping[str, str]) -> set[Scope]:
    """Return the scopes of the viewer's token that the address names; else those that save nothing unseen."""
    like = usable_of(viewer).filter(pk=whole_number(typed.get("as", "")) or 0, is_playground=False).first()
    return {Scope(scope) for scope in like.scopes} if like else {Scope.MEMORY_READ, Scope.MEMORY_PROPOSE}


def _requested(request: HttpRequest, tool: ApiOperation[Any], arguments: Mapping[str, Any] | None) -> dict[str, Any]:
    if arguments is None:
        return {}
    call = snippets.playground_call(address_of(request), tool.name, arguments)
    return {"json_request": tryout.as_json(arguments), "curl": tryout.escaped(call)}


def _proposals(viewer: User, tried: tryout.Tried | None) -> dict[str, Any]:
    """Return the proposal that an answer is about, as a reviewer will see it, and those that wait."""
    token = tokens.find_playground(viewer)
    if token is None:
        return {}
    mine = Proposal.objects.of_owner(viewer.username).by_agent(token.agent).select_related("agent")
    found: dict[str, Any] = {"waiting_here": mine.decidable().order_by("-pk")[:_MOST_WAITING]}
    proposal = mine.filter(pk=tried.proposal_id).first() if tried and tried.proposal_id else None
    if proposal is None:
        return found
    review = review_of(proposal, viewer)
    return found | {
        "proposal": proposal,
        "review": review,
        "change": None if review.note_count else change_shown(review, DiffMode.INLINE),
        "page_url": reverse("proposal", args=[proposal.pk]),
        "page_query": QueryDict(),
    }
