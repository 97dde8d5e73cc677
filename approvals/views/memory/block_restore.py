"""Making an earlier version of a block the current one: a new change, shown as a difference before it is saved.

Owners restore their own blocks, staff everybody's. Tutors read the history and are told why they cannot.
"""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from approvals import permissions, services
from approvals.accounts.viewer import viewer_of
from approvals.forms.memory import RestoreForm
from approvals.models import User
from approvals.pages.blocks import Version, field_changes, version
from approvals.review.diff_mode import laid_out
from approvals.services import BlockFields
from approvals.services.errors import BlockChanged, LabelTaken
from approvals.views.memory.block_views import unknown_revision
from approvals.views.memory.owners import about, readable_owner
from approvals.views.service_form import ServiceFormView
from memory_app import reads
from memory_app.dolt.errors import RevisionNotFound
from memory_app.models import Change, TargetKind
from memory_app.reads import Block, BlockNotFound


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
        unfolded = "unfolded" in self.request.GET
        return super().get_context_data(
            label=self.label,
            title=(self.current or self.then).display_title,
            old=self.old,
            memory_block=self.current,
            redline=laid_out(body, then, unfolded=unfolded) if body != then else None,
            page_url=self.request.path,
            page_query=self.request.GET,
            fields=field_changes(self.current, self.restored()) if self.current else (),
            is_as_now=self.is_as_now(),
            **kwargs,
        )
