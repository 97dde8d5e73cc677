"""The passage an agent meant is found and explained, and all that may be meant."""

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_app.text.folding import Folded, fold
from memory_app.text.fuzzy_match import Nearest, nearest, passages, without_line_numbers

pytestmark = pytest.mark.pure

GOALS = """# Learning goals

- Pass the algebra exam in June with a grade of 2 or better.
- Read twenty pages on the train to school every day.
- Sleep eight hours, also before exams.

## Why

She said: “I don’t want to be afraid of maths – not any more.”
Her café naïveté is gone.
学ぶことは楽しいと彼女は言った。明日から毎日数学を勉強する。
"""


def found(needle: str, text: str = GOALS) -> Nearest:
    (result,) = passages(text, needle)
    return result


@pytest.mark.parametrize(
    ("needle", "passage", "forms"),
    [
        ("Pass the  algebra\nexam", "Pass the algebra exam", "whitespace"),
        ("Pass the\u00a0algebra exam", "Pass the algebra exam", "whitespace"),
        ("  - Sleep eight hours,", "- Sleep eight hours,", "whitespace"),
        ("pass the Algebra exam", "Pass the algebra exam", "case"),
        ("said: \"I don't want to be", "said: “I don’t want to be", "quotes"),
        ("of maths - not any more", "of maths – not any more", "quotes"),
        ("Her cafe\u0301 nai\u0308vete\u0301", "Her café naïveté", "unicode"),
        ("Sleep\u200b eight hours", "Sleep eight hours", "unicode"),
        ("pass  the algebra exam", "Pass the algebra exam", "whitespace case"),
        ("Pass the geometry exam in June", "Pass the algebra exam in June", "words"),
        ("Read twnety pages on teh train", "Read twenty pages on the train", "words"),
        ("彼女は言った。今日から毎日数学を", "彼女は言った。明日から毎日数学を", "words"),
    ],
)
def test_the_passage_is_found_and_the_difference_named(needle: str, passage: str, forms: str) -> None:
    result = found(needle)
    assert result.differences.forms == (*forms.split(),)
    assert result.passage == passage
    assert GOALS.count(result.passage) == 1


@pytest.mark.parametrize(
    ("needle", "forms", "words"),
    [
        ("pass teh Algebra exam", ("case", "words"), (("teh", "the"),)),
        ("pass  the algebra exam", ("whitespace", "case"), ()),
        ("Read twnety pages on teh train", ("words",), (("twnety", "twenty"), ("teh", "the"))),
        ("said: \"I don't want too be afraid", ("quotes", "words"), (("too", "to"),)),
        ("Her cafe\u0301 nai\u0308vete\u0301 is gonne", ("unicode", "words"), (("gonne", "gone"),)),
        ("Sleep eight good hours, also", ("words",), (("good", ""),)),
        ("pass the algebra exam", ("case",), ()),
    ],
)
def test_several_differences_are_all_named(
    needle: str, forms: tuple[str, ...], words: tuple[tuple[str, str], ...]
) -> None:
    told = found(needle).differences
    assert (told.forms, told.words) == (forms, words)


def test_very_long_texts_are_not_compared_word_by_word() -> None:
    text = " ".join(f"word{number}" for number in range(400))
    result = found(text.replace("word7 ", "Wrod7 "), text)
    assert result.differences is None


def test_the_lines_of_the_passage_are_given() -> None:
    result = found("- read twenty pages on the train to school every day.\n- sleep eight")
    assert (result.first_line, result.last_line) == (4, 5)
    assert result.passage == "- Read twenty pages on the train to school every day.\n- Sleep eight"
    # A line end at the end is part of it.
    result = found("- sleep eight hours, also before exams.\n")
    assert result.passage == "- Sleep eight hours, also before exams.\n"
    assert (result.first_line, result.last_line) == (5, 5)


def test_a_passage_begins_and_ends_with_whole_words_or_the_line() -> None:
    assert found("twentyfive pages on the trains").passage == "twenty pages on the train"
    assert found("- Sleep eight hours, also at weekends.").passage == "- Sleep eight hours, also before exams."


@pytest.mark.parametrize("needle", ["", "  \n", "\u200b", "Zebras graze quietly beyond the river", "1234567", "!!!???"])
def test_nothing_alike_is_not_found(needle: str) -> None:
    assert not passages(GOALS, needle)
    assert not passages("", "anything")


@pytest.mark.parametrize(
    ("text", "needle", "passage"),
    [
        ("a --- b *** c", "a -- b *** c", "a --- b *** c"),
        ("| --- | :---: | ---: |", "| -- | :---: | ---: |", "| --- | :---: | ---: |"),
        ("😀😃😄😁😆😅🤣😂🙂", "😃😄😁😎", "😃😄😁"),
    ],
)
def test_text_without_words_is_found_too(text: str, needle: str, passage: str) -> None:
    assert found(needle, text).passage == passage


@pytest.mark.parametrize(
    ("text", "needle", "lines"),
    [
        ("# Monday\n\n- read\n- sleep\n\n# Tuesday\n\n- read\n- rest\n", "- Read", [3, 8]),
        ("- read\n" * 50, "- Read", [*range(1, 51)]),
        # A word that tells two rows apart is the one that is wrong, or missing.
        ("| Mon | 10:00 | algebra |\n| Tue | 10:00 | algebra |\n", "| Wed | 10:00 | algebra |", [1, 2]),
        ("| Mon | 10:00 | algebra |\n| Tue | 10:00 | algebra |\n", "|  | 10:00 | algebra |", [1, 2]),
        ("| Mon | 10:00 | algebra |\n| Tue | 10:00 | algebra |\n", "| Tue | 10:00 | algbera |", [2]),
        ("- Homework due Friday 17:00\n\n- Homework due Friday 17:00.\n", "- homework due Friday 17:00", [1, 3]),
        ("Read more. She reads.", "read", [1]),
    ],
)
def test_all_that_fits_equally_well_is_found(text: str, needle: str, lines: list[int]) -> None:
    assert [each.first_line for each in passages(text, needle)] == lines


@pytest.mark.parametrize(
    ("text", "needle", "passage"),
    [
        ("- **Frau Keller** teaches German.\n", "- Frau Keller teaches German.", "- **Frau Keller** teaches German."),
        ("\t- **Frau Keller** teaches\n", "    - Frau Keller teaches", "\t- **Frau Keller** teaches"),
        ("She likes *long walks*.\n", "likes long walks", "likes *long walks*"),
        (
            "She runs five kilometres, stretches and writes the time down.\n",
            "She runs five kilometres ... writes the time down.",
            "She runs five kilometres, stretches and writes the time down.",
        ),
    ],
)
def test_a_passage_ends_at_words_and_outside_of_marks(text: str, needle: str, passage: str) -> None:
    assert [each.passage for each in passages(text, needle)] == [passage]


def test_an_unlike_passage_is_shown_with_what_they_have_in_common() -> None:
    assert found("PASS THE   ALGEBRA EXAM").similarity == 1
    assert 0.6 < found("Pass the geometry exam in June").similarity < 1
    result = found("- Read thirty books on the way to school at night.")
    assert result.similarity < 0.6
    assert result.first_line == 4


@pytest.mark.parametrize(
    ("numbered", "bare"),
    [
        ("12: a\n13: b", "a\nb"),
        ("  9\ta\n 10\t\n 11\tc", "a\n\nc"),
        ("1→a\n2→b\n", "a\nb\n"),
        ("7 | x", "x"),
        ("1. a list\n2. is no listing", "1. a list\n2. is no listing"),
        ("12: a\n14: b", "12: a\n14: b"),
        ("12: a\nb", "12: a\nb"),
        ("no numbers", "no numbers"),
    ],
)
def test_line_numbers_are_taken_off_only_when_every_line_has_one(numbered: str, bare: str) -> None:
    assert without_line_numbers(numbered) == bare
    # Those that belong to the text are kept.
    assert found("12: Buy  milk", "12: Buy milk\n13: Sleep\n").passage == "12: Buy milk"


def long_text(lines: int) -> str:
    chance = random.Random(1)
    words = ["".join(chance.choices("aeinrstlom", k=chance.randint(2, 9))) for _ in range(2_000)]
    return "".join(" ".join(chance.choices(words, k=chance.randint(4, 14))) + ".\n" for _ in range(lines))


def test_a_misquoted_line_is_found_among_thousands() -> None:
    text = long_text(5_000)
    lines = text.splitlines()
    for number in range(100, 5_000, 700):
        words = lines[number].split(" ")
        if len(words) > 6:
            needle = " ".join([*words[:2], "other", *words[3:]])
            result = found(needle, text)
            assert (result.first_line, result.passage) == (number + 1, lines[number])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "needle"),
    [
        pytest.param("word " * 40_000, "word " * 100 + "end", id="one word over and over"),
        pytest.param("a" * 200_000, "a" * 100_000 + "b", id="one letter"),
        pytest.param(long_text(3_000).replace("\n", " "), long_text(3_000)[1_000:101_000].replace("a", "o"), id="long"),
        pytest.param("ab" * 100_000, "ba" * 50_000 + "c", id="two letters"),
        pytest.param("\u0301" * 200_000 + "a", "a" * 50, id="only marks"),
        pytest.param("  \n" * 60_000 + "x", " x " * 1_000, id="white space"),
        pytest.param("數學" * 100_000, "學數學語" * 10_000, id="no spaces"),
        pytest.param("- read\n" * 28_000, "- Read\n- Read", id="repeated lines"),
        pytest.param("ﷺ" * 60_000, "ﷺ" * 3_000 + "x", id="ligatures of eighteen letters"),
    ],
)
def test_hostile_input_ends_soon(text: str, needle: str) -> None:
    start = time.thread_time()  # what else the machine does is none of its doing
    nearest(Folded(text), needle)
    assert time.thread_time() - start < 5


awkward = st.lists(
    st.sampled_from(
        ("read", "more", "Read", "café", "cafe\u0301", " ", "  ", "\n", "\r\n", "“", '"', "-", "–", "3: ", "数", "学")
    )
    | st.text(max_size=3),
    max_size=20,
).map("".join)
#: A text that repeats itself, and a needle that is two parts of it with something else between.
repeating = st.builds(
    lambda text, start, length, middle, tail: (text, text[start : start + length] + middle + text[:tail]),
    st.builds(
        lambda period, times: period * times,
        st.sampled_from(("- a\n", "a b ", "ab", "  - a\n    - b\n", "read more. ", "數學", "é ", "\n")),
        st.integers(2, 120),
    ),
    st.integers(0, 40),
    st.integers(1, 400),
    st.sampled_from(("", "z", "\n", "zebra ", "a")),
    st.integers(0, 200),
)


@given(st.tuples(awkward, awkward) | repeating)
def test_whatever_is_found_is_in_the_text(texts: tuple[str, str]) -> None:
    text, needle = texts
    for each in passages(text, needle):
        assert each.passage
        assert text.startswith(each.passage, each.start)
        assert 0 < each.similarity <= 1
        first = "\n".join(text.split("\n")[each.first_line - 1 : each.last_line])
        assert each.passage.rstrip("\n") in first


@given(awkward)
def test_every_place_of_a_folded_text_is_known_in_the_original(text: str) -> None:
    folded = Folded(text)
    assert folded.text == fold(text)
    for at in range(len(folded.text)):
        first, last = folded.span(at, at + 1)
        assert folded.text[at] in fold(text[first:last])
