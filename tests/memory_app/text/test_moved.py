"""What was moved is told from what was removed and added: whole lines, in two places that belong together."""

import random
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memory_app.text.worddiff import Segment, apply_some, count_moved, count_words, diff, hunk_numbers, hunks, redlined
from memory_app.text.worddiff.moved import changes_inside
from tests.memory_app.text.marked import texts_of

pytestmark = pytest.mark.pure

ALGEBRA = "Alice reads one chapter of the algebra book every week."
SWIMS = "- She swims on Tuesday evening with Ben."
EXAM = "3. The exam is on the fifth of June in Munich."
AUNT = "| Her aunt | lives in Graz | two cats |"
HEAD = "## What she wants to learn"
PARAGRAPHS = (ALGEBRA, SWIMS, EXAM, AUNT, HEAD)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[str, str]:
    """Two texts with the same lines in another order, some of them changed, gone or new."""
    lines = draw(st.lists(st.sampled_from((*PARAGRAPHS, "", "- yes", "---")), max_size=9))
    after = list(draw(st.permutations(lines)))
    for index in range(len(after)):
        after[index] = draw(st.sampled_from((after[index],) * 6 + ("", f"{after[index]} Now.", "- Something else.")))
    end = draw(st.sampled_from(("\n", "\r\n")))
    return end.join(lines) + end * draw(st.booleans()), end.join(after) + end * draw(st.booleans())


def _lines_with_words(segments: tuple[Segment, ...], move: int, kind: str) -> int:
    [text] = [segment.text for segment in segments if (segment.move, segment.kind) == (move, kind)]
    return len([line for line in text.splitlines() if line.strip()])


@given(texts=pairs())
@example(texts=(f"{HEAD}\n\n{SWIMS}\n\n{ALGEBRA}\n\n{AUNT}", f"{AUNT}\n\n{ALGEBRA}\n\n{HEAD}\n\n{SWIMS}"))
@example(texts=(f"{ALGEBRA}\n{SWIMS}\n{HEAD}", f"{HEAD}\n{SWIMS}\n{ALGEBRA}"))
def test_a_diff_holds_both_texts_and_each_move_stands_in_both_on_lines_of_its_own(texts: tuple[str, str]) -> None:
    before, after = texts
    segments = diff(before, after)
    assert texts_of(segments) == texts
    assert diff(before, after) == segments
    halves = sorted((segment.move, segment.kind) for segment in segments if segment.move)
    assert halves == sorted((move, kind) for move in {each for each, _ in halves} for kind in ("removed", "added"))
    assert all(segment.kind != "same" for segment in segments if segment.move)
    inside = changes_inside(redlined(segments))
    here = {move: _lines_with_words(segments, move, "added") for move, _kind in halves}
    assert len(inside) == sum(here.values())
    assert here == {move: _lines_with_words(segments, move, "removed") for move in here}
    in_redline = {segment.move for item in redlined(segments) for segment in item.segments if item.move}
    assert in_redline == {move for move, _ in halves}


@given(texts=pairs(), data=st.data())
def test_taking_some_changes_neither_loses_nor_doubles_what_was_moved(
    texts: tuple[str, str], data: st.DataObject
) -> None:
    before, after = texts
    found = hunks(before, after)
    taken = data.draw(st.sets(st.sampled_from([hunk.id for hunk in found]))) if found else set()
    some = apply_some(before, after, taken)
    for line in set(PARAGRAPHS):
        if before.count(line) == after.count(line) and all(
            hunk.before.count(line) == hunk.after.count(line) for hunk in found
        ):
            assert some.count(line) == before.count(line), line
    for hunk in found:
        if hunk.is_moved:
            here = hunk.after if hunk.id in taken else hunk.before
            assert here.rstrip("\r\n") in some


@given(texts=pairs())
@example(  # the lines between both places were added and removed themselves
    texts=(
        f"\n{ALGEBRA}\n{ALGEBRA}\n{HEAD}\n{AUNT}\n{AUNT}\n{AUNT}\n{ALGEBRA}\n{ALGEBRA}",
        f"{ALGEBRA}\n{ALGEBRA} Now.\n\n{AUNT}\n{AUNT} Now.\n{HEAD} Now.\n{AUNT}\n{ALGEBRA}\n{ALGEBRA}",
    )
)
def test_both_places_of_a_move_are_one_change(texts: tuple[str, str]) -> None:
    items = redlined(diff(*texts))
    numbers = hunk_numbers(items)
    of_move: dict[int, set[int]] = {}
    for item, number in zip(items, numbers, strict=True):
        if item.move:
            of_move.setdefault(item.move, set()).add(number)
    assert all(len(found) == 1 for found in of_move.values())
    assert len(set().union(*of_move.values())) == len(of_move)
    assert sorted(set(numbers) - {0}) == [hunk.number for hunk in hunks(*texts)]
    assert len(of_move) == sum(hunk.is_moved for hunk in hunks(*texts))


LINES = {
    "a": ALGEBRA,
    "b": ALGEBRA.replace("every", "each"),
    "c": ALGEBRA.replace("every", "each single"),
    "d": "Alice hardly opens a book.",
    "f": f"{ALGEBRA} And then another one.",
    "s": SWIMS,
    "e": EXAM,
    "u": AUNT,
    "h": HEAD,
    "m": "- Monday: 45 minutes maths, 20 minutes reading",
    "n": "- Monday: 30 minutes maths, 25 minutes reading",
    "t": "- Tuesday: 30 minutes maths, 20 minutes reading",
    "y": "- yes",
    "-": "---",
    "_": "",
}


def text(letters: str) -> str:
    return "".join(f"{LINES[each]}\n" for each in letters)


def moves(before: str, after: str) -> list[tuple[str, str]]:
    return [(hunk.before, hunk.after) for hunk in hunks(before, after) if hunk.is_moved]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param("a_s_e", "s_e_a", [("a_", "_a")], id="a paragraph with its blank line"),
        pytest.param("asu", "sub", [("a", "b")], id="one that was changed a little"),
        pytest.param("asu", "sud", [], id="one that was changed much"),
        pytest.param("h_ys_fue", "fue_h_ys", [("h_ys_", "_h_ys")], id="a section with short lines in it"),
        pytest.param("y-_e", "ey-_", [], id="short lines"),
        pytest.param("asa", "sa", [], id="one of two equal ones"),
        pytest.param("mts", "sn", [], id="one that may be any of several"),
    ],
)
def test_what_counts_as_moved(before: str, after: str, expected: list[tuple[str, str]]) -> None:
    assert moves(text(before), text(after)) == [(text(one), text(other)) for one, other in expected]


def test_an_end_of_a_text_without_a_line_end_or_an_item_that_gets_another_number_is_moved() -> None:
    assert moves(text("ash").rstrip(), text("hsa").rstrip()) == [(text("a"), text("a")), (text("s"), text("s"))]
    before = "1. nine ten eleven twelve\n2. one two three four\n3. five six seven eight\n"
    after = "1. one two three four\n2. five six seven eight\n3. nine ten eleven twelve\n"
    assert moves(before, after) == [("1. nine ten eleven twelve\n", "3. nine ten eleven twelve\n")]


def test_moved_words_are_neither_removed_nor_added() -> None:
    moved, together = diff(text("asu"), text("suc")), diff(text("aseuh"), text("euhas"))
    assert (count_words(moved), count_moved(moved)) == ((2, 1), 1)
    assert (count_words(together), count_moved(together)) == ((0, 0), 2)
    assert {segment.move for segment in together} == {0, 1}, "one change, whose items count by themselves"


def test_a_text_with_every_sign_for_private_use_is_compared_like_others() -> None:
    private = "".join(map(chr, range(0xF0000, 0x110000)))
    before, after = (f"{private}\none\ntwo\nthree\n{text(letters)}" for letters in ("ase", "sea"))
    segments = diff(before, after)
    assert texts_of(segments) == (before, after)
    assert count_moved(segments) == 1


def test_two_hundred_moves_in_ten_thousand_words_are_found_soon() -> None:
    chance = random.Random(4)
    words = [f"{chance.choice('bcdfg')}{chance.choice('aeiou')}{number}" for number in range(2_000)]
    lines = [" ".join(chance.choices(words, k=16)) for _ in range(625)]
    moved = list(lines)
    for _ in range(200):
        moved.insert(chance.randrange(len(moved)), moved.pop(chance.randrange(len(moved))))
    start = time.process_time()
    segments = diff("\n\n".join(lines), "\n\n".join(moved))
    assert time.process_time() - start < 1.0  # 0.07 s
    assert count_words(segments) == (0, 0)
    assert 100 < count_moved(segments) <= 200
