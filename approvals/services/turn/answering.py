"""Tie a second try to the rejection it answers: same agent, same target, about the same matter, soon after."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from django.db.models import QuerySet
from django.utils import timezone

from approvals.models import Kind, Proposal, RejectReason, Revision, Status
from approvals.services.caps import RECENTLY
from memory_app.databases.prepared import Prepared
from memory_app.text import worddiff
from memory_app.text.alike import are_alike, say_the_same
from memory_app.text.worddiff import Segment

#: Rejections that are compared, newest first: comparing two texts of 10,000 words takes up to 0.1 s.
_MOST_BLOCKS, _MOST_NOTES = 3, 20


def find_answered(proposal: Proposal, segments: Sequence[Segment], result_text: str) -> int | None:
    """Return the id of the rejected proposal that a new one takes up again; None when it is a new matter.

    Args:
        proposal: not saved yet.
        segments: the difference it makes; used for blocks.
        result_text: what a new note would say.
    """
    since = timezone.now() - RECENTLY
    key = {"agent": proposal.agent.pk, "owner": proposal.owner, "since": since}
    if proposal.kind == Kind.IMPORT:
        return None
    if proposal.kind == Kind.SAVE:
        # A new note gets a new id: what it says has to tell.
        for pk, text in _texts(_SAVES.all(**key), _MOST_NOTES):
            if say_the_same(text.result_text, result_text):
                return pk
        return None
    rejected = list(_ON_TARGET.all(**key, kind=proposal.target_kind, target=proposal.target))
    if proposal.target_kind != "block":
        return rejected[0] if rejected else None
    for pk, text in _texts(rejected, _MOST_BLOCKS):
        if are_alike(worddiff.diff(text.base_text, text.result_text), segments):
            return pk
    return None


def _texts(ids: Iterable[int], most: int) -> Iterable[tuple[int, Revision]]:
    """Yield the last revision of each proposal, in the order given."""
    for pk in list(ids)[:most]:
        revision = Revision.objects.filter(proposal=pk).order_by("-number").first()
        if revision is not None:
            yield pk, revision


def _rejected(agent: int, owner: str, since: datetime) -> QuerySet[Proposal, int]:
    rejected = Proposal.objects.filter(
        agent=agent, owner=owner, status=Status.REJECTED, decided_at__gte=since, redacted_at=None
    ).exclude(decision_reason=RejectReason.DUPLICATE)
    return rejected.order_by("-decided_at", "-id").values_list("pk", flat=True)


_ON_TARGET = Prepared(
    lambda agent, owner, since, kind, target: _rejected(agent, owner, since).filter(target_kind=kind, target=target),
    agent=int,
    owner=str,
    since=datetime,
    kind=str,
    target=str,
)
_SAVES = Prepared(
    lambda agent, owner, since: _rejected(agent, owner, since).filter(kind=Kind.SAVE),
    agent=int,
    owner=str,
    since=datetime,
)
