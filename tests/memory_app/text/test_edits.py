"""Edits of a text: applied exactly, all or none, or refused by name."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_app.text.edits import (
    LARGEST_TEXT,
    Applied,
    DoesNotFit,
    Edit,
    EditError,
    ForbiddenCharacter,
    MadeAlready,
    Replace,
    Rewrite,
    TextTooLong,
    apply,
    check,
    check_text,
    from_json,
    reapply,
    sha256_of,
    to_json,
)
from tests.support.refusals import refusing

pytestmark = pytest.mark.pure

GOALS = "# Goals\n\n- pass algebra\n- read more\n"

# Few letters, so that matches and repetitions happen; and the characters that naive code would fold together.
texts = st.text(alphabet="ab \n\r\té\u0301😀", max_size=40)


def test_a_replacement_changes_one_place_and_says_so() -> None:
    edit = Replace("pass algebra", "pass algebra with a 2")
    assert apply(GOALS, [edit]) == Applied(
        text="# Goals\n\n- pass algebra with a 2\n- read more\n",
        edits=(Replace("pass algebra", "pass algebra with a 2", occurrences=1),),
        replaced=1,
    )


def test_an_empty_new_string_deletes() -> None:
    assert apply(GOALS, [Replace("- read more\n", "")]).text == "# Goals\n\n- pass algebra\n"


def test_edits_are_made_in_order_each_on_what_the_one_before_left() -> None:
    applied = apply("one", [Replace("one", "two two"), Replace("two", "three", replace_all=True), Rewrite("x three")])
    assert applied.text == "x three"
    assert applied.replaced == 3
    assert [edit.occurrences for edit in applied.edits if isinstance(edit, Replace)] == [1, 2]


def test_replace_all_replaces_every_occurrence_without_overlaps() -> None:
    assert apply("aaaaa", [Replace("aa", "b", replace_all=True)]).text == "bba"


def test_expecting_as_many_as_there_are_is_permission_to_replace_them() -> None:
    applied = apply("a b a", [Replace("a", "c", expected_replacements=2)])
    assert applied.text == "c b c"
    assert applied.replaced == 2


@pytest.mark.parametrize(
    ("edit", "error"),
    [
        (Replace("", ""), "identical_strings"),
        (Replace("nowhere", "nowhere"), "identical_strings"),
        (Replace("", "x"), "empty_old_string"),
        (Replace("nowhere\x00", "x"), ForbiddenCharacter),
        (Replace("Goals", "\ud83d"), ForbiddenCharacter),
        (Rewrite("a\x00"), ForbiddenCharacter),
        (Replace("nowhere", "x"), "old_string_not_found"),
        (Replace("nowhere", "x", expected_replacements=1), "old_string_not_found"),
        (Replace("- ", "* "), "old_string_repeated"),
        (Replace("- ", "* ", expected_replacements=3), "wrong_count"),
        (Replace("- ", "* ", replace_all=True, expected_replacements=1), "wrong_count"),
        (Replace("e", "x" * LARGEST_TEXT, replace_all=True), TextTooLong),
        (Rewrite("x" * (LARGEST_TEXT + 1)), TextTooLong),
    ],
)
def test_an_edit_that_cannot_be_made_is_refused_by_name(edit: Replace | Rewrite, error: str | type[EditError]) -> None:
    with refusing(error) as caught:
        apply(GOALS, [Replace("# Goals", "# My Goals"), edit])
    assert caught.value.index == 1


@pytest.mark.parametrize(
    ("text", "old_string"),
    [
        ("line\r\nnext", "line\nnext"),
        ("line\nnext", "line\r\nnext"),
        ("caf\u00e9", "cafe\u0301"),
        ("Goals", "goals"),
        ("a  b", "a b"),
        ("a\u00a0b", "a b"),
        ("“quoted”", '"quoted"'),
    ],
)
def test_matching_is_exact(text: str, old_string: str) -> None:
    with refusing("old_string_not_found"):
        apply(text, [Replace(old_string, "x")])


def test_what_can_be_checked_without_the_text_is_checked_first_for_all_edits() -> None:
    with refusing("empty_old_string") as caught:
        apply(GOALS, [Replace("nowhere", "x"), Replace("", "x")])
    assert caught.value.index == 1
    with refusing("empty_old_string"):
        check([Replace("nowhere", "x"), Replace("", "x")])


def test_a_repeated_old_string_names_its_lines() -> None:
    with refusing("old_string_repeated") as caught:
        apply("x\r\n\nx x\ny\nx", [Replace("x", "z")])
    assert caught.value.details["count"] == 4
    assert caught.value.details["lines"] == (1, 3, 5)


def test_a_match_over_several_lines_is_named_by_its_first() -> None:
    with refusing("old_string_repeated") as caught:
        apply("a\nb\na\nb\n", [Replace("a\nb\n", "z")])
    assert caught.value.details["lines"] == (1, 3)


def test_a_wrong_count_says_what_was_expected_and_found() -> None:
    with refusing("wrong_count") as caught:
        apply("a a", [Replace("a", "b", expected_replacements=1)])
    assert caught.value.details == {"expected": 1, "found": 2}


def test_deleting_what_is_not_there_is_not_called_already_true() -> None:
    with refusing("old_string_not_found") as caught:
        apply(GOALS, [Replace("nowhere", "")])
    assert not caught.value.details["is_there"]
    with refusing("old_string_not_found") as caught:
        apply(GOALS, [Replace("Pass algebra", "pass")])
    assert caught.value.details["is_there"]


@pytest.mark.parametrize(
    ("text", "offset", "code"),
    [("a\x00", 1, "U+0000"), ("\ud83d", 0, "U+D83D"), ("ab\udfff\x00", 2, "U+DFFF")],
)
def test_a_forbidden_character_is_located(text: str, offset: int, code: str) -> None:
    with pytest.raises(ForbiddenCharacter) as caught:
        check_text(text, field="reasoning")
    assert (caught.value.field, caught.value.offset, caught.value.character) == ("reasoning", offset, code)
    assert "\x00" not in str(caught.value)


def test_ordinary_text_may_be_stored_whatever_its_script() -> None:
    check_text("Zoë 😀 مرحبا \u200b 中文 \U0010ffff\n\t\x01")


def test_doubling_in_many_steps_stops_before_memory_does() -> None:
    with pytest.raises(TextTooLong) as caught:
        apply("a", [Replace("a", "aa", replace_all=True)] * 60)
    assert caught.value.index == 19


def test_stored_edits_fit_a_text_that_changed_elsewhere() -> None:
    stored = apply(GOALS, [Replace("read more", "read daily")]).edits
    changed = GOALS.replace("pass algebra", "passed algebra")
    assert reapply(changed, stored, base_text=GOALS) == "# Goals\n\n- passed algebra\n- read daily\n"


@pytest.mark.parametrize(
    "now",
    ["# Goals\n\n- pass algebra\n", GOALS + "- read more\n", ""],
    ids=["gone", "repeated", "empty"],
)
def test_stored_edits_do_not_fit_when_they_match_another_number_of_times(now: str) -> None:
    stored = apply(GOALS, [Replace("pass", "ace"), Replace("read more", "read daily")]).edits
    with pytest.raises(DoesNotFit):
        reapply(now, stored, base_text=GOALS)


def test_replace_all_does_not_fit_when_there_is_one_more_than_was_reviewed() -> None:
    stored = apply("a b a", [Replace("a", "c", replace_all=True)]).edits
    with pytest.raises(DoesNotFit) as caught:
        reapply("a b a a", stored)
    assert caught.value.index == 0


def test_an_addition_made_by_someone_else_meanwhile_is_not_made_twice() -> None:
    addition = Replace("- read more\n", "- read more\n- sleep\n")
    base_and_mine = apply(GOALS, [addition])
    with pytest.raises(MadeAlready):
        reapply(base_and_mine.text, base_and_mine.edits, base_text=GOALS)


def test_edits_of_which_one_was_made_meanwhile_no_longer_fit() -> None:
    addition = Replace("- read more\n", "- read more\n- sleep\n")
    both = apply(GOALS, [addition, Replace("pass algebra", "ace algebra")])
    with pytest.raises(DoesNotFit) as caught:
        reapply(apply(GOALS, [addition]).text, both.edits, base_text=GOALS)
    assert type(caught.value) is DoesNotFit
    assert caught.value.index == 0


def test_an_addition_of_what_the_base_had_elsewhere_still_fits() -> None:
    base = "a: x\nxx\n"
    stored = apply(base, [Replace("a: x", "a: xx"), Replace("a: xx\n", "a: xx\nxx\n")]).edits
    assert reapply("new\n" + base, stored, base_text=base) == "new\na: xx\nxx\nxx\n"


def test_a_rewrite_fits_only_the_text_it_was_written_against() -> None:
    stored = apply(GOALS, [Rewrite("new")]).edits
    assert reapply(GOALS, stored, base_text=GOALS) == "new"
    with pytest.raises(DoesNotFit):
        reapply(GOALS + " ", stored, base_text=GOALS)
    with pytest.raises(DoesNotFit):
        reapply(GOALS, stored)


def test_a_text_that_gained_the_new_words_elsewhere_still_takes_the_edit() -> None:
    stored = apply("math\n", [Replace("math", "art")]).edits
    assert reapply("math\nart\n", stored, base_text="math\n") == "art\nart\n"


@pytest.mark.parametrize("grows", [Replace("a", "aa"), Rewrite("a" * (LARGEST_TEXT + 1))])
def test_the_largest_text_is_taken_and_one_character_more_is_not(grows: Edit) -> None:
    assert len(apply("a", [Rewrite("a" * LARGEST_TEXT)]).text) == LARGEST_TEXT
    assert len(apply("a" + "b" * (LARGEST_TEXT - 2), [Replace("a", "aa")]).text) == LARGEST_TEXT
    with pytest.raises(TextTooLong):
        apply("a" + "b" * (LARGEST_TEXT - 1), [grows])


def test_an_addition_fits_where_nothing_is_known_of_the_text_before() -> None:
    text = "- read more\n"
    stored = apply(text, [Replace(text, text + "- sleep\n")]).edits
    assert reapply(text, stored) == text + "- sleep\n"


def test_what_is_wrong_with_an_edit_is_said_in_a_line() -> None:
    with refusing("old_string_not_found") as caught:
        apply(GOALS, [Replace("pass", "ace"), Replace("gaols", "aims")])
    assert (caught.value.index, str(caught.value)) == (1, "old_string not found")


def test_an_edit_that_was_never_applied_cannot_be_applied_again() -> None:
    with pytest.raises(ValueError, match="applied before"):
        reapply(GOALS, [Replace("Goals", "Aims")])


def test_edits_are_stored_in_a_stable_shape() -> None:
    assert to_json(apply("a", [Replace("a", "b"), Rewrite("c")]).edits) == [
        {"op": "replace", "old_string": "a", "new_string": "b", "replace_all": False, "occurrences": 1},
        {"op": "rewrite", "content": "c"},
    ]


def test_an_unknown_operation_is_refused() -> None:
    with pytest.raises(ValueError, match="sharpen"):
        from_json([{"op": "sharpen"}])


def test_the_hash_is_of_the_utf8_bytes() -> None:
    assert sha256_of("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert sha256_of("é") == "4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c"


replaces = st.builds(
    Replace,
    old_string=texts,
    new_string=texts,
    replace_all=st.booleans(),
    expected_replacements=st.none() | st.integers(1, 3),
)
several_edits = st.lists(replaces | st.builds(Rewrite, content=texts), max_size=4)


@given(text=texts, edits=several_edits)
def test_whatever_applies_can_be_stored_and_applied_again_with_the_same_result(
    text: str, edits: list[Replace | Rewrite]
) -> None:
    try:
        applied = apply(text, edits)
    except EditError:
        return
    stored = from_json(json.loads(json.dumps(to_json(applied.edits))))
    assert reapply(text, stored, base_text=text) == applied.text
    assert applied.replaced == sum(edit.occurrences or 0 for edit in applied.edits if isinstance(edit, Replace))


@given(before=texts, old_string=texts.filter(bool), after=texts, new_string=texts)
def test_a_unique_old_string_is_replaced_and_nothing_else_moves(
    before: str, old_string: str, after: str, new_string: str
) -> None:
    text = before + old_string + after
    if text.count(old_string) != 1 or old_string == new_string:
        return
    assert apply(text, [Replace(old_string, new_string)]).text == before + new_string + after


@given(text=texts, needle=texts.filter(bool))
def test_repetitions_are_counted_and_their_lines_are_right(text: str, needle: str) -> None:
    if text.count(needle) < 2:
        return
    with refusing("old_string_repeated") as caught:
        apply(text, [Replace(needle, needle + "x")])
    assert caught.value.details["count"] == text.count(needle)
    lines = text.split("\n")
    first_line = needle.split("\n")[0]
    assert all(first_line in lines[number - 1] for number in caught.value.details["lines"])
