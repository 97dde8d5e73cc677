"""What an approval in part sent back to its agent, when that approval is undone: it waits again as a whole.

The transaction that records the revert makes the next revision of that proposal, with all the agent asked for, and
`finish` opens it; after a crash `recover` does. What its agent or a person has done something with since is left alone.
"""

from __future__ import annotations

import structlog
from django.conf import settings
from django.db import DatabaseError
from django.utils import timezone

from approvals.models import (
    DECIDABLE,
    Approval,
    Event,
    Kind,
    Mergeability,
    Proposal,
    ProposedNote,
    Revision,
    Status,
    User,
)
from approvals.review.summary import summarise
from approvals.review.undo import rest_that_returns
from approvals.risks import flags
from approvals.services import events
from approvals.services.branches import branch_name
from approvals.services.decide import follow_up
from approvals.services.notes.agents import name_notes
from approvals.services.notes.values import said_beside
from approvals.services.preparing import finish_once, finish_preparing, lease_of
from approvals.services.turn.next_revision import drop_former_branch
from memory_app.databases.prepared import insert
from memory_app.dolt.errors import DoltError
from memory_app.text import edits

log = structlog.get_logger(__name__)


def begin(proposal: Proposal, person: User, commit: str) -> Proposal | None:
    """Make what went back to the agent the whole again, in the transaction that records the revert.

    Args:
        commit: the one that reverted the approval.

    Returns:
        What went back; None where nothing did, or where it stays as it is.
    """
    rest = rest_that_returns(proposal)
    texts = follow_up.whole_of(proposal, commit) if rest else None
    if rest is None or texts is None:
        return None
    now = timezone.now()
    title = texts.pop("title")
    ids = [change["id"] for change in texts.get("note_changes", ())]
    summary = summarise(
        texts["base_text"],
        texts["result_text"],
        beside=said_beside(texts.get("note_changes", ())),
        said=flags.said_with(rest.reasoning, rest.evidence),
    )
    fields = {
        "status": Status.PREPARING,
        "mergeability": Mergeability.CLEAN,
        "current_revision_number": 2,
        "target_title": title,
        "search_words": summary.search_words(rest.reasoning, rest.target, title),
        "result_sha256": edits.sha256_of(texts["result_text"]),
        "lease_expires_at": now + lease_of(len(ids)),
        "expires_at": now + settings.PROPOSAL_EXPIRY,
        "handed_back_at": None,
        "reminded_at": None,
        "owner_reminded_at": None,
        "updated_at": now,
        **summary.fields,
    }
    as_read = Proposal.objects.filter(pk=rest.pk, status__in=DECIDABLE, current_revision_number=1)
    if not as_read.update(**fields):  # its agent or a person was faster
        return None
    insert(
        Revision(proposal=rest, number=2, branch=branch_name(rest.pk, 2), created_at=now, base_commit=commit, **texts)
    )
    if rest.kind == Kind.IMPORT:
        ProposedNote.objects.filter(proposal=rest).delete()
        name_notes(rest, ids)
    rest.refresh_from_db()
    events.record(rest, Event.What.REOPENED, actor=person, at=now, whole_of=proposal.pk)
    return rest


def finish(proposal: Proposal) -> None:
    """Open what `begin` made. The revert stands: what fails here is left to `recover`."""
    if proposal.approval != Approval.PART:
        return
    for rest in proposal.answered_by.filter(status=Status.PREPARING, current_revision_number=2).select_related("agent"):
        try:
            finish_once(rest, finish_preparing, is_mine=True)
            drop_former_branch(rest, rest.revisions.get(number=1))
        except (DoltError, DatabaseError):
            log.exception("rest_not_opened", proposal=proposal.pk, rest=rest.pk)
