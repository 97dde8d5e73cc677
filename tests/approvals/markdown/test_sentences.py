"""A text in which every sentence is a link: the words and the layout are those of the text."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.markdown.parsing import LONGEST
from approvals.markdown.rendering import render
from approvals.markdown.sentences import SentenceLink, render_sentences
from memory_app.text.sentences import sentences

pytestmark = pytest.mark.pure

LINK = re.compile(r"</?a\b[^>]*>")


def linked(text: str) -> str:
    links = [SentenceLink(piece, f"?s={number}", "said", str(number)) for number, piece in enumerate(sentences(text))]
    return str(render_sentences(links, top=2))


def without_links(html: str) -> str:
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
    assert re.findall(r'data-sentence="(\d+)"[^>]*tabindex="-1"', html) == ["3", "5"]
    assert '<a href="?s=1" class="said" data-sentence="1" data-from="1" id="s1"><strong>Two.</strong></a>' in html


def test_links_of_the_text_are_its_words_and_nothing_in_it_is_markup() -> None:
    html = linked('[here](https://example.org "One. Two") ![pic](https://example.org/p.png) <script>alert(1)</script>')
    assert "example.org" not in html
    assert "<script" not in html
    assert "here pic" in without_links(html)


def test_the_characters_that_mark_sentences_mean_nothing_in_a_text() -> None:
    html = linked("One \ufdd07\ufdd1 two.")
    assert re.findall(r'data-sentence="(\d+)"', html) == ["0"]
    assert "U+FDD0" in html


def test_a_text_too_long_to_be_laid_out_is_linked_as_it_is_written() -> None:
    html = linked("# One sentence. <b>\n" * (LONGEST // 10))
    assert html.startswith('<pre class="as-written"><a ')
    assert "&lt;b&gt;" in html
