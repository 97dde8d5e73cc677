"""Two people changed one text: what both can have is merged, and what they cannot is a conflict.

Where the order or the meaning of two changes is a guess, a merge is a conflict, not one of the guesses.
"""

import random
import re
import textwrap
import time
from collections.abc import Callable
from itertools import chain, pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from benchmarks import merge_cases
from memory_app.text.merge import Conflict, Conflicted, merge

pytestmark = pytest.mark.pure

TEA = "Ann drinks green tea in the morning. She reads on the train to work. Her sister lives in Bern."
FOUR = "One is here. Two is here. Three is here. Four is here.\n"
TABLE = "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n"
#: Sentences by a letter; a small one is that sentence with a word changed.
SENTENCES = {
    "A": "Ann drinks green tea in the morning.",
    "a": "Ann drinks black tea in the morning.",
    "B": "Her brother Ben lives in a house by the lake.",
    "b": "Her brother Ben lives in a house by the sea.",
    "C": "The cat sleeps on the old red sofa.",
    "D": "Dan comes home late on most days.",
    "N": "Nothing is known about that yet.",
    "O": "Eve prefers to swim before breakfast.",
    "L": "This line is so long that no person would have wrapped it by hand at this place, as all readers see easily, "
    "and goes on.",
    "P": "He met Philip A.",
}
Layout = Callable[[str], str]


def said(letters: str) -> str:
    """Return paragraphs of sentences, apart where there is a `_`."""
    return "\n\n".join(" ".join(SENTENCES[each] for each in part) for part in letters.split("_")) + "\n"


def lines(letters: str) -> str:
    """Return one paragraph with a line for each sentence."""
    return "".join(f"{SENTENCES[each]}\n" for each in letters)


def items(letters: str) -> str:
    return "".join(f"- {SENTENCES[each]}\n" for each in letters)


def numbered(letters: str) -> str:
    return "".join(f"{number}. {SENTENCES[each]}\n" for number, each in enumerate(letters, 1))


def sections(letters: str) -> str:
    return "\n".join(f"# {each.upper()}\n\n{SENTENCES[each]}\n" for each in letters)


def rows(letters: str) -> str:
    return "| a | b | c |\n|---|---|---|\n" + "".join(f"| {each}1 | {each}2 | day |\n" for each in letters)


def conflicted(base: str, ours: str, theirs: str) -> Conflicted:
    """Merge what is a conflict whichever side is ours."""
    result = merge(base, ours, theirs)
    assert isinstance(result, Conflicted), result
    assert merge(base, theirs, ours) == swapped(result)
    return result


def swapped(result: str | Conflicted) -> str | Conflicted:
    if isinstance(result, str):
        return result
    return Conflicted(
        tuple(
            Conflict(part.base, part.theirs, part.ours) if isinstance(part, Conflict) else part for part in result.parts
        )
    )


def taking_ours(result: Conflicted) -> str:
    return result.resolved([each.ours for each in result.conflicts])


# -- what both can have -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("base", "ours", "theirs"),
    [
        pytest.param(TEA, ("green", "black"), ("Bern", "Basel"), id="two sentences of a paragraph"),
        pytest.param(TEA, ("green", "black"), ("morning", "evening"), id="two places of a sentence"),
        pytest.param("Ann has 3 cats, 2 dogs and 14 rooms there.", ("3", "4"), ("14", "15"), id="two numbers"),
        pytest.param("- a\n- b\n- c", ("- b", "- x\n- b"), ("- c", "- c\n- d"), id="new items"),
        pytest.param("- a\n- b\n- c\n", ("- a\n", ""), ("- c\n", ""), id="items gone"),
        pytest.param("- [ ] tea\n- [ ] milk\n", ("[ ]", "[x]"), ("tea", "green tea"), id="ticked and reworded"),
        pytest.param(TABLE, ("| 2 |", "| 9 |"), ("| 1 |", "| 8 |"), id="cells of a row"),
        pytest.param(TABLE, ("| 2 |", "| 9 |"), ("| 4 |\n", "| 4 |\n| 5 | 6 |\n"), id="a cell and a new row"),
        pytest.param(FOUR, ("here. Three", "here.\n\nThree"), ("Four is", "Four was"), id="cut in two paragraphs"),
        pytest.param(
            FOUR.replace(" Three", "\n\nThree"), ("\n\nThree", " Three"), ("One is", "One was"), id="paragraphs joined"
        ),
        pytest.param("一。二二二二。三三三三。", ("二二二", "二二五二"), ("三三三", "三三六三"), id="no spaces"),
        pytest.param("cafe\u0301 one two three.", ("cafe\u0301", "cafe"), ("three", "four"), id="an accent"),
        pytest.param(
            "Keep. Go here. Stay there.\n", ("Go here. ", ""), ("Keep.", "Keep. New one."), id="put in before what went"
        ),
    ],
)
def test_what_each_side_replaced_is_replaced(base: str, ours: tuple[str, str], theirs: tuple[str, str]) -> None:
    one, other = base.replace(*ours, 1), base.replace(*theirs, 1)
    assert merge(base, one, other) == merge(base, other, one) == other.replace(*ours, 1)


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "expected"),
    [
        pytest.param("a\r\nb\r\nc\r\n", "a\r\nx\r\nc\r\n", "a\nb\nc\nd\n", "a\nx\nc\nd\n", id="other line ends"),
        pytest.param("a\r\nb\r\n", "a\r\nb\r\nc", "x\r\nb\r\n", "x\r\nb\r\nc", id="no line end at the end"),
        pytest.param(
            "Ann drinks green tea every single morning before\nshe goes to work by train. She reads on the way.\n",
            "Ann drinks green tea every single\nmorning before she goes to work by train. She reads on\nthe way.\n",
            "Ann drinks green tea every single morning before\nshe goes to work by train. She sleeps on the way.\n",
            "Ann drinks green tea every single\nmorning before she goes to work by train. She sleeps on\nthe way.\n",
            id="wrapped anew and edited",
        ),
    ],
)
def test_what_both_did_to_line_ends_is_merged(base: str, ours: str, theirs: str, expected: str) -> None:
    assert merge(base, ours, theirs) == merge(base, theirs, ours) == expected


@pytest.mark.parametrize(
    ("layout", "base", "ours", "theirs", "expected"),
    [
        pytest.param(items, "ABCD", "AD", "AB", "A", id="items gone that overlap"),
        pytest.param(numbered, "ABC", "ANBC", "ABCD", "ANBCD", id="numbers count on"),
        pytest.param(numbered, "NAB", "ONAB", "NAb", "ONAb", id="an item at the top leaves the others alone"),
        pytest.param(sections, "AB", "BA", "Ab", "bA", id="moved and edited"),
        pytest.param(said, "ABC", "AbC", "AOBC", "AObC", id="edited beside something new"),
        pytest.param(said, "ABC", "AONC", "ANC", "AONC", id="what both did says where the rest stands"),
    ],
)
def test_what_both_did_is_merged(layout: Layout, base: str, ours: str, theirs: str, expected: str) -> None:
    one, other = layout(ours), layout(theirs)
    assert merge(layout(base), one, other) == merge(layout(base), other, one) == layout(expected)


def test_lines_wrapped_anew_by_both_give_one_result() -> None:
    words = "Ann drinks green tea every single morning before she goes to work by train and reads on the way there"
    base, ours, theirs = (f"{textwrap.fill(words, width)}.\n" for width in (80, 60, 52))
    assert merge(base, ours, theirs) == merge(base, theirs, ours)


# -- what only one can have, and what would be a guess ------------------------------------------------


REWRITTEN = (
    "She reads on the train to work.",
    "On her way she usually listens to music.",
    "She reads on the bus to work.",
)


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "expected"),
    [
        pytest.param("a\n", "b\n", "c\n", ("a", "b", "c"), id="the same line"),
        pytest.param("", "a", "b", ("", "a", "b"), id="two first texts"),
        pytest.param("- a\n", "- a\n- b\n", "- a\n- c\n", ("", "- b\n", "- c\n"), id="two ends of a list"),
        pytest.param("One. Two.", "One. Six. Two.", "One. Ten. Two.", ("", "Six. ", "Ten. "), id="two new sentences"),
        pytest.param(*REWRITTEN, REWRITTEN, id="rewritten and touched"),
    ],
)
def test_a_conflict_is_what_the_two_disagree_about(
    base: str, ours: str, theirs: str, expected: tuple[str, str, str]
) -> None:
    assert conflicted(base, ours, theirs).conflicts == (Conflict(*expected),)


@pytest.mark.parametrize(
    ("layout", "base", "ours", "theirs"),
    [
        pytest.param(said, "A_B_C", "A_C", "A_b_C", id="deleted and edited"),
        pytest.param(said, "AB_D", "D", "ABC_D", id="deleted and added to"),
        pytest.param(said, "ABC", "ANC", "AOBC", id="took out and put in"),
        pytest.param(items, "ABC", "ANC", "AOBC", id="items likewise"),
        pytest.param(rows, "AB", "AN", "AOB", id="rows that share a column"),
        pytest.param(numbered, "ABC", "ANC", "AOB", id="numbers are no words in common"),
        pytest.param(said, "ABC", "APBC", "AOBC", id="put in and not seen as a sentence"),
        pytest.param(said, "ABC", "ANBC", "ABNC", id="the same put in at two places"),
        pytest.param(lines, "ABL", "ANBL", "AOBL", id="lines of one paragraph"),
        pytest.param(items, "AB", "A", "B", id="every item taken out"),
        pytest.param(said, "ABCD", "BACD", "BCDA", id="moved to two places"),
        pytest.param(said, "ABCD", "BCDA", "BCD", id="moved and taken out"),
        pytest.param(said, "ABCD", "BACD", "AOBCD", id="put in beside a move"),
        pytest.param(said, "ABCD", "BCDa", "BC", id="moved with an edit and taken out"),
    ],
)
def test_a_guess_is_a_conflict(layout: Layout, base: str, ours: str, theirs: str) -> None:
    conflicted(layout(base), layout(ours), layout(theirs))


@pytest.mark.parametrize(
    ("base", "ours", "theirs"),
    [
        pytest.param("a red car is here", "a blue car is here", "a red bike is here", id="words side by side"),
        pytest.param("| a |\n|---|\n| 1 |\n", TABLE, "| a |\n|---|\n| 1 |\n| 3 |\n", id="a column and a row"),
        pytest.param("一二三四。五六七。九。", "一二三四。甲乙。九。", "一二三四。子丑。五六七。九。", id="no spaces"),
    ],
)
def test_a_guess_inside_a_line_is_a_conflict(base: str, ours: str, theirs: str) -> None:
    conflicted(base, ours, theirs)


def test_a_conflict_stands_among_what_was_merged() -> None:
    result = conflicted("- a one\n- b\n- c\n", "- A one\n- x\n- c\n", "- a one\n- y\n- c\n- d\n")
    assert result.parts == ("- A one\n- ", Conflict("b", "x", "y"), "\n- c\n- d\n")
    assert result.resolved(["z"]) == "- A one\n- z\n- c\n- d\n"
    for choices in ([], ["x", "y"]):
        with pytest.raises(ValueError, match="1 conflicts need as many choices"):
            result.resolved(choices)


def test_conflicts_keep_the_line_ends_of_the_text() -> None:
    ours = "a\r\nx\r\ny\r\nc\r\n"
    assert taking_ours(conflicted("a\r\nb\r\nc\r\n", ours, "a\r\nz\r\nc\r\n")) == ours


def test_numbers_are_right_on_either_side_of_a_conflict() -> None:
    result = conflicted(numbered("ABC"), numbered("ANOBCD"), numbered("APBC"))
    assert taking_ours(result) == numbered("ANOBCD")


# -- properties -------------------------------------------------------------------------------------

PIECES = ("one", "two", " ", " ", ". ", "\n", "\n\n", "\n- ", "\n1. ", "\n# ", "| ", " |\n", "数", "。", "e\u0301", "é")
texts = st.lists(st.sampled_from((*PIECES, "\r\n", "!")), max_size=25).map("".join) | st.text(max_size=20)


@given(base=texts, ours=texts, theirs=texts)
@example(base="", ours="\n", theirs="\n\n")
def test_the_sides_may_be_swapped_and_conflicts_are_real(base: str, ours: str, theirs: str) -> None:
    result = merge(base, ours, theirs)
    assert merge(base, theirs, ours) == swapped(result)
    if isinstance(result, Conflicted):
        assert result.conflicts
        assert "" not in result.parts
        assert all(each.ours != each.theirs for each in result.conflicts)
        kinds = [isinstance(part, str) for part in result.parts]
        assert (True, True) not in list(pairwise(kinds))


@given(base=texts, other=texts)
def test_what_one_side_did_alone_is_taken_exactly(base: str, other: str) -> None:
    assert merge(base, other, base) == merge(base, base, other) == merge(base, other, other) == other
    assert merge(base, base, base) == base


@st.composite
def three_texts(draw: st.DrawFn) -> tuple[str, str, str]:
    """Texts of words that occur once each: what becomes of a word can be told from its name."""
    chance = draw(st.randoms(use_true_random=False))
    count = draw(st.integers(1, 12))
    base = [" ".join(f"s{at}w{word}" for word in range(chance.randint(2, 9))) + "." for at in range(count)]

    def changed(at: int, sentence: str, side: str) -> list[str]:
        kind = chance.random()
        if kind < 0.15:
            return []
        if kind < 0.5:
            return [re.sub(rf"s{at}w{chance.randrange(sentence.count('w'))}\b", f"{side}{at}", sentence)]
        return [sentence] if kind < 0.85 else [f"{side}{at}x {side}{at}y.", sentence]

    def text(sentences: list[list[str]]) -> str:
        paragraphs = [" ".join(chain(*sentences[at : at + 3])) for at in range(0, count, 3)]
        return "\n\n".join(filter(None, paragraphs))

    ours, theirs = ([changed(at, each, side) for at, each in enumerate(base)] for side in "ot")
    return text([[each] for each in base]), text(ours), text(theirs)


def words_of(text: str) -> set[str]:
    return set(text.replace(".", " ").split())


@given(three_texts())
def test_nothing_is_lost_invented_or_brought_back(versions: tuple[str, str, str]) -> None:
    base, ours, theirs = map(words_of, versions)
    result = merge(*versions)
    if isinstance(result, str):
        expected = (base & ours & theirs) | (ours - base) | (theirs - base)
        assert sorted(result.replace(".", " ").split()) == sorted(expected)
        return
    our_words = words_of(taking_ours(result))
    assert ours - base <= our_words
    in_conflict = words_of(" ".join(each.ours for each in result.conflicts))
    assert not (our_words - in_conflict) & (base - (ours & theirs))


def sentences(count: int, seed: object) -> list[str]:
    """Return sentences of words that are made up, so that two of them have little in common."""
    chance = random.Random(str(seed))
    words = ["".join(chance.choices("abcdefghijklmnop", k=chance.randint(3, 9))) for _ in range(3_000)]
    return [f"{' '.join(chance.sample(words, chance.randint(5, 18))).capitalize()}." for _ in range(count)]


@pytest.mark.parametrize("kind", merge_cases.KINDS)
def test_no_merge_is_other_than_both_meant(kind: str) -> None:
    chance = random.Random(kind)
    pool = sentences(80, kind)
    right = 0
    for _ in range(50):
        base, ours, theirs, expected = merge_cases.cases(kind, pool, chance)
        result, other = merge(base, ours, theirs), merge(base, theirs, ours)
        assert isinstance(result, Conflicted) == isinstance(other, Conflicted)
        assert isinstance(result, Conflicted) or result == expected == other
        right += (None if isinstance(result, Conflicted) else result) == expected
    assert right >= 45


def edited(before: list[str], seed: int) -> list[str]:
    chance = random.Random(seed)
    return [each.replace(" ", " CHANGED ", 1) if chance.random() < 0.1 else each for each in before]


PROSE = sentences(2_500, 1)
VERSIONS = (PROSE, edited(PROSE, 2), edited(PROSE, 3))
UNRELATED = [sentences(2_500, seed) for seed in (4, 5, 6)]
HOPELESS = {
    "prose": ["\n\n".join(each) for each in VERSIONS],
    "one giant paragraph": [" ".join(each) for each in VERSIONS],
    "all lines equal": ["a\n" * count for count in (100_000, 98_000, 100_500)],
    "all unrelated": ["\n".join(each) for each in UNRELATED],
    "unrelated without a stop": [" ".join(each).replace(".", "") for each in UNRELATED],
}


@pytest.mark.slow
@pytest.mark.parametrize("versions", HOPELESS.values(), ids=HOPELESS)
def test_long_texts_end_soon(versions: list[str]) -> None:
    start = time.thread_time()
    merge(*versions)
    # Well under a second on an idle machine; the rest is a busy one's.
    assert time.thread_time() - start < 5
