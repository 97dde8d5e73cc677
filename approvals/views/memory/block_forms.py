"""Writing one's own memory: change, create and delete a block, each a commit in the owner's name.

Only owners do it here; staff use the admin, tutors and agents propose nothing by hand. Nothing typed is
lost: every refusal shows the form again as it was sent.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from approvals import services
from approvals.accounts.sign_in import signed_in, typed_before
from approvals.accounts.viewer import viewer_of
from approvals.forms.memory import (
    REFUSALS,
    BlockForm,
    DeleteBlockForm,
    NewBlockForm,
    add_refusal,
)
from approvals.models import Mergeability, Proposal, User
from approvals.pages.blocks import field_changes, history_entries, version, waiting_by_block
from approvals.review.mergeability import assess
from approvals.services import BlockFields
from approvals.services.errors import BlockChanged, LabelTaken
from approvals.views.memory.block_views import readable_owner, unknown_revision
from approvals.views.request import whole_number
from memory_app import reads
from memory_app.dolt.errors import RevisionNotFound
from memory_app.models import TargetKind
from memory_app.reads import Block, BlockNotFound
from memory_app.text import worddiff


@signed_in()
@transaction.non_atomic_requests
@require_http_methods(["GET", "HEAD", "POST"])
def block_edit(request: HttpRequest, owner: str, label: str) -> HttpResponse:
    """Change a block. `?from=` fills the form with the text as it was, which is how one restores."""
    person = own_memory(request, owner)
    current = reads.find_block(owner, label)
    if request.method != "POST":
        kept = _kept(request)
        if current is None:
            if kept:
                return _deleted_meanwhile(request, person, label, BlockForm(kept))
            return redirect("block", owner=owner, label=label)
        if kept:
            return _edit_page(request, person, label, BlockForm(initial=kept), current)
        return _open_edit_form(request, person, current)
    form = BlockForm(request.POST)
    if not form.is_valid():
        return _edit_page(request, person, label, form, current, status=422)
    typed = form.fields_of_block(current)
    if "preview" in request.POST:
        if current is None:
            return _deleted_meanwhile(request, person, label, form)
        overtaken = form.cleaned_data["loaded_sha256"] != current.sha256
        shown = _about_now(request, current) if overtaken else form
        return _edit_page(request, person, label, shown, current, typed=typed, overtaken=overtaken)
    if current and current.body.strip() and not typed.body.strip() and "empty" not in request.POST:
        if "refill" in request.POST:
            return _edit_page(request, person, label, _with_text_of(request, current), current)
        return _edit_page(request, person, label, form, current, emptied=True, status=422)
    try:
        services.edit_block(
            actor=person,
            owner=owner,
            label=label,
            fields=typed,
            loaded_sha256=form.cleaned_data["loaded_sha256"],
            comment=form.cleaned_data["comment"],
        )
    except BlockNotFound:
        return _deleted_meanwhile(request, person, label, form)
    except BlockChanged as error:
        if error.current is None:
            return _deleted_meanwhile(request, person, label, form)
        if _says(error.current, typed):  # the same form, sent twice
            return _saved(request, owner, label)
        again = _about_now(request, error.current)
        return _edit_page(request, person, label, again, error.current, typed=typed, overtaken=True, status=409)
    except REFUSALS as error:
        return _edit_page(request, person, label, form, current, status=add_refusal(form, error))
    return _saved(request, owner, label)


@signed_in()
@transaction.non_atomic_requests
@require_http_methods(["GET", "HEAD", "POST"])
def block_new(request: HttpRequest, owner: str) -> HttpResponse:
    """Make a block. `?label=` and `?from=` bring back a deleted one as it was."""
    person = own_memory(request, owner)
    if request.method != "POST":
        if kept := _kept(request):
            return _new_page(request, person, NewBlockForm(initial=kept))
        initial: dict[str, object] = {"limit": settings.BLOCK_LIMIT, "label": request.GET.get("label", "")}
        if source := request.GET.get("from", ""):
            label = request.GET.get("label", "")
            try:
                old = version(owner, label, source)
            except RevisionNotFound:
                return unknown_revision(request, person, label, source)
            if old.block:
                initial |= BlockForm.initial_of(old.block)
        return _new_page(request, person, NewBlockForm(initial=initial))
    form = NewBlockForm(request.POST)
    if not form.is_valid():
        return _new_page(request, person, form, status=422)
    label, typed = form.cleaned_data["label"], form.fields_of_block(None)
    try:
        services.create_block(
            actor=person, owner=owner, label=label, fields=typed, comment=form.cleaned_data["comment"]
        )
    except LabelTaken as error:
        there = reads.find_block(owner, label)
        if there and _says(there, typed):  # the same form, sent twice
            return redirect("block", owner=owner, label=label)
        status = add_refusal(form, error)
        return _new_page(request, person, form, taken=there, status=status)
    except REFUSALS as error:
        return _new_page(request, person, form, status=add_refusal(form, error))
    messages.success(request, _("Block created."))
    return redirect("block", owner=owner, label=label)


@signed_in()
@transaction.non_atomic_requests
@require_http_methods(["GET", "HEAD", "POST"])
def block_delete(request: HttpRequest, owner: str, label: str) -> HttpResponse:
    """Delete a block, after saying what that means. Its history stays."""
    person = own_memory(request, owner)
    current = reads.find_block(owner, label)
    if current is None:
        return redirect("block", owner=owner, label=label)
    if request.method != "POST":
        form = DeleteBlockForm(initial={"loaded_sha256": current.sha256})
        return _delete_page(request, person, current, form)
    form = DeleteBlockForm(request.POST)
    if not form.is_valid():
        return _delete_page(request, person, current, form, status=422)
    try:
        services.delete_block(
            actor=person,
            owner=owner,
            label=label,
            loaded_sha256=form.cleaned_data["loaded_sha256"],
            comment=form.cleaned_data["comment"],
        )
    except BlockNotFound:
        pass  # sent twice: it is gone, as asked
    except BlockChanged as error:
        if error.current is not None:
            again = DeleteBlockForm({**request.POST.dict(), "loaded_sha256": error.current.sha256})
            return _delete_page(request, person, error.current, again, overtaken=True, status=409)
    except REFUSALS as error:
        return _delete_page(request, person, current, form, status=add_refusal(form, error))
    messages.success(request, _("“%(title)s” is deleted. Its history is kept.") % {"title": current.display_title})
    return redirect("memory", owner=owner)


def own_memory(request: HttpRequest, owner: str) -> User:
    """The viewer, if the memory is their own.

    Raises:
        Http404: it is another's. Tutors and staff may read it, but this is not where they would edit.
    """
    person = readable_owner(request, owner)
    if person.pk != viewer_of(request).pk:
        raise Http404
    return person


# -- pages ----------------------------------------------------------------------------------------


def _open_edit_form(request: HttpRequest, person: User, current: Block) -> HttpResponse:
    initial = BlockForm.initial_of(current)
    source = request.GET.get("from", "")
    if not source:
        return _edit_page(request, person, current.label, BlockForm(initial=initial), current)
    try:
        old = version(person.username, current.label, source)
    except RevisionNotFound:
        return unknown_revision(request, person, current.label, source)
    if old.block is None:
        return redirect("block", owner=person.username, label=current.label)
    # The content comes back, not the rules: limit and read-only stay as they are now.
    restored = BlockFields(
        title=old.block.title,
        description=old.block.description,
        body=old.block.body,
        limit=current.limit,
        read_only=current.read_only,
        schema_ref=current.schema_ref,
    )
    initial |= {"title": restored.title, "description": restored.description, "body": restored.body}
    return _edit_page(
        request, person, current.label, BlockForm(initial=initial), current, typed=restored, restoring=old
    )


def _edit_page(
    request: HttpRequest,
    person: User,
    label: str,
    form: BlockForm,
    current: Block | None,
    *,
    typed: BlockFields | None = None,
    status: int = 200,
    **more: object,
) -> HttpResponse:
    """The edit form; with `typed`, also what it would change in the block as it is now."""
    context: dict[str, object] = {
        "section": "memory",
        "owner": person,
        "is_own": True,
        "label": label,
        "title": current.display_title if current else reads.title_of(label),
        "memory_block": current,
        "form": form,
        "pending": _pending(person, label),
        "beside": _beside(request, person, label),
        **more,
    }
    if typed is not None and current is not None:
        context |= {
            "segments": worddiff.diff(current.body, typed.body),
            "changes_text": current.body != typed.body,
            "fields": field_changes(current, typed),
            "previewed": True,
        }
    if more.get("overtaken"):
        last = reads.history(person.username, TargetKind.BLOCK, label, limit=1)
        context["last"] = history_entries(last)[0] if last else None
    return render(request, "memory/block_edit.html", context, status=status)


def _deleted_meanwhile(request: HttpRequest, person: User, label: str, form: BlockForm) -> HttpResponse:
    """The block went while it was edited: offer to make it again with what was typed."""
    again = NewBlockForm(initial={**form.data, "label": label, "loaded_sha256": ""})
    return _new_page(request, person, again, deleted=True, status=409)


def _new_page(
    request: HttpRequest, person: User, form: NewBlockForm, *, status: int = 200, **more: object
) -> HttpResponse:
    context = {"section": "memory", "owner": person, "is_own": True, "form": form, **more}
    return render(request, "memory/block_new.html", context, status=status)


def _delete_page(
    request: HttpRequest, person: User, current: Block, form: DeleteBlockForm, *, status: int = 200, **more: object
) -> HttpResponse:
    context = {
        "section": "memory",
        "owner": person,
        "is_own": True,
        "label": current.label,
        "title": current.display_title,
        "memory_block": current,
        "form": form,
        "pending": _pending(person, current.label),
        **more,
    }
    return render(request, "memory/block_delete.html", context, status=status)


def _saved(request: HttpRequest, owner: str, label: str) -> HttpResponse:
    """Back to the block, saying which proposals the change got in the way of."""
    # Asked of the texts: with workers, the state in the rows is brought up to date a moment later.
    block = reads.find_block(owner, label)
    pending = Proposal.objects.open().on_target(owner, TargetKind.BLOCK, label)
    number = sum(assess(proposal.current_revision, block).state == Mergeability.CONFLICT for proposal in pending)
    text = _("Saved.")
    if number:
        text += " " + ngettext(
            "This made %(number)d proposal outdated.",
            "This made %(number)d proposals outdated.",
            number,
        ) % {"number": number}
    messages.success(request, text)
    return redirect("block", owner=owner, label=label)


@dataclass(frozen=True)
class _Beside:
    """What an agent proposed, on the text as it was then, beside the form in which a person writes."""

    proposal: Proposal
    segments: tuple[worddiff.Segment, ...]
    text: str


def _beside(request: HttpRequest, person: User, label: str) -> _Beside | None:
    """The open proposal for this block whose text `?beside=` asks for, to write from."""
    number = whole_number(request.GET.get("beside", ""))
    if number is None:
        return None
    found = Proposal.objects.open().on_target(person.username, TargetKind.BLOCK, label).filter(pk=number)
    proposal = found.select_related("agent").first()
    if proposal is None:
        return None
    shown = proposal.current_revision
    return _Beside(proposal, worddiff.diff(shown.base_text, shown.result_text), shown.result_text)


def _pending(person: User, label: str) -> list[Proposal]:
    return waiting_by_block(person.username, [label]).get(label, [])


def _with_text_of(request: HttpRequest, current: Block) -> BlockForm:
    """What was typed, with the block's text where it had been emptied."""
    return BlockForm(initial={**request.POST.dict(), "body": current.body, "read_only": "read_only" in request.POST})


def _about_now(request: HttpRequest, current: Block) -> BlockForm:
    """What was typed, as a change of the block as it is now: sent once more, it is saved over that."""
    form = BlockForm({**request.POST.dict(), "loaded_sha256": current.sha256})
    form.is_valid()
    return form


def _says(block: Block, typed: BlockFields) -> bool:
    return all(
        getattr(block, name) == getattr(typed, name) for name in ("title", "description", "body", "limit", "read_only")
    )


def _kept(request: HttpRequest) -> dict[str, object]:
    """What was typed into this form when the session ran out; an unticked box is sent as nothing."""
    kept = typed_before(request)
    return {**kept, "read_only": "read_only" in kept} if kept else {}
