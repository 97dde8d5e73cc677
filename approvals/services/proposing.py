"""An agent asks for a change of a block's text, a whole block, or notes: in a new proposal, or in one it made before.

A new proposal: row PREPARING → branch → commit → OPEN; what a rule or the policy of the owner lets through is committed
to main at once (`trust.finish`). An amended one: OPEN → PREPARING with the next revision → OPEN. Each step is
idempotent: after a crash between them, `recover` or the same call with its operation id finishes the proposal. Only one
call works on a row: others wait, and take over when its lease has expired. See docs/architecture.md, "A proposal's
life".

Here is what all of these have in common. The verbs are in `blocks` and `notes`.
"""

import uuid
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.db.models import Exists, F
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.models import (
    DECIDABLE,
    PENDING,
    Agent,
    Event,
    Kind,
    Mergeability,
    Proposal,
    RejectedFingerprint,
    ReviewReason,
    Revision,
    Status,
    TrustRule,
)
from approvals.review import trust
from approvals.review.turn import Repeated, said_of_revision
from approvals.services import events
from approvals.services.checks import raise_not_open
from approvals.services.errors import BeingDecided, NoChange, ProposalNotFound, Refusal, other_target
from approvals.services.preparing import (
    ChangeContext,
    Proposed,
    ProposedChange,
    branch_name,
    drop_branch,
    finish_once,
    insert_prepared,
    lease_of,
    name_notes,
    require_texts,
)
from approvals.services.repeating import RECENTLY, find_answered, find_repeated, require_new_reasoning
from approvals.services.trust import finish
from memory_app import reads
from memory_app.databases import clock, row_order
from memory_app.databases.prepared import Prepared, insert, update
from memory_app.dolt.placement import database_for, database_of, of_database
from memory_app.models import TargetKind
from memory_app.text import alike

#: An agent and a reviewer who do not agree by then start anew.
MOST_REVISIONS = 100


def ask(
    by: ChangeContext,
    owner: str,
    label: str,
    change: Callable[[], ProposedChange],
    *,
    require: Callable[[], None] | None = None,
) -> Proposed:
    """Ask for a change of a block: as a new proposal or, where `by` names an undecided one, as its next revision.

    Args:
        change: reads the target, and raises what stands against the change.
        require: see `make`.

    Raises:
        What `make` or `amend` raises.
        ProposalNotFound: the agent has no such proposal for this owner.
        `other_target`: it is about something else.
        AlreadyDecided: the proposal of this operation exists, and its texts have been removed.
        `being_made`: another call is making this proposal, and did not finish within a few seconds.
    """
    by, proposal = anew(by, owner)
    if by.answers and (by.answers.target_kind, by.answers.target) != (TargetKind.BLOCK, label):
        raise other_target(by.answers)
    if proposal is None:
        return earlier(by, owner) or make(by, change(), require=require)
    if done := _amended_earlier(by, proposal):
        return done
    proposal = require_amendable(proposal)
    if (proposal.target_kind, proposal.target) != (TargetKind.BLOCK, label):
        raise other_target(proposal)
    return amend(by, proposal, change())


def anew(by: ChangeContext, owner: str) -> tuple[ChangeContext, Proposal | None]:
    """Return the proposal that `by` names and amends, with `by`; None for a new one.

    Where the rest of one approved in part went back to its agent, naming that one is to propose the rest anew.
    """
    if by.proposal_id is None:
        return by, None
    named = own_proposal(by.agent, owner, by.proposal_id)
    if named.is_approved_in_part and named.rest_went_back:
        return replace(by, proposal_id=None, answers=named), None
    return by, named


def earlier(by: ChangeContext, owner: str) -> Proposed | None:
    """Return what an earlier call with this operation asked for, finished if a crash interrupted it; None for none."""
    by, amended = anew(by, owner)
    if amended:
        return _amended_earlier(by, amended)
    proposal = Proposal.objects.filter(operation=by.operation).first() if by.operation else None
    return _outcome(finished(proposal, is_resumed=True)) if proposal else None


def _amended_earlier(by: ChangeContext, proposal: Proposal) -> Proposed | None:
    """Return the proposal as an earlier call with this operation amended it; None when there was none."""
    if not by.operation or not proposal.events.filter(what=Event.What.AMENDED, data__operation=by.operation).exists():
        # Removing the texts removes the operation too; what became of the proposal is the answer then.
        return None
    return _outcome(finished(proposal, is_resumed=True), amended=True)


def make(by: ChangeContext, change: ProposedChange, *, require: Callable[[], None] | None = None) -> Proposed:
    """Make a proposal of the change, or return the agent's undecided one that asks for the same.

    Args:
        require: raises what else stands against it, called where no other call of the agent for this owner is made.

    Raises:
        `too_many_pending`, `memory_full`: there is no room for another one.
        `rejected_before`: a person rejected the same, and it is not forced.
        EngineUnavailable: the branch could not be written; the row stays, and `recover` finishes it.
    """
    operation = by.operation or uuid.uuid4().hex
    database_for(change.owner)  # before there is a row: the memory may be moving to another server
    try:
        proposal, created, rule = _prepare(by, change, operation, require)
    except IntegrityError:  # a concurrent call with the same operation inserted its row first
        return _outcome(finished(Proposal.objects.get(operation=operation)), block=change.block)
    proposal = finished(proposal, is_mine=created, base=change.block if created else None, rule=rule)
    return _outcome(proposal, created=created, block=change.block)


def _prepare(
    by: ChangeContext, change: ProposedChange, operation: str, require: Callable[[], None] | None
) -> tuple[Proposal, bool, TrustRule | None]:
    """Insert the PREPARING row, unless an equal proposal exists.

    Returns:
        The proposal, whether it is new, and the rule that applies it at once.
    """
    is_import = change.kind == Kind.IMPORT
    summary, now = change.summary(by.reasoning, by.evidence), timezone.now()
    target = f"import-{operation[:12]}" if is_import else change.target
    proposal = Proposal(
        owner=change.owner,
        target_kind=change.target_kind,
        target=target,
        agent=by.agent,
        operation=operation,
        created_at=now,
        expires_at=now + settings.PROPOSAL_EXPIRY,
        lease_expires_at=clock.now() + lease_of(len(change.notes)),
        **by.said,
        **change.fields(summary, by.reasoning, target),
    )
    verdict = trust.verdict(proposal, trust.Weight.of(summary), may_apply=by.may_apply)
    # Others ask in the transaction, and only of an agent of which something was rejected: it is a statement. An import
    # takes seconds, which no transaction may last.
    repeated, has_rejected = None, False
    if verdict.applies or is_import:
        about = {"agent": by.agent.pk, "owner": change.owner, "since": now - RECENTLY}
        was_rejected, waits, has_rejected = _LEFT.all(**about)[0]
        if waits and change.kind == Kind.SAVE and (twin := _find_waiting(by.agent, change)):
            return twin, False, None
        if was_rejected and settings.REJECTION_COUNTS:
            repeated = _find_repeated(by, change)
            verdict = _REPEATED if repeated else verdict
    with transaction.atomic(durable=True):
        if not verdict.applies:  # changes that are applied at once do not count against the caps
            twin, has_rejected, may_repeat = _find_equal_or_require_room(by.agent, change.owner, **change.equal)
            twin = twin or (_find_waiting(by.agent, change) if change.kind == Kind.SAVE else None)
            if twin:
                return twin, False, None
            if may_repeat and not is_import and not repeated:
                repeated = _find_repeated(by, change)
                verdict = _REPEATED if repeated else verdict
        if require:
            require()
        if repeated:
            require_new_reasoning(repeated)
        proposal.auto_applied, proposal.review_reason = verdict.applies, verdict.reason
        proposal.answers = repeated.earlier if repeated else by.answers
        insert_prepared(proposal, has_branch=not verdict.applies, **change.texts(summary))
        if not verdict.applies:
            name_notes(proposal)
    # After the transaction, which holds up the agent's other calls for this owner: comparing long texts takes a while.
    if has_rejected and not proposal.answers_id:
        proposal.answers_id = find_answered(proposal, summary.segments, change.after)
        if proposal.answers_id:
            update(Proposal, {"answers_id": proposal.answers_id}, where={"id": proposal.pk})
    return proposal, True, verdict.rule


#: Whether something of the agent was rejected or undone that may be proposed again, whether new notes of it wait, and
#: whether a new one may answer what was rejected.
_LEFT = Prepared(
    lambda agent, owner, since: (
        Agent.objects.filter(pk=agent)
        .order_by()
        .values_list(
            Exists(RejectedFingerprint.objects.filter(agent=agent, owner=owner)),
            Exists(Proposal.objects.filter(agent=agent, owner=owner, kind=Kind.SAVE, status__in=PENDING)),
            Exists(Proposal.objects.filter(agent=agent, owner=owner, status=Status.REJECTED, decided_at__gte=since)),
        )
    ),
    agent=int,
    owner=str,
    since=datetime,
)


def _find_waiting(agent: Agent, change: ProposedChange) -> Proposal | None:
    """Return the agent's undecided proposal of a new note that says the same; None when there is none."""
    waiting = Proposal.objects.pending_of(agent, change.owner).filter(kind=Kind.SAVE)
    current = Revision.objects.filter(proposal__in=waiting, number=F("proposal__current_revision_number"))
    said = alike.said_by(change.after)
    texts = current.order_by("proposal_id").values_list("proposal_id", "result_text")
    found = next((pk for pk, text in texts if alike.said_by(text) == said), None)
    return Proposal.objects.select_related("agent").get(pk=found) if found else None


#: What a person rejected or undid before waits for a person.
_REPEATED = trust.Verdict(applies=False, reason=ReviewReason.REPEATED)


def _find_repeated(by: ChangeContext, change: ProposedChange) -> Repeated | None:
    texts = {"base_text": change.before, "result_text": change.after, "edits": change.edits}
    revision = Revision(note_changes=change.notes, **texts)
    said = said_of_revision(change.target_kind, change.target, revision)
    return find_repeated(by.agent, change.owner, said, by.reasoning, force=by.force)


def finished(
    proposal: Proposal,
    *,
    is_mine: bool = False,
    is_resumed: bool = False,
    base: reads.Block | None = None,
    rule: TrustRule | None = None,
) -> Proposal:
    """Finish a proposal that is PREPARING: to OPEN, or to APPLIED where a rule or the policy applies it.

    Args:
        is_mine, is_resumed: see `preparing.finish_once`.
        base, rule: see `trust.finish`.

    Raises:
        NotesChanged: a note changed since; the proposal is deleted.
        AlreadyDecided: its texts were removed.
        `being_made`: see `preparing.finish_once`.
    """
    require_texts(proposal)
    make = partial(finish, is_new=is_mine, base=base, rule=rule)
    return finish_once(proposal, make, is_mine=is_mine, is_resumed=is_resumed)


def _outcome(
    proposal: Proposal, *, created: bool = True, amended: bool = False, block: reads.Block | None = None
) -> Proposed:
    if proposal.target_kind == TargetKind.BLOCK and block is None:
        block = reads.find_block(proposal.owner, proposal.target)
    return Proposed(proposal, created, amended, block)


# -- Limits of undecided proposals: per agent and owner, and in all.

_TABLE, _FINGERPRINTS = Proposal._meta.db_table, RejectedFingerprint._meta.db_table
_PENDING = ", ".join(f"'{status.value}'" for status in PENDING)


def _find_equal_or_require_room(agent: Agent, owner: str, **same: str) -> tuple[Proposal | None, bool, bool]:
    """Look for the agent's undecided proposal that equals this one; without one, for room for another.

    Call it inside the transaction that inserts the row: until that transaction ends no other call of the agent for this
    owner passes here, so the cap of the two holds exactly. Others do, so that the cap of the database may be passed by
    as many as are made at the same moment.

    Args:
        same: the columns, with their values, in which two proposals are equal.

    Returns:
        The equal proposal; whether one of the agent's was rejected within `RECENTLY`, so that a new one may answer it;
        whether something of it was rejected or undone that may be proposed again.

    Raises:
        `too_many_pending`: it has `PENDING_CAP` undecided proposals for this owner.
        `memory_full`: there are `MAX_OPEN_PROPOSALS` undecided proposals in the owner's database.
    """
    # Of what else this agent proposes nothing here depends: it may serve many owners at once.
    row_order.lock(f"proposals of {agent.pk} for {owner}")
    equal = " AND ".join(f"{column} = %s" for column in same)
    # One statement, because every proposing call runs it.
    statement = f"""
        WITH own AS (SELECT * FROM {_TABLE} WHERE agent_id = %s AND owner = %s AND status IN ({_PENDING}))
        SELECT (SELECT MIN(id) FROM own WHERE {equal}), (SELECT COUNT(*) FROM own),
               (SELECT COUNT(*) FROM {_TABLE} WHERE status IN ({_PENDING})),
               EXISTS (SELECT 1 FROM {_TABLE}
                       WHERE agent_id = %s AND owner = %s AND status = '{Status.REJECTED.value}' AND decided_at >= %s),
               EXISTS (SELECT 1 FROM {_FINGERPRINTS} WHERE agent_id = %s AND owner = %s)
    """  # noqa: S608 (names of our own)
    since = connection.ops.adapt_datetimefield_value(timezone.now() - RECENTLY)
    with connection.cursor() as cursor:
        cursor.execute(statement, [agent.pk, owner, *same.values(), agent.pk, owner, since, agent.pk, owner])
        twin, own, in_all, rejected, fingerprints = cursor.fetchone()
    if twin:
        return Proposal.objects.get(pk=twin), False, False
    if own >= settings.PENDING_CAP:
        waiting = Proposal.objects.pending_of(agent, owner).order_by("created_at", "id")
        raise Refusal(
            f"{settings.PENDING_CAP} proposals wait already.",
            code="too_many_pending",
            proposals=tuple(waiting),
            cap=settings.PENDING_CAP,
        )
    # What is bounded are the branches of one database.
    if in_all >= settings.MAX_OPEN_PROPOSALS and _undecided_beside(owner) >= settings.MAX_OPEN_PROPOSALS:
        raise Refusal(f"{settings.MAX_OPEN_PROPOSALS} proposals wait for a decision already.", code="memory_full")
    return None, bool(rejected), bool(fingerprints)


def _undecided_beside(owner: str) -> int:
    """Return how many undecided proposals there are in the database of this owner's memory."""
    undecided = Proposal.objects.filter(status__in=PENDING)
    return undecided.filter(of_database(database_of(owner))).count()


# -- The next revision of an undecided proposal.


def own_proposal(agent: Agent, owner: str, proposal_id: int) -> Proposal:
    """Return an agent's proposal for this owner.

    Raises:
        ProposalNotFound: this agent has no proposal with this number for this owner.
    """
    found = Proposal.objects.filter(agent=agent, owner=owner, pk=proposal_id)
    proposal = found.select_related("agent", "decided_by").first()
    if proposal is None or (proposal.status == Status.PREPARING and proposal.auto_applied):
        raise ProposalNotFound
    return proposal


def require_amendable(proposal: Proposal) -> Proposal:
    """Return the proposal, which is undecided, has nothing under way and may get another revision.

    Raises:
        AlreadyDecided, BeingDecided, `being_made`, `too_many_revisions`.
    """
    if proposal.status == Status.PREPARING:
        proposal = finished(proposal)
    if proposal.status not in DECIDABLE:
        raise_not_open(proposal, proposal.current_revision_number)
    if proposal.current_revision_number >= MOST_REVISIONS:
        raise Refusal(
            f"Proposal {proposal.pk} has {MOST_REVISIONS} revisions.",
            code="too_many_revisions",
            proposal=proposal,
            most=MOST_REVISIONS,
        )
    return proposal


def amend(
    by: ChangeContext, proposal: Proposal, change: ProposedChange, *, require: Callable[[], None] | None = None
) -> Proposed:
    """Make the change the next revision of an undecided proposal. It does not count against the caps.

    Args:
        proposal: as `require_amendable` returned it, about the same target.
        require: raises what else stands against it, asked only where it is not the same.

    Raises:
        NoChange: it asks for exactly this already, and no other evidence is given.
        AlreadyDecided, BeingDecided: a person, or another call, was faster.
    """
    if change.is_asked_by(proposal) and list(by.evidence) in ([], proposal.evidence):
        raise NoChange(f"Proposal {proposal.pk} asks for this already.", proposal=proposal)
    if require:
        require()
    former = proposal.current_revision
    reasoning = by.reasoning or proposal.reasoning
    summary = change.summary(reasoning, by.evidence or proposal.evidence)
    number, now = proposal.next_revision_number, timezone.now()
    values = {
        **change.fields(summary, reasoning, proposal.target),
        **{name: value for name, value in by.said.items() if value},
        "status": Status.PREPARING,
        "mergeability": Mergeability.CLEAN,
        "current_revision_number": number,
        "lease_expires_at": clock.now() + lease_of(len(change.notes)),
        "expires_at": now + settings.PROPOSAL_EXPIRY,
        "handed_back_at": None,
        "reminded_at": None,
        "owner_reminded_at": None,
    }
    # A person may ask for changes, or take that back, at the same time: the answer is the same.
    as_read = {"status": list(DECIDABLE), "current_revision_number": former.number}
    revision = Revision(number=number, branch=branch_name(proposal.pk, number), created_at=now, **change.texts(summary))
    said: dict[str, Any] = {"text": reasoning, "at": now} | ({"operation": by.operation} if by.operation else {})
    with transaction.atomic(durable=True):
        moved = events.move(proposal, values, Event.What.AMENDED, expected=as_read, actor=proposal.agent, **said)
        if moved:
            revision.proposal = proposal
            proposal.hold_current_revision(insert(revision))
            if change.kind == Kind.IMPORT:
                proposal.proposed_notes.all().delete()
                name_notes(proposal)
    if not moved:
        proposal.refresh_from_db()
        if proposal.status in DECIDABLE:
            raise BeingDecided(proposal, _("Another call has just amended this proposal."))
        raise_not_open(proposal, proposal.current_revision_number)
    proposal = finished(proposal, is_mine=True, base=change.block)
    drop_branch(proposal, former.branch)
    return _outcome(proposal, amended=True, block=change.block)
