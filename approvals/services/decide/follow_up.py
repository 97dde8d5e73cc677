"""What was not accepted of a proposal goes back to its agent: a proposal of its own, with changes requested.

The decision records that it is asked (`ask`), the transaction that approves inserts the row (`prepare_rest`), and
`finish` writes its branch and hands it over. After a crash, `recover` goes on from each of these steps.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection
from typing import Any

import structlog
from django.conf import settings
from django.db import DatabaseError, transaction
from django.utils import timezone

from approvals.models import Event, Kind, Proposal, Revision, Status, User
from approvals.review.mergeability import assess
from approvals.review.summary import summarise
from approvals.review.targets import agents_revision
from approvals.risks import flags
from approvals.services import events
from approvals.services.branches import write_revision_branch
from approvals.services.notes.agents import name_notes
from approvals.services.notes.compare import text_of, title_of
from approvals.services.notes.values import NoteChange, said_beside, sha256_of
from approvals.services.preparing import finish_once, insert_prepared, lease_of
from memory_app import reads
from memory_app.dolt.errors import DoltError
from memory_app.models import TargetKind
from memory_app.text import edits, worddiff

log = structlog.get_logger(__name__)


def ask(proposal: Proposal, actor: User) -> None:
    """Record, in the transaction of the decision, that what it leaves goes back to the agent."""
    events.record(
        proposal,
        Event.What.CHANGES_REQUESTED,
        actor=actor,
        text=proposal.decision_comment,
        reason=proposal.decision_reason,
        of_rest=True,
    )


def forget(proposal: Proposal) -> None:
    """Remove what `ask` recorded: the decision was undone before it took effect."""
    _asked(proposal).delete()


def hands_back(proposal: Proposal) -> bool:
    """Whether the other part of an approval in part goes back to the agent."""
    return bool(_asked(proposal).exists())


def prepare_rest(proposal: Proposal) -> None:
    """Insert what goes back to the agent, if anything is left, in the transaction that approves the other part."""
    texts = _rest_of_block(proposal) if proposal.target_kind == TargetKind.BLOCK else _rest_of_notes(proposal)
    if texts is None:  # somebody made the same change since
        return
    now = timezone.now()
    is_import = proposal.kind == Kind.IMPORT
    operation = uuid.uuid5(uuid.UUID(proposal.merge_operation), "rest").hex
    ids = [change["id"] for change in texts.get("note_changes", ())]
    rest = Proposal(
        owner=proposal.owner,
        target_kind=proposal.target_kind,
        target=f"import-{operation[:12]}" if is_import else proposal.target,
        target_title=texts.pop("title"),
        kind=proposal.kind,
        agent_id=proposal.agent_id,
        reasoning=proposal.reasoning,
        confidence=proposal.confidence,
        session_id=proposal.session_id,
        evidence=proposal.evidence,
        review_reason=proposal.review_reason,
        operation=operation,
        created_at=now,
        expires_at=now + settings.PROPOSAL_EXPIRY,
        lease_expires_at=now + lease_of(len(ids)),
        answers=proposal,
        handed_back_at=now,
    )
    insert_prepared(rest, base_commit=proposal.merge_commit, **texts)
    if is_import:
        name_notes(rest, ids)


def finish_rest(proposal: Proposal) -> None:
    """Hand over what `prepare_rest` inserted. The approval stands: what fails here is left to `recover`."""
    for rest in proposal.answered_by.filter(status=Status.PREPARING).select_related("agent"):
        try:
            finish_once(rest, finish, is_mine=True)
        except (DoltError, DatabaseError):
            log.exception("rest_not_handed_back", proposal=proposal.pk, rest=rest.pk)


def is_rest(proposal: Proposal) -> bool:
    """Whether a PREPARING proposal was made by `prepare_rest`."""
    return proposal.handed_back_at is not None and proposal.current_revision_number == 1


def finish(rest: Proposal) -> Proposal:
    """Write the branch of a rest and hand it to its agent. Idempotent."""
    revision = rest.current_revision
    answered = rest.answers
    head = write_revision_branch(rest, revision)
    summary = summarise(
        revision.base_text,
        revision.result_text,
        beside=said_beside(revision.note_changes),
        said=flags.said_with(rest.reasoning, rest.evidence),
    )
    handed = {
        "status": Status.CHANGES_REQUESTED,
        "lease_expires_at": None,
        "updated_at": timezone.now(),
        "search_words": summary.search_words(rest.reasoning, rest.target, rest.target_title),
        "result_sha256": edits.sha256_of(revision.result_text),
        **summary.fields,
    }
    with transaction.atomic(durable=True):
        Revision.objects.filter(pk=revision.pk).update(head_commit=head)
        if Proposal.objects.filter(pk=rest.pk, status=Status.PREPARING).update(**handed):
            events.record(
                rest,
                Event.What.CHANGES_REQUESTED,
                actor=answered.decided_by if answered else None,
                text=answered.decision_comment if answered else "",
                reason=answered.decision_reason if answered else "",
                answers=answered.pk if answered else None,
            )
    rest.refresh_from_db()
    log.info("rest_handed_back", proposal=rest.pk, user_id=rest.owner, answers=answered.pk if answered else None)
    return rest


# -- what is left ---------------------------------------------------------------------------------


def _asked(proposal: Proposal) -> Any:
    return proposal.events.filter(what=Event.What.CHANGES_REQUESTED, data__of_rest=True)


def _rest_of_block(proposal: Proposal) -> dict[str, Any] | None:
    """Return the fields of the revision that makes the other changes too, on the block as it was approved."""
    approved = proposal.current_revision
    then = reads.block_at(proposal.owner, proposal.target, approved.base_commit)
    wanted = assess(agents_revision(proposal), then).result_text
    now = reads.block_at(proposal.owner, proposal.target, proposal.merge_commit)
    if wanted is None or wanted == now.body:
        log.error("rest_lost", proposal=proposal.pk)
        return None
    return _on_block(proposal, now, wanted)


def _on_block(proposal: Proposal, now: reads.Block, wanted: str) -> dict[str, Any]:
    return {
        "title": proposal.target_title,
        "base_sha256": now.sha256,
        "base_text": now.body,
        "edits": edits.to_json(_as_edits(now.body, wanted)),
        "result_text": wanted,
    }


def whole_of(proposal: Proposal, commit: str) -> dict[str, Any] | None:
    """Return the fields of a revision with all the agent asked for, on the memory at `commit`.

    None where nothing of it is left to do, or it no longer fits.
    """
    if proposal.target_kind != TargetKind.BLOCK:
        return _notes_asked_for(proposal, commit, taken=set())
    now = reads.block_at(proposal.owner, proposal.target, commit)
    wanted = assess(agents_revision(proposal), now).result_text
    return None if wanted is None or wanted == now.body else _on_block(proposal, now, wanted)


def _as_edits(before: str, after: str) -> tuple[edits.Edit, ...]:
    """Return the changes as one replacement each, which fit a text that changes elsewhere; else one rewrite."""
    replacements = [edits.Replace(hunk.before, hunk.after) for hunk in worddiff.hunks(before, after)]
    try:
        made = edits.apply(before, tuple(replacements))
    except edits.EditError:
        return (edits.Rewrite(after),)
    return made.edits if made.text == after else (edits.Rewrite(after),)


def _rest_of_notes(proposal: Proposal) -> dict[str, Any] | None:
    """Return the fields of the revision with the other notes, each on what it is now."""
    taken = {change["id"] for change in proposal.current_revision.note_changes}
    return _notes_asked_for(proposal, proposal.merge_commit, taken=taken)


def _notes_asked_for(proposal: Proposal, commit: str, *, taken: Collection[str]) -> dict[str, Any] | None:
    """Return the fields of a revision with the notes that were asked for, on what they are at `commit`."""
    asked = agents_revision(proposal)
    left = [change for change in asked.note_changes if change["id"] not in taken]
    found = reads.find_notes(proposal.owner, [change["id"] for change in left], commit)
    changes = tuple(
        NoteChange(change.id, found.get(change.id), change.after)
        for change in map(NoteChange.from_json, left)
        if sha256_of(change.after) != sha256_of(found.get(change.id))
    )
    if not changes:
        return None
    return {
        "title": title_of(changes),
        "base_sha256": "",
        "base_text": text_of([change.before for change in changes]),
        "edits": [],
        "result_text": text_of([change.after for change in changes]),
        "note_changes": [change.as_json() for change in changes],
        "risk_report": asked.risk_report,
    }
