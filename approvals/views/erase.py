"""The page that erases for good what was said of somebody, and says what was erased before."""

from typing import Any

import structlog
from allauth.account.internal.flows.reauthentication import raise_if_reauthentication_required
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _

from approvals.accounts.sign_in import viewer_of
from approvals.permissions import may_erase
from approvals.services import erasing
from approvals.services.errors import Refusal
from approvals.views.block_views import about, readable_owner
from approvals.views.request import Request, form_page
from memory_app import reads
from memory_app.models import TargetKind, TextErasure
from memory_app.reads import RevisionNotFound

log = structlog.get_logger(__name__)

#: Erasures that the page lists.
_MOST = 50


@form_page
def erase(request: Request, owner: str) -> HttpResponse:
    """Erase a block (`?block=`), a note (`?note=`), a version of one (`&version=` a commit), or everything.

    Everything is asked for by the person's username, typed.
    """
    person, viewer = readable_owner(request, owner), viewer_of(request)
    label, note_id, commit = (request.GET.get(name, "") for name in ("block", "note", "version"))
    if not may_erase(viewer, owner) or {"/", "\0"} & {*label, *note_id, *commit}:  # no page has such a name
        raise Http404
    kind, target = (TargetKind.BLOCK, label) if label else (TargetKind.NOTE, note_id) if note_id else ("", "")
    back = reverse(kind or "memory", args=[owner, target] if kind else [owner])
    context: dict[str, Any] = about(request, person) | {
        "kind": kind,
        "target": target,
        "title": reads.title_of(label) if label else "",
        "version": commit if kind else "",
        "back": back,
        "is_partly_plain": erasing.may_be_plain(owner, kind, target),
        "erased": TextErasure.objects.filter(owner=owner)[:_MOST],
        "status": 200,
    }
    if request.method == "POST":
        raise_if_reauthentication_required(request, app="account")
        if not kind and request.POST.get("username", "").strip() != owner:
            context |= {"error": _("Type the username of the person whose memory is to be erased."), "status": 422}
        else:
            try:
                erasing.ask(by=viewer, owner=owner, kind=kind, target=target, commit=context["version"])
            except Refusal as error:
                context |= {"error": error.message, "status": error.status}
            except OSError as refused:
                log.error("not_erased", error=str(refused))
                said = _("This site cannot write down what is erased. An admin has to set ASSENT_ERASED_LIST.")
                context |= {"error": said, "status": 503}
            except RevisionNotFound:
                context |= {"error": _("There is no such version, or it was erased before."), "status": 404}
            else:
                messages.success(request, _("It is being erased, which takes some seconds."))
                return redirect(f"{request.path}#erased")
    return render(request, "memory/erase.html", context, status=context["status"])
