"""The branches of proposals: names, writing, dropping."""

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
from memory_app.dolt.types import Author
from memory_app.writing import authors, commits, ledger

log = structlog.get_logger(__name__)

_BRANCH = re.compile(r"p/(\d{1,18})(?:-(\d{1,9}))?")


def write_revision_branch(proposal: Proposal, revision: Revision, *, base: reads.Block | None = None) -> str:
    """Write a revision to its branch, on top of its base commit. Return the hash of the head.

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
        author=_author(proposal, revision),
        subject=f"Propose {proposal.kind} of {proposal.target}",
    )


def _author(proposal: Proposal, revision: Revision) -> Author:
    """Return who wrote the revision's text: its agent or, of a reworded one, the reviewer."""
    person = revision.made_by
    return authors.person(person.username, person.display_name) if person else authors.agent(proposal.agent.name)


def branch_name(proposal_id: int, revision: int) -> str:
    """Return the name of a revision's branch: short, because DoltLite rewrites the list of branches on each write."""
    return f"p/{proposal_id}" if revision == 1 else f"p/{proposal_id}-{revision}"


def parse_branch_name(branch: str) -> tuple[int, int] | None:
    """Return the proposal and the revision number in a `branch_name`; None for other names."""
    found = _BRANCH.fullmatch(branch)
    return (int(found[1]), int(found[2] or 1)) if found else None


def drop_branches(proposal: Proposal) -> None:
    """Drop the branches of a decided proposal. A failure only costs space: `recover` drops them later."""
    for number in range(1, proposal.current_revision_number + 1):
        name = branch_name(proposal.pk, number)
        try:
            commits.drop_branch(proposal.owner, name)
        except Exception:
            log.exception("branch_not_dropped", proposal=proposal.pk, branch=name)


def give_up_branch(revision: Revision) -> None:
    """Drop a branch that was written while its proposal was decided, or whose dropping had failed.

    If the texts of the proposal were removed, garbage has to be collected again.
    """
    proposal = Proposal.objects.get(pk=revision.proposal_id)
    if proposal.is_redacted:
        with suppress(RevisionNotFound):  # a concurrent `collect` dropped it, and may not know its commit
            Revision.objects.filter(pk=revision.pk).update(head_commit=dolt().head(revision.branch))
        Proposal.objects.filter(pk=proposal.pk).update(is_garbage_left=True)
    commits.drop_branch(proposal.owner, revision.branch)
