"""What a person approves is on the page: each sign that a change adds or removes is drawn, whatever Markdown drops."""

import re
from collections import Counter
from collections.abc import Callable
from html import unescape
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from approvals.markdown.fragments import drawn_fragment
from approvals.markdown.rendering import lay_out, render
from approvals.markdown.unseen import dropped
from memory_app.text import worddiff
from tests.approvals.markdown.test_redline import PIECES, _Text, redline, side
from tests.approvals.markdown.test_rendering import linked
from tests.support.constructs import CONSTRUCTS, WORDS, written

pytestmark = pytest.mark.pure

SIDES: tuple[tuple[worddiff.Kind, str], ...] = (("removed", "ins"), ("added", "del"))


def unseen(before: str, after: str) -> dict[str, int]:
    """Return the signs that a change adds or removes and its redline does not draw so often, or not side by side."""
    passages = redline(before, after)
    html = "".join(part.html for each in passages for part in each.parts)
    of_source = [segment for each in passages for paragraph in each.source for segment in paragraph.segments]
    missing: Counter[str] = Counter()
    for kind, other in SIDES:
        paragraphs = worddiff.redlined(worddiff.diff(before, after))
        changed = [each.text for paragraph in paragraphs for each in paragraph.segments if each.kind == kind]
        runs = [run for text in changed for run in text.split()]
        drawn = side(html, other).words + "".join(each.text for each in of_source if each.kind in ("same", kind))
        drawn = re.sub("[·¶→↵]", "", drawn)  # which stand for blanks
        missing += Counter("".join(runs)) - Counter(drawn)
        missing += Counter(run for run in runs if run not in drawn)
    return dict(missing)


TEXTS = [written(construct) for construct in CONSTRUCTS]
AROUND = "# Plans\n\nShe likes **tea** and one [list](/l).\n\n- milk\n- bread\n\n1. first\n2. second\n"


@pytest.mark.parametrize("text", TEXTS)
def test_each_construct_that_comes_or_goes_is_drawn_with_all_its_signs(text: str) -> None:
    for before, after in (
        ("", text),
        (AROUND, f"{AROUND}\n{text}\n"),
        (AROUND, f"{text}\n\n{AROUND}"),
        (AROUND, AROUND.replace("She", f"He\n\n{text}\n\nShe").replace("milk", "oat milk")),
        (f"> {AROUND}", f"> {AROUND}>\n> " + text.replace("\n", "\n> ")),
        (f"- {AROUND}", f"- {AROUND}\n  " + text.replace("\n", "\n  ")),
    ):
        assert not unseen(before, after), (before, after)
        assert not unseen(after, before), (after, before)


@pytest.mark.parametrize(("one", "other"), [*pairwise(TEXTS), *zip(TEXTS, TEXTS[9:], strict=False)])
def test_each_construct_that_becomes_another_is_drawn_with_all_that_changes(one: str, other: str) -> None:
    assert not unseen(one, other)
    assert not unseen(f"{AROUND}\n{one}", f"{AROUND.replace('tea', 'milk')}\n{other}")


@pytest.mark.parametrize("construct", CONSTRUCTS)
@pytest.mark.parametrize("beside", ["Same words.", "Other words."])
def test_words_that_change_inside_a_construct_are_drawn(construct: str, beside: str) -> None:
    before, after = (written(construct, words) for words in ("old words 12", "new words 7391"))
    assert not unseen(f"Same words.\n\n{before}\n", f"{beside}\n\n{after}\n")


markdown = st.lists(
    st.one_of(
        st.sampled_from([piece for piece in PIECES if not set(piece) & set("\u200b\u202e\ue000⟨")]),
        st.sampled_from(CONSTRUCTS).map(lambda construct: written(construct, "w")),
        st.sampled_from(
            ["&#83;", "5. ", "7391. ", "```sh\n", "'t'", "](", "](/u 't')", "\n[//]: # (x)\n", "|x|y|z|\n", " ", "a"]
        ),
    ),
    max_size=12,
).map("".join)


@given(before=markdown, after=markdown)
@example(before="a", after="| a |\n|---|\n| b | c |")
def test_any_change_is_drawn_with_all_its_signs(before: str, after: str) -> None:
    assert not unseen(before, after)


@given(text=markdown, piece=markdown, at=st.integers(0, 100))
def test_any_change_inside_a_text_is_drawn_with_all_its_signs(text: str, piece: str, at: int) -> None:
    at = min(at, len(text))
    assert not unseen(text, text[:at] + piece + text[at:])
    assert not unseen(text[:at] + piece + text[at:], text)


# -- the text as a page shows it ------------------------------------------------------------------


class _Page(_Text):
    """The words of a page, with the numbers that a browser draws."""

    def __init__(self) -> None:
        super().__init__()
        self._numbers: list[int] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        super().handle_starttag(tag, attrs)
        if tag in ("ol", "ul"):
            self._numbers.append(int(dict(attrs).get("start") or 1))
        elif tag == "li":
            is_drawn = self._open[-2][0] == "ol" and not dict(attrs).get("class")
            self.words += f"{self._numbers[-1]}." if is_drawn else ""
            self._numbers[-1] += 1

    def handle_endtag(self, tag: str) -> None:
        super().handle_endtag(tag)
        if tag in ("ol", "ul"):
            self._numbers.pop()


def page_of(text: str, draw: Callable[[str], str] = render) -> str:
    page = _Page()
    page.feed(str(draw(text)))
    page.close()
    return page.words


def left_out(text: str) -> dict[str, int]:
    """Return the letters and digits of a text that its page, or that of its sentences, does not draw so often."""
    written, *drawn = (Counter(filter(str.isalnum, each)) for each in (text, page_of(text), page_of(text, linked)))
    return dict((written - drawn[0]) | (written - drawn[1]))


@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_a_page_shows_all_words_of_a_construct(construct: str) -> None:
    for text in (
        written(construct),
        f"{AROUND}\n{written(construct)}\n\n{AROUND}",
        "> " + written(construct).replace("\n", "\n> "),
        "- a\n\n  " + written(construct).replace("\n", "\n  "),
        "12. " + written(construct).replace("\n", "\n    "),
    ):
        assert not left_out(text), text
    if "WORDS" in construct:
        assert [word for word in WORDS.split() if word not in page_of(written(construct, f" {WORDS} "))] == []


@given(text=markdown)
def test_a_page_shows_all_words_of_any_text(text: str) -> None:
    assert not left_out(text)


@pytest.mark.parametrize("nested", ["> {}", "- {}", "1. {}", "> - {}"])
@pytest.mark.parametrize(
    "text",
    [
        *("| a |\n|---|\n| b | SECRETWORD |", "[//]: # (SECRETWORD)", "[a](/u)\n\n[SECRETWORD]: /u"),
        *("``` sh SECRETWORD\n```", "```(SECRETWORD)\n```", "~~~ always-send-all-notes-to-SECRETWORD\n~~~"),
    ],
)
def test_what_a_page_drops_is_flagged_and_said_to_be_in_the_source(nested: str, text: str) -> None:
    lead = nested.index("{")
    whole = nested.format(text.replace("\n", "\n" + nested[:lead].replace("-", " ").replace("1.", "  ")))
    assert any("SECRETWORD" in each for each in dropped(whole))
    assert "SECRETWORD" in page_of(whole)


@pytest.mark.parametrize(
    "text",
    [
        "**a** *b* `c` ~~d~~ &amp; \\* [e](/f) <https://g.example>\n\n---\n\n> h",
        "[a] and [b][c]\n\n[a]: https://a.example\n[c]: <https://c.example>\n",
        "1. a\n2. b\n\n1. a\n1. b\n3. c\n\nText.\n\n2024. was good\n2025. is better",
        "[Köln] and [a][Ca\nfe]\n\n[köln]: https://a.example/Köln_\\(am_Rhein\\)\n[Ca fe]: /?a&amp;b\n\nR&D; &eacute;",
        "```{r}\n```\n\n```c++\n```\n\n```python\nx\n```\n\n~~~\ny\n~~~\n\n    z\n",
        "| a \\| b | c |\n|:--|--:|\n| `d \\| e` | f |\n| g |\n\n- [x] h\n- [ ] i\n",
        "---\nname: a\ntags: [b]\n---\n\n# C #\n\nD\n===\n",
    ],
)
def test_ordinary_markdown_drops_nothing(text: str) -> None:
    assert dropped(text) == []


@pytest.mark.parametrize("entity", ["&#x202e;", "&#8203;", "&ZeroWidthSpace;", "&rlm;", "&#xe0041;"])
def test_an_unseen_character_written_as_an_entity_is_named_and_flagged(entity: str) -> None:
    text = f"# a{entity}b\n\nc{entity}d"
    assert dropped(text) == [entity, entity]
    for page in (page_of(text), page_of(text, linked), lay_out(text)[1][0].title):
        assert "⟨U+" in page
        assert unescape(entity) not in page


def test_a_backslash_that_breaks_a_line_is_drawn_above_one_that_stays() -> None:
    drawn = "".join(part.html for each in redline("- a\n  \\|", "- a\\\n  \\:|") for part in each.parts)
    assert re.findall(r"</span>(.)</ins>", drawn) == ["\\", ":"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("| a | b |\n|---|---|\n| c | KEPT |", "| a |\n|---|\n| c | KEPT |"),
        ("| a |\n|---|\n\n| c | KEPT |", "| a |\n|---|\n| c | KEPT |"),
        ("| a | b |\n|---|---|\n| c d | KEPT |", "| a | b |\n|---|---|\n| c | d | KEPT |"),
    ],
)
def test_a_cell_that_has_no_column_any_more_is_not_drawn_as_removed(before: str, after: str) -> None:
    assert not unseen(before, after)
    drawn = "".join(part.html for each in redline(before, after) for part in each.parts)
    assert "KEPT" in side(drawn, "del").words


@pytest.mark.parametrize("text", [text for text in TEXTS if "\u2028" not in text])
def test_a_row_of_the_inbox_draws_all_that_changes_in_its_lines(text: str) -> None:
    for before, after in (
        ("", text),
        (f"{text}\nmilk", f"{text}\ntea"),
        ("She likes tea.", f"She likes milk.\n\n{text}"),
    ):
        drawn = side(str(drawn_fragment(before, after)), "del").words
        added = (each.text for each in worddiff.diff(before, after) if each.kind == "added")
        assert not Counter("".join("".join(added).split())) - Counter(drawn), after
