"""Taking a memory out and bringing notes in: memories.md, and everything as JSON."""

import json
from collections.abc import Callable
from datetime import datetime
from functools import partial

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.accounts.sign_in import kept_fields
from approvals.forms.memory import REFUSALS, ImportForm, add_refusal, packed
from approvals.models import Proposal, User
from approvals.pages import note_history
from approvals.services import imports
from approvals.services.notes import ChangeContext
from approvals.views.block_views import about, own_memory, readable_owner
from approvals.views.request import Request, form_page, reading_page
from assent_client.text import memories_md
from memory_app import reads
from memory_app.reads.catalogue import portable_file
from memory_app.runtime import deadlines

#: Seconds they may take, as with the agent API (`agent_tools.tools.files`).
_IMPORT_SECONDS = 600
_EXPORT_SECONDS = 60
_Service = Callable[..., imports.ImportOutcome]
#: List items a person can tick at once; a form may have a thousand fields.
_MOST_ITEMS = 500


@reading_page
def export_markdown(request: HttpRequest, owner: str) -> HttpResponse:
    """Send today's notes as memories.md; `?portable=1`: in the four sections all its readers know."""
    deadlines.allow(_EXPORT_SECONDS)
    readable_owner(request, owner)
    text = portable_file(owner) if request.GET.get("portable") else memories_md.write(reads.memories(owner))
    return _download(text, "memories.md", "text/markdown")


@reading_page
def export_json(request: HttpRequest, owner: str) -> HttpResponse:
    """Send all blocks and notes, the superseded ones too, as JSON."""
    deadlines.allow(_EXPORT_SECONDS)
    readable_owner(request, owner)
    fields = ("label", "title", "description", "body", "limit", "read_only", "created_at", "updated_at")
    exported = {
        "owner": owner,
        "exported_at": timezone.now().isoformat(),
        "blocks": [{name: getattr(block, name) for name in fields} for block in reads.blocks(owner)],
        "notes": [note.as_json() for note in reads.notes(owner)],
    }
    text = json.dumps(exported, ensure_ascii=False, indent=1, default=datetime.isoformat)
    return _download(text, f"{owner}.json", "application/json")


@form_page
def import_markdown(request: Request, owner: str) -> HttpResponse:
    """Bring in a memories.md, as one commit in the owner's name; with `check`, only say what it would do.

    The answer is what became of the file. Whoever opens the page while an import runs is told so.
    """
    person = own_memory(request, owner)
    if request.method != "POST":
        return _import_start(request, person)
    form, done, status = ImportForm(request.POST, request.FILES), None, 422
    is_check, items, offered = "check" in request.POST, request.POST.get("items"), None
    if form.is_valid():
        try:
            service: _Service = imports.check_file if is_check else imports.import_file
            if items:
                chosen = None if items == "all" else request.POST.getlist("item")
                service = partial(imports.import_file, items=True, chosen=chosen)
            done = _carried_out(person, form, service)
            offered = _offered(person, form) if done.has_none else None
        except memories_md.Unreadable as error:
            text = str(error)
            form.add_error(form.source, f"{text[:1].upper()}{text[1:]}.")
        except REFUSALS as error:
            status = add_refusal(form, error)
    if offered:
        return _import_page(request, person, offered | {"is_none_ticked": bool(items)}, status=422 if items else 200)
    if done and done.has_none and not done.skipped:
        text = _("There are no memories in this file: it has no heading such as “### mem-…”.")
        form.add_error(form.source, text)
    if done is None or form.errors:
        return _import_page(request, person, _sent_again(form), status=status)
    if is_check:
        return _import_page(request, person, _checked(done, form))
    changed = [change.id for change in done.outcome.changes if change.before] if done.outcome else []
    overtaken = Proposal.objects.open().of_owner(owner).about_notes(changed).count() if changed else 0
    return _import_page(request, person, {"done": done, "file_name": form.sent[1], "overtaken": overtaken})


def _import_start(request: Request, person: User) -> HttpResponse:
    """Show the form; after an expired session what the file would do, where it was sent back already checked."""
    kept = kept_fields(request)
    context: dict[str, object] = {"was_signed_out": bool(kept)}
    form = ImportForm(kept)
    if kept.get("carried") and form.is_valid():
        try:
            check = _carried_out(person, form, imports.check_file)
            shown = _offered(person, form) if check.has_none else None
            return _import_page(request, person, context | (shown or _checked(check, form)))
        except (memories_md.Unreadable, *REFUSALS):
            pass  # the form says that the file has to be chosen again
    empty = ImportForm(initial={"comment": kept.get("comment", "")})
    context |= {"form": empty, "is_under_way": imports.is_under_way(person.username)}
    return _import_page(request, person, context)


def _carried_out(person: User, form: ImportForm, service: _Service) -> imports.ImportOutcome:
    """Return what became of the file of a valid form, or of what was chosen of it."""
    deadlines.allow(_IMPORT_SECONDS)
    by = ChangeContext(actor=person, reasoning=form.cleaned_data["comment"])
    return service(by=by, owner=person.username, data=form.sent[0])


def _checked(check: imports.ImportOutcome, form: ImportForm) -> dict[str, object]:
    """Return what the page says of a file that was checked, and the form that imports it."""
    return {
        "check": check,
        "count": len(check.changes),
        **note_history.what_it_would_do(check.changes),
        **_carried(form),
    }


def _offered(person: User, form: ImportForm) -> dict[str, object] | None:
    """Return what the page says of a file that has list items and no memories; None where it has neither."""
    found, known = imports.find_items(person.username, form.sent[0])
    if not found.memories:
        return None
    items = [(item, item.id in known) for item in found.memories]
    count = len(items) - len(known)
    return {
        "found": found,
        "items": items[:_MOST_ITEMS],
        "count": count,
        "left_out": imports.by_reason(found.skipped),
        **_carried(form),
    }


def _carried(form: ImportForm) -> dict[str, object]:
    """Return the file's name, and the form that carries it on; None where it is too large for that."""
    data, file_name = form.sent
    initial = {"carried": packed(data), "file_name": file_name[:200], "comment": form.cleaned_data["comment"]}
    return {"file_name": file_name, "checked_form": ImportForm(initial=initial) if initial["carried"] else None}


def _sent_again(form: ImportForm) -> dict[str, object]:
    """Return a refused form with its errors and what was typed; for a file that it carries, one to choose another."""
    if form.source == "file":
        return {"form": form}
    return {
        "form": ImportForm(initial={"comment": form.data.get("comment", "")}),
        "refused": [error for each in form.errors.values() for error in each],
        "checked_form": form if "carried" not in form.errors else None,
        "file_name": form.data.get("file_name", ""),
    }


def _import_page(request: Request, person: User, context: dict[str, object], *, status: int = 200) -> HttpResponse:
    context |= about(request, person) | {"tab": "notes"}
    return render(request, "notes/import_part.html" if request.htmx else "notes/import.html", context, status=status)


def _download(text: str, name: str, content_type: str) -> HttpResponse:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(text, content_type=f"{content_type}; charset=utf-8", headers=headers)
