"""A decision on its way: what a slow answer says, what is said when nothing was sent, and sending from the keyboard."""

import pytest
from playwright.sync_api import Route, expect

from approvals.models import Status, User
from memory_app.reads import Block
from tests.end_to_end.conftest import WindowOf, status_of
from tests.support.fixtures import Propose

pytestmark = [pytest.mark.slow, pytest.mark.one_leg]


def test_a_slow_approval_says_so_and_holds_the_others_back(
    window_of: WindowOf, tim: User, goals: Block, propose: Propose
) -> None:
    proposal = propose(goals, "in June", "in July")
    held: list[Route] = []
    window = window_of(tim)
    window.goto(proposal.get_absolute_url())
    window.route("**/approve/", lambda route: held.append(route))
    approve = window.locator("[data-approve]")
    approve.click()
    expect(approve).to_have_text("Approving…")
    expect(approve).to_have_attribute("aria-busy", "true")
    expect(approve).to_be_disabled()
    expect(window.locator("#live")).to_have_text("Approving…")
    expect(window.locator("[data-reject]")).to_have_attribute("aria-disabled", "true")
    window.locator("[data-reject]").click(force=True)
    expect(window.locator("input[name=reason]").first).to_be_hidden()
    held[0].abort()
    expect(window.locator("[data-no-answer]")).to_contain_text("No response from the server.")
    expect(approve).to_have_text("Approve")
    expect(approve).to_be_enabled()
    expect(window.locator("[aria-busy], .decide [aria-disabled]")).to_have_count(0)
    assert status_of(proposal) == Status.OPEN
    window.unroute("**/approve/")
    approve.click()
    expect(window.locator("#outcome-title")).to_have_text("Approved by Tim Okafor")


def test_offline_is_told_from_a_server_that_does_not_answer(
    window_of: WindowOf, tim: User, goals: Block, propose: Propose
) -> None:
    window = window_of(tim)
    window.goto(propose(goals, "in June", "in July").get_absolute_url())
    window.context.set_offline(True)
    window.click("[data-approve]")
    expect(window.locator("[data-no-answer]")).to_contain_text("You are offline. Nothing was sent.")
    window.context.set_offline(False)
    window.click("[data-approve]")
    expect(window.locator("#outcome-title")).to_have_text("Approved by Tim Okafor")


@pytest.mark.parametrize("key", ["Control+Enter", "Meta+Enter"])
def test_a_comment_is_sent_with_enter_and_ctrl_or_command(
    window_of: WindowOf, tim: User, goals: Block, propose: Propose, key: str
) -> None:
    proposal = propose(goals, "in June", "in July")
    window = window_of(tim)
    window.goto(proposal.get_absolute_url())
    window.keyboard.press("r")
    window.check("input[value=outdated]")
    window.fill(f"#reject-comment-{proposal.pk}", "Old news.")
    window.keyboard.press(key)
    expect(window.locator("#outcome-title")).to_have_text("Rejected by Tim Okafor")
    assert status_of(proposal) == Status.REJECTED


def test_a_digit_chooses_a_reason_while_the_form_is_open_and_no_text_is_typed(
    window_of: WindowOf, tim: User, goals: Block, propose: Propose
) -> None:
    proposal = propose(goals, "in June", "in July")
    window = window_of(tim)
    window.keyboard.press("2")  # shut: the digit means nothing
    window.click(f"#row-{proposal.pk} [data-reject]")
    chosen = window.locator("input[name=reason]:checked")
    expect(chosen).to_have_count(0)
    expect(window.locator(f"#row-{proposal.pk} .choice-key").nth(1)).to_have_text("2")
    expect(window.locator(f"#row-{proposal.pk} .choice-key").nth(1)).to_be_visible()
    window.keyboard.press("5")
    expect(chosen).to_have_value("badly_worded")
    expect(chosen).to_be_focused()
    window.keyboard.press("9")  # there is no ninth
    expect(chosen).to_have_value("badly_worded")
    window.focus(f"#reject-comment-{proposal.pk}")
    window.keyboard.press("1")
    expect(window.locator(f"#reject-comment-{proposal.pk}")).to_have_value("1")
    expect(chosen).to_have_value("badly_worded")
    chosen.focus()
    window.keyboard.press("2")
    window.keyboard.press("Control+Enter")
    expect(window.locator(f"#row-{proposal.pk} .row-outcome")).to_be_visible()
    proposal.refresh_from_db()
    assert (proposal.status, proposal.decision_reason) == (Status.REJECTED, "outdated")


def test_digits_choose_nothing_where_shortcuts_are_off(
    window_of: WindowOf, tim: User, goals: Block, propose: Propose
) -> None:
    tim.shortcuts = False
    tim.save()
    window = window_of(tim)
    window.goto(propose(goals, "in June", "in July").get_absolute_url())
    window.click("[data-reject]")
    expect(window.locator("input[name=reason]").first).to_be_focused()
    expect(window.locator(".choice-key").first).to_be_hidden()
    window.keyboard.press("2")
    expect(window.locator("input[name=reason]:checked")).to_have_count(0)


def test_on_a_phone_the_change_stays_in_view_above_the_rejection(
    window_of: WindowOf, tim: User, goals: Block, propose: Propose
) -> None:
    window = window_of(tim, viewport={"width": 390, "height": 844})
    window.goto(propose(goals, "in June", "in July").get_absolute_url())
    window.click("[data-reject]")
    expect(window.locator("input[name=reason]").first).to_be_focused()
    change = window.locator("#change ins").bounding_box()
    sheet = window.locator(".reject-form").bounding_box()
    assert change
    assert sheet
    assert change["y"] >= 0
    assert change["y"] + change["height"] < sheet["y"]
