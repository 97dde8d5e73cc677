"""An agent's page and the tokens in a real browser, with JavaScript and without."""

import subprocess

import pytest
from playwright.sync_api import Page, expect

from agent_tools import auth
from agent_tools.models import Scope
from approvals.models import Agent, User
from memory_app.reads import Block
from tests.end_to_end.conftest import WindowOf

pytestmark = pytest.mark.slow


def create_a_token(window: Page) -> str:
    """Create a token for a new agent; what the page shows of it."""
    window.goto("/agents/")
    window.fill("[name=name]", "planner")
    window.click("button:has-text('Create the token')")
    window.wait_for_selector("#secret")
    window.wait_for_load_state()  # the scripts have run, so that its buttons copy
    return window.input_value("#secret")


def test_a_new_token_and_a_command_that_works_as_it_stands_are_copied_whole(
    window_of: WindowOf, alice: User, goals: Block
) -> None:
    window = window_of(alice, permissions=["clipboard-read", "clipboard-write"])
    secret = create_a_token(window)
    command = window.locator("#snippet-curl").text_content() or ""
    for of, text in (("secret", secret), ("snippet-curl", command)):
        button = window.locator(f"[data-copy-from={of}]")
        button.click()
        expect(button).to_have_text("Copied")
        assert window.evaluate("navigator.clipboard.readText()") == text
    done = subprocess.run(["sh", "-c", command], capture_output=True, check=True, timeout=20)
    assert '"label": "goals"' in done.stdout.decode()


def test_without_scripts_the_token_and_its_variables_are_there_to_be_copied_by_hand(
    window_of: WindowOf, alice: User
) -> None:
    """With the new token in them, which another page does not have."""
    window = window_of(alice, java_script_enabled=False)
    secret = create_a_token(window)
    expect(window.locator("[data-copy-from=secret]")).to_be_hidden()
    window.click("#way-claude-code > summary")
    window.click("#way-claude-code a:has-text('Environment')")
    expect(window.locator("#snippet-environment")).to_be_visible()
    expect(window.locator("#snippet-environment")).to_contain_text(secret)


def test_calls_are_narrowed_without_leaving_the_page(window_of: WindowOf, alice: User, goals: Block) -> None:
    window = window_of(alice)
    secret = auth.issue(agent=Agent.objects.create(name="diary"), owners=[alice], scopes=Scope.usual()).secret
    for label, status in (("goals", 200), ("nothing", 404)):
        headers = {"Authorization": f"Bearer {secret}"}
        address = "/api/v1/tools/read_memory_block/"
        assert window.request.post(address, data={"block_label": label}, headers=headers).status == status
    window.wait_for_timeout(1_500)  # rows are written a moment later
    window.goto("/agents/diary/calls/")
    expect(window.locator(".calls-table tbody tr")).to_have_count(2)
    window.select_option("#calls-outcome", "block_not_found")
    expect(window.locator(".calls-table tbody tr")).to_have_count(1)
    assert "outcome=block_not_found" in window.url


def test_every_tab_is_in_view(window_of: WindowOf, alice: User) -> None:
    """Also on a narrow page, whose last tab was cut off where another one is bold."""
    window = window_of(alice)
    for width in (1280, 768, 360):
        window.set_viewport_size({"width": width, "height": 800})
        for page in ("/settings/", "/memory/alice/"):
            window.goto(page)
            assert window.evaluate("(bar => bar.scrollWidth <= bar.clientWidth)(document.querySelector('.tabs'))"), page
