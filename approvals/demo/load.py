"""Plays the demo's story: people, blocks, proposals and decisions, all through the services.

Every step can be recognised in the databases, so playing again makes only what is missing: a first run that
was killed is finished by the next, and nothing anybody did since is touched.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

from django.utils import timezone

from approvals import services
from approvals.demo import people, texts
from approvals.demo.conversations import keep_conversation
from approvals.demo.dates import put_back
from approvals.demo.found import Found, operation_of
from approvals.demo.history import HISTORY
from approvals.demo.notes import NOTES
from approvals.demo.play_notes import evidence_of, play_note
from approvals.demo.steps import (
    Approved,
    Created,
    Edited,
    Expired,
    NoteChanged,
    Noted,
    NoteDeleted,
    NoteSuperseded,
    Proposed,
    Rejected,
    Step,
    Withdrawn,
)
from approvals.demo.waiting import WAITING
from approvals.models import Agent, Policy, Proposal, Status, Tutorship, User
from approvals.recovery.recover import finish
from approvals.review.targets import current_state
from memory_app import reads
from memory_app.models import Change

STORY: tuple[Step, ...] = tuple(sorted(HISTORY + WAITING + NOTES, key=lambda step: step.age, reverse=True))

#: Told before each step how many are done, and of how many.
Report = Callable[[int, int], None]


def load(report: Report) -> int:
    """Make the demo's people and play the steps that were not played yet; how many those were.

    Args:
        report: told how far it is; not called when nothing is missing.
    """
    now = timezone.now()
    _make_people(since=now - STORY[0].age - timedelta(days=1))
    if not Found(STORY).missing():
        return 0
    # Nobody else plays the story: what an interrupted run was at need not be waited for.
    Proposal.objects.filter(agent__name=people.AGENT, status=Status.PREPARING).update(lease_expires_at=None)
    services.recover()  # so that the ledger knows of what an interrupted run committed last
    found = Found(STORY)
    begin = _time_of_telling(now)
    missing = found.missing()
    for step in STORY:
        at = begin - step.age
        if step in missing:
            report(missing.index(step), len(missing))
            keep_conversation(step, at)
            _play(step, at)
        put_back(step, at)
    for owner, label in {(step.owner, step.label) for step in WAITING if isinstance(step, Proposed)}:
        services.recheck(owner, [("block", label)])  # here and now: a worker may not be running yet
    report(len(missing), len(missing))
    return len(missing)


def _time_of_telling(now: datetime) -> datetime:
    """The moment all ages count from: now, or that of the interrupted run which this one finishes."""
    first = STORY[0]
    assert isinstance(first, Created)
    made = Change.objects.filter(owner=first.owner, action=Change.Action.CREATED).order_by("at", "id").first()
    return min(now, made.at + first.age) if made else now


def _make_people(since: datetime) -> None:
    for person in people.PEOPLE:
        if User.objects.filter(username=person.username).exists():
            continue
        User.objects.create_user(
            person.username,
            password=people.PASSWORD,
            first_name=person.first_name,
            last_name=person.last_name,
            time_zone="Europe/Berlin",
            is_staff=person.is_admin,
            is_superuser=person.is_admin,
            date_joined=since,
        )
    for owner in people.ASKED_ABOUT_NOTES:
        Policy.objects.get_or_create(owner=owner, defaults={"notes": Policy.Notes.REVIEW})
    for tutor, owner in people.TUTORSHIPS:
        Tutorship.objects.get_or_create(tutor=_person(tutor), owner=_person(owner), defaults={"created_at": since})
    Agent.objects.get_or_create(
        name=people.AGENT,
        defaults={
            "description": people.AGENT_DESCRIPTION,
            "created_by": _person(people.ADMIN.username),
            "created_at": since,
        },
    )


# -- one step -------------------------------------------------------------------------------------


def _play(step: Step, at: datetime) -> None:
    match step:
        case Created():
            _create(step)
        case Edited():
            _edit(step)
        case Proposed():
            _propose(step, at)
        case Noted() | NoteChanged() | NoteSuperseded() | NoteDeleted():
            play_note(step, at)
        case _:
            _decide(step)


def _create(step: Created) -> None:
    fields = texts.block(step.owner, step.label).fields
    if step.until:
        fields = replace(fields, body=texts.log_until(step.until))
    services.create_block(actor=_person(step.actor), owner=step.owner, label=step.label, fields=fields)


def _edit(step: Edited) -> None:
    block = reads.block(step.owner, step.label)
    body = block.body
    for old, new in step.changes:
        body = body.replace(old, new)
    if body == block.body:
        # Committed by a run that was killed before it wrote the ledger; recovery does not know the comment.
        Change.objects.filter(owner=step.owner, target=step.label, action=Change.Action.EDITED, comment="").update(
            comment=step.comment
        )
        return
    services.edit_block(
        actor=_person(step.actor),
        owner=step.owner,
        label=step.label,
        fields=services.BlockFields(
            title=block.title,
            description=block.description,
            body=body,
            limit=block.limit,
            read_only=block.read_only,
            schema_ref=block.schema_ref,
        ),
        loaded_sha256=block.sha256,
        comment=step.comment,
    )


def _propose(step: Proposed, at: datetime) -> None:
    services.propose(
        agent=Agent.objects.get(name=people.AGENT),
        owner=step.owner,
        label=step.label,
        edits=step.edits,
        kind=step.kind,
        reasoning=step.reasoning,
        confidence=step.confidence,
        session_id=step.session_id,
        evidence=evidence_of(step, at),
        operation=operation_of(step.name),
    )


def _decide(step: Approved | Rejected | Withdrawn | Expired) -> None:
    proposal = Proposal.objects.get(operation=operation_of(step.name))
    if proposal.status == Status.MERGING:  # a run that was killed while merging; nobody else decides these
        proposal = finish(proposal)
    if proposal.is_decided:
        return
    match step:
        case Approved():
            services.approve(
                actor=_person(step.actor),
                proposal_id=proposal.pk,
                revision=proposal.current_revision_number,
                seen_sha256=current_state(proposal, proposal.current_revision).sha256,
                comment=step.comment,
            )
        case Rejected():
            services.reject(
                actor=_person(step.actor),
                proposal_id=proposal.pk,
                revision=proposal.current_revision_number,
                reason=step.reason,
                comment=step.comment,
            )
        case Withdrawn():
            services.withdraw(agent=proposal.agent, proposal_id=proposal.pk, comment=step.comment)
        case Expired():
            services.expire()  # its time ran out when the proposal was put back to its date


def _person(username: str) -> User:
    return User.objects.get(username=username)
