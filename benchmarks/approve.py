"""A person approves: the page they look at, the form they send, and the service alone."""

import time

from approvals import services
from approvals.models import Proposal, RejectReason, User
from approvals.permissions import ReviewAction
from benchmarks.measure import timed
from benchmarks.processes import Session, form
from memory_app import reads


def through_pages(person: Session, proposals: list[int]) -> tuple[list[float], list[float]]:
    """Read each proposal's page, then send its form; the times of the one and of the other."""
    pages: dict[int, str] = {}

    def read(proposal: int) -> None:
        answer = person.get(f"/proposals/{proposal}/")
        if answer.status != 200:
            raise RuntimeError(f"the proposal's page answered {answer.status}")
        pages[proposal] = answer.text

    reading = timed(read, proposals)
    forms = [(f"/proposals/{pk}/approve/", form(pages[pk], f"/proposals/{pk}/approve/")) for pk in proposals]

    def approve(prepared: tuple[str, dict[str, str]]) -> None:
        action, fields = prepared
        answer = person.post_form(action, fields)
        if answer.status not in (200, 302, 303):
            raise RuntimeError(f"approve answered {answer.status}: {answer.text[:500]}")

    return reading, timed(approve, forms)


def by_service(proposals: list[int], tutor: str) -> list[float]:
    """Approve in this process, as `tutor`; the times."""
    actor = User.objects.get(username=tutor)
    rows = Proposal.objects.filter(pk__in=proposals)
    seen = [(row.pk, reads.block(row.owner, row.target).sha256) for row in rows]

    def approve(item: tuple[int, str]) -> None:
        pk, sha256 = item
        services.approve(actor=actor, proposal_id=pk, revision=1, seen_sha256=sha256)

    return timed(approve, seen)


def at_once(proposals: list[int], tutor: str) -> tuple[float, float]:
    """Approve all of them in one call, as `tutor`, and undo that in another; the times in milliseconds.

    They wait again then, and are rejected, so that no more wait than before.
    """
    actor = User.objects.get(username=tutor)
    rows = Proposal.objects.filter(pk__in=proposals)
    items = [services.Item(row.pk, 1, reads.block(row.owner, row.target).sha256) for row in rows]
    begun = time.perf_counter()
    outcome = services.decide_several(actor=actor, items=items, action=ReviewAction.APPROVE)
    decided = time.perf_counter()
    undone = services.undo_several(actor=actor, batch=outcome.kept.pk)
    ended = time.perf_counter()
    reason = RejectReason.OUTDATED
    closed = services.decide_several(actor=actor, items=items, action=ReviewAction.REJECT, reason=reason)
    if left := [*outcome.left, *undone.left, *closed.left]:
        raise RuntimeError(f"left: {[result.why for result in left]}")
    return (decided - begun) * 1000, (ended - decided) * 1000
