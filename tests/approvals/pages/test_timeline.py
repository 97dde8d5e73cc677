"""The strip of a block's changes: which versions share a bar, how high each is, and where it leads."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from approvals import services
from approvals.models import Approval, Proposal, User
from approvals.pages.versions import MOST_BARS, NARROWEST, ChangeBy, Strip, StripChoice, strip_of, window_of
from memory_app import reads
from memory_app.models import Change
from memory_app.reads import Block, BlockBlame
from memory_app.text.blame import WordCount
from tests.support.acts import approve, edit
from tests.support.fixtures import Propose

START = datetime(2026, 1, 1, 12, tzinfo=UTC)


def history_of(words: list[int]) -> BlockBlame:
    """Versions that added so many words each, one a day."""
    changes = tuple(
        Change(commit=f"{number:040d}", owner="alice", target="goals", action="edited", at=START + timedelta(number))
        for number in range(len(words))
    )
    return BlockBlame("alice", "goals", changes, "", (), tuple(WordCount(number, 0) for number in words))


def strip(found: BlockBlame, choice: StripChoice | None = None) -> Strip:
    made = strip_of(found, choice or StripChoice())
    assert made is not None
    return made


@pytest.mark.parametrize("versions", [1, 2, MOST_BARS, MOST_BARS + 1, 500, 5_000])
def test_all_versions_are_in_few_bars_in_order(versions: int) -> None:
    made = strip(history_of([3] * versions))
    assert len(made.bars) <= MOST_BARS
    assert [made.bars[0].first, made.bars[-1].last] == [1, versions]
    assert all(bar.first == before.last + 1 for before, bar in zip(made.bars, made.bars[1:], strict=False))
    assert sum(bar.count for bar in made.bars) == versions
    assert {bar.count for bar in made.bars[1:]} <= {made.bars[-1].count}
    assert min(bar.width for bar in made.bars) >= NARROWEST


def test_a_bar_of_one_leads_to_its_version_and_one_of_several_to_a_strip_of_them() -> None:
    made = strip(history_of([1] * 3))
    assert made.bars[1].href == f"?v={1:040d}#version"
    many = strip(history_of([1] * 100))
    assert many.bars[-1].href == "?strip=98-100#strip"
    part = strip(history_of([1] * 100), StripChoice(window=(98, 100)))
    assert (part.first, part.last, part.is_part) == (98, 100, True)
    assert part.bars[0].href == f"?v={97:040d}&strip=98-100#version"


def test_picked_first_a_bar_leads_to_the_comparison_from_the_older_to_the_newer() -> None:
    made = strip(history_of([1] * 3), StripChoice(picked=f"{1:040d}"))
    assert made.is_picking
    assert made.bars[0].href == f"?a={0:040d}&b={1:040d}#comparison"
    assert made.bars[2].href == f"?a={1:040d}&b={2:040d}#comparison"


def test_both_ends_of_a_comparison_are_marked() -> None:
    made = strip(history_of([1] * 4), StripChoice(ends=(f"{0:040d}", f"{2:040d}")))
    assert [bar.end for bar in made.bars] == ["a", "", "b", ""]
    assert made.between == (made.bars[0].middle, made.bars[2].middle - made.bars[0].middle)


def test_more_words_make_a_higher_bar_and_none_a_flat_one() -> None:
    made = strip(history_of([2_000, 2, 40, 0]))
    heights = [bar.parts[0].above for bar in made.bars]
    assert heights[0] > heights[2] > heights[1] > 3
    assert heights[3] == 0
    assert all(bar.top >= 0 for bar in made.bars)


@pytest.mark.parametrize("words", [[0], [0, 0]])
def test_a_block_without_words_has_a_strip(words: list[int]) -> None:
    assert [bar.parts[0].above for bar in strip(history_of(words)).bars] == [0] * len(words)


@pytest.mark.pure
@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("2-9", (2, 9)),
        ("3-3", (3, 3)),
        *((bad, None) for bad in ("", "9-2", "0-3", "-", "1-", "a-b", "1-9999999", "١-٢")),
    ],
)
def test_a_window_is_two_numbers(text: str, window: tuple[int, int] | None) -> None:
    assert window_of(text) == window


def test_a_window_beyond_the_last_version_is_cut_or_ignored() -> None:
    assert strip(history_of([1] * 5), StripChoice(window=(4, 99))).last == 5
    assert strip(history_of([1] * 5), StripChoice(window=(40, 99))).first == 1


def test_a_block_that_never_was_has_none() -> None:
    assert strip_of(history_of([]), StripChoice()) is None


def test_bars_tell_whose_a_change_is_and_count_its_words(
    alice: User, tim: User, goals: Block, propose: Propose
) -> None:
    approve(tim, propose(goals, "in June", "in July"))
    edit(alice, "goals", "one book", "two long books")
    services.delete_block(actor=alice, owner="alice", label="goals", loaded_sha256=reads.block("alice", "goals").sha256)
    made = strip(reads.blame_of_block("alice", "goals"))
    assert [bar.by for bar in made.bars] == [ChangeBy.PERSON, ChangeBy.AGENT, ChangeBy.PERSON, ChangeBy.PERSON]
    assert made.kinds == (ChangeBy.PERSON, ChangeBy.AGENT)
    assert [(bar.words.added, bar.words.removed) for bar in made.bars[1:3]] == [(1, 1), (3, 2)]
    assert made.bars[3].words.added == 0
    assert made.bars[3].words.removed > 10


def test_what_was_approved_as_proposed_has_the_numbers_of_its_proposal(
    alice: User, tim: User, goals: Block, propose: Propose
) -> None:
    proposal = approve(tim, propose(goals, "in June", "in July"))
    Proposal.objects.filter(pk=proposal.pk).update(words_added=7, words_removed=5)
    found = reads.blame_of_block("alice", "goals")
    assert strip(found).bars[1].words == WordCount(7, 5)
    Proposal.objects.filter(pk=proposal.pk).update(approval=Approval.EDITED)
    assert strip(found).bars[1].words == WordCount(1, 1)


@pytest.mark.pure
@pytest.mark.parametrize(
    ("action", "by"),
    [
        ("approved", "agent"),
        ("applied", "automatic"),
        ("recovered", "unknown"),
        ("reverted", "person"),
        ("edited", "person"),
    ],
)
def test_a_change_is_a_persons_an_agents_automatic_or_unknown(action: str, by: str) -> None:
    assert ChangeBy.of(Change(action=action)) == by
    assert ChangeBy.of(None) == ChangeBy.UNKNOWN
