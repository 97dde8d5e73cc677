"""Taking a memory out and bringing notes in: memories.md, and everything as JSON."""

from __future__ import annotations

import json
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.accounts.sign_in import kept_fields
from approvals.forms.memory import REFUSALS, CheckedImportForm, ImportForm, add_refusal, packed
from approvals.models import Proposal, User
from approvals.pages import note_history
from approvals.services import imports
from approvals.services.imports import ImportOutcome
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


@reading_page
def export_markdown(request: HttpRequest, owner: str) -> HttpResponse:
    """Send today's notes as memories.md; `?portable=1`: in the four sections all its readers know."""
    deadlines.allow(_EXPORT_SECONDS)
    readable_owner(request, owner)
    if request.GET.get("portable"):
        return _download(portable_file(owner), "memories.md", "text/markdown")
    return _download(memories_md.write(reads.memories(owner)), "memories.md", "text/markdown")


@reading_page
def export_json(request: HttpRequest, owner: str) -> HttpResponse:
    """Send all blocks and notes, the superseded ones too, as JSON."""
    deadlines.allow(_EXPORT_SECONDS)
    readable_owner(request, owner)
    blocks = [
        {
            "label": block.label,
            "title": block.title,
            "description": block.description,
            "body": block.body,
            "limit": block.limit,
            "read_only": block.read_only,
            "created_at": block.created_at.isoformat(),
            "updated_at": block.updated_at.isoformat(),
        }
        for block in reads.blocks(owner)
    ]
    exported = {
        "owner": owner,
        "exported_at": timezone.now().isoformat(),
        "blocks": blocks,
        "notes": [note.as_json() for note in reads.notes(owner)],
    }
    return _download(_line_by_line(exported), f"{owner}.json", "application/json")


@form_page
def import_markdown(request: Request, owner: str) -> HttpResponse:
    """Bring in a memories.md, as one commit in the owner's name; with `check`, only say what it would do.

    The answer is what became of the file. Whoever opens the page while an import runs is told so.
    """
    person = own_memory(request, owner)
    if request.method != "POST":
        return _import_start(request, person)
    form: ImportForm | CheckedImportForm
    form = CheckedImportForm(request.POST) if "carried" in request.POST else ImportForm(request.POST, request.FILES)
    if not form.is_valid():
        return _import_again(request, person, form)
    data, file_name = _sent(form)
    deadlines.allow(_IMPORT_SECONDS)
    by = ChangeContext(actor=person, reasoning=form.cleaned_data["comment"])
    is_check = "check" in request.POST
    carry_out = imports.check_file if is_check else imports.import_file
    try:
        done = carry_out(by=by, owner=owner, data=data)
    except memories_md.Unreadable as error:
        form.add_error(_file_field(form), _sentence(error))
        return _import_again(request, person, form)
    except REFUSALS as error:
        return _import_again(request, person, form, status=add_refusal(form, error))
    if done.is_empty:
        form.add_error(
            _file_field(form), _("There are no memories in this file: it has no heading such as “### mem-…”.")
        )
        return _import_again(request, person, form)
    if is_check:
        return _import_page(request, person, _checked(done, data, file_name, by.reasoning))
    changed = [change.id for change in done.outcome.changes if change.before] if done.outcome else []
    overtaken = Proposal.objects.open().of_owner(owner).about_notes(changed).count() if changed else 0
    return _import_page(request, person, {"done": done, "file_name": file_name, "overtaken": overtaken})


def _import_start(request: Request, person: User) -> HttpResponse:
    """Show the form; after an expired session what the file would do, where it was sent back already checked."""
    kept = kept_fields(request)
    comment = kept.get("comment", "")
    context: dict[str, object] = {"was_signed_out": bool(kept)}
    if kept.get("carried"):
        form = CheckedImportForm(kept)
        try:
            if form.is_valid():
                data, file_name = _sent(form)
                deadlines.allow(_IMPORT_SECONDS)
                by = ChangeContext(actor=person, reasoning=comment)
                done = imports.check_file(by=by, owner=person.username, data=data)
                return _import_page(request, person, context | _checked(done, data, file_name, comment))
        except (memories_md.Unreadable, *REFUSALS):
            pass  # the form says that the file has to be chosen again
    context |= {"form": _form(comment=comment), "is_under_way": imports.is_under_way(person.username)}
    return _import_page(request, person, context)


def _sent(form: ImportForm | CheckedImportForm) -> tuple[bytes, str]:
    """Return the bytes of the file of a valid form, and its name."""
    if isinstance(form, CheckedImportForm):
        return form.cleaned_data["carried"], form.cleaned_data["file_name"]
    file = form.cleaned_data["file"]
    return file.read(), file.name


def _file_field(form: ImportForm | CheckedImportForm) -> str:
    return "carried" if isinstance(form, CheckedImportForm) else "file"


def _checked(check: ImportOutcome, data: bytes, file_name: str, comment: str) -> dict[str, object]:
    """Return what the page says of a file that was checked, and the form that imports it."""
    carried = packed(data)
    initial = {"carried": carried, "file_name": file_name[:200], "comment": comment}
    return {
        "check": check,
        "count": len(check.changes),
        "by_type": note_history.counted(check.changes),
        "changed": note_history.changed(check.changes),
        "new": note_history.new(check.changes),
        "file_name": file_name,
        "checked_form": CheckedImportForm(initial=initial) if carried else None,
        "form": None if carried else _form(comment=comment),
    }


def _line_by_line(exported: dict[str, Any]) -> str:
    """Return JSON with a line for each block and note. Indenting it is Python's own code: 0.6 s for 20,000 notes."""
    parts = []
    for name, value in exported.items():
        if isinstance(value, list):
            rows = ",\n    ".join(json.dumps(row, ensure_ascii=False) for row in value)
            parts.append(f'  "{name}": [\n    {rows}\n  ]' if rows else f'  "{name}": []')
        else:
            parts.append(f'  "{name}": {json.dumps(value, ensure_ascii=False)}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _form(comment: str = "") -> ImportForm:
    return ImportForm(initial={"comment": comment})


def _import_again(
    request: Request, person: User, form: ImportForm | CheckedImportForm, *, status: int = 422
) -> HttpResponse:
    """Return the form with its errors and what was typed."""
    if isinstance(form, CheckedImportForm):
        again = _form(comment=request.POST.get("comment", ""))
        errors = [error for each in form.errors.values() for error in each]
        context = {"form": again, "refused": errors, "checked_form": form if "carried" not in form.errors else None}
        return _import_page(request, person, context | {"file_name": request.POST.get("file_name", "")}, status=status)
    return _import_page(request, person, {"form": form}, status=status)


def _import_page(request: Request, person: User, context: dict[str, object], *, status: int = 200) -> HttpResponse:
    context |= about(request, person) | {"tab": "notes"}
    return render(request, "notes/import_part.html" if request.htmx else "notes/import.html", context, status=status)


def _sentence(error: Exception) -> str:
    text = str(error)
    return f"{text[:1].upper()}{text[1:]}."


def _download(text: str, name: str, content_type: str) -> HttpResponse:
    response = HttpResponse(text, content_type=f"{content_type}; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
