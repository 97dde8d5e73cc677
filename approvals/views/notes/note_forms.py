"""Changing notes in the browser: an owner's own, each time as a commit in their name."""

from __future__ import annotations

from typing import Any, TypeVar

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from approvals.forms.memory import DeleteForm
from approvals.forms.notes import NoteForm, ReinstateNoteForm, SupersedeNoteForm
from approvals.pages import note_history, note_list
from approvals.pages.superseding_candidates import could_replace
from approvals.services import notes
from approvals.services.errors import NoChange, NotesChanged
from approvals.services.notes import ChangeContext
from approvals.views.service_form import ServiceFormView
from memory_app import reads
from memory_app.dolt.errors import RevisionNotFound
from memory_app.reads import Note, NoteNotFound

F = TypeVar("F", bound=forms.Form)


class NoteNew(ServiceFormView[NoteForm]):
    """Write a note. `?from=` an id and `?as_of=` a commit bring back the text of a deleted one."""

    template_name = "notes/note_edit.html"
    form_class = NoteForm
    success_message = gettext_lazy("Note created.")

    def initial_fields(self) -> dict[str, Any]:
        source, commit = self.request.GET.get("from", ""), self.request.GET.get("as_of", "")
        if not (source and commit):
            return {}
        try:
            old = note_history.note_version(self.owner.username, source, commit).note
        except RevisionNotFound:
            return {}
        return {**NoteForm.initial_of(old), "loaded_sha256": ""} if old else {}

    def call_service(self, form: NoteForm) -> None:
        by = ChangeContext(actor=self.owner, reasoning=form.cleaned_data["comment"])
        self.made = notes.save(by=by, owner=self.owner.username, **form.fields_of_note(None))

    def get_success_url(self) -> str:
        return reverse("note", args=[self.owner.username, self.made.note_id])


class NoteFormView(ServiceFormView[F]):
    """A form about one note. Children say what to do with the note, and what to do when it is gone."""

    conflicts = (NotesChanged, NoteNotFound)
    current: Note

    def load(self) -> HttpResponse | None:
        current = reads.find_note(self.owner.username, self.kwargs["note_id"])
        if current is None:
            return redirect(self.get_success_url())
        self.current = current
        return None

    def initial_fields(self) -> dict[str, Any]:
        return {"loaded_sha256": self.current.sha256}

    def on_conflict(self, form: F, error: Exception) -> HttpResponse:
        """Show the note as somebody else left it, and ask once more."""
        now = reads.find_note(self.owner.username, self.current.id)
        if now is None:
            return redirect("note", owner=self.owner.username, note_id=self.current.id)
        self.current = now
        return self.show(self.sent_about(now.sha256), status=409, overtaken=True)

    def get_success_url(self) -> str:
        return reverse("note", args=[self.owner.username, self.kwargs["note_id"]])

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        pending = note_list.waiting_notes(self.owner.username, self.current.id)
        return super().get_context_data(note=self.current, pending=pending, **kwargs)


class NoteEdit(NoteFormView[NoteForm]):
    """Change a note."""

    template_name = "notes/note_edit.html"
    form_class = NoteForm
    done_already = (NoChange,)  # sent twice, or nothing was typed
    success_message = gettext_lazy("Saved.")

    def initial_fields(self) -> dict[str, Any]:
        return NoteForm.initial_of(self.current)

    def call_service(self, form: NoteForm) -> None:
        notes.update(
            by=ChangeContext(actor=self.owner, reasoning=form.cleaned_data["comment"]),
            owner=self.owner.username,
            note_id=self.current.id,
            loaded_sha256=form.cleaned_data["loaded_sha256"],
            **form.fields_of_note(self.current),
        )


class NoteDelete(NoteFormView[DeleteForm]):
    """Delete a note, after saying what that means. Its history stays."""

    template_name = "notes/note_delete.html"
    form_class = DeleteForm
    done_already = (NoteNotFound,)
    success_message = gettext_lazy("The note is deleted. Its history is kept.")

    def call_service(self, form: DeleteForm) -> None:
        notes.delete(
            by=ChangeContext(actor=self.owner, reasoning=form.cleaned_data["comment"]),
            owner=self.owner.username,
            note_id=self.current.id,
            loaded_sha256=form.cleaned_data["loaded_sha256"],
        )

    def get_success_url(self) -> str:
        return reverse("notes", args=[self.owner.username])


class NoteSupersede(NoteFormView[SupersedeNoteForm]):
    """Mark a note as outdated: it stays readable, and agents no longer find it. Sent with `find`, the form
    comes back with the notes its words find, to choose the one that takes its place."""

    template_name = "notes/note_supersede.html"
    form_class = SupersedeNoteForm
    success_message = gettext_lazy("The note is marked as outdated. Agents no longer see it.")

    def get(self, request: HttpRequest, *args: str, **kwargs: Any) -> HttpResponse:
        if self.current.is_superseded:
            return redirect(self.get_success_url())
        return super().get(request, *args, **kwargs)

    def post(self, request: HttpRequest, *args: str, **kwargs: Any) -> HttpResponse:
        if "find" in request.POST:
            return self.show(SupersedeNoteForm(initial=request.POST.dict()))
        return super().post(request, *args, **kwargs)

    def call_service(self, form: SupersedeNoteForm) -> None:
        self.reason, self.replacement_id = form.cleaned_data["reason"].strip(), form.cleaned_data["replacement_id"]
        notes.supersede(
            by=ChangeContext(actor=self.owner, reasoning=self.reason),
            owner=self.owner.username,
            note_id=self.current.id,
            reason=self.reason or None,
            replacement_id=self.replacement_id or None,
            loaded_sha256=form.cleaned_data["loaded_sha256"],
        )

    def on_conflict(self, form: SupersedeNoteForm, error: Exception) -> HttpResponse:
        if isinstance(error, NoteNotFound):
            form.add_error("words", _("There is no note with this id."))
            return self.show(form, status=422)
        now = reads.find_note(self.owner.username, self.current.id)
        if now and now.is_superseded:
            outcome = now.superseded_reason or "", now.superseded_by or ""
            if outcome == (self.reason, self.replacement_id):
                return self.succeed()  # sent twice: it is superseded, as asked
        return super().on_conflict(form, error)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context = super().get_context_data(**kwargs)
        form = context["form"]
        words = str(form["words"].value() or "").strip()
        chosen = str(form["replacement_id"].value() or "")
        found = could_replace(self.owner.username, self.current, words=words, chosen=chosen)
        if any(note.id == words for note in found):
            chosen = words
        return {**context, "found": found, "chosen": chosen, "words": words}


class NoteReinstate(NoteFormView[ReinstateNoteForm]):
    """Reinstate a superseded note: agents find it again."""

    template_name = "notes/note_reinstate.html"
    form_class = ReinstateNoteForm
    done_already = (NoChange,)
    success_message = gettext_lazy("The note is reinstated. Agents see it again.")

    def load(self) -> HttpResponse | None:
        elsewhere = super().load()
        if elsewhere is None and not self.current.is_superseded:
            return redirect(self.get_success_url())
        return elsewhere

    def call_service(self, form: ReinstateNoteForm) -> None:
        notes.reinstate(
            actor=self.owner,
            owner=self.owner.username,
            note_id=self.current.id,
            loaded_sha256=form.cleaned_data["loaded_sha256"],
            comment=form.cleaned_data["comment"],
        )
