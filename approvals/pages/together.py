"""The same change for several people, decided on one page: for whom it can be approved as it is drawn once, and what is
different about the others. Which proposals make the same change is `inbox_rows`."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from approvals.models import Proposal, Revision
from approvals.pages.inbox_rows import rows_of, states_now
from approvals.review.collisions import current_revisions
from approvals.services.several import why_not_plain
from memory_app.text import worddiff
from memory_app.text.worddiff import Segment


@dataclass(frozen=True)
class OneOfMany:
    """The proposal for one person.

    Args:
        seen: what a decision names: the proposal, its revision, and its target as it is compared here.
        why_not: why it cannot be approved among others, in a sentence; empty where it can.
        conflicts: ids of other undecided proposals that conflict with it.
        around: its changed paragraphs, where their text is not that of the one that is drawn.
        has_other_reason: its agent gave another reason than for the one that is drawn.
    """

    proposal: Proposal
    seen: str
    why_not: str
    conflicts: Sequence[int]
    around: tuple[tuple[Segment, ...], ...] = ()
    has_other_reason: bool = False

    @property
    def is_chosen(self) -> bool:
        """Whether it is approved unless the reader says otherwise."""
        return not self.why_not and not self.conflicts

    @property
    def has_more_to_say(self) -> bool:
        return bool(self.why_not or self.around or self.has_other_reason)


def one_for_many(proposals: Iterable[Proposal]) -> tuple[Proposal, list[OneOfMany]]:
    """Return the proposal to draw, and all of them in their order, compared with it and with their targets now.

    Args:
        proposals: at least one, of one agent, all making the same change.
    """
    rows = {row.proposal.pk: row for row in rows_of(proposals, looking=True)}
    waiting = [row.proposal for row in rows.values()]
    revisions = {each.pk: revision for each, revision in current_revisions(waiting)}
    standings = states_now([(each, revisions[each.pk]) for each in waiting])
    assessed = {pk: standing.assess(revisions[pk]) for pk, standing in standings.items()}
    why_not = {each.pk: why_not_plain(each, assessed.get(each.pk)) for each in waiting}
    drawn = next((each for each in waiting if not why_not[each.pk] and not rows[each.pk].conflicts), waiting[0])
    paragraphs = {pk: _paragraphs(revision) for pk, revision in revisions.items()}
    return drawn, [
        OneOfMany(
            each,
            seen=f"{each.pk}:{each.current_revision_number}:{'-' if why_not[each.pk] else standings[each.pk].sha256}",
            why_not=why_not[each.pk],
            conflicts=rows[each.pk].conflicts,
            around=paragraphs[each.pk] if paragraphs[each.pk] != paragraphs[drawn.pk] else (),
            has_other_reason=each.reasoning != drawn.reasoning,
        )
        for each in waiting
    ]


def _paragraphs(revision: Revision) -> tuple[tuple[Segment, ...], ...]:
    """Return the paragraphs of a block that a revision changes, each with what changes in it."""
    if revision.note_changes:
        return ()
    redlined = worddiff.redlined(worddiff.diff(revision.base_text, revision.result_text))
    return tuple(tuple(paragraph.segments) for paragraph in redlined if paragraph.changed)
