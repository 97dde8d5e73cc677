"""What reads the texts of others takes about as much longer as they are longer, whatever they are made of."""

from collections.abc import Callable

import pytest

from approvals.markdown import rendering
from approvals.markdown.parsing import LONGEST, links
from approvals.pages.memory_search import in_context
from approvals.risks.flags import report
from approvals.risks.prompt_injection import instructions
from approvals.templatetags.assent import marked, opening
from assent_client.text import invisible, list_items, memories_md
from memory_app.search.ranking.chunking import cut, sections
from memory_app.search.ranking.dates import cues
from memory_app.search.ranking.query import marks, parse_query
from memory_app.search.ranking.vocabulary import words
from memory_app.text import edits
from memory_app.text.blame import BlameState
from memory_app.text.folding import Folded, fold
from memory_app.text.fuzzy_match import nearest
from memory_app.text.sentences import sentences
from memory_app.text.worddiff import diff, excerpt, paragraphs
from tests.hostile.growth import superlinear

pytestmark = [pytest.mark.slow, pytest.mark.pure]

#: What a text may consist of, again and again; a pair is a beginning, and what follows it.
PIECES = (
    *("[", "](", "![", "[a](", "[a](b ", "[a][", "<", "<a ", "*a ", "a_", "_", "**", "`", "~~a ", "> ", "- "),
    *("- a\n", "|", "|a|\n", "-|", "---", "# a ", "#", " ", "\n", "\t\n", "\\", "&#1", "a", "a b ", "a.a", "a-"),
    *("1.", "1 ", "é", "\u0315\u0300", "a\u0301", "\u200d", "👨\u200d", "☀\ufe0f", "می\u200c", "\xa0a", "Тi", "Τα "),
    *("ﷺ", "漢", "\u2800", "“", '"', "may ", "2026-11-", "last ", "ignore ", "you must ", "<|a", "https://", "a@"),
    *("0170 ", "src=", "\r", "é\n"),
)
AFTER = (
    ("# a", " "),
    ("a", "_"),
    ("> # a", " #"),
    ("### mem-1-aaaa\n<!--", " --"),
    ("[a]: ", "a"),
    ("a\u0300", "\u0315"),
)
SHAPES: dict[str, Callable[[int], str]] = {
    **{repr(piece): lambda n, piece=piece: piece * (n // len(piece)) for piece in PIECES},  # type: ignore[misc]
    **{
        f"{first!r} + {piece!r}": lambda n, first=first, piece=piece: first + piece * (n // len(piece)) + "b"  # type: ignore[misc]
        for first, piece in AFTER
    },
}

#: How long the texts are: long enough for what grows too fast to show, and no longer than what is read.
BLOCK, PARSED, CHUNK, QUERY = 16_384, 8_192, 2_048, 4_096

FUNCTIONS: dict[str, tuple[Callable[[str], object], int]] = {
    "hidden.find": (invisible.find, BLOCK),
    "hidden.visible": (invisible.visible, BLOCK),
    "hidden.mark_whitespace": (invisible.mark_whitespace, BLOCK),
    "hidden.stray_letters": (lambda text: [*invisible.stray_letters(text)], BLOCK),
    "instructions": (lambda text: [*instructions(text)], BLOCK),
    "flags": (lambda text: report("", text).risks, PARSED),
    "flags of a change": (lambda text: report(text, text[1:] + "!").risks, PARSED),
    "markdown.render": (rendering.render, PARSED),
    "markdown.on_one_line": (rendering.on_one_line, BLOCK),
    "commonmark.links": (lambda text: [*links(text)], PARSED),
    "finding.in_context": (lambda text: in_context(text, ["zebra", "may", "ignore"]), BLOCK),
    "opening": (opening, BLOCK),
    "marked": (marked, BLOCK),
    "fold": (fold, BLOCK),
    "Folded": (Folded, BLOCK),
    "sentences": (sentences, BLOCK),
    "blame": (lambda text: BlameState().follow("", [text, text[1:] + "! " + text[:9], text[::-1]]), PARSED),
    "edits.apply": (lambda text: edits.apply(text, [edits.Rewrite(text + "!")]), BLOCK),
    "chunking.sections": (lambda text: [*sections(text)], BLOCK),
    "chunking.cut": (lambda text: cut(text, 1_000), BLOCK),
    "words.words": (words, CHUNK),
    "query.marks": (marks, CHUNK),
    "query.parse_query": (lambda text: parse_query(text, {1: "ann"}), QUERY),
    "dates.cues": (cues, QUERY),
    "memories_md.parse": (lambda text: memories_md.parse("### mem-2-bbbb\n> a\n" + text), BLOCK),
    "list_items.find": (lambda text: list_items.find("- a\n" + text), BLOCK),
    "worddiff.paragraphs": (lambda text: paragraphs(diff("", text)), BLOCK),
    "worddiff.excerpt": (lambda text: excerpt(diff("a", text)), BLOCK),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_hostile_texts_take_time_in_proportion(name: str) -> None:
    run, most = FUNCTIONS[name]
    slow = {}
    for shape, text_of in SHAPES.items():
        if found := superlinear(run, text_of, (most // 64, most // 8, most)):
            slow[shape] = found
    assert slow == {}


def test_looking_for_a_passage_takes_time_in_proportion() -> None:
    slow = {}
    for shape, text_of in SHAPES.items():
        # A needle that is nearly a part of the text, and as hostile.
        found = superlinear(
            lambda text: nearest(Folded(text), f"{text[: len(text) // 4]}z{text[:100]}"), text_of, (512, 4_096)
        )
        if found:
            slow[shape] = found
    assert slow == {}


def test_a_text_that_is_too_long_is_not_laid_out() -> None:
    text = "**bold** [a](https://example.org)\n" * 2_000
    assert len(text) > LONGEST
    html = rendering.render(text)
    assert "too long to be laid out" in html
    assert "<strong>" not in html
    assert "**bold** [a](https://example.org)" in html
    assert [risk.key for risk in report("", text).risks] == ["links_added"]
    assert "<strong>" in rendering.render(text[: LONGEST - 10])
