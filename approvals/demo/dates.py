"""Puts what a step made back to the date of the story, so that pages show natural ages.

Rows of `default` only: the commits in the memory keep the time they were made at.
"""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db import models, transaction

from approvals.demo import people
from approvals.demo.found import action_of, note_id_of, operation_of
from approvals.demo.steps import (
    AboutNote,
    Approved,
    Created,
    Edited,
    NoteChanged,
    Noted,
    NoteDeleted,
    NoteSuperseded,
    Proposed,
    Step,
)
from approvals.models import Event, Proposal, Revision, Status
from memory_app.models import Change

_FIRST = [Event.What.PROPOSED]


def put_back(step: Step, at: datetime) -> None:
    """Date the rows of a played step; doing it again changes nothing."""
    with transaction.atomic():
        match step:
            case Created():
                _change(step, Change.Action.CREATED).update(at=at)
            case Edited():
                _change(step, Change.Action.EDITED).filter(comment=step.comment).update(at=at)
            case Proposed():
                proposals = Proposal.objects.filter(operation=operation_of(step.name))
                proposals.update(created_at=at, updated_at=at, expires_at=at + settings.PROPOSAL_EXPIRY)
                Revision.objects.filter(proposal__in=proposals, number=1).update(created_at=at)
                Event.objects.filter(proposal__in=proposals, what__in=_FIRST).update(at=at)
            case Noted() | NoteChanged() | NoteSuperseded() | NoteDeleted():
                _put_back_note(step, at)
            case _:
                proposals = Proposal.objects.filter(operation=operation_of(step.name))
                proposals.update(decided_at=at, updated_at=at)
                proposals.exclude(redacted_at=None).update(redacted_at=at)
                Event.objects.filter(proposal__in=proposals).exclude(what__in=_FIRST).update(at=at)
                if isinstance(step, Approved):
                    Change.objects.filter(proposal_id__in=proposals.values("id")).update(at=at)


def _put_back_note(step: AboutNote, at: datetime) -> None:
    if step.actor != people.AGENT:
        by_person = Change.objects.filter(owner=step.owner, target_kind="note", target=note_id_of(step.note))
        by_person.filter(action=action_of(step)).exclude(actor="").update(at=at)
        return
    proposals = Proposal.objects.filter(operation=operation_of(step.name))
    proposals.update(created_at=at, updated_at=at, expires_at=at + settings.PROPOSAL_EXPIRY)
    proposals.filter(status=Status.APPLIED).update(decided_at=at)
    Revision.objects.filter(proposal__in=proposals, number=1).update(created_at=at)
    Event.objects.filter(proposal__in=proposals, what__in=[*_FIRST, Event.What.APPLIED]).update(at=at)
    applied = Change.objects.filter(action=Change.Action.APPLIED)
    applied.filter(proposal_id__in=proposals.values("id")).update(at=at)


def _change(step: Created | Edited, action: Change.Action) -> models.QuerySet[Change]:
    return Change.objects.filter(owner=step.owner, target_kind="block", target=step.label, action=action)
