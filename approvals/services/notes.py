"""Notes are saved, changed, superseded, deleted and imported: by people at once, by agents as policy says.

Every change goes the same way: what each note was and what it becomes, then either a commit in the
person's name, or a proposal, or, where the owner's policy applies notes at once, a proposal that is
committed in the same breath, labelled and reversible (design.md §7).
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import structlog
from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals import policies, risks
from approvals.models import Agent, Event, Kind, Proposal, Revision, Status, User
from approvals.permissions import may_edit
from approvals.services import events
from approvals.services.decide import require_revertible
from approvals.services.errors import (
    EditNotAllowed,
    MemoryFull,
    NoChange,
    NoteInvalid,
    NotesChanged,
    TooManyPending,
)
from approvals.services.ledger import despite_dirt
from approvals.services.propose import branch_name, finish_preparing
from approvals.services.recheck import after_change
from approvals.targets import note_writes, targets_of
from memory_app import commits, edits, notes, recall, worddiff
from memory_app.dolt.connections import head_of_main, retrying
from memory_app.dolt.errors import NothingToCommit
from memory_app.models import Change

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class NoteChange:
    """What becomes of one note: `before=None` makes it, `after=None` deletes it."""

    id: str
    before: recall.Note | None
    after: recall.Note | None

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "before": self.before.as_json() if self.before else None,
            "after": self.after.as_json() if self.after else None,
        }


@dataclass(frozen=True)
class Outcome:
    """What came of a change of notes.

    Args:
        changes: what becomes of each note; the first is the one a tool speaks of.
        commit: of main; empty while it waits for a person.
        proposal: None for a person's own change.
        created: False when an equal proposal of this agent waits already and is returned instead.
    """

    changes: tuple[NoteChange, ...]
    commit: str
    proposal: Proposal | None
    created: bool = True

    @property
    def is_applied(self) -> bool:
        return bool(self.commit)

    @property
    def note_id(self) -> str:
        return self.changes[0].id


@dataclass(frozen=True)
class By:
    """Who changes notes, and what goes into the record.

    Args:
        actor: a person (at once, in their own or, for staff, another's memory) or an agent.
        may_apply: whether the agent's token has the scope that policy needs to apply (`notes:write`).
        operation: 32 hexadecimal digits; the same one gives the same outcome.
    """

    actor: User | Agent
    may_apply: bool = False
    reasoning: str = ""
    confidence: str = "medium"
    session_id: str = ""
    evidence: Sequence[dict[str, Any]] = ()
    operation: str | None = None


def save(
    *,
    by: By,
    owner: str,
    content: str,
    type: str = "note",
    tags: Sequence[str] = (),
    category: str | None = None,
    confidence: float = 0.8,
    rationale: str | None = None,
    note_id: str | None = None,
) -> Outcome:
    """Save a new note.

    Args:
        content: at most 2,000 characters.
        type: one of `memory_app.notes.TYPES`.
        confidence: brought into 0 to 1.
        note_id: `mem-…` ids of the command are kept; one is made otherwise.

    Raises:
        NoteInvalid: names what is wrong with which field.
        EditNotAllowed, TooManyPending, MemoryFull.
    """
    if done := _done_before(by):
        return done
    now = timezone.now()
    id_ = note_id or notes.new_id()
    made = stamped(
        recall.Note(
            id=id_,
            owner=owner,
            content=content,
            type=type,
            tags=tidied(tags),
            category=category or None,
            confidence=notes.clamped(confidence),
            rationale=rationale or None,
            importance=1.0,
            source="agent" if isinstance(by.actor, Agent) else "user",
            session_id=by.session_id or None,
            superseded_by=None,
            superseded_reason=None,
            superseded_at=None,
            sha256="",
            created_at=now,
            updated_at=now,
        ),
        now,
    )
    require_valid(made)
    if note_id and recall.find_note(owner, note_id):
        raise NoteInvalid("note_id", _("There is a note %(id)s already.") % {"id": note_id})
    return change_notes(by=by, owner=owner, kind=Kind.SAVE, changes=(NoteChange(id_, None, made),))


def update(*, by: By, owner: str, note_id: str, **fields: Any) -> Outcome:
    """Change a note; its id stays. `fields` are those of `save`, without the id.

    Raises:
        NoteNotFound, NoteInvalid, NoChange.
    """
    if done := _done_before(by):
        return done
    before = recall.note(owner, note_id)
    if "tags" in fields:
        fields["tags"] = tidied(fields["tags"])
    if "confidence" in fields:
        fields["confidence"] = notes.clamped(fields["confidence"])
    after = stamped(replace(before, **fields), timezone.now())
    require_valid(after)
    return change_notes(by=by, owner=owner, kind=Kind.UPDATE, changes=(NoteChange(note_id, before, after),))


def delete(*, by: By, owner: str, note_id: str) -> Outcome:
    """Remove a note from the memory; its history stays. Raises NoteNotFound."""
    if done := _done_before(by):
        return done
    before = recall.note(owner, note_id)
    return change_notes(by=by, owner=owner, kind=Kind.DELETE, changes=(NoteChange(note_id, before, None),))


def supersede(
    *, by: By, owner: str, note_id: str, reason: str | None = None, replacement_id: str | None = None
) -> Outcome:
    """Mark a note as outdated; it stays readable and is found no more.

    Raises:
        NoteNotFound: of the note or the replacement; its `id` says which.
        NoteInvalid: superseded already, or replaced by itself or in a circle.
    """
    if done := _done_before(by):
        return done
    before = recall.note(owner, note_id)
    if before.is_superseded:
        raise NoteInvalid("memory_id", _("Note %(id)s is superseded already.") % {"id": note_id})
    if replacement_id:
        _require_no_circle(owner, note_id, replacement_id)
    now = timezone.now()
    after = replace(before, superseded_at=now, superseded_by=replacement_id or None, superseded_reason=reason or None)
    changes = (NoteChange(note_id, before, stamped(after, now)),)
    return change_notes(by=by, owner=owner, kind=Kind.FORGET, changes=changes)


def change_notes(
    *, by: By, owner: str, kind: Kind, changes: Sequence[NoteChange], base_commit: str | None = None
) -> Outcome:
    """Change notes as a whole: all of them in one commit or one proposal, or none.

    Args:
        changes: at least one; each `before` is the note as the caller read it.
        base_commit: the commit of main it was read at; the head of main by default.

    Raises:
        EditNotAllowed: a person who may not write this memory.
        NotesChanged: a note is not as it was read.
        NoChange, TooManyPending, MemoryFull.
    """
    changes = tuple(change for change in changes if _sha256(change.before) != _sha256(change.after))
    if not changes:
        raise NoChange(_("Nothing was changed."))
    if isinstance(by.actor, User):
        return _write_directly(by, by.actor, owner, kind, changes)
    if done := _done_before(by):
        return done
    applies = by.may_apply and policies.notes_apply_at_once(owner)
    try:
        proposal, created = _prepare(by, by.actor, owner, kind, changes, applies, base_commit)
    except IntegrityError:
        proposal, created = Proposal.objects.get(operation=by.operation), True
    return _outcome(_finished(proposal), created=created)


def finish_applying(proposal: Proposal) -> Proposal:
    """Commit a PREPARING proposal that policy applies; used by `change_notes` and `recover`.

    Raises:
        NotesChanged: a note changed since; the proposal is gone, as if it had never been.
    """
    revision = proposal.current
    entry = commits.Entry(
        action=Change.Action.APPLIED,
        owner=proposal.owner,
        targets=targets_of(proposal, revision),
        operation=proposal.operation,
        agent=proposal.agent.name,
        proposal_id=proposal.pk,
        comment="",
    )
    done = commits.find(proposal.operation, since=revision.base_commit)
    if done:
        commit = commits.record(done.hash, entry, at=commits.time_of(done))[0].commit
    else:
        try:
            commit = despite_dirt(
                lambda: commits.write_main(
                    note_writes(proposal.owner, revision.note_changes),
                    entry=entry,
                    author=commits.agent(proposal.agent.name),
                    subject=f"Apply {proposal.kind} of {proposal.target} by policy",
                    body=proposal.reasoning,
                )
            )[0].commit
        except commits.TargetMoved as error:
            # Somebody else changed the note in between. Nothing has happened yet that anybody could have
            # seen, so nothing stays; the agent reads the note again.
            Proposal.objects.filter(pk=proposal.pk, status=Status.PREPARING).delete()
            raise NotesChanged([change["id"] for change in revision.note_changes]) from error
    with transaction.atomic(durable=True):
        closed = Proposal.objects.filter(pk=proposal.pk, status=Status.PREPARING).update(
            status=Status.APPLIED,
            merge_commit=commit,
            decided_at=timezone.now(),
            lease_expires_at=None,
            updated_at=timezone.now(),
        )
        if closed:
            events.record(proposal, Event.What.APPLIED, actor=proposal.agent, text=proposal.reasoning, commit=commit)
    proposal.refresh_from_db()
    after_change(proposal.owner, targets_of(proposal, revision))
    return proposal


def revert(*, actor: User, proposal_id: int) -> Change:
    """Undo what policy applied: every note is put back to what it was before, in one commit.

    Raises:
        ProposalNotFound, NotAllowed: as for deciding.
        AlreadyDecided: it was reverted already, or never applied.
        NotesChanged: a note changed again since; that change would be lost.
    """
    proposal = require_revertible(actor, proposal_id)
    revision = proposal.current
    back = [
        {"id": change["id"], "before": change["after"], "after": change["before"]} for change in revision.note_changes
    ]
    entry = commits.Entry(
        action=Change.Action.REVERTED,
        owner=proposal.owner,
        targets=targets_of(proposal, revision),
        operation=uuid.uuid4().hex,
        actor=actor.username,
        agent=proposal.agent.name,
        proposal_id=proposal.pk,
    )
    try:
        made = despite_dirt(
            lambda: commits.write_main(
                note_writes(proposal.owner, back),
                entry=entry,
                author=commits.person(actor.username, actor.display_name),
                subject=f"Revert {proposal.kind} of {proposal.target}",
            )
        )
    except commits.TargetMoved as error:
        raise NotesChanged([change["id"] for change in back]) from error
    with transaction.atomic(durable=True):
        Proposal.objects.filter(pk=proposal.pk).update(reverted_by_commit=made[0].commit, updated_at=timezone.now())
        events.record(proposal, Event.What.REVERTED, actor=actor, commit=made[0].commit)
    log.info("proposal_reverted", proposal=proposal.pk, user_id=proposal.owner, actor=actor.username)
    after_change(proposal.owner, targets_of(proposal, revision))
    return made[0]


# -- steps ----------------------------------------------------------------------------------------


def _done_before(by: By) -> Outcome | None:
    """What this operation came to, when it was begun before: what it changed may look otherwise by now."""
    earlier = Proposal.objects.filter(operation=by.operation).first() if by.operation else None
    return _outcome(_finished(earlier)) if earlier else None


_ACTIONS = {
    Kind.SAVE: Change.Action.CREATED,
    Kind.DELETE: Change.Action.DELETED,
    Kind.IMPORT: Change.Action.IMPORTED,
}


def _write_directly(by: By, actor: User, owner: str, kind: Kind, changes: tuple[NoteChange, ...]) -> Outcome:
    if not may_edit(actor, owner):
        raise EditNotAllowed(_("You may not edit this memory."))
    entry = commits.Entry(
        action=_ACTIONS.get(kind, Change.Action.EDITED),
        owner=owner,
        targets=tuple(("note", change.id) for change in changes),
        operation=by.operation or uuid.uuid4().hex,
        actor=actor.username,
        comment=by.reasoning.strip(),
    )
    try:
        made = despite_dirt(
            lambda: commits.write_main(
                note_writes(owner, [change.as_json() for change in changes]),
                entry=entry,
                author=commits.person(actor.username, actor.display_name),
                subject=f"{kind.capitalize()} {_named(changes)} of {owner}",
                body=by.reasoning,
            )
        )
    except commits.TargetMoved as error:
        raise NotesChanged([change.id for change in changes]) from error
    except NothingToCommit as error:
        raise NoChange(_("Nothing was changed.")) from error
    log.info("notes_written", kind=str(kind), user_id=owner, notes=len(changes), actor=actor.username)
    after_change(owner, entry.targets)
    return Outcome(changes, made[0].commit, None)


def _prepare(
    by: By,
    agent: Agent,
    owner: str,
    kind: Kind,
    changes: tuple[NoteChange, ...],
    applies: bool,
    base_commit: str | None,
) -> tuple[Proposal, bool]:
    """Insert the PREPARING row; what policy applies does not count against the caps on waiting."""
    before, after = _text([change.before for change in changes]), _text([change.after for change in changes])
    segments = worddiff.diff(before, after)
    added, removed = worddiff.count_words(segments)
    stored = [change.as_json() for change in changes]
    result_sha256 = edits.sha256_of("\n".join(map(_meaning, changes)))
    now = timezone.now()
    operation = by.operation or uuid.uuid4().hex
    is_import = kind == Kind.IMPORT
    base = base_commit or retrying(head_of_main)
    with transaction.atomic(durable=True):
        Agent.objects.select_for_update().get(pk=agent.pk)
        if not applies:
            pending = Proposal.objects.by_agent(agent).of_owner(owner).pending()
            twin = pending.filter(kind=kind, result_sha256=result_sha256).first()
            if twin:
                return twin, False
            if pending.count() >= settings.PENDING_CAP:
                raise TooManyPending(tuple(pending.order_by("created_at", "id")), settings.PENDING_CAP)
            if Proposal.objects.pending().count() >= settings.MAX_OPEN_PROPOSALS:
                raise MemoryFull(f"{settings.MAX_OPEN_PROPOSALS} proposals wait for a decision already.")
        proposal = Proposal.objects.create(
            owner=owner,
            target_kind="import" if is_import else "note",
            target=f"import-{operation[:12]}" if is_import else changes[0].id,
            target_title=_title(changes),
            kind=kind,
            agent=agent,
            by_policy=applies,
            reasoning=by.reasoning,
            confidence=by.confidence,
            session_id=by.session_id,
            evidence=list(by.evidence),
            excerpt=worddiff.excerpt(segments),
            words_added=added,
            words_removed=removed,
            risks=[risk.key for risk in risks.flags(before, after, segments=segments)],
            result_sha256=result_sha256,
            operation=operation,
            created_at=now,
            expires_at=now + settings.PROPOSAL_EXPIRY,
            lease_expires_at=now + settings.LEASE,
        )
        Revision.objects.create(
            proposal=proposal,
            number=1,
            branch="" if applies else branch_name(proposal.pk, 1),
            base_commit=base,
            base_sha256="",
            base_text=before,
            edits=[],
            result_text=after,
            note_changes=stored,
            created_at=now,
        )
    return proposal, True


def _finished(proposal: Proposal) -> Proposal:
    if proposal.status != Status.PREPARING:
        return proposal
    return finish_applying(proposal) if proposal.by_policy else finish_preparing(proposal)


def _outcome(proposal: Proposal, *, created: bool = True) -> Outcome:
    changes = tuple(
        NoteChange(
            change["id"],
            recall.Note.from_json(change["before"]) if change["before"] else None,
            recall.Note.from_json(change["after"]) if change["after"] else None,
        )
        for change in proposal.current.note_changes
    )
    return Outcome(changes, proposal.merge_commit, proposal, created)


# -- values ---------------------------------------------------------------------------------------


def stamped(note: recall.Note, now: datetime) -> recall.Note:
    """The note, changed `now`, with the sha256 of what it says."""
    return replace(note, updated_at=now, sha256=recall.note_sha256(vars(note)))


def _sha256(note: recall.Note | None) -> str:
    return note.sha256 if note else ""


def _meaning(change: NoteChange) -> str:
    """What makes two changes the same although the times differ, and the ids of new notes."""
    id_ = change.id if change.before else ""
    return f"{id_} {change.after.type} {change.after.content}" if change.after else id_


def _text(of: Sequence[recall.Note | None]) -> str:
    """The contents, as the two sides of what a reviewer reads."""
    return "\n\n".join(note.content for note in of if note)


def _title(changes: tuple[NoteChange, ...]) -> str:
    if len(changes) > 1:
        return _("%(count)d notes") % {"count": len(changes)}
    note = changes[0].after or changes[0].before
    words = " ".join(note.content.split()) if note else changes[0].id
    return words if len(words) <= 80 else words[:79].rstrip() + "…"


def _named(changes: tuple[NoteChange, ...]) -> str:
    return changes[0].id if len(changes) == 1 else f"{len(changes)} notes"


def tidied(tags: Sequence[str]) -> tuple[str, ...]:
    """Trimmed, without empty ones and repetitions, in the order given."""
    return tuple(dict.fromkeys(tag.strip() for tag in tags if tag.strip()))


def require_valid(note: recall.Note) -> None:
    """Raise NoteInvalid, or ForbiddenCharacter, for what no note can hold."""
    for name in ("content", "rationale", "category", "superseded_reason", "session_id"):
        edits.check_text(getattr(note, name) or "", field=name)
    for tag in note.tags:
        edits.check_text(tag, field="tags")
        if len(tag) > 64:
            raise NoteInvalid("tags", _("A tag has at most 64 characters."))
    if not note.content.strip():
        raise NoteInvalid("content", _("The content is empty."))
    if len(note.content) > notes.MAX_CONTENT:
        raise NoteInvalid(
            "content",
            _("The content has %(used)d characters, %(over)d more than the %(limit)d a note may have.")
            % {"used": len(note.content), "over": len(note.content) - notes.MAX_CONTENT, "limit": notes.MAX_CONTENT},
        )
    if note.type not in notes.TYPES:
        raise NoteInvalid(
            "type",
            _("There is no type “%(type)s”; the types are %(types)s.")
            % {"type": note.type, "types": ", ".join(notes.TYPES)},
        )
    if not notes.ID.fullmatch(note.id):
        raise NoteInvalid("note_id", _("“%(id)s” is not a note id.") % {"id": note.id})


def _require_no_circle(owner: str, note_id: str, replacement_id: str) -> None:
    seen = {note_id}
    following: str | None = replacement_id
    while following:
        if following in seen:
            raise NoteInvalid("replacement_id", _("A note cannot be replaced by itself, not even in a circle."))
        seen.add(following)
        following = recall.note(owner, following).superseded_by
