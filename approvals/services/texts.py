"""An owner has the texts of a proposal removed that was not taken; nothing brings them back."""

from __future__ import annotations

import threading
from collections.abc import Callable

import structlog
from django.db import connections, transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.models import NOT_TAKEN, Event, Proposal, Revision, Status, User
from approvals.permissions import may_read, may_redact
from approvals.services import events
from approvals.services.errors import AlreadyDecided, NotAllowed, NotRemovable, ProposalNotFound
from memory_app.dolt import maintenance
from memory_app.dolt.connections import dolt
from memory_app.dolt.errors import RevisionNotFound
from memory_app.runtime.workers import NoWorker, enqueue
from memory_app.writing import commits

log = structlog.get_logger(__name__)


def redact(*, actor: User, proposal_id: int) -> Proposal:
    """Remove the texts of a rejected, withdrawn, superseded or expired proposal. Harmless when done twice.

    Raises:
        ProposalNotFound: there is none, or this person may not see it.
        NotAllowed: this person may see it, and not remove its texts.
        NotRemovable: it is undecided, or what it says is in the memory.
    """
    with transaction.atomic(durable=True):
        found = Proposal.objects.select_for_update(of=("self",)).select_related("agent", "decided_by")
        proposal = found.filter(pk=proposal_id).first()
        if proposal is None or not may_read(actor, proposal.owner):
            raise ProposalNotFound
        if not may_redact(actor, proposal.owner):
            raise NotAllowed(proposal, _("Only the owner can have the texts of a proposal removed."))
        if proposal.status not in NOT_TAKEN:
            raise NotRemovable(
                proposal,
                _("What this proposal says is in the memory.")
                if proposal.is_decided
                else _("This proposal is not decided yet: reject it as too private."),
            )
        removed = remove(proposal, actor=actor)
    if removed:
        proposal.refresh_from_db()
        log.info("proposal_redacted", proposal=proposal.pk, user_id=proposal.owner, actor=actor.username)
        collect_soon()
    return proposal


#: Called with a proposal whose texts go: for whatever keeps copies of them in the layers above. Each is called in the
#: transaction that blanks the rows, and once more afterwards, for a call that was still being answered.
copies: list[Callable[[Proposal], None]] = []


#: The name of the thread that collects where there is no worker; tests wait for it.
THREAD = "collect removed texts"


_collecting = threading.Lock()


def remove(proposal: Proposal, *, actor: events.Actor) -> bool:
    """Blank every text of the proposal in `default`; whether there was something to blank.

    Call it inside the transaction that decides about the proposal, and `collect_soon` after it. The reviewer's own
    comment stays: it tells the agent what was wrong.
    """
    now = timezone.now()
    blanked = Proposal.objects.filter(pk=proposal.pk, redacted_at=None).update(
        # A label or an id, which the row keeps anyway: lists and pages have something to call it by.
        target_title=F("target"),
        reasoning="",
        session_id="",
        evidence=[],
        excerpt=[],
        search_words=F("target"),
        risks=[],
        # A short text can be guessed from its hash.
        result_sha256="",
        redacted_at=now,
        is_garbage_left=True,
        updated_at=now,
    )
    if not blanked:
        return False
    # An agent's own words about taking it back, and not a reviewer's.
    Proposal.objects.filter(pk=proposal.pk, status=Status.WITHDRAWN).update(decision_comment="")
    proposal.revisions.update(base_text="", result_text="", base_sha256="", edits=[], note_changes=[], risk_report=None)
    proposal.proposed_notes.all().delete()
    proposal.events.filter(actor_kind=Event.ActorKind.AGENT).update(text="", data={})
    _remove_copies(proposal)
    events.record(proposal, Event.What.REDACTED, actor=actor)
    proposal.__dict__.pop("_current", None)
    return True


def require_texts(proposal: Proposal) -> None:
    """For a call that comes back with the operation of a proposal: its answer would be made from the texts.

    Raises:
        AlreadyDecided: they were removed.
    """
    if proposal.is_redacted:
        raise AlreadyDecided(proposal, _("The texts of this proposal were removed."))


def collect_soon() -> None:
    """Collect the garbage the removed texts are in: by a worker, in a thread of its own where there is none."""
    try:
        enqueue("approvals.collect_removed_texts")
    except NoWorker:
        threading.Thread(target=_collect_here, name=THREAD, daemon=True).start()


def is_garbage_left() -> bool:
    """Whether the files of the memory may still hold removed texts."""
    # In the order of the partial index, or SQLite reads the whole table instead.
    return bool(Proposal.objects.filter(is_garbage_left=True).order_by("redacted_at").values_list("id")[:1])


def collect() -> int:
    """Drop the branches of redacted proposals, collect the garbage and note where it is done; of how many proposals.

    Done is what cannot be read any more, whoever collected it: a server may deny it to us, and collects by itself.

    Raises:
        DoltError, DatabaseError: what is not done is left to the next run.
    """
    left = list(Proposal.objects.filter(is_garbage_left=True).order_by("redacted_at").select_related("agent"))
    if not left:
        return 0
    branches = Revision.objects.filter(proposal__in=left).exclude(branch="")
    for owner, name in branches.values_list("proposal__owner", "branch"):
        commits.drop_branch(owner, name)
    if any(map(_is_readable, left)):
        maintenance.collect_garbage(force=True)
    done = [proposal for proposal in left if not _is_readable(proposal)]
    for proposal in done:
        with transaction.atomic():
            _remove_copies(proposal)
            Proposal.objects.filter(pk=proposal.pk).update(is_garbage_left=False)
    log.info("removed_texts_collected", proposals=len(done), left=len(left) - len(done))
    return len(done)


def _is_readable(proposal: Proposal) -> bool:
    """Whether the memory still has a commit of the proposal."""
    heads = proposal.revisions.exclude(head_commit="").values_list("head_commit", flat=True)
    return any(map(_is_there, heads))


def _is_there(commit: str) -> bool:
    try:
        dolt().log(commit, limit=1)
    except RevisionNotFound:
        return False
    return True


def _collect_here() -> None:
    try:
        with _collecting:  # one at a time; who waited finds it done, or the rest
            collect()
    except Exception:
        log.exception("removed_texts_not_collected")
    finally:
        connections.close_all()


def _remove_copies(proposal: Proposal) -> None:
    for remove_copies in copies:
        remove_copies(proposal)
