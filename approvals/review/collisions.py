"""Undecided proposals that collide: what approving the one makes of the other, and the other way round.

Pages say which ones conflict, agents are told the effects. Compares texts that are read already, or read once for all.
Not here: how one proposal stands to its target today (`mergeability`).
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from itertools import combinations

from django.db.models import Exists, F, OuterRef, Q

from approvals.models import Mergeability, Proposal, ProposalQuerySet, ProposedNote, Revision
from approvals.review import targets
from approvals.review.targets import Assessment, assess, block_after
from memory_app.models import TargetKind
from memory_app.reads import Block
from memory_app.text.sentences import key, sentences
from memory_app.text.worddiff import common_ends

#: Other proposals that one is compared with, the oldest first: an agent may have 20 waiting for one owner.
MOST_COMPARED = 25


class CollisionEffect(StrEnum):
    """What approving one proposal makes of another. The value is what agents are told."""

    NO_LONGER_FITS = "no_longer_fits"
    TOO_LONG = "too_long"
    SETTLED = "settled"
    STILL_FITS = "still_fits"
    #: Of an import: notes that both change can be left out of it.
    IN_PART = "in_part"


@dataclass(frozen=True)
class Collision:
    """Two undecided proposals that change the same.

    Args:
        other: the one that collides.
        effect: what approving this one makes of the other.
        back: what approving the other makes of this one; None where that takes too long to find out.
    """

    other: Proposal
    effect: CollisionEffect
    back: CollisionEffect | None

    @property
    def is_conflict(self) -> bool:
        """Whether one of the two no longer fits, at least in part, once the other is approved."""
        fine = (CollisionEffect.STILL_FITS, CollisionEffect.SETTLED)
        return not (self.effect in fine and self.back in fine)


def others_on_target(proposal: Proposal) -> ProposalQuerySet:
    """Return the other undecided proposals about the same block, or about notes that this one changes."""
    others = Proposal.objects.decidable().of_owner(proposal.owner).exclude(pk=proposal.pk)
    if proposal.target_kind == TargetKind.BLOCK:
        return others.on_target(proposal.owner, TargetKind.BLOCK, proposal.target)
    if proposal.target_kind == TargetKind.NOTE:
        return others.about_notes([proposal.target])
    named = ProposedNote.objects.filter(proposal=proposal).values("note_id")
    same = ProposedNote.objects.filter(proposal=OuterRef("pk"), note_id__in=named)
    return others.filter(
        Q(target_kind=TargetKind.NOTE, target__in=named) | Q(target_kind=TargetKind.IMPORT) & Exists(same)
    )


def collisions_of(revision: Revision, others: Sequence[Proposal], block: Block | None) -> tuple[Collision, ...]:
    """Return those of `others` that collide with an undecided proposal, as far as `MOST_COMPARED` go.

    What does not fit today collides with nothing: the page of each says that it does not.

    Args:
        revision: the current one of the proposal.
        others: about the same target, as `others_on_target` returns them.
        block: the target today; None for notes.
    """
    proposal = revision.proposal
    fitting = [each for each in others if each.mergeability in (Mergeability.CLEAN, Mergeability.REBASABLE)]
    oldest = fitting[:MOST_COMPARED]
    if not oldest:
        return ()
    if proposal.target_kind != TargetKind.BLOCK:
        return tuple(_of_notes(revision, oldest))
    if block is None or targets.is_deletion(revision):
        return tuple(_with_whole_block(revision, oldest, block))
    return tuple(_of_block(revision, oldest, block))


class _ChangeToday:
    """What a proposal makes of a block as it is today."""

    def __init__(self, revision: Revision, block: Block) -> None:
        self.revision = revision
        self.block = block
        self.after = block_after(revision, block)

    @cached_property
    def window(self) -> tuple[int, int]:
        """Return the range of today's text outside of which nothing changes, in whole passages between blank lines."""
        before = self.block.body
        head, tail = common_ends(before, self.after.body if self.after else before)
        following = before.find("\n\n", len(before) - tail)
        return before.rfind("\n\n", 0, head) + 1, len(before) if following < 0 else following

    @cached_property
    def sentences_in_or_out(self) -> frozenset[str]:
        """Return what the sentences and the lines of the window say of which there are more or fewer afterwards.

        A merge compares both. Each are counted apart: a line may become a sentence of its own that was there before.
        """
        start, end = self.window
        now, after = self.block.body[start:end], self.after.body[start : end + self.growth] if self.after else ""
        changed: set[str] = set()
        for parts in (sentences, str.splitlines):
            before, then = (Counter(filter(None, map(key, parts(text)))) for text in (now, after))
            changed.update(before - then, then - before)
        return frozenset(changed)

    @property
    def growth(self) -> int:
        return len(self.after.body) - len(self.block.body) if self.after else 0

    def is_apart_from(self, other: _ChangeToday) -> bool:
        """Whether the two certainly have nothing to do with each other, which costs a few comparisons of slices."""
        (start, end), (other_start, other_end) = self.window, other.window
        has_room = len(self.block.body) + self.growth + other.growth <= self.block.limit
        is_elsewhere = end < other_start or other_end < start
        # What both put in, or one takes out and the other puts in, may be one sentence that was moved: a conflict.
        return has_room and is_elsewhere and self.sentences_in_or_out.isdisjoint(other.sentences_in_or_out)


def _of_block(revision: Revision, others: Sequence[Proposal], block: Block) -> Iterator[Collision]:
    this = _ChangeToday(revision, block)
    if this.after is None:
        return
    for proposal, theirs in current_revisions(others):
        if effects := _effects(this, _ChangeToday(theirs, block)):
            yield Collision(proposal, *effects)


def _effects(this: _ChangeToday, other: _ChangeToday) -> tuple[CollisionEffect, CollisionEffect] | None:
    """Return what approving the one makes of the other, and the other way round; None where nothing comes of it."""
    if targets.is_deletion(other.revision):  # its reviewer is shown the text as this one makes it
        return CollisionEffect.STILL_FITS, CollisionEffect.NO_LONGER_FITS
    if this.after is None or other.after is None or this.is_apart_from(other):
        return None
    effect, back = effect_of(assess(other.revision, this.after)), effect_of(assess(this.revision, other.after))
    return None if effect is back is CollisionEffect.STILL_FITS else (effect, back)


def _with_whole_block(revision: Revision, others: Sequence[Proposal], block: Block | None) -> Iterator[Collision]:
    """Yield what a deletion, or a new block, makes of the others about it."""
    new = targets.new_block_of(revision)
    made = targets.made_of(revision, new) if new else None
    if block is None and made is None:
        return
    for proposal, theirs in current_revisions(others):
        effect = effect_of(assess(theirs, made))
        # Of two new blocks each stands in the way of the other; an edit leaves a block that can be deleted.
        is_like_this = new is not None or targets.is_deletion(theirs)
        yield Collision(proposal, effect, effect if is_like_this else CollisionEffect.STILL_FITS)


def effect_of(assessment: Assessment) -> CollisionEffect:
    """Return how a proposal stands once another one is approved."""
    if assessment.over_limit:
        return CollisionEffect.TOO_LONG
    if assessment.state == Mergeability.ALREADY_APPLIED:
        return CollisionEffect.SETTLED
    return CollisionEffect.STILL_FITS if assessment.can_be_approved else CollisionEffect.NO_LONGER_FITS


# -- Of many at once, for lists: they read no memory.

#: Pairs of one list that are compared in full, which takes up to 10 ms. Of more, what is not certainly apart conflicts.
MOST_PAIRS = 200


def conflicts_on_list(revisions: Iterable[Revision]) -> defaultdict[int, list[int]]:
    """Return the ids of the others that each proposal conflicts with, as `Collision.is_conflict` says.

    The text of a block is what a proposal that applies as it is was made on: without one, nothing is said of its
    block. Whether both of two fit into the block is asked when the second is decided.

    Args:
        revisions: with texts and proposals, the current ones of all undecided proposals on some targets.
    """
    by_target: defaultdict[tuple[str, str, str], list[Revision]] = defaultdict(list)
    for each in revisions:
        if each.proposal.mergeability in (Mergeability.CLEAN, Mergeability.REBASABLE):
            by_target[each.proposal.owner, each.proposal.target_kind, each.proposal.target].append(each)
    found: defaultdict[int, list[int]] = defaultdict(list)
    pairs_left = MOST_PAIRS
    for (_owner, kind, _target), some in by_target.items():
        if kind != TargetKind.BLOCK or any(targets.new_block_of(each) for each in some):
            pairs = [
                (one, other)
                for one, other in combinations(some, 2)
                if one.proposal.result_sha256 != other.proposal.result_sha256
            ]
        else:
            pairs, pairs_left = _conflicting(some, pairs_left)
        for one, other in pairs:
            found[one.proposal_id].append(other.proposal_id)
            found[other.proposal_id].append(one.proposal_id)
    return found


def _conflicting(revisions: Sequence[Revision], most: int) -> tuple[list[tuple[Revision, Revision]], int]:
    """Return which of the changes of one block conflict, and how many more pairs may be compared in full."""
    clean = next((each for each in revisions if each.proposal.mergeability == Mergeability.CLEAN), None)
    if clean is None:
        return [], most
    as_made = targets.made_of(clean, targets.NewBlock("", "", sys.maxsize))
    block = replace(as_made, body=clean.base_text, sha256=clean.base_sha256)
    found = []
    for one, other in combinations([_ChangeToday(each, block) for each in revisions], 2):
        this, that = (other, one) if targets.is_deletion(one.revision) else (one, other)
        if not targets.is_deletion(that.revision):
            if this.after is None or that.after is None or this.is_apart_from(that):
                continue
            most -= 1
        effects = _effects(this, that) if most >= 0 else (CollisionEffect.NO_LONGER_FITS, None)
        if effects and Collision(that.revision.proposal, *effects).is_conflict:
            found.append((one.revision, other.revision))
    return found, most


def current_revisions(others: Sequence[Proposal]) -> Iterator[tuple[Proposal, Revision]]:
    """Yield each with its current revision; those that are not held are read in one query."""
    if all(each.is_revision_held for each in others):
        yield from ((each, each.current_revision) for each in others)
        return
    current = Revision.objects.filter(proposal__in=others, number=F("proposal__current_revision_number"))
    found = {each.proposal_id: each for each in current.defer("risk_report").order_by()}
    yield from ((each, found[each.pk]) for each in others if each.pk in found)


def _of_notes(revision: Revision, others: Sequence[Proposal]) -> Iterator[Collision]:
    proposal = revision.proposal
    is_import = proposal.target_kind == TargetKind.IMPORT
    imports = [each for each in others if each.target_kind == TargetKind.IMPORT]
    made = {change["id"]: targets.sha256_kept(change["after"]) for change in revision.note_changes}
    for other, theirs in current_revisions([each for each in others if each not in imports]):
        (change,) = theirs.note_changes
        is_same = made.get(change["id"], "") == targets.sha256_kept(change["after"])
        effect = CollisionEffect.SETTLED if is_same else CollisionEffect.NO_LONGER_FITS
        yield Collision(other, effect, CollisionEffect.IN_PART if is_import else effect)
    # The texts of an import take long to read: what is told of it is what it names.
    named = ProposedNote.objects.filter(proposal=proposal).values("note_id") if is_import else [proposal.target]
    of_imports = ProposedNote.objects.filter(proposal__in=imports, note_id__in=named)
    sharing = set(of_imports.values_list("proposal", flat=True)) if imports else set()
    for other in imports:
        if other.result_sha256 == proposal.result_sha256:
            yield Collision(other, CollisionEffect.SETTLED, CollisionEffect.SETTLED)
        elif other.pk in sharing:
            yield Collision(other, CollisionEffect.IN_PART, CollisionEffect.IN_PART if is_import else None)
