"""The pages of notes: the list, one note now and earlier with its history; and changing them, an owner's own, each time
as a commit in their name.

A viewer who may not read an owner's memory gets the answer of a page that is not there.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any, TypeVar
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from approvals.accounts.sign_in import viewer_of
from approvals.forms.memory import REFUSALS, BulkForm, DeleteForm, NoteForm, ReinstateNoteForm, SupersedeNoteForm
from approvals.language import grouped
from approvals.models import Proposal, User
from approvals.pages import note_history, notes_page
from approvals.pages.blocks import NOW, undoable
from approvals.pages.notes_page import SORTS, NoteFilters, could_replace
from approvals.permissions import ReviewAction, available_actions
from approvals.review import trust
from approvals.services import bulk_notes, erasing, notes
from approvals.services.bulk_notes import MOST_NOTES, BulkAction, BulkOutcome
from approvals.services.errors import NoChange, NotesChanged
from approvals.views.block_views import about, about_memory, about_revision, own_memory, readable_owner
from approvals.views.request import Request, form_page, reading_page, whole_number
from approvals.views.service_form import ChangeView, ServiceFormView
from memory_app import reads, recall_counts
from memory_app.dolt.errors import RevisionNotFound
from memory_app.models import Change, TargetKind
from memory_app.reads import Note, NoteNotFound
from memory_app.runtime import deadlines

F = TypeVar("F", bound=forms.Form)


def about_notes(request: HttpRequest, person: User) -> dict[str, object]:
    return {**about(request, person), "tab": "notes"}


@reading_page
def note_list(request: HttpRequest, owner: str) -> HttpResponse:
    """Show the notes of an owner, fifty a page, narrowed by the address."""
    person = readable_owner(request, owner)
    filters = NoteFilters.from_query(request.GET.dict())
    found = notes_page.page_of(owner, filters, whole_number(request.GET.get("page", "")) or 1)
    context = {
        **about_memory(request, person, "notes"),
        "filters": filters,
        "filter_count": sum(1 for name in filters.active if name != "q"),
        **found,
        "sorts": SORTS.items(),
        "most_at_once": MOST_NOTES,
        # Ticks come when they are asked for, and for what is there to be folded.
        "selecting": owner == viewer_of(request).username and ("select" in request.GET or filters.doubled),
    }
    return render(request, "memory/memory.html", context)


@reading_page
def note_page(request: HttpRequest, owner: str, note_id: str) -> HttpResponse:
    """Show one note, as it is or (`?as_of=`) as it was, and everything that happened to it."""
    person = readable_owner(request, owner)
    as_of = request.GET.get("as_of", "").strip()
    as_of = "" if as_of == NOW else as_of
    before = request.GET.get("before", "")
    erased = erasing.told(owner, TargetKind.NOTE, note_id)
    try:
        if as_of:
            shown, commit, at = note_history.note_version(owner, note_id, as_of)
        else:
            shown, commit, at = reads.find_note(owner, note_id), "", None
    except RevisionNotFound as error:
        context = about_notes(request, person) | about_revision(person, as_of, error)
        context |= {"note_id": note_id} | erased
        status = 410 if context["is_erased"] else 404
        return render(request, "notes/unknown_revision.html", context, status=status)
    steps, older = note_history.steps(owner, note_id, before=whole_number(before, digits=17))
    if shown is None and not steps:
        raise Http404
    last = steps[0]["entry"] if steps and not before else None
    applied = last.proposal if last and last.change.action == Change.Action.APPLIED else None
    context = {
        **about_notes(request, person),
        **erased,
        "note_id": note_id,
        "note": shown,
        "commit": commit,
        "at": at,
        "flags": trust.flags_of(f"{shown.content}\n\n{shown.rationale or ''}") if shown else (),
        "says_all": shown is not None and note_history.fits_a_heading(shown),
        "as_of": as_of,
        "steps": steps,
        "undoable": undoable((step["entry"] for step in steps), viewer_of(request)),
        "is_first_page": not before,
        "older": urlencode({"before": older}) if older else "",
        "applied": applied if not as_of else None,
        "may_revert": applied is not None and ReviewAction.UNDO in available_actions(viewer_of(request), applied),
        "pending": notes_page.waiting_notes(owner, note_id) if not as_of else (),
        "last_text": next((step["before"] for step in steps if step["before"]), None) if shown is None else None,
        "recalled": recall_counts.for_owner(owner, [note_id]).get(note_id) if not as_of else None,
        "replacement": reads.find_note(owner, shown.superseded_by) if shown and shown.superseded_by else None,
    }
    return render(request, "notes/note.html", context, status=410 if shown is None else 200)


class NoteNew(ServiceFormView[NoteForm]):
    """Write a note. `?from=` an id and `?as_of=` a commit bring back the text of a deleted one."""

    template_name = "notes/note_edit.html"
    form_class = NoteForm

    def initial_fields(self) -> dict[str, Any]:
        source, commit = self.request.GET.get("from", ""), self.request.GET.get("as_of", "")
        if not (source and commit):
            return {}
        try:
            old, _commit, _at = note_history.note_version(self.owner.username, source, commit)
        except RevisionNotFound:
            return {}
        return {**NoteForm.initial_of(old), "loaded_sha256": ""} if old else {}

    def call_service(self, form: NoteForm) -> None:
        by = notes.ChangeContext(actor=self.owner, reasoning=form.cleaned_data["comment"])
        self.made = notes.save(by=by, owner=self.owner.username, **form.fields_of_note(None))

    def get_success_message(self) -> str:
        if self.made.known:
            return _("Nothing was created: this note says so already. Edit it to change what else you typed.")
        return _("Note created.")

    def get_success_url(self) -> str:
        return reverse("note", args=[self.owner.username, self.made.note_id])


class NoteChangeView(ChangeView[F]):
    """A form about one note."""

    conflicts = (NotesChanged, NoteNotFound)
    current: Note | None

    def find(self) -> Note | None:
        return reads.find_note(self.owner.username, self.kwargs["note_id"])

    def change(self, form: F, comment: str = "comment") -> dict[str, Any]:
        """Return what every service is told about the change of this note."""
        return {
            "by": notes.ChangeContext(actor=self.owner, reasoning=form.cleaned_data[comment]),
            "owner": self.owner.username,
            "note_id": self.kwargs["note_id"],
            "loaded_sha256": form.cleaned_data["loaded_sha256"],
        }

    def get_success_url(self) -> str:
        return reverse("note", args=[self.owner.username, self.kwargs["note_id"]])

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        pending = notes_page.waiting_notes(self.owner.username, self.kwargs["note_id"])
        return super().get_context_data(note=self.current, pending=pending, **kwargs)


class NoteEdit(NoteChangeView[NoteForm]):
    """Change a note."""

    template_name = "notes/note_edit.html"
    form_class = NoteForm
    done_already = (NoChange,)  # nothing was typed
    success_message = gettext_lazy("Saved.")

    current: Note

    def initial_fields(self) -> dict[str, Any]:
        return NoteForm.initial_of(self.current)

    def is_done(self, form: NoteForm, now: Note | None) -> bool:
        typed = form.fields_of_note(now)
        return now is not None and all(getattr(now, name) == typed[name] for name in typed)

    def call_service(self, form: NoteForm) -> None:
        notes.update(**self.change(form), **form.fields_of_note(self.current))


class NoteDelete(NoteChangeView[DeleteForm]):
    """Delete a note, after saying what that means. Its history stays."""

    template_name = "notes/note_delete.html"
    form_class = DeleteForm
    success_message = gettext_lazy("The note is deleted. Its history is kept.")

    def is_done(self, form: DeleteForm, now: Note | None) -> bool:
        return now is None

    def call_service(self, form: DeleteForm) -> None:
        notes.delete(**self.change(form))

    def get_success_url(self) -> str:
        return reverse("notes", args=[self.owner.username])


class NoteSupersede(NoteChangeView[SupersedeNoteForm]):
    """Mark a note as outdated: it stays readable, and agents no longer find it. Sent with `find`, the form
    comes back with the notes its words find, to choose the one that takes its place."""

    template_name = "notes/note_supersede.html"
    form_class = SupersedeNoteForm
    success_message = gettext_lazy("The note is marked as outdated. Agents no longer see it.")
    current: Note

    def get(self, request: HttpRequest, *args: str, **kwargs: Any) -> HttpResponse:
        if self.current.is_superseded:
            return redirect(self.get_success_url())
        return super().get(request, *args, **kwargs)

    def post(self, request: HttpRequest, *args: str, **kwargs: Any) -> HttpResponse:
        if "find" in request.POST:
            return self.show(SupersedeNoteForm(initial=request.POST.dict()))
        return super().post(request, *args, **kwargs)

    def call_service(self, form: SupersedeNoteForm) -> None:
        reason, replacement_id = form.outcome()
        notes.supersede(**self.change(form, "reason"), reason=reason or None, replacement_id=replacement_id or None)

    def is_done(self, form: SupersedeNoteForm, now: Note | None) -> bool:
        if now is None or not now.is_superseded:
            return False
        return form.outcome() == (now.superseded_reason or "", now.superseded_by or "")

    def on_conflict(self, form: SupersedeNoteForm, error: Exception) -> HttpResponse:
        if isinstance(error, NoteNotFound):
            form.add_error("words", _("There is no note with this id."))
            return self.show(form, status=422)
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


class NoteReinstate(NoteChangeView[ReinstateNoteForm]):
    """Reinstate a superseded note: agents find it again."""

    template_name = "notes/note_reinstate.html"
    form_class = ReinstateNoteForm
    done_already = (NoChange,)
    success_message = gettext_lazy("The note is reinstated. Agents see it again.")

    def find(self) -> Note | None:
        found = super().find()
        return found if found and found.is_superseded else None

    def call_service(self, form: ReinstateNoteForm) -> None:
        loaded = form.cleaned_data["loaded_sha256"]
        notes.reinstate(**self.said(form), note_id=self.kwargs["note_id"], loaded_sha256=loaded)


#: Notes whose words the page has; of more it names how many.
_SHOWN = 100
_NAMED = 5
#: Seconds a change of thousands may take.
_SECONDS = 60


class NotesChange(ServiceFormView[BulkForm]):
    """Show what would become of the notes that were selected (`?note=` ids, or `?all=1` with the filters of the list),
    and do it when the form is sent."""

    template_name = "notes/note_bulk.html"
    form_class = BulkForm
    conflicts = (NotesChanged,)
    done: BulkOutcome

    def load(self) -> HttpResponse | None:
        deadlines.allow(_SECONDS)
        return None

    def get(self, request: Any, *args: str, **kwargs: Any) -> HttpResponse:
        if not self.kept_fields and not (self.selected() and self.request.GET.get("do") in set(BulkAction)):
            messages.warning(request, _("Select the notes first."))
            return redirect("notes", owner=self.owner.username)
        return super().get(request, *args, **kwargs)

    def selected(self) -> dict[str, Note]:
        """Return the notes the address names, at most `MOST_NOTES`; those that are gone are not among them."""
        ids = self.request.GET.getlist("note")
        if self.request.GET.get("all"):
            filters = NoteFilters.from_query(self.request.GET.dict())
            ids = [entry.id for entry in notes_page.matching(self.owner.username, filters)]
        ids = list(dict.fromkeys(ids))[:MOST_NOTES]
        there = reads.find_notes(self.owner.username, ids)
        return {id_: there[id_] for id_ in ids if id_ in there}

    def initial_fields(self) -> dict[str, Any]:
        return {"action": self.request.GET.get("do"), "seen": _seen(self.selected())}

    def call_service(self, form: BulkForm) -> None:
        data = form.cleaned_data
        self.done = bulk_notes.change_many(
            **self.said(form),
            action=BulkAction(data["action"]),
            seen=data["seen"],
            add_tags=data["add_tags"].split(","),
            remove_tags=notes.tidied(data["remove_tags"].split(",")),
        )

    def succeed(self) -> HttpResponse:
        _say(self.request, self.done)
        return redirect(self.get_success_url())

    def get_success_url(self) -> str:
        return reverse("notes_changed", args=[self.owner.username, self.done.outcome.commit])

    def on_conflict(self, form: BulkForm, error: Exception) -> HttpResponse:
        """Show those that are still there as they are now, and ask once more."""
        there = reads.find_notes(self.owner.username, form.cleaned_data["seen"])
        if not there:
            messages.error(self.request, _("These notes are gone; nothing was changed."))
            return redirect("notes", owner=self.owner.username)
        again = self.request.POST.dict() | {"seen": _seen(there)}
        return self.show(BulkForm(again), status=409, overtaken=True)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context = super().get_context_data(**kwargs)
        form = context["form"]
        ids = [line.split()[0] for line in str(form["seen"].value() or "").splitlines() if line.strip()][:MOST_NOTES]
        there = reads.find_notes(self.owner.username, ids)
        shown = [there[id_] for id_ in ids if id_ in there]
        waiting = Proposal.objects.open().of_owner(self.owner.username).about_notes(ids) if ids else ()
        gone = set[str]()
        if form["action"].value() == BulkAction.FOLD:
            after = bulk_notes.folded(shown, recall_counts.counts(self.owner.username))
            gone = {id_ for id_, note in after.items() if note is None}
        return {
            **context,
            "tab": "notes",
            "action": str(form["action"].value() or ""),
            "count": len(ids),
            "shown": shown[:_SHOWN],
            "rest": max(0, len(ids) - _SHOWN),
            "tags": Counter(tag for note in shown for tag in note.tags).most_common(20),
            "outdated_proposals": len(waiting),
            "gone": gone,
            "folded": len(gone),
        }


def _seen(found: Mapping[str, Note]) -> str:
    return "\n".join(f"{id_} {note.sha256}" for id_, note in found.items())


def _say(request: HttpRequest, done: BulkOutcome) -> None:
    """Say which of the notes were not changed; the page says which were."""
    said = []
    if done.unchanged:
        said.append(
            ngettext("%(n)s note was so already.", "%(n)s notes were so already.", done.unchanged)
            % {"n": grouped(done.unchanged)}
        )
    if done.left_out:
        named = ", ".join(done.left_out[:_NAMED]) + (" …" if len(done.left_out) > _NAMED else "")
        said.append(
            ngettext(
                "%(n)s note was left out, because it has changed or gone since: %(named)s.",
                "%(n)s notes were left out, because they have changed or gone since: %(named)s.",
                len(done.left_out),
            )
            % {"n": grouped(len(done.left_out)), "named": named}
        )
    if said:
        messages.warning(request, " ".join(said))


@form_page
def notes_changed(request: Request, owner: str, commit: str) -> HttpResponse:
    """Show what one commit of the owner's did to their notes; sent back, take it back."""
    person = own_memory(request, owner)
    rows = Change.objects.filter(owner=owner, commit=commit, target_kind=TargetKind.NOTE, proposal_id=None)
    ids = list(rows.order_by("target").values_list("target", flat=True))
    change = rows.first()
    if change is None:
        raise Http404
    if request.method == "POST":
        return _taken_back(request, owner, commit)
    before, after, now = (
        reads.find_notes(owner, ids[:_SHOWN], revision) for revision in (reads.parent(owner, commit), commit, None)
    )
    context = {
        **about_notes(request, person),
        "change": change,
        "count": len(ids),
        "rows": [(before.get(id_) or after.get(id_), before.get(id_), after.get(id_)) for id_ in ids[:_SHOWN]],
        "rest": max(0, len(ids) - _SHOWN),
        "is_undone": all(_says(now.get(id_)) == _says(before.get(id_)) for id_ in ids[:_SHOWN]),
    }
    return render(request, "notes/notes_changed.html", context)


def _taken_back(request: Request, owner: str, commit: str) -> HttpResponse:
    deadlines.allow(_SECONDS)
    try:
        done = bulk_notes.take_back(actor=viewer_of(request), owner=owner, commit=commit)
    except NoChange:
        messages.info(request, _("This was undone already."))
    except NotesChanged:
        messages.error(request, _("Not undone: every one of these notes has changed since, and that would be lost."))
    except REFUSALS as error:
        messages.error(request, getattr(error, "message", "") or _("The memory did not answer. Try again in a moment."))
    else:
        _say(request, done)
        commit = done.outcome.commit
    return redirect("notes_changed", owner=owner, commit=commit)


def _says(note: Note | None) -> str:
    return note.sha256 if note else ""
