"""The words a proposal is found by: all of its change, and of nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.review.summary import search_words, wanted_words
from memory_app.text import worddiff

pytestmark = pytest.mark.pure


def found(before: str, after: str, *said: str) -> set[str]:
    return set(search_words(worddiff.diff(before, after), (), *said).split())


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("She reads in June.", "She reads in July.", {"june.", "july."}),
        ("At 9:45 on Monday", "At 9:50 on Monday", {"9:45", "9:50"}),
        ("one two three", "one three", {"two"}),
        ("", "Straße ÜBUNG", {"strasse", "ubung"}),
        ("a b", "a b", set()),
        ("ab", "a b", {"ab", "a", "b"}),
        ("the exam\n\nthe end", "the end", {"the", "exam"}),
    ],
)
def test_whole_words_that_change_are_kept_folded(before: str, after: str, words: set[str]) -> None:
    assert found(before, after) == words


def test_what_is_said_beside_the_change_and_the_words_of_an_excerpt_are_kept_too_and_not_their_kinds() -> None:
    assert found("", "", "The exam was moved.", "goals") == {"the", "exam", "was", "moved.", "goals"}
    assert search_words((), [["same", "in"], ["removed", "June"], ["gap", "…"]]).split() == ["in", "june", "..."]


def test_each_word_of_a_long_text_is_there_once() -> None:
    text = " ".join(f"word{number}" for number in range(5_000))
    words = search_words(worddiff.diff("", f"{text} {text}"), ()).split()
    assert len(words) == len(set(words)) == 5_000


@given(st.text("ab :\n", max_size=30), st.text("ab :\n", max_size=30))
def test_every_part_of_a_removed_or_added_text_is_in_one_of_the_words(before: str, after: str) -> None:
    segments = worddiff.diff(before, after)
    words = search_words(segments, ()).split()
    for segment in segments:
        if segment.kind != "same":
            assert all(any(part in word for word in words) for part in segment.text.split())


@given(st.text("ab \n", max_size=30), st.text("ab \n", max_size=30))
def test_no_word_is_made_up(before: str, after: str) -> None:
    assert found(before, after) <= set(before.split()) | set(after.split())


def test_a_query_is_folded_as_the_words_are() -> None:
    assert wanted_words(" Übung\tübung STRASSE ") == ["ubung", "strasse"]
