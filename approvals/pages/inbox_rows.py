"""The rows of the review queue: which proposals can be decided where they are listed, and what their rows show.

Reads only. Which proposals are listed, and in what order, is `inbox`; deciding is `services`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import structlog
from django.db.models import Exists, F, OuterRef
from django.utils.translation import gettext as _

from approvals.models import (
    Attention,
    Kind,
    Mergeability,
    Proposal,
    ProposalQuerySet,
    ReviewReason,
    Revision,
    Status,
    User,
)
from approvals.pages.inbox_filters import Order
from approvals.review.collisions import conflicts_on_list, current_revisions
from approvals.review.note_changes import NoteChange
from approvals.review.presentation import changed_words, compared_on_list
from approvals.review.summary import risk_title
from approvals.review.targets import TargetState, base_sha256, current_states
from approvals.review.turn import ChangeRequest, change_requests
from approvals.services.several import why_not_plain
from memory_app import reads
from memory_app.dolt.errors import DoltError
from memory_app.models import TargetKind
from memory_app.text import worddiff
from memory_app.text.worddiff import Segment

log = structlog.get_logger(__name__)

#: An edit of more characters, old and new text together, is read on its own page before it is decided.
ROW_CHARACTERS = 400
#: Bars in a line: a table of more columns is wider than a row may be.
MOST_BARS = 7
#: Edits of a larger change whose words a row shows.
MOST_PLACES = 2
#: Edits that take nothing away: what they add is all they change.
_ADDING = frozenset({"append", "prepend", "insert"})

#: Kinds whose whole change a row can show, when it is small.
_DECIDED_UNOPENED = (Kind.EDIT, Kind.SAVE, Kind.UPDATE, Kind.DELETE, Kind.FORGET)


@dataclass
class InboxRow:
    """One proposal in the list.

    Args:
        change: all of the change, for one that is small, applies as it is and has nothing about it that
            needs a closer look: it can be decided here. Empty for the others.
        places: of those, the texts that the first edits replace and put there, where they say so; else a row shows the
            stored excerpt.
        seen_sha256: the state of the target that `change` was made against; a decision on the row names it.
        note: for a change of a note that can be decided here, the note with its other fields: as it would be,
            or the one that would be deleted.
        request: what its agent is asked for.
        is_changed_since: the reader has seen an earlier revision of it.
        alike: the same change for other people, who are named on this row.
        conflicts: ids of other undecided proposals that conflict with it.
    """

    proposal: Proposal
    change: tuple[Segment, ...] = ()
    places: Sequence[tuple[str, str]] = ()
    seen_sha256: str = ""
    note: reads.Note | None = None
    request: ChangeRequest | None = None
    is_changed_since: bool = False
    alike: Sequence[InboxRow] = ()
    conflicts: Sequence[int] = ()

    @property
    def is_plain(self) -> bool:
        """Whether it is small and nothing about it needs a closer look: it may be approved among others."""
        return bool(self.change) and self.proposal.mergeability == Mergeability.CLEAN and not self.conflicts

    @property
    def seen(self) -> str:
        """Return what a decision among others names: the proposal, the revision, and the state if all is shown."""
        state = self.seen_sha256 if self.change else "-"
        return f"{self.proposal.pk}:{self.proposal.current_revision_number}:{state}"

    @property
    def ticks(self) -> str:
        """Return the value of its tick, for all that it stands for."""
        return " ".join(row.seen for row in self.together)

    @property
    def plain_ticks(self) -> str:
        return " ".join(row.seen for row in self.plain_together)

    @property
    def together(self) -> tuple[InboxRow, ...]:
        """Return the rows this one stands for."""
        return (self, *self.alike)

    @property
    def plain_together(self) -> tuple[InboxRow, ...]:
        """Return the rows this one stands for that are decided here: plain, and showing the very same change."""
        return tuple(row for row in self.together if row.is_plain and row.change == self.change)

    @property
    def odd_together(self) -> tuple[InboxRow, ...]:
        """Return the rows this one stands for that need a closer look for a reason that can be named."""
        plain = {row.proposal.pk for row in self.plain_together}
        return tuple(row for row in self.together if row.proposal.pk not in plain and row.why_not_plain)

    @property
    def why_not_plain(self) -> str:
        """Return in a few words what needs a closer look; empty where it is only that the change is large."""
        if self.conflicts:
            return _("conflicts with %s") % ", ".join(f"#{pk}" for pk in self.conflicts[:3])
        if self.proposal.mergeability != Mergeability.CLEAN:
            return str(Mergeability(self.proposal.mergeability).label)
        if self.proposal.risks:
            return str(risk_title(self.proposal.risks[0]))
        return _("proposed again") if self.proposal.review_reason == ReviewReason.REPEATED else ""


def rows_of(proposals: Iterable[Proposal], *, looking: bool = False, viewer: User | None = None) -> list[InboxRow]:
    """Return a row for each, with the whole change where it can be decided in the list.

    One query, and where several wait for one target, or one changed under a small change, a second: texts of revisions
    are read only there. What a decision on the row names as seen is the target as it is now.

    Args:
        looking: compare every proposal that may be decided here with its target as it is now, and write the answer
            into the instance. By default the stored mergeability is believed, which a worker may not have updated yet;
            deciding asks again.
        viewer: who reads the list, to mark what changed since they looked.
    """
    proposals = list(proposals)
    waiting = [each for each in proposals if each.status == Status.OPEN]
    fresh = [each for each in waiting if each.kind in _DECIDED_UNOPENED and each.current_revision_number == 1]
    plain = [each for each in fresh if not each.risks and each.review_reason != ReviewReason.REPEATED]
    stale = [each for each in plain if looking or each.mergeability == Mergeability.REBASABLE]
    contested = [each for each in waiting if getattr(each, "is_contested", True)]
    whole = _on_targets([*stale, *contested])
    revisions = {each.proposal_id: each for each in whole}
    # What becomes of one whose target cannot be read is not known: it is read on its page.
    standings = states_now([(each, revisions[each.pk]) for each in stale if each.pk in revisions])
    revisions |= _without_texts([each.pk for each in fresh if each.pk not in revisions])
    clean = {each.pk for each in plain if not looking and each.mergeability == Mergeability.CLEAN}
    asked, changed, conflicts = change_requests(proposals), _changed_since(proposals, viewer), conflicts_on_list(whole)
    rows = []
    for each in proposals:
        revision = revisions.get(each.pk)
        row = InboxRow(each)
        if revision and each.pk in clean | standings.keys():
            row = _row(each, revision, standings.get(each.pk))
        if revision and each.kind == Kind.EDIT and each.excerpt and not row.change:
            row.places = _places(revision.edits)
        row.request, row.is_changed_since, row.conflicts = asked.get(each.pk), each.pk in changed, conflicts[each.pk]
        rows.append(row)
    return rows


def _changed_since(proposals: Sequence[Proposal], viewer: User | None) -> set[int]:
    """Return the undecided ones of which the viewer has seen an earlier revision; one query, or none."""
    newer = {each.pk: each.current_revision_number for each in proposals if not each.is_decided}
    if viewer is None or max(newer.values(), default=1) == 1:
        return set()
    seen = Attention.objects.filter(person=viewer, proposal__in=newer, seen_revision__gt=0).order_by()
    return {pk for pk, number in seen.values_list("proposal_id", "seen_revision") if number < newer[pk]}


def with_contested(proposals: ProposalQuerySet) -> ProposalQuerySet:
    """Annotate whether another undecided proposal is about the same target; by default `rows_of` finds it out."""
    others = Proposal.objects.decidable().filter(
        owner=OuterRef("owner"), target_kind=OuterRef("target_kind"), target=OuterRef("target")
    )
    return proposals.annotate(is_contested=Exists(others.exclude(pk=OuterRef("pk"))))


def _without_texts(pks: Sequence[int]) -> dict[int, Revision]:
    """Return first revisions without their texts: the edit of a small change says all of it."""
    first = Revision.objects.filter(proposal__in=pks, number=1).order_by()
    found = first.only("proposal", "edits", "note_changes", "base_sha256") if pks else ()
    return {each.proposal_id: each for each in found}


def _on_targets(proposals: Sequence[Proposal]) -> list[Revision]:
    """Return the current revisions of all undecided proposals on the targets of these, with their texts."""
    targets = {_target(each) for each in proposals}
    if not targets:
        return []
    about = Proposal.objects.decidable().filter(
        owner__in={owner for owner, *_of in targets}, target__in={target for *_of, target in targets}
    )
    # By their ids: else the databases read every revision.
    current = Revision.objects.filter(proposal__in=about.values("pk"), number=F("proposal__current_revision_number"))
    found = current.select_related("proposal").defer("risk_report", "proposal__search_words").order_by("proposal_id")
    return [each for each in found if _target(each.proposal) in targets]


def _target(proposal: Proposal) -> tuple[str, str, str]:
    return proposal.owner, proposal.target_kind, proposal.target


def states_now(pairs: Sequence[tuple[Proposal, Revision]]) -> dict[int, TargetState]:
    """Return the targets as they are now, by proposal; without those in a database of the memory that does not
    answer."""
    states: dict[int, TargetState] = {}
    for owners in map(set, reads.by_database(proposal.owner for proposal, _revision in pairs).values()):
        some = [pair for pair in pairs if pair[0].owner in owners]
        numbers = [proposal.pk for proposal, _revision in some]
        try:
            states |= zip(numbers, current_states(some), strict=True)
        except DoltError:
            log.exception("targets_unreadable", proposals=numbers)
    return states


def _row(proposal: Proposal, revision: Revision, standing: TargetState | None) -> InboxRow:
    seen_sha256 = base_sha256(revision)
    if standing:
        assessment = standing.assess(revision)
        proposal.mergeability = assessment.state
        if not assessment.can_be_approved:
            return InboxRow(proposal)
        seen_sha256 = standing.sha256
    if not revision.note_changes:
        # Of an edit that fits exactly once, the words are the same on the text as it was and as it is now.
        return InboxRow(proposal, whole_change(revision.edits), seen_sha256=seen_sha256)
    of_note = NoteChange.from_json(revision.note_changes[0])
    change = whole_change_of_note(of_note.before, of_note.after)
    return InboxRow(proposal, change, seen_sha256=seen_sha256, note=of_note.after or of_note.before)


def _places(edits: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Return what the first edits replace and put there; none, where one is not short or does not say it."""
    some = edits[:MOST_PLACES]
    if not all(each.get("op") in _SAYS_ALL for each in some):
        return []
    places = [(each.get("old_string", ""), each.get("new_string", each.get("content", ""))) for each in some]
    return places if sum(len(old) + len(new) for old, new in places) <= ROW_CHARACTERS else []


def whole_change(edits: list[dict[str, Any]]) -> tuple[Segment, ...]:
    """Return the words a single small replacement changes, or a small addition adds; empty for every other edit.

    A change of white space or punctuation alone is easily overlooked in a list: it is read on its page.
    """
    if len(edits) != 1:
        return ()
    (edit,) = edits
    if edit.get("op") in _ADDING:
        old, new = "", edit["content"]
    elif edit.get("op") == "replace" and edit.get("occurrences") == 1:
        old, new = edit["old_string"], edit["new_string"]
    else:
        return ()
    if len(old) + len(new) > ROW_CHARACTERS:
        return ()
    return _reworded(old, new)


def whole_change_of_note(before: reads.Note | None, after: reads.Note | None) -> tuple[Segment, ...]:
    """Return the words of a short note that is made, reworded, superseded or deleted; empty for every other change.

    What takes the place of a superseded note is another note, which a list does not read: that one is read on
    its page. So is a change of more than the text, which takes a table.
    """
    if sum(map(_length, filter(None, (before, after)))) > ROW_CHARACTERS:
        return ()
    old, new = (note.content if note else "" for note in (before, after))
    if not (before and after):
        return _reworded(old, new)
    # Whose words a reworded note has follows from who proposes them, which the row says.
    same = replace(after, content=old, source=before.source, sha256=before.sha256, updated_at=before.updated_at)
    if same == before:
        return _reworded(old, new)
    marked = replace(same, superseded_at=None, superseded_reason=None)
    return compared_on_list(old, new) if marked == before and old == new else ()


def _reworded(old: str, new: str) -> tuple[Segment, ...]:
    """Return the change of a text; empty where no word changes, or where a row has no room for all of it."""
    segments = compared_on_list(old, new)
    is_wide = any(line.count("|") > MOST_BARS for line in f"{old}\n{new}".splitlines())
    return segments if any(worddiff.count_words(segments)) and not is_wide else ()


def _length(note: reads.Note) -> int:
    """Of everything in a note that was written for people or models to read, in characters."""
    beside = (note.rationale, note.category, note.superseded_reason)
    return len(note.content) + sum(len(text or "") for text in beside) + sum(map(len, note.tags))


def plain_among(proposals: ProposalQuerySet) -> ProposalQuerySet:
    """Narrow proposals to those whose rows may be plain, as far as columns tell."""
    fresh = proposals.filter(kind__in=_DECIDED_UNOPENED, current_revision_number=1)
    return fresh.filter(mergeability=Mergeability.CLEAN, risks=[]).exclude(review_reason=ReviewReason.REPEATED)


def gather(rows: Iterable[InboxRow], groups: Iterable[Sequence[int]], *, same: bool = False) -> list[InboxRow]:
    """Return the rows, those of one change for several people as one row, where the first of them stands.

    Args:
        groups: ids of proposals that make the same change.
        same: leave those as they are whose row does not show the very same.
    """
    left = {row.proposal.pk: row for row in rows}
    for group in groups:
        together = [left[pk] for pk in group if pk in left]
        for first in together[:1]:
            others = [row for row in together[1:] if not same or row.change == first.change]
            first.alike = [left.pop(row.proposal.pk) for row in others]
    return list(left.values())


# -- The same change for several people: proposals of one agent that are one decision, shown once.

#: Of a list, the first so many proposals are compared; each page of it compares the same ones.
MOST_COMPARED = 200

#: Edits that say themselves what they change. A new whole text or section does not say what it takes away, and the line
#: after which something is put differs from one person's block to another's.
_SAYS_ALL = frozenset({"replace", "append", "prepend"})

#: Of longer texts that are written anew, only the page of each says what changes: comparing thirty took 300 ms.
MOST_CHARACTERS = 4_000

#: People for whom one change is decided on one page.
MOST_ALIKE = 1_000

_COMPARED = ("owner", "agent", "kind", "target_kind", "target", "words_added", "words_removed", "result_sha256")


def compare(proposals: ProposalQuerySet, order: Order, most: int = MOST_COMPARED) -> tuple[list[int], list[list[int]]]:
    """Return the first open proposals of a list, and those of them that are one change for several people."""
    rows = list(order.sorted(proposals).only(*_COMPARED)[:most])
    return [row.pk for row in rows], same_changes(rows)


def alike_to(proposal: Proposal, proposals: ProposalQuerySet, order: Order) -> list[int]:
    """Return the open proposals that make the same change as `proposal`, itself first; with no other, only itself."""
    same = proposals.filter(agent=proposal.agent_id, kind=proposal.kind, target_kind=proposal.target_kind)
    if proposal.target_kind == TargetKind.BLOCK:
        same = same.filter(target=proposal.target)
    group = next((group for group in compare(same, order, MOST_ALIKE)[1] if proposal.pk in group), [])
    return [proposal.pk, *(pk for pk in group if pk != proposal.pk)]


def same_changes(rows: Sequence[Proposal]) -> list[list[int]]:
    """Return the ids of those that make the same change for several people, in the order of the rows."""
    by_look: defaultdict[Hashable, list[Proposal]] = defaultdict(list)
    for row in rows:
        if (look := _look(row)) is not None:
            by_look[look].append(row)
    candidates = [some for some in by_look.values() if len({row.owner for row in some}) > 1]
    changes = _changes([row.pk for some in candidates for row in some]) if candidates else {}
    groups = []
    for some in candidates:
        by_change: defaultdict[str, dict[str, int]] = defaultdict(dict)
        for row in some:
            if row.pk in changes:  # of one person each: two equal ones of one agent wait for different reasons
                by_change[changes[row.pk]].setdefault(row.owner, row.pk)
        groups += [list(same.values())[:MOST_ALIKE] for same in by_change.values() if len(same) > 1]
    return groups


def _look(row: Proposal) -> Hashable | None:
    """Return what equal changes have in common, as far as lists know it; None for what is never shown once."""
    if row.kind == Kind.DELETE_BLOCK:
        return None  # a text goes as a whole: each is read before
    if row.kind == Kind.CREATE_BLOCK:
        return row.agent_id, row.kind, row.target, row.result_sha256
    if row.target_kind == TargetKind.BLOCK:
        return row.agent_id, row.kind, row.target, row.words_added, row.words_removed
    return (row.agent_id, row.kind, row.result_sha256) if row.kind == Kind.SAVE else None


def _changes(pks: Sequence[int]) -> dict[int, str]:
    """Return each proposal's change as one text, equal for equal changes; without those too long to compare here.

    That of a note has no edits: what it says is in its look already.
    """
    current = Revision.objects.filter(number=F("proposal__current_revision_number"))
    revisions = current.filter(proposal__in=pks).order_by()
    said: dict[int, str] = {}
    rewritten: list[int] = []
    for pk, edits in revisions.values_list("proposal_id", "edits"):
        if any(each.get("op") not in _SAYS_ALL for each in edits):
            rewritten.append(pk)
        else:
            said[pk] = repr([sorted(each.items()) for each in edits])
    for pk, before, after in revisions.filter(proposal__in=rewritten).values_list(
        "proposal_id", "base_text", "result_text"
    ):
        if max(len(before), len(after)) <= MOST_CHARACTERS:
            said[pk] = changed_words(before, after)
    return said


# -- The same change for several people, decided on one page: for whom it can be approved as it is drawn once, and what
# is different about the others.


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
