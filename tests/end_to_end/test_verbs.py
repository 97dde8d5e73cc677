"""Approving some, approving in one's own words, resolving a conflict: with mouse, keyboard and without scripts."""

import pytest
from playwright.sync_api import Dialog, Page, Route, expect

from approvals.models import Agent, Approval, Proposal, Status, User
from memory_app import reads
from memory_app.reads import Block
from tests.conftest import eventually
from tests.end_to_end.conftest import WindowOf
from tests.support.acts import change, edit, proposed_import
from tests.support.fixtures import MakeBlock, Propose

pytestmark = [pytest.mark.slow, pytest.mark.one_leg]


@pytest.fixture
def conflict(goals: Block, alice: User, propose: Propose) -> Proposal:
    """Other words for what alice has reworded since."""
    proposal = propose(goals, "likes math", "loves mathematics")
    edit(alice, "goals", "likes math", "is done with math")
    return proposal


@pytest.fixture
def five(alice: User, tim: User, scribe: Agent, make_block: MakeBlock) -> Proposal:
    """Five changes, each in a paragraph of its own."""
    lines = "\n\n".join(f"Line {number} of her plan." for number in range(5))
    make_block(alice, "plan", f"# Plan\n\n{lines}\n")
    return change(scribe, *((f"Line {number}", f"Point {number}") for number in range(5)), label="plan")


@pytest.fixture
def page_of_five(window_of: WindowOf, tim: User, five: Proposal) -> Page:
    window = window_of(tim)
    window.goto(five.get_absolute_url())
    return window


def is_approved(proposal: Proposal, approval: Approval) -> bool:
    def check() -> bool:
        proposal.refresh_from_db()
        return proposal.status == Status.APPROVED

    eventually(check)
    return proposal.approval == approval


def body() -> str:
    return reads.block("alice", "plan").body


def test_two_of_five_by_mouse(page_of_five: Page, five: Proposal) -> None:
    window = page_of_five
    approve = window.locator("[data-approve]")
    expect(approve).to_have_text("Approve")
    expect(window.locator("[data-left]")).to_be_hidden()
    for number in (1, 3, 5):
        window.locator(f"[data-tick='{number}']").uncheck()
    expect(approve).to_have_text("Approve 2 of 5")
    expect(window.locator("[data-left-words]")).to_have_text("The 3 you left out:")
    # The other views know it too.
    window.click(".view-menu > summary")
    window.click("#view-result")
    expect(window.locator("#view-result")).to_have_attribute("aria-current", "page")
    expect(approve).to_have_text("Approve 2 of 5")
    window.click(".view-menu > summary")
    window.click("#view-side")
    expect(window.locator("[data-tick='3']")).not_to_be_checked()
    window.check("[data-left] [value=reject]")
    window.select_option("#rest-reason", "wrong")
    approve.click()
    expect(window.locator("#outcome-title")).to_have_text("Approved in part by Tim Okafor")
    expect(window.locator(".taken")).to_contain_text("3 of 5 changes were not accepted.")
    assert is_approved(five, Approval.PART)
    assert [body().count(f"Point {number}") for number in range(5)] == [0, 1, 0, 1, 0]


def test_two_of_five_by_keyboard(page_of_five: Page, five: Proposal) -> None:
    window = page_of_five
    for number in range(1, 6):
        window.keyboard.press("n")
        if number in (1, 3, 5):
            window.keyboard.press("x")
    window.keyboard.press("a")
    expect(window.locator("[data-approve]")).to_have_text("Approve 2 of 5")
    expect(window.locator("[data-approve]")).to_be_focused()
    window.keyboard.press("Enter")
    expect(window.locator("#outcome-title")).to_be_focused()
    assert is_approved(five, Approval.PART)
    expect(window.locator(".taken")).to_contain_text("3 of 5 changes went back to scribe.")


def test_two_of_five_without_scripts(window_of: WindowOf, tim: User, five: Proposal) -> None:
    window = window_of(tim, java_script_enabled=False)
    window.goto(five.get_absolute_url())
    expect(window.locator("[data-left]")).to_be_hidden()
    for number in (2, 3, 4):
        window.locator(f"[data-tick='{number}']").uncheck()
    # The stylesheet asks; the server would, too.
    expect(window.locator("[data-left]")).to_be_visible()
    window.check("[data-left] [value=reject]")
    window.click("[data-approve]")
    expect(window.locator("#rest-reason-error")).to_be_visible()
    expect(window.locator("[data-tick='3']")).not_to_be_checked()
    expect(window.locator("[data-approve]")).to_have_text("Approve 2 of 5")
    window.select_option("#rest-reason", "outdated")
    window.click("[data-approve]")
    expect(window.locator("#outcome-title")).to_have_text("Approved in part by Tim Okafor")
    assert [body().count(f"Point {number}") for number in range(5)] == [1, 0, 0, 0, 1]


def test_notes_of_an_import_are_ticked_across_pages(window_of: WindowOf, alice: User, tim: User, scribe: Agent) -> None:
    proposal = proposed_import(scribe, 205)
    window = window_of(tim)
    window.goto(proposal.get_absolute_url())
    window.locator("[data-tick='7']").uncheck()
    window.click("button:has-text('Next')")
    expect(window.locator(".pager")).to_contain_text("Page 2 of 3")
    window.locator("[data-tick='150']").uncheck()
    expect(window.locator("[data-tick-count]")).to_have_text("203 of 205 ticked")
    expect(window.locator("[data-approve]")).to_have_text("Approve 203 of 205")
    window.click("button:has-text('Previous')")
    expect(window.locator(".pager")).to_contain_text("Page 1 of 3")
    expect(window.locator("[data-tick='7']")).not_to_be_checked()
    window.click(".tick-many [value=none]")
    expect(window.locator("[data-tick='8']")).not_to_be_checked()
    window.click(".tick-many [value=page]")
    expect(window.locator("[data-tick='7']")).to_be_checked()
    expect(window.locator("[data-approve]")).to_have_text("Approve 100 of 205")
    window.check("[data-left] [value=reject]")
    window.select_option("#rest-reason", "wrong")
    window.click("[data-approve]")
    expect(window.locator("#outcome-title")).to_have_text("Approved in part by Tim Okafor")
    assert len(reads.notes("alice")) == 100


def test_the_redline_follows_what_is_typed_and_the_text_is_guarded(page_of_five: Page, five: Proposal) -> None:
    window = page_of_five
    window.keyboard.press("e")
    assert "data-edit" in str(window.evaluate("document.activeElement.outerHTML"))
    window.keyboard.press("Enter")
    window.wait_for_url("**/edit/")
    window.fill("#id_text", body().replace("Line 2 of", "Step 2 of"))
    expect(window.locator("#preview section")).to_contain_text("Step")
    expect(window.locator(":focus")).to_have_id("id_text")
    asked: list[str] = []

    def stay(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.dismiss()

    window.on("dialog", stay)
    window.click(".wordmark")
    assert asked == ["beforeunload"]
    window.focus("#id_text")
    window.keyboard.press("Control+Enter")
    expect(window.locator("#outcome-title")).to_have_text("Approved with changes by Tim Okafor")
    expect(window.locator(".taken")).to_contain_text("Proposed by scribe, reworded and approved by Tim Okafor.")
    assert is_approved(five, Approval.EDITED)
    assert "Step 2 of" in body()


def test_the_editor_by_mouse(page_of_five: Page) -> None:
    window = page_of_five
    window.click(".decide-more > summary")
    window.click("[data-edit]")
    expect(window.locator("#id_text")).to_be_focused()  # by the page, which puts the caret at the first change
    window.fill("#id_text", body().replace("Line 2 of", "Step 2 of"))
    expect(window.locator("#preview ins").first).to_contain_text("Step")
    window.click("button:has-text('Approve this text')")
    expect(window.locator("#outcome-title")).to_have_text("Approved with changes by Tim Okafor")
    assert "Step 2 of" in body()


def test_a_conflict_is_resolved_by_mouse(window_of: WindowOf, tim: User, conflict: Proposal) -> None:
    window = window_of(tim)
    window.goto(conflict.get_absolute_url())
    window.click("[data-edit]")
    window.fill("[name=own_1]", "Alice is done with math, and loves mathematics.")  # which chooses it
    expect(window.locator("#preview ins").first).to_contain_text("loves mathematics")
    window.click("button:has-text('Approve this text')")
    expect(window.locator("#outcome-title")).to_have_text("Approved by Tim Okafor after resolving a conflict")
    assert "Alice is done with math, and loves mathematics." in reads.block("alice", "goals").body
    assert is_approved(conflict, Approval.RESOLVED)


def test_a_conflict_is_resolved_by_keyboard(window_of: WindowOf, tim: User, conflict: Proposal) -> None:
    window = window_of(tim)
    window.goto(conflict.get_absolute_url())
    window.keyboard.press("e")
    window.keyboard.press("Enter")
    window.wait_for_url("**/resolve/")
    window.focus("[name=choice_1] >> nth=0")
    while window.evaluate("document.activeElement.value") != "proposed":
        window.keyboard.press("ArrowDown")
    expect(window.locator("#preview ins").first).to_contain_text("loves mathematics")
    window.keyboard.press("Control+Enter")
    expect(window.locator("#outcome-title")).to_have_text("Approved by Tim Okafor after resolving a conflict")
    assert "loves mathematics" in reads.block("alice", "goals").body


def test_words_typed_before_the_scripts_are_there_are_previewed(
    window_of: WindowOf, tim: User, five: Proposal, conflict: Proposal
) -> None:
    window = window_of(tim)
    type_before_the_scripts(window, f"{five.get_absolute_url()}edit/", "#id_text", body().replace("Line 2", "Step 2"))
    expect(window.locator("#preview section")).to_contain_text("Step")
    resolve = f"{conflict.get_absolute_url()}resolve/"
    type_before_the_scripts(window, resolve, "[name=own_1]", "Alice is at odds with math")
    expect(window.locator("[name=choice_1][value=own]")).to_be_checked()
    expect(window.locator("#preview ins").first).to_contain_text("at odds")


def type_before_the_scripts(window: Page, address: str, field: str, words: str) -> None:
    """Open a page whose scripts are slow, and type; then they come."""
    held: list[Route] = []
    typed = False
    window.route("**/*.js", lambda route: held.append(route) if not typed else route.continue_())
    window.goto(address, wait_until="commit")
    window.fill(field, words)
    typed = True
    assert held
    for route in held:
        route.continue_()
