"""Edits of a text: applied exactly, all or none, or refused by name; and made again only where that is safe."""

import json
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memory_app.text import edits
from memory_app.text.edits import Append, Edit, Insert, Prepend, Replace, Rewrite, SectionUpdate, apply, reapply
from tests.support.refusals import refusing

pytestmark = pytest.mark.pure

GOALS = "# Goals\n\n- pass algebra\n- read more\n"

# Few letters, so that matches and repetitions happen; and the characters that naive code would fold together.
texts = st.text(alphabet="ab \n\r\té\u0301😀", max_size=40)

lines = st.text(alphabet="ab# -\n\r", max_size=30)
contents = lines.filter(bool)
additions = (
    st.builds(Append, content=contents, own_line=st.booleans())
    | st.builds(Prepend, content=contents, own_line=st.booleans())
    | st.builds(Insert, line=st.integers(0, 6), content=contents)
)
section_updates = st.builds(SectionUpdate, header=st.sampled_from(["a", "# a", "b"]), content=lines)


def test_a_replacement_says_how_many_places_it_changed() -> None:
    edit = Replace("aa", "b", replace_all=True)
    assert apply("aaaaa", [edit]) == edits.Applied("bba", (replace(edit, occurrences=2),), replaced=2)
    # To expect as many as there are is permission to replace them.
    applied = apply("a b a", [Replace("a", "c", expected_replacements=2)])
    assert (applied.text, applied.replaced) == ("c b c", 2)


def test_edits_of_all_kinds_are_made_in_order_each_on_what_the_one_before_left() -> None:
    added: list[Edit] = [
        Rewrite("# A\n"),
        Append("# B\n"),
        Prepend("# Z\n"),
        SectionUpdate("A", "two two"),
        Insert(3, "end"),
    ]
    applied = apply("old", [*added, Replace("two", "three", replace_all=True)])
    assert (applied.text, applied.replaced) == ("# Z\n# A\nthree three\nend\n# B\n", 2)


@pytest.mark.parametrize(
    ("edit", "error"),
    [
        (Replace("nowhere", "nowhere"), "identical_strings"),
        (Replace("nowhere", "x", expected_replacements=1), "old_string_not_found"),
        (Replace("- ", "* ", expected_replacements=3), "wrong_count"),
        (Replace("- ", "* ", replace_all=True, expected_replacements=1), "wrong_count"),
        (Replace("e", "x" * edits.LARGEST_TEXT, replace_all=True), edits.TextTooLong),
        (Rewrite("x" * (edits.LARGEST_TEXT + 1)), edits.TextTooLong),
    ],
)
def test_an_edit_that_cannot_be_made_is_refused_by_name(
    edit: Replace | Rewrite, error: str | type[edits.EditError]
) -> None:
    with refusing(error) as caught:
        apply(GOALS, [Replace("# Goals", "# My Goals"), edit])
    assert caught.value.index == 1
    assert "\n" not in str(caught.value)


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


@pytest.mark.parametrize(
    ("edit", "error", "field"),
    [
        (Replace("", "x"), "empty_old_string", None),
        (Replace("nowhere\x00", "x"), edits.ForbiddenCharacter, "old_string"),
        (Replace("Goals", "\ud83d"), edits.ForbiddenCharacter, "new_string"),
        (Rewrite("a\x00"), edits.ForbiddenCharacter, "content"),
        (Append("a\x00"), edits.ForbiddenCharacter, "content"),
        (Prepend("a\x00"), edits.ForbiddenCharacter, "content"),
        (Insert(99, "a\x00"), edits.ForbiddenCharacter, "content"),
        (SectionUpdate("Aims\x00", "a"), edits.ForbiddenCharacter, "section_header"),
        (SectionUpdate("Aims", "\ud83d"), edits.ForbiddenCharacter, "new_content"),
    ],
)
def test_what_can_be_checked_without_the_text_is_checked_first_for_all_edits(
    edit: Edit, error: str | type[edits.EditError], field: str | None
) -> None:
    wanted = [Replace("nowhere", "x"), edit]
    for refuse in (lambda: apply(GOALS, wanted), lambda: edits.check(wanted)):
        with refusing(error) as caught:
            refuse()
        assert (getattr(caught.value, "field", None), caught.value.index) == (field, 1)


@pytest.mark.parametrize(
    ("text", "edit", "error", "details"),
    [
        ("x\r\n\nx x\ny\nx", Replace("x", "z"), "old_string_repeated", {"count": 4, "lines": (1, 3, 5)}),
        ("a\nb\na\nb\n", Replace("a\nb\n", "z"), "old_string_repeated", {"count": 2, "lines": (1, 3)}),
        ("a a", Replace("a", "b", expected_replacements=1), "wrong_count", {"expected": 1, "found": 2}),
        (GOALS, Replace("nowhere", ""), "old_string_not_found", {"is_there": False}),
        (GOALS, Replace("Pass algebra", "pass"), "old_string_not_found", {"is_there": True}),
    ],
)
def test_a_refusal_says_what_was_found(text: str, edit: Replace, error: str, details: dict[str, object]) -> None:
    with refusing(error) as caught:
        apply(text, [edit])
    assert caught.value.details == details


@pytest.mark.parametrize(
    ("text", "offset", "code"),
    [("a\x00", 1, "U+0000"), ("\ud83d", 0, "U+D83D"), ("ab\udfff\x00", 2, "U+DFFF")],
)
def test_a_forbidden_character_is_located(text: str, offset: int, code: str) -> None:
    with pytest.raises(edits.ForbiddenCharacter) as caught:
        edits.check_text(text, field="reasoning")
    assert (caught.value.field, caught.value.offset, caught.value.character) == ("reasoning", offset, code)
    assert "\x00" not in str(caught.value)


def test_ordinary_text_may_be_stored_whatever_its_script() -> None:
    edits.check_text("Zoë 😀 مرحبا \u200b 中文 \U0010ffff\n\t\x01")


def test_doubling_in_many_steps_stops_before_memory_does() -> None:
    with pytest.raises(edits.TextTooLong) as caught:
        apply("a", [Replace("a", "aa", replace_all=True)] * 60)
    assert caught.value.index == 19


@pytest.mark.parametrize(
    "grows", [Replace("a", "aa"), Append("x"), Prepend("x"), Insert(0, "x"), SectionUpdate("Goals", "x")]
)
def test_the_largest_text_is_taken_and_one_character_more_is_not(grows: Edit) -> None:
    assert len(apply("a", [Rewrite("a" * edits.LARGEST_TEXT)]).text) == edits.LARGEST_TEXT
    assert len(apply("a" + "b" * (edits.LARGEST_TEXT - 2), [Replace("a", "aa")]).text) == edits.LARGEST_TEXT
    with pytest.raises(edits.TextTooLong):
        apply("a" + "b" * (edits.LARGEST_TEXT - 1), [grows])


def test_an_edit_that_was_never_applied_cannot_be_applied_again() -> None:
    with pytest.raises(ValueError, match="applied before"):
        reapply(GOALS, [Replace("Goals", "Aims")])


def test_edits_are_stored_in_a_stable_shape() -> None:
    assert edits.to_json(apply("a", [Replace("a", "b"), Rewrite("c")]).edits) == [
        {"op": "replace", "old_string": "a", "new_string": "b", "replace_all": False, "occurrences": 1},
        {"op": "rewrite", "content": "c"},
    ]
    with pytest.raises(ValueError, match="sharpen"):
        edits.from_json([{"op": "sharpen"}])


def test_the_hash_is_of_the_utf8_bytes() -> None:
    assert edits.sha256_of("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert edits.sha256_of("é") == "4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c"


replaces = st.builds(Replace, texts, texts, st.booleans(), st.none() | st.integers(1, 3))
several_edits = st.lists(replaces | st.builds(Rewrite, content=texts) | additions | section_updates, max_size=4)


@given(text=texts, wanted=several_edits)
def test_whatever_applies_can_be_stored_and_applied_again_with_the_same_result(text: str, wanted: list[Edit]) -> None:
    try:
        applied = apply(text, wanted)
    except edits.EditError:
        return
    stored = edits.from_json(json.loads(json.dumps(edits.to_json(applied.edits))))
    made = [replace(edit, expected_replacements=None) if isinstance(edit, Replace) else edit for edit in applied.edits]
    assert stored == tuple(made)  # `occurrences` says it
    assert reapply(text, stored, base_text=text) == applied.text
    assert applied.replaced == sum(edit.occurrences or 0 for edit in applied.edits if isinstance(edit, Replace))


@given(before=texts, old_string=texts.filter(bool), after=texts, new_string=texts)
def test_a_unique_old_string_is_replaced_and_nothing_else_moves(
    before: str, old_string: str, after: str, new_string: str
) -> None:
    text = before + old_string + after
    if text.count(old_string) != 1 or text.find(old_string) != len(before) or old_string == new_string:
        return
    if "\r\n" in text and "\n" in new_string:  # see the test of line ends
        return
    assert apply(text, [Replace(old_string, new_string)]).text == before + new_string + after


# -- adding, and sections ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "edit", "result"),
    [
        # On lines of their own, with a line end between where there is none.
        ("one", Append("two", own_line=True), "one\ntwo"),
        ("one\n", Append("two", own_line=True), "one\ntwo"),
        ("one", Append("\ntwo", own_line=True), "one\ntwo"),
        ("one\r\nmore", Append("two", own_line=True), "one\r\nmore\r\ntwo"),
        ("", Append("two", own_line=True), "two"),
        ("one", Prepend("two", own_line=True), "two\none"),
        ("one", Prepend("two\n", own_line=True), "two\none"),
        ("\none", Prepend("two", own_line=True), "two\none"),
        ("", Prepend("two", own_line=True), "two"),
        ("a\r\nb", Prepend("two", own_line=True), "two\r\na\r\nb"),
        # After a line, as lines.
        ("a\nb\n", Insert(0, "x"), "x\na\nb\n"),
        ("a\nb\n", Insert(1, "x"), "a\nx\nb\n"),
        ("a\nb\n", Insert(1, "x\n"), "a\nx\nb\n"),
        ("a\nb\n", Insert(1, "x\ny"), "a\nx\ny\nb\n"),
        ("a\nb\n", Insert(2, "x"), "a\nb\nx\n"),
        ("a\nb", Insert(2, "x"), "a\nb\nx"),
        ("a\nb", Insert(1, "x"), "a\nx\nb"),
        ("a\r\nb\r\n", Insert(1, "x"), "a\r\nx\r\nb\r\n"),
        ("", Insert(0, "x"), "x"),
        ("\n", Insert(1, "x"), "\nx\n"),
        ("a\n", Insert(1, "\n"), "a\n\n"),
        # A section.
        (GOALS, SectionUpdate("# Goals", "- sleep"), "# Goals\n\n- sleep\n"),
    ],
)
def test_what_is_added_stands_where_it_was_asked_for(text: str, edit: Edit, result: str) -> None:
    applied = apply(text, [edit])
    assert applied.text == result
    assert (applied.edits, applied.replaced) == ((edit,), 0)


@pytest.mark.parametrize(("text", "last"), [("", 0), ("a", 1), ("a\n", 1), ("a\n\n", 2), ("a\nb", 2)])
def test_a_line_that_is_not_there_is_refused_with_the_last_one(text: str, last: int) -> None:
    for line in (-1, last + 1):
        with refusing("line_out_of_range") as caught:
            apply(text, [Insert(line, "x")])
        assert (caught.value.details, caught.value.index) == ({"line": line, "last": last}, 0)
    apply(text, [Insert(last, "x")])


def test_the_line_before_an_insertion_is_told() -> None:
    assert edits.line_before("a\r\nb\n", Insert(1, "x")) == "a"
    assert edits.line_before("a\n", Insert(0, "x")) == ""


@pytest.mark.parametrize(("header", "code"), [("Aims", "section_not_found"), ("Goals", "section_repeated")])
def test_a_section_that_cannot_be_updated_is_refused_with_the_reason(header: str, code: str) -> None:
    with refusing(code) as caught:
        apply("# Goals\n# Goals\n", [Append("# More\n"), SectionUpdate(header, "x")])
    assert caught.value.index == 1


@given(text=lines, edit=additions)
def test_an_addition_keeps_all_there_is_and_adds_the_content(text: str, edit: Append | Prepend | Insert) -> None:
    try:
        applied = apply(text, [edit])
    except edits.EditError:
        return
    ends = ("", "\n", "\r\n") if isinstance(edit, Insert) or edit.own_line else ("",)
    lines_above = text.split("\n")[: edit.line] if isinstance(edit, Insert) else []
    at = len(text) if isinstance(edit, Append) else min(len("\n".join([*lines_above, ""])), len(text))
    above, below = text[:at], text[at:]
    (made,) = applied.edits  # with the line ends of the text
    assert applied.text in {above + first + made.content + second + below for first in ends for second in ends}


# -- again, on a text that has changed since ------------------------------------------------------


def again(base: str, now: str, edit: Edit) -> str:
    return reapply(now, apply(base, [edit]).edits, base_text=base)


@pytest.mark.parametrize(
    ("edit", "now", "result"),
    [
        (Replace("read more", "read daily"), "# Aims\n- read more\n", "# Aims\n- read daily\n"),
        (Append("- sleep\n"), GOALS + "- run\n", GOALS + "- run\n- sleep\n"),
        (Append("- sleep", own_line=True), "# Aims", "# Aims\n- sleep"),
        (Append("- sleep\n"), "", "- sleep\n"),
        (Prepend("Hers.\n"), "# Aims\n", "Hers.\n# Aims\n"),
        (Insert(3, "- sleep"), "New.\n\n" + GOALS, "New.\n\n# Goals\n\n- pass algebra\n- sleep\n- read more\n"),
        (Insert(0, "Hers."), GOALS + "- run\n", "Hers.\n" + GOALS + "- run\n"),
        (SectionUpdate("Goals", "- sleep"), "New.\n\n" + GOALS + "\n# Log\n", "New.\n\n# Goals\n\n- sleep\n\n# Log\n"),
    ],
)
def test_an_edit_is_made_again_where_its_place_is_certain(edit: Edit, now: str, result: str) -> None:
    assert again(GOALS, now, edit) == result


@pytest.mark.parametrize(
    ("edit", "now"),
    [
        # It is there another number of times.
        (Replace("read more", "read daily"), "# Goals\n\n- pass algebra\n"),
        (Replace("read more", "read daily"), GOALS + "- read more\n"),
        (Replace("read more", "read daily"), ""),
        (Replace("- ", "* ", replace_all=True), GOALS + "- run\n"),
        # The lines around the place have changed, or stand there twice.
        (Insert(3, "- sleep"), GOALS.replace("read more", "read daily")),
        (Insert(3, "- sleep"), GOALS.replace("pass algebra", "pass maths")),
        (Insert(4, "- sleep"), GOALS + "- run\n"),
        (Insert(0, "Hers."), "New.\n" + GOALS),
        # The section contains something else, stands elsewhere, or there are two of them.
        (SectionUpdate("Goals", "- sleep"), GOALS + "- run\n"),
        (SectionUpdate("Goals", "- sleep"), "# Plan\n\n" + GOALS.replace("# Goals", "## Goals")),
        (SectionUpdate("Goals", "- sleep"), GOALS + "# Goals\n"),
        (SectionUpdate("Goals", "- sleep"), "# Aims\n"),
        (Rewrite("new"), GOALS + " "),
    ],
)
def test_an_edit_does_not_fit_where_its_place_is_not_certain(edit: Edit, now: str) -> None:
    with pytest.raises(edits.DoesNotFit) as caught:
        again(GOALS, now, edit)
    assert not isinstance(caught.value, edits.MadeAlready)


def test_an_insertion_between_equal_lines_does_not_fit_a_changed_text() -> None:
    base = "a\n\n\n\n\n\n\n\n"
    with pytest.raises(edits.DoesNotFit):
        again(base, base + "b\n", Insert(4, "x"))
    assert again(base, base, Insert(4, "x")) == "a\n\n\n\nx\n\n\n\n\n"


def test_what_stood_elsewhere_or_in_the_base_is_not_taken_for_the_addition() -> None:
    base = "a: x\nxx\n"
    stored = apply(base, [Replace("a: x", "a: xx"), Replace("a: xx\n", "a: xx\nxx\n")]).edits
    assert reapply("new\n" + base, stored, base_text=base) == "new\na: xx\nxx\nxx\n"
    assert again("math\n", "math\nart\n", Replace("math", "art")) == "art\nart\n"
    assert again(GOALS, GOALS + "- sleep well\n", Append("- sleep\n")) == GOALS + "- sleep well\n- sleep\n"
    assert again("- call\n", "- call\n- write\n", Append("- call\n")) == "- call\n- write\n- call\n"


def test_the_section_on_a_line_is_found_again_on_another() -> None:
    base = "# A\n## Goals\na\n# B\n## Goals\nb\n"
    now = "New.\n\n" + base
    assert again(base, now, SectionUpdate("Goals", "c", line=5)) == now.replace("b\n", "c\n")


def test_a_section_updated_since_leaves_the_other_edits_to_be_made() -> None:
    both = apply(GOALS, [SectionUpdate("Goals", "- sleep"), Append("end\n")]).edits
    now = apply(GOALS, [SectionUpdate("Goals", "- sleep")]).text
    assert reapply(now, both, base_text=GOALS) == now + "end\n"


@pytest.mark.parametrize(
    "edit",
    [
        Replace("- read more", "- read more\n- sleep"),
        Append("- sleep\n"),
        Append("\n- sleep", own_line=True),
        Append(" often"),
        Prepend("Hers.", own_line=True),
        Prepend("Her "),
        Insert(3, "- sleep"),
        Insert(4, "- sleep"),
        SectionUpdate("Goals", "- sleep"),
    ],
)
@pytest.mark.parametrize("base", [GOALS, GOALS.rstrip("\n"), GOALS.replace("\n", "\r\n")], ids=["n", "no end", "crlf"])
def test_what_was_made_since_is_not_made_twice(base: str, edit: Edit) -> None:
    once = apply(base, [edit]).text
    for now in (once, f"{once}\n\n# Log\nNothing.\n"):
        with pytest.raises(edits.MadeAlready):
            again(base, now, edit)
    if not isinstance(edit, SectionUpdate):
        both = apply(base, [edit, Append("\nend")]).edits
        with pytest.raises(edits.DoesNotFit) as caught:
            reapply(once, both, base_text=base)
        assert type(caught.value) is edits.DoesNotFit


def test_without_the_text_before_only_a_replacement_is_made_again() -> None:
    for edit in (Append("x"), Prepend("x"), Insert(0, "x"), SectionUpdate("Goals", "x"), Rewrite("x")):
        with pytest.raises(edits.DoesNotFit):
            reapply(GOALS, apply(GOALS, [edit]).edits)
    addition = apply(GOALS, [Replace("- read more\n", "- read more\n- sleep\n")])
    assert reapply(GOALS, addition.edits) == addition.text


@given(base=lines, now=lines, edit=additions | section_updates)
@example(base="\r\n", now="", edit=Prepend("a\n", own_line=False))
def test_made_again_an_edit_never_loses_what_came_since(base: str, now: str, edit: Edit) -> None:
    try:
        result = again(base, now, edit)
    except edits.EditError:
        return
    if isinstance(edit, SectionUpdate):
        assert result == apply(now, [edit]).text
        return
    # What is added takes the line ends of the text.
    kept, content = (text.replace("\r\n", "\n").replace("\r", "\n") for text in (result, edit.content))
    kept = kept.replace(content, "", 1) if not isinstance(edit, Append) else result[: len(now)]
    assert sorted(kept.replace("\n", "").replace("\r", "")) == sorted(now.replace("\n", "").replace("\r", ""))


@given(base=lines, edit=additions | section_updates)
@example(base="a\n\na\n\na", edit=Insert(line=2, content="a\n\na\n\na"))
@example(base="a\n\n\n\n\na", edit=Insert(line=3, content="a\n\n\n\n\na"))
def test_an_edit_that_was_just_made_is_not_made_again(base: str, edit: Edit) -> None:
    try:
        once = apply(base, [edit]).text
    except edits.EditError:
        return
    if once == base or not edit.content.strip():
        return
    with pytest.raises(edits.DoesNotFit):
        again(base, once, edit)


@pytest.mark.parametrize(
    ("content", "lines"),
    [("b", (2, 4)), ("b\na", (2,)), ("\nb\n", (2, 4)), ("bc", ()), (" \n", ()), ("a\nb", (1, 3))],
)
def test_where_whole_lines_stand(content: str, lines: tuple[int, ...]) -> None:
    assert edits.occurs_as_lines("a\nb\na\nb", content) == lines


@pytest.mark.parametrize(
    ("edit", "result"),
    [
        (edits.Append("c\nd\n"), "# A\r\n\r\nb\r\nc\r\nd\r\n"),
        (edits.Prepend("c\nd", own_line=True), "c\r\nd\r\n# A\r\n\r\nb\r\n"),
        (edits.Insert(1, "c\nd"), "# A\r\nc\r\nd\r\n\r\nb\r\n"),
        (edits.SectionUpdate("# A", "c\nd"), "# A\r\n\r\nc\r\nd\r\n"),
        (Replace("b", "b\nc\r\nd"), "# A\r\n\r\nb\r\nc\r\nd\r\n"),
        (Rewrite("c\n"), "c\n"),
    ],
)
def test_what_is_put_into_a_text_with_crlf_has_crlf(edit: Edit, result: str) -> None:
    text = "# A\r\n\r\nb\r\n"
    applied = apply(text, [edit])
    assert applied.text == result
    assert reapply(text, applied.edits, base_text=text) == result
    mixed = text + "x\n"
    assert "\r" not in apply(mixed, [edits.Append("c\nd\n")]).text.removeprefix(mixed)
