"""What the memory pages show beside the texts: who changed what and why, what waits, two versions compared, and what
undoing a decision would do.

Reads only; frozen values come out. Rules of access are `permissions`, reading itself is
`memory_app.reads`, HTTP is `views.block_views`.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import structlog
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from approvals.accounts.sign_in import display_names
from approvals.models import TAKEN, Kind, Proposal, Status, User
from approvals.permissions import can_be_undone, may_decide, may_edit
from approvals.review.diff_mode import Redline, laid_out
from approvals.review.undo import UndoPlan, plan_undo
from approvals.services.undo import why_not
from memory_app import reads
from memory_app.dolt.errors import DoltError
from memory_app.models import Change, TargetKind
from memory_app.text import worddiff

log = structlog.get_logger(__name__)

#: The word in the place of a commit for the memory as it is.
NOW = "now"


@dataclass(frozen=True)
class HistoryEntry:
    """One line of a history.

    Args:
        actor: who approved or edited, as a name to read; empty where no person did.
        proposal: where the change came from; None for direct edits and for proposals that are gone.
        previous: the commit of the target's change before this one; empty for its first, None when the
            page does not reach that far.
    """

    change: Change
    actor: str
    proposal: Proposal | None
    previous: str | None = None

    @property
    def stands(self) -> bool:
        """Whether it is the decision about its proposal that holds: not one that was undone, nor the undoing."""
        return self.proposal is not None and self.change.commit == self.proposal.merge_commit

    @property
    def approval(self) -> str:
        """Return how it was approved; empty where that was undone since."""
        return self.proposal.approval if self.proposal and self.stands else ""


@dataclass(frozen=True)
class Version:
    """A block at one revision.

    Args:
        commit: its hash; `NOW` for the memory as it is, empty for before there was any.
        block: None where the block did not exist (yet, or any more).
        at: the time asked for, else when the commit was made; None for now and for commits the ledger does not know.
        last: the last change of the block up to there.
        first: its very first change.
    """

    commit: str
    block: reads.Block | None
    at: datetime | None = None
    last: Change | None = None
    first: Change | None = None

    @property
    def is_now(self) -> bool:
        return self.commit == NOW

    @property
    def body(self) -> str:
        return self.block.body if self.block else ""


def history_entries(changes: Sequence[Change]) -> tuple[HistoryEntry, ...]:
    """Return the ledger's rows with names and proposals, in two queries for any number of them.

    Args:
        changes: newest first; of one target, when `previous` is to mean anything. The last one's is known only from a
            row more than is shown.
    """
    proposals = Proposal.objects.select_related("agent").in_bulk(
        [change.proposal_id for change in changes if change.proposal_id is not None]
    )
    names = display_names(change.actor for change in changes)
    before = [*(change.commit for change in changes[1:]), ""]
    return tuple(
        HistoryEntry(change, names.get(change.actor, change.actor), proposals.get(change.proposal_id or 0), previous)
        for change, previous in zip(changes, before, strict=False)
    )


def undoable(entries: Iterable[HistoryEntry], viewer: User) -> frozenset[str]:
    """Return the commits in one owner's history that a decision made which this person may undo."""
    made = [each.change for each in entries if each.stands and each.proposal and can_be_undone(each.proposal)]
    owners = {owner for owner in {change.owner for change in made} if may_decide(viewer, owner)}
    return frozenset(change.commit for change in made if change.owner in owners)


def url_of_target(proposal: Proposal) -> str:
    """Return the page of a proposal's target; for one that does not exist yet, the list it would be in."""
    if proposal.kind == Kind.CREATE_BLOCK and proposal.status not in TAKEN:
        return reverse("memory", args=[proposal.owner])
    if proposal.target_kind == TargetKind.BLOCK:
        return reverse("block", args=[proposal.owner, proposal.target])
    is_new = proposal.kind == Kind.SAVE and proposal.status not in (Status.APPROVED, Status.APPLIED)
    if proposal.target_kind == TargetKind.IMPORT or is_new:
        return reverse("notes", args=[proposal.owner])
    return reverse("note", args=[proposal.owner, proposal.target])


def waiting_on(owner: str, label: str) -> list[Proposal]:
    """Return the open proposals for a block, oldest first."""
    return list(_waiting(owner, Q(target=label)))


def waiting_and_new(owner: str, labels: Sequence[str]) -> tuple[dict[str, list[Proposal]], list[Proposal]]:
    """Return the open proposals for some blocks by label, and those of new blocks, oldest first; in one query."""
    waiting: defaultdict[str, list[Proposal]] = defaultdict(list)
    found = list(_waiting(owner, Q(target__in=labels) | Q(kind=Kind.CREATE_BLOCK)))
    for proposal in found:
        waiting[proposal.target].append(proposal)
    return dict(waiting), [proposal for proposal in found if proposal.kind == Kind.CREATE_BLOCK]


def _waiting(owner: str, which: Q) -> Iterable[Proposal]:
    found = Proposal.objects.open().of_owner(owner).filter(which, target_kind=TargetKind.BLOCK)
    return found.select_related("agent").order_by("created_at", "id")


def moment(text: str) -> str:
    """Return an `as_of` as `reads.resolve_revision` takes it, from the forms that people and browsers give it.

    A time without a zone is in the viewer's zone; a plus sign in an address arrives as a space.
    """
    text = text.strip()
    if len(text) > 6 and text[-6] == " " and text[-3] == ":":
        text = f"{text[:-6]}+{text[-5:]}"
    try:
        at = parse_datetime(f"{text}T23:59:59.999999") or parse_datetime(text)  # a day alone means its end
    except ValueError:
        return text
    if at is None:
        return text
    if timezone.is_naive(at):
        at = timezone.make_aware(at)
    return at.isoformat()


def point_in_history(owner: str, revision: str) -> tuple[str, datetime | None]:
    """Return the commit that a hash or a time means, and its time: the one asked for, else when it was made.

    Raises:
        RevisionNotFound: it is neither.
    """
    text = moment(revision)
    commit = reads.resolve_revision(owner, text)
    if asked := parse_datetime(text):
        return commit, min(asked, timezone.now())
    # Of whichever owner: a commit hash names a whole database, and only its time is used.
    return commit, Change.objects.filter(commit=commit).values_list("at", flat=True).first()


def version(owner: str, label: str, revision: str) -> Version:
    """Return a block at `revision`: `NOW`, the hash of a commit on main, a time, or empty for before the first change.

    Raises:
        RevisionNotFound: it is none of these.
    """
    if not revision:
        return Version(commit="", block=None)
    changes = Change.objects.filter(owner=owner, target_kind=TargetKind.BLOCK, target=label).order_by("-at", "-id")
    if revision == NOW:
        return Version(commit=NOW, block=reads.find_block(owner, label), last=changes.first(), first=changes.last())
    commit, at = point_in_history(owner, revision)
    block, last = reads.find_block(owner, label, commit), changes.filter(at__lte=at).first() if at else None
    return Version(commit=commit, block=block, at=at, last=last, first=changes.last())


# -- What undoing a decision would do, before it is done.

#: Notes of an import that the page lists; the others are counted.
MOST_NOTES = 50


def undoing(proposal: Proposal, viewer: User) -> dict[str, Any]:
    """Return what the page shows of undoing the decision about `proposal` now.

    Of a rejection or an expiry only that it `is_reopening`: no memory changes. Where the memory did not answer, only
    that: it is not `is_readable`. Else the `plan`, `why_not` in a sentence if it cannot be done, the first of its
    `notes` word by word, and what changed the target since.
    """
    if proposal.status not in TAKEN:
        return {"is_reopening": True, "is_readable": True}
    try:
        plan = plan_undo(proposal)
    except DoltError:
        log.exception("undo_not_planned", proposal=proposal.pk)
        return {"is_readable": False}
    later = history_entries(plan.later)
    return {
        "is_readable": True,
        "plan": plan,
        "why_not": "" if plan.can_be_done else why_not(plan),
        "change": _change(plan),
        "notes": _notes(plan),
        "more_notes": max(0, len(plan.notes) - MOST_NOTES),
        "left": plan.left[:MOST_NOTES],
        "more_left": max(0, len(plan.left) - MOST_NOTES),
        "later": later,
        "blocked_by": next((entry for entry in later if entry.change is plan.blocked_by), None),
        "may_edit": may_edit(viewer, proposal.owner) and proposal.target_kind != TargetKind.IMPORT,
    }


def can_be_undone_at_once(proposal: Proposal) -> bool:
    """Whether undoing needs no look at what changed since, because nothing did."""
    if proposal.status not in TAKEN:
        return True
    try:
        return plan_undo(proposal).is_exact
    except DoltError:
        return False  # the page says what is wrong


def _change(plan: UndoPlan) -> Redline | None:
    """Return the change of the block's text; where it cannot be made, what the decision had changed."""
    if plan.proposal.target_kind != TargetKind.BLOCK:
        return None
    if plan.can_be_done:
        return laid_out(plan.before_text, plan.after_text)
    revision = plan.proposal.current_revision
    return laid_out(revision.base_text, revision.result_text)


def _notes(plan: UndoPlan) -> list[tuple[worddiff.Segment, ...]]:
    """Return the first notes as they are and as they would be, word by word."""
    first = plan.notes[:MOST_NOTES]
    now = reads.find_notes(plan.proposal.owner, [id_ for id_, _back in first])
    return [worddiff.diff(now[id_].content if id_ in now else "", back.content if back else "") for id_, back in first]
