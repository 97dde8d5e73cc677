"""Plays the demo's story: people, blocks, notes, proposals and decisions, all through the services.

Each step leaves a row that shows it was done (`_trace`). A step whose row is there and has its date is skipped, so
a run that was killed is finished by the next, and what people did since stays.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from approvals import services
from approvals.accounts import sign_in
from approvals.demo import story
from approvals.demo.story import Step
from approvals.models import (
    DECIDED,
    PENDING,
    Agent,
    Attention,
    Event,
    Kind,
    Policy,
    Proposal,
    Revision,
    Status,
    Tutorship,
    User,
)
from approvals.review.targets import current_state, fields_of
from approvals.services.notes import ACTIONS, ChangeContext, NoteChange, change_notes, new_note, stamped
from memory_app import conversations, reads
from memory_app.models import Change, NoteSource, TargetKind, TextKey
from memory_app.text import edits

#: Told before each step how many are done, and of how many.
Report = Callable[[int, int], None]

#: How the ledger calls what people do themselves.
_ACTIONS = {"create": Change.Action.CREATED, "edit": Change.Action.EDITED, **ACTIONS}
#: People and agent are there before the first step.
_LEAD = story.STORY[0].age + timedelta(days=1)


def load(report: Report) -> int:
    """Make the demo's people and play the steps that were not played yet; return how many those were.

    Args:
        report: told how far it is; not called when nothing is missing.
    """
    begin = _make_people(timezone.now())
    if all(_is_done(step, begin) for step in story.STORY):
        return 0
    # Only one run plays the story, so what an interrupted run has leased is free.
    operations = {step.operation for step in story.STORY}
    Proposal.objects.filter(operation__in=operations, status__in=PENDING).update(lease_expires_at=None)
    services.recover()
    missing = [step for step in story.STORY if not _is_done(step, begin)]
    for number, step in enumerate(missing):
        report(number, len(missing))
        if not _trace(step)[0].exists():
            _play(step, begin - step.age)
        _date(step, begin - step.age)
    for proposal in Proposal.objects.open().filter(agent__name=story.AGENT, target_kind=TargetKind.BLOCK):
        services.recheck(proposal.owner, [(TargetKind.BLOCK, proposal.target)])  # a worker may not be running yet
    if len(missing) == len(story.STORY):  # nothing was here before: none of it is from before texts were sealed
        TextKey.objects.update(made_at=begin - max(step.age for step in story.STORY))
    report(len(missing), len(missing))
    return len(missing)


def _make_people(now: datetime) -> datetime:
    """Make the people and the agent where they are missing; return the moment all ages count from.

    That is the first run's: the agent's row keeps it for a run that finishes an interrupted one.
    """
    since = now - _LEAD
    password = sign_in.write(story.PASSWORD, {person.username: person.what for person in story.PEOPLE})
    for person in story.PEOPLE:
        fields = {
            "password": password,
            "first_name": person.first_name,
            "last_name": person.last_name,
            "time_zone": "Europe/Berlin",
            "is_staff": person.is_admin,
            "is_superuser": person.is_admin,
            "date_joined": since,
        }
        user, _ = User.objects.get_or_create(username=person.username, defaults=fields)
        if person.asked_about_notes:
            Policy.objects.get_or_create(owner=person.username, defaults={"notes": Policy.Notes.REVIEW})
        for owner in person.tutor_of:  # who stands before them in the story
            Tutorship.objects.get_or_create(tutor=user, owner=_person(owner), defaults={"created_at": since})
    agent, _ = Agent.objects.get_or_create(
        name=story.AGENT,
        defaults={
            "description": story.AGENT_DESCRIPTION,
            "created_by": _person(story.AGENT_CREATED_BY),
            "created_at": since,
        },
    )
    return min(now, agent.created_at + _LEAD)


def _is_done(step: Step, begin: datetime) -> bool:
    """Whether the step was played and its rows got their date, which is before `begin`."""
    rows, date = _trace(step)
    return rows.filter(**{f"{date}__lt": begin}).exists()


def _trace(step: Step) -> tuple[QuerySet[Any], str]:
    """Return the rows that show a step was played, and which field of them says when.

    For what people did themselves that is the ledger: a block that was deleted since was still made.
    """
    proposals = Proposal.objects.filter(operation=step.operation)
    if step.verb in story.TURNS:
        return Event.objects.filter(proposal__in=proposals, what=step.verb), "at"
    if step.verb in story.DECISIONS:
        return proposals.filter(status__in=DECIDED), "decided_at"
    if step.by == story.AGENT:
        return proposals.exclude(status=Status.PREPARING), "created_at"
    is_note = step.verb in story.NOTE_VERBS
    changes = Change.objects.filter(
        owner=step.owner,
        target_kind=TargetKind.NOTE if is_note else TargetKind.BLOCK,
        target=story.note_id(step.target) if is_note else step.target,
        action=_ACTIONS[step.verb],
        comment=step.data.get("comment", ""),
    )
    return changes, "at"


def _date(step: Step, at: datetime) -> None:
    """Write the date of a played step into its rows, so that pages show natural ages.

    Rows of `default` only: the commits in the memory keep the time they were made at.
    """
    proposals = Proposal.objects.filter(operation=step.operation)
    revisions, events = Revision.objects.filter(proposal__in=proposals), Event.objects.filter(proposal__in=proposals)
    rows, date = _trace(step)
    is_decision = step.verb in story.DECISIONS
    with transaction.atomic():
        rows.update(**{date: at})
        if rows.model is Change:  # what people did themselves
            return
        proposals.update(updated_at=at, **({} if is_decision else _expiry(at)))
        if step.verb == Event.What.CHANGES_REQUESTED:
            proposals.filter(status=Status.CHANGES_REQUESTED).update(handed_back_at=at)
            Attention.objects.filter(proposal__in=proposals).update(seen_at=at)
        elif step.verb == Event.What.AMENDED:
            revisions.filter(number=2).update(created_at=at)
        elif not is_decision:
            revisions.filter(number=1).update(created_at=at)
            events.filter(what=Event.What.PROPOSED).update(at=at)
        if is_decision or proposals.filter(status=Status.APPLIED).exists():
            proposals.update(decided_at=at)
            proposals.exclude(redacted_at=None).update(redacted_at=at)
            events.exclude(what__in=[Event.What.PROPOSED, *story.TURNS]).update(at=at)
            Change.objects.filter(proposal_id__in=proposals.values("id")).update(at=at)


def _expiry(at: datetime) -> dict[str, datetime]:
    """Return when it expires, unless that is over: a later step decides it, and the task by the clock is faster."""
    return {"expires_at": until} if (until := at + settings.PROPOSAL_EXPIRY) > timezone.now() else {}


def _play(step: Step, at: datetime) -> None:
    if step.verb in story.DECISIONS:
        _decide(step)
    elif step.verb in story.TURNS:
        _take_turn(step, at)
    elif step.verb == "create":
        fields = story.block_fields(step.owner, step.target, until=step.data.get("until"))
        person = _person(step.by)
        services.create_block(actor=person, owner=step.owner, label=step.target, fields=fields, made_at=at)
    elif step.verb == "edit":
        _edit(step)
    else:
        _keep_conversation(step, at)
        if step.verb == "propose":
            _propose(step, at, operation=step.operation)
        else:
            _change_note(step, at)


def _edit(step: Step) -> None:
    block = reads.block(step.owner, step.target)
    fields = replace(fields_of(block), body=edits.apply(block.body, step.edits).text)
    services.edit_block(
        actor=_person(step.by),
        owner=step.owner,
        label=step.target,
        fields=fields,
        loaded_sha256=block.sha256,
        comment=step.data["comment"],
    )


def _keep_conversation(step: Step, at: datetime) -> None:
    """Keep the turns of a step that names its session, as the agent hands them in."""
    names = {person.username: person.first_name for person in story.PEOPLE}
    turns = [
        conversations.Turn(
            role=turn["role"],
            content=turn["content"],
            id=f"{step.key}-{number}",
            author=names[step.owner] if turn["role"] == "user" else story.AGENT,
            at=datetime.fromisoformat(turn["at"]),
        )
        for number, turn in enumerate(step.evidence(at), 1)
    ]
    if "session" in step.data and turns:
        conversations.keep(step.owner, step.data["session"], turns, agent=story.AGENT)


def _propose(step: Step, at: datetime, **which: Any) -> None:
    services.propose(
        agent=Agent.objects.get(name=story.AGENT),
        owner=step.owner,
        label=step.target,
        edits=step.edits,
        kind=Kind.REWRITE if "rewrite" in step.data else Kind.EDIT,
        reasoning=step.data["reasoning"],
        confidence=step.data.get("confidence", "medium"),
        session_id=step.data.get("session", ""),
        evidence=step.evidence(at),
        **which,
    )


def _change_note(step: Step, at: datetime) -> None:
    """Change a note as of `at`: unlike a block, a note says itself when it was made and superseded."""
    is_agent = step.by == story.AGENT
    by = ChangeContext(
        actor=Agent.objects.get(name=step.by) if is_agent else _person(step.by),
        may_apply=not step.data.get("asks", False),
        reasoning=step.data.get("reasoning" if is_agent else "comment", ""),
        session_id=step.data.get("session", ""),
        evidence=step.evidence(at),
        operation=step.operation,
    )
    id_ = story.note_id(step.target)
    before = None if step.verb == "save" else reads.note(step.owner, id_)
    after = None if step.verb == "delete" else stamped(_note_after(step, by, before, at), at)
    change_notes(by=by, owner=step.owner, kind=Kind(step.verb), changes=[NoteChange(id_, before, after)])


def _note_after(step: Step, by: ChangeContext, before: reads.Note | None, at: datetime) -> reads.Note:
    data = step.data
    if before and step.verb == "update":
        return replace(before, content=data["content"])
    if before:
        later = story.note_id(data["replacement"]) if "replacement" in data else None
        return replace(before, superseded_at=at, superseded_by=later, superseded_reason=data["reasoning"])
    source = NoteSource.AGENT if step.by == story.AGENT else NoteSource.USER
    said = {name: data[name] for name in ("content", "confidence", "rationale") if name in data}
    fields = {"type": data.get("type", "fact"), "tags": tuple(data["tags"]), "source": source, **said}
    return new_note(by, step.owner, story.note_id(step.target), at, **fields)


def _decide(step: Step) -> None:
    proposal = Proposal.objects.get(operation=step.operation)
    shown: dict[str, Any] = {"proposal_id": proposal.pk, "revision": proposal.current_revision_number}
    comment = step.data.get("comment", "")
    match step.verb:
        case "approved":
            seen = current_state(proposal, proposal.current_revision).sha256
            services.approve(actor=_person(step.by), seen_sha256=seen, comment=comment, **shown)
        case "rejected":
            services.reject(actor=_person(step.by), reason=step.data["reason"], comment=comment, **shown)
        case "withdrawn":
            services.withdraw(agent=proposal.agent, proposal_id=proposal.pk, comment=comment)
        case "expired":
            Proposal.objects.filter(pk=proposal.pk).update(expires_at=proposal.created_at + settings.PROPOSAL_EXPIRY)
            services.expire()


def _take_turn(step: Step, at: datetime) -> None:
    """Ask the agent for changes, or amend what it proposed."""
    proposal = Proposal.objects.get(operation=step.operation)
    if step.verb == Event.What.AMENDED:
        _propose(step, at, proposal_id=proposal.pk)
        return
    person, said = _person(step.by), {"reason": step.data["reason"], "comment": step.data["comment"]}
    services.mark_seen(actor=person, proposal=proposal)
    services.request_changes(actor=person, proposal_id=proposal.pk, revision=proposal.current_revision_number, **said)


def _person(username: str) -> User:
    return User.objects.get(username=username)
