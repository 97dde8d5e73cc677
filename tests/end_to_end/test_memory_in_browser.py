"""The memory and token pages in a real browser: wide tables, long texts, copying, and a session that ended."""

from collections.abc import Callable
from itertools import pairwise

import pytest
from playwright.sync_api import Page, expect

from approvals.models import User
from memory_app.reads import Block
from tests.support.fixtures import MakeBlock, Propose

pytestmark = [pytest.mark.slow, pytest.mark.one_leg]

LONG = "".join(f"## Part {number}\n\n{'Read a book. ' * 120}\n\n### Detail\n\nMore.\n\n" for number in range(1, 5))
WIDE = (
    "| Day | Subject | Room | Teacher | What to bring |\n|-|-|-|-|-|\n"
    + "| Monday | Stochastics | A 101 | Dr Weber | Sheets |\n"
)


def test_a_wide_table_is_scrolled_by_keyboard_and_the_page_stays(
    window_of: Callable[..., Page], alice: User, make_block: MakeBlock
) -> None:
    make_block(alice, "plan", WIDE)
    window = window_of(alice, viewport={"width": 320, "height": 640})
    window.goto("/memory/alice/blocks/plan/")
    box = window.get_by_role("group", name="Table 1")
    box.focus()
    expect(box).to_be_focused()
    assert box.evaluate("box => box.scrollWidth > box.clientWidth"), "nothing to scroll: the test shows nothing"
    assert window.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0


def test_the_contents_of_a_long_block_lead_to_its_sections(
    window_of: Callable[..., Page], alice: User, make_block: MakeBlock
) -> None:
    make_block(alice, "log", LONG)
    window = window_of(alice)
    window.goto("/memory/alice/blocks/log/")
    contents = window.get_by_role("navigation", name="Contents")
    contents.get_by_role("link", name="Part 4").click()
    expect(window.locator("h2", has_text="Part 4")).to_be_in_viewport()
    levels = window.evaluate(
        "[...document.querySelectorAll('main :is(h1, h2, h3, h4, h5, h6)')].map(h => +h.tagName[1])"
    )
    assert levels[:3] == [1, 2, 3]
    assert all(after <= before + 1 for before, after in pairwise(levels)), levels


def test_a_new_token_is_copied_by_a_button_and_without_scripts_by_hand(
    window_of: Callable[..., Page], alice: User
) -> None:
    window = window_of(alice, permissions=["clipboard-read", "clipboard-write"])
    window.goto("/settings/agents/")
    window.fill("[name=name]", "planner")
    window.click("form[data-once] button[type=submit]")
    secret = window.input_value("#secret")
    window.click("[data-copy-from=secret]")
    expect(window.locator("[data-copy-from=secret]")).to_have_text("Copied")
    assert window.evaluate("navigator.clipboard.readText()") == secret

    plain = window_of(alice, java_script_enabled=False)
    plain.goto("/settings/agents/")
    plain.fill("[name=name]", "planner")
    plain.click("form[data-once] button[type=submit]")
    assert plain.input_value("#secret")
    expect(plain.locator("[data-copy-from=secret]")).to_be_hidden()


def test_where_a_session_ended_nothing_names_who_was_signed_in(
    window_of: Callable[..., Page], tim: User, goals: Block, propose: Propose
) -> None:
    proposal = propose(goals, "in June", "in July")
    window = window_of(tim)
    window.goto(proposal.get_absolute_url())
    expect(window).to_have_title(f"(1) Learning goals · Proposal {proposal.pk} · Assent")
    window.context.clear_cookies(name="assent_session")
    window.click("[data-approve]")
    expect(window.locator("h1")).to_have_text("You were signed out")
    expect(window).to_have_title("Sign in · Assent")
    expect(window.locator("body")).not_to_contain_text("Tim Okafor")
    expect(window.locator(".masthead")).to_have_count(0)
