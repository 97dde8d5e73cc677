"""A block's past: every change of it, two versions compared, and where each sentence comes from.

A viewer who may not read an owner's memory gets the answer of a page that is not there.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from approvals.accounts.sign_in import signed_in
from approvals.accounts.viewer import viewer_of
from approvals.pages.blocks import NOW, Version, field_changes, history_entries, undoable, version
from approvals.pages.versions.blame import blamed_text
from approvals.views.memory.block_views import unknown_revision
from approvals.views.memory.owners import about, readable_owner
from approvals.views.request import whole_number
from memory_app import reads
from memory_app.dolt.errors import RevisionNotFound
from memory_app.models import TargetKind
from memory_app.text import worddiff

CHANGES_ON_A_PAGE = 20


@signed_in()
@require_safe
def block_history(request: HttpRequest, owner: str, label: str) -> HttpResponse:
    """Show every change of a block, newest first; with `?a=` and `?b=`, what changed between two of them."""
    person = readable_owner(request, owner)
    before = whole_number(request.GET.get("before", ""), digits=17)
    changes = reads.history(owner, TargetKind.BLOCK, label, limit=CHANGES_ON_A_PAGE + 1, before=before)
    current = reads.find_block(owner, label)
    if current is None and not changes:
        raise Http404
    page = changes[:CHANGES_ON_A_PAGE]
    older = changes[CHANGES_ON_A_PAGE] if len(changes) > CHANGES_ON_A_PAGE else None
    entries = history_entries(page, older=older)
    context = {
        **about(request, person),
        "label": label,
        "title": current.display_title if current else reads.title_of(label),
        "current": current,
        "entries": entries,
        "undoable": undoable(entries, viewer_of(request)),
        "is_first_page": not before,
        "older": urlencode({"before": page[-1].pk}) if older else "",
    }
    if "a" in request.GET or "b" in request.GET:
        a, b = request.GET.get("a", ""), request.GET.get("b", "") or NOW
        try:
            context["comparison"] = compare(version(owner, label, a), version(owner, label, b))
        except RevisionNotFound as error:
            return unknown_revision(request, person, label, str(error))
        context |= {"a": a, "b": b}
    return render(request, "memory/block_history.html", context)


@dataclass(frozen=True)
class Comparison:
    """Two versions of a block and what lies between them."""

    before: Version
    after: Version
    segments: tuple[worddiff.Segment, ...]
    fields: tuple[object, ...]

    @property
    def same_text(self) -> bool:
        return self.before.body == self.after.body


def compare(before: Version, after: Version) -> Comparison:
    return Comparison(
        before=before,
        after=after,
        segments=worddiff.diff(before.body, after.body),
        fields=field_changes(before.block, after.block) if before.block and after.block else (),
    )


@signed_in()
@require_safe
def block_blame(request: HttpRequest, owner: str, label: str) -> HttpResponse:
    """Show the text with who proposed and approved each sentence, when and why; with `?s=`, all about one of them."""
    person = readable_owner(request, owner)
    found = reads.blame_of_block(owner, label)
    current = reads.find_block(owner, label)
    if current is None and not found.changes:
        raise Http404
    context = {
        **about(request, person),
        "label": label,
        "title": current.display_title if current else reads.title_of(label),
    }
    if current is None:
        last = history_entries(found.changes[-1:])[0]
        return render(request, "memory/block_missing.html", {**context, "last": last}, status=410)
    by_age = request.GET.get("by") == "age"
    blamed = blamed_text(
        found,
        chosen=whole_number(request.GET.get("s", "")),
        now=timezone.now(),
        query="&by=age" if by_age else "",
    )
    return render(request, "memory/block_blame.html", {**context, "blamed": blamed, "by_age": by_age})
