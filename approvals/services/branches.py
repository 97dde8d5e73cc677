"""The branches of proposals: their names, what is written on them, and when they are dropped."""

from __future__ import annotations

import re
import uuid
from contextlib import suppress

import structlog

from approvals.models import Proposal, Revision
from approvals.review.targets import rows_to_write, targets_of
from memory_app import reads
from memory_app.dolt.connections import dolt
from memory_app.dolt.errors import RevisionNotFound
from memory_app.writing import authors, commits, ledger

log = structlog.get_logger(__name__)

_BRANCH = re.compile(r"p/(\d{1,18})(?:-(\d{1,9}))?")


def write_revision_branch(proposal: Proposal, revision: Revision, *, base: reads.Block | None = None) -> str:
    """Put what a revision says on its branch, on top of its base commit; the head's hash.

    Args:
        base: see `finish_preparing`.
    """
    return commits.write_branch(
        revision.branch,
        base=revision.base_commit,
        writes=rows_to_write(proposal, revision, base=base),
        entry=ledger.LedgerEntry(
            action="proposed",
            owner=proposal.owner,
            targets=targets_of(proposal, revision),
            operation=uuid.uuid5(uuid.UUID(proposal.operation), str(revision.number)).hex,
            agent=proposal.agent.name,
            proposal_id=proposal.pk,
        ),
        author=authors.agent(proposal.agent.name),
        subject=f"Propose {proposal.kind} of {proposal.target}",
    )


def branch_name(proposal_id: int, revision: int) -> str:
    """Short, since DoltLite rewrites the list of all branches on each write."""
    return f"p/{proposal_id}" if revision == 1 else f"p/{proposal_id}-{revision}"


def parse_branch_name(branch: str) -> tuple[int, int] | None:
    """The proposal and the revision `branch_name` made this name of; None when it is no such name."""
    found = _BRANCH.fullmatch(branch)
    return (int(found[1]), int(found[2] or 1)) if found else None


def drop_branches(proposal: Proposal) -> None:
    """Remove the branches of a decided proposal. Failing costs only space: `recover` does it again."""
    for number in range(1, proposal.current_revision_number + 1):
        name = branch_name(proposal.pk, number)
        try:
            commits.drop_branch(proposal.owner, name)
        except Exception:
            log.exception("branch_not_dropped", proposal=proposal.pk, branch=name)


def give_up_branch(revision: Revision) -> None:
    """Drop a branch that was written while its proposal was decided, or whose dropping had failed.

    Where the texts were removed they have to go from the files once more.
    """
    proposal = Proposal.objects.get(pk=revision.proposal_id)
    if proposal.is_redacted:
        with suppress(RevisionNotFound):  # whoever collects dropped it this moment, and may not know of its commit
            Revision.objects.filter(pk=revision.pk).update(head_commit=dolt().head(revision.branch))
        Proposal.objects.filter(pk=proposal.pk).update(is_garbage_left=True)
    commits.drop_branch(proposal.owner, revision.branch)
