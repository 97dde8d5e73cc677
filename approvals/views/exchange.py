"""Taking a memory out and bringing notes in: memories.md, and everything as JSON."""

from __future__ import annotations

import json

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_safe

from approvals.forms_memory import REFUSALS
from approvals.forms_notes import ImportForm, add_note_refusal
from approvals.services import imports
from approvals.services.notes import By
from approvals.views.auth import signed_in
from approvals.views.editing import own_memory
from approvals.views.memory import readable_owner
from memory_app import memories_md, recall
from memory_app.memories_md import Memory


@signed_in()
@require_safe
def export_markdown(request: HttpRequest, owner: str) -> HttpResponse:
    """The notes that hold today, as memories.md."""
    readable_owner(request, owner)
    notes = recall.notes(owner, include_superseded=False)
    text = memories_md.write(
        Memory(id=note.id, type=note.type, content=note.content, tags=note.tags, created=note.created_at.date())
        for note in notes
    )
    return _download(text, "memories.md", "text/markdown")


@signed_in()
@require_safe
def export_json(request: HttpRequest, owner: str) -> HttpResponse:
    """All blocks and notes, the superseded ones too, as JSON."""
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
        for block in recall.blocks(owner)
    ]
    exported = {
        "owner": owner,
        "exported_at": timezone.now().isoformat(),
        "blocks": blocks,
        "notes": [note.as_json() for note in recall.notes(owner)],
    }
    return _download(json.dumps(exported, ensure_ascii=False, indent=2) + "\n", f"{owner}.json", "application/json")


@signed_in()
@transaction.non_atomic_requests
@require_http_methods(["GET", "HEAD", "POST"])
def import_markdown(request: HttpRequest, owner: str) -> HttpResponse:
    """Bring in a memories.md, as one commit in the owner's name."""
    person = own_memory(request, owner)
    context = {"section": "memory", "owner": person, "is_own": True, "tab": "notes"}
    if request.method != "POST":
        return render(request, "notes/import.html", {**context, "form": ImportForm()})
    form = ImportForm(request.POST, request.FILES)
    status = 422
    if form.is_valid():
        try:
            parsed = memories_md.read(form.cleaned_data["file"].read())
            done = imports.import_memories(
                by=By(actor=person, reasoning=form.cleaned_data["comment"]), owner=owner, parsed=parsed
            )
        except memories_md.Unreadable as error:
            form.add_error("file", str(error))
        except REFUSALS as error:
            status = add_note_refusal(form, error)
        else:
            if not (parsed.memories or parsed.skipped):
                form.add_error("file", _("There are no memories in this file: it has no heading such as “### mem-…”."))
                return render(request, "notes/import.html", {**context, "form": form}, status=422)
            messages.success(request, _said(done))
            if not done.skipped:
                return redirect("notes", owner=owner)
            return render(request, "notes/import.html", {**context, "form": ImportForm(), "skipped": done.skipped})
    return render(request, "notes/import.html", {**context, "form": form}, status=status)


def _said(done: imports.Imported) -> str:
    if not done.outcome:
        return _("The memory says all of it already.")
    made = ngettext("%(n)d note was added", "%(n)d notes were added", done.created) % {"n": done.created}
    return _("%(made)s, %(updated)d changed, %(unchanged)d were there as they are.") % {
        "made": made,
        "updated": done.updated,
        "unchanged": done.unchanged,
    }


def _download(text: str, name: str, content_type: str) -> HttpResponse:
    response = HttpResponse(text, content_type=f"{content_type}; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
