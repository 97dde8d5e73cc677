"""Word-level diffs: complete, readable, bounded in time; and how they are laid out."""

import random
import time
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memory_app.text.worddiff import Fold, Paragraph, Segment, compare, count_words, diff, excerpt, fold, paragraphs
from memory_app.text.worddiff.compare import tokens
from memory_app.text.worddiff.excerpt import LONGEST
from memory_app.text.worddiff.layout import side_by_side, with_replaced_paragraphs
from tests.memory_app.text.marked import marked, texts_of, versions

pytestmark = pytest.mark.pure


def assert_whole(segments: tuple[Segment, ...], before: str, after: str) -> None:
    """Assert that both texts are there, in stretches as long as they can be, what was removed first."""
    assert texts_of(segments) == (before, after)
    assert all(segment.text for segment in segments)
    kinds = [segment.kind for segment in segments]
    assert all(kind != following for kind, following in pairwise(kinds))
    assert ("added", "removed") not in list(pairwise(kinds))


# Everything that cuts texts wrongly in naive code: joined emoji, accents, both line ends, right-to-left, no spaces.
PLAIN = ("word", "other", " ", "  ", "\n", "\r\n", "\r", ".", "-", "don't", "3.5")
MARKS = ("e\u0301", "\u0301", "\u200d", "\ufe0f", "\u202e", "\u2028", "👨‍👩‍👧", "👍🏽", "🇩🇪", "🇫")
SCRIPTS = ("שלום", "مرحبا", "می‌خواهم", "हिन्दी", "数", "学", "ไทย")
awkward = st.lists(st.sampled_from(PLAIN + MARKS + SCRIPTS), max_size=30).map("".join)
texts = awkward | st.text(max_size=60)


@given(before=texts, after=texts)
@example(before="a\r\nb", after="a\nb")
@example(before="\U0010ffff\x00", after="\x00")
def test_a_diff_holds_both_texts_completely(before: str, after: str) -> None:
    assert_whole(diff(before, after), before, after)


@given(before=texts, after=texts)
def test_layouts_lose_nothing(before: str, after: str) -> None:
    segments = diff(before, after)
    items = paragraphs(segments)
    inner = tuple(segment for paragraph in items for segment in paragraph.segments)
    assert texts_of(inner) == (before, after)

    unfolded: list[Paragraph] = []
    for item in fold(items):
        unfolded += item.paragraphs if isinstance(item, Fold) else [item]
    assert tuple(unfolded) == items

    rows = side_by_side(segments)
    assert "".join(segment.text for row in rows for segment in row.left) == before
    assert "".join(segment.text for row in rows for segment in row.right) == after
    assert all(segment.kind != "added" for row in rows for segment in row.left)
    assert all(segment.kind != "removed" for row in rows for segment in row.right)
    assert any(row.changed for row in rows) == (before != after)


@given(before=texts, after=texts)
def test_line_numbers_are_those_of_the_texts(before: str, after: str) -> None:
    for paragraph in paragraphs(diff(before, after)):
        for number, text, other in (
            (paragraph.before_line, before, "added"),
            (paragraph.after_line, after, "removed"),
        ):
            own = "".join(segment.text for segment in paragraph.segments if segment.kind != other)
            assert (number is None) == (own == "")
            if number is not None:
                assert own.rstrip("\n") in text.split("\n")[number - 1]


@given(before=texts, after=texts)
@example(before="", after="\u0301\u200d\n")  # a joiner joins no line end to what is before it
def test_an_excerpt_is_short_and_says_something_when_anything_changed(before: str, after: str) -> None:
    parts = excerpt(diff(before, after))
    assert sum(len(text) for _, text in parts) <= LONGEST
    assert any(kind in ("added", "removed") for kind, _ in parts) == (before != after)
    assert not any("\n" in text for _, text in parts)


@given(texts)
def test_pieces_joined_are_the_text(text: str) -> None:
    assert "".join(tokens(text)) == text


@pytest.mark.parametrize(
    "whole", "e\u0301te\u0301 हिन्दी می‌خواهم 👨‍👩‍👧 👍🏽 🇩🇪 ❤️ 🏴󠁧󠁢󠁥󠁮󠁧󠁿 don't l’été 3.14 1,000 \r\n שָׁלוֹם".split(" ")
)
def test_what_a_reader_sees_as_one_is_never_cut(whole: str) -> None:
    assert tokens(f"a {whole} b") == ["a", " ", whole, " ", "b"]


@pytest.mark.parametrize(
    "expected",
    [
        pytest.param("The cat [-sat-]{+lay+} on the [-mat-]{+rug+}.", id="words are replaced whole"),
        pytest.param("one [-goal-]{+goals+}", id="a changed ending changes the word"),
        pytest.param("[-old text entirely other-]{+Nothing is in common here+}", id="spaces in common are not kept"),
        pytest.param("[-I want the guitar-]{+She hopes to play the piano+}.", id="a reworded sentence is one change"),
        pytest.param("Ann likes algebra. {+She is quick. +}She struggles.", id="a sentence comes whole"),
        pytest.param("{+- read books\n+}- read more\n- sleep\n", id="a line comes whole"),
        pytest.param("a\n[-b\n-]c\n", id="a line goes whole"),
        pytest.param("a[-\nb-]", id="the last line goes with the line end before it"),
        pytest.param("[-one-]{+uno+}\n\n[-two-]{+due+}\n", id="paragraphs stay apart"),
        pytest.param("我{+很+}喜欢学习[-数学-]{+物理+}", id="no spaces: per character"),
        pytest.param("is [-3.5-]{+3.6+} long", id="numbers are words"),
        pytest.param("a[-\r\n-]{+\n+}b", id="line ends are compared too"),
        pytest.param("same", id="nothing changed"),
        pytest.param("{+new+}", id="from nothing"),
        pytest.param("[-old-]", id="to nothing"),
        pytest.param("", id="nothing at all"),
        pytest.param(
            "{+A new first paragraph.\n\n+}Likes [-algebra-]{+geometry+} and numbers.\n\n"
            "Reads on the [-train-]{+bus+} every day.\n",
            id="a paragraph put in front does not shift the others",
        ),
    ],
)
def test_a_diff_reads_well(expected: str) -> None:
    assert marked(diff(*versions(expected))) == expected


def test_words_are_counted_by_what_was_added_and_removed() -> None:
    assert count_words(diff("one two three", "one 2 3 four")) == (3, 2)
    assert count_words(diff("a, b", "a; b")) == (0, 0)
    assert count_words(diff("", "数学")) == (2, 0)


def prose(words: int, seed: int) -> list[str]:
    chance = random.Random(seed)
    vocabulary = ["".join(chance.choices("abcdefghijklmnop", k=chance.randint(2, 9))) for _ in range(3000)]
    found = chance.choices(vocabulary, weights=[1 / (rank + 1) for rank in range(3000)], k=words)
    return [word + (".\n\n" if number % 60 == 59 else " ") for number, word in enumerate(found)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("".join(prose(10_000, 1)), "".join(prose(10_000, 2)), id="unrelated"),
        pytest.param("x " + "a " * 50_000 + "y", "z " + "a " * 49_000 + "w", id="one word over and over"),
        pytest.param("a\n" * 40_000, "\n\n\n" + "b\na\n" * 40_000, id="tiny lines"),
    ],
)
def test_hopeless_comparisons_end_soon_and_still_hold_both_texts(before: str, after: str) -> None:
    # They take less than half a second; the rest is a busy machine's. Without a limit these take minutes.
    start = time.thread_time()
    segments = diff(before, after)
    assert time.thread_time() - start < 5
    assert texts_of(segments) == (before, after)
    assert diff(before, after) == segments


def test_past_the_limit_lines_are_compared_and_then_what_is_inside_those_that_differ(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = "a b a b a b\nx y x y x y\na b a b a b\n"
    after = "b a b a b a\nx y x y x y\na b a c a b\n"
    assert marked(diff(before, after)).startswith("{+b +}a b a b a[- b-]\n")
    monkeypatch.setattr(compare, "MOST_PAIRS", 140)
    assert marked(diff(before, after)) == "[-a b a b a b-]{+b a b a b a+}\nx y x y x y\na b a [-b-]{+c+} a b\n"


def test_a_long_insertion_does_not_hide_the_small_changes_around_it() -> None:
    before = prose(6_000, 1)
    after = before.copy()
    after[5_000] = "CHANGED "
    after[2_000:2_000] = prose(3_000, 2)
    after[1_000] = "ALSO "
    changed = [segment for segment in diff("".join(before), "".join(after)) if segment.kind == "added"]
    assert [segment.text.strip() for segment in changed if len(segment.text) < 20] == ["ALSO", "CHANGED"]
    assert len(changed) == 3


def test_every_paragraph_knows_its_lines_and_whether_it_changed() -> None:
    items = paragraphs(diff("a\nb\nc\n", "a\nx\ny\nc\n"))
    assert [(item.text, item.before_line, item.after_line, item.changed) for item in items] == [
        ("a\n", 1, 1, False),
        ("bx\n", 2, 2, True),
        ("y\n", 2, 3, True),
        ("c\n", 3, 4, False),
    ]


def test_unchanged_paragraphs_fold_but_for_one_readable_one_beside_a_change() -> None:
    lines = [f"line {number}\n" for number in range(10)]
    changed = [*lines[:4], "\n", "new\n", *lines[4:]]
    assert folded("".join([*lines[:4], "\n", *lines[4:]]), "".join(changed)) == [3, *changed[3:7], 5]
    # A single one is not worth it; a text without changes folds as a whole.
    assert folded("a\nb\nc\nd\n", "x\nb\nc\nd\n", context=2) == ["ax\n", "b\n", "c\n", "d\n"]
    assert folded("a\n\nb\nc", "a\n\nb\nc") == [3]


def folded(before: str, after: str, **how: int) -> list[str | int]:
    items = fold(paragraphs(diff(before, after)), **how)
    return [item.count if isinstance(item, Fold) else item.text for item in items]


@given(before=texts, after=texts)
def test_replaced_paragraphs_lose_nothing_and_keep_the_order(before: str, after: str) -> None:
    segments = with_replaced_paragraphs(diff(before, after))
    assert_whole(segments, before, after)
    assert with_replaced_paragraphs(segments) == segments


@pytest.mark.parametrize(
    "expected",
    [
        pytest.param(
            "[-Confuses the trace of a map with its image.-]{+Knows the kernel of a map and its rank by now.+}\nEnd.\n",
            id="mostly rewritten",
        ),
        pytest.param(
            "[-- Confuses “σ-algebra generated by a map” with “image σ-algebra”. No example has helped so far.-]"
            "{+- **σ-algebra generated by a map / image σ-algebra.** Open. Next attempt: ask which of the two makes "
            "the map measurable and which makes it useless.+}\n",
            id="rewritten at more length",
        ),
        pytest.param("Alice likes [-long walks-]{+short films+}.\n", id="mostly kept"),
        pytest.param(
            "{+Now and then one after the other does so. +}She reads one book.{+ And then all of them do it again.+}\n",
            id="only additions",
        ),
        pytest.param(
            "[-Now and then one after the other does so. -]She reads one book.[- And then all of them do it again.-]\n",
            id="only removals",
        ),
    ],
)
def test_a_paragraph_of_which_little_stays_is_the_old_one_then_the_new_one(expected: str) -> None:
    assert marked(with_replaced_paragraphs(diff(*versions(expected)))) == expected


def test_a_paragraph_that_was_split_is_no_rewritten_one() -> None:
    segments = diff("Alpha beta. Gamma delta.\n", "Alpha beta.\nGamma and delta.\n")
    assert with_replaced_paragraphs(segments) == segments


def test_side_by_side_puts_lines_that_share_text_in_one_row() -> None:
    rows = side_by_side(diff("a\nb one\nc\n", "new\na\nb two\nd\ne\nc\n"))
    # As they are drawn: the number 1, not what is equal to it.
    assert (str(rows[0].right_line), str(rows[1].left_line)) == ("1", "1")
    assert [(marked(row.left), marked(row.right), row.left_line, row.right_line, row.changed) for row in rows] == [
        ("", "{+new\n+}", None, 1, True),
        ("a\n", "a\n", 1, 2, False),
        ("b [-one-]\n", "b {+two\n+}", 2, 3, True),
        ("", "{+d\n+}", None, 4, True),
        ("", "{+e+}\n", None, 5, True),
        ("c\n", "c\n", 3, 6, False),
    ]


SPEAKS = "She speaks Fremdsprachenkorrespondenz well. In June she moves to another Universitätsstadt in the south.\n"
TABLE = "| day | what |\n| --- | --- |\n| Monday | free |\n| Tuesday | free |\n"


@pytest.mark.parametrize(
    ("text", "old", "new", "shown"),
    [
        (SPEAKS, "In June", "In May", "… well. In [-June-]{+May+} she moves to …"),  # whole words, and no stop before
        ("So. He has two cats.", "cats", "dogs", "… He has two [-cats-]{+dogs+}."),
        ("One, two books.", "books", "pens", "One, two [-books-]{+pens+}."),
        (TABLE, "free", "sheet", "· day · what · Monday · [-free-]{+sheet+} · Tuesday · [-free-]{+sheet+} · "),
        ("one\ntwo", "\n", " ", "one[-¶-]{+ +}two"),
    ],
)
def test_an_excerpt_shows_a_change_with_a_few_words_around_it(text: str, old: str, new: str, shown: str) -> None:
    assert marked(excerpt(diff(text, text.replace(old, new)))) == shown


def test_an_excerpt_prefers_changes_of_words_to_changes_of_spacing() -> None:
    before = "".join(f"line {number} stays as it is here\n" for number in range(40))
    after = before.replace("line 30", "row thirty").replace("as it", "as  it")
    assert ["added", "row thirty"] in excerpt(diff(before, after))
    assert ["same", "Universitätsstadt in the"] in excerpt(diff(SPEAKS, SPEAKS.replace("to another", "to")))
