"""Undecided proposals that collide: what approving the one makes of the other, and the other way round.

Compares texts that are read already, or read once for all. Not here: how one proposal stands to its target today
(`mergeability`), and the words that pages say it with (`templatetags.collisions`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import accumulate
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q

from approvals.models import Mergeability, Proposal, ProposalQuerySet, ProposedNote, Revision
from approvals.review import whole_blocks
from approvals.review.compared import compared
from approvals.review.mergeability import Assessment, assess, block_after
from memory_app.models import TargetKind
from memory_app.reads import Block
from memory_app.text.sentences import key, sentences
from memory_app.text.worddiff import Segment, common_ends

#: Other proposals that one is compared with, the oldest first: an agent may have 20 waiting for one owner.
MOST_COMPARED = 50


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
        notes: how many notes both change, where one of them is an import.
    """

    other: Proposal
    effect: CollisionEffect
    back: CollisionEffect | None
    notes: int = 0


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
    if block is None or whole_blocks.is_deletion(revision):
        return tuple(_with_whole_block(revision, oldest, block))
    return tuple(_of_block(revision, oldest, block))


# -- blocks ---------------------------------------------------------------------------------------


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
        """Return what the sentences of the window say of which there are more or fewer afterwards."""
        start, end = self.window
        now = _said(self.block.body[start:end])
        after = _said(self.after.body[start : end + self.growth]) if self.after else Counter()
        return frozenset(now - after) | frozenset(after - now)

    @property
    def is_merged(self) -> bool:
        """Whether its whole text is merged with another change of the same text: no edit is made again."""
        is_clean = self.revision.base_sha256 == self.block.sha256
        return is_clean and any(edit["op"] == "rewrite" for edit in self.revision.edits)

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

    def sentences_changed(self, starts: Sequence[int]) -> set[int]:
        """Return the numbers of the sentences it changes.

        Args:
            starts: where each sentence of today's text begins.
        """
        if self.after is None:
            return set()
        changed: set[int] = set()
        for start, end in _ranges(compared(self.block.body, self.after.body).segments):
            changed.update(range(bisect_right(starts, start) - 1, bisect_right(starts, max(start, end - 1))))
        return changed


def _said(text: str) -> Counter[str]:
    """Return what the sentences and the lines of a text say, and how often; a merge compares both."""
    return Counter(filter(None, map(key, (*sentences(text), *text.splitlines()))))


def _of_block(revision: Revision, others: Sequence[Proposal], block: Block) -> Iterator[Collision]:
    this = _ChangeToday(revision, block)
    if this.after is None:
        return
    starts: list[int] = []
    changed: set[int] = set()
    for proposal, theirs in _current(others):
        if whole_blocks.is_deletion(theirs):  # its reviewer is shown the text as this one makes it
            yield Collision(proposal, CollisionEffect.STILL_FITS, CollisionEffect.NO_LONGER_FITS)
            continue
        other = _ChangeToday(theirs, block)
        if other.after is None or this.is_apart_from(other):
            continue
        assessment = assess(theirs, this.after)
        effect = effect_of(assessment)
        if this.is_merged and other.is_merged:
            back = _turned_around(assessment, this.after.body, other.after.body)
        else:
            back = effect_of(assess(revision, other.after))
        if effect is back is CollisionEffect.STILL_FITS:
            starts = starts or [0, *accumulate(map(len, sentences(block.body)))][:-1]
            changed = changed or this.sentences_changed(starts)
            if not changed & other.sentences_changed(starts):
                continue
        yield Collision(proposal, effect, back)


def _with_whole_block(revision: Revision, others: Sequence[Proposal], block: Block | None) -> Iterator[Collision]:
    """Yield what a deletion, or a new block, makes of the others about it."""
    new = whole_blocks.new_block_of(revision)
    made = whole_blocks.made_of(revision, new) if new else None
    if block is None and made is None:
        return
    for proposal, theirs in _current(others):
        effect = effect_of(assess(theirs, made))
        # Of two new blocks each stands in the way of the other; an edit leaves a block that can be deleted.
        is_like_this = new is not None or whole_blocks.is_deletion(theirs)
        yield Collision(proposal, effect, effect if is_like_this else CollisionEffect.STILL_FITS)


def _turned_around(assessment: Assessment, this: str, other: str) -> CollisionEffect:
    """Return what approving the other first makes of this one, where the two are merged: a merge is symmetrical.

    Args:
        assessment: of the other, on the text as this one makes it.
        this, other: today's text as each of them makes it.
    """
    merged = this if assessment.state == Mergeability.ALREADY_APPLIED else assessment.result_text
    if merged is None:
        return effect_of(assessment)
    return CollisionEffect.SETTLED if merged == other else CollisionEffect.STILL_FITS


def effect_of(assessment: Assessment) -> CollisionEffect:
    """Return how a proposal stands once another one is approved."""
    if assessment.over_limit:
        return CollisionEffect.TOO_LONG
    if assessment.state == Mergeability.ALREADY_APPLIED:
        return CollisionEffect.SETTLED
    return CollisionEffect.STILL_FITS if assessment.can_be_approved else CollisionEffect.NO_LONGER_FITS


def _ranges(segments: Iterable[Segment]) -> Iterator[tuple[int, int]]:
    """Yield where the text before is changed; what is put in has no length."""
    at = 0
    for segment in segments:
        end = at if segment.kind == "added" else at + len(segment.text)
        if segment.kind != "same":
            yield at, end
        at = end


def _current(others: Sequence[Proposal]) -> Iterator[tuple[Proposal, Revision]]:
    """Yield each with its current revision, read in one query."""
    numbers = {each.pk: each.current_revision_number for each in others}
    revisions = Revision.objects.filter(proposal__in=numbers, number__in=set(numbers.values())).defer("risk_report")
    found = {each.proposal_id: each for each in revisions.order_by() if each.number == numbers[each.proposal_id]}
    for proposal in others:
        if proposal.pk in found:
            yield proposal, found[proposal.pk]


# -- notes ----------------------------------------------------------------------------------------


def _of_notes(revision: Revision, others: Sequence[Proposal]) -> Iterator[Collision]:
    proposal = revision.proposal
    imports = [each for each in others if each.target_kind == TargetKind.IMPORT]
    single = [each for each in others if each.target_kind != TargetKind.IMPORT]
    made = {change["id"]: _sha256(change) for change in revision.note_changes}
    back: CollisionEffect | None
    for other, theirs in _current(single):
        (change,) = theirs.note_changes
        effect = (
            CollisionEffect.SETTLED if made.get(change["id"], "") == _sha256(change) else CollisionEffect.NO_LONGER_FITS
        )
        back = CollisionEffect.IN_PART if proposal.target_kind == TargetKind.IMPORT else effect
        yield Collision(other, effect, back, notes=1 if back is CollisionEffect.IN_PART else 0)
    # The texts of an import take long to read: what is told of it is what it names.
    shared = _shared_notes(proposal, imports) if imports else {}
    for other in imports:
        if other.result_sha256 == proposal.result_sha256:
            yield Collision(other, CollisionEffect.SETTLED, CollisionEffect.SETTLED)
        elif shared.get(other.pk):
            back = CollisionEffect.IN_PART if proposal.target_kind == TargetKind.IMPORT else None
            yield Collision(other, CollisionEffect.IN_PART, back, notes=shared[other.pk])


def _sha256(change: dict[str, Any]) -> str | None:
    return change["after"]["sha256"] if change["after"] else None


def _shared_notes(proposal: Proposal, imports: Sequence[Proposal]) -> dict[int, int]:
    """Return how many of a proposal's notes each import changes."""
    notes = ProposedNote.objects.filter(proposal__in=imports).order_by()
    if proposal.target_kind == TargetKind.IMPORT:
        notes = notes.filter(note_id__in=ProposedNote.objects.filter(proposal=proposal).values("note_id"))
    else:
        notes = notes.filter(note_id=proposal.target)
    return dict(notes.values_list("proposal").annotate(Count("pk")))
