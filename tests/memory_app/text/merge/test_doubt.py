"""Where the order or the meaning of two changes is a guess, a merge is a conflict, not one of the guesses."""

import random
import textwrap

import pytest

from benchmarks import merge_cases
from memory_app.text.merge import Conflicted, merge

pytestmark = pytest.mark.pure

ANN, BEN, CAT, DAN = (
    "Ann drinks green tea in the morning.",
    "Her brother Ben lives in a house by the lake.",
    "The cat sleeps on the old red sofa.",
    "Dan comes home late on most days.",
)
NEW = "Nothing is known about that yet."
OTHER = "Eve prefers to swim before breakfast."
LONG = (
    "This line is so long that no person would have wrapped it by hand at this place, as is easily seen by all readers."
)


def said(*sentences: str) -> str:
    return " ".join(sentences) + "\n"


def items(*texts: str) -> str:
    return "".join(f"- {text}\n" for text in texts)


def numbered(*texts: str) -> str:
    return "".join(f"{number}. {text}\n" for number, text in enumerate(texts, 1))


@pytest.mark.parametrize(
    ("base", "ours", "theirs"),
    [
        pytest.param(said(ANN, BEN, CAT), said(ANN, NEW, CAT), said(ANN, OTHER, BEN, CAT), id="took out and put in"),
        pytest.param(items(ANN, BEN, CAT), items(ANN, NEW, CAT), items(ANN, OTHER, BEN, CAT), id="items likewise"),
        pytest.param(
            "| a | b | c |\n|---|---|---|\n| tea | hot | day |\n| milk | cold | day |\n",
            "| a | b | c |\n|---|---|---|\n| tea | hot | day |\n| cake | soft | day |\n",
            "| a | b | c |\n|---|---|---|\n| tea | hot | day |\n| rice | dry | day |\n| milk | cold | day |\n",
            id="rows that share a column",
        ),
        pytest.param(
            numbered("a b c", "d e f", "g h i"),
            numbered("a b c", "x y z", "g h i"),
            numbered("a b c", "k l m", "d e f"),
            id="numbers are no words in common",
        ),
        pytest.param(
            "一二三四。五六七八。九十。",
            "一二三四。甲乙丙。九十。",
            "一二三四。子丑寅。五六七八。九十。",
            id="no spaces",
        ),
        pytest.param(
            said(ANN, BEN, CAT),
            said(ANN, "He met Philip A. " + BEN, CAT),
            said(ANN, OTHER, BEN, CAT),
            id="put in and not seen as a sentence",
        ),
        pytest.param(said(ANN, BEN, CAT, DAN), said(BEN, CAT, DAN, ANN), said(BEN, CAT, DAN), id="moved and taken out"),
        pytest.param(
            said(ANN, BEN, CAT, DAN),
            said(BEN, ANN, CAT, DAN),
            said(ANN, OTHER, BEN, CAT, DAN),
            id="put in beside a move",
        ),
        pytest.param(
            said(ANN, BEN, CAT, DAN),
            said(BEN, CAT, DAN, ANN.replace("green", "black")),
            said(BEN, CAT),
            id="moved with an edit and taken out",
        ),
        pytest.param(
            said(ANN, BEN, CAT), said(ANN, NEW, BEN, CAT), said(ANN, BEN, NEW, CAT), id="the same put in at two places"
        ),
        pytest.param(
            f"{ANN}\n{BEN}\n{LONG}\n",
            f"{ANN}\n{NEW}\n{BEN}\n{LONG}\n",
            f"{ANN}\n{OTHER}\n{BEN}\n{LONG}\n",
            id="lines of one paragraph",
        ),
        pytest.param(items("a b c", "d e f"), items("a b c"), items("d e f"), id="every item taken out"),
    ],
)
def test_a_guess_is_a_conflict(base: str, ours: str, theirs: str) -> None:
    assert isinstance(merge(base, ours, theirs), Conflicted)
    assert isinstance(merge(base, theirs, ours), Conflicted)


def test_both_that_did_the_same_leave_no_doubt() -> None:
    """What the other side did as well says where it stands."""
    base, ours, theirs = said(ANN, BEN, CAT), said(ANN, OTHER, NEW, CAT), said(ANN, NEW, CAT)
    assert merge(base, ours, theirs) == merge(base, theirs, ours) == ours


def test_an_edit_beside_something_new_is_no_doubt() -> None:
    edited = BEN.replace("lake", "sea")
    merged = said(ANN, OTHER, edited, CAT)
    assert merge(said(ANN, BEN, CAT), said(ANN, edited, CAT), said(ANN, OTHER, BEN, CAT)) == merged


def test_lines_wrapped_anew_by_both_give_one_result() -> None:
    words = "Ann drinks green tea every single morning before she goes to work by train and reads on the way there"
    base, ours, theirs = (f"{textwrap.fill(words, width)}.\n" for width in (80, 60, 52))
    assert merge(base, ours, theirs) == merge(base, theirs, ours)


def test_numbers_are_right_on_either_side_of_a_conflict() -> None:
    base, ours = numbered("a b c", "d e f", "g h i"), numbered("a b c", "n o p", "x y z", "d e f", "g h i", "end")
    result = merge(base, ours, numbered("a b c", "q r s", "d e f", "g h i"))
    assert isinstance(result, Conflicted)
    assert result.resolved([each.ours for each in result.conflicts]) == ours


def test_an_item_put_in_at_the_top_leaves_the_others_alone() -> None:
    base = numbered("a b c", "d e f", "g h i")
    ours, theirs = numbered("new one", "a b c", "d e f", "g h i"), numbered("a b c", "d e f", "g h j")
    assert merge(base, ours, theirs) == merge(base, theirs, ours) == numbered("new one", "a b c", "d e f", "g h j")


def sentences(chance: random.Random) -> list[str]:
    """Return sentences of words that are made up, so that two of them have little in common."""
    words = ["".join(chance.choices("abcdefghijklmnop", k=chance.randint(3, 9))) for _ in range(500)]
    return [f"{' '.join(chance.sample(words, chance.randint(5, 14))).capitalize()}." for _ in range(80)]


@pytest.mark.parametrize("kind", merge_cases.KINDS)
def test_no_merge_is_other_than_both_meant(kind: str) -> None:
    chance = random.Random(kind)
    pool = sentences(chance)
    right = 0
    for _ in range(50):
        base, ours, theirs, expected = merge_cases.cases(kind, pool, chance)
        result, swapped = merge(base, ours, theirs), merge(base, theirs, ours)
        assert isinstance(result, Conflicted) == isinstance(swapped, Conflicted)
        assert isinstance(result, Conflicted) or result == expected == swapped
        right += (None if isinstance(result, Conflicted) else result) == expected
    assert right >= 45
