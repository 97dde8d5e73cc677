"""What a person approves is on the page: each sign that a change adds or removes is drawn, whatever Markdown drops."""

import re
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memory_app.text import worddiff
from tests.approvals.markdown.test_redline import PIECES, redline, side
from tests.support.constructs import CONSTRUCTS, written

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
