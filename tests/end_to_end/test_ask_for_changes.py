"""Asking for changes, the agent's answer over HTTP, and the approval: by mouse, by keyboard, and without scripts."""

from typing import Any

import httpx
import pytest
from playwright.sync_api import expect

from approvals.models import Status, User
from memory_app import reads
from memory_app.reads import Block
from tests.end_to_end.conftest import WindowOf, status_of
from tests.support.fixtures import Propose

pytestmark = [pytest.mark.slow, pytest.mark.one_leg]


def answer_request(api: httpx.Client, number: int) -> None:
    """Do what an agent does at the start of a session: look what it is asked for, and amend."""
    listed = api.post("/tools/list_proposals/", json={"status": "changes_requested"}).json()["data"]["items"]
    (asked,) = [item for item in listed if item["proposal_id"] == number]
    assert asked["changes_requested"]["comment"] == "Which exam?"
    edit = {
        "user_id": "alice",
        "block_label": "goals",
        "old_string": "in June",
        "new_string": "in July, in Leeds",
        "reasoning": "The B2 exam, in Leeds.",
        "proposal_id": number,
    }
    done = api.post("/tools/propose_memory_edit/", json=edit).json()
    assert (done["ok"], done["data"]["revision"]) == (True, 2), done


def test_by_mouse_on_the_page(
    window_of: WindowOf, tim: User, goals: Block, propose: Propose, api: httpx.Client
) -> None:
    proposal = propose(goals, "in June", "in July", reasoning="The exam was moved.")
    window = window_of(tim)
    window.goto(proposal.get_absolute_url())
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


def test_by_keyboard_on_the_row_and_back(
    window_of: WindowOf, tim: User, goals: Block, propose: Propose, api: httpx.Client
) -> None:
    proposal = propose(goals, "in June", "in July")
    window = window_of(tim)
    window.keyboard.press("j")
    window.keyboard.press("q")
    expect(window.locator(f"#request-comment-{proposal.pk}")).to_be_focused()
    window.keyboard.type("Which exam?")
    window.keyboard.press("Control+Enter")
    row = window.locator(f"#row-{proposal.pk}")
    expect(row).to_contain_text("Changes requested")
    expect(window.locator("#count-agent")).to_have_text("1")
    expect(window.locator(":focus")).to_contain_class("row-outcome")
    window.keyboard.press("u")
    window.keyboard.press("Enter")
    expect(row.locator("[data-request]")).to_be_visible()
    expect(window.locator("#count-agent")).to_have_text("0")
    assert status_of(proposal) == Status.OPEN

    window.keyboard.press("j")
    window.keyboard.press("q")
    # Opening a panel moves the focus in its own turn; what is typed before goes elsewhere.
    expect(window.locator(f"#request-comment-{proposal.pk}")).to_be_focused()
    window.keyboard.type("Which exam?")
    window.keyboard.press("Control+Enter")
    expect(row).to_contain_text("Changes requested")
    answer_request(api, proposal.pk)
    window.goto(proposal.get_absolute_url())
    window.keyboard.press("a")
    window.keyboard.press("Enter")
    expect(window.locator("#outcome-title")).to_have_text("Approved by Tim Okafor")


def test_without_scripts(goals: Block, tim: User, propose: Propose, api: httpx.Client, person: Any) -> None:
    proposal = propose(goals, "in June", "in July")
    path, reviewer = proposal.get_absolute_url(), person(tim)
    asked = reviewer.submit(reviewer.read(path), {"comment": "Which exam?"}, path=f"{path}request-changes/")
    assert "You asked scribe for changes" in asked.text
    assert "Which exam?" in reviewer.read("/?tab=agent").text
    answer_request(api, proposal.pk)
    page = reviewer.read(path)
    assert "What changed since you looked" in page.text
    reviewer.submit(page, {}, path=f"{path}approve/")
    assert status_of(proposal) == Status.APPROVED
    assert "in July, in Leeds" in reads.block("alice", "goals").body


def test_on_a_phone_nothing_is_wider_than_the_window(
    window_of: WindowOf, tim: User, goals: Block, propose: Propose
) -> None:
    proposal = propose(goals, "in June", "in July")
    propose(goals, "one book", "two books", reasoning="x" * 200)
    for width in (320, 390):
        window = window_of(tim, viewport={"width": width, "height": 844})
        window.goto(proposal.get_absolute_url())
        window.click("[data-request]")
        expect(window.locator(".request-form button")).to_be_in_viewport()
        for path in ("/?tab=agent", proposal.get_absolute_url(), "/"):
            window.goto(path)
            assert window.evaluate("document.documentElement.scrollWidth") <= width, path
