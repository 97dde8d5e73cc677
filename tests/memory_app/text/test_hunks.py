"""Changes one by one: all of them make the new text, none leaves the old one, and each has a name that stays."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_app.text.worddiff import UnknownHunk, apply_some, diff, hunk_numbers, hunks, redlined
from tests.memory_app.text.marked import changes, versions

pytestmark = pytest.mark.pure

LINES = ("one two", "four five", "- item", "- other item", "  - inner", "# Head", "| a | b |", "", "1. first", "é")
lines = st.lists(st.sampled_from(LINES), max_size=12)
texts = st.tuples(lines, st.sampled_from(("\n", "\r\n")), st.booleans()).map(
    lambda drawn: drawn[1].join(drawn[0]) + drawn[1] * drawn[2]
) | st.text("ab \n\r", max_size=20)


def pairs(before: str, after: str) -> list[tuple[str, str]]:
    return [(hunk.before, hunk.after) for hunk in hunks(before, after)]


@given(before=texts, after=texts, data=st.data())
def test_all_hunks_make_the_text_after_none_leaves_the_text_before_and_each_is_done_by_itself(
    before: str, after: str, data: st.DataObject
) -> None:
    found = hunks(before, after)
    ids = [hunk.id for hunk in found]
    assert apply_some(before, after, ids) == after
    assert apply_some(before, after, []) == before
    assert len(set(ids)) == len(ids)
    assert bool(ids) == (before != after)
    taken = data.draw(st.sets(st.sampled_from(ids))) if ids else set()
    half = apply_some(before, after, taken)
    for hunk in found:
        assert (hunk.after if hunk.id in taken else hunk.before).rstrip("\r\n") in half


@given(before=texts, after=texts)
def test_hunks_say_on_which_lines_they_are(before: str, after: str) -> None:
    for number, hunk in enumerate(hunks(before, after), 1):
        assert hunk.number == number
        for text, part, line in (
            (before, hunk.before, hunk.before_line),
            (after, hunk.after, hunk.after_line),
        ):
            assert "\n".join(text.split("\n")[line - 1 :]).startswith(part.rstrip("\r\n"))


@given(before=texts, after=texts)
def test_the_redline_numbers_as_many(before: str, after: str) -> None:
    items = redlined(diff(before, after))
    numbers = hunk_numbers(items)
    assert max(numbers, default=0) == len(hunks(before, after))
    assert [bool(number) for number in numbers] == [item.changed for item in items]


@pytest.mark.parametrize(
    "expected",
    [
        pytest.param("[-- a\n-]{+- a one\n+}[-- b\n-]{+- b two\n+}- c\n", id="items beside each other"),
        pytest.param("a\n{+- b\n+}{+- c\n+}", id="new items"),
        pytest.param("- a\n{+- b\n  - c\n+}{+- d\n+}", id="an item with its own"),
        pytest.param("x\n{+\n## New\n\n- a\n- b\n+}", id="a section with its heading"),
        pytest.param("x\n\n{+one\n\n+}{+two\n\n+}y\n", id="paragraphs apart by a blank line"),
        pytest.param("[-1. a\n2. b\n-]{+1. new\n2. a\n3. b\n+}", id="a numbered list"),
        pytest.param("[-| a |\n| - |\n| 1 |\n-]{+| a | b |\n| - | - |\n| 1 | 2 |\n+}", id="a new column"),
        pytest.param("| a |\n| - |\n| 1 |\n{+| 2 |\n+}{+| 3 |\n+}", id="new rows"),
        pytest.param("[-one -]{+one\n+}two\n", id="a line cut in two"),
        pytest.param(
            "[-Alice wants to pass the algebra exam in June, and reads on the\n"
            "train to the school in the town nearby where her aunt lives with\ntwo cats.\n-]"
            "{+Alice wants to pass the geometry exam in June, and reads on the\n"
            "train to the college in the town nearby where her aunt lives with\nthree cats.\n+}",
            id="a paragraph wrapped by hand",
        ),
    ],
)
def test_a_hunk_is_what_one_decides_about_at_once(expected: str) -> None:
    assert pairs(*versions(expected)) == changes(expected)


def test_a_last_line_without_an_end_has_one_in_its_hunk() -> None:
    assert pairs("a\n- b", "a\n- b\n- c\n- d") == [("", "- c\n"), ("", "- d\n")]
    assert pairs("a\r\n- b\r\n- c", "a\r\n- b") == [("- c\r\n", "")]


def test_some_of_the_hunks_are_applied() -> None:
    before, after = "- a\n- b\n- c", "- a!\n- b\n- c?\n- d\n- e"
    first, second, third, fourth = (hunk.id for hunk in hunks(before, after))
    assert apply_some(before, after, {first}) == "- a!\n- b\n- c"
    assert apply_some(before, after, {second, fourth}) == "- a\n- b\n- c?\n- e"
    assert apply_some(before, after, {third}) == "- a\n- b\n- c\n- d"


def test_a_hunk_keeps_its_name_when_the_text_around_it_changes() -> None:
    [alone] = hunks("# Likes\n\n- tea\n", "# Likes\n\n- coffee\n")
    *_, later = hunks("one\n\n# Likes\n\n- tea\n", "two\nthree\n\n# Likes\n\n- coffee\n")
    [elsewhere] = hunks("# Dislikes\n\n- tea\n", "# Dislikes\n\n- coffee\n")
    assert alone.id == later.id != elsewhere.id


def test_equal_changes_have_names_of_their_own() -> None:
    first, second = hunks("a\nb\na\nb\n", "a\nx\na\nx\n")
    assert (first.before, first.after) == (second.before, second.after)
    assert apply_some("a\nb\na\nb\n", "a\nx\na\nx\n", {second.id}) == "a\nb\na\nx\n"


def test_unknown_hunks_are_refused_by_name() -> None:
    [known] = hunks("a", "b")
    with pytest.raises(UnknownHunk) as refused:
        apply_some("a", "b", {known.id, "zz", "aa"})
    assert refused.value.ids == ("aa", "zz")
