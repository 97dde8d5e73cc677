"""Reading memory: the blocks of an owner, one block now and earlier, its history, and where each sentence comes from.

Changing it is `block_forms`. A viewer who may not read an owner's memory gets the answer of a page that is not there.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext

from approvals import audit, permissions, services
from approvals.accounts.sign_in import viewer_of
from approvals.markdown import rendering
from approvals.models import Proposal, User
from approvals.pages import blocks
from approvals.pages.blocks import HistoryEntry, Version
from approvals.pages.memory_search import find
from approvals.pages.notes_page import Automatic, automatic_changes
from approvals.pages.versions import ChangeBy, blamed_text, entries_of, strip_of
from approvals.review.diff_mode import laid_out
from approvals.review.note_changes import field_changes
from approvals.services import erasing
from approvals.views.request import reading_page, whole_number
from memory_app import reads, sealing
from memory_app.dolt.errors import RevisionNotFound
from memory_app.models import Change, TargetKind
from memory_app.reads.blame import BlockBlame, blame_of_block
from memory_app.text.lines import first_words


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
    audit.opened(owner, request.path)
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
    """Return what every page of a memory needs: whose it is, whether it is the viewer's own, and theirs to erase."""
    viewer = viewer_of(request)
    may_erase = permissions.may_erase(viewer, owner.username)
    return {"section": "memory", "owner": owner, "is_own": owner.pk == viewer.pk, "may_erase": may_erase}


def about_memory(request: HttpRequest, owner: User, tab: str) -> dict[str, Any]:
    """Return what every tab of a memory needs."""
    waiting = Proposal.objects.open().of_owner(owner.username).count()
    return {**about(request, owner), "tab": tab, "waiting_total": waiting}


def about_block(request: HttpRequest, owner: User, label: str, block: reads.Block | None) -> dict[str, Any]:
    """Return what every page of a block needs, also of one that is not there."""
    title = block.display_title if block else reads.title_of(label)
    erased = erasing.told(owner.username, TargetKind.BLOCK, label)
    return {**about(request, owner), **erased, "label": label, "title": title}


#: Drawing one takes 1 ms.
BLOCKS_ON_A_PAGE = 40
RECENT_CHANGES = 5
OPENING_LENGTH = 240
#: A block has a list of contents from so many characters and headings on: about two screens.
LONG_TEXT = 4_000
FEWEST_CONTENTS = 3
CHANGES_ON_A_PAGE = 20
#: Drawing one takes 0.5 ms; what is told of sentences from further changes is fetched when they are pointed at.
CHANGES_IN_A_TABLE = 25


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
    every = reads.blocks(owner)
    shown = Paginator(every, BLOCKS_ON_A_PAGE).get_page(whole_number(request.GET.get("page", "")) or 1)
    last = reads.last_changes(owner, TargetKind.BLOCK, [block.label for block in shown])
    recent = recent_changes(owner)
    waiting, new_blocks = blocks.waiting_and_new(owner, [block.label for block in shown])
    entries = {entry.change.pk: entry for entry in blocks.history_entries([*last.values(), *recent])}
    titles = {block.label: block.display_title for block in every}
    said = reads.find_notes(owner, {change.target for change in recent if change.target_kind == TargetKind.NOTE})
    applied = [entries[change.pk].proposal for change in recent if change.action == Change.Action.APPLIED]
    automatic = {each.proposal.pk: each for each in automatic_changes(owner, user, filter(None, applied))}
    return render(
        request,
        "memory/memory.html",
        {
            **about_memory(request, person, "blocks"),
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
            "block_count": len(every),
            "page": shown.number,
            "pages": shown.paginator.num_pages,
            "recent": [_recent_change(entries[change.pk], titles, said, automatic) for change in recent],
        },
    )


def _recent_change(
    entry: HistoryEntry, titles: Mapping[str, str], notes: Mapping[str, reads.Note], automatic: Mapping[int, Automatic]
) -> dict[str, Any]:
    """Return a change in the list of the last ones: what it changed, where that can be read, and what is known of it
    where no person approved it. Then the proposal has what it changed, which for an import is many notes."""
    change = entry.change
    known = automatic.get(change.proposal_id or 0) if change.action == Change.Action.APPLIED else None
    if change.target_kind == TargetKind.BLOCK:
        title, page = titles.get(change.target, change.target), "block_history"
    else:
        note = notes.get(change.target)
        title, page = first_words(note.content, 80) if note else gettext("Deleted note"), "note"
    url = known.proposal.get_absolute_url() if known else reverse(page, args=[change.owner, change.target])
    if known and known.proposal.target_kind == TargetKind.IMPORT:
        title = known.proposal.target_title
    return {"entry": entry, "title": title, "url": url, "automatic": known}


@reading_page
def block(request: HttpRequest, owner: str, label: str) -> HttpResponse:
    """Show one block, as it is or (`?as_of=` a commit or a time) as it was."""
    person = readable_owner(request, owner)
    as_of = request.GET.get("as_of", "").strip()
    try:
        shown = blocks.version(owner, label, as_of or blocks.NOW)
    except RevisionNotFound as error:
        return unknown_revision(request, person, label, as_of, error)
    if shown.block is None and shown.last is None and not as_of:
        raise Http404
    context = {
        **about_block(request, person, label, shown.block),
        "shown": shown,
        "current": shown.block if shown.is_now else None,
        "tab": "text" if shown.is_now else "history",
        "memory_block": shown.block,
        "as_of": as_of,
        "view": "source" if request.GET.get("view") == "source" else "text",
        "last": blocks.history_entries([shown.last])[0] if shown.last else None,
        "may_restore": permissions.may_edit(viewer_of(request), owner),
    }
    if shown.block is None:
        return render(request, "memory/block_missing.html", context, status=404 if as_of else 410)
    if context["view"] == "text":
        context["text"], headings = rendering.lay_out(shown.block.body, top=2)
        if len(shown.block.body) >= LONG_TEXT and len(headings) >= FEWEST_CONTENTS:
            context["headings"] = headings
    if shown.is_now:
        context["pending"] = blocks.waiting_on(owner, label)
    return render(request, "memory/block.html", context)


def unknown_revision(
    request: HttpRequest, person: User, label: str, revision: str, error: RevisionNotFound | None = None
) -> HttpResponse:
    """Return the page for a commit or time that this memory does not know, or that was erased, with links onward."""
    context = about_block(request, person, label, reads.find_block(person.username, label))
    context |= about_revision(person, revision, error)
    return render(request, "memory/block_missing.html", context, status=410 if context["is_erased"] else 404)


def about_revision(person: User, revision: str, error: RevisionNotFound | None) -> dict[str, Any]:
    """Return what `components/unknown_revision.html` needs."""
    is_erased = isinstance(error, sealing.TextErased)
    return {"revision": revision, "history_from": reads.history_from(person.username), "is_erased": is_erased}


def opening(body: str) -> str:
    """Return the first words of a text for lists, without headings and tables where the text has more than these."""
    lines = [line.strip() for line in body[: OPENING_LENGTH * 8].splitlines()]
    prose = [line for line in lines if line and not line.startswith(("#", "|", "---", "```"))]
    return first_words(rendering.on_one_line("\n".join(prose or lines)), OPENING_LENGTH)


def compare(before: Version, after: Version) -> dict[str, Any]:
    """Return two versions of a block and what lies between them; no redline where the text is the same in both."""
    changed = laid_out(before.body, after.body) if before.body != after.body else None
    fields = field_changes(before.block, after.block) if before.block and after.block else ()
    return {"before": before, "after": after, "redline": changed, "fields": fields}


@reading_page
def block_history(request: HttpRequest, owner: str, label: str) -> HttpResponse:
    """Show every change of a block, as a strip and as a list, newest first.

    With `?v=` a commit, what that change did; with `?a=` and `?b=`, what changed between two versions; with `?from=`,
    the bars of the strip lead to comparisons with that one.
    """
    person, found, context = _history_of(request, owner, label)
    context |= {"tab": "history", "page_url": reverse("block_history", args=[owner, label]), "page_query": request.GET}
    try:
        context |= _chosen(request, found)
    except RevisionNotFound as error:
        return unknown_revision(request, person, label, str(error), error)
    context["may_restore"] = permissions.may_edit(viewer_of(request), owner)
    if getattr(request, "htmx", False) and request.headers.get("HX-Target") == "shown":
        return render(request, "memory/version_part.html", context)
    before = whole_number(request.GET.get("before", ""), digits=17)
    changes = reads.history(owner, TargetKind.BLOCK, label, limit=CHANGES_ON_A_PAGE + 1, before=before)
    entries, has_older = blocks.history_entries(changes)[:CHANGES_ON_A_PAGE], len(changes) > CHANGES_ON_A_PAGE
    picked = context["picked"].last if "picked" in context else None
    context |= {
        "versions": len(found.changes),
        "kinds": [by for by in ChangeBy if any(bar.by == by for bar in context["strip"])],
        "entries": [(entry, _leads_to(entry.change, picked)) for entry in entries],
        "is_first_page": not before,
        "older": urlencode({"before": entries[-1].change.pk}) if has_older else "",
    }
    return render(request, "memory/block.html", context)


def _history_of(request: HttpRequest, owner: str, label: str) -> tuple[User, BlockBlame, dict[str, Any]]:
    """Return the owner and the changes of a block, and what its pages about them need. Raises Http404 without any."""
    person = readable_owner(request, owner)
    found = blame_of_block(owner, label)
    current = found.block
    if current is None and not found.changes:
        raise Http404
    return person, found, about_block(request, person, label, current) | {"current": current, "memory_block": current}


def _version_of(found: BlockBlame, revision: str) -> Version:
    """Return a version as `version` does; of those the ledger has, which are known, only the text is read."""
    first = found.changes[0] if found.changes else None
    if revision == blocks.NOW and first:
        return Version(blocks.NOW, found.block, last=found.changes[-1], first=first)
    change = next((each for each in found.changes if each.commit == revision), None)
    if change is None:
        return blocks.version(found.owner, found.label, revision)
    block = reads.find_block(found.owner, found.label, revision)
    return Version(revision, block, at=change.at, last=change, first=first)


def _leads_to(change: Change, picked: Change | None) -> str:
    """Return where a change in the list leads: to its version, or to the comparison with the one that was picked."""
    if picked is None:
        return f"?v={change.commit}#version"
    older, newer = sorted((picked, change), key=lambda each: (each.at, each.pk))
    return f"?a={older.commit}&b={newer.commit}#comparison"


def _chosen(request: HttpRequest, found: BlockBlame) -> dict[str, object]:
    """Return what the page shows of what the address chooses in the strip.

    Raises:
        RevisionNotFound: it names a commit that this memory, or for `?v=` and `?from=` this block, does not have.
    """
    asked = request.GET
    if "a" in asked or "b" in asked:
        a, b = asked.get("a", ""), asked.get("b", "") or blocks.NOW
        comparison = compare(_version_of(found, a), _version_of(found, b))
        last = found.changes[-1].commit if found.changes else ""
        strip = strip_of(found, ends=(a, last if b == blocks.NOW else b))
        return {"strip": strip, "comparison": comparison, "a": a, "b": b}
    if picked := asked.get("from", ""):
        _number(found, picked)
        return {"strip": strip_of(found, picked=picked), "picked": _version_of(found, picked)}
    if commit := asked.get("v", ""):
        shown = _shown_version(found, commit, viewer_of(request))
        return {"strip": strip_of(found, shown=commit), "version": shown}
    return {"strip": strip_of(found)}


def _number(found: BlockBlame, commit: str) -> int:
    """Return the number of the version that a commit made, counted from 0. Raises RevisionNotFound."""
    for number, change in enumerate(found.changes):
        if change.commit == commit:
            return number
    raise RevisionNotFound(commit)


def _shown_version(found: BlockBlame, commit: str, viewer: User) -> dict[str, Any]:
    """Return a version of a block, counted from 1: who made it, what it changed, and those before and after it."""
    number = _number(found, commit)
    previous = found.changes[number - 1].commit if number else ""
    (entry,) = entries_of(found, [number])
    now, then = _version_of(found, blocks.NOW), _version_of(found, commit)
    return {
        "number": number + 1,
        "versions": len(found.changes),
        "entry": entry,
        "comparison": compare(_version_of(found, previous), then),
        "by": ChangeBy.of(entry.change),
        "newer": found.changes[number + 1].commit if number + 1 < len(found.changes) else "",
        "is_as_now": bool(
            then.block and now.block and then.body == now.body and not field_changes(then.block, now.block)
        ),
        "is_undoable": bool(blocks.undoable([entry], viewer)),
    }


@reading_page
def block_blame(request: HttpRequest, owner: str, label: str) -> HttpResponse:
    """Show the text with who proposed and approved each sentence, when and why; with `?s=`, all about one of them."""
    _person, found, context = _history_of(request, owner, label)
    if context["current"] is None:
        last = blocks.history_entries(found.changes[-1:])[0]
        return render(request, "memory/block_missing.html", {**context, "last": last}, status=410)
    by_age = request.GET.get("by") == "age"
    blamed = blamed_text(
        found, chosen=whole_number(request.GET.get("s", "")), now=timezone.now(), query="&by=age" if by_age else ""
    )
    is_all = "all" in request.GET
    context |= {
        "tab": "why",
        "blamed": blamed,
        "by_age": by_age,
        "is_peek": "peek" in request.GET,
        "is_all": is_all,
        "rows": blamed["changes"][: None if is_all else CHANGES_IN_A_TABLE],
    }
    return render(request, "memory/block.html", context)


LONGEST_QUERY = 500


@reading_page
def search(request: HttpRequest, owner: str) -> HttpResponse:
    """Show what matches `?q=` in a memory: blocks, notes and open proposals."""
    person = readable_owner(request, owner)
    query = request.GET.get("q", "").replace("\0", "").strip()[:LONGEST_QUERY]
    context = {
        **about(request, person),
        "tab": "search",
        "query": query,
        "found": find(owner, query) if query else None,
    }
    return render(request, "memory/memory.html", context)
