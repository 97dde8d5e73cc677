"""Going through the review queue by keyboard, in a real browser."""

import pytest
from playwright.sync_api import expect

from approvals.models import User
from memory_app import reads
from memory_app.reads import Block
from tests.end_to_end.conftest import WindowOf
from tests.support.fixtures import Propose

pytestmark = [pytest.mark.slow, pytest.mark.one_leg]


def test_three_proposals_of_one_block_are_approved_by_keyboard(
    window_of: WindowOf, tim: User, goals: Block, propose: Propose
) -> None:
    made = [propose(goals, "in June", "in July"), propose(goals, "one book", "two books"), propose(goals, "B2", "C1")]
    window = window_of(tim)
    for number, proposal in enumerate(reversed(made), 1):
        window.keyboard.press("j")
        expect(window.locator(":focus")).to_have_attribute("href", proposal.get_absolute_url())
        window.keyboard.press("a")
        window.keyboard.press("Enter")
        expect(window.locator(f"#row-{proposal.pk} .row-outcome")).to_be_focused()
        expect(window.locator(f"#row-{proposal.pk}")).to_contain_text("Approved by Tim Okafor")
        expect(window.locator(".row-since")).to_have_count(len(made) - number)
    body = reads.block("alice", "goals").body
    assert "in July" in body
    assert "two books" in body
    assert "C1" in body


def test_what_is_being_typed_in_a_row_outlives_a_decision_on_the_one_beside_it(
    window_of: WindowOf, tim: User, goals: Block, propose: Propose
) -> None:
    typed, other = propose(goals, "in June", "in July"), propose(goals, "one book", "two books")
    window = window_of(tim)
    window.click(f"#row-{typed.pk} [data-reject]")
    window.fill(f"#reject-comment-{typed.pk}", "She said May.")
    window.keyboard.press("Escape")
    window.click(f"#row-{other.pk} [data-approve]")
    expect(window.locator(f"#row-{other.pk}")).to_contain_text("Approved by Tim Okafor")
    window.click(f"#row-{typed.pk} [data-reject]")
    expect(window.locator(f"#reject-comment-{typed.pk}")).to_have_value("She said May.")
    window.check(f"#row-{typed.pk} input[value=wrong]")
    window.click(f"#row-{typed.pk} button:has-text('Reject this change')")
    expect(window.locator(f"#row-{typed.pk}")).to_contain_text("Rejected by Tim Okafor")


def test_brackets_lead_through_the_list_before_anything_is_decided(
    window_of: WindowOf, tim: User, goals: Block, propose: Propose
) -> None:
    older, newer = propose(goals, "in June", "in July"), propose(goals, "one book", "two books")
    window = window_of(tim)
    window.goto("/?owner=alice")
    window.click(f"#row-{newer.pk} [data-open]")
    # Loaded, not only there: a key that is pressed before the page's script runs does nothing.
    window.wait_for_url(f"**{newer.get_absolute_url()}?list=owner%3Dalice")
    expect(window.locator(".position")).to_contain_text("1 of 2")
    window.keyboard.press("]")
    window.wait_for_url(f"**{older.get_absolute_url()}?list=owner%3Dalice")
    expect(window.locator(".position")).to_contain_text("2 of 2")
    window.keyboard.press("[")
    window.wait_for_url(f"**{newer.get_absolute_url()}?list=owner%3Dalice")
