"""What a row of a list lets one approve is drawn on it: each sign that a change adds or removes, and no controls."""

import re
from collections import Counter

import pytest
from hypothesis import given

from approvals.markdown.fragments import drawn_fragment
from memory_app.text import worddiff
from tests.approvals.markdown.test_nothing_unseen import SIDES, TEXTS, markdown
from tests.approvals.markdown.test_redline import side

pytestmark = pytest.mark.pure

ROW, OTHER_ROW = "| B2 | 16 January | not enrolled yet |", "| B2 | 16 January | enrolled |"


def unseen(before: str, after: str) -> dict[str, int]:
    """Return the signs that a change adds or removes and its fragment does not draw so often."""
    html, missing = drawn_fragment(before, after), Counter[str]()
    for kind, other in SIDES:
        changed = "".join(each.text for each in worddiff.diff(before, after) if each.kind == kind)
        missing += Counter("".join(changed.split())) - Counter(re.sub("[·¶→↵]", "", side(html, other).words))
    return dict(missing)


@pytest.mark.parametrize("text", TEXTS)
def test_each_construct_that_comes_or_goes_is_drawn_with_all_its_signs(text: str) -> None:
    for one, other in (("", text), (ROW, text), (f"a\n{ROW}", f"a\n{OTHER_ROW}\n{text}")):
        assert not unseen(one, other)
        assert not unseen(other, one)


@given(before=markdown, after=markdown)
def test_any_change_is_drawn_with_all_its_signs_and_without_controls(before: str, after: str) -> None:
    assert not unseen(before, after)
    assert not side(drawn_fragment(before, after)).tags & {"a", "button", "input", "h2", "h3", "h4", "h5", "h6"}


@pytest.mark.parametrize(
    ("before", "after", "tags"),
    [
        (ROW, OTHER_ROW, {"table", "td", "del"}),
        ("", ROW, {"table", "td", "ins"}),
        ("by **Sunday**", "by **Monday**", {"strong", "del", "ins"}),
        ("- tea", "- green tea", {"li", "ins"}),
        ("## Later", "## Soon", {"p", "strong"}),
    ],
)
def test_a_fragment_is_drawn_as_on_its_page(before: str, after: str, tags: set[str]) -> None:
    html = drawn_fragment(before, after)
    assert tags <= side(html).tags
    assert "**" not in html
    assert html.count("<td") == (3 if "td" in tags else 0), "no head, and no cell too many"
