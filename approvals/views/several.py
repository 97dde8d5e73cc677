"""Several proposals decided at once: the press, how far it is and what became of each, one Undo; and the same change
for several people, decided on one page."""

from collections import Counter
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from django.contrib import messages
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django_htmx.http import retarget

from approvals import services
from approvals.accounts.sign_in import display_names, local_path, viewer_of
from approvals.forms.proposal import SeveralForm, is_tick, ticked
from approvals.models import Batch, BatchAction, Mergeability, Proposal, Status
from approvals.pages.inbox import listed, order_of
from approvals.pages.inbox_filters import InboxFilters, Listing, Tab
from approvals.pages.inbox_rows import alike_to, one_for_many
from approvals.permissions import proposals_visible_to
from approvals.review.diff_mode import DiffMode, change_shown
from approvals.review.presentation import review_of
from approvals.services.errors import Refusal
from approvals.views.panels import Panel
from approvals.views.proposal import proposal_or_404
from approvals.views.request import Request, reading_page, verb

#: Seconds that the press itself works on a batch: most are done by then. The rest is done in the background.
IN_REQUEST = 3.0
#: Batches named beside what was decided; all are kept for a month.
_LISTED = 5


@verb(lambda: reverse("inbox"))
def several(request: Request) -> HttpResponse:
    """Approve or reject what is ticked. Where nothing was decided say why; the ticks and what was typed stay where they
    are, or come back on a page."""
    form, items, problem = SeveralForm(request.POST), ticked(request.POST.dict()), ""
    if items and form.is_valid():
        try:
            outcome = services.decide_several(
                actor=viewer_of(request), items=items, seconds=IN_REQUEST, **form.cleaned_data
            )
        except Refusal as error:
            problem = error.message
        else:
            return _to_outcome(request, outcome.kept)
    problem = problem or " ".join(str(error) for errors in form.errors.values() for error in errors)
    panel = Panel(_("Nothing was decided."), problem)
    if not items:
        panel = Panel(_("Nothing is selected."), _("Tick the proposals that are meant first."))
    if request.htmx:
        return retarget(render(request, "inbox/several_panel.html", {"panel": panel}, status=422), "#several-outcome")
    context = {
        "panel": panel,
        "form": form,
        "number": len(items),
        "items": [(name, value) for name, value in request.POST.items() if is_tick(name)],
        "row_url": local_path(request, request.POST.get("row", ""), reverse("inbox")),
    }
    return render(request, "inbox/several_again.html", context, status=422)


@verb(lambda batch: reverse("batch", args=[batch]))
def undo_several(request: Request, batch: str) -> HttpResponse:
    """Undo every decision of a batch."""
    try:
        undone = services.undo_several(actor=viewer_of(request), batch=batch, seconds=IN_REQUEST)
    except Batch.DoesNotExist:
        raise Http404 from None
    except Refusal as error:
        messages.error(request, error.message)
        return redirect("batch", batch)
    return _to_outcome(request, undone.kept)


@verb(lambda batch: reverse("inbox"))
def dismiss_batch(request: Request, batch: str) -> HttpResponse:
    """Take the line about a batch off the list; its page stays."""
    services.dismiss_batch(actor=viewer_of(request), batch=batch)
    return redirect(local_path(request, request.POST.get("row", ""), reverse("inbox")))


@reading_page
def batch(request: Request, batch: str) -> HttpResponse:
    """Show how far a batch is, and what became of each; alone, as it is asked for again while it runs."""
    kept = get_object_or_404(Batch, pk=batch, person=viewer_of(request))
    row_url = local_path(request, request.GET.get("row", ""), "")
    template = "inbox/batch.html" if request.htmx else "inbox/batch_page.html"
    return render(request, template, outcome_context(kept) | {"row_url": row_url, "is_asked_again": request.htmx})


def _to_outcome(request: Request, kept: Batch) -> HttpResponse:
    """Lead back to the list that the form was sent from, which names the outcome first; or to the page of it."""
    row_url = local_path(request, request.POST.get("row", ""), "")
    if not row_url:
        return redirect("batch", kept.pk)
    parts = urlsplit(row_url)
    query = QueryDict(parts.query, mutable=True)
    query.pop("ticked", None)
    query["batch"] = kept.pk
    return redirect(f"{parts.path}?{query.urlencode()}")


def batches_shown(request: Request, tab: Tab) -> dict[str, Any]:
    """Return what the list says of the viewer's last batch, for two days or until it is dismissed: in a line, and in
    full where it was just decided; and beside what was decided, their last ones."""
    viewer = viewer_of(request)
    own = Batch.objects.filter(person=viewer)
    shown: dict[str, Any] = {"batches": own[:_LISTED]} if tab is Tab.DECIDED else {}
    if not viewer.last_batch:
        return shown
    kept = own.filter(created_at__gt=timezone.now() - services.SHOWN_FOR, pk=viewer.last_batch).first()
    is_new = kept is not None and request.GET.get("batch") == kept.pk
    return shown | (outcome_context(kept) if kept and is_new else {"kept": kept})


def outcome_context(kept: Batch) -> dict[str, Any]:
    """Return what the outcome of a batch needs to name what was left, and what no longer fits by it."""
    outcome = services.outcome_of(kept)
    owners = {result.proposal.owner for result in outcome.results if result.proposal}
    return {
        "kept": kept,
        "outcome": outcome,
        "names": display_names(owners),
        "several_owners": len(owners) > 1,
        "fell_out": _fell_out(outcome) if kept.action == BatchAction.APPROVE else [],
    }


def _fell_out(outcome: services.BatchOutcome) -> list[dict[str, Any]]:
    """Return how many proposals of each agent no longer fit since a batch was approved, with the list of them."""
    done = [result.proposal for result in outcome.done if result.proposal]
    targets = {(each.owner, each.target_kind, each.target) for each in done}
    decided = [pk for pk, *_seen in outcome.kept.items]
    since = Proposal.objects.open().filter(
        mergeability=Mergeability.CONFLICT,
        updated_at__gte=outcome.kept.created_at,
        owner__in={owner for owner, *_target in targets},
    )
    told = since.exclude(pk__in=decided).values_list("agent__name", "owner", "target_kind", "target")
    found = Counter(agent for agent, *target in told if tuple(target) in targets)
    return [
        {"agent": agent, "number": number, "url": Listing(filters=InboxFilters(agent=agent, state="conflict")).url}
        for agent, number in sorted(found.items())
    ]


@reading_page
def together(request: Request, pk: int) -> HttpResponse:
    """Show the same change for several people once, and each of them with what is different and a tick."""
    user = viewer_of(request)
    found = proposal_or_404(pk, user)
    listing = Listing.parse(request.GET.get("list", ""))
    if found.status != Status.OPEN:
        return redirect(found)
    waiting = listed(proposals_visible_to(user), replace(listing, tab=Tab.YOURS), user)
    pks = alike_to(found, waiting, order_of(Tab.YOURS, listing.sort))
    known = Proposal.objects.select_related("agent").in_bulk(pks)
    if len(known) < 2:
        return redirect(found)
    drawn, parts = one_for_many(known[each] for each in pks if each in known)
    review, names = review_of(drawn, user), display_names({each.proposal.owner for each in parts})
    context = {
        "review": review,
        "proposal": drawn,
        "change": None if review.note_count else change_shown(review, DiffMode.INLINE),
        "page_url": drawn.get_absolute_url(),
        "page_query": request.GET,
        "parts": sorted(parts, key=lambda each: (not each.is_chosen, names.get(each.proposal.owner, "").casefold())),
        "chosen": sum(each.is_chosen for each in parts),
        "left": sum(not each.is_chosen for each in parts),
        "names": names,
        "listing": listing,
        "list_query": listing.query,
        "row_url": listing.url,
    }
    return render(request, "inbox/together.html", context)
