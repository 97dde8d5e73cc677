"""Remove texts for good: of proposals that were not accepted, or not all of them, and of conversations.

Conversations are not versioned. Agents delete the messages they sent by `agent_tools.tools.conversations`.
"""

from collections.abc import Callable
from functools import partial

import structlog
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.models import Event, Proposal, Revision, Status, User
from approvals.permissions import may_delete_messages, may_read, may_redact
from approvals.review.diff_mode import forget_texts
from approvals.services import events
from approvals.services.checks import locked_proposal
from approvals.services.errors import DecisionRefused, ProposalNotFound, Refusal
from memory_app import conversations
from memory_app.dolt import maintenance
from memory_app.dolt.connections import dolt
from memory_app.dolt.errors import RevisionNotFound
from memory_app.dolt.placement import database_of
from memory_app.runtime import background
from memory_app.runtime.workers import enqueue
from memory_app.writing import commits

log = structlog.get_logger(__name__)


def redact(*, actor: User, proposal_id: int) -> Proposal:
    """Remove the texts of a rejected, withdrawn or expired proposal, or of what was approved in part. Idempotent.

    What was approved of it is in the memory, and stays in the proposal.

    Raises:
        ProposalNotFound: there is none, or this person may not see it.
        `not_allowed`: this person may see it, but not remove its texts.
        DecisionRefused: it is undecided, or all of its change is in the memory.
    """
    with transaction.atomic(durable=True):
        proposal = locked_proposal(proposal_id)
        if proposal is None or not may_read(actor, proposal.owner):
            raise ProposalNotFound
        if not may_redact(actor, proposal.owner):
            raise DecisionRefused(
                proposal, _("Only the owner can have the texts of a proposal removed."), code="not_allowed"
            )
        if not proposal.may_lose_texts:
            raise DecisionRefused(
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


#: Callbacks that remove copies of a proposal's texts in the layers above. Each runs in the transaction that blanks the
#: rows, and again after collecting garbage, for copies that a concurrent call has written.
copies: list[Callable[[Proposal], None]] = []


#: Name of the thread that collects garbage where there is no worker; tests wait for it.
THREAD = "collect removed texts"


def remove(proposal: Proposal, *, actor: events.Actor, everything: bool = False) -> bool:
    """Blank every text of the proposal in `default` but what was approved. Return whether there was something to blank.

    Call it inside the transaction that decides about the proposal, and `collect_soon` after it. The reviewer's comment
    stays: it tells the agent what was wrong.

    Args:
        everything: what was approved too, and what anybody said: it is erased from the memory (`services.erasing`).
    """
    now = timezone.now()
    blanked = Proposal.objects.filter(pk=proposal.pk, **{} if everything else {"redacted_at": None}).update(
        # A label or an id, which the row keeps anyway: lists and pages show it as the title.
        target_title=F("target"),
        reasoning="",
        session_id="",
        evidence=[],
        excerpt=[],
        search_words=F("target"),
        risks=[],
        # A short text can be guessed from its hash.
        result_sha256="",
        **({"seen_sha256": ""} if everything else {}),
        redacted_at=now,
        is_garbage_left=True,
        updated_at=now,
    )
    if not blanked:
        return False
    # Of a withdrawn proposal, the comment is the agent's, not a reviewer's.
    is_agents = Q() if everything else Q(status=Status.WITHDRAWN)
    Proposal.objects.filter(is_agents, pk=proposal.pk).update(decision_comment="")
    proposal.revisions.update(risk_report=None)
    removed = proposal.revisions.all() if everything else _not_taken(proposal)
    removed.update(base_text="", result_text="", base_sha256="", edits=[], note_changes=[])
    proposal.proposed_notes.all().delete()
    # Comments quote what was proposed, whoever wrote them.
    said = Q() if everything else Q(actor_kind=Event.ActorKind.AGENT) | Q(what=Event.What.COMMENTED)
    proposal.events.filter(said).update(text="", data={})
    _remove_copies(proposal)
    events.record(proposal, Event.What.REDACTED, actor=actor)
    proposal.__dict__.pop("_current", None)
    return True


def _not_taken(proposal: Proposal) -> QuerySet[Revision]:
    """Return the revisions that say more than the memory does: all but the one that was approved in part."""
    number = proposal.current_revision_number if proposal.is_approved_in_part else 0
    return proposal.revisions.exclude(number=number)


def collect_soon() -> None:
    """Collect the garbage with the removed texts: in a worker, or in a separate thread where there is none."""
    enqueue("approvals.collect_removed_texts", otherwise=partial(background.soon, THREAD, collect))


def is_garbage_left() -> bool:
    """Whether the files of the memory may still contain removed texts."""
    # Ordered like the partial index: otherwise SQLite reads the whole table.
    return bool(Proposal.objects.filter(is_garbage_left=True).order_by("redacted_at").values_list("id")[:1])


def collect() -> int:
    """Drop the branches of redacted proposals, and collect garbage. Return for how many proposals it is done.

    A proposal is done when its commits cannot be read any more. A server may deny collecting to us, and does it itself.

    Raises:
        DoltError, DatabaseError: the next run does what is left.
    """
    left = list(Proposal.objects.filter(is_garbage_left=True).order_by("redacted_at").select_related("agent"))
    if not left:
        return 0
    branches = Revision.objects.filter(proposal__in=left).exclude(branch="")
    for owner, name in branches.values_list("proposal__owner", "branch"):
        commits.drop_branch(owner, name)
    for database in {database_of(proposal.owner) for proposal in left if _is_readable(proposal)}:
        maintenance.collect_garbage(database, force=True)
    done = [proposal for proposal in left if not _is_readable(proposal)]
    for proposal in done:
        with transaction.atomic():
            _remove_copies(proposal)
            Proposal.objects.filter(pk=proposal.pk).update(is_garbage_left=False)
    log.info("removed_texts_collected", proposals=len(done), left=len(left) - len(done))
    return len(done)


def _is_readable(proposal: Proposal) -> bool:
    """Whether the memory still has a commit of what was never taken."""
    heads = _not_taken(proposal).exclude(head_commit="").values_list("head_commit", flat=True)
    return any(_is_there(proposal.owner, head) for head in heads)


def _is_there(owner: str, commit: str) -> bool:
    try:
        return not dolt(owner).was_on_main(commit)  # main keeps what was approved and undone
    except RevisionNotFound:
        return False


def _remove_copies(proposal: Proposal) -> None:
    forget_texts()
    for remove_copies in copies:
        remove_copies(proposal)


def delete_messages(*, actor: User, owner: str, session_id: str, message_id: str | None = None) -> int:
    """Delete a conversation or one message of it, also from the search index.

    Evidence that an agent copied into a proposal stays there (`redact` removes it). Notes, proposals, the audit and
    stored answers keep the id of the session.

    Returns:
        How many messages were deleted; 0 when they were deleted before.

    Raises:
        `not_allowed`: this person may not delete this owner's conversations.
    """
    if not may_delete_messages(actor, owner):
        raise Refusal(_("You may not delete these messages."), code="not_allowed")
    count, _left = conversations.delete(owner, session_id, message_id)
    log.info("messages_deleted", user_id=owner, messages=count, actor=actor.username)
    return count
