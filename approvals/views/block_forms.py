"""Writing one's own memory: change, create, delete and restore a block, each a commit in the owner's name.

Only owners do it here; staff use the admin, tutors and agents propose nothing by hand.
"""

from dataclasses import replace
from typing import Any, ClassVar, TypeVar

from django.conf import settings
from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from approvals import permissions, services
from approvals.accounts.sign_in import viewer_of
from approvals.forms.memory import FIELDS_OF_BLOCK, BlockForm, DeleteForm, NewBlockForm, RestoreForm, add_refusal
from approvals.models import Mergeability, Proposal, User
from approvals.pages.blocks import Version, history_entries, version, waiting_on
from approvals.pages.versions import block_as_loaded, put_together
from approvals.review.diff_mode import laid_out
from approvals.review.note_changes import field_changes
from approvals.review.targets import assess, fields_of
from approvals.services import BlockFields
from approvals.services.errors import BlockChanged, LabelTaken
from approvals.views.block_views import about, about_block, readable_owner, unknown_revision
from approvals.views.request import whole_number
from approvals.views.service_form import ChangeView, ServiceFormView
from memory_app import reads
from memory_app.dolt.errors import RevisionNotFound
from memory_app.models import Change, TargetKind
from memory_app.reads import Block, BlockNotFound

F = TypeVar("F", bound=Form)


class BlockChangeView(ChangeView[F]):
    """A form about one block."""

    conflicts: ClassVar[tuple[type[Exception], ...]] = (BlockChanged, BlockNotFound)
    current: Block | None

    def find(self) -> Block | None:
        return reads.find_block(self.owner.username, self.kwargs["label"])

    def get_success_url(self) -> str:
        return reverse("block", args=[self.owner.username, self.kwargs["label"]])

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        label = self.kwargs["label"]
        context = about_block(self.request, self.owner, label, self.current)
        pending = waiting_on(self.owner.username, label)
        return super().get_context_data(**(context | {"memory_block": self.current, "pending": pending} | kwargs))


class BlockEdit(BlockChangeView[BlockForm]):
    """Change a block. `?from=` fills the form with the text as it was, which is how one restores."""

    template_name = "memory/block_edit.html"
    form_class = BlockForm
    current: Block

    def gone(self) -> HttpResponse:
        """Return the form of a new block with what was typed, where the block was deleted while it was edited."""
        typed = self.request.POST.dict() or self.kept_fields
        if not typed:
            return redirect(self.get_success_url())
        form = NewBlockForm(initial={**typed, "label": self.kwargs["label"], "loaded_sha256": ""})
        context = {**about(self.request, self.owner), "form": form, "deleted": True}
        return render(self.request, "memory/block_new.html", context, status=409)

    def initial_fields(self) -> dict[str, Any]:
        return BlockForm.initial_of(self.current)

    def get(self, request: HttpRequest, *args: str, **kwargs: Any) -> HttpResponse:
        source = request.GET.get("from", "")
        if not source:
            return super().get(request, *args, **kwargs)
        try:
            old = version(self.owner.username, kwargs["label"], source)
        except RevisionNotFound:
            return unknown_revision(request, self.owner, kwargs["label"], source)
        if old.block is None:
            return unknown_revision(request, self.owner, kwargs["label"], source)
        restored = content_of(old.block, self.current)
        content = {"title": restored.title, "description": restored.description, "body": restored.body}
        form = BlockForm(initial=self.initial_fields() | content)
        return self.show(form, typed=restored, restoring=old)

    def form_valid(self, form: BlockForm) -> HttpResponse:
        now, typed = self.current, form.fields_of_block(self.current)
        if "preview" in self.request.POST:
            if form.cleaned_data["loaded_sha256"] != now.sha256:
                return self.show_overtaken(form, status=200)
            return self.show(form, typed=typed)
        if "together" in self.request.POST:
            return self.put_together(form, typed)
        if now.body.strip() and not typed.body.strip() and "empty" not in self.request.POST:
            if "refill" not in self.request.POST:
                return self.show(form, emptied=True, status=422)
            sent = self.request.POST.dict()
            return self.show(BlockForm(initial={**sent, "body": now.body, "read_only": "read_only" in sent}))
        return super().form_valid(form)

    def call_service(self, form: BlockForm) -> None:
        services.edit_block(
            **self.said(form),
            label=self.kwargs["label"],
            fields=form.fields_of_block(self.current),
            loaded_sha256=form.cleaned_data["loaded_sha256"],
        )

    def is_done(self, form: BlockForm, now: Block | None) -> bool:
        return now is not None and _is_equal(now, form.fields_of_block(self.current))

    def show_overtaken(self, form: BlockForm, *, status: int = 409, **more: Any) -> HttpResponse:
        """Return the form as it was sent, with what else changed and the ways to go on from there."""
        label, loaded = self.kwargs["label"], form.cleaned_data["loaded_sha256"]
        found = block_as_loaded(self.owner.username, label, loaded)
        last = reads.history(self.owner.username, TargetKind.BLOCK, label, limit=1)
        context = {"loaded_sha256": loaded if found else "", "last": history_entries(last)[0] if last else None}
        return super().show_overtaken(form, status=status, typed=form.fields_of_block(self.current), **context)

    def put_together(self, form: BlockForm, typed: BlockFields) -> HttpResponse:
        """Return the form with what was typed and what changed since it was loaded, to be looked at and saved."""
        base = block_as_loaded(self.owner.username, self.kwargs["label"], self.request.POST["together"])
        if base is None:
            return self.show_overtaken(form)
        fields, conflicts = put_together(base, typed, self.current)
        shown = {name: getattr(fields, name) for name in FIELDS_OF_BLOCK}
        filled = BlockForm({**self.request.POST.dict(), **shown, "loaded_sha256": self.current.sha256})
        return self.show(filled, typed=fields, together={"conflicts": conflicts})

    def get_success_message(self) -> str:
        """Say how many proposals the change got in the way of."""
        # Asked of the texts: with workers, the state in the rows is brought up to date a moment later.
        block, label = self.find(), self.kwargs["label"]
        pending = Proposal.objects.open().on_target(self.owner.username, TargetKind.BLOCK, label)
        number = sum(assess(proposal.current_revision, block).state == Mergeability.CONFLICT for proposal in pending)
        if not number:
            return _("Saved.")
        outdated = ngettext(
            "This made %(number)d proposal outdated.", "This made %(number)d proposals outdated.", number
        ) % {"number": number}
        return f"{_('Saved.')} {outdated}"

    def get_context_data(self, *, typed: BlockFields | None = None, **kwargs: Any) -> dict[str, Any]:
        """Return the page's values; with `typed`, also what it would change in the block as it is now."""
        fields = field_changes(self.current, typed) if typed else ()
        # To write from: the open proposal for this block that the address names, on the text as it was then.
        waiting = Proposal.objects.open().on_target(self.owner.username, TargetKind.BLOCK, self.kwargs["label"])
        named = waiting.select_related("agent").filter(pk=whole_number(self.request.GET.get("beside", "")) or 0)
        return super().get_context_data(typed=typed, fields=fields, beside=named.first(), **kwargs)


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
        services.create_block(**self.said(form), label=self.label, fields=form.fields_of_block(None))

    def on_conflict(self, form: NewBlockForm, error: Exception) -> HttpResponse:
        taken = reads.find_block(self.owner.username, self.label)
        if taken and _is_equal(taken, form.fields_of_block(None)):  # the same form, sent twice
            return redirect(self.get_success_url())
        return self.show(form, taken=taken, status=add_refusal(form, error))

    def get_success_url(self) -> str:
        return reverse("block", args=[self.owner.username, self.label])


class BlockDelete(BlockChangeView[DeleteForm]):
    """Delete a block, after saying what that means. Its history stays."""

    template_name = "memory/block_delete.html"
    form_class = DeleteForm
    current: Block

    def gone(self) -> HttpResponse:
        return redirect("block", owner=self.owner.username, label=self.kwargs["label"])

    def is_done(self, form: DeleteForm, now: Block | None) -> bool:
        return now is None

    def call_service(self, form: DeleteForm) -> None:
        loaded = form.cleaned_data["loaded_sha256"]
        services.delete_block(**self.said(form), label=self.kwargs["label"], loaded_sha256=loaded)

    def get_success_message(self) -> str:
        return _("“%(title)s” is deleted. Its history is kept.") % {"title": self.current.display_title}

    def get_success_url(self) -> str:
        return reverse("memory", args=[self.owner.username])


class BlockRestore(BlockChangeView[RestoreForm]):
    """Restore the version that a commit of the block made: a new change, shown as a difference before it is saved.

    Title, description and text come back, not the rules.
    """

    template_name = "memory/block_restore.html"
    form_class = RestoreForm
    conflicts = (BlockChanged, BlockNotFound, LabelTaken)
    success_message = gettext_lazy("Restored. The version before is in the history.")
    old: Version
    then: Block

    def find_owner(self, request: HttpRequest, owner: str) -> User:
        return readable_owner(request, owner)

    def load(self) -> HttpResponse | None:
        username, label, commit = self.owner.username, self.kwargs["label"], self.kwargs["commit"]
        own = Change.objects.filter(owner=username, target_kind=TargetKind.BLOCK, target=label, commit=commit)
        try:
            old = version(username, label, commit) if own.exists() else None
        except RevisionNotFound:
            old = None
        if old is None or old.block is None:
            return unknown_revision(self.request, self.owner, label, commit)
        self.old, self.then, self.current = old, old.block, self.find()
        if permissions.may_edit(viewer_of(self.request), username):
            return None
        context = about_block(self.request, self.owner, label, self.then)
        context |= {"old": old, "is_refused": True}
        return render(self.request, "memory/block_restore.html", context, status=403)

    def gone(self) -> HttpResponse:
        return self.show_overtaken(self.get_form())

    def initial_fields(self) -> dict[str, Any]:
        at = date_format(timezone.localtime(self.old.at), "DATETIME_FORMAT") if self.old.at else self.old.commit[:10]
        comment = _("Restored the version from %(date)s") % {"date": at}
        return {"comment": comment, "loaded_sha256": self.current.sha256 if self.current else ""}

    def call_service(self, form: RestoreForm) -> None:
        loaded, change = form.cleaned_data["loaded_sha256"], self.said(form) | {"label": self.kwargs["label"]}
        fields = content_of(self.then, self.current or self.then)
        if loaded:
            services.edit_block(**change, fields=fields, loaded_sha256=loaded)
        else:
            services.create_block(**change, fields=fields)

    def is_done(self, form: RestoreForm, now: Block | None) -> bool:
        return now is not None and now.body == self.then.body and not field_changes(now, content_of(self.then, now))

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        now, body, then = self.current, self.current.body if self.current else "", self.then.body
        fields = field_changes(now, content_of(self.then, now)) if now else ()
        return super().get_context_data(
            title=(now or self.then).display_title,
            old=self.old,
            redline=laid_out(body, then) if body != then else None,
            page_url=self.request.path,
            page_query=self.request.GET,
            fields=fields,
            is_as_now=now is not None and body == then and not fields,
            **kwargs,
        )


def content_of(old: Block, rules: Block) -> BlockFields:
    """Return what a block said, with the limit, the protection and the schema of today."""
    return replace(fields_of(rules), title=old.title, description=old.description, body=old.body)


def _is_equal(block: Block, typed: BlockFields) -> bool:
    return all(getattr(block, name) == getattr(typed, name) for name in FIELDS_OF_BLOCK)
