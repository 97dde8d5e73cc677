"""What lies between two revisions of one proposal, and between a rejected one and the one that answers it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from approvals.models import Event, Proposal, ReviewReason, Revision
from approvals.review.compared import compared
from approvals.review.diff_mode import Redline, laid_out, redline
from approvals.review.note_changes import NoteFieldChange, field_changes_of_note
from approvals.review.turn.change_requests import ChangeRequest, last_request
from approvals.review.whole_blocks import NewBlock, is_of_whole_block, new_block_of
from approvals.services.notes.values import NoteChange
from memory_app.models import MemoryBlock, TargetKind
from memory_app.text import edits
from memory_app.text.worddiff import Paragraph

#: Characters of the two texts together up to which they are compared: an import may have millions.
LONGEST = 400_000
#: Proposals that take a rejected one up again, as its page names them.
_MOST_ANSWERS = 5


@dataclass(frozen=True)
class BlockFieldChange:
    """The title or description of a new block, in one revision and in another; empty for none."""

    name: str
    before: str
    after: str

    @property
    def label(self) -> str:
        return str(MemoryBlock._meta.get_field(self.name).verbose_name)  # type: ignore[union-attr]


@dataclass(frozen=True)
class RevisionsCompared:
    """What changed from one revision of a proposal to another.

    Args:
        earlier, later: their numbers, as they were asked for.
        redline: from the text one proposes to the text of the other; None when it is the same or too long.
        is_too_long: the texts are not compared.
        fields: of a single note, or a new block, what changed beside its text.
        reason_before: the agent's reason at the earlier one, where it is another now.
        request: what the agent was asked for in between.
    """

    earlier: int
    later: int
    redline: Redline | None
    is_too_long: bool = False
    fields: tuple[NoteFieldChange | BlockFieldChange, ...] = ()
    reason_before: str = ""
    request: ChangeRequest | None = None

    @property
    def is_same(self) -> bool:
        """Whether both propose the same."""
        return not (self.redline or self.is_too_long or self.fields)


@dataclass(frozen=True)
class Answering:
    """How a proposal is tied to others.

    Args:
        answers: the rejected proposal that it takes up again.
        redline: from what that one proposed to what this one does; None when it cannot be said.
        answered_by: the proposals that take this one up again, the newest first.
        undone: how that one was undone, where it was.
        is_repeated: this one says what that one did; its agent asks a person again.
    """

    answers: Proposal | None = None
    redline: Redline | None = None
    answered_by: tuple[Proposal, ...] = ()
    undone: Event | None = None
    is_repeated: bool = False


def compare_revisions(proposal: Proposal, earlier: int, shown: Revision) -> RevisionsCompared:
    """Return what changed from revision `earlier` to the one that is shown.

    Raises:
        Revision.DoesNotExist: the proposal has no such revision.
    """
    before = proposal.revisions.get(number=earlier)
    request = last_request(proposal)
    return RevisionsCompared(
        earlier=earlier,
        later=shown.number,
        redline=_redline(proposal, before.result_text, shown.result_text),
        is_too_long=_is_too_long(before.result_text, shown.result_text),
        fields=_fields(before, shown),
        reason_before=_reason_before(proposal, earlier, shown.number),
        request=request if request and earlier <= request.revision < shown.number else None,
    )


def answering(proposal: Proposal, shown: Revision) -> Answering:
    """Return how a proposal is tied to those before and after it."""
    answers = proposal.answers if proposal.answers_id else None
    after = proposal.answered_by.select_related("agent", "decided_by").order_by("-id")[:_MOST_ANSWERS]
    line = None
    if answers and not answers.is_redacted and not proposal.is_redacted:
        line = _redline(proposal, _on_same_text(answers.current_revision, shown), shown.result_text)
    return Answering(
        answers,
        line,
        tuple(after),
        undone=answers.events.filter(what=Event.What.REVERTED).last()
        if answers and answers.reverted_by_commit
        else None,
        is_repeated=bool(answers) and proposal.review_reason == ReviewReason.REPEATED,
    )


def _on_same_text(rejected: Revision, shown: Revision) -> str:
    """Return what the rejected revision would make of the text that the shown one is made on, or what it made then."""
    if rejected.base_text == shown.base_text or not rejected.edits or is_of_whole_block(rejected):
        return rejected.result_text
    try:
        return edits.reapply(shown.base_text, edits.from_json(rejected.edits), base_text=rejected.base_text)
    except edits.EditError:
        return rejected.result_text


def _redline(proposal: Proposal, before: str, after: str) -> Redline | None:
    """Return what changed, without what is folded: the whole change stands below. Blocks are laid out as Markdown."""
    if before == after or _is_too_long(before, after):
        return None
    is_block = proposal.target_kind == TargetKind.BLOCK
    whole = laid_out(before, after, unfolded=False) if is_block else redline(compared(before, after).segments)
    changed = (each for each in whole.passages if isinstance(each.item, Paragraph) and each.item.changed)
    rendered = tuple(each for each in whole.rendered if not each.folded) if whole.rendered else None
    return Redline(tuple(changed), whole.changes, rendered)


def _is_too_long(before: str, after: str) -> bool:
    return before != after and len(before) + len(after) > LONGEST


def _fields(before: Revision, after: Revision) -> tuple[NoteFieldChange | BlockFieldChange, ...]:
    if new_block_of(before) or new_block_of(after):
        return tuple(_fields_of_block(new_block_of(before), new_block_of(after)))
    if before.proposal.target_kind != TargetKind.NOTE:
        return ()
    one, other = (NoteChange.from_json(revision.note_changes[0]).after for revision in (before, after))
    return tuple(change for change in field_changes_of_note(one, other) if change.name not in ("created_at", "source"))


def _fields_of_block(before: NewBlock | None, after: NewBlock | None) -> Iterator[BlockFieldChange]:
    """Yield what changed beside the text of a new block."""
    for name in ("title", "description"):
        old, new = getattr(before, name, ""), getattr(after, name, "")
        if old != new:
            yield BlockFieldChange(name, old, new)


def _reason_before(proposal: Proposal, earlier: int, later: int) -> str:
    said = {
        event.revision: event.text
        for event in proposal.events.filter(what__in=[Event.What.PROPOSED, Event.What.AMENDED]).order_by("at", "id")
    }
    before = next((said[number] for number in range(earlier, 0, -1) if number in said), "")
    after = next((said[number] for number in range(later, 0, -1) if number in said), "")
    return before if before != after else ""
