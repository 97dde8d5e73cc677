"""The strip of a block's changes: which versions have a bar, how high each is, and where it leads."""

from datetime import UTC, datetime, timedelta

import pytest

from approvals import services
from approvals.models import User
from approvals.pages.versions import MOST_BARS, ChangeBy, strip_of
from memory_app import reads
from memory_app.models import Change
from memory_app.reads import Block
from memory_app.reads.blame import BlockBlame, blame_of_block
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


@pytest.mark.parametrize(
    ("versions", "looked_at", "numbers"),
    [
        (1, 1, (1, 1)),
        (MOST_BARS, 2, (1, MOST_BARS)),
        (500, 500, (461, 500)),
        (500, 300, (280, 319)),
        (500, 3, (1, MOST_BARS)),
    ],
)
def test_the_last_versions_have_bars_or_those_around_the_one_looked_at(
    versions: int, looked_at: int, numbers: tuple[int, int]
) -> None:
    bars = strip_of(history_of([3] * versions), shown=f"{looked_at - 1:040d}")
    assert (bars[0].number, bars[-1].number) == numbers
    assert [bar.number for bar in bars if bar.is_current] == [looked_at]
    assert bars[-1].entry.previous == (f"{numbers[1] - 2:040d}" if versions > 1 else "")


def test_a_bar_leads_to_its_version_or_to_the_comparison_whose_ends_are_marked() -> None:
    assert strip_of(history_of([1] * 3))[1].href == f"?v={1:040d}#version"
    picking = strip_of(history_of([1] * 3), picked=f"{1:040d}")
    assert picking[0].href == f"?a={0:040d}&b={1:040d}#comparison"
    assert picking[2].href == f"?a={1:040d}&b={2:040d}#comparison"
    assert [bar.end for bar in strip_of(history_of([1] * 4), ends=(f"{0:040d}", f"{2:040d}"))] == ["a", "", "b", ""]


def test_more_words_make_a_higher_bar_none_a_flat_one_and_no_version_has_none() -> None:
    heights = [bar.above for bar in strip_of(history_of([2_000, 2, 40, 0]))]
    assert heights[0] > heights[2] > heights[1] > 3
    assert heights[3] == 0
    assert [bar.above for bar in strip_of(history_of([0, 0]))] == [0, 0]
    assert strip_of(history_of([])) == []


def test_bars_tell_whose_a_change_is_and_count_its_words(
    alice: User, tim: User, goals: Block, propose: Propose
) -> None:
    approve(tim, propose(goals, "in June", "in July"))
    edit(alice, "goals", "one book", "two long books")
    services.delete_block(actor=alice, owner="alice", label="goals", loaded_sha256=reads.block("alice", "goals").sha256)
    bars = strip_of(blame_of_block("alice", "goals"))
    assert [bar.by for bar in bars] == [ChangeBy.PERSON, ChangeBy.AGENT, ChangeBy.PERSON, ChangeBy.PERSON]
    assert [(bar.words.added, bar.words.removed) for bar in bars[1:3]] == [(1, 1), (3, 2)]
    assert bars[3].words.added == 0
    assert bars[3].words.removed > 10


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
