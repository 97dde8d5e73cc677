"""A block's past: every change of it, two versions compared, and where each sentence comes from.

A viewer who may not read an owner's memory gets the answer of a page that is not there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from approvals import permissions, services
from approvals.accounts.sign_in import viewer_of
from approvals.forms.memory import RestoreForm
from approvals.models import User
from approvals.pages.blocks import NOW, Version, field_changes, history_entries, undoable, version
from approvals.pages.versions import ChangeBy, blamed_text, strip_of
from approvals.review.diff_mode import laid_out
from approvals.services import BlockFields
from approvals.services.errors import BlockChanged, LabelTaken
from approvals.views.block_views import about, readable_owner, unknown_revision
from approvals.views.request import reading_page, whole_number
from approvals.views.service_form import ServiceFormView
from memory_app import reads
from memory_app.dolt.errors import RevisionNotFound
from memory_app.models import Change, TargetKind
from memory_app.reads import Block, BlockNotFound
from memory_app.reads.blame import BlockBlame, blame_of_block

CHANGES_ON_A_PAGE = 20
#: Drawing one takes 0.5 ms; what is told of sentences from further changes is fetched when they are pointed at.
CHANGES_IN_A_TABLE = 25


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
    person = readable_owner(request, owner)
    found = blame_of_block(owner, label)
    current = reads.find_block(owner, label)
    if current is None and not found.changes:
        raise Http404
    context = {
        **about(request, person),
        "label": label,
        "title": current.display_title if current else reads.title_of(label),
        "current": current,
        "page_url": reverse("block_history", args=[owner, label]),
        "page_query": request.GET,
    }
    try:
        context |= _chosen(request, found)
    except RevisionNotFound as error:
        return unknown_revision(request, person, label, str(error))
    context["may_restore"] = permissions.may_edit(viewer_of(request), owner)
    if getattr(request, "htmx", False) and request.headers.get("HX-Target") == "shown":
        return render(request, "memory/version_part.html", context)
    before = whole_number(request.GET.get("before", ""), digits=17)
    changes = reads.history(owner, TargetKind.BLOCK, label, limit=CHANGES_ON_A_PAGE + 1, before=before)
    page = changes[:CHANGES_ON_A_PAGE]
    older = changes[CHANGES_ON_A_PAGE] if len(changes) > CHANGES_ON_A_PAGE else None
    entries = history_entries(page, older=older)
    context |= {
        "versions": len(found.changes),
        "kinds": [by for by in ChangeBy if any(bar.by == by for bar in context["strip"])],
        "entries": entries,
        "undoable": undoable(entries, viewer_of(request)),
        "is_first_page": not before,
        "older": urlencode({"before": page[-1].pk}) if older else "",
    }
    return render(request, "memory/block_history.html", context)


def _chosen(request: HttpRequest, found: BlockBlame) -> dict[str, object]:
    """Return what the page shows of what the address chooses in the strip.

    Raises:
        RevisionNotFound: it names a commit that this memory, or for `?v=` and `?from=` this block, does not have.
    """
    asked, owner, label = request.GET, found.owner, found.label
    if "a" in asked or "b" in asked:
        a, b = asked.get("a", ""), asked.get("b", "") or NOW
        comparison = compare(version(owner, label, a), version(owner, label, b))
        last = found.changes[-1].commit if found.changes else ""
        strip = strip_of(found, ends=(a, last if b == NOW else b))
        return {"strip": strip, "comparison": comparison, "a": a, "b": b}
    if picked := asked.get("from", ""):
        _number(found, picked)
        return {"strip": strip_of(found, picked=picked), "picked": version(owner, label, picked)}
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
    owner, label = found.owner, found.label
    number = _number(found, commit)
    previous = found.changes[number - 1].commit if number else ""
    entry = replace(history_entries([found.changes[number]])[0], previous=previous)
    now, then = version(owner, label, NOW), version(owner, label, commit)
    return {
        "number": number + 1,
        "versions": len(found.changes),
        "entry": entry,
        "comparison": compare(version(owner, label, previous), then),
        "by": ChangeBy.of(entry.change),
        "newer": found.changes[number + 1].commit if number + 1 < len(found.changes) else "",
        "is_as_now": bool(
            then.block and now.block and then.body == now.body and not field_changes(then.block, now.block)
        ),
        "is_undoable": bool(undoable([entry], viewer)),
    }


@reading_page
def block_blame(request: HttpRequest, owner: str, label: str) -> HttpResponse:
    """Show the text with who proposed and approved each sentence, when and why; with `?s=`, all about one of them."""
    person = readable_owner(request, owner)
    found = blame_of_block(owner, label)
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
    context |= {"blamed": blamed, "by_age": by_age, "is_peek": "peek" in request.GET}
    is_all = "all" in request.GET
    rows = blamed.changes if is_all else blamed.changes[:CHANGES_IN_A_TABLE]
    return render(request, "memory/block_blame.html", {**context, "rows": rows, "is_all": is_all})


# -- Making an earlier version of a block the current one: a new change, shown as a difference before it is saved.


class BlockRestore(ServiceFormView[RestoreForm]):
    """Restore the version that a commit of the block made. Title, description and text come back, not the rules."""

    template_name = "memory/block_restore.html"
    form_class = RestoreForm
    conflicts = (BlockChanged, BlockNotFound, LabelTaken)
    success_message = gettext_lazy("Restored. The version before is in the history.")
    current: Block | None
    old: Version
    then: Block

    def find_owner(self, request: HttpRequest, owner: str) -> User:
        return readable_owner(request, owner)

    def load(self) -> HttpResponse | None:
        self.label: str = self.kwargs["label"]
        commit: str = self.kwargs["commit"]
        username = self.owner.username
        own = Change.objects.filter(owner=username, target_kind=TargetKind.BLOCK, target=self.label, commit=commit)
        try:
            old = version(username, self.label, commit) if own.exists() else None
        except RevisionNotFound:
            old = None
        if old is None or old.block is None:
            return unknown_revision(self.request, self.owner, self.label, commit)
        self.old, self.then = old, old.block
        self.current = reads.find_block(username, self.label)
        if permissions.may_edit(viewer_of(self.request), username):
            return None
        context = {**about(self.request, self.owner), "label": self.label, "title": self.then.display_title}
        return render(self.request, "memory/restore_refused.html", {**context, "old": old}, status=403)

    def initial_fields(self) -> dict[str, Any]:
        at = date_format(timezone.localtime(self.old.at), "j M Y, H:i") if self.old.at else self.old.commit[:10]
        comment = _("Restored the version from %(date)s") % {"date": at}
        return {"comment": comment, "loaded_sha256": self.current.sha256 if self.current else ""}

    def restored(self) -> BlockFields:
        """Return the content of then under the rules of today."""
        rules = self.current or self.then
        return BlockFields(
            title=self.then.title,
            description=self.then.description,
            body=self.then.body,
            limit=rules.limit,
            read_only=rules.read_only,
            schema_ref=rules.schema_ref,
        )

    def call_service(self, form: RestoreForm) -> None:
        loaded: str = form.cleaned_data["loaded_sha256"]
        comment: str = form.cleaned_data["comment"]
        actor, owner = viewer_of(self.request), self.owner.username
        if loaded:
            services.edit_block(
                actor=actor,
                owner=owner,
                label=self.label,
                fields=self.restored(),
                loaded_sha256=loaded,
                comment=comment,
            )
        else:
            services.create_block(actor=actor, owner=owner, label=self.label, fields=self.restored(), comment=comment)

    def on_conflict(self, form: RestoreForm, error: Exception) -> HttpResponse:
        self.current = reads.find_block(self.owner.username, self.label)
        if self.current and self.is_as_now():  # the same form, sent twice
            return self.succeed()
        return self.show(self.sent_about(self.current.sha256 if self.current else ""), overtaken=True, status=409)

    def is_as_now(self) -> bool:
        """Whether the block says already what it said then."""
        return bool(
            self.current and self.current.body == self.then.body and not field_changes(self.current, self.restored())
        )

    def get_success_url(self) -> str:
        return reverse("block", args=[self.owner.username, self.label])

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        body, then = self.current.body if self.current else "", self.then.body
        return super().get_context_data(
            label=self.label,
            title=(self.current or self.then).display_title,
            old=self.old,
            memory_block=self.current,
            redline=laid_out(body, then) if body != then else None,
            page_url=self.request.path,
            page_query=self.request.GET,
            fields=field_changes(self.current, self.restored()) if self.current else (),
            is_as_now=self.is_as_now(),
            **kwargs,
        )
