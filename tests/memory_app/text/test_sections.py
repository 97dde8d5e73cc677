"""Sections of a Markdown text: found by their header, and updated without a change to anything else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_app.text.sections import SectionError, find, matching, sections, update
from tests.support.refusals import refusing

pytestmark = pytest.mark.pure

PLAN = """\
# Plan

Intro.

## Goals

- pass algebra

### By June

- read

## Log

Nothing yet.
"""

#: Lines that are headers, and those that look like headers, or hold some.
HEADERS = ("# A", "## B", "## B ##", "### C", "Title", "===", "---")
OTHERS = (
    "text",
    "- item",
    "  # in an item",
    "> # quoted",
    "```",
    "~~~",
    "<!--",
    "-->",
    "<div>",
    "    code",
    "| a | b |",
)
BLANK = ("", "", " ")
ends = st.sampled_from(["\n", "\n", "\r\n"])
documents = st.builds(
    lambda lines, end, last: end.join(lines) + last * end,
    st.lists(st.sampled_from(HEADERS + OTHERS + BLANK), max_size=14),
    ends,
    st.booleans(),
)

#: Without headers of its own, which would end the section earlier.
plain = st.lists(st.sampled_from(["text", "- item", "> # quoted", "    code", "| a | b |", "", " "]), max_size=6).map(
    "\n".join
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("# A\n## B\n### C\n", ["# A", "## B", "### C"]),
        ("## B ##\n##  Two   words\n##\n", ["## B", "## Two words", "##"]),
        ("Title\n=====\n\nOther\n---\n", ["# Title", "## Other"]),
        ("Two\nlines\n===\n", ["# Two lines"]),
        ("   # A\n    # code\n", ["# A"]),
        ("#no header\n\\# nor this\n####### nor seven\n", []),
        ("```\n# A\n```\n# B\n", ["# B"]),
        ("~~~~\n# A\n~~~\n# B\n", []),
        ("- # A\n\n  # B\n\n# C\n", ["# C"]),
        ("> # A\n> text\n\n<!--\n# A\n-->\n\n<div>\n# A\n</div>\n\n# C\n", ["# C"]),
        ("---\n# comment: x\n---\n# A\n", ["# A"]),
        ("text\n\n---\n\n# A\n", ["# A"]),
        ("# A\r\n\r\n## B\r\n", ["# A", "## B"]),
        ("# **Bold** and `code`\n", ["# **Bold** and `code`"]),
        ("", []),
    ],
)
def test_headers_are_those_of_commonmark_outside_of_everything_else(text: str, found: list[str]) -> None:
    assert [each.header for each in sections(text)] == found


@pytest.mark.parametrize(
    ("header", "until"),
    [("# Plan", ""), ("## Goals", "## Log"), ("### By June", "## Log"), ("## Log", "")],
)
def test_a_section_ends_at_the_next_header_of_its_level_or_a_higher_one(header: str, until: str) -> None:
    section = find(PLAN, header)
    assert PLAN[section.start :].startswith(header)
    assert PLAN[section.end :].splitlines()[:1] == ([until] if until else [])
    assert PLAN.splitlines()[section.line - 1] == header


@pytest.mark.parametrize("header", ["## Goals", "Goals", " ##  Goals ", "## Goals ##", "Goals\n-----"])
def test_a_header_is_found_with_its_signs_or_without(header: str) -> None:
    assert find(PLAN, header).line == 5


@pytest.mark.parametrize(
    ("header", "nearest"),
    [("# Goals", "## Goals"), ("## goals", "## Goals"), ("Gaols", "## Goals"), ("## Zebra crossings", None)],
)
def test_a_header_that_is_not_there_names_the_nearest_and_those_there_are(header: str, nearest: str | None) -> None:
    with refusing("section_not_found") as caught:
        find(PLAN, header)
    assert caught.value.details["nearest"] == nearest
    assert caught.value.details["headers"] == ("# Plan", "## Goals", "### By June", "## Log")
    assert caught.value.details["count"] == 4


def test_of_many_headers_thirty_are_named() -> None:
    with refusing("section_not_found") as caught:
        find("".join(f"# H{number}\n" for number in range(50)), "Other")
    assert (len(caught.value.details["headers"]), caught.value.details["count"]) == (30, 50)


TWICE = "# Spring\n## Goals\na\n# Autumn\n## Goals\nb\n"


def test_a_header_that_occurs_twice_asks_which_with_lines_and_paths_and_its_line_chooses() -> None:
    for asked in (None, 4):
        with refusing("section_repeated") as caught:
            update(TWICE, "## Goals", "c", line=asked)
        assert caught.value.details["lines"] == (2, 5)
        assert caught.value.details["paths"] == ("# Spring / ## Goals", "# Autumn / ## Goals")
        assert caught.value.details.get("asked_line") == asked
    assert update(TWICE, "Goals", "c", line=5) == "# Spring\n## Goals\na\n# Autumn\n## Goals\nc\n"


def test_the_same_words_at_two_levels_are_told_apart_by_the_signs() -> None:
    text = "# Goals\n## Goals\na\n"
    assert [path for _, path in matching(text, "Goals")] == ["# Goals", "# Goals / ## Goals"]
    assert find(text, "## Goals").line == 2


@pytest.mark.parametrize(
    ("text", "content", "updated"),
    [
        # What separates header, content and next header stays.
        ("# A\n\nold\n\n# B\n", "new", "# A\n\nnew\n\n# B\n"),
        ("# A\nold\n# B\n", "new\n", "# A\nnew\n# B\n"),
        ("# A\n\n\nold\n\n\n\n# B\n", "\n\nnew\n\n", "# A\n\n\nnew\n\n\n\n# B\n"),
        ("A\n===\nold\n\nB\n===\n", "new", "A\n===\nnew\n\nB\n===\n"),
        ("# A\r\n\r\nold\r\n\r\n# B\r\n", "new", "# A\r\n\r\nnew\r\n\r\n# B\r\n"),
        # The last section: a final line end stays, and is not made.
        ("# A\n\nold\n", "new", "# A\n\nnew\n"),
        ("# A\n\nold", "new\n", "# A\n\nnew"),
        ("# A", "new", "# A\nnew"),
        # An empty section is filled.
        ("# A\n# B\n", "new", "# A\nnew\n# B\n"),
        ("# A\n\n# B\n", "new", "# A\n\nnew\n\n# B\n"),
        ("# A\r\n\r\n# B\r\n", "new", "# A\r\n\r\nnew\r\n\r\n# B\r\n"),
        # And one that is filled is emptied.
        ("# A\n\nold\n\n# B\n", "", "# A\n\n# B\n"),
        ("# A\nold\n# B\n", " \n", "# A\n# B\n"),
        ("# A\r\nold\r\n\r\n# B", "", "# A\r\n\r\n# B"),
        ("# A\n\nold\n", "", "# A\n"),
        # The content is put in as it is, its indentation and its inner lines too.
        ("# A\nold\n", "    code\n\n  more", "# A\n    code\n\n  more\n"),
        ("# A\nold\n## C\nc\n# B\n", "## D\nd", "# A\n## D\nd\n# B\n"),
        # Without an empty line, the underlined header would take in the line before it.
        ("# A\n- old\n\nB\n===\n", "new", "# A\nnew\n\nB\n===\n"),
        ("# A\n```\nold\n```\nB\n===\n", "new", "# A\nnew\n\nB\n===\n"),
        # An HTML block goes on to an empty line.
        ("# A\nold\n# B\n", "<div>\nnew\n</div>", "# A\n<div>\nnew\n</div>\n\n# B\n"),
    ],
)
def test_an_update_changes_what_the_section_contains(text: str, content: str, updated: str) -> None:
    assert update(text, "A", content) == updated


@pytest.mark.parametrize("content", ["```\nopen", "<!-- open", "~~~\n```"])
def test_content_that_would_swallow_the_next_header_is_refused(content: str) -> None:
    with refusing("section_unclosed") as caught:
        update("# A\nold\n# B\n# C\n", "A", content)
    assert (caught.value.details["header"], caught.value.details["swallowed"]) == ("# A", "# B")
    # In the last section it may stay open.
    assert update("# A\nold\n", "A", "```\nopen") == "# A\n```\nopen\n"


@given(text=documents, content=documents, choice=st.integers(0, 13))
def test_an_update_leaves_every_other_header_and_text_as_it_was(text: str, content: str, choice: int) -> None:
    there = sections(text) or sections(text := f"# First\n{text}")
    section = there[choice % len(there)]
    try:
        updated = update(text, section.header, content, line=section.line)
    except SectionError:
        return
    assert updated.startswith(text[: section.content])
    assert updated.endswith(text[section.end :])
    now = sections(updated)
    before = [each.header for each in there if each.start <= section.start]
    after = [each.header for each in there if each.start >= section.end]
    assert [each.header for each in now][: len(before)] == before
    assert [each.header for each in now][len(now) - len(after) :] == after
    if content.strip():
        assert content.strip(" \t\r\n") in updated[len(text[: section.content].rstrip("\r\n")) :]


@given(text=documents, content=plain, choice=st.integers(0, 13))
def test_an_update_made_twice_is_made_once(text: str, content: str, choice: int) -> None:
    text = f"# First\n{text}"
    there = sections(text)
    section = there[choice % len(there)]
    try:
        once = update(text, section.header, content, line=section.line)
    except SectionError:
        return
    assert update(once, section.header, content, line=section.line) == once


@given(text=documents)
def test_sections_lie_one_behind_or_inside_the_other(text: str) -> None:
    there = sections(text)
    assert [each.start for each in there] == sorted({each.start for each in there})
    for each in there:
        assert each.start < each.content <= each.end <= len(text)
        inside = [other for other in there if each.start < other.start < each.end]
        assert all(other.level > each.level for other in inside)
        assert all(other.end <= each.end for other in inside)
        assert find(text, each.header, line=each.line) == each


@pytest.mark.parametrize("header", ["## Learn C #", "Learn C #", "Learn C #\n---"])
def test_signs_at_the_end_of_an_underlined_header_are_words(header: str) -> None:
    assert sections("Learn C #\n---\nold\n")[0].header == "## Learn C #"
    assert update("Learn C #\n---\nold\n", header, "new") == "Learn C #\n---\nnew\n"


def test_a_rule_and_an_empty_line_are_no_front_matter() -> None:
    text = "---\n\n# Goals\nold\n\n---\n\n# Log\n"
    assert update(text, "# Goals", "new") == "---\n\n# Goals\nnew\n\n# Log\n"
    assert [each.header for each in sections("---\ntitle: x\n# no\n---\n# Log\n")] == ["# Log"]
