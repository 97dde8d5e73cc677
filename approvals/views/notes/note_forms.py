"""Changing notes in the browser: an owner's own, each time as a commit in their name.

Others get the answer of a note that is not there. A form carries the sha256 it was loaded with; nothing
typed is lost, a refusal shows the form again as it was sent.
"""

from __future__ import annotations

from typing import TypeVar

from django import forms
from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from approvals.accounts.sign_in import signed_in, typed_before
from approvals.forms.memory import REFUSALS
from approvals.forms.notes import (
    NoteForm,
    ReinstateNoteForm,
    RemoveNoteForm,
    SupersedeNoteForm,
    add_note_refusal,
)
from approvals.models import User
from approvals.pages import note_history, note_list
from approvals.pages.superseding_candidates import could_replace
from approvals.services import notes as services
from approvals.services.errors import NoChange, NotesChanged
from approvals.services.notes import ChangeContext
from approvals.views.memory.block_forms import own_memory
from approvals.views.notes.note_views import about_notes
from memory_app import reads
from memory_app.dolt.errors import RevisionNotFound
from memory_app.reads import Note, NoteNotFound

Form = TypeVar("Form", bound=forms.Form)


@signed_in()
@transaction.non_atomic_requests
@require_http_methods(["GET", "HEAD", "POST"])
def note_new(request: HttpRequest, owner: str) -> HttpResponse:
    """Write a note. `?from=` an id and `?as_of=` a commit bring back the text of a deleted one."""
    person = own_memory(request, owner)
    if request.method != "POST":
        form = NoteForm(initial=typed_before(request) or _brought_back(request, owner))
        return _form_page(request, person, form)
    form = NoteForm(request.POST)
    if not form.is_valid():
        return _form_page(request, person, form, status=422)
    by = ChangeContext(actor=person, reasoning=form.cleaned_data["comment"])
    try:
        made = services.save(by=by, owner=owner, **form.fields_of_note(None))
    except REFUSALS as error:
        return _form_page(request, person, form, status=add_note_refusal(form, error))
    messages.success(request, _("Note created."))
    return redirect("note", owner=owner, note_id=made.note_id)


@signed_in()
@transaction.non_atomic_requests
@require_http_methods(["GET", "HEAD", "POST"])
def note_edit(request: HttpRequest, owner: str, note_id: str) -> HttpResponse:
    """Change a note."""
    person = own_memory(request, owner)
    current = reads.find_note(owner, note_id)
    if current is None:
        return redirect("note", owner=owner, note_id=note_id)
    if request.method != "POST":
        form = NoteForm(initial=typed_before(request) or NoteForm.initial_of(current))
        return _form_page(request, person, form, current)
    form = NoteForm(request.POST)
    if not form.is_valid():
        return _form_page(request, person, form, current, status=422)
    try:
        services.update(
            by=ChangeContext(actor=person, reasoning=form.cleaned_data["comment"]),
            owner=owner,
            note_id=note_id,
            loaded_sha256=form.cleaned_data["loaded_sha256"],
            **form.fields_of_note(current),
        )
    except (NotesChanged, NoteNotFound):
        now = reads.find_note(owner, note_id)
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
    current = reads.find_note(owner, note_id)
    if current is None:
        return redirect("notes", owner=owner)
    form = _confirmation(request, RemoveNoteForm, current)
    if not form.is_valid():
        return _asked(request, person, "notes/delete.html", form, current)
    try:
        services.delete(
            by=ChangeContext(actor=person, reasoning=form.cleaned_data["comment"]),
            owner=owner,
            note_id=note_id,
            loaded_sha256=form.cleaned_data["loaded_sha256"],
        )
    except NotesChanged:
        return _overtaken(request, person, "notes/delete.html", RemoveNoteForm, note_id)
    except NoteNotFound:
        pass  # sent twice: it is gone, as asked
    except REFUSALS as error:
        return _asked(request, person, "notes/delete.html", form, current, status=add_note_refusal(form, error))
    messages.success(request, _("The note is deleted. Its history is kept."))
    return redirect("notes", owner=owner)


@signed_in()
@transaction.non_atomic_requests
@require_http_methods(["GET", "HEAD", "POST"])
def note_supersede(request: HttpRequest, owner: str, note_id: str) -> HttpResponse:
    """Mark a note as outdated: it stays readable, and agents find it no more. Sent with `find`, the form
    comes back with the notes its words find, to choose the one that takes its place."""
    person = own_memory(request, owner)
    current = reads.find_note(owner, note_id)
    if current is None or (current.is_superseded and request.method != "POST"):
        return redirect("note", owner=owner, note_id=note_id)
    if request.method == "POST" and "find" in request.POST:
        return _supersede_page(request, person, SupersedeNoteForm(initial=request.POST.dict()), current)
    form = _confirmation(request, SupersedeNoteForm, current)
    if not form.is_valid():
        return _supersede_page(request, person, form, current)
    reason, replacement_id = form.cleaned_data["reason"].strip(), form.cleaned_data["replacement_id"]
    try:
        services.supersede(
            by=ChangeContext(actor=person, reasoning=reason),
            owner=owner,
            note_id=note_id,
            reason=reason or None,
            replacement_id=replacement_id or None,
            loaded_sha256=form.cleaned_data["loaded_sha256"],
        )
    except NotesChanged:
        now = reads.find_note(owner, note_id)
        if now is None:
            return redirect("note", owner=owner, note_id=note_id)
        if not _superseded_so(now, reason, replacement_id):
            again = SupersedeNoteForm({**request.POST.dict(), "loaded_sha256": now.sha256})
            return _supersede_page(request, person, again, now, overtaken=True)
        # sent twice: it is superseded, as asked
    except NoteNotFound:
        form.add_error("words", _("There is no note with this id."))
        return _supersede_page(request, person, form, current)
    except REFUSALS as error:
        return _supersede_page(request, person, form, current, status=add_note_refusal(form, error))
    messages.success(request, _("The note is marked as outdated. Agents no longer see it."))
    return redirect("note", owner=owner, note_id=note_id)


@signed_in()
@transaction.non_atomic_requests
@require_http_methods(["GET", "HEAD", "POST"])
def note_reinstate(request: HttpRequest, owner: str, note_id: str) -> HttpResponse:
    """The way back: a superseded note holds again, and agents find it."""
    person = own_memory(request, owner)
    current = reads.find_note(owner, note_id)
    if current is None or not current.is_superseded:
        return redirect("note", owner=owner, note_id=note_id)
    form = _confirmation(request, ReinstateNoteForm, current)
    if not form.is_valid():
        return _asked(request, person, "notes/reinstate.html", form, current)
    try:
        services.reinstate(
            actor=person,
            owner=owner,
            note_id=note_id,
            loaded_sha256=form.cleaned_data["loaded_sha256"],
            comment=form.cleaned_data["comment"],
        )
    except (NotesChanged, NoteNotFound):
        return _overtaken(request, person, "notes/reinstate.html", ReinstateNoteForm, note_id)
    except NoChange:
        pass  # sent twice: it holds again, as asked
    except REFUSALS as error:
        return _asked(request, person, "notes/reinstate.html", form, current, status=add_note_refusal(form, error))
    messages.success(request, _("The note is reinstated. Agents see it again."))
    return redirect("note", owner=owner, note_id=note_id)


# -- pages ----------------------------------------------------------------------------------------


def _brought_back(request: HttpRequest, owner: str) -> dict[str, object]:
    source, commit = request.GET.get("from", ""), request.GET.get("as_of", "")
    if not (source and commit):
        return {}
    try:
        old = note_history.note_version(owner, source, commit).note
    except RevisionNotFound:
        return {}
    return {**NoteForm.initial_of(old), "loaded_sha256": ""} if old else {}


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
        **about_notes(request, person),
        "form": form,
        "note": current,
        "overtaken": overtaken,
        "pending": note_list.waiting_notes(person.username, current.id) if current else (),
    }
    return render(request, "notes/edit.html", context, status=status)


def _confirmation(request: HttpRequest, form_class: type[Form], current: Note) -> Form:
    """The form as it was sent, or one for the note as it is, with what was typed before a session ran out."""
    if request.method == "POST":
        return form_class(request.POST)
    return form_class(initial={"loaded_sha256": current.sha256, **typed_before(request)})


def _asked(
    request: HttpRequest,
    person: User,
    template: str,
    form: forms.Form,
    current: Note,
    *,
    status: int | None = None,
    **more: object,
) -> HttpResponse:
    """The page that asks whether to do it, about the note as it is."""
    context = {
        **about_notes(request, person),
        "form": form,
        "note": current,
        "pending": note_list.waiting_notes(person.username, current.id),
        **more,
    }
    return render(request, template, context, status=status or (422 if form.errors else 200))


def _overtaken(
    request: HttpRequest, person: User, template: str, form_class: type[forms.Form], note_id: str
) -> HttpResponse:
    """Somebody changed the note in between: show it as it is now, and ask once more."""
    now = reads.find_note(person.username, note_id)
    if now is None:
        return redirect("note", owner=person.username, note_id=note_id)
    form = form_class({**request.POST.dict(), "loaded_sha256": now.sha256})
    return _asked(request, person, template, form, now, status=409, overtaken=True)


def _supersede_page(
    request: HttpRequest,
    person: User,
    form: SupersedeNoteForm,
    current: Note,
    *,
    overtaken: bool = False,
    status: int | None = None,
) -> HttpResponse:
    words = str(form["words"].value() or "").strip()
    chosen = str(form["replacement_id"].value() or "")
    found = could_replace(person.username, current, words=words, chosen=chosen)
    return _asked(
        request,
        person,
        "notes/supersede.html",
        form,
        current,
        status=409 if overtaken else status,
        overtaken=overtaken,
        found=found,
        chosen=words if any(note.id == words for note in found) else chosen,
        words=words,
    )


def _superseded_so(note: Note, reason: str, replacement_id: str) -> bool:
    return note.is_superseded and (note.superseded_reason or "", note.superseded_by or "") == (reason, replacement_id)
