"""What a person is shown of a proposal, in one frozen value: the page draws it and decides nothing.

For an open proposal the change is shown against the target as it is now; a decided one is shown from its
revision row, since its branch is gone.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import structlog
from django.core.paginator import Page, Paginator

from approvals.models import Event, Kind, Mergeability, Proposal, Revision, User
from approvals.permissions import ReviewAction, available_actions
from approvals.review import targets
from approvals.review.collisions import Collision, collisions_of, others_on_target
from approvals.review.note_changes import NoteReview, note_reviews, said_beside
from approvals.review.reworded import ChangedApproval, Rewording, has_text, taken_of
from approvals.review.targets import Assessment, BlockState, NotesState, TargetState, current_state
from approvals.risks import flags
from memory_app import reads
from memory_app.dolt.errors import DoltError
from memory_app.models import TargetKind
from memory_app.text import worddiff
from memory_app.text.worddiff import Hunk, Segment

log = structlog.get_logger(__name__)

#: Changes of a block that can be ticked: a form takes a thousand fields, two for each.
MOST_BOXES = 400
#: Notes of an import on one page.
NOTES_ON_A_PAGE = 100


#: Pairs of texts of which what was made is kept, in this process alone; of the longest blocks they take some ten
#: megabytes.
TEXTS_KEPT = 16


@lru_cache(maxsize=TEXTS_KEPT)
def compared(before: str, after: str) -> tuple[Segment, ...]:
    """Return what changed from one text to another.

    A person turns to another view of a change, comments on it, decides about it: each time the page shows the same two
    texts, and to compare long ones takes a tenth of a second.
    """
    return worddiff.diff(before, after)


#: The same for the short texts of a list, of which there are many.
compared_on_list = lru_cache(maxsize=512)(worddiff.diff)

#: The changes that can be approved one by one, in reading order.
hunks_of = lru_cache(maxsize=TEXTS_KEPT)(worddiff.hunks_of)


@lru_cache(maxsize=1024)
def changed_words(before: str, after: str) -> str:
    """Return the words that a new whole text removes and adds, wherever in it they stand."""
    changed = (segment for segment in worddiff.diff(before, after) if segment.kind != "same")
    return repr([(segment.kind, segment.text) for segment in changed])


@lru_cache(maxsize=TEXTS_KEPT)
def reported(before: str, after: str, *, is_deletion: bool, beside: tuple[str, str], said: str) -> flags.RiskReport:
    """Return the flags of a change, as `flags.report` does."""
    segments = compared(before, after)
    return flags.report(before, after, segments=segments, is_deletion=is_deletion, beside=beside, said=said)


#: What `diff_mode.forget_texts` empties.
CACHES_OF_TEXTS = (compared, compared_on_list, hunks_of, changed_words, reported)


@dataclass(frozen=True)
class Review:
    """Everything the proposal page needs.

    Args:
        block: the target now; None when there is none any more.
        seen_sha256: what a decision made on this page must carry; empty when the block is gone.
        before_text, after_text: the two sides of the change as shown.
        segments: the word-level difference between them; none for an import.
        assessment: None for a decided proposal, whose target is not read, or when it could not be.
        actions: what this viewer may press; empty while an older revision is looked at.
        siblings: other undecided proposals on the same target, oldest first.
        page: for a proposal about notes, their changes as stored, those of one page.
        notes: the same as they are shown.
        hunks: the changes of a block that can be approved one by one; none where that cannot be done.
        outdated: ids of the notes of an import that are not as they were when it was proposed.
        taken: of an approval, how it differs from what was proposed; None where it does not.
    """

    proposal: Proposal
    revision: Revision
    revisions: tuple[int, ...]
    block: reads.Block | None
    seen_sha256: str
    before_text: str
    after_text: str
    segments: tuple[Segment, ...]
    assessment: Assessment | None
    actions: frozenset[ReviewAction]
    report: flags.RiskReport
    events: tuple[Event, ...]
    siblings: tuple[Proposal, ...]
    page: Page[dict[str, Any]]
    notes: tuple[NoteReview, ...]
    hunks: tuple[Hunk, ...]
    outdated: frozenset[str]
    taken: ChangedApproval | None

    @property
    def new_block(self) -> targets.NewBlock | None:
        """Return what the block that it makes has beside its text; None where it makes none."""
        return targets.new_block_of(self.revision)

    @property
    def deletes_block(self) -> bool:
        return targets.is_deletion(self.revision)

    @property
    def is_current(self) -> bool:
        """Whether the newest revision is shown, the only one a decision can be about."""
        return self.revision.number == self.proposal.current_revision_number

    @property
    def ids(self) -> tuple[str, ...]:
        """Return the ids of the changes that are approved one by one: of hunks, or of the notes of an import."""
        if self.hunks or self.note_count < 2:
            return tuple(hunk.id for hunk in self.hunks)
        return tuple(change["id"] for change in self.revision.note_changes)

    @property
    def note_count(self) -> int:
        """How many notes the proposal is about; 0 for a block."""
        return self.page.paginator.count

    @property
    def later_notes(self) -> int:
        """How many notes stand on later pages."""
        return self.note_count - self.page.end_index()

    @property
    def limit(self) -> int | None:
        """Return the limit of the block, or of the one that would be made; None when there is neither."""
        block = self.block or self.new_block
        return block.limit if block else None

    @property
    def same_as(self) -> list[Proposal]:
        """Return the other undecided proposals that lead to the same text."""
        if self.proposal.is_decided:  # what was approved in part leads to another text than was asked for
            return []
        return [each for each in self.siblings if each.result_sha256 == self.proposal.result_sha256]

    @property
    def is_already_applied(self) -> bool:
        """Whether the memory says it all already: there is no change to look at, nor to decide about."""
        return self.is_current and self.state == Mergeability.ALREADY_APPLIED

    @property
    def collisions(self) -> tuple[Collision, ...]:
        """Return the siblings that change the same; compared anew at each call, so pages of a part do not ask."""
        if not self.is_current or self.assessment is None or not self.assessment.can_be_approved:
            return ()
        return collisions_of(self.revision, self.siblings, self.block)

    @property
    def state(self) -> str:
        """The mergeability now; `unknown` when it could not be found out."""
        return self.assessment.state if self.assessment else Mergeability.UNKNOWN


def review_of(proposal: Proposal, viewer: User, *, revision: int | None = None, note_page: int = 1) -> Review:
    """Return what `viewer` is shown of `proposal`.

    Args:
        revision: an older revision to look at; the current one by default.
        note_page: which notes of an import, from 1; beyond the last page, that one.

    Raises:
        Revision.DoesNotExist: the proposal has no such revision.
    """
    number = proposal.current_revision_number if revision is None else revision
    is_current = number == proposal.current_revision_number
    shown = proposal.current_revision if is_current else proposal.revisions.get(number=number)
    standing, assessment = _today(proposal, shown) if not proposal.is_decided else (None, None)
    block = standing.block if isinstance(standing, BlockState) else None
    before, after = _texts(shown, block, assessment)
    # An import is not one text, and may be a large one: its notes are shown one by one.
    segments = () if proposal.target_kind == TargetKind.IMPORT else compared(before, after)
    fits = is_current and assessment is not None and assessment.can_be_approved
    has_hunks = fits and block and not targets.is_deletion(shown)
    hunks = hunks_of(segments) if has_hunks else ()
    page = Paginator(shown.note_changes, NOTES_ON_A_PAGE).get_page(note_page)
    siblings = others_on_target(proposal)
    if proposal.is_decided:  # its page names those that take it up again
        siblings = siblings.exclude(answers=proposal)
    return Review(
        proposal=proposal,
        revision=shown,
        revisions=tuple(proposal.revisions.order_by("number").values_list("number", flat=True))
        if proposal.current_revision_number > 1
        else (1,),
        block=block,
        seen_sha256=standing.sha256 if standing else "",
        before_text=before,
        after_text=after,
        segments=segments,
        assessment=assessment,
        actions=_actions(proposal, viewer, standing, assessment, len(hunks)) if is_current else frozenset(),
        report=_risks(proposal, shown, before, after),
        events=tuple(proposal.events.all()),
        siblings=tuple(siblings.select_related("agent").order_by("created_at", "id")),
        page=page,
        notes=note_reviews(proposal, list(page)),
        hunks=hunks,
        outdated=frozenset(standing.changed(shown.note_changes) if isinstance(standing, NotesState) else ()),
        taken=taken_of(proposal) if is_current else None,
    )


def warnings_of(
    proposal: Proposal, revision: Revision, standing: TargetState, assessment: Assessment
) -> tuple[flags.Risk, ...]:
    """Return the flags that the page shows of a revision that is about to be approved."""
    block = standing.block if isinstance(standing, BlockState) else None
    return _risks(proposal, revision, *_texts(revision, block, assessment)).risks


def _texts(revision: Revision, block: reads.Block | None, assessment: Assessment | None) -> tuple[str, str]:
    """Return the two sides of a change: on today's text, where it is another one and the change fits."""
    if block and assessment and assessment.is_stale and assessment.result_text is not None:
        return block.body, assessment.result_text
    return revision.base_text, revision.result_text


def warnings_of_words(texts: Rewording, text: str, title: str | None = None) -> tuple[flags.Risk, ...]:
    """Return the flags of a text of the reviewer's own, written from `texts`; what the agent says beside it counts too.

    Args:
        title: of a new block, as it was typed.
    """
    new = texts.new_block
    noted = said_beside(texts.revision.note_changes)
    beside = replace(new, title=new.title if title is None else title).beside if new else noted
    said = flags.said_with(texts.proposal.reasoning, texts.proposal.evidence)
    return flags.report(texts.now, text, beside=beside, said=said).risks


def _risks(proposal: Proposal, revision: Revision, before: str, after: str) -> flags.RiskReport:
    """Return the flags of a change as it is shown; those of an import as they were kept, where they were."""
    if revision.risk_report is not None:
        return flags.RiskReport.from_json(revision.risk_report)
    said = flags.said_with(proposal.reasoning, proposal.evidence)
    is_deletion = proposal.kind == Kind.DELETE or targets.is_deletion(revision)
    new = targets.new_block_of(revision)
    beside = new.beside if new else said_beside(revision.note_changes)
    return reported(before, after, is_deletion=is_deletion, beside=beside, said=said)


def _today(proposal: Proposal, revision: Revision) -> tuple[TargetState | None, Assessment | None]:
    try:
        standing = current_state(proposal, revision)
    except DoltError:
        log.exception("target_unreadable", proposal=proposal.pk)
        return None, None
    return standing, standing.assess(revision)


def _actions(
    proposal: Proposal, viewer: User, standing: TargetState | None, assessment: Assessment | None, hunks: int
) -> frozenset[ReviewAction]:
    """Return the permitted actions that can succeed: a button that must fail is not drawn."""
    fits = assessment is not None and assessment.can_be_approved
    is_conflict = assessment is not None and assessment.state == Mergeability.CONFLICT
    notes = len(proposal.current_revision.note_changes)
    is_text = standing is not None and has_text(proposal.current_revision, standing)
    # There is nothing to merge a new block, or a deletion, with.
    may_merge = is_text and not targets.is_of_whole_block(proposal.current_revision)
    can_succeed = {
        ReviewAction.APPROVE: fits,
        ReviewAction.APPROVE_SOME: (fits and 1 < hunks <= MOST_BOXES) or (notes > 1 and (fits or is_conflict)),
        ReviewAction.EDIT: fits and is_text,
        ReviewAction.RESOLVE: is_conflict and may_merge,
    }
    return available_actions(viewer, proposal) - {action for action, can in can_succeed.items() if not can}
