"""A proposal before it is open: the values of proposing (what an agent asks for, with which words and rights, and what
comes of it), the branches, and finishing PREPARING proposals, which any call may do, one at a time.
"""

import re
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import structlog
from django.conf import settings
from django.db import DatabaseError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.models import Agent, Event, Kind, Proposal, ProposalQuerySet, ProposedNote, Revision, Status, User
from approvals.review.note_changes import NoteChange
from approvals.review.summary import ChangeSummary, summarise
from approvals.review.targets import WHOLE_KINDS, is_of_whole_block, new_block_of, rows_to_write
from approvals.risks import flags
from approvals.services import events
from approvals.services.errors import AlreadyDecided, ProposalNotFound, being_made
from approvals.services.writing import author_of, entry_of
from memory_app import reads
from memory_app.databases import clock
from memory_app.databases.prepared import BATCH, insert, update
from memory_app.dolt.connections import dolt
from memory_app.dolt.errors import RevisionNotFound
from memory_app.dolt.placement import database_of
from memory_app.models import MemoryDatabase, TargetKind
from memory_app.runtime import deadlines
from memory_app.text import edits, repairs
from memory_app.writing import commits

#: Share of a block's limit from which the agent gets a warning.
NEARLY_FULL = 0.9


@dataclass(frozen=True)
class ChangeContext:
    """Who changes something, why, and with which rights.

    Args:
        actor: an agent or, for notes, a person, whose change is applied at once.
        may_apply: whether the agent's token has the scope (`notes:write`) with which policy and rules may apply its
            change at once.
        reasoning: why, for the person who decides. Only tools that show the memory as files let it be empty.
        evidence: conversation turns `{role, content, at?}`.
        operation: for agents, 32 hexadecimal digits; a call with the same one has the same outcome.
        proposal_id: for agents, their undecided proposal that gets this change as its next revision. What is empty
            here stays as it is there. Of one approved in part, what went back is proposed anew.
        answers: the one approved in part that this takes up again; set by `proposing.anew`.
        force: for agents, ask a person again about what was rejected; it takes another reasoning than then.
    """

    actor: User | Agent
    may_apply: bool = False
    reasoning: str = ""
    confidence: str = "medium"
    session_id: str = ""
    evidence: Sequence[dict[str, Any]] = ()
    operation: str | None = None
    proposal_id: int | None = None
    answers: Proposal | None = None
    force: bool = False

    @property
    def agent(self) -> Agent:
        """Return the agent that asks. Only agents propose: a person has none to amend."""
        if isinstance(self.actor, Agent):
            return self.actor
        raise ProposalNotFound

    @property
    def said(self) -> dict[str, Any]:
        """Return what the agent says with the change, as fields of a proposal."""
        said = {"reasoning": self.reasoning, "confidence": self.confidence, "session_id": self.session_id}
        return {**said, "evidence": list(self.evidence)}


@dataclass(frozen=True)
class ProposedChange:
    """A change of one target: a block's text, a whole block, a note, or the notes of an import.

    Args:
        target: label of the block or id of the note; empty for an import, which gets a name with its proposal.
        title: what lists call it.
        before, after: its texts, as the two sides of the difference.
        result_sha256: two proposals with the same one ask for the same.
        base_commit: the commit of main at which the target was read.
        block: as it is there; None for a new one, and for notes.
        edits: of a block, as a revision keeps them.
        notes: the change of each note, as a revision keeps it.
        beside: what is said beside the texts, before and after, where it changes.
    """

    kind: Kind
    owner: str
    target_kind: TargetKind
    target: str
    title: str
    before: str
    after: str
    result_sha256: str
    base_commit: str
    block: reads.Block | None = None
    edits: list[dict[str, Any]] = field(default_factory=list)
    notes: list[dict[str, Any]] = field(default_factory=list)
    beside: tuple[str, str] = ("", "")

    @property
    def base_sha256(self) -> str:
        return self.block.sha256 if self.block else ""

    @property
    def equal(self) -> dict[str, str]:
        """Return the columns, with their values, in which a proposal that asks for the same is equal."""
        if self.target_kind != TargetKind.BLOCK:  # a new note has an id of its own
            return {"kind": self.kind, "result_sha256": self.result_sha256}
        return {"target_kind": TargetKind.BLOCK, "target": self.target, "result_sha256": self.result_sha256}

    def summary(self, reasoning: str, evidence: Sequence[dict[str, Any]]) -> ChangeSummary:
        is_deletion = self.kind in (Kind.DELETE, Kind.DELETE_BLOCK)
        said = flags.said_with(reasoning, evidence)
        return summarise(self.before, self.after, is_deletion=is_deletion, beside=self.beside, said=said)

    def fields(self, summary: ChangeSummary, reasoning: str, target: str) -> dict[str, Any]:
        """Return the fields of a proposal that follow from the change."""
        return {
            "kind": self.kind,
            "target_title": self.title,
            "search_words": summary.search_words(reasoning, target, self.title),
            "result_sha256": self.result_sha256,
            **summary.fields,
        }

    def texts(self, summary: ChangeSummary) -> dict[str, Any]:
        """Return the fields of a revision."""
        return {
            "base_commit": self.base_commit,
            "base_sha256": self.base_sha256,
            "base_text": self.before,
            "edits": self.edits,
            "result_text": self.after,
            "note_changes": self.notes,
            "risk_report": summary.risk_report.as_json() if self.kind == Kind.IMPORT else None,
        }

    def is_asked_by(self, proposal: Proposal) -> bool:
        """Whether the proposal asks for this already, of its target as it is now."""
        former = proposal.current_revision
        if self.notes:
            same = proposal.result_sha256 == self.result_sha256 and proposal.kind == self.kind
            return same and _shas_before(former.note_changes) == _shas_before(self.notes)
        is_whole = self.kind in WHOLE_KINDS or is_of_whole_block(former)
        if is_whole and former.edits != self.edits:
            return False
        return (former.base_sha256, former.result_text) == (self.base_sha256, self.after)


@dataclass(frozen=True)
class Proposed:
    """What came of asking for a change.

    Args:
        created: False when an equal undecided proposal of this agent is returned instead.
        amended: it is the next revision of a proposal that was there.
        block: the target as it is now; None where it is not there, and for notes.
        asked: the edits that were asked for, where those made may be repaired.
    """

    proposal: Proposal
    created: bool = True
    amended: bool = False
    block: reads.Block | None = None
    asked: Sequence[edits.Edit] = ()

    @property
    def revision(self) -> Revision:
        return self.proposal.current_revision

    @property
    def note_changes(self) -> tuple[NoteChange, ...]:
        return tuple(map(NoteChange.from_json, self.revision.note_changes))

    @property
    def occurrences(self) -> int:
        """Return how many places the edits replace."""
        return sum(edit["occurrences"] or 1 for edit in self.revision.edits if edit["op"] == "replace")

    @property
    def repaired(self) -> list[dict[str, Any]]:
        """Return the replacements that were made on a passage written otherwise than its old_string."""
        if not (self.created or self.amended) or len(self.asked) != len(self.revision.edits):
            return []
        return repairs.differing(self.asked, self.revision.edits)

    @property
    def used(self) -> int:
        """Return the length of the resulting text in characters."""
        return len(self.revision.result_text)

    @property
    def limit(self) -> int:
        """Return the block's limit in characters."""
        new = new_block_of(self.revision)
        return self.block.limit if self.block else new.limit if new else settings.BLOCK_LIMIT

    @property
    def content_sha256(self) -> str:
        """Return the sha256 of the block's current text; empty where there is none."""
        return self.block.body_sha256 if self.block else ""

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return sentences for the agent."""
        if self.used < NEARLY_FULL * self.limit:
            return ()
        return (
            f"Warning: block '{self.proposal.target}' would be {self.used * 100 // self.limit} % full "
            f"({self.used:,} of {self.limit:,} characters).",
        )


def _shas_before(notes: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(each["id"], each["before"]["sha256"] if each["before"] else "") for each in notes]


log = structlog.get_logger(__name__)

_BRANCH = re.compile(r"p/(\d{1,18})(?:-(\d{1,9}))?")


def write_revision_branch(proposal: Proposal, revision: Revision, *, base: reads.Block | None = None) -> str:
    """Write a revision to its branch, on top of its base commit. Return the hash of the head.

    What main contains, since it was approved and undone, keeps its commit: the ledger knows the approval by it.

    Args:
        base: see `finish_preparing`.
    """
    if revision.head_commit and commits.put_back(proposal.owner, revision.branch, revision.head_commit):
        return revision.head_commit
    operation = uuid.uuid5(uuid.UUID(proposal.operation), str(revision.number)).hex
    return commits.write_branch(
        revision.branch,
        base=revision.base_commit,
        writes=rows_to_write(proposal, revision, base=base),
        entry=entry_of(proposal, "proposed", operation, revision=revision),
        author=author_of(revision.made_by or proposal.agent),
        subject=f"Propose {proposal.kind} of {proposal.target}",
    )


def write_again(proposal: Proposal, revision: Revision) -> str:
    """Write a revision that was decided, or lost its branch, to a branch again. Return the hash of the head.

    Empty where the history was squashed since: on top of its base, a merge would bring back what main deleted. Its
    text is written to a new branch when it is approved.
    """
    database = MemoryDatabase.objects.filter(name=database_of(proposal.owner), epoch__gt=0)
    if database.exists() and not dolt(proposal.owner).is_ancestor(revision.base_commit):
        return ""
    return write_revision_branch(proposal, revision)


def branch_name(proposal_id: int, revision: int) -> str:
    """Return the name of a revision's branch: short, because DoltLite rewrites the list of branches on each write."""
    return f"p/{proposal_id}" if revision == 1 else f"p/{proposal_id}-{revision}"


def parse_branch_name(branch: str) -> tuple[int, int] | None:
    """Return the proposal and the revision number in a `branch_name`; None for other names."""
    found = _BRANCH.fullmatch(branch)
    return (int(found[1]), int(found[2] or 1)) if found else None


def drop_branches(proposal: Proposal) -> None:
    """Drop the branches of a decided proposal."""
    for number in range(1, proposal.current_revision_number + 1):
        drop_branch(proposal, branch_name(proposal.pk, number))


def drop_branch(proposal: Proposal, name: str) -> None:
    """Drop one branch. A failure only costs space: `recover` drops it later."""
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
            Revision.objects.filter(pk=revision.pk).update(head_commit=dolt(proposal.owner).head(revision.branch))
        Proposal.objects.filter(pk=proposal.pk).update(is_garbage_left=True)
    commits.drop_branch(proposal.owner, revision.branch)


#: Writing 100,000 notes took from 25 s to well over 100 s on a busy server; no other call takes it over before.
_LEASE_OF_A_NOTE = timedelta(milliseconds=3)


#: Seconds to wait for another call that makes the same proposal; that usually takes 50 ms.
_PATIENCE = 5.0


def insert_prepared(proposal: Proposal, *, has_branch: bool = True, **texts: Any) -> None:
    """Insert a PREPARING proposal and its first revision, inside the caller's transaction.

    Args:
        has_branch: False for an automatic change, which is committed directly to main.
        texts: the fields of the revision.
    """
    insert(proposal)
    branch = branch_name(proposal.pk, 1) if has_branch else ""
    if has_branch and proposal.kind == Kind.SAVE:  # made on no note: its branch begins where main is
        texts["base_commit"] = reads.head(proposal.owner)
    revision = Revision(proposal=proposal, number=1, branch=branch, created_at=proposal.created_at, **texts)
    proposal.hold_current_revision(insert(revision))


def name_notes(proposal: Proposal) -> None:
    """Write the `ProposedNote` rows of an import that waits; do nothing for other proposals."""
    if proposal.kind == Kind.IMPORT:
        changes = proposal.current_revision.note_changes
        named = (ProposedNote(proposal=proposal, note_id=change["id"]) for change in changes)
        ProposedNote.objects.bulk_create(named, batch_size=BATCH)


def require_texts(proposal: Proposal) -> None:
    """Raise AlreadyDecided if the texts were removed, which the answer to a repeated call would need."""
    if proposal.is_redacted:
        raise AlreadyDecided(proposal, _("The texts of this proposal were removed."))


def finish_once(
    proposal: Proposal, make: Callable[[Proposal], Proposal], *, is_mine: bool, is_resumed: bool = False
) -> Proposal:
    """Finish a PREPARING proposal with `make`, unless another call finishes it first. Return the finished proposal.

    Args:
        is_mine: the caller has just begun it, or taken it over, and holds its lease.
        is_resumed: the caller holds its operation id, which only one call has at a time. If the first call is not done
            after a few seconds, it was killed: waiting for the lease of a large import would take minutes.

    Raises:
        `being_made`: another call still works on it, or found that it no longer fits.
    """
    if not is_mine:
        proposal = _wait_until_made(proposal, is_resumed=is_resumed)
    if proposal.status != Status.PREPARING:
        return proposal
    try:
        return make(proposal)
    except Exception:
        _release_lease(proposal)
        raise


def take_over(proposal: Proposal, *, holder_is_gone: bool = False) -> bool:
    """Take the lease of a PREPARING proposal if it has expired. Return whether this call holds it now.

    Args:
        holder_is_gone: take it before it expires, because its holder is known to have died.
    """
    held, now = proposal.lease_expires_at, clock.now()
    if held and held >= now and not holder_is_gone:
        return False
    until = now + lease_of(len(proposal.current_revision.note_changes))
    if not _row_as_read(proposal).update(lease_expires_at=until):
        return False
    proposal.lease_expires_at = until
    return True


def lease_of(notes: int) -> timedelta:
    """Return the lease for preparing a proposal about so many notes; after it, other calls may take over."""
    return settings.LEASE + notes * _LEASE_OF_A_NOTE


def _wait_until_made(proposal: Proposal, *, is_resumed: bool) -> Proposal:
    end = time.monotonic() + min(_PATIENCE, deadlines.remaining())
    while proposal.status == Status.PREPARING and not take_over(proposal):
        if time.monotonic() >= end:
            if is_resumed and take_over(proposal, holder_is_gone=True):
                break
            raise being_made()
        time.sleep(0.02)
        try:
            proposal.refresh_from_db()
        except Proposal.DoesNotExist as error:
            raise being_made() from error
    return proposal


def _release_lease(proposal: Proposal) -> None:
    """Release the lease, so that others need not wait for it; if this cannot be written, it expires."""
    deadlines.extend()
    try:
        _row_as_read(proposal).update(lease_expires_at=None)
    except DatabaseError as error:
        log.warning("proposal_not_let_go", proposal=proposal.pk, error=type(error).__name__)


def _row_as_read(proposal: Proposal) -> ProposalQuerySet:
    """Select the row if it is still PREPARING with the lease that was read."""
    return Proposal.objects.filter(pk=proposal.pk, status=Status.PREPARING, lease_expires_at=proposal.lease_expires_at)


def finish_preparing(proposal: Proposal, *, base: reads.Block | None = None) -> Proposal:
    """Write the branch of a PREPARING proposal and open it. Idempotent.

    Args:
        base: the block at the revision's base commit, if the caller has read it.
    """
    revision = proposal.current_revision
    revision.head_commit = write_revision_branch(proposal, revision, base=base)
    opened = {"status": Status.OPEN, "lease_expires_at": None, "updated_at": timezone.now()}
    with transaction.atomic(durable=True):
        update(Revision, {"head_commit": revision.head_commit}, where={"id": revision.pk})
        if update(Proposal, opened, where={"id": proposal.pk, "status": Status.PREPARING}):
            if revision.number == 1:  # amending is recorded when it begins
                events.record(proposal, Event.What.PROPOSED, actor=proposal.agent, text=proposal.reasoning)
            proposal.set_written(opened)
    if proposal.status == Status.PREPARING:
        proposal.refresh_from_db()
    if proposal.is_decided:  # another call finished it after this call's lease expired
        give_up_branch(revision)
    return proposal
