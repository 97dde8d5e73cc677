"""Reviewing in a real browser: focus, keyboard, slow answers, narrow windows, and without scripts."""

from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from approvals.models import Proposal, Status, User
from memory_app import reads
from memory_app.reads import Block
from tests.conftest import eventually
from tests.end_to_end.conftest import PASSWORD, WindowOf, focused, status_of
from tests.support.accessibility import Inspector, with_axe
from tests.support.acts import edit
from tests.support.fixtures import Propose

pytestmark = [pytest.mark.slow, pytest.mark.one_leg]


# -- the list ---------------------------------------------------------------------------------------


def reject_row(window: Page, proposal: Proposal) -> None:
    """Open the form that rejects, about one row."""
    window.locator(f"#row-{proposal.pk} [data-open]").focus()
    window.keyboard.press("r")
    expect(window.locator(".reject-form input[name=reason]").first).to_be_focused()


#: Notes where the focus is at the moment in which a row says what was decided.
NOTE_THE_FOCUS = """() => new MutationObserver(() => {
    if (document.querySelector(".row-outcome")) window.focusThen ??= document.activeElement.getAttribute("href") ?? "";
}).observe(document.body, { childList: true, subtree: true })"""


def test_proposals_of_one_block_are_approved_by_keyboard_and_the_outcomes_are_read_aloud(
    window_of: WindowOf, tim: User, goals: Block, propose: Propose
) -> None:
    made = [propose(goals, "in June", "in July"), propose(goals, "one book", "two books"), propose(goals, "B2", "C1")]
    window = window_of(tim)
    window.evaluate(NOTE_THE_FOCUS)
    window.keyboard.press("j")
    for number, proposal in enumerate(reversed(made), 1):
        expect(window.locator(":focus")).to_have_attribute("href", proposal.get_absolute_url())
        window.keyboard.press("a")
        window.keyboard.press("Enter")
        expect(window.locator(f"#row-{proposal.pk}")).to_contain_text("Approved by Tim Okafor")
        expect(window.locator(".row-since")).to_have_count(len(made) - number)
    expect(window.locator(f"#row-{made[0].pk} .row-outcome")).to_be_focused()
    expect(window.locator("#live")).to_have_text("Approved by Tim Okafor Alice Berg: Alice said so.")
    assert window.evaluate("focusThen") == made[1].get_absolute_url(), "the next key is heard at the next row"
    expect(window).to_have_title("Review · Assent")
    body = reads.block("alice", "goals").body
    assert [words in body for words in ("in July", "two books", "C1")] == [True] * 3


def test_a_newcomer_approves_within_three_clicks_from_signing_in(
    window_of: WindowOf, tim: User, proposal: Proposal
) -> None:
    tim.is_welcomed = False
    window = window_of(tim)
    window.context.clear_cookies()
    with_axe(window.context)
    window.goto("/")
    window.fill("[name=username]", "tim")
    window.fill("[name=password]", PASSWORD)
    window.click("main form [type=submit]")
    expect(window.locator("#welcome")).to_contain_text("While you decide nothing, nothing changes.")
    inspector = Inspector(window)
    inspector.look("the list of a newcomer")
    assert not inspector.report()
    window.click("#welcome button")
    expect(window.locator("#welcome")).to_have_count(0)
    window.click(f"#row-{proposal.pk} [data-approve]")
    expect(window.locator(f"#row-{proposal.pk}")).to_contain_text("Approved by Tim Okafor")
    window.reload()
    expect(window.locator("#welcome")).to_have_count(0)


def test_what_is_being_typed_in_a_row_outlives_a_decision_on_the_one_beside_it(
    window_of: WindowOf, tim: User, goals: Block, propose: Propose
) -> None:
    typed, other = propose(goals, "in June", "in July"), propose(goals, "one book", "two books")
    window = window_of(tim)
    reject_row(window, typed)
    window.fill(".reject-form textarea", "She said May.")
    window.keyboard.press("Escape")
    window.locator(f"#row-{typed.pk} [data-tick]").uncheck()
    window.click(f"#row-{other.pk} [data-approve]")
    expect(window.locator(f"#row-{other.pk}")).to_contain_text("Approved by Tim Okafor")
    reject_row(window, typed)
    expect(window.locator(".reject-form textarea")).to_have_value("She said May.")
    window.check(".reject-form input[value=wrong]")
    window.click("button:has-text('Reject selected')")
    expect(window.locator("#batch-title")).to_contain_text("1 rejected")
    assert (status_of(typed), status_of(other)) == (Status.REJECTED, Status.APPROVED)


def test_brackets_lead_through_the_list_before_anything_is_decided(
    window_of: WindowOf, tim: User, goals: Block, propose: Propose
) -> None:
    older, newer = propose(goals, "in June", "in July"), propose(goals, "one book", "two books")
    window = window_of(tim)
    window.goto("/?owner=alice")
    window.click(f"#row-{newer.pk} [data-open]")
    for place, (proposal, key) in enumerate(((newer, "]"), (older, "["), (newer, "")), 1):
        # Loaded, not only there: a key that is pressed before the page's script runs does nothing.
        window.wait_for_url(f"**{proposal.get_absolute_url()}?list=owner%3Dalice")
        expect(window.locator(".position")).to_contain_text("2 of 2" if place == 2 else "1 of 2")
        if key:
            window.keyboard.press(key)


def test_a_digit_chooses_a_reason_while_the_form_is_open_and_no_text_is_typed(inbox: Page, proposal: Proposal) -> None:
    keys = inbox.locator(".reject-form .choice-key")
    inbox.keyboard.press("2")  # shut: the digit means nothing
    reject_row(inbox, proposal)
    chosen = inbox.locator(".reject-form input[name=reason]:checked")
    expect(chosen).to_have_count(0)
    expect(keys.nth(1)).to_have_text("2")
    expect(keys.nth(1)).to_be_visible()
    inbox.keyboard.press("5")
    expect(chosen).to_have_value("badly_worded")
    expect(chosen).to_be_focused()
    inbox.keyboard.press("9")  # there is no ninth
    expect(chosen).to_have_value("badly_worded")
    inbox.focus(".reject-form textarea")
    inbox.keyboard.press("1")
    expect(inbox.locator(".reject-form textarea")).to_have_value("1")
    expect(chosen).to_have_value("badly_worded")
    chosen.focus()
    inbox.keyboard.press("2")
    inbox.keyboard.press("Control+Enter")
    expect(inbox.locator("#batch-title")).to_contain_text("1 rejected")
    proposal.refresh_from_db()
    assert (proposal.status, proposal.decision_reason) == (Status.REJECTED, "outdated")


def test_shortcuts_can_be_switched_off(window_of: WindowOf, tim: User, proposal: Proposal) -> None:
    tim.shortcuts = False
    window = window_of(tim)
    window.keyboard.press("j")
    assert focused(window, "data-open") == focused(window, "href") == ""
    window.goto(proposal.get_absolute_url())
    window.click(".decide-more > summary")
    window.click("[data-reject]")
    expect(window.locator(".reject-form input[name=reason]").first).to_be_focused()
    expect(window.locator(".reject-form .choice-key").first).to_be_hidden()
    window.keyboard.press("2")
    expect(window.locator(".reject-form input[name=reason]:checked")).to_have_count(0)


# -- a proposal -------------------------------------------------------------------------------------


@pytest.mark.parametrize("send", ["click", "Control+Enter", "Meta+Enter"])
def test_a_proposal_is_rejected_and_the_focus_goes_to_the_outcome(
    inbox: Page, proposal: Proposal, goals: Block, propose: Propose, send: str
) -> None:
    following = propose(goals, "one book", "two books")
    inbox.goto(proposal.get_absolute_url())
    inbox.keyboard.press("r")
    expect(inbox.locator(".reject-form input[name=reason]").first).to_be_focused()
    inbox.check(".reject-form input[value=outdated]")
    inbox.fill(f"#reject-comment-{proposal.pk}", "Old news.")
    if send == "click":
        inbox.click("button:has-text('Reject this change')")
    else:
        inbox.keyboard.press(send)
    expect(inbox.locator("#outcome-title")).to_be_focused()
    expect(inbox.locator("#outcome-title")).to_have_text("Rejected by Tim Okafor")
    assert status_of(proposal) == Status.REJECTED
    inbox.keyboard.press("o")
    inbox.wait_for_url(f"**{following.get_absolute_url()}")


def test_a_refusal_takes_the_focus_and_keeps_the_text(proposal_page: Page, alice: User) -> None:
    proposal_page.click(".decide-more > summary")
    proposal_page.click("summary:has-text('Approve with a note')")
    proposal_page.fill("#approve-comment", "Fine by me.")
    complaints: list[str] = []
    proposal_page.on("console", lambda message: complaints.append(message.text))
    proposal_page.evaluate("document.getElementById('approve-comment').style.height = '9rem'")  # as its corner does
    edit(alice, "goals", "one book", "two books")
    proposal_page.click("[data-approve]")
    expect(proposal_page.locator(".proposal-panel")).to_be_focused()
    expect(proposal_page.locator("#approve-comment")).to_have_value("Fine by me.")
    assert [words for words in complaints if "Content Security Policy" in words] == []
    proposal_page.click("[data-approve]")
    expect(proposal_page.locator("#outcome-title")).to_have_text("Approved by Tim Okafor")
    assert "two books" in reads.block("alice", "goals").body


def test_a_form_sent_back_stays_open_at_what_is_missing(inbox: Page, proposal: Proposal) -> None:
    inbox.goto(proposal.get_absolute_url())
    inbox.keyboard.press("r")
    reject = inbox.locator("form.reject-form").filter(visible=True)
    reject.locator("input[value=other]").check()
    reject.get_by_role("button", name="Reject this change").click()
    expect(inbox.locator(".field-error")).to_contain_text("Please say what’s wrong")
    expect(inbox.locator(f"#reject-comment-{proposal.pk}")).to_be_focused()
    inbox.goto("/")
    reject_row(inbox, proposal)
    inbox.check(".reject-form input[value=other]")
    inbox.click("button:has-text('Reject selected')")
    expect(inbox.locator("#several-outcome")).to_contain_text("Please say what’s wrong")
    expect(inbox.locator(".reject-form input[value=other]")).to_be_checked()
    assert status_of(proposal) == Status.OPEN


def test_switching_the_view_keeps_the_place_and_changes_the_address(proposal_page: Page) -> None:
    proposal_page.click(".view-menu > summary")
    proposal_page.click("#view-side")
    expect(proposal_page.locator("#change table caption")).to_be_visible()
    expect(proposal_page.locator(":focus")).to_have_id("change-title")
    assert proposal_page.url.endswith("?view=side")
    proposal_page.keyboard.press("n")
    expect(proposal_page.locator(":focus")).to_have_id("change-1")


def test_an_impatient_double_click_decides_once(proposal_page: Page, proposal: Proposal) -> None:
    proposal_page.dblclick("[data-approve]")
    expect(proposal_page.locator("#outcome-title")).to_have_text("Approved by Tim Okafor")
    eventually(lambda: status_of(proposal) == Status.APPROVED)
    assert proposal.events.filter(what="approved").count() == 1


def test_where_a_session_ended_nothing_names_who_was_signed_in(proposal_page: Page, proposal: Proposal) -> None:
    expect(proposal_page).to_have_title(f"(1) Learning goals · Proposal {proposal.pk} · Assent")
    proposal_page.context.clear_cookies(name="assent_session")
    proposal_page.click("[data-approve]")
    expect(proposal_page.locator("h1")).to_have_text("You were signed out")
    expect(proposal_page).to_have_title("Sign in · Assent")
    expect(proposal_page.locator("body")).not_to_contain_text("Tim Okafor")
    expect(proposal_page.locator(".masthead")).to_have_count(0)


# -- a decision on its way --------------------------------------------------------------------------


def test_a_slow_approval_says_so_and_holds_the_others_back(proposal_page: Page, proposal: Proposal) -> None:
    held: list[Route] = []
    proposal_page.route("**/approve/", lambda route: held.append(route))
    approve = proposal_page.locator("[data-approve]")
    approve.click()
    expect(approve).to_have_text("Approving…")
    expect(approve).to_have_attribute("aria-busy", "true")
    expect(approve).to_be_disabled()
    expect(proposal_page.locator("#live")).to_have_text("Approving…")
    for held_back in ("[data-request]", ".decide-more > summary"):
        expect(proposal_page.locator(held_back)).to_have_attribute("aria-disabled", "true")
        proposal_page.locator(held_back).click(force=True)
    expect(proposal_page.locator(".decide-form").first).to_be_hidden()
    expect(proposal_page.locator("[data-reject]")).to_be_hidden()
    held[0].abort()
    expect(proposal_page.locator("[data-no-answer]")).to_contain_text("No response from the server.")
    expect(approve).to_have_text("Approve")
    expect(approve).to_be_enabled()
    expect(proposal_page.locator("[aria-busy], .decide [aria-disabled]")).to_have_count(0)
    assert status_of(proposal) == Status.OPEN
    proposal_page.unroute("**/approve/")
    approve.click()
    expect(proposal_page.locator("#outcome-title")).to_have_text("Approved by Tim Okafor")


def test_offline_is_told_from_a_server_that_does_not_answer(proposal_page: Page) -> None:
    proposal_page.context.set_offline(True)
    proposal_page.click("[data-approve]")
    expect(proposal_page.locator("[data-no-answer]")).to_contain_text("You are offline. Nothing was sent.")
    proposal_page.context.set_offline(False)
    proposal_page.click("[data-approve]")
    expect(proposal_page.locator("#outcome-title")).to_have_text("Approved by Tim Okafor")


# -- small screens, and without scripts -------------------------------------------------------------


def test_on_a_phone_the_change_stays_in_view_above_the_rejection(
    window_of: WindowOf, tim: User, proposal: Proposal
) -> None:
    window = window_of(tim, viewport={"width": 390, "height": 844})
    window.goto(proposal.get_absolute_url())
    window.click(".decide-more > summary")
    window.click("[data-reject]")
    expect(window.locator(".reject-form input[name=reason]").first).to_be_focused()
    change = window.locator("#change ins").bounding_box()
    sheet = window.locator(".reject-form").bounding_box()
    assert change
    assert sheet
    assert change["y"] >= 0
    assert change["y"] + change["height"] < sheet["y"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_runs_over_the_edge_of_a_small_screen_and_no_policy_is_broken(
    scheme: str, window_of: WindowOf, tim: User, goals: Block, propose: Propose
) -> None:
    said: Any = {"evidence": [{"role": "user", "content": "x" * 300}], "reasoning": "x" * 200}
    path = propose(goals, "in June", "in June\u200b " + "unbreakable" * 30, **said).get_absolute_url()
    window = window_of(tim, viewport={"width": 320, "height": 640}, color_scheme=scheme)
    complaints: list[str] = []
    window.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    window.on("pageerror", lambda error: complaints.append(str(error)))
    views = [f"{path}?view={view}" for view in ("side", "result", "source")]
    for place in ("/", "/?tab=agent", "/?tab=decided", *views, path):
        window.goto(place)
        assert window.evaluate("document.documentElement.scrollWidth") <= 320, place
    assert complaints == []


def test_everything_works_without_scripts(window_of: WindowOf, tim: User, goals: Block, propose: Propose) -> None:
    rejected = propose(goals, "in June", "in July")
    approved = propose(goals, "one book", "two books")
    window = window_of(tim, java_script_enabled=False)
    window.click(f"#row-{approved.pk} button:has-text('Approve')")
    expect(window.locator(".messages")).to_contain_text("Approved: Learning goals")
    window.click(f"a[href='{rejected.get_absolute_url()}']")
    window.click(".decide-more > summary")
    window.click("[data-reject]")
    window.check(".reject-form input[value=wrong]")
    window.click("button:has-text('Reject this change')")
    expect(window.locator("#outcome-title")).to_have_text("Rejected by Tim Okafor")
    assert (status_of(approved), status_of(rejected)) == (Status.APPROVED, Status.REJECTED)
