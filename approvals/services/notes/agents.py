"""Agents change notes as their owner's policy says: a proposal that waits for a person, or one that is
committed in the same breath, labelled and reversible (design.md §7).

Row PREPARING → commit → APPLIED for what policy applies; what waits goes on as proposals of blocks do. Policy is asked
when the row is made and once more before the commit: weighing an import takes minutes, and what a crash left is taken
up later still.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.models import Agent, Event, Kind, Proposal, ProposedNote, ReviewReason, Revision, Status
from approvals.recovery.ledger import retry_after_committing_stray_rows
from approvals.review import policies
from approvals.review.search_words import search_words
from approvals.review.targets import note_rows_to_write, targets_of
from approvals.risks import flags
from approvals.services import events
from approvals.services.errors import NotesChanged
from approvals.services.notes.values import ChangeContext, NoteChange, NoteChangeOutcome, said_beside
from approvals.services.propose import branch_name, finish_preparing, lease_of, lock_agent, make_alone, require_room
from approvals.services.recheck import after_change
from approvals.services.texts import require_texts
from memory_app import reads
from memory_app.databases.prepared import insert
from memory_app.dolt.connections import head_of_main, retrying
from memory_app.models import Change, TargetKind
from memory_app.runtime import deadlines
from memory_app.text import edits, worddiff
from memory_app.writing import commits

#: Segments of a difference that its excerpt is looked for in.
_EXCERPTED = 400
#: Characters of a proposal's title, as its column has room for.
MOST_TITLE = 200


def change(
    by: ChangeContext, agent: Agent, owner: str, kind: Kind, changes: tuple[NoteChange, ...], base_commit: str | None
) -> NoteChangeOutcome:
    """Apply the changes where the owner's policy and the agent's token allow it; propose them otherwise.

    Raises:
        NotesChanged, TooManyPending, MemoryFull, BeingMade: see `change_notes`.
    """
    if done := done_before(by):
        return done
    review_reason = _review_reason(by, owner)
    try:
        proposal, created = _prepare(by, agent, owner, kind, changes, review_reason, base_commit)
    except IntegrityError:
        return _outcome(finish(Proposal.objects.get(operation=by.operation)))
    return _outcome(finish(proposal, is_mine=created, is_new=created), created=created)


def done_before(by: ChangeContext) -> NoteChangeOutcome | None:
    """What this operation came to, when it was begun before: what it changed may look otherwise by now."""
    earlier = Proposal.objects.filter(operation=by.operation).first() if by.operation else None
    return _outcome(finish(earlier, is_resumed=True)) if earlier else None


def require_room_unless_applied(by: ChangeContext, agent: Agent, owner: str) -> None:
    """Raise TooManyPending or MemoryFull as a proposal would; asked before the texts are compared where the agent
    may not read them, since the order of refusals would tell what they say."""
    if _review_reason(by, owner) is not None:
        require_room(Proposal.objects.by_agent(agent).of_owner(owner).pending())


def finish(proposal: Proposal, *, is_mine: bool = False, is_resumed: bool = False, is_new: bool = False) -> Proposal:
    """Bring a PREPARING proposal to APPLIED, or to OPEN where a person is asked; used by `change` and `recover`.

    Args:
        is_mine, is_resumed: see `make_alone`.
        is_new: the operation was begun this moment, so that there is nothing of it to look for in the log.

    Raises:
        NotesChanged: a note changed since; the proposal is gone, as if it had never been.
        AlreadyDecided: its texts were removed.
        BeingMade: see `make_alone`.
    """
    require_texts(proposal)
    return make_alone(proposal, partial(_finish, is_new=is_new), is_mine=is_mine, is_resumed=is_resumed)


def _finish(proposal: Proposal, *, is_new: bool = False) -> Proposal:
    if proposal.auto_applied:
        return _finish_applying(proposal, is_new=is_new)
    try:
        return finish_preparing(proposal)
    except commits.TargetMoved as error:
        commits.drop_branch(proposal.owner, proposal.current_revision.branch)
        raise _gone(proposal) from error


def _finish_applying(proposal: Proposal, *, is_new: bool) -> Proposal:
    revision = proposal.current_revision
    entry = commits.LedgerEntry(
        action=Change.Action.APPLIED,
        owner=proposal.owner,
        targets=targets_of(proposal, revision),
        operation=proposal.operation,
        agent=proposal.agent.name,
        proposal_id=proposal.pk,
    )
    close = partial(_close_applied, proposal)
    done = None if is_new else commits.find(proposal.owner, proposal.operation, since=revision.base_commit)
    was_asked_just_now = is_new and proposal.kind != Kind.IMPORT
    if done is None and not was_asked_just_now and not policies.notes_apply_at_once(proposal.owner):
        return _finish_waiting(proposal)
    if done is None:
        try:
            retry_after_committing_stray_rows(
                lambda: commits.write_main(
                    note_rows_to_write(proposal.owner, revision.note_changes),
                    entry=entry,
                    author=commits.agent(proposal.agent.name),
                    subject=f"Apply {proposal.kind} of {proposal.target} by policy",
                    since=revision.base_commit,
                    beside=close,
                )
            )
        except commits.TargetMoved as error:
            # Another process that finishes the same, since a large import outlived its lease, may have been first.
            done = commits.find(proposal.owner, proposal.operation, since=revision.base_commit)
            if done is None:
                raise _gone(proposal) from error
    if done:
        commits.record(done.hash, entry, at=commits.time_of(done), beside=close)
    if proposal.status != Status.APPLIED:  # another process closed it
        proposal.refresh_from_db()
    after_change(proposal.owner, targets_of(proposal, revision), are_new=proposal.kind == Kind.SAVE)
    return proposal


def _close_applied(proposal: Proposal, commit: str) -> None:
    """Put down that a proposal is in the memory; in the transaction that records its commit."""
    now = timezone.now()
    values = {
        "status": Status.APPLIED,
        "auto_applied": True,
        "review_reason": "",
        "merge_commit": commit,
        "decided_at": now,
        "lease_expires_at": None,
        "updated_at": now,
    }
    # From OPEN too: another process that finishes the same asked policy later and made it wait; it is in the
    # memory all the same, and can be reverted.
    events.close(
        proposal,
        values,
        Event.What.APPLIED,
        expected={"status": [Status.PREPARING, Status.OPEN]},
        actor=proposal.agent,
        text=proposal.reasoning,
        commit=commit,
    )


def _finish_waiting(proposal: Proposal) -> Proposal:
    """Have a person decide about what policy was to apply: since then the owner wants to be asked."""
    revision = proposal.current_revision
    with transaction.atomic(durable=True):
        waits = Proposal.objects.filter(pk=proposal.pk, status=Status.PREPARING, auto_applied=True).update(
            auto_applied=False, review_reason=ReviewReason.POLICY, updated_at=timezone.now()
        )
        if waits:
            proposal.revisions.update(branch=branch_name(proposal.pk, revision.number))
            if proposal.kind == Kind.IMPORT:
                _name_notes(proposal, [change["id"] for change in revision.note_changes])
    now = Proposal.objects.select_related("agent", "decided_by").filter(pk=proposal.pk).first()
    if now is None:  # another process found that it no longer fits
        raise _gone(proposal)
    return _finish(now) if now.status == Status.PREPARING else now


def _gone(proposal: Proposal) -> NotesChanged:
    """Somebody else changed a note in between. Nothing has happened yet that anybody could have seen, so nothing
    stays; the agent reads the note again."""
    Proposal.objects.filter(pk=proposal.pk, status=Status.PREPARING).delete()
    return NotesChanged([change["id"] for change in proposal.current_revision.note_changes])


# -- steps ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NoteChangeResult:
    """What a change of notes is shown as.

    Args:
        before, after: the contents, as the two sides of what a reviewer reads.
        segments: what leads from the one to the other.
        beside: what the notes say beside their contents, before and after, where it changes.
        stored: the changes as a revision keeps them.
        fields: those of the proposal that follow from the change.
    """

    before: str
    after: str
    segments: tuple[worddiff.Segment, ...]
    beside: tuple[str, str]
    stored: list[dict[str, Any]]
    risk_report: flags.RiskReport
    fields: dict[str, Any]

    def search_words(self, target: str, reasoning: str) -> str:
        """The words a proposal of this change is found by."""
        said = (reasoning, target, self.fields["target_title"], *self.beside)
        return search_words(self.segments, self.fields["excerpt"], *said)


def assess_changes(kind: Kind, changes: tuple[NoteChange, ...], *, said: str = "") -> NoteChangeResult:
    """Compare and weigh what a proposal of these changes would make of the notes.

    Args:
        said: what the agent says with it; see `risks.said_with`.
    """
    before, after = text_of([change.before for change in changes]), text_of([change.after for change in changes])
    deadlines.require()  # thousands of notes are compared and weighed for seconds, and no database is asked
    segments = worddiff.diff(before, after)
    added, removed = worddiff.count_words(segments)
    deadlines.require()
    stored = [change.as_json() for change in changes]
    beside = said_beside(stored)
    found = flags.report(before, after, segments=segments, is_deletion=kind == Kind.DELETE, beside=beside, said=said)
    fields = {
        "target_title": title_of(changes),
        # A few dozen words: the beginning of an import has them, and all of ten thousand notes took 2 s.
        "excerpt": worddiff.excerpt(segments[:_EXCERPTED]),
        "words_added": added,
        "words_removed": removed,
        "risks": [risk.key for risk in found.risks],
        "result_sha256": edits.sha256_of("\n".join(map(_meaning, changes))),
    }
    return NoteChangeResult(before, after, segments, beside, stored, found, fields)


def _review_reason(by: ChangeContext, owner: str) -> ReviewReason | None:
    """Why a person has to decide; None where nobody has to."""
    if not policies.notes_apply_at_once(owner):
        return ReviewReason.POLICY
    return None if by.may_apply else ReviewReason.SCOPE


def _prepare(
    by: ChangeContext,
    agent: Agent,
    owner: str,
    kind: Kind,
    changes: tuple[NoteChange, ...],
    review_reason: ReviewReason | None,
    base_commit: str | None,
) -> tuple[Proposal, bool]:
    """Insert the PREPARING row; what policy applies does not count against the caps on waiting."""
    applies = review_reason is None
    said = flags.said_with(by.reasoning, by.evidence)
    made = assess_changes(kind, changes, said=said)
    if applies and _shows_secret(by, made, said):
        applies, review_reason = False, ReviewReason.SECRETS
    result_sha256 = made.fields["result_sha256"]
    now = timezone.now()
    operation = by.operation or uuid.uuid4().hex
    is_import = kind == Kind.IMPORT
    base = base_commit or retrying(head_of_main)
    target = f"import-{operation[:12]}" if is_import else changes[0].id
    words = made.search_words(target, by.reasoning)
    with transaction.atomic(durable=True):
        if not applies:
            lock_agent(agent)
            pending = Proposal.objects.by_agent(agent).of_owner(owner).pending()
            twin = pending.filter(kind=kind, result_sha256=result_sha256).first()
            # Of an import only what the memory does not say already is proposed: that two are equal tells what it says.
            if twin and (by.may_read or not is_import):
                return twin, False
            require_room(pending)
        proposal = Proposal(
            owner=owner,
            target_kind=TargetKind.IMPORT if is_import else TargetKind.NOTE,
            target=target,
            kind=kind,
            agent=agent,
            auto_applied=applies,
            review_reason=review_reason or "",
            reasoning=by.reasoning,
            confidence=by.confidence,
            session_id=by.session_id,
            evidence=list(by.evidence),
            operation=operation,
            created_at=now,
            expires_at=now + settings.PROPOSAL_EXPIRY,
            lease_expires_at=now + lease_of(len(changes)),
            search_words=words,
            **made.fields,
        )
        insert(proposal)
        revision = Revision(
            proposal=proposal,
            number=1,
            branch="" if applies else branch_name(proposal.pk, 1),
            base_commit=base,
            base_sha256="",
            base_text=made.before,
            edits=[],
            result_text=made.after,
            note_changes=made.stored,
            risk_report=made.risk_report.as_json() if is_import else None,
            created_at=now,
        )
        proposal.hold_current_revision(insert(revision))
        if is_import and not applies:
            _name_notes(proposal, [change.id for change in changes])
    return proposal, True


def _shows_secret(by: ChangeContext, made: NoteChangeResult, said: str) -> bool:
    """Whether a person has to see what policy would apply, since it reads like a key or a password, or what the agent
    says with it does.

    Where the agent may not read the memory, any secret counts: that a known one is applied would tell that it is there.
    """
    if by.may_read:
        return flags.SECRETS in made.fields["risks"]
    return any(map(flags.has_secret, (made.after, made.beside[1], said)))


def _name_notes(proposal: Proposal, ids: Sequence[str]) -> None:
    """Put down which notes a waiting import is about."""
    named = (ProposedNote(proposal=proposal, note_id=id_) for id_ in ids)
    ProposedNote.objects.bulk_create(named, batch_size=commits.ROWS)


def _outcome(proposal: Proposal, *, created: bool = True) -> NoteChangeOutcome:
    changes = tuple(
        NoteChange(
            change["id"],
            reads.Note.from_json(change["before"]) if change["before"] else None,
            reads.Note.from_json(change["after"]) if change["after"] else None,
        )
        for change in proposal.current_revision.note_changes
    )
    return NoteChangeOutcome(changes, proposal.merge_commit, proposal, created)


def _meaning(change: NoteChange) -> str:
    """What makes two changes the same although the times differ, and the ids of new notes."""
    before, after = change.before, change.after
    if after is None:
        return change.id
    id_ = change.id if before else ""
    day = after.created_at.isoformat() if before and before.created_at != after.created_at else ""
    beside = (after.tags, after.category, after.confidence, after.rationale)
    superseded = (after.superseded_by, after.superseded_reason)
    return f"{id_} {after.type} {day} {json.dumps([*beside, *superseded])} {after.content}"


def text_of(of: Sequence[reads.Note | None]) -> str:
    """The contents, as the two sides of what a reviewer reads."""
    return "\n\n".join(note.content for note in of if note)


def title_of(changes: tuple[NoteChange, ...]) -> str:
    """Return what a change of notes is called: a note that is there by its text as it is, a new one by what it would
    say. What does not fit the column is cut between words; pages clamp it further."""
    if len(changes) > 1:
        return _("%(count)d notes") % {"count": len(changes)}
    note = changes[0].before or changes[0].after
    words = " ".join(note.content.split()) if note else changes[0].id
    if len(words) <= MOST_TITLE:
        return words
    cut = words[: MOST_TITLE - 1]
    return f"{cut[: cut.rfind(' ')] if ' ' in cut else cut}…"
