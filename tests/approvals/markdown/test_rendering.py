"""Markdown of whoever wrote it becomes a page of about its own size, in about its own time.

Also as a text in which every sentence is a link: the words and the layout are those of the text.
"""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.markdown.parsing import LONGEST, MOST_CELLS, MOST_REFERENCED
from approvals.markdown.rendering import lay_out, render
from approvals.markdown.sentences import SentenceLink, render_sentences
from memory_app.text.sentences import sentences

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
    assert html.count("u") <= max(len(text), MOST_REFERENCED) + text.count("u")  # as the source has it, once more


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


# -- sentences that are links -----------------------------------------------------------------------

LINK = re.compile(r"</?a\b[^>]*>")


def linked(text: str) -> str:
    links = [SentenceLink(piece, f"?s={number}", "said", str(number)) for number, piece in enumerate(sentences(text))]
    return str(render_sentences(links, top=2))


def without_links(html: str) -> str:
    html = re.sub(r'<span class="said"[^>]*>(.*?)</span>', r"\1", html)
    # Emphasis over two sentences ends with the first link and begins again in the next.
    rejoined = re.sub(r"</(em|strong|s|code)>(\s*)<\1>", r"\2", LINK.sub("", html))
    return re.sub(r"\s+", " ", rejoined).strip()


@pytest.mark.parametrize(
    "text",
    [
        "# Head\n\nOne. Two *three. Four* five.\n",
        "**Bold one. Bold two.** ~~Gone.~~ `code. Here` ends.",
        "- a. B\n  wrapped\n- c\n\n  1. d\n  2. e\n",
        "> quoted. More\n> and on.\n\n***\n\nTitle\n=====\n\nText.",
        "| a | b |\n|:--|--:|\n| c. D | `e` |\n",
        '_Under_ *"Quoted." He* said.\n\n- [ ] open\n- [x] done\n',
        "```python\nx = 1. Two\n```\n\n    indented. Code\n",
        "Hard  \nbreak. And\\\nmore & <b>no html</b>.",
        "日本語です。**次の文。**",
    ],
)
def test_it_is_laid_out_as_without_links(text: str) -> None:
    assert without_links(linked(text)) == without_links(str(render(text, top=2)))


@given(st.text(st.sampled_from(list("ab. \n*_`|-#>[](!\\1)~")), max_size=60))
def test_links_are_closed_and_hold_no_other(text: str) -> None:
    links = ["end" if link.startswith("</") else "begin" for link in LINK.findall(linked(text))]
    assert links == ["begin", "end"] * (len(links) // 2)


def test_each_sentence_is_reached_once_by_the_tab_key_and_leads_to_its_origin() -> None:
    html = linked("One. **Two. Three.**\n\n| a | b |\n|---|---|\n| c | d |\n")
    assert [int(number) for number in re.findall(r'id="s(\d+)"', html)] == [0, 1, 2, 3, 5]
    assert re.findall(r'<span [^>]*data-sentence="(\d+)"', html) == ["3", "5"]
    assert '<a href="?s=1" class="said" data-sentence="1" data-from="1" id="s1"><strong>Two.</strong></a>' in html


def test_links_of_the_text_are_its_words_and_nothing_in_it_is_markup() -> None:
    html = linked('[here](https://example.org "One. Two") ![pic](https://example.org/p.png) <script>alert(1)</script>')
    assert 'href="https' not in html
    assert "<script" not in html
    assert 'here (https://example.org "One. Two") pic (https://example.org/p.png)' in re.sub("<[^>]*>", "", html)


def test_the_characters_that_mark_sentences_mean_nothing_in_a_text() -> None:
    html = linked("One \ufdd07\ufdd1 two.")
    assert re.findall(r'data-sentence="(\d+)"', html) == ["0"]
    assert "U+FDD0" in html


def test_a_text_too_long_to_be_laid_out_is_linked_as_it_is_written() -> None:
    html = linked("# One sentence. <b>\n" * (LONGEST // 10))
    assert html.startswith('<pre class="as-written"><a ')
    assert "&lt;b&gt;" in html
