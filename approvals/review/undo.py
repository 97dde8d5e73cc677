"""What undoing an approval, or an automatic change, would do to the memory as it is now.

Reads only. `services.undo` writes what a plan says; a page shows it first, where the memory changed since.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import takewhile

from approvals.models import Proposal
from approvals.review.targets import current_state, fields_of, targets_of
from memory_app import reads
from memory_app.dolt.connections import dolt
from memory_app.models import Change, TargetKind
from memory_app.text.merge import Conflicted, merge
from memory_app.writing.values import BlockFields, BlockWrite, NoteWrite, Write

#: Later changes that are named, and looked at for the one that touches the same text.
MOST_LATER = 50


@dataclass(frozen=True)
class UndoPlan:
    """What undoing would write.

    Args:
        seen_sha256: of the target as it is now; a person who confirms the plan names it.
        writes: the rows to write; none when nothing can be undone.
        is_exact: nothing changed the target since, so that it becomes what it was before.
        before_text, after_text: the block's text as it is now, and as it would be; empty for notes.
        later: what changed the target since, the newest first.
        left: the notes of an import that changed since and stay as they are.
        blocked_by: the later change that touches the same text; None where none is known to.
        is_there: false when the memory no longer has what the decision brought into it.
        over_limit: characters by which the block would pass its limit.
    """

    proposal: Proposal
    seen_sha256: str
    writes: tuple[Write, ...] = ()
    is_exact: bool = False
    before_text: str = ""
    after_text: str = ""
    later: tuple[Change, ...] = ()
    left: tuple[str, ...] = ()
    blocked_by: Change | None = None
    is_there: bool = True
    over_limit: int = 0

    @property
    def deletes_changed(self) -> bool:
        """Whether it deletes a block that the decision made, and that was changed since."""
        return not self.is_exact and any(isinstance(each, BlockWrite) and each.fields is None for each in self.writes)

    @property
    def can_be_done(self) -> bool:
        return bool(self.writes)

    @property
    def notes(self) -> tuple[tuple[str, reads.Note | None], ...]:
        """Return the id of every note it writes, and the note as it would be."""
        return tuple((write.id, write.note) for write in self.writes if isinstance(write, NoteWrite))


def plan_undo(proposal: Proposal) -> UndoPlan:
    """Return what undoing an approved or applied proposal would do.

    What it did is read from its commit, so a reviewer's own wording is undone like an agent's.

    Raises:
        RevisionNotFound: its commit cannot be read.
    """
    seen = current_state(proposal, proposal.current_revision).sha256
    return _of_block(proposal, seen) if proposal.target_kind == TargetKind.BLOCK else _of_notes(proposal, seen)


def _of_block(proposal: Proposal, seen: str) -> UndoPlan:
    owner, label = proposal.owner, proposal.target
    before, after = (reads.find_block(owner, label, commit) for commit in _commits(proposal))
    now = reads.find_block(owner, label)
    if _sha256(now) == _sha256(after):
        fields_back = fields_of(before) if before else None
        write = BlockWrite(owner, label, fields_back, _sha256(now))
        texts = now.body if now else "", before.body if before else ""
        return UndoPlan(proposal, seen, (write,), is_exact=True, before_text=texts[0], after_text=texts[1])
    later = _later(proposal)
    blocked = UndoPlan(proposal, seen, later=later, before_text=now.body if now else "")
    if before is None and now is not None and after is not None:
        # A new block that changed since: it is deleted with all that was added, which a person sees first.
        return replace(blocked, writes=(BlockWrite(owner, label, None, now.sha256),))
    if now is None or before is None or after is None:
        return replace(blocked, blocked_by=later[0] if later else None, is_there=now is not None)
    # The inverse of the change, merged into the text as it is now.
    body = merge(after.body, now.body, before.body)
    if isinstance(body, Conflicted):
        return replace(blocked, blocked_by=_touching(before, after, later))
    back = _merged(before, after, now, body)
    if back == fields_of(now):
        return replace(blocked, is_there=False)
    if len(body) > now.limit:
        return replace(blocked, over_limit=len(body) - now.limit)
    return replace(blocked, writes=(BlockWrite(owner, label, back, now.sha256),), after_text=body)


def _merged(before: reads.Block, after: reads.Block, now: reads.Block, body: str) -> BlockFields:
    """Return today's fields, with those as they were before that changed only in the decision."""
    old, made, today = fields_of(before), fields_of(after), fields_of(now)
    chosen = {
        each.name: getattr(old if getattr(today, each.name) == getattr(made, each.name) else today, each.name)
        for each in fields(BlockFields)
    }
    return BlockFields(**chosen | {"body": body})


def _touching(before: reads.Block, after: reads.Block, later: Sequence[Change]) -> Change | None:
    """Return the first later change after which the text can no longer be taken back."""
    for change in reversed(later):
        then = reads.find_block(change.owner, change.target, change.commit)
        if then is None or isinstance(merge(after.body, then.body, before.body), Conflicted):
            return change
    return later[0] if later else None


def _sha256(block: reads.Block | None) -> str:
    return block.sha256 if block else ""


def _of_notes(proposal: Proposal, seen: str) -> UndoPlan:
    ids = [target for _kind, target in targets_of(proposal, proposal.current_revision)]
    before, after = (reads.find_notes(proposal.owner, ids, commit) for commit in _commits(proposal))
    now = reads.note_sha256s(proposal.owner, ids)
    writes, left = [], []
    for id_ in ids:
        old, made = before.get(id_), after.get(id_)
        was, became, is_now = old.sha256 if old else "", made.sha256 if made else "", now.get(id_, "")
        if was == became or is_now == was:
            continue
        if is_now == became:
            writes.append(NoteWrite(proposal.owner, id_, old, became))
        else:
            left.append(id_)
    is_exact = not left and len(writes) == sum(before.get(id_) != after.get(id_) for id_ in ids)
    later = () if is_exact else _later(proposal, left)
    return UndoPlan(
        proposal,
        seen,
        tuple(writes),
        is_exact=is_exact and bool(writes),
        later=later,
        left=tuple(left),
        blocked_by=later[0] if later and not writes else None,
        is_there=bool(writes or left),
    )


def _commits(proposal: Proposal) -> tuple[str, str]:
    """Return the commit of main before the decision, and the decision's own."""
    return dolt(proposal.owner).parent(proposal.merge_commit), proposal.merge_commit


def _later(proposal: Proposal, ids: Sequence[str] = ()) -> tuple[Change, ...]:
    """Return what changed the target since, the newest first; of many notes each one's last change."""
    if len(ids) > 1:
        last = reads.last_changes(proposal.owner, TargetKind.NOTE, ids).values()
        return tuple(sorted(last, key=lambda change: change.at, reverse=True)[:MOST_LATER])
    kind = TargetKind.BLOCK if proposal.target_kind == TargetKind.BLOCK else TargetKind.NOTE
    changes = reads.history(proposal.owner, kind, ids[0] if ids else proposal.target, limit=MOST_LATER)
    return tuple(takewhile(lambda change: change.commit != proposal.merge_commit, changes))
