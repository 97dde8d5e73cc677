"""How use cases write main: in whose name, and what the ledger says of it."""

import uuid
from collections.abc import Callable
from functools import partial

from django.utils.translation import gettext as _

from approvals.models import Agent, Proposal, Revision, User
from approvals.permissions import may_edit
from approvals.recovery.ledger import commit_stray_rows
from approvals.review.targets import targets_of
from approvals.services.errors import NoChange, Refusal
from approvals.services.recheck import after_change
from memory_app.dolt.errors import DirtyMemory, NothingToCommit
from memory_app.dolt.placement import database_of
from memory_app.dolt.types import Author
from memory_app.models import Change
from memory_app.writing import authors, commits
from memory_app.writing.ledger import LedgerEntry
from memory_app.writing.values import Write


def write_main(
    work: str | tuple[Write, ...],
    *,
    entry: LedgerEntry,
    by: User | Agent | None,
    subject: str,
    since: str | None = None,
    on_record: Callable[[str], object] | None = None,
) -> Change:
    """Write main as `commits.write_main` does. Rows that others left uncommitted are committed first, as `unknown`.

    They must not block reviews, nor become part of another author's commit.
    """
    write = partial(commits.write_main, work, entry=entry, author=author_of(by), subject=subject, since=since)
    try:
        return write(on_record=on_record)
    except DirtyMemory:
        commit_stray_rows(database_of(entry.owner))
        return write(on_record=on_record)


def require_editor(by: User | Agent, owner: str) -> None:
    """Raise `not_allowed` for a person who may not write this memory; what an agent may is asked elsewhere."""
    if isinstance(by, User) and not may_edit(by, owner):
        raise Refusal(_("You may not edit this memory."), code="not_allowed")


def write_as_person(
    actor: User,
    owner: str,
    action: Change.Action,
    work: tuple[Write, ...],
    *,
    targets: tuple[tuple[str, str], ...],
    subject: str,
    comment: str,
) -> Change:
    """Write what a person changes directly, and recheck the proposals about it.

    Raises:
        `not_allowed`: this person may not write this memory.
        NoChange: the memory says so already.
        What else `commits.write_main` raises.
    """
    require_editor(actor, owner)
    entry = LedgerEntry(
        action=action,
        owner=owner,
        targets=targets,
        operation=uuid.uuid4().hex,
        actor=actor.username,
        comment=comment.strip(),
    )
    try:
        made = write_main(work, entry=entry, by=actor, subject=subject)
    except NothingToCommit as error:
        raise NoChange(_("Nothing was changed.")) from error
    after_change(owner, targets)
    return made


def author_of(by: User | Agent | None) -> Author:
    """Return the author of a commit; an operator, who is nobody here, is Assent."""
    if by is None:
        return authors.ASSENT
    return authors.person(by.username, by.plain_name) if isinstance(by, User) else authors.agent(by.name)


def entry_of(
    proposal: Proposal,
    action: str,
    operation: str,
    *,
    actor: User | None = None,
    comment: str = "",
    revision: Revision | None = None,
    undoes: str = "",
) -> LedgerEntry:
    """Return what the ledger says of a commit about a proposal.

    Args:
        revision: the current one by default.
        undoes: the commit of the decision that this one takes back.
    """
    return LedgerEntry(
        action=action,
        owner=proposal.owner,
        targets=targets_of(proposal, revision or proposal.current_revision),
        operation=operation,
        actor=actor.username if actor else "",
        agent=proposal.agent.name,
        proposal_id=proposal.pk,
        comment=comment,
        undoes=undoes,
    )
