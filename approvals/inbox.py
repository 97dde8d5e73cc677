"""What the inbox shows: counts for its tabs, pages by key, rows grouped by target.

Queries only, and only on `default`: a list never reads the memory, however many proposals wait (its rows
carry an excerpt of their change). Deciding is `services`, narrowing the list is `filters`, HTTP is `views.inbox`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import Count, Max, Q

from approvals.filters import Filters, Tab
from approvals.models import (
    DECIDED,
    Kind,
    Mergeability,
    Proposal,
    ProposalQuerySet,
    Revision,
    Status,
    User,
)
from approvals.permissions import proposals_visible_to
from approvals.targets import base_sha256
from memory_app import worddiff
from memory_app.recall import Note
from memory_app.worddiff import Segment

PAGE_SIZE = 25

#: An edit of more characters, old and new text together, is read on its own page before it is decided.
ROW_CHARACTERS = 400


#: Kinds whose whole change a row can show, when it is small.
_DECIDED_UNOPENED = (Kind.EDIT, Kind.SAVE, Kind.UPDATE, Kind.DELETE, Kind.FORGET)

#: Which states each tab holds. Nothing yet hands an open proposal back to its agent, so nothing is theirs.
STATUSES: Mapping[Tab, tuple[Status, ...]] = {
    Tab.YOURS: (Status.OPEN,),
    Tab.AGENT: (),
    Tab.DECIDED: DECIDED,
}


_EPOCH = datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True)
class Key:
    """Where a row stands in the list: its time, then its id. Pages continue from it, not from a row number."""

    at: datetime
    pk: int

    def __str__(self) -> str:
        return f"{(self.at - _EPOCH) // timedelta(microseconds=1)}-{self.pk}"

    @classmethod
    def parse(cls, text: str) -> Key | None:
        """None for what is not a key, which the address bar may well hold."""
        microseconds, _dash, pk = text.rpartition("-")
        digits = microseconds.removeprefix("-")  # what agents hand in may be older than 1970
        if not (digits.isascii() and digits.isdigit() and pk.isascii() and pk.isdigit()):
            return None
        if len(digits) > 16 or len(pk) > 18:
            return None
        return cls(at=_EPOCH + timedelta(microseconds=int(microseconds)), pk=int(pk))


@dataclass(frozen=True)
class Row:
    """One proposal in the list.

    Args:
        change: all of the change, for one that is small, applies as it is and has nothing about it that
            needs a closer look: it can be decided here. Empty for the others, which show their excerpt.
        seen_sha256: the state of the target that `change` was made against; a decision on the row names it.
        note: for a change of a note that can be decided here, the note with its other fields: as it would be,
            or the one that would be deleted.
    """

    proposal: Proposal
    change: tuple[Segment, ...] = ()
    seen_sha256: str = ""
    note: Note | None = None


@dataclass(frozen=True)
class Group:
    """The rows of one target on this page; `total` counts those on other pages too."""

    owner: str
    target_kind: str
    target: str
    title: str
    rows: tuple[Row, ...]
    total: int


@dataclass(frozen=True)
class Page:
    """A page of the list; `older` and `newer` are empty where it ends."""

    groups: tuple[Group, ...]
    newest: str
    older: str
    newer: str

    @property
    def is_empty(self) -> bool:
        return not self.groups


def counts(proposals: ProposalQuerySet) -> dict[Tab, int]:
    """How many of `proposals` each tab holds, in one query over an index."""
    by_status = dict(proposals.order_by().values_list("status").annotate(Count("pk")))
    return {tab: sum(by_status.get(status, 0) for status in statuses) for tab, statuses in STATUSES.items()}


def waiting_for(user: User) -> int:
    """How many proposals wait for this person's decision."""
    return proposals_visible_to(user).filter(status__in=STATUSES[Tab.YOURS]).count()


def listed(proposals: ProposalQuerySet, tab: Tab, filters: Filters) -> ProposalQuerySet:
    """Those of `proposals` that a tab holds and the filters let through, in no order."""
    return filters.apply(proposals.filter(status__in=STATUSES[tab]), tab)


def page(proposals: ProposalQuerySet, tab: Tab, *, before: Key | None = None, after: Key | None = None) -> Page:
    """Twenty-five of `proposals`, newest first, below `before` or above `after`."""
    column = _column(tab)
    # Of several owners the index gives the ids in no order: ids are sorted in 2 ms, 10,000 whole rows took 25.
    if after:
        ids = _ids(_above(proposals, column, after).order_by(column, "id"))
        more_above, more_below = len(ids) > PAGE_SIZE, True
        ids = ids[:PAGE_SIZE][::-1]
    else:
        ids = _ids((_below(proposals, column, before) if before else proposals).order_by(f"-{column}", "-id"))
        more_above, more_below = before is not None, len(ids) > PAGE_SIZE
        ids = ids[:PAGE_SIZE]
    rows = Proposal.objects.select_related("agent", "decided_by").in_bulk(ids)
    found = [rows[pk] for pk in ids if pk in rows]
    if not found:
        return Page(groups=(), newest="", older="", newer="")
    totals = _totals(proposals, found) if more_above or more_below else {}
    newest, oldest = _key(found[0], column), _key(found[-1], column)
    return Page(
        groups=_grouped(found, totals),
        newest=newest,
        older=oldest if more_below else "",
        newer=newest if more_above else "",
    )


def arrived(proposals: ProposalQuerySet, tab: Tab, since: Key) -> int:
    """How many of `proposals` came after the newest the reader has."""
    return _above(proposals, _column(tab), since).count()


def next_for(user: User, after: Proposal) -> Proposal | None:
    """The proposal to look at once `after` is decided: the one below it in the queue, else the first."""
    queue = proposals_visible_to(user).open().exclude(pk=after.pk).order_by("-created_at", "-id")
    return _below(queue, "created_at", Key(after.created_at, after.pk)).first() or queue.first()


def last_decisions(proposals: ProposalQuerySet) -> list[Proposal]:
    """What was decided last, for the page that says nothing waits."""
    return list(proposals.decided().select_related("agent", "decided_by").order_by("-decided_at", "-id")[:3])


def titles_of_targets(proposals: ProposalQuerySet, most: int) -> dict[str, str]:
    """What the targets of `proposals` are called, by label, as their newest proposal has it; the first `most`."""
    # In two steps, of which the first is answered by an index, for any number of proposals.
    newest = proposals.order_by("target").values_list("target").annotate(Max("pk"))[:most]
    titles = Proposal.objects.filter(pk__in=[pk for _target, pk in newest]).values_list("target", "target_title")
    return dict(titles.order_by("target_title"))


def names_of(usernames: set[str]) -> dict[str, str]:
    """What people are called, by username, in one query."""
    return {person.username: person.display_name for person in User.objects.filter(username__in=usernames)}


def _ids(proposals: ProposalQuerySet) -> list[int]:
    return list(proposals.values_list("pk", flat=True)[: PAGE_SIZE + 1])


def _column(tab: Tab) -> str:
    return "decided_at" if tab is Tab.DECIDED else "created_at"


def _below(proposals: ProposalQuerySet, column: str, key: Key) -> ProposalQuerySet:
    # The first condition is implied by the others; it lets the index find the place.
    at = {f"{column}__lte": key.at}
    return proposals.filter(**at).exclude(Q(**{column: key.at}) & Q(pk__gte=key.pk))


def _above(proposals: ProposalQuerySet, column: str, key: Key) -> ProposalQuerySet:
    at = {f"{column}__gte": key.at}
    return proposals.filter(**at).exclude(Q(**{column: key.at}) & Q(pk__lte=key.pk))


def _key(proposal: Proposal, column: str) -> str:
    return str(Key(getattr(proposal, column), proposal.pk))


def _totals(proposals: ProposalQuerySet, found: list[Proposal]) -> dict[tuple[str, str], int]:
    # Two lists rather than pairs: the index over owner, target and status then answers alone. Pairs that
    # are not on the page are counted too and not asked for.
    on_page = proposals.filter(owner__in={row.owner for row in found}, target__in={row.target for row in found})
    counted = on_page.order_by().values_list("owner", "target").annotate(Count("pk"))
    return {(owner, target): n for owner, target, n in counted}


def _grouped(found: list[Proposal], totals: dict[tuple[str, str], int]) -> tuple[Group, ...]:
    by_target: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows_of(found):
        by_target.setdefault((row.proposal.owner, row.proposal.target_kind, row.proposal.target), []).append(row)
    return tuple(
        Group(
            owner=key[0],
            target_kind=key[1],
            target=key[2],
            # A redacted one has the label or the id only.
            title=next((row for row in rows if not row.proposal.is_redacted), rows[0]).proposal.target_title,
            rows=tuple(rows),
            total=max(totals.get((key[0], key[2]), 0), len(rows)),
        )
        for key, rows in by_target.items()
    )


def rows_of(proposals: Iterable[Proposal]) -> list[Row]:
    """A row for each, with the whole change where it can be decided in the list; one query in all."""
    proposals = list(proposals)
    candidates = [proposal.pk for proposal in proposals if _may_be_decided_unopened(proposal)]
    # Texts of blocks stay where they are: the edit of a small change says all of it, and names what it was made on.
    small = (
        Revision.objects.filter(proposal__in=candidates, number=1)
        .order_by()
        .only("proposal_id", "edits", "note_changes", "base_sha256")
    )
    revisions = {revision.proposal_id: revision for revision in small}
    return [_row(proposal, revisions.get(proposal.pk)) for proposal in proposals]


def _row(proposal: Proposal, revision: Revision | None) -> Row:
    if revision is None:
        return Row(proposal)
    if not revision.note_changes:
        change, note = whole_change(revision.edits), None
    elif len(revision.note_changes) == 1:
        before, after = _notes(revision.note_changes[0])
        change, note = whole_change_of_note(before, after), after or before
    else:
        return Row(proposal)
    return Row(proposal, change, base_sha256(revision), note) if change else Row(proposal)


def whole_change(edits: list[dict[str, Any]]) -> tuple[Segment, ...]:
    """The words a single small replacement changes; empty for every other edit.

    A change of white space or punctuation alone is easily overlooked in a list: it is read on its page.
    """
    if len(edits) != 1 or edits[0].get("op") != "replace" or edits[0].get("occurrences") != 1:
        return ()
    old, new = edits[0]["old_string"], edits[0]["new_string"]
    if len(old) + len(new) > ROW_CHARACTERS:
        return ()
    segments = worddiff.diff(old, new)
    return segments if any(worddiff.count_words(segments)) else ()


def whole_change_of_note(before: Note | None, after: Note | None) -> tuple[Segment, ...]:
    """The words of a short note that is made, reworded, superseded or deleted; empty for every other change.

    What takes the place of a superseded note is another note, which a list does not read: that one is read on
    its page. So is a change of more than the text, which takes a table.
    """
    said = (before, after)
    if sum(map(_length, filter(None, said))) > ROW_CHARACTERS:
        return ()
    segments = worddiff.diff(*(note.content if note else "" for note in said))
    if not (before and after):
        return segments if any(worddiff.count_words(segments)) else ()
    # Whose words a reworded note has follows from who proposes them, which the row says.
    same = replace(
        after, content=before.content, source=before.source, sha256=before.sha256, updated_at=before.updated_at
    )
    if same == before:
        return segments if any(worddiff.count_words(segments)) else ()
    marked = replace(same, superseded_at=None, superseded_reason=None)
    return segments if marked == before and after.content == before.content else ()


def _length(note: Note) -> int:
    """Of everything in a note that was written for people or models to read, in characters."""
    beside = (note.rationale, note.category, note.superseded_reason)
    return len(note.content) + sum(len(text or "") for text in beside) + sum(map(len, note.tags))


def _notes(change: dict[str, Any]) -> tuple[Note | None, Note | None]:
    before, after = change["before"], change["after"]
    return Note.from_json(before) if before else None, Note.from_json(after) if after else None


def _may_be_decided_unopened(proposal: Proposal) -> bool:
    return (
        proposal.status == Status.OPEN
        and proposal.mergeability == Mergeability.CLEAN
        and proposal.kind in _DECIDED_UNOPENED
        and proposal.revision == 1
        and not proposal.risks
    )
