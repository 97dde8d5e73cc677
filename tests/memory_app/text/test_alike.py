"""The same said again has the fingerprint of what was rejected; whatever differs by a word has another."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_app.text import alike, worddiff

pytestmark = pytest.mark.pure

SECRET = b"a secret of this installation"
GOALS = "# Goals\n\nShe likes math.\nShe wants to pass the exam in June.\n\n- one book a month\n"


def key(text: str, *, before: str = "", target: str = "goals", secret: bytes = SECRET) -> int:
    return alike.fingerprint(alike.said(target, before, text).words, secret)


@pytest.mark.parametrize(
    "again",
    ["she rows, on sundays", "- She rows\n  on **Sundays**!", "“She rows on Sundays.”", "# She rows on Sundays"],
)
def test_case_punctuation_and_layout_change_nothing(again: str) -> None:
    assert key(again) == key("She rows on Sundays.")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("She rows on Sundays.", "She never rows on Sundays."),
        ("She has 2 cats and 3 dogs.", "She has 3 cats and 2 dogs."),
        ("Alice teaches Ben.", "Ben teaches Alice."),
        ("She lives in Graz.", "She lived in Graz."),
        ("She writes C.", "She writes C++."),
        ("It is 3 degrees.", "It is -3 degrees."),
        ("She is ill.", "She is seriously ill."),
        ("你喜欢茶。", "你不喜欢茶。"),
        (":)", ":("),
    ],
)
def test_another_statement_is_another(one: str, other: str) -> None:
    assert key(one) != key(other)


def test_only_what_a_change_adds_counts_wherever_it_stands() -> None:
    rejected = key(GOALS.replace("math.", "math. She rows on Sundays."), before=GOALS)
    assert key(f"{GOALS}- she rows on Sundays\n", before=GOALS) == rejected
    assert key(f"{GOALS}- she sails on Sundays\n", before=GOALS) != rejected
    assert key(f"{GOALS}- she rows on Sundays\n", before=GOALS, target="student") != rejected


def test_a_removal_counts_only_where_nothing_is_added() -> None:
    less = GOALS.replace("She likes math.\n", "")
    assert key(less.replace("one book", "one  book"), before=GOALS) == key(less, before=GOALS)
    assert key(f"{less}- she likes math\n", before=less) != key(less, before=GOALS)
    assert key(GOALS.replace("likes math", "loves physics"), before=GOALS) != key(less, before=GOALS)


def test_moving_and_formatting_are_the_same_with_the_same_result_only() -> None:
    moved = "\n".join(reversed(GOALS.split("\n")))
    assert key(moved, before=GOALS) == key(moved.replace(" ", "  "), before=GOALS)
    assert key(moved, before=GOALS) != key(GOALS.replace("- one", "* one"), before=GOALS)


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_change_has_a_key_that_takes_the_secret(before: str, after: str) -> None:
    assert key(after, before=before) == key(after, before=before)
    assert key(after, before=before) != key(after, before=before, secret=b"another secret of the same length")


def test_a_hundred_thousand_characters_are_read_in_a_second() -> None:
    text = " ".join(f"She rows on day {number} of the long summer." for number in range(2_500))
    began = time.perf_counter()
    key(text)
    assert time.perf_counter() - began < 1


def test_changes_of_one_line_are_about_the_same_matter_and_so_are_like_additions() -> None:
    edited, rowing = worddiff.diff(GOALS, GOALS.replace("math", "physics")), said("She rows on the lake every Sunday.")
    assert alike.are_alike(edited, worddiff.diff(GOALS, GOALS.replace("likes", "loves")))
    assert not alike.are_alike(edited, worddiff.diff(GOALS, GOALS.replace("June", "July")))
    assert alike.are_alike(rowing, said("Every Sunday the lake is where she rows."))
    assert not alike.are_alike(rowing, said("Her brother is called Max."))


def said(text: str) -> tuple[worddiff.Segment, ...]:
    return worddiff.diff("", text)


@given(st.sampled_from(["abcdefgh", "茶食飲猫犬本a"]), st.integers(0, 60), st.data())
def test_what_differs_in_one_word_is_looked_up_by_something_in_common(
    letters: str, at: int, data: st.DataObject
) -> None:
    words = data.draw(st.lists(st.sampled_from(letters), min_size=6, max_size=58))
    longest = 1 + (letters[0] == "茶")
    put_in = data.draw(st.lists(st.sampled_from(letters), max_size=longest))
    at, by = at % len(words), data.draw(st.integers(0, longest))
    said = [" ".join(words), " ".join([*words[:at], *put_in, *words[at + by :]])]
    are_near = not alike.near_forms(said[0]).isdisjoint(alike.near_forms(said[1]))
    for one, other in (said, reversed(said)) if are_near else ():
        assert not set(alike.near_keys(one)).isdisjoint(alike.near_keys(other, is_sought=True))


def test_notes_that_begin_alike_are_not_looked_up_together() -> None:
    """Comparing a new note with 10,000 that begin "the user" took 39 ms."""
    begun = [f"the user likes {a}{b} {b}{a} {b}" for a in "abc" for b in "xyz"]
    keys = [{*alike.near_keys(said)} for said in begun]
    assert sum(map(len, keys)) == len(set().union(*keys))
