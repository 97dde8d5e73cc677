"""Reading memory: the blocks of an owner, one block now and earlier.

Its history is `block_history`, changing it `block_forms`. A viewer who may not read an owner's
memory gets the answer of a page that is not there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext

from approvals import permissions, services
from approvals.accounts.sign_in import viewer_of
from approvals.markdown import rendering
from approvals.models import Proposal, User
from approvals.pages.blocks import NOW, HistoryEntry, history_entries, version, waiting_and_new, waiting_by_block
from approvals.pages.memory_search import find
from approvals.pages.notes_page import Automatic, automatic_changes
from approvals.views.request import reading_page, whole_number
from memory_app import reads
from memory_app.dolt.errors import RevisionNotFound
from memory_app.models import Change, TargetKind
from memory_app.reads import Note
from memory_app.text.lines import first_words

# -- Whose memory a person may read: the owner that an address names. The list of them is the board (`statistics`).


def readable_owner(request: HttpRequest, owner: str) -> User:
    """Return the owner, if this viewer may read their memory. Without a worker, finish first what was cut off.

    Raises:
        Http404: they may not, or there is no such person; which of the two is not said.
    """
    if not permissions.may_read(viewer_of(request), owner):
        raise Http404
    person = User.objects.filter(username=owner).first()
    if person is None:
        raise Http404
    services.recover_on_read()
    return person


def own_memory(request: HttpRequest, owner: str) -> User:
    """Return the viewer, if the memory is their own.

    Raises:
        Http404: it is another's. Tutors and staff may read it, but this is not where they would edit.
    """
    person = readable_owner(request, owner)
    if person.pk != viewer_of(request).pk:
        raise Http404
    return person


def about(request: HttpRequest, owner: User) -> dict[str, Any]:
    """Return what every page of a memory needs: whose it is, and whether it is the viewer's own."""
    return {"section": "memory", "owner": owner, "is_own": owner.pk == viewer_of(request).pk}


#: Drawing one takes 1 ms.
BLOCKS_ON_A_PAGE = 40
RECENT_CHANGES = 8
OPENING_LENGTH = 240
#: A block has a list of contents from so many characters and headings on: about two screens.
LONG_TEXT = 4_000
FEWEST_CONTENTS = 3


@dataclass(frozen=True)
class RecentChange:
    """A change in the list of the last ones, and where what it changed can be read.

    Args:
        automatic: what is known of it where no person approved it.
    """

    entry: HistoryEntry
    title: str
    url: str
    automatic: Automatic | None = None

    @classmethod
    def of(
        cls,
        entry: HistoryEntry,
        titles: Mapping[str, str],
        notes: Mapping[str, Note],
        automatic: Mapping[int, Automatic],
    ) -> RecentChange:
        """Return it with the title of a block or the first words of a note."""
        change = entry.change
        known = automatic.get(change.proposal_id or 0) if change.action == Change.Action.APPLIED else None
        if change.target_kind == TargetKind.BLOCK:
            url = reverse("block_history", args=[change.owner, change.target])
            return cls(entry, titles.get(change.target, change.target), url, known)
        note = notes.get(change.target)
        words = first_words(note.content, 80) if note else gettext("Deleted note")
        return cls(entry, words, reverse("note", args=[change.owner, change.target]), known)


def recent_changes(owner: str) -> list[Change]:
    """Return the last changes of an owner's memory, newest first; of a commit of many notes, one."""
    changes: dict[str, Change] = {}
    while len(changes) < RECENT_CHANGES:
        # Ten thousand rows may be one import: what lies before it is looked for without it.
        some = reads.changes_of(owner, limit=RECENT_CHANGES * 5, leaving_out=changes.keys())
        if not some:
            break
        for change in some:
            changes.setdefault(change.commit, change)
    return list(changes.values())[:RECENT_CHANGES]


@reading_page
def memory(request: HttpRequest, owner: str) -> HttpResponse:
    """Show the blocks of an owner and what changed lately."""
    person = readable_owner(request, owner)
    user = viewer_of(request)
    blocks = reads.blocks(owner)
    pages = max(1, -(-len(blocks) // BLOCKS_ON_A_PAGE))
    number = min(max(1, whole_number(request.GET.get("page", "")) or 1), pages)
    shown = blocks[(number - 1) * BLOCKS_ON_A_PAGE : number * BLOCKS_ON_A_PAGE]
    last = reads.last_changes(owner, TargetKind.BLOCK, [block.label for block in shown])
    recent = recent_changes(owner)
    waiting, new_blocks = waiting_and_new(owner, [block.label for block in shown])
    changes_shown = [last[block.label] for block in shown if block.label in last]
    entries = {entry.change.pk: entry for entry in history_entries([*changes_shown, *recent])}
    titles = {block.label: block.display_title for block in blocks}
    said = reads.find_notes(owner, {change.target for change in recent if change.target_kind == TargetKind.NOTE})
    automatic = {each.proposal.pk: each for each in automatic_changes(owner, user)}
    return render(
        request,
        "memory/memory.html",
        {
            **about(request, person),
            "rows": [
                {
                    "block": block,
                    "opening": opening(block.body),
                    "last": entries[last[block.label].pk] if block.label in last else None,
                    "waiting": waiting.get(block.label, ()),
                }
                for block in shown
            ],
            "new_blocks": new_blocks,
            "block_count": len(blocks),
            "page": number,
            "pages": pages,
            "waiting_total": Proposal.objects.open().of_owner(owner).count(),
            "recent": [RecentChange.of(entries[change.pk], titles, said, automatic) for change in recent],
            "automatic": automatic,
            "tab": "blocks",
        },
    )


@reading_page
def block(request: HttpRequest, owner: str, label: str) -> HttpResponse:
    """Show one block, as it is or (`?as_of=` a commit or a time) as it was."""
    person = readable_owner(request, owner)
    as_of = request.GET.get("as_of", "").strip()
    try:
        shown = version(owner, label, as_of or NOW)
    except RevisionNotFound:
        return unknown_revision(request, person, label, as_of)
    if shown.block is None and shown.last is None and not as_of:
        raise Http404
    context = {
        **about(request, person),
        "label": label,
        "title": shown.block.display_title if shown.block else reads.title_of(label),
        "shown": shown,
        "memory_block": shown.block,
        "as_of": as_of,
        "view": "source" if request.GET.get("view") == "source" else "text",
        "last": history_entries([shown.last])[0] if shown.last else None,
        "may_restore": permissions.may_edit(viewer_of(request), owner),
    }
    if shown.block is None:
        return render(request, "memory/block_missing.html", context, status=404 if as_of else 410)
    if context["view"] == "text":
        context["text"], headings = rendering.lay_out(shown.block.body, top=2)
        if len(shown.block.body) >= LONG_TEXT and len(headings) >= FEWEST_CONTENTS:
            context["headings"] = headings
    if shown.is_now:
        context["pending"] = waiting_by_block(owner, [label]).get(label, [])
    return render(request, "memory/block.html", context)


def unknown_revision(request: HttpRequest, person: User, label: str, revision: str) -> HttpResponse:
    """Return the page for a commit or time that this memory does not know, with links onward."""
    there = reads.find_block(person.username, label)
    title = there.display_title if there else reads.title_of(label)
    context = {**about(request, person), "label": label, "title": title}
    return render(request, "memory/unknown_revision.html", {**context, "revision": revision}, status=404)


def opening(body: str) -> str:
    """Return the first words of a text for lists, without headings and tables where the text has more than these."""
    lines = [line.strip() for line in body[: OPENING_LENGTH * 8].splitlines()]
    prose = [line for line in lines if line and not line.startswith(("#", "|", "---", "```"))]
    words = rendering.on_one_line("\n".join(prose or lines))
    return words if len(words) <= OPENING_LENGTH else words[:OPENING_LENGTH].rsplit(" ", 1)[0] + "\u00a0…"


# -- The search box over one memory.

LONGEST_QUERY = 500


@reading_page
def search(request: HttpRequest, owner: str) -> HttpResponse:
    """Show what matches `?q=` in a memory: blocks, notes and open proposals."""
    person = readable_owner(request, owner)
    query = request.GET.get("q", "").replace("\0", "").strip()[:LONGEST_QUERY]
    context = {
        **about(request, person),
        "query": query,
        "found": find(owner, query) if query else None,
    }
    return render(request, "memory/memory_search.html", context)
