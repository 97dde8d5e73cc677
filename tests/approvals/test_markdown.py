"""Markdown of whoever wrote it becomes a page of about its own size, in about its own time."""

from __future__ import annotations

import time

import pytest

from approvals.commonmark import MOST_CELLS, MOST_REFERENCED
from approvals.markdown import render

pytestmark = pytest.mark.pure

WIDE = "|a" * 1_000 + "|\n" + "|-" * 1_000 + "|\n"


def test_a_table_has_so_many_cells_and_the_rest_is_text() -> None:
    html = render("|a|b|\n|-|-|\n" + "|one|two|\n" * 2_000)
    assert MOST_CELLS - 3 <= html.count("<td") + html.count("<th ") <= MOST_CELLS
    assert html.count("one") == html.count("two") == 2_000


def test_no_table_is_wider_than_that() -> None:
    row = "|a" * (MOST_CELLS + 1) + "|\n"
    html = render(row + row.replace("a", "-") + "|end|\n")
    assert "<table" not in html
    assert "|end|" in html


def test_tables_of_one_text_share_the_cells() -> None:
    html = render("|a|b|\n|-|-|\n|c|d|\n\n" * 2_000)
    assert html.count("<td") + html.count("<th ") <= MOST_CELLS
    assert html.count("c") >= 2_000


def test_an_ordinary_table_is_one() -> None:
    html = render("> |a|b|\n> |-|-|\n> |c|\n\nAfter.")
    assert html.count("<td") == html.count("<th ") == 2
    assert "After." in html


def test_brackets_that_begin_no_link_are_text_and_cost_no_link() -> None:
    html = render("- [ ] read\n" * 500 + "[a](https://example.org)")
    assert html.count("[ ]") == 500
    assert html.count("<a ") == 1


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
                *(
                    "[",
                    "![",
                    "[a](",
                    "[a](<",
                    "[a][",
                    "[a]: <",
                    '[a](b "',
                    "[![a](b)](c) ",
                    "](",
                    "<",
                    "<a ",
                    "&",
                    "&#1",
                ),
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
