"""How a proposal stands to its target as it is now: a comparison of texts, without a database.

A proposal's edits are made again where they still fit exactly. Where they do not, its whole change is merged with what
became of the text (`memory_app.text.merge`); what cannot be merged is a conflict for a person.
"""

from dataclasses import dataclass, replace
from typing import Any

from approvals.models import Mergeability, Revision
from approvals.review import whole_blocks
from memory_app.reads import Block
from memory_app.text import edits
from memory_app.text.merge import Conflicted, merge


@dataclass(frozen=True)
class Assessment:
    """The answer.

    Args:
        state: clean, rebasable, conflict or already_applied; never unknown, which only the caller who
            could not read the target may say.
        result_text: the target's text after approval; None when nothing can be approved.
        is_stale: the target changed since the base, in its text or in any other field.
        failing_edit: position of the first edit that no longer fits, for a conflict.
        over_limit: characters by which the result would pass the block's limit, for a conflict.
        closes_circle: the note would be superseded by itself in the end, for a conflict.
        conflict: the block's text merged with the proposal as far as possible, for a conflict: `ours` is the text as it
            is now, `theirs` the proposal.
    """

    state: Mergeability
    result_text: str | None
    is_stale: bool
    failing_edit: int | None = None
    over_limit: int = 0
    closes_circle: bool = False
    conflict: Conflicted | None = None

    @property
    def can_be_approved(self) -> bool:
        return self.state in (Mergeability.CLEAN, Mergeability.REBASABLE)


def assess(revision: Revision, block: Block | None) -> Assessment:
    """Compare a revision with the block as it is now (`None` where it was deleted)."""
    if whole_blocks.is_of_whole_block(revision):
        return _assess_whole(revision, block)
    if block is None:
        return Assessment(Mergeability.CONFLICT, None, is_stale=True)
    if block.sha256 == revision.base_sha256:
        return Assessment(Mergeability.CLEAN, revision.result_text, is_stale=False)
    if block.body == revision.result_text:
        return Assessment(Mergeability.ALREADY_APPLIED, None, is_stale=True)
    wanted = edits.from_json(revision.edits)
    try:
        return _rebased(edits.reapply(block.body, wanted, base_text=revision.base_text), block)
    except edits.MadeAlready:
        return Assessment(Mergeability.ALREADY_APPLIED, None, is_stale=True)
    except edits.DoesNotFit as error:
        if _is_there(wanted, block.body):
            return Assessment(Mergeability.ALREADY_APPLIED, None, is_stale=True)
        failing_edit = error.index
    except edits.TextTooLong as error:
        return Assessment(Mergeability.CONFLICT, None, is_stale=True, over_limit=error.length - block.limit)
    merged = merge(revision.base_text, block.body, revision.result_text)
    if isinstance(merged, Conflicted):
        return Assessment(Mergeability.CONFLICT, None, is_stale=True, failing_edit=failing_edit, conflict=merged)
    return _rebased(merged, block)


def _assess_whole(revision: Revision, block: Block | None) -> Assessment:
    """Compare a revision that makes or deletes its block with the block as it is now.

    A deletion still stands when the block changed since: its reviewer is shown the text as it is now.
    """
    new = whole_blocks.new_block_of(revision)
    if new is None:
        if block is None:
            return Assessment(Mergeability.ALREADY_APPLIED, None, is_stale=True)
        is_stale = block.sha256 != revision.base_sha256
        return Assessment(Mergeability.REBASABLE if is_stale else Mergeability.CLEAN, "", is_stale=is_stale)
    if block is None:
        return Assessment(Mergeability.CLEAN, revision.result_text, is_stale=False)
    is_same = block.body == revision.result_text and block.display_title == new.display_title(block.label)
    return Assessment(Mergeability.ALREADY_APPLIED if is_same else Mergeability.CONFLICT, None, is_stale=True)


def _rebased(result: str, block: Block) -> Assessment:
    """Return what becomes of a result that is made of the block's text as it is now."""
    if len(result) > block.limit:
        return Assessment(Mergeability.CONFLICT, None, is_stale=True, over_limit=len(result) - block.limit)
    if result == block.body:  # all that was asked for has been done
        return Assessment(Mergeability.ALREADY_APPLIED, None, is_stale=True)
    return Assessment(Mergeability.REBASABLE, result, is_stale=True)


def block_after(revision: Revision, block: Block) -> Block | None:
    """Return the block as approving a revision would make it; None when it cannot be approved, or deletes it."""
    if whole_blocks.is_deletion(revision):
        return None
    body = assess(revision, block).result_text
    return None if body is None else replace(block, body=body, sha256=edits.sha256_of(body))


def assess_notes(revision: Revision, notes: dict[str, str], *, closes_circle: bool = False) -> Assessment:
    """Compare a revision of notes with the sha256 each has now, by id. Notes are short and change as wholes:
    one that is not as it was when the change was proposed is a conflict."""
    now = {change["id"]: notes.get(change["id"]) for change in revision.note_changes}
    before = {change["id"]: _sha256(change["before"]) for change in revision.note_changes}
    after = {change["id"]: _sha256(change["after"]) for change in revision.note_changes}
    if now == before and closes_circle:
        return Assessment(Mergeability.CONFLICT, None, is_stale=True, closes_circle=True)
    if now == before:
        return Assessment(Mergeability.CLEAN, revision.result_text, is_stale=False)
    if now == after:
        return Assessment(Mergeability.ALREADY_APPLIED, None, is_stale=True)
    return Assessment(Mergeability.CONFLICT, None, is_stale=True)


def _sha256(note: dict[str, Any] | None) -> str | None:
    return note["sha256"] if note else None


def _is_there(wanted: tuple[edits.Edit, ...], body: str) -> bool:
    """Whether every replacement was made by somebody else: the old text gone, the new one there."""
    return all(
        isinstance(edit, edits.Replace)
        and edit.old_string not in body
        and bool(edit.new_string.strip())
        and edit.new_string in body
        for edit in wanted
    )
