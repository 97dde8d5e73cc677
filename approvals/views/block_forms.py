"""Writing one's own memory: change, create and delete a block, each a commit in the owner's name.

Only owners do it here; staff use the admin, tutors and agents propose nothing by hand.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from approvals import services
from approvals.forms.memory import BlockForm, DeleteForm, NewBlockForm, add_refusal
from approvals.models import Mergeability, Proposal, User
from approvals.pages.blocks import field_changes, history_entries, version, waiting_by_block
from approvals.pages.versions import block_as_loaded, put_together
from approvals.review.mergeability import assess
from approvals.services import BlockFields
from approvals.services.errors import BlockChanged, LabelTaken
from approvals.views.block_views import about, unknown_revision
from approvals.views.request import whole_number
from approvals.views.service_form import ServiceFormView
from memory_app import reads
from memory_app.dolt.errors import RevisionNotFound
from memory_app.models import TargetKind
from memory_app.reads import Block, BlockNotFound
from memory_app.text import worddiff


class BlockEdit(ServiceFormView[BlockForm]):
    """Change a block. `?from=` fills the form with the text as it was, which is how one restores."""

    template_name = "memory/block_edit.html"
    form_class = BlockForm
    conflicts = (BlockChanged, BlockNotFound)
    current: Block | None

    def load(self) -> HttpResponse | None:
        self.label: str = self.kwargs["label"]
        self.current = reads.find_block(self.owner.username, self.label)
        if self.current is not None or self.request.method == "POST":
            return None
        kept = self.kept_fields()
        return self.offer_again(kept) if kept else redirect(self.get_success_url())

    def initial_fields(self) -> dict[str, Any]:
        return BlockForm.initial_of(self.current) if self.current else {}

    def get(self, request: HttpRequest, *args: str, **kwargs: Any) -> HttpResponse:
        source = request.GET.get("from", "")
        if not source or self.current is None:
            return super().get(request, *args, **kwargs)
        try:
            old = version(self.owner.username, self.label, source)
        except RevisionNotFound:
            return unknown_revision(request, self.owner, self.label, source)
        if old.block is None:
            return unknown_revision(request, self.owner, self.label, source)
        # The content comes back, not the rules: limit and read-only stay as they are now.
        restored = BlockFields(
            title=old.block.title,
            description=old.block.description,
            body=old.block.body,
            limit=self.current.limit,
            read_only=self.current.read_only,
            schema_ref=self.current.schema_ref,
        )
        content = {"title": restored.title, "description": restored.description, "body": restored.body}
        form = BlockForm(initial=self.initial_fields() | content)
        return self.show(form, typed=restored, restoring=old)

    def form_valid(self, form: BlockForm) -> HttpResponse:
        typed = form.fields_of_block(self.current)
        if "preview" in self.request.POST:
            if self.current is None:
                return self.offer_again(self.request.POST.dict())
            if form.cleaned_data["loaded_sha256"] != self.current.sha256:
                return self.show_overtaken(form, typed, self.current, status=200)
            return self.show(form, typed=typed)
        if "together" in self.request.POST and self.current:
            return self.put_together(form, typed, self.current)
        was_emptied = self.current and self.current.body.strip() and not typed.body.strip()
        if self.current and was_emptied and "empty" not in self.request.POST:
            if "refill" not in self.request.POST:
                return self.show(form, emptied=True, status=422)
            sent = self.request.POST.dict()
            refilled = {"body": self.current.body, "read_only": "read_only" in sent}
            return self.show(BlockForm(initial={**sent, **refilled}))
        return super().form_valid(form)

    def call_service(self, form: BlockForm) -> None:
        services.edit_block(
            actor=self.owner,
            owner=self.owner.username,
            label=self.label,
            fields=form.fields_of_block(self.current),
            loaded_sha256=form.cleaned_data["loaded_sha256"],
            comment=form.cleaned_data["comment"],
        )

    def on_conflict(self, form: BlockForm, error: Exception) -> HttpResponse:
        now = error.current if isinstance(error, BlockChanged) else None
        if now is None:
            return self.offer_again(self.request.POST.dict())
        typed = form.fields_of_block(self.current)
        if _is_equal(now, typed):  # the same form, sent twice
            return self.succeed()
        self.current = now
        return self.show_overtaken(form, typed, now, status=409)

    def show_overtaken(self, form: BlockForm, typed: BlockFields, now: Block, *, status: int) -> HttpResponse:
        """Return the form as it was sent, with what else changed and the ways to go on from there."""
        loaded = form.cleaned_data["loaded_sha256"]
        found = block_as_loaded(self.owner.username, self.label, loaded)
        context = {"typed": typed, "overtaken": True, "loaded_sha256": loaded if found else ""}
        return self.show(self.sent_about(now.sha256), status=status, **context)

    def put_together(self, form: BlockForm, typed: BlockFields, now: Block) -> HttpResponse:
        """Return the form with what was typed and what changed since it was loaded, to be looked at and saved."""
        base = block_as_loaded(self.owner.username, self.label, self.request.POST["together"])
        if base is None:
            return self.show(self.sent_about(now.sha256), typed=typed, overtaken=True, status=409)
        both = put_together(base, typed, now)
        shown = {name: getattr(both.fields, name) for name in ("title", "description", "body", "limit", "read_only")}
        filled = BlockForm({**self.request.POST.dict(), **shown, "loaded_sha256": now.sha256})
        return self.show(filled, typed=both.fields, together=both)

    def offer_again(self, typed: dict[str, Any]) -> HttpResponse:
        """Return the form of a new block with what was typed: the block was deleted while it was edited."""
        form = NewBlockForm(initial={**typed, "label": self.label, "loaded_sha256": ""})
        context = {**about(self.request, self.owner), "form": form, "deleted": True}
        return render(self.request, "memory/block_new.html", context, status=409)

    def get_success_message(self) -> str:
        """Say how many proposals the change got in the way of."""
        # Asked of the texts: with workers, the state in the rows is brought up to date a moment later.
        block = reads.find_block(self.owner.username, self.label)
        pending = Proposal.objects.open().on_target(self.owner.username, TargetKind.BLOCK, self.label)
        number = sum(assess(proposal.current_revision, block).state == Mergeability.CONFLICT for proposal in pending)
        if not number:
            return _("Saved.")
        outdated = ngettext(
            "This made %(number)d proposal outdated.", "This made %(number)d proposals outdated.", number
        ) % {"number": number}
        return f"{_('Saved.')} {outdated}"

    def get_success_url(self) -> str:
        return reverse("block", args=[self.owner.username, self.label])

    def get_context_data(self, *, typed: BlockFields | None = None, **kwargs: Any) -> dict[str, Any]:
        """Return the page's values; with `typed`, also what it would change in the block as it is now."""
        context = super().get_context_data(
            label=self.label,
            title=self.current.display_title if self.current else reads.title_of(self.label),
            memory_block=self.current,
            pending=_pending(self.owner, self.label),
            beside=_open_proposal(self.request, self.owner, self.label),
            **kwargs,
        )
        if typed is not None and self.current is not None:
            context |= {
                "segments": worddiff.diff(self.current.body, typed.body),
                "changes_text": self.current.body != typed.body,
                "fields": field_changes(self.current, typed),
                "previewed": True,
            }
        if context.get("overtaken"):
            last = reads.history(self.owner.username, TargetKind.BLOCK, self.label, limit=1)
            context["last"] = history_entries(last)[0] if last else None
        return context


class BlockNew(ServiceFormView[NewBlockForm]):
    """Make a block. `?label=` and `?from=` bring back a deleted one as it was."""

    template_name = "memory/block_new.html"
    form_class = NewBlockForm
    conflicts = (LabelTaken,)
    success_message = gettext_lazy("Block created.")

    def initial_fields(self) -> dict[str, Any]:
        label, source = self.request.GET.get("label", ""), self.request.GET.get("from", "")
        old = version(self.owner.username, label, source).block if source else None
        return {"limit": settings.BLOCK_LIMIT, "label": label, **(BlockForm.initial_of(old) if old else {})}

    def get(self, request: HttpRequest, *args: str, **kwargs: Any) -> HttpResponse:
        try:
            return super().get(request, *args, **kwargs)
        except RevisionNotFound:
            return unknown_revision(request, self.owner, request.GET.get("label", ""), request.GET.get("from", ""))

    def call_service(self, form: NewBlockForm) -> None:
        self.label: str = form.cleaned_data["label"]
        services.create_block(
            actor=self.owner,
            owner=self.owner.username,
            label=self.label,
            fields=form.fields_of_block(None),
            comment=form.cleaned_data["comment"],
        )

    def on_conflict(self, form: NewBlockForm, error: Exception) -> HttpResponse:
        taken = reads.find_block(self.owner.username, self.label)
        if taken and _is_equal(taken, form.fields_of_block(None)):  # the same form, sent twice
            return redirect(self.get_success_url())
        return self.show(form, taken=taken, status=add_refusal(form, error))

    def get_success_url(self) -> str:
        return reverse("block", args=[self.owner.username, self.label])


class BlockDelete(ServiceFormView[DeleteForm]):
    """Delete a block, after saying what that means. Its history stays."""

    template_name = "memory/block_delete.html"
    form_class = DeleteForm
    conflicts = (BlockChanged, BlockNotFound)
    current: Block

    def load(self) -> HttpResponse | None:
        self.label: str = self.kwargs["label"]
        current = reads.find_block(self.owner.username, self.label)
        if current is None:
            return redirect("block", owner=self.owner.username, label=self.label)
        self.current = current
        return None

    def initial_fields(self) -> dict[str, Any]:
        return {"loaded_sha256": self.current.sha256}

    def call_service(self, form: DeleteForm) -> None:
        services.delete_block(
            actor=self.owner,
            owner=self.owner.username,
            label=self.label,
            loaded_sha256=form.cleaned_data["loaded_sha256"],
            comment=form.cleaned_data["comment"],
        )

    def on_conflict(self, form: DeleteForm, error: Exception) -> HttpResponse:
        if not isinstance(error, BlockChanged) or error.current is None:
            return self.succeed()  # sent twice: it is gone, as asked
        self.current = error.current
        return self.show(self.sent_about(self.current.sha256), overtaken=True, status=409)

    def get_success_message(self) -> str:
        return _("“%(title)s” is deleted. Its history is kept.") % {"title": self.current.display_title}

    def get_success_url(self) -> str:
        return reverse("memory", args=[self.owner.username])

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(
            label=self.label,
            title=self.current.display_title,
            memory_block=self.current,
            pending=_pending(self.owner, self.label),
            **kwargs,
        )


def _open_proposal(request: HttpRequest, owner: User, label: str) -> dict[str, Any] | None:
    """Return the open proposal for this block that `?beside=` asks for, on the text as it was then, to write from."""
    number = whole_number(request.GET.get("beside", ""))
    if number is None:
        return None
    found = Proposal.objects.open().on_target(owner.username, TargetKind.BLOCK, label).filter(pk=number)
    proposal = found.select_related("agent").first()
    if proposal is None:
        return None
    shown = proposal.current_revision
    segments = worddiff.diff(shown.base_text, shown.result_text)
    return {"proposal": proposal, "segments": segments, "text": shown.result_text}


def _pending(owner: User, label: str) -> list[Proposal]:
    return waiting_by_block(owner.username, [label]).get(label, [])


def _is_equal(block: Block, typed: BlockFields) -> bool:
    return all(
        getattr(block, name) == getattr(typed, name) for name in ("title", "description", "body", "limit", "read_only")
    )
