"""The memory pages in a real browser: wide tables, and the contents of a long text."""

from itertools import pairwise

import pytest
from playwright.sync_api import expect

from approvals.models import User
from tests.end_to_end.conftest import WindowOf
from tests.support.fixtures import MakeBlock

pytestmark = [pytest.mark.slow, pytest.mark.one_leg]

LONG = "".join(f"## Part {number}\n\n{'Read a book. ' * 120}\n\n### Detail\n\nMore.\n\n" for number in range(1, 8))
WIDE = (
    "| Day | Subject | Room | Teacher | What to bring |\n|-|-|-|-|-|\n"
    "| Monday | Stochastics | A 101 | Dr Weber | Sheets |\n"
)


def test_a_wide_table_is_scrolled_by_keyboard_and_the_page_stays(
    window_of: WindowOf, alice: User, make_block: MakeBlock
) -> None:
    make_block(alice, "plan", WIDE)
    window = window_of(alice, viewport={"width": 320, "height": 640})
    window.goto("/memory/alice/blocks/plan/")
    box = window.get_by_role("group", name="Table 1")
    box.focus()
    expect(box).to_be_focused()
    assert box.evaluate("box => box.scrollWidth > box.clientWidth"), "nothing to scroll: the test shows nothing"
    assert window.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0


def test_the_contents_lead_to_sections_stay_beside_a_long_text_and_are_folded_on_a_phone(
    window_of: WindowOf, alice: User, make_block: MakeBlock
) -> None:
    make_block(alice, "log", LONG)
    window = window_of(alice, viewport={"width": 1280, "height": 800})
    window.goto("/memory/alice/blocks/log/")
    contents = window.get_by_role("navigation", name="Contents")
    contents.get_by_role("link", name="Part 7").click()
    expect(window.locator("h2", has_text="Part 7")).to_be_in_viewport()
    expect(contents.get_by_role("link", name="Part 2")).to_be_in_viewport()
    headings = "[...document.querySelectorAll('main :is(h1, h2, h3, h4, h5, h6)')].map(h => +h.tagName[1])"
    levels = window.evaluate(headings)
    assert levels[:3] == [1, 2, 3]
    assert all(after <= before + 1 for before, after in pairwise(levels)), levels

    window.set_viewport_size({"width": 390, "height": 800})
    window.goto("/memory/alice/blocks/log/")
    expect(contents.get_by_role("link", name="Part 7")).to_be_hidden()
    contents.locator("summary").click()
    contents.get_by_role("link", name="Part 7").click()
    expect(window.locator("h2", has_text="Part 7")).to_be_in_viewport()
