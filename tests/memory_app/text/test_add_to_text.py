"""Adding to a text, and updating a section of it: applied exactly, and made again only where that is safe."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memory_app.text.edits import (
    LARGEST_TEXT,
    Append,
    DoesNotFit,
    Edit,
    EditError,
    ForbiddenCharacter,
    Insert,
    MadeAlready,
    Prepend,
    Replace,
    Rewrite,
    SectionUpdate,
    TextTooLong,
    apply,
    from_json,
    line_before,
    occurs_as_lines,
    reapply,
    to_json,
)
from tests.support.refusals import refusing

pytestmark = pytest.mark.pure

GOALS = "# Goals\n\n- pass algebra\n- read more\n"

texts = st.text(alphabet="ab# -\n\r", max_size=30)
contents = texts.filter(bool)
additions = (
    st.builds(Append, content=contents, own_line=st.booleans())
    | st.builds(Prepend, content=contents, own_line=st.booleans())
    | st.builds(Insert, line=st.integers(0, 6), content=contents)
)
section_updates = st.builds(SectionUpdate, header=st.sampled_from(["a", "# a", "b"]), content=texts)


@pytest.mark.parametrize(
    ("text", "edit", "result"),
    [
        # Exactly the content.
        ("one", Append("two"), "onetwo"),
        ("", Append("two"), "two"),
        ("one", Prepend("two"), "twoone"),
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
    assert line_before("a\r\nb\n", Insert(1, "x")) == "a"
    assert line_before("a\n", Insert(0, "x")) == ""


@pytest.mark.parametrize(("header", "code"), [("Aims", "section_not_found"), ("Goals", "section_repeated")])
def test_a_section_that_cannot_be_updated_is_refused_with_the_reason(header: str, code: str) -> None:
    with refusing(code) as caught:
        apply("# Goals\n# Goals\n", [Append("# More\n"), SectionUpdate(header, "x")])
    assert caught.value.index == 1


@pytest.mark.parametrize(
    ("edit", "field"),
    [
        (Append("a\x00"), "content"),
        (Prepend("a\x00"), "content"),
        (Insert(99, "a\x00"), "content"),
        (SectionUpdate("Aims\x00", "a"), "section_header"),
        (SectionUpdate("Aims", "\ud83d"), "new_content"),
    ],
)
def test_what_cannot_be_stored_is_refused_before_anything_is_matched(edit: Edit, field: str) -> None:
    with pytest.raises(ForbiddenCharacter) as caught:
        apply(GOALS, [Replace("nowhere", "x"), edit])
    assert (caught.value.field, caught.value.index) == (field, 1)


@pytest.mark.parametrize("edit", [Append("x"), Prepend("x"), Insert(0, "x"), SectionUpdate("Goals", "x")])
def test_no_text_becomes_longer_than_the_longest(edit: Edit) -> None:
    with pytest.raises(TextTooLong):
        apply("a" * LARGEST_TEXT, [edit])


def test_edits_of_all_kinds_are_made_in_order() -> None:
    edits = [
        Rewrite("# A\n"),
        Append("# B\n"),
        Prepend("# Z\n"),
        SectionUpdate("A", "one"),
        Insert(3, "two"),
        Replace("one", "1"),
    ]
    assert apply("old", edits).text == "# Z\n# A\n1\ntwo\n# B\n"


@given(text=texts, edits=st.lists(additions | section_updates, max_size=4))
def test_whatever_applies_can_be_stored_and_applied_again(text: str, edits: list[Edit]) -> None:
    try:
        applied = apply(text, edits)
    except EditError:
        return
    stored = from_json(json.loads(json.dumps(to_json(applied.edits))))
    assert stored == applied.edits
    assert reapply(text, stored, base_text=text) == applied.text


@given(text=texts, edit=additions)
def test_an_addition_keeps_all_there_is_and_adds_the_content(text: str, edit: Append | Prepend | Insert) -> None:
    try:
        result = apply(text, [edit]).text
    except EditError:
        return
    match edit:
        case Append():
            assert result.startswith(text)
            assert result.endswith(edit.content)
        case Prepend():
            assert result.startswith(edit.content)
            assert result.endswith(text)
        case Insert():
            lines = text.split("\n")[: edit.line]
            assert result.split("\n")[: edit.line] == lines or edit.line == len(lines)
            assert edit.content in result
    added = len(result) - len(text) - len(edit.content)
    assert 0 <= added <= (4 if isinstance(edit, Insert) else 2)


# -- again, on a text that has changed since ------------------------------------------------------


def again(base: str, now: str, edit: Edit) -> str:
    return reapply(now, apply(base, [edit]).edits, base_text=base)


@pytest.mark.parametrize(
    ("edit", "now", "result"),
    [
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
    with pytest.raises(DoesNotFit) as caught:
        again(GOALS, now, edit)
    assert not isinstance(caught.value, MadeAlready)


def test_an_insertion_between_equal_lines_does_not_fit_a_changed_text() -> None:
    base = "a\n\n\n\n\n\n\n\n"
    with pytest.raises(DoesNotFit):
        again(base, base + "b\n", Insert(4, "x"))
    assert again(base, base, Insert(4, "x")) == "a\n\n\n\nx\n\n\n\n\n"


@pytest.mark.parametrize(
    "edit",
    [
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
        with pytest.raises(MadeAlready):
            again(base, now, edit)
    if not isinstance(edit, SectionUpdate):
        both = apply(base, [edit, Append("\nend")]).edits
        with pytest.raises(DoesNotFit) as caught:
            reapply(once, both, base_text=base)
        assert type(caught.value) is DoesNotFit


def test_a_section_updated_since_leaves_the_other_edits_to_be_made() -> None:
    both = apply(GOALS, [SectionUpdate("Goals", "- sleep"), Append("end\n")]).edits
    now = apply(GOALS, [SectionUpdate("Goals", "- sleep")]).text
    assert reapply(now, both, base_text=GOALS) == now + "end\n"


def test_words_that_are_part_of_another_line_are_not_the_addition() -> None:
    assert again(GOALS, GOALS + "- sleep well\n", Append("- sleep\n")) == GOALS + "- sleep well\n- sleep\n"


def test_what_the_base_had_already_is_added_all_the_same() -> None:
    base = "- call\n"
    assert again(base, "- call\n- write\n", Append("- call\n")) == "- call\n- write\n- call\n"


def test_the_section_on_a_line_is_found_again_on_another() -> None:
    base = "# A\n## Goals\na\n# B\n## Goals\nb\n"
    now = "New.\n\n" + base
    assert again(base, now, SectionUpdate("Goals", "c", line=5)) == now.replace("b\n", "c\n")


def test_without_the_text_before_only_a_replacement_is_made_again() -> None:
    for edit in (Append("x"), Prepend("x"), Insert(0, "x"), SectionUpdate("Goals", "x"), Rewrite("x")):
        with pytest.raises(DoesNotFit):
            reapply(GOALS, apply(GOALS, [edit]).edits)


@given(base=texts, now=texts, edit=additions | section_updates)
def test_made_again_an_edit_never_loses_what_came_since(base: str, now: str, edit: Edit) -> None:
    try:
        result = again(base, now, edit)
    except EditError:
        return
    if isinstance(edit, SectionUpdate):
        assert result == apply(now, [edit]).text
        return
    kept = result.replace(edit.content, "", 1) if not isinstance(edit, Append) else result[: len(now)]
    assert sorted(kept.replace("\n", "").replace("\r", "")) == sorted(now.replace("\n", "").replace("\r", ""))


@given(base=texts, edit=additions | section_updates)
@example(base="a\n\na\n\na", edit=Insert(line=2, content="a\n\na\n\na"))
@example(base="a\n\n\n\n\na", edit=Insert(line=3, content="a\n\n\n\n\na"))
def test_an_edit_that_was_just_made_is_not_made_again(base: str, edit: Edit) -> None:
    try:
        once = apply(base, [edit]).text
    except EditError:
        return
    if once == base or not edit.content.strip():
        return
    with pytest.raises(DoesNotFit):
        again(base, once, edit)


@pytest.mark.parametrize(
    ("content", "lines"),
    [("b", (2, 4)), ("b\na", (2,)), ("\nb\n", (2, 4)), ("bc", ()), (" \n", ()), ("a\nb", (1, 3))],
)
def test_where_whole_lines_stand(content: str, lines: tuple[int, ...]) -> None:
    assert occurs_as_lines("a\nb\na\nb", content) == lines
