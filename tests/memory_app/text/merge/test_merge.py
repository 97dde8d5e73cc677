"""Two people changed one text: what both can have is merged, and what they cannot is a conflict."""

import random
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memory_app.text.merge import Conflict, Conflicted, merge

pytestmark = pytest.mark.pure

TEA = "Ann drinks green tea in the morning. She reads on the train to work. Her sister lives in Bern."


def conflicts(base: str, ours: str, theirs: str) -> list[tuple[str, str, str]]:
    result = merge(base, ours, theirs)
    assert isinstance(result, Conflicted), result
    return [(each.base, each.ours, each.theirs) for each in result.conflicts]


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "expected"),
    [
        pytest.param("a\n", "b\n", "a\n", "b\n", id="only ours changed"),
        pytest.param("a\n", "b\n", "b\n", "b\n", id="both the same"),
        pytest.param("", "a", "a", "a", id="both the same from nothing"),
        pytest.param(
            TEA,
            TEA.replace("green", "black"),
            TEA.replace("Bern", "Basel"),
            TEA.replace("green", "black").replace("Bern", "Basel"),
            id="two sentences of a paragraph",
        ),
        pytest.param(
            TEA,
            TEA.replace("green", "black"),
            TEA.replace("morning", "evening"),
            TEA.replace("green", "black").replace("morning", "evening"),
            id="two places of a sentence",
        ),
        pytest.param(
            "Ann has 3 cats, 2 dogs and a house with 14 rooms in the hills.",
            "Ann has 4 cats, 2 dogs and a house with 14 rooms in the hills.",
            "Ann has 3 cats, 2 dogs and a house with 15 rooms in the hills.",
            "Ann has 4 cats, 2 dogs and a house with 15 rooms in the hills.",
            id="two numbers of a sentence",
        ),
        pytest.param(
            "- a\n- b\n- c", "- a\n- x\n- b\n- c", "- a\n- b\n- c\n- d", "- a\n- x\n- b\n- c\n- d", id="new items"
        ),
        pytest.param("- a\n- b\n- c\n", "- b\n- c\n", "- a\n- b\n", "- b\n", id="items gone"),
        pytest.param("- a\n- b\n- c\n- d\n", "- a\n- d\n", "- a\n- b\n", "- a\n", id="items gone that overlap"),
        pytest.param(
            "- [ ] tea\n- [ ] milk\n",
            "- [x] tea\n- [ ] milk\n",
            "- [ ] green tea\n- [ ] milk\n",
            "- [x] green tea\n- [ ] milk\n",
            id="ticked and reworded",
        ),
        pytest.param(
            "1. a\n2. b\n3. c\n",
            "1. a\n2. x\n3. b\n4. c\n",
            "1. a\n2. b\n3. c\n4. d\n",
            "1. a\n2. x\n3. b\n4. c\n5. d\n",
            id="numbers count on",
        ),
        pytest.param(
            "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n",
            "| a | b |\n|---|---|\n| 1 | 9 |\n| 3 | 4 |\n",
            "| a | b |\n|---|---|\n| 8 | 2 |\n| 3 | 4 |\n| 5 | 6 |\n",
            "| a | b |\n|---|---|\n| 8 | 9 |\n| 3 | 4 |\n| 5 | 6 |\n",
            id="cells of a row, and a new row",
        ),
        pytest.param(
            "One is here. Two is here. Three is here. Four is here.\n",
            "One is here. Two is here.\n\nThree is here. Four is here.\n",
            "One is here. Two is here. Three is here. Four was there.\n",
            "One is here. Two is here.\n\nThree is here. Four was there.\n",
            id="a paragraph was cut in two",
        ),
        pytest.param(
            "One is here. Two is here.\n\nThree is here. Four is here.\n",
            "One is here. Two is here. Three is here. Four is here.\n",
            "One was there. Two is here.\n\nThree is here. Four is here.\n",
            "One was there. Two is here. Three is here. Four is here.\n",
            id="two paragraphs were joined",
        ),
        pytest.param(
            "# A\n\nOne.\n\n# B\n\nTwo.\n",
            "# B\n\nTwo.\n\n# A\n\nOne.\n",
            "# A\n\nOne.\n\n# B\n\nTwo and more.\n",
            "# B\n\nTwo and more.\n\n# A\n\nOne.\n",
            id="moved and edited",
        ),
        pytest.param(
            "Ann drinks green tea every single morning before\nshe goes to work by train. She reads on the way.\n",
            "Ann drinks green tea every single\nmorning before she goes to work by train. She reads on\nthe way.\n",
            "Ann drinks green tea every single morning before\nshe goes to work by train. She sleeps on the way.\n",
            "Ann drinks green tea every single\nmorning before she goes to work by train. She sleeps on\nthe way.\n",
            id="wrapped anew and edited",
        ),
        pytest.param(
            "一。二二二二。三三三三。",
            "一。二二五二二。三三三三。",
            "一。二二二二。三三六三三。",
            "一。二二五二二。三三六三三。",
            id="no spaces",
        ),
        pytest.param(
            "a\r\nb\r\nc\r\n", "a\r\nx\r\nc\r\n", "a\nb\nc\nd\n", "a\nx\nc\nd\n", id="line ends changed by one side"
        ),
        pytest.param("a\r\nb\r\n", "a\r\nb\r\nc", "x\r\nb\r\n", "x\r\nb\r\nc", id="no line end at the end"),
        pytest.param(
            "cafe\u0301 one two three.",
            "cafe one two three.",
            "cafe\u0301 one two four.",
            "cafe one two four.",
            id="an accent",
        ),
        pytest.param(
            "Keep. Go here. Stay there.\n",
            "Keep. Stay there.\n",
            "Keep. New one. Go here. Stay there.\n",
            "Keep. New one. Stay there.\n",
            id="put in before what went",
        ),
    ],
)
def test_what_both_did_is_merged(base: str, ours: str, theirs: str, expected: str | None) -> None:
    result, swapped = merge(base, ours, theirs), merge(base, theirs, ours)
    if expected is None:
        assert isinstance(result, Conflicted)
        assert isinstance(swapped, Conflicted)
    else:
        assert result == expected
        assert swapped == expected


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "expected"),
    [
        pytest.param("a\n", "b\n", "c\n", [("a", "b", "c")], id="the same line"),
        pytest.param("", "a", "b", [("", "a", "b")], id="two first texts"),
        pytest.param("- a\n", "- a\n- b\n", "- a\n- c\n", [("", "- b\n", "- c\n")], id="two ends of a list"),
        pytest.param(
            "One is here. Two is here.",
            "One is here. New. Two is here.",
            "One is here. Other. Two is here.",
            [("", "New. ", "Other. ")],
            id="two sentences at one place",
        ),
        pytest.param("a\n\nb b b\n\nc\n", "a\n\nc\n", "a\n\nb b x\n\nc\n", None, id="deleted and edited"),
        pytest.param(
            "One is here. Two is here.\n\nEnd.\n",
            "End.\n",
            "One is here. Two is here. Three is here.\n\nEnd.\n",
            None,
            id="deleted and added to",
        ),
        pytest.param(
            TEA,
            TEA.replace("She reads on the train to work.", "On her way she usually reads or listens to music."),
            TEA.replace("train", "bus"),
            [
                (
                    "She reads on the train to work.",
                    "On her way she usually reads or listens to music.",
                    "She reads on the bus to work.",
                )
            ],
            id="rewritten and touched",
        ),
        pytest.param(
            "a red car stands here", "a blue car stands here", "a red bike stands here", None, id="words side by side"
        ),
        pytest.param(
            "| a |\n|---|\n| 1 |\n",
            "| a | b |\n|---|---|\n| 1 | 2 |\n",
            "| a |\n|---|\n| 1 |\n| 3 |\n",
            None,
            id="a column and a row",
        ),
        pytest.param(
            "Here is A long. Here is B long. Here is C long. Here is D long.",
            "Here is B long. Here is A long. Here is C long. Here is D long.",
            "Here is B long. Here is C long. Here is D long. Here is A long.",
            None,
            id="moved to two places",
        ),
    ],
)
def test_what_only_one_can_have_is_a_conflict(
    base: str, ours: str, theirs: str, expected: list[tuple[str, str, str]] | None
) -> None:
    found = conflicts(base, ours, theirs)
    assert expected is None or found == expected


def test_a_conflict_stands_among_what_was_merged() -> None:
    base, ours, theirs = "- a one\n- b\n- c\n", "- A one\n- x\n- c\n", "- a one\n- y\n- c\n- d\n"
    result = merge(base, ours, theirs)
    assert isinstance(result, Conflicted)
    assert result.parts == ("- A one\n- ", Conflict("b", "x", "y"), "\n- c\n- d\n")
    assert result.resolved(["z"]) == "- A one\n- z\n- c\n- d\n"
    for choices in ([], ["x", "y"]):
        with pytest.raises(ValueError, match="1 conflicts need as many choices"):
            result.resolved(choices)


def test_conflicts_keep_the_line_ends_of_the_text() -> None:
    result = merge("a\r\nb\r\nc\r\n", "a\r\nx\r\ny\r\nc\r\n", "a\r\nz\r\nc\r\n")
    assert isinstance(result, Conflicted)
    assert result.resolved([each.ours for each in result.conflicts]) == "a\r\nx\r\ny\r\nc\r\n"


# -- properties -------------------------------------------------------------------------------------

PIECES = (
    "one",
    "two",
    "three",
    " ",
    " ",
    ". ",
    "\n",
    "\n\n",
    "\n- ",
    "\n1. ",
    "\n# ",
    "| ",
    " |\n",
    "数",
    "。",
    "e\u0301",
    "é",
    "\r\n",
    "!",
)
texts = st.lists(st.sampled_from(PIECES), max_size=25).map("".join) | st.text(max_size=20)


def swapped(result: str | Conflicted) -> str | Conflicted:
    if isinstance(result, str):
        return result
    return Conflicted(
        tuple(
            Conflict(part.base, part.theirs, part.ours) if isinstance(part, Conflict) else part for part in result.parts
        )
    )


@given(base=texts, ours=texts, theirs=texts)
@example(base="", ours="\n", theirs="\n\n")
def test_the_sides_may_be_swapped(base: str, ours: str, theirs: str) -> None:
    assert merge(base, theirs, ours) == swapped(merge(base, ours, theirs))


@given(base=texts, other=texts)
def test_what_one_side_did_alone_is_taken_exactly(base: str, other: str) -> None:
    assert merge(base, other, base) == merge(base, base, other) == merge(base, other, other) == other
    assert merge(base, base, base) == base


@given(base=texts, ours=texts, theirs=texts)
def test_conflicts_are_real_and_parts_are_in_order(base: str, ours: str, theirs: str) -> None:
    result = merge(base, ours, theirs)
    if isinstance(result, Conflicted):
        assert result.conflicts
        assert "" not in result.parts
        assert all(each.ours != each.theirs for each in result.conflicts)
        assert not any(
            isinstance(left, str) and isinstance(right, str)
            for left, right in zip(result.parts, result.parts[1:], strict=False)
        )


@st.composite
def three_texts(draw: st.DrawFn) -> tuple[str, str, str]:
    """Texts of words that occur once each: what becomes of a word can be told from its name."""
    paragraphs = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    number = 0
    base: list[list[list[str]]] = []
    for sentences in paragraphs:
        base.append([])
        for _ in range(sentences):
            count = draw(st.integers(2, 9))
            base[-1].append([f"w{number + each}" for each in range(count)])
            number += count

    def changed(side: str) -> str:
        chance = random.Random(draw(st.integers(0, 10_000)))
        made = []
        for paragraph in base:
            kept = []
            for sentence in paragraph:
                words = list(sentence)
                kind = chance.random()
                if kind < 0.15:
                    continue
                if kind < 0.5:
                    words[chance.randrange(len(words))] = f"{side}{chance.randrange(10**9)}"
                if kind > 0.85:
                    kept.append(f"{side}{chance.randrange(10**9)} {side}{chance.randrange(10**9)}.")
                kept.append(" ".join(words) + ".")
            if kept:
                made.append(" ".join(kept))
        return "\n\n".join(made)

    return "\n\n".join(" ".join(" ".join(words) + "." for words in each) for each in base), changed("o"), changed("t")


def words_of(text: str) -> set[str]:
    return set(text.replace(".", " ").split())


@given(three_texts())
def test_nothing_is_lost_invented_or_brought_back(versions: tuple[str, str, str]) -> None:
    base, ours, theirs = map(words_of, versions)
    result = merge(*versions)
    if isinstance(result, str):
        assert sorted(result.replace(".", " ").split()) == sorted(
            (base & ours & theirs) | (ours - base) | (theirs - base)
        )
        return
    our_text = result.resolved([each.ours for each in result.conflicts])
    assert ours - base <= words_of(our_text)
    in_conflict = set().union(*(words_of(each.ours) for each in result.conflicts))
    assert not (words_of(our_text) - in_conflict) & (base - ours)
    assert not (words_of(our_text) - in_conflict) & (base - theirs)


# -- speed ------------------------------------------------------------------------------------------


def sentences(count: int, seed: int) -> list[str]:
    chance = random.Random(seed)
    vocabulary = ["".join(chance.choices("abcdefghijklmnop", k=chance.randint(2, 9))) for _ in range(3000)]
    return [" ".join(chance.choices(vocabulary, k=chance.randint(6, 18))).capitalize() + "." for _ in range(count)]


def edited(before: list[str], seed: int) -> list[str]:
    chance = random.Random(seed)
    return [each.replace(" ", " CHANGED ", 1) if chance.random() < 0.1 else each for each in before]


PROSE = sentences(2_500, 1)
HOPELESS = {
    "prose": ("\n\n".join(PROSE), "\n\n".join(edited(PROSE, 2)), "\n\n".join(edited(PROSE, 3))),
    "one giant paragraph": (" ".join(PROSE), " ".join(edited(PROSE, 2)), " ".join(edited(PROSE, 3))),
    "all lines equal": ("a\n" * 100_000, "a\n" * 98_000, "a\n" * 100_500),
    "all unrelated": tuple("\n".join(sentences(2_500, seed)) for seed in (4, 5, 6)),
    "unrelated without a stop": tuple(" ".join(sentences(2_500, seed)).replace(".", "") for seed in (4, 5, 6)),
}


@pytest.mark.slow
@pytest.mark.parametrize("versions", HOPELESS.values(), ids=HOPELESS)
def test_long_texts_end_soon(versions: tuple[str, str, str]) -> None:
    start = time.thread_time()
    merge(*versions)
    # Well under a second on an idle machine; the rest is a busy one's.
    assert time.thread_time() - start < 5
