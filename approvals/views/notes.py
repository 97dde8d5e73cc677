"""The pages of notes: the list, one note with its history, and its owner's changes to it.

Whoever may not read an owner's memory is told that there is none; only owners write here, each time as a
commit in their name. Nothing typed is lost: a refusal shows the form again as it was sent.
"""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from approvals import note_pages
from approvals.forms_memory import REFUSALS
from approvals.forms_notes import NoteForm, RemoveNoteForm, SupersedeNoteForm, add_note_refusal
from approvals.memory_pages import NOW
from approvals.models import Kind, User
from approvals.note_pages import SOURCE_NAMES, TYPE_NAMES, NoteFilters
from approvals.permissions import Action, available_actions
from approvals.services import notes as services
from approvals.services.errors import DecisionRefused, NoChange, NotesChanged, ProposalNotFound
from approvals.services.notes import By, NoteChange
from approvals.views.auth import kept_fields, local_path, signed_in
from approvals.views.editing import own_memory
from approvals.views.memory import readable_owner
from approvals.views.request import whole_number
from approvals.views.viewer import viewer_of
from memory_app import recall
from memory_app.dolt.errors import EngineUnavailable, OutcomeUnknown, RevisionNotFound
from memory_app.models import Change
from memory_app.recall import Note, NoteNotFound


@signed_in()
@require_safe
def notes(request: HttpRequest, owner: str) -> HttpResponse:
    """The notes of an owner, fifty a page, narrowed by the address."""
    person = readable_owner(request, owner)
    filters = NoteFilters.from_query(request.GET.dict())
    number = whole_number(request.GET.get("page", ""))
    page_wanted = 1 if number is None else number
    page = note_pages.listed(owner, filters, page_wanted)
    waiting = note_pages.waiting_notes(owner)
    context = {
        **_about(request, person),
        "filters": filters,
        "filter_count": sum(1 for name in filters.active if name != "q"),
        "page": page,
        "types": [(name, TYPE_NAMES[name]) for name in page.types],
        "sources": [(name, SOURCE_NAMES[name]) for name in page.sources],
        "waiting_notes": waiting[: note_pages.AUTOMATIC_CHANGES],
        "waiting_count": len(waiting),
        "newer": _page_url(filters, page.number - 1) if page.number > 1 else "",
        "older": _page_url(filters, page.number + 1) if page.number < page.pages else "",
    }
    return render(request, "notes/notes.html", context)


@signed_in()
@require_safe
def note(request: HttpRequest, owner: str, note_id: str) -> HttpResponse:
    """One note, as it is or (`?as_of=`) as it was, and everything that happened to it."""
    person = readable_owner(request, owner)
    as_of = request.GET.get("as_of", "").strip()
    before = request.GET.get("before", "")
    try:
        shown = note_pages.note_version(owner, note_id, as_of or NOW)
    except RevisionNotFound:
        context = {**_about(request, person), "note_id": note_id, "revision": as_of}
        return render(request, "notes/unknown_revision.html", context, status=404)
    steps, older = note_pages.steps(owner, note_id, before=whole_number(before, digits=17))
    if shown.note is None and not steps:
        raise Http404
    last = steps[0].entry if steps and not before else None
    applied = last.proposal if last and last.change.action == Change.Action.APPLIED else None
    context = {
        **_about(request, person),
        "note_id": note_id,
        "shown": shown,
        "note": shown.note,
        "as_of": as_of,
        "steps": steps,
        "is_first_page": not before,
        "older": urlencode({"before": older}) if older else "",
        "applied": applied if shown.is_now else None,
        "may_revert": applied is not None and Action.REVERT in available_actions(viewer_of(request), applied),
        "pending": note_pages.waiting_notes(owner, note_id) if shown.is_now else (),
        "last_text": next((step.before for step in steps if step.before), None) if shown.note is None else None,
        "type_name": TYPE_NAMES.get(shown.note.type, shown.note.type) if shown.note else "",
        "source_name": SOURCE_NAMES.get(shown.note.source, shown.note.source) if shown.note else "",
        "replacement": recall.find_note(owner, shown.note.superseded_by)
        if shown.note and shown.note.superseded_by
        else None,
    }
    return render(request, "notes/note.html", context, status=410 if shown.note is None else 200)


@signed_in()
@transaction.non_atomic_requests
@require_http_methods(["GET", "HEAD", "POST"])
def note_new(request: HttpRequest, owner: str) -> HttpResponse:
    """Write a note. `?from=` an id and `?as_of=` a commit bring back the text of a deleted one."""
    person = own_memory(request, owner)
    if request.method != "POST":
        form = NoteForm(initial=kept_fields(request) or _brought_back(request, owner))
        return _form_page(request, person, form)
    form = NoteForm(request.POST)
    if not form.is_valid():
        return _form_page(request, person, form, status=422)
    by = By(actor=person, reasoning=form.cleaned_data["comment"])
    try:
        made = services.save(by=by, owner=owner, **form.fields_of_note(None))
    except REFUSALS as error:
        return _form_page(request, person, form, status=add_note_refusal(form, error))
    messages.success(request, _("The note is part of your memory now."))
    return redirect("note", owner=owner, note_id=made.note_id)


@signed_in()
@transaction.non_atomic_requests
@require_http_methods(["GET", "HEAD", "POST"])
def note_edit(request: HttpRequest, owner: str, note_id: str) -> HttpResponse:
    """Change a note."""
    person = own_memory(request, owner)
    current = recall.find_note(owner, note_id)
    if current is None:
        return redirect("note", owner=owner, note_id=note_id)
    if request.method != "POST":
        form = NoteForm(initial=kept_fields(request) or NoteForm.initial_of(current))
        return _form_page(request, person, form, current)
    form = NoteForm(request.POST)
    if not form.is_valid():
        return _form_page(request, person, form, current, status=422)
    try:
        _require_as_seen(current, form)
        by = By(actor=person, reasoning=form.cleaned_data["comment"])
        typed = form.fields_of_note(current)
        typed["tags"] = services.tidied(typed["tags"])
        after = services.stamped(replace(current, **typed), timezone.now())
        services.require_valid(after)
        services.change_notes(by=by, owner=owner, kind=Kind.UPDATE, changes=[NoteChange(note_id, current, after)])
    except NotesChanged:
        now = recall.find_note(owner, note_id)
        if now is None:
            return redirect("note", owner=owner, note_id=note_id)
        again = NoteForm({**request.POST.dict(), "loaded_sha256": now.sha256})
        return _form_page(request, person, again, now, overtaken=True, status=409)
    except NoChange:
        pass  # the same form, sent twice, or nothing typed
    except REFUSALS as error:
        return _form_page(request, person, form, current, status=add_note_refusal(form, error))
    messages.success(request, _("Saved."))
    return redirect("note", owner=owner, note_id=note_id)


@signed_in()
@transaction.non_atomic_requests
@require_http_methods(["GET", "HEAD", "POST"])
def note_delete(request: HttpRequest, owner: str, note_id: str) -> HttpResponse:
    """Delete a note, after saying what that means. Its history stays."""
    person = own_memory(request, owner)
    current = recall.find_note(owner, note_id)
    if current is None:
        return redirect("notes", owner=owner)
    form: forms.Form = RemoveNoteForm(request.POST or None, initial={"loaded_sha256": current.sha256})
    if request.method != "POST" or not form.is_valid():
        return _removal_page(request, person, "notes/delete.html", form, current)
    try:
        _require_as_seen(current, form)
        by = By(actor=person, reasoning=form.cleaned_data["comment"])
        services.change_notes(by=by, owner=owner, kind=Kind.DELETE, changes=[NoteChange(note_id, current, None)])
    except NotesChanged:
        return _removal_overtaken(request, person, "notes/delete.html", RemoveNoteForm, note_id)
    except REFUSALS as error:
        add_note_refusal(form, error)
        return _removal_page(request, person, "notes/delete.html", form, current)
    messages.success(request, _("The note is deleted. Its history stays."))
    return redirect("notes", owner=owner)


@signed_in()
@transaction.non_atomic_requests
@require_http_methods(["GET", "HEAD", "POST"])
def note_supersede(request: HttpRequest, owner: str, note_id: str) -> HttpResponse:
    """Mark a note as outdated: it stays readable, and agents find it no more."""
    person = own_memory(request, owner)
    current = recall.find_note(owner, note_id)
    if current is None or current.is_superseded:
        return redirect("note", owner=owner, note_id=note_id)
    form: forms.Form = SupersedeNoteForm(request.POST or None, initial={"loaded_sha256": current.sha256})
    if request.method != "POST" or not form.is_valid():
        return _removal_page(request, person, "notes/supersede.html", form, current)
    replacement = form.cleaned_data["replacement_id"].strip()
    reason = form.cleaned_data["reason"].strip()
    try:
        _require_as_seen(current, form)
        services.supersede(
            by=By(actor=person, reasoning=reason),
            owner=owner,
            note_id=note_id,
            reason=reason or None,
            replacement_id=replacement or None,
        )
    except NotesChanged:
        return _removal_overtaken(request, person, "notes/supersede.html", SupersedeNoteForm, note_id)
    except NoteNotFound:
        form.add_error("replacement_id", _("There is no note of this id."))
        return _removal_page(request, person, "notes/supersede.html", form, current)
    except REFUSALS as error:
        add_note_refusal(form, error)
        return _removal_page(request, person, "notes/supersede.html", form, current)
    messages.success(request, _("The note is superseded. Agents no longer find it."))
    return redirect("note", owner=owner, note_id=note_id)


@transaction.non_atomic_requests
@signed_in(return_to=lambda pk: reverse("proposal", args=[pk]))
@require_POST
def revert(request: HttpRequest, pk: int) -> HttpResponse:
    """Take back what policy applied, and say how it went where the button was pressed."""
    back = local_path(request, request.POST.get("next", ""), reverse("proposal", args=[pk]))
    try:
        services.revert(actor=viewer_of(request), proposal_id=pk)
    except (ProposalNotFound, OverflowError):
        raise Http404 from None
    except NotesChanged:
        messages.error(
            request,
            _("Not reverted: the note was changed again since, and that change would be lost. Edit the note instead."),
        )
    except DecisionRefused as error:
        messages.error(request, error.message)
    except (EngineUnavailable, OutcomeUnknown):
        messages.error(request, _("The memory did not answer. Look again in a minute whether it was reverted."))
    else:
        messages.success(request, _("Reverted: the memory is as it was before."))
    return redirect(back)


# -- pages ----------------------------------------------------------------------------------------


def _about(request: HttpRequest, person: User) -> dict[str, object]:
    return {"section": "memory", "owner": person, "is_own": viewer_of(request).pk == person.pk, "tab": "notes"}


def _page_url(filters: NoteFilters, number: int) -> str:
    return "?" + urlencode(filters.active | {"page": str(number)})


def _brought_back(request: HttpRequest, owner: str) -> dict[str, object]:
    source, commit = request.GET.get("from", ""), request.GET.get("as_of", "")
    if not (source and commit):
        return {}
    try:
        old = note_pages.note_version(owner, source, commit).note
    except RevisionNotFound:
        return {}
    return {**NoteForm.initial_of(old), "loaded_sha256": ""} if old else {}


def _require_as_seen(current: Note, form: forms.Form) -> None:
    """Raises NotesChanged: the form was loaded with another version. The write itself checks once more."""
    if form.cleaned_data["loaded_sha256"] != current.sha256:
        raise NotesChanged([current.id])


def _form_page(
    request: HttpRequest,
    person: User,
    form: NoteForm,
    current: Note | None = None,
    *,
    overtaken: bool = False,
    status: int = 200,
) -> HttpResponse:
    context = {
        **_about(request, person),
        "form": form,
        "note": current,
        "overtaken": overtaken,
        "pending": note_pages.waiting_notes(person.username, current.id) if current else (),
    }
    return render(request, "notes/edit.html", context, status=status)


def _removal_page(
    request: HttpRequest, person: User, template: str, form: forms.Form, current: Note, **more: object
) -> HttpResponse:
    context = {
        **_about(request, person),
        "form": form,
        "note": current,
        "pending": note_pages.waiting_notes(person.username, current.id),
        **more,
    }
    status = 409 if more else 422 if form.errors else 200
    return render(request, template, context, status=status)


def _removal_overtaken(
    request: HttpRequest, person: User, template: str, form_class: type[forms.Form], note_id: str
) -> HttpResponse:
    """Somebody changed the note in between: show it as it is now, and ask once more."""
    now = recall.find_note(person.username, note_id)
    if now is None:
        return redirect("notes", owner=person.username)
    form = form_class({**request.POST.dict(), "loaded_sha256": now.sha256})
    return _removal_page(request, person, template, form, now, overtaken=True)
