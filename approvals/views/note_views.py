"""Reading notes: the list, one note now and earlier with its history; what policy applied.

Changing them is `note_forms`. A viewer who may not read an owner's memory gets the answer of a page that is not there.
"""

from __future__ import annotations

from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from approvals.accounts.sign_in import viewer_of
from approvals.models import User
from approvals.pages import note_history, notes_page
from approvals.pages.blocks import NOW, undoable
from approvals.pages.notes_page import SORTS, SOURCE_NAMES, TYPE_NAMES, NoteFilters
from approvals.permissions import ReviewAction, available_actions
from approvals.services.bulk_notes import MOST_NOTES
from approvals.views.block_views import about, readable_owner
from approvals.views.request import reading_page, whole_number
from memory_app import reads, recall_counts
from memory_app.dolt.errors import RevisionNotFound
from memory_app.models import Change


@reading_page
def notes(request: HttpRequest, owner: str) -> HttpResponse:
    """Show the notes of an owner, fifty a page, narrowed by the address."""
    person = readable_owner(request, owner)
    filters = NoteFilters.from_query(request.GET.dict())
    found = notes_page.page_of(owner, filters, whole_number(request.GET.get("page", "")) or 1)
    waiting = notes_page.waiting_notes(owner)
    context = {
        **about_notes(request, person),
        "filters": filters,
        "filter_count": sum(1 for name in filters.active if name != "q"),
        **found,
        "sorts": SORTS.items(),
        "most_at_once": MOST_NOTES,
        "waiting_notes": waiting[: notes_page.MOST_WAITING],
        "waiting_count": len(waiting),
        "address": "?" + urlencode(filters.parameters | {"page": ""}),
    }
    return render(request, "notes/notes.html", context)


@reading_page
def note(request: HttpRequest, owner: str, note_id: str) -> HttpResponse:
    """Show one note, as it is or (`?as_of=`) as it was, and everything that happened to it."""
    person = readable_owner(request, owner)
    as_of = request.GET.get("as_of", "").strip()
    as_of = "" if as_of == NOW else as_of
    before = request.GET.get("before", "")
    try:
        if as_of:
            shown, commit, at = note_history.note_version(owner, note_id, as_of)
        else:
            shown, commit, at = reads.find_note(owner, note_id), "", None
    except RevisionNotFound:
        context = {**about_notes(request, person), "note_id": note_id, "revision": as_of}
        return render(request, "notes/unknown_revision.html", context, status=404)
    steps, older = note_history.steps(owner, note_id, before=whole_number(before, digits=17))
    if shown is None and not steps:
        raise Http404
    last = steps[0].entry if steps and not before else None
    applied = last.proposal if last and last.change.action == Change.Action.APPLIED else None
    context = {
        **about_notes(request, person),
        "note_id": note_id,
        "note": shown,
        "commit": commit,
        "at": at,
        "says_all": shown is not None and note_history.fits_a_heading(shown),
        "as_of": as_of,
        "steps": steps,
        "undoable": undoable((step.entry for step in steps), viewer_of(request)),
        "is_first_page": not before,
        "older": urlencode({"before": older}) if older else "",
        "applied": applied if not as_of else None,
        "may_revert": applied is not None and ReviewAction.UNDO in available_actions(viewer_of(request), applied),
        "pending": notes_page.waiting_notes(owner, note_id) if not as_of else (),
        "last_text": next((step.before for step in steps if step.before), None) if shown is None else None,
        "type_name": TYPE_NAMES.get(shown.type, shown.type) if shown else "",
        "source_name": SOURCE_NAMES.get(shown.source, shown.source) if shown else "",
        "recalled": recall_counts.for_owner(owner, [note_id]).get(note_id) if not as_of else None,
        "replacement": reads.find_note(owner, shown.superseded_by) if shown and shown.superseded_by else None,
    }
    return render(request, "notes/note.html", context, status=410 if shown is None else 200)


@reading_page
def automatic(request: HttpRequest, owner: str) -> HttpResponse:
    """Show everything policy applied without asking a person, with what it changed and the button to revert it."""
    person = readable_owner(request, owner)
    number = whole_number(request.GET.get("page", "")) or 1
    page, changes = notes_page.automatic_page(owner, viewer_of(request), number)
    context = {**about_notes(request, person), "tab": "automatic", "page": page, "changes": changes}
    return render(request, "notes/automatic.html", context)


def about_notes(request: HttpRequest, person: User) -> dict[str, object]:
    return {**about(request, person), "tab": "notes"}
