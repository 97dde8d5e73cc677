"""Asking for changes, the agent's answer over HTTP, and the approval: by mouse and by keyboard."""

import httpx
import pytest
from playwright.sync_api import Page, expect

from approvals.models import Proposal, Status
from memory_app import reads
from tests.end_to_end.conftest import status_of

pytestmark = [pytest.mark.slow, pytest.mark.one_leg]


def answer_request(api: httpx.Client, number: int) -> None:
    """Do what an agent does at the start of a session: look what it is asked for, and amend."""
    listed = api.post("/tools/list_proposals/", json={"status": "changes_requested"}).json()["data"]["items"]
    (asked,) = [item for item in listed if item["proposal_id"] == number]
    assert asked["changes_requested"]["comment"] == "Which exam?"
    edit = {"block_label": "goals", "old_string": "in June", "new_string": "in July, in Leeds", "reasoning": "B2."}
    done = api.post("/tools/propose_memory_edit/", json=edit | {"proposal_id": number}).json()
    assert (done["ok"], done["data"]["revision"]) == (True, 2), done


def test_by_mouse_on_the_page(proposal_page: Page, proposal: Proposal, api: httpx.Client) -> None:
    window = proposal_page
    window.click("[data-request]")
    expect(window.locator(f"#request-comment-{proposal.pk}")).to_be_focused()
    window.click(".request-form button")  # the browser asks for words
    assert status_of(proposal) == Status.OPEN
    window.fill(f"#request-comment-{proposal.pk}", "Which exam?")
    window.check(".request-form input[value=wrong]")
    window.click(".request-form button")
    expect(window.locator("#asked-title")).to_be_focused()
    expect(window.locator("#asked-title")).to_have_text("You asked scribe for changes")
    assert status_of(proposal) == Status.CHANGES_REQUESTED

    answer_request(api, proposal.pk)
    window.goto("/")
    row = window.locator(f"#row-{proposal.pk}")
    expect(row).to_contain_text("revision 2 · changed since you looked")
    row.locator("[data-open]").click()
    expect(window.locator("#since-title")).to_contain_text("What changed since you looked")
    expect(window.locator("#since ins")).to_contain_text("in Leeds")
    window.click("[data-approve]")
    expect(window.locator("#outcome-title")).to_have_text("Approved by Tim Okafor")
    assert "in July, in Leeds" in reads.block("alice", "goals").body


def test_by_keyboard_from_the_row_and_back(inbox: Page, proposal: Proposal, api: httpx.Client) -> None:
    window = inbox
    ask_by_keyboard(window, proposal)
    expect(window.locator("#asked-title")).to_be_focused()
    assert status_of(proposal) == Status.CHANGES_REQUESTED
    window.keyboard.press("u")
    window.keyboard.press("Enter")
    expect(window.locator("#proposal")).to_contain_text("It’s your turn again.")
    assert status_of(proposal) == Status.OPEN

    window.goto("/")
    ask_by_keyboard(window, proposal)
    expect(window.locator("#asked-title")).to_be_focused()
    answer_request(api, proposal.pk)
    window.goto(proposal.get_absolute_url())
    window.keyboard.press("a")
    window.keyboard.press("Enter")
    expect(window.locator("#outcome-title")).to_have_text("Approved by Tim Okafor")


def ask_by_keyboard(window: Page, proposal: Proposal) -> None:
    window.keyboard.press("j")
    window.keyboard.press("q")  # opens the page, and there the panel
    expect(window.locator(f"#request-comment-{proposal.pk}")).to_be_focused()
    window.keyboard.type("Which exam?")
    window.keyboard.press("Control+Enter")


@pytest.mark.parametrize("width", [320, 390])
def test_on_a_phone_nothing_is_wider_than_the_window(proposal_page: Page, width: int) -> None:
    proposal_page.set_viewport_size({"width": width, "height": 844})
    proposal_page.click("[data-request]")
    expect(proposal_page.locator(".request-form button")).to_be_in_viewport()
    assert proposal_page.evaluate("document.documentElement.scrollWidth") <= width
