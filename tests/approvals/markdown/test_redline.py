"""A change of Markdown as a person reads it: nothing that changes is left out, and nothing of the text is markup."""

import re
import time
from html.parser import HTMLParser
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from approvals.markdown.parsing import LONGEST
from approvals.markdown.redline import RenderedPassage, rendered_redline
from approvals.markdown.rendering import render
from approvals.markdown.words import TooLong
from memory_app.text import worddiff
from tests.support import hostile_texts

pytestmark = pytest.mark.pure

ALLOWED = {
    *("a", "blockquote", "br", "code", "del", "div", "em", "h3", "h4", "h5", "h6", "hr", "ins", "li", "ol", "p", "pre"),
    *("s", "span", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul", "wbr"),
}
ATTRIBUTES = {
    *("aria-label", "aria-level", "class", "colspan", "dir", "href", "rel", "role", "tabindex", "title", "value"),
}
#: What a text is made of when its layout changes: all that begins a block, ends one or marks words.
PIECES = (
    *("word ", "other ", "**", "*", "`", "~~", "[a](https://example.org/x)", "[b]"),
    *("\n\n[b]: https://example.org/y\n\n",),
    *("\n", "\n\n", "\r\n", "# ", "\n## ", "\n- ", "\n  - ", "\n1. ", "\n> ", "\n```\n", "\n---\n"),
    *("\n===\n", "\\", "  \n"),
    *("|", "\n|a|b|\n|-|-|\n", "\n|c|d|\n", "<b>", "&amp;", "&#xe000;", "&#xe100;", "\u200b", "\u202e"),
    *("\ue000", "é\u0301"),
    *("    ", "\t", "![i](j)", "<https://example.org>", "⟨U+200B ZERO WIDTH SPACE⟩"),
)
markdown = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


def redline(before: str, after: str) -> tuple[RenderedPassage, ...]:
    items = worddiff.redlined(worddiff.diff(before, after))
    return rendered_redline(before, after, items, worddiff.hunk_numbers(items))


def html_of(passages: tuple[RenderedPassage, ...]) -> str:
    """Return the HTML, with `[1]` for the heading of a change and `[from 1]` or `[to 1]` for the notes of a move."""
    parts = (part for each in passages for part in each.parts)
    return "".join(f"[{f'{part.moved} {part.change}'.strip()}]" if part.change else part.html for part in parts)


class _Text(HTMLParser):
    """The words on one side of a change: all but those inside `left_out`, and what stands in neither text."""

    def __init__(self, *left_out: str) -> None:
        super().__init__()
        self.left_out = {*left_out, "visually-hidden", "moved-label", "drawn"}
        self.words = ""
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self._open: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _value in attrs}
        if tag not in ("br", "hr", "wbr"):
            self._open.append((tag, dict(attrs).get("class") or ""))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop()[0] == tag, "the tags are not nested"

    def handle_data(self, data: str) -> None:
        if not any(self.left_out.intersection(opened) for opened in self._open):
            self.words += data


def side(html: str, *left_out: str) -> _Text:
    text = _Text(*left_out)
    text.feed(html)
    text.close()
    return text


@given(before=markdown, after=markdown)
@example(before="a\n\n- b", after="```\na\n\n- b")
@example(before="[b]\n\n[b]: /one", after="[b]\n\n[b]: /two")
@example(before="", after="- a\n- b\n")
@example(before="a", after="a\n")
def test_each_change_has_its_heading_once_in_order_of_the_page(before: str, after: str) -> None:
    items = worddiff.redlined(worddiff.diff(before, after))
    numbers = worddiff.hunk_numbers(items)
    passages = rendered_redline(before, after, items, numbers)
    found = [part.change for each in passages for part in each.parts if part.change and not part.moved]
    found += [each.number for each in passages if each.number]
    assert sorted(found) == sorted(set(numbers) - {0})
    for each in passages:
        text = side("".join(part.html for part in each.parts))
        assert text.tags <= ALLOWED
        assert text.attributes <= ATTRIBUTES


plain = st.lists(
    st.sampled_from([piece for piece in PIECES if not set(piece) & set("[]!&<\u200b\u202e\ue000⟨ \t\\\r")]), max_size=30
)


@given(before=plain.map("".join), after=plain.map("".join))
def test_both_texts_are_in_it_with_all_their_words(before: str, after: str) -> None:
    passages = redline(before, after)
    html = "".join(part.html for each in passages for part in each.parts)
    for text, other in ((before, "ins"), (after, "del")):
        shown = re.sub(r"[\s·¶→↵]", "", side(html, other, "sign", "marker").words)
        page = re.sub('<p class="unseen.*?</p>', "", render(text), flags=re.DOTALL)
        assert shown == re.sub(r"\s", "", side(page).words)


@given(text=markdown)
def test_what_did_not_change_is_not_marked(text: str) -> None:
    html = html_of(redline(text, text))
    assert "<ins" not in html
    assert "<del" not in html


def test_headings_lists_tables_and_code_are_shown_as_such_with_the_marks_inside() -> None:
    before = (
        "# Goals\n\nRead **one** book.\n\n- tea\n  - green\n\n|a|b|\n|-|-|\n|1|2|\n\n```\nx = 1\n```\n\n> Said so.\n"
    )
    after = before.replace("Goals", "Aims").replace("one", "two").replace("green", "black").replace("2|", "3|")
    html = html_of(redline(before, after.replace("x = 1", "x = 9").replace("so", "no")))
    html = re.sub(r'<span class="visually-hidden" dir="auto">\w+: </span>', "", html)
    assert '<h3 dir="auto"><del>Goals</del><ins>Aims</ins></h3>' in html
    assert "Read <strong><del>one</del><ins>two</ins></strong> book." in html
    assert "<del>green</del><ins>black</ins>" in html.split("tea")[1]
    assert '<td dir="auto"><del>2</del><ins>3</ins></td>' in html
    assert "<pre><code>x = <del>1</del><ins>9</ins>\n</code></pre>" in html
    assert "Said <del>so</del><ins>no</ins>." in html.split("<blockquote")[1]


def test_a_block_that_became_another_kind_is_struck_and_stands_again() -> None:
    html = html_of(redline("Plans\n\nrest", "## Plans\n\nrest"))
    assert re.search(
        r"<p[^>]*><del>.*Plans</del></p>.*<h3[^>]*><span class=\"sign\"><ins>.*## </ins></span><ins>Plans</ins></h3>",
        html,
    )
    html = html_of(redline("|a|b|\n|-|-|\n|1|2|\n", "|a|b|c|\n|-|-|-|\n|1|2|3|\n"))
    assert html.count("<table>") == 2


def test_an_item_stays_when_a_heading_divides_its_list_and_keeps_its_number() -> None:
    html = html_of(redline("- one\n- two\n- three\n", "- one\n\n## Later\n\n- two\n- three\n"))
    assert "<del>" not in html
    assert "Later</ins>" in html
    html = html_of(redline("3. three\n4. four\n", "3. three\n4. new\n5. four\n"))
    assert re.sub(r"\s", "", side(html, "del").words) == "3.three[1]4.new5.four"


def test_a_link_that_leads_elsewhere_says_where_also_by_a_definition_far_below() -> None:
    html = html_of(redline("See [the list](https://school.example).", "See [the list](https://evil.example)."))
    assert "(https://evil.example)" in html
    assert "(https://school.example)" in html
    assert html.count("the list") == 2
    before = "See [it].\n\n" + "Line.\n\n" * 20 + "[it]: https://school.example\n"
    html = html_of(redline(before, before.replace("school", "evil")))
    assert "(https://evil.example)" in html.split("Line.")[0]


def test_emphasis_alone_is_a_change_of_the_words_it_is_on() -> None:
    html = html_of(redline("She must not do it.", "She must **not** do it."))
    html = re.sub(r'<span class="visually-hidden" dir="auto">\w+: </span>', "", html)
    sign = '<span class="sign"><ins>**</ins></span>'
    assert f"<del>not</del><strong>{sign}<ins>not</ins>{sign}</strong>" in html


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ("* a\n", "- a\n", "*-"),
        ("1. a\n1. b\n", "1. a\n7391. b\n", "17391."),
        ("*a* b\n", "_a_ b\n", "*a*_a_b"),
        ("# a\n", "a\n===\n", "#a==="),
        ("- [ ] a\n", "- [x] a\n", "[·x]"),
        ("```python\nx\n```\n", "```sh\nx\n```\n", "```pythonsh"),
        ("<https://a.example/%57>\n", "<https://a.example/%58>\n", "<https://a.example/%58>"),
        ("|a|\n|-|\n|b|\n", "|a|\n|:-:|\n|b|\n", "|-:-:|"),
        ("|a|\n|-|\n|b|\n", "|a|\n|-|\n|b c|d|\n", "|bc|d|"),
    ],
)
def test_signs_that_change_are_drawn_in_their_place(before: str, after: str, shown: str) -> None:
    passages = redline(before, after)
    assert not any(each.source for each in passages)
    assert shown in re.sub(r"[\s¶]", "", side(html_of(passages)).words)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a\n\n[x]: /one\n", "a\n\n[x]: /two\n"),
        ("a\n\n> c\n>\n> [x]: /one\n", "a b\n\n> c\n>\n> [x]: /two\n"),
        ("one\r\ntwo\n", "one\ntwo three\n"),
    ],
)
def test_what_no_page_draws_is_shown_in_the_source(before: str, after: str) -> None:
    sources = [each for each in redline(before, after) if each.source]
    assert sources
    assert any(paragraph.changed for each in sources for paragraph in each.source)


def test_unseen_characters_are_visible_marks_and_one_each() -> None:
    html = html_of(redline("Likes tea.", "Likes\u200b tea&#x202e;. Says Тіm."))
    assert '<span class="mark">U+200B ZERO WIDTH SPACE</span>' in html
    assert '<span class="mark">U+202E RIGHT-TO-LEFT OVERRIDE</span>' in html
    assert 'class="stray"' in html
    assert not set(html) & set("\u200b\u202e")


@pytest.mark.parametrize("repeated", ["Paragraph {}: worked.\n\n", "Day {}: worked.\n"])
def test_unchanged_blocks_fold_and_lines_of_a_long_paragraph(repeated: str) -> None:
    text = "".join(repeated.format(number) for number in range(30))
    passages = redline(text, text.replace("15: worked", "15: rested"))
    assert [each.folded for each in passages] == [14, 0, 13]


def test_what_was_moved_is_struck_where_it_was_and_new_where_it_is() -> None:
    moved = "Alice reads one chapter of the **algebra** book every week."
    rest = "The exam is on the fifth of June in Munich.\n\nHer aunt lives in Graz and has two cats."
    html = html_of(redline(f"{moved}\n\n{rest}", f"{rest}\n\n{moved}"))
    assert re.search(r"\[1\]\[from 1\]<p[^>]*><del>.*Alice reads.*The exam .*\[to 1\]<p[^>]*><ins>.*Alice reads", html)


def test_a_heading_says_that_it_is_higher_while_the_one_above_is_folded_away() -> None:
    text = "# Aims\n\nOne.\n\nTwo.\n\nThree.\n\n## Rooms\n\nMonday.\n\n### Doors\n\nFour.\n\n## Days\n\nFive.\n"
    folded, *shown = redline(text, text.replace("Monday", "Tuesday").replace("Five", "Six"))
    html = html_of(shown)
    assert folded.folded == 4
    assert re.findall(r"<h(\d)([^>]*)>", html) == [
        ("4", ' aria-level="3" dir="auto"'),
        ("5", ' aria-level="4" dir="auto"'),
        ("4", ' dir="auto"'),
    ]


def test_no_text_can_forge_the_place_of_a_heading() -> None:
    shown = html_of(redline("a", 'a <span class="slot">0-change-7</span> &#xe001;'))
    assert "[7]" not in shown
    assert "&lt;span" in shown


def test_what_is_too_long_is_refused() -> None:
    with pytest.raises(TooLong):
        redline("a " * LONGEST, "a")


@pytest.mark.parametrize("seed", range(20))
def test_texts_nobody_means_well_with_are_words_only(seed: int) -> None:
    rng = Random(seed)
    before, after = (hostile_texts.text(rng, ["alice"]) for _ in range(2))
    html = "".join(part.html for each in redline(before, after) for part in each.parts)
    assert side(html).tags <= ALLOWED
    assert not set(html) & set("\u200b\u202e\u2066\ufeff\u00ad\ufffc")


@pytest.mark.parametrize(
    "piece",
    ["[", "![", "[a](", "*a **a ", "**", "`a", "> a\n", "> - ", "- ", "# a\n", "|a", "|\n", "\\", "a b\n", "&#1"],
)
def test_hostile_texts_are_compared_soon(piece: str) -> None:
    text = (piece * 10_000)[:10_000]
    start = time.thread_time()
    html = html_of(redline(text, f"z{text[1:]}{piece}"))
    assert time.thread_time() - start < 4  # at most 1 measured
    assert len(html) < 60 * len(text)
