"""Markdown of whoever wrote it becomes a page of about its own size, in about its own time."""

import re
import time

import pytest

from approvals.markdown.parsing import MOST_CELLS, MOST_REFERENCED
from approvals.markdown.rendering import lay_out, render

pytestmark = pytest.mark.pure

WIDE = "|a" * 1_000 + "|\n" + "|-" * 1_000 + "|\n"


def cells(html: str) -> int:
    return html.count("<td") + html.count("<th ")


def test_a_text_has_so_many_cells_of_tables_and_the_rest_is_text() -> None:
    ordinary = render("> |a|b|\n> |-|-|\n> |c|\n\nAfter.")
    assert ordinary.count("<td") == ordinary.count("<th ") == 2
    assert "After." in ordinary
    long = render("|a|b|\n|-|-|\n" + "|one|two|\n" * 2_000)
    assert MOST_CELLS - 3 <= cells(long) <= MOST_CELLS
    assert long.count("one") == long.count("two") == 2_000
    many = render("|a|b|\n|-|-|\n|c|d|\n\n" * 2_000)
    assert cells(many) <= MOST_CELLS
    assert many.count("c") >= 2_000
    row = "|a" * (MOST_CELLS + 1) + "|\n"
    wide = render(row + row.replace("a", "-") + "|end|\n")
    assert "<table" not in wide
    assert "|end|" in wide


def test_brackets_that_begin_no_link_are_text_and_cost_no_link() -> None:
    html = render("- [ ] read\n" * 500 + "[a](https://example.org)")
    assert html.count("[ ]") == 500
    assert html.count("<a ") == 1


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("# a\n## b\n### c", [2, 3, 4]),
        ("## a\n## b", [2, 2]),
        ("#### a\n###### b", [2, 3]),
        ("### a\n# b\n### c\n## d", [2, 2, 3, 3]),
        ("- ## a\n\n> # b", [2, 2]),
        ("".join(f"{'#' * level} x\n" for level in range(1, 7)), [2, 3, 4, 5, 6, 6]),
        ("no heading", []),
    ],
)
def test_headings_follow_that_of_the_page_and_leave_no_level_out(text: str, levels: list[int]) -> None:
    html = render(text, top=2)
    assert [int(level) for level in re.findall(r"<h(\d)", html)] == levels
    assert re.findall(r"<h(\d)", html) == re.findall(r"</h(\d)", html)
    assert "id=" not in html


def test_a_text_laid_out_for_its_own_page_has_an_anchor_for_each_heading() -> None:
    html, headings = lay_out("# One *and* `two`\n\n## <b>\n\n#\n", top=2)
    assert [(each.title, each.depth) for each in headings] == [("One and two", 0), ("<b>", 1), ("", 0)]
    for heading in headings:
        assert f'id="{heading.anchor}"' in html
    assert "<b>" not in html


def test_each_table_is_a_box_that_is_scrolled_by_keyboard_and_nobody_else_writes_one() -> None:
    html = render('|a|\n|-|\n\n<div role="alert">\n\n|b|\n|-|\n')
    assert re.findall(r'aria-label="([^"]+)"', html) == ["Table 1", "Table 2"]
    assert html.count('tabindex="0"') == html.count('role="group"') == html.count("</table></div>") == 2
    assert '<div role="alert"' not in html


@pytest.mark.parametrize("container", [">", "> ", "- ", "1. ", "> - "])
def test_text_nested_too_deeply_is_still_shown(container: str) -> None:
    assert "told in secret" in render(container * 60 + "told in secret")


def test_one_long_address_is_not_repeated_for_ever() -> None:
    text = f"[a]: /{'u' * 1_000}\n\n" + "[a] " * 12_000
    html = render(text)
    assert html.count("<a ") == 12_000
    assert html.count("u") <= max(len(text), MOST_REFERENCED)


@pytest.mark.parametrize(
    "text",
    [
        WIDE + "|\n" * 3_000,
        WIDE + "a\n" * 3_000,
        "x|y\n-|-\n" * 2_500,
        "x|y|z\n-|-\n" * 2_500,
        *(
            (repeated * 20_000)[:20_000]
            for repeated in (
                *("[", "![", "[a](", "[a](<", "[a][", "[a]: <", '[a](b "', "[![a](b)](c) ", "](", "<"),
                *("<a ", "&", "&#1"),
                *("*a **a ", "*a_ ", "**", "~~a ", "`a", ">", "> a\n", "- ", "1. ", "> - ", "# a\n", "|a", "|\n", "\\"),
            )
        ),
        "".join("`" * count + " " for count in range(200)),
        "".join("  " * depth + "- a\n" for depth in range(140)),
    ],
)
def test_hostile_texts_become_small_pages_soon(text: str) -> None:
    start = time.thread_time()
    html = render(text)
    assert time.thread_time() - start < 2  # at most 0.3 measured
    assert len(html) < 15 * len(text)
