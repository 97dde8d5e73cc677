"""Save, update, supersede, reinstate and delete notes: people at once, agents as the owner's policy allows.

Each verb makes the notes before and after. A person's change is committed at once (`commit_notes`), an agent's is
proposed or applied by `proposing`. Several at once are changed by `bulk_notes` and `imports`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

import structlog
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.language import grouped
from approvals.models import Agent, Kind, Proposal, ProposalQuerySet, Status, User
from approvals.review.note_changes import NoteChange, said_beside, sha256_of, stamped, text_of, title_of
from approvals.review.targets import note_rows_to_write
from approvals.services import errors
from approvals.services.close import withdraw
from approvals.services.errors import Refusal
from approvals.services.preparing import ChangeContext, Proposed, ProposedChange, require_texts
from approvals.services.proposing import amend, anew, earlier, finished, make, own_proposal, require_amendable
from approvals.services.writing import require_editor, write_as_person
from assent_client.text import notes
from memory_app import reads
from memory_app.dolt.connections import head_of_main, retrying
from memory_app.models import Change, NoteSource, TargetKind
from memory_app.reads import Note, NoteNotFound
from memory_app.reads.catalogue import catalogue
from memory_app.runtime import turns
from memory_app.text import alike, edits
from memory_app.writing import rows


@dataclass(frozen=True)
class NoteChangeOutcome:
    """The outcome of a change of notes.

    Args:
        changes: the change of each note.
        commit: the commit on main; empty while it waits for a person, and where nothing was made.
        proposed: what came of an agent's; None for a person's own change.
        known: the note that says the same already, instead of which nothing was made.
        near: the id of a note that says nearly the same as a new one; empty for none.
    """

    changes: Sequence[NoteChange]
    commit: str
    proposed: Proposed | None = None
    known: Note | None = None
    near: str = ""

    @classmethod
    def of(cls, proposed: Proposed) -> NoteChangeOutcome:
        """Return the outcome of an agent's change."""
        return cls(proposed.note_changes, proposed.proposal.merge_commit, proposed)

    @property
    def proposal(self) -> Proposal | None:
        return self.proposed.proposal if self.proposed else None

    @property
    def is_applied(self) -> bool:
        return bool(self.commit)

    @property
    def note_id(self) -> str:
        return self.changes[0].id


def new_note(by: ChangeContext, owner: str, id_: str, now: datetime, **fields: Any) -> Note:
    """Return a note that is not in the memory yet, stamped."""
    empty = dict.fromkeys(("category", "rationale", "superseded_by", "superseded_reason", "superseded_at"))
    given = {"confidence": 0.8, "importance": 1.0, "session_id": by.session_id or None, "created_at": now}
    values: dict[str, Any] = {**empty, **given, **fields}
    return stamped(Note(id=id_, owner=owner, sha256="", updated_at=now, **values), now)


def tidied(tags: Sequence[str]) -> tuple[str, ...]:
    """Return the tags stripped, without empty ones and duplicates, in the order given."""
    return tuple(dict.fromkeys(tag.strip() for tag in tags if tag.strip()))


def require_valid(note: reads.Note) -> None:
    """Raise `note_invalid` or ForbiddenCharacter if a field is invalid."""
    for name in ("content", "rationale", "category", "superseded_reason", "session_id"):
        edits.check_text(getattr(note, name) or "", field=name)
    for tag in note.tags:
        edits.check_text(tag, field="tags")
        if len(tag) > notes.MAX_TAG:
            raise _invalid("tags", _("A tag has at most %(limit)d characters.") % {"limit": notes.MAX_TAG})
    if not note.content.strip():
        raise _invalid("content", _("The content is empty."))
    if len(note.content) > notes.MAX_CONTENT:
        over = len(note.content) - notes.MAX_CONTENT
        figures = {"used": grouped(len(note.content)), "over": grouped(over), "limit": grouped(notes.MAX_CONTENT)}
        message = _("The content has %(used)s characters, %(over)s more than the %(limit)s a note may have.")
        raise _invalid("content", message % figures)
    if note.type not in notes.TYPES:
        known = {"type": note.type, "types": ", ".join(notes.TYPES)}
        raise _invalid("type", _("There is no type “%(type)s”; the types are %(types)s.") % known)
    if not notes.ID.fullmatch(note.id):
        raise _invalid("note_id", _("“%(id)s” is not a note id.") % {"id": note.id})


def _invalid(field: str, message: str) -> Refusal:
    return Refusal(message, code="note_invalid", field=field)


def meaning_sha256(changes: Sequence[NoteChange]) -> str:
    """Return what two changes have in common that ask for the same."""
    return edits.sha256_of("\n".join(map(_meaning, changes)))


def _meaning(change: NoteChange) -> str:
    """Return what equal changes have in common: everything but times and the ids of new notes."""
    before, after = change.before, change.after
    if after is None:
        return change.id
    id_ = change.id if before else ""
    day = after.created_at.isoformat() if before and before.created_at != after.created_at else ""
    fields = (after.tags, after.category, after.confidence, after.rationale)
    superseded = (after.superseded_by, after.superseded_reason)
    return f"{id_} {after.type} {day} {json.dumps([*fields, *superseded])} {after.content}"


# -- Agents change notes as their owner's policy allows.


def earlier_outcome(by: ChangeContext, owner: str) -> NoteChangeOutcome | None:
    """Return the outcome of an earlier call with this operation, as it was then; None when there was none."""
    done = earlier(by, owner) if isinstance(by.actor, Agent) else None
    return NoteChangeOutcome.of(done) if done else None


def change_of(owner: str, kind: Kind, changes: Sequence[NoteChange], base_commit: str | None) -> ProposedChange:
    """Return what is asked for; `base_commit` is the head of main by default."""
    stored = [change.as_json() for change in changes]
    is_import = kind == Kind.IMPORT
    return ProposedChange(
        kind=kind,
        owner=owner,
        target_kind=TargetKind.IMPORT if is_import else TargetKind.NOTE,
        target="" if is_import else changes[0].id,
        title=title_of(changes),
        before=text_of([change.before for change in changes]),
        after=text_of([change.after for change in changes]),
        result_sha256=meaning_sha256(changes),
        base_commit=base_commit or retrying(lambda: head_of_main(owner)),
        notes=stored,
        beside=said_beside(stored),
    )


def _amend(
    by: ChangeContext, proposal: Proposal, kind: Kind, changes: Sequence[NoteChange], base_commit: str | None = None
) -> NoteChangeOutcome:
    """Ask for `changes` in an undecided proposal."""
    proposal = require_amendable(proposal)
    asked = change_of(proposal.owner, kind, changes, base_commit)
    is_other = proposal.kind != kind if kind == Kind.IMPORT else proposal.target_kind != TargetKind.NOTE
    if is_other or (asked.target and proposal.target != asked.target):
        raise errors.other_target(proposal)
    require = partial(_require_unchanged, proposal.owner, changes, asked.base_commit)
    return NoteChangeOutcome.of(amend(by, proposal, asked, require=require))


def _require_unchanged(owner: str, changes: Sequence[NoteChange], commit: str) -> None:
    """Raise NotesChanged unless the notes are at `commit` as they were read: the branch is written on top of it."""
    found = reads.find_notes(owner, [change.id for change in changes], commit)
    if any(sha256_of(found.get(change.id)) != sha256_of(change.before) for change in changes):
        raise errors.NotesChanged([change.id for change in changes])


# -- Notes in undecided proposals.


def new_note_id(by: ChangeContext, owner: str, note_id: str | None) -> str | None:
    """Return the id of the new note that a call amends; `note_id` when it amends nothing.

    Raises:
        ProposalNotFound, `other_target`: it is not the proposal of a new note, or not of this one.
    """
    if by.proposal_id is None:
        return note_id
    proposal = own_proposal(by.agent, owner, by.proposal_id)
    if proposal.kind != Kind.SAVE or note_id not in (None, proposal.target):
        raise errors.other_target(proposal)
    return proposal.target


def find_waiting(by: ChangeContext, owner: str, note_id: str) -> Proposal | None:
    """Return the actor's undecided proposal that creates this note, alone or in an import; None for people."""
    if not isinstance(by.actor, Agent):
        return None
    making = Proposal.objects.pending_of(by.actor, owner).filter(kind__in=[Kind.SAVE, Kind.IMPORT])
    return making.about_notes([note_id]).select_related("agent").order_by("-pk").first()


def require_none(by: ChangeContext, owner: str, note_id: str, *, argument: str = "note_id") -> None:
    """Raise `note_waits` if the note is in an undecided proposal of the actor."""
    if proposal := find_waiting(by, owner, note_id):
        raise errors.note_waits(proposal, note_id, argument)


def amend_waiting(by: ChangeContext, proposal: Proposal, note_id: str, fields: dict[str, Any]) -> NoteChangeOutcome:
    """Change the fields of an undecided note, in a new revision of its proposal.

    Raises:
        `note_waits`: it is in an import, which is decided as a whole.
        `note_invalid`, NoChange, `other_target`, `being_made`, BeingDecided, AlreadyDecided.
    """
    _require_alone(by, proposal, note_id)
    proposal = require_amendable(proposal)
    note = Note.from_json(proposal.current_revision.note_changes[0]["after"])
    after = stamped(replace(note, **fields), timezone.now())
    require_valid(after)
    if sha256_of(after) == sha256_of(note) and by.proposal_id is None and not proposal.is_with_agent:
        return NoteChangeOutcome.of(Proposed(proposal, created=False))
    return _amend(by, proposal, Kind.SAVE, (NoteChange(note_id, None, after),))


def withdrawn_before(by: ChangeContext, owner: str, note_id: str) -> NoteChangeOutcome | None:
    """Return the outcome of an earlier `withdraw_waiting` with this operation; None when there was none.

    Raises:
        AlreadyDecided: the texts of the proposal were removed since.
    """
    if not by.operation:
        return None
    proposal = _withdrawn(by, owner, note_id).filter(merge_operation=by.operation).first()
    if proposal is None:
        return None
    require_texts(proposal)
    return NoteChangeOutcome.of(Proposed(proposal))


def withdraw_waiting(by: ChangeContext, proposal: Proposal, note_id: str) -> NoteChangeOutcome:
    """Withdraw the proposal of an undecided note.

    Raises:
        `note_waits`: it is in an import, which is withdrawn as a whole.
        `being_made`, BeingDecided, AlreadyDecided.
    """
    _require_alone(by, proposal, note_id)
    if proposal.status == Status.PREPARING:
        proposal = finished(proposal)
    proposal = withdraw(agent=proposal.agent, proposal_id=proposal.pk, comment=by.reasoning, operation=by.operation)
    return NoteChangeOutcome.of(Proposed(proposal))


def _withdrawn(by: ChangeContext, owner: str, note_id: str) -> ProposalQuerySet:
    """Return the actor's withdrawn proposals to create this note, not those in imports; none for people."""
    if not isinstance(by.actor, Agent):
        return Proposal.objects.none()
    making = Proposal.objects.on_target(owner, TargetKind.NOTE, note_id).filter(agent=by.actor, kind=Kind.SAVE)
    return making.filter(status=Status.WITHDRAWN).select_related("agent")


def _require_alone(by: ChangeContext, proposal: Proposal, note_id: str) -> None:
    """Raise `note_waits` for a note in an import, and `other_target` where the call names another proposal."""
    if proposal.kind != Kind.SAVE:
        raise errors.note_waits(proposal, note_id, "note_id")
    if by.proposal_id not in (None, proposal.pk):
        raise errors.other_target(own_proposal(proposal.agent, proposal.owner, by.proposal_id))


# -- People change notes at once: a commit in their name, in their own memory or, for staff, in any.

log = structlog.get_logger(__name__)


def commit_notes(
    actor: User, owner: str, action: Change.Action, changes: Sequence[NoteChange], *, verb: str, comment: str
) -> NoteChangeOutcome:
    """Commit `changes` and record them as `action`.

    Args:
        verb: what the commit message begins with.

    Raises:
        `not_allowed`: this person may not write this memory.
        NotesChanged: a note is no longer its `before`.
        NoChange: the notes are already so.
    """
    named = changes[0].id if len(changes) == 1 else f"{len(changes)} notes"
    try:
        made = write_as_person(
            actor,
            owner,
            action,
            note_rows_to_write(owner, [change.as_json() for change in changes]),
            targets=tuple((TargetKind.NOTE, change.id) for change in changes),
            subject=f"{verb} {named} of {owner}",
            comment=comment,
        )
    except rows.TargetMoved as error:
        raise errors.NotesChanged([change.id for change in changes]) from error
    log.info("notes_written", action=str(action), user_id=owner, notes=len(changes), actor=actor.username)
    return NoteChangeOutcome(changes, made.commit, None)


#: Actions of people's changes in the ledger.
ACTIONS: dict[str, Change.Action] = {
    Kind.SAVE: Change.Action.CREATED,
    Kind.UPDATE: Change.Action.EDITED,
    Kind.DELETE: Change.Action.DELETED,
    Kind.FORGET: Change.Action.SUPERSEDED,
    Kind.IMPORT: Change.Action.IMPORTED,
}


def save(
    *,
    by: ChangeContext,
    owner: str,
    content: str,
    type: str = "note",
    tags: Sequence[str] = (),
    category: str | None = None,
    confidence: float = 0.8,
    rationale: str | None = None,
    note_id: str | None = None,
) -> NoteChangeOutcome:
    """Save a new note, unless one says the same already: that is returned as `known`, whoever wrote it.

    Of several calls with one text at once, the first saves it. An import keeps all that its file has.

    Args:
        content: at most 2,000 characters.
        type: one of `assent_client.text.notes.TYPES`.
        confidence: clamped to 0 to 1.
        note_id: `mem-…` ids of the command line are kept; generated by default.

    Raises:
        `note_invalid`: a field is invalid; the message says why.
        `note_waits`: another note with this id is in an undecided proposal.
        `not_allowed`, `too_many_pending`, `memory_full`.
    """
    if done := earlier_outcome(by, owner):
        return done
    id_ = new_note_id(by, owner, note_id) or notes.new_id()
    made = new_note(
        by,
        owner,
        id_,
        timezone.now(),
        content=content,
        type=type,
        tags=tidied(tags),
        category=category or None,
        confidence=notes.clamped(confidence),
        rationale=rationale or None,
        source=_source(by),
    )
    require_valid(made)
    require_editor(by.actor, owner)
    said = alike.said_by(content)
    with turns.awaited(_saying(owner, said)):
        every = catalogue(owner)
        oldest = every.saying(said)[-1:]
        if oldest and (known := reads.find_note(owner, oldest[0].id)):
            return NoteChangeOutcome((NoteChange(known.id, known, known),), "", known=known)
        if note_id and reads.find_note(owner, note_id):
            raise Refusal(_("There is a note %(id)s already.") % {"id": note_id}, code="note_invalid", field="note_id")
        if note_id and by.proposal_id is None:
            _require_none_waits_as_another(by, made)
        near = next((entry.id for entry in every.nearly_saying(said)), "")
        change = NoteChange(id_, None, made)
        # A new note is made on nothing: any commit of main before this one will do to look for it from.
        done = change_notes(by=by, owner=owner, kind=Kind.SAVE, changes=(change,), base_commit=every.commit or None)
    return replace(done, near=near)


def save_several(
    *, by: ChangeContext, owner: str, contents: Sequence[str], tags: Sequence[str] = (), category: str | None = None
) -> tuple[NoteChangeOutcome | None, list[str]]:
    """Save a new note of each text, in one commit or one proposal; what is known already, or said twice, once.

    Returns:
        The outcome, None where all are known; and for each text the id of the note that says it.

    Raises: as `save`; the details of `note_invalid` have the `index` of the text.
    """
    every_said = [alike.said_by(content) for content in contents]
    if (outcome := earlier_outcome(by, owner)) is None:
        require_editor(by.actor, owner)
        with ExitStack() as turn:
            for said in sorted(set(every_said)):
                turn.enter_context(turns.awaited(_saying(owner, said)))
            texts = {said: (index, contents[index]) for index, said in enumerate(every_said)}
            outcome = _save_unknown(by, owner, texts, tags, category)
    every = catalogue(owner)
    made = {alike.said_by(each.after.content): each.id for each in outcome.changes if each.after} if outcome else {}
    return outcome, [made.get(said) or every.saying(said)[-1].id for said in every_said]


def _save_unknown(
    by: ChangeContext, owner: str, texts: Mapping[str, tuple[int, str]], tags: Sequence[str], category: str | None
) -> NoteChangeOutcome | None:
    every, now, changes = catalogue(owner), timezone.now(), list[NoteChange]()
    for said, (index, content) in texts.items():
        if not every.saying(said):
            fields = {"content": content, "type": "note", "tags": tidied(tags), "category": category or None}
            made = new_note(by, owner, notes.new_id(), now, **fields, source=_source(by))
            try:
                require_valid(made)
            except Refusal as refused:
                if refused.details["field"] == "content":
                    refused.details["index"] = index
                raise
            changes.append(NoteChange(made.id, None, made))
    if not changes:
        return None
    kind = Kind.IMPORT if len(changes) > 1 else Kind.SAVE
    return change_notes(by=by, owner=owner, kind=kind, changes=changes, base_commit=every.commit)


def _source(by: ChangeContext) -> NoteSource:
    return NoteSource.AGENT if isinstance(by.actor, Agent) else NoteSource.USER


def _saying(owner: str, said: str) -> str:
    """Return the name of the turn in which one text is saved at a time."""
    return f"{owner} says {said}"


def update(
    *, by: ChangeContext, owner: str, note_id: str, loaded_sha256: str | None = None, **fields: Any
) -> NoteChangeOutcome:
    """Change a note; its id stays. `fields` are those of `save`, without the id.

    A note in an undecided proposal of the same agent gets another revision.

    Args:
        loaded_sha256: of the note as the person's form was filled from; None for agents, who have no form.

    Raises:
        NoteNotFound, `note_invalid`, NoChange.
        `note_waits`, `being_made`, BeingDecided, AlreadyDecided: for a note in an undecided proposal.
        NotesChanged: it is no longer at `loaded_sha256`.
        `note_superseded`: only for agents, since searches would not find the new text; people see what they edit.
    """
    if done := earlier_outcome(by, owner):
        return done
    if "tags" in fields:
        fields["tags"] = tidied(fields["tags"])
    if "confidence" in fields:
        fields["confidence"] = notes.clamped(fields["confidence"])
    try:
        before = _as_loaded(owner, note_id, loaded_sha256)
    except NoteNotFound:
        if proposal := find_waiting(by, owner, note_id):
            return amend_waiting(by, proposal, note_id, fields)
        raise
    if before.is_superseded and isinstance(by.actor, Agent):
        raise Refusal(_("Note %(id)s is already outdated.") % {"id": before.id}, code="note_superseded", note=before)
    after = replace(before, **fields)
    if isinstance(by.actor, Agent) and after.content != before.content:
        after = replace(after, source=NoteSource.AGENT)  # pages would call an agent's text "written by a person"
    after = stamped(after, timezone.now())
    require_valid(after)
    return change_notes(by=by, owner=owner, kind=Kind.UPDATE, changes=(NoteChange(note_id, before, after),))


def delete(*, by: ChangeContext, owner: str, note_id: str, loaded_sha256: str | None = None) -> NoteChangeOutcome:
    """Delete a note from the memory; its history stays. For an agent's own undecided note, withdraw the proposal.

    Raises:
        NoteNotFound, NotesChanged, `note_waits`, `being_made`, BeingDecided, AlreadyDecided: as for `update`.
        NoteWithdrawn: the agent withdrew it before.
    """
    if done := earlier_outcome(by, owner) or withdrawn_before(by, owner, note_id):
        return done
    try:
        before = _as_loaded(owner, note_id, loaded_sha256)
    except NoteNotFound:
        if proposal := find_waiting(by, owner, note_id):
            return withdraw_waiting(by, proposal, note_id)
        if proposal := _withdrawn(by, owner, note_id).order_by("-pk").first():
            raise errors.NoteWithdrawn(proposal, note_id) from None
        raise
    return change_notes(by=by, owner=owner, kind=Kind.DELETE, changes=(NoteChange(note_id, before, None),))


def supersede(
    *,
    by: ChangeContext,
    owner: str,
    note_id: str,
    reason: str | None = None,
    replacement_id: str | None = None,
    loaded_sha256: str | None = None,
) -> NoteChangeOutcome:
    """Mark a note as outdated: it stays readable, but searches no longer find it.

    Raises:
        NoteNotFound, ReplacementNotFound: of the note, and of the replacement.
        `note_waits`: one of them is in an undecided proposal of the same agent; `argument` says which.
        `note_superseded`: it is superseded already.
        `note_invalid`: it would supersede itself, directly or in a circle.
        NotesChanged: as for `update`.
    """
    if done := earlier_outcome(by, owner):
        return done
    try:
        before = _as_loaded(owner, note_id, loaded_sha256)
    except NoteNotFound:
        require_none(by, owner, note_id)
        raise
    if before.is_superseded:
        raise Refusal(_("Note %(id)s is already outdated.") % {"id": before.id}, code="note_superseded", note=before)
    if replacement_id:
        _require_no_circle(by, owner, note_id, replacement_id)
    now = timezone.now()
    after = stamped(
        replace(before, superseded_at=now, superseded_by=replacement_id or None, superseded_reason=reason or None), now
    )
    require_valid(after)
    return change_notes(by=by, owner=owner, kind=Kind.FORGET, changes=(NoteChange(note_id, before, after),))


def reinstate(*, actor: User, owner: str, note_id: str, loaded_sha256: str, comment: str = "") -> NoteChangeOutcome:
    """Undo superseding a note, so that agents find it again. Only for people.

    Raises:
        NoteNotFound, `not_allowed`, NotesChanged: as for `update`.
        NoChange: it is not superseded.
    """
    before = _as_loaded(owner, note_id, loaded_sha256)
    if not before.is_superseded:
        raise errors.NoChange(_("The note is not outdated."))
    after = replace(before, superseded_at=None, superseded_by=None, superseded_reason=None)
    changes = (NoteChange(note_id, before, stamped(after, timezone.now())),)
    return commit_notes(actor, owner, Change.Action.REINSTATED, changes, verb="Reinstate", comment=comment)


def change_notes(
    *, by: ChangeContext, owner: str, kind: Kind, changes: Sequence[NoteChange], base_commit: str | None = None
) -> NoteChangeOutcome:
    """Change notes in one commit or one proposal: all of them or none. A person's are committed at once.

    Args:
        changes: at least one; each `before` is the note as the caller read it.
        base_commit: the commit of main it was read at; the head of main by default.

    Raises:
        `not_allowed`: this person may not write this memory.
        `rejected_before`: a person rejected the same, and it is not forced.
        NotesChanged: a note changed since it was read.
        NoChange, `too_many_pending`, `memory_full`, `being_made`.
        ProposalNotFound, `other_target`, NoChange and what else `proposing.amend` raises: for a proposal to amend.
    """
    changes = tuple(change for change in changes if sha256_of(change.before) != sha256_of(change.after))
    if not changes:
        raise errors.NoChange(_("Nothing was changed."))
    if isinstance(by.actor, User):
        verb = kind.capitalize()
        return commit_notes(by.actor, owner, ACTIONS[kind], changes, verb=verb, comment=by.reasoning)
    by, proposal = anew(by, owner)
    if by.answers and by.answers.kind != kind:
        raise errors.other_target(by.answers)
    if proposal:
        return _amend(by, proposal, kind, changes, base_commit if kind == Kind.IMPORT else None)
    return NoteChangeOutcome.of(make(by, change_of(owner, kind, changes, base_commit)))


def _as_loaded(owner: str, note_id: str, loaded_sha256: str | None) -> reads.Note:
    """Return the note. Raise NotesChanged if it is not at `loaded_sha256`; the write checks again."""
    note = reads.note(owner, note_id)
    if loaded_sha256 is not None and note.sha256 != loaded_sha256:
        raise errors.NotesChanged([note_id])
    return note


def _require_none_waits_as_another(by: ChangeContext, made: reads.Note) -> None:
    """Raise `note_waits` if another note with this id is undecided; an equal one is found when it is proposed."""
    proposal = find_waiting(by, made.owner, made.id)
    if proposal and meaning_sha256([NoteChange(made.id, None, made)]) != proposal.result_sha256:
        raise errors.note_waits(proposal, made.id, "note_id")


def _require_no_circle(by: ChangeContext, owner: str, note_id: str, replacement_id: str) -> None:
    if reads.find_note(owner, replacement_id) is None:
        require_none(by, owner, replacement_id, argument="replacement_id")
        raise errors.ReplacementNotFound(replacement_id)
    if reads.closes_circle(owner, note_id, replacement_id):
        raise _invalid("replacement_id", _("A note cannot be replaced by itself, not even in a circle."))
