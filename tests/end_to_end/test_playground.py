"""The playground, an agent's page and the tokens in a real browser, with JavaScript and without."""

from __future__ import annotations

import subprocess

from playwright.sync_api import Page, expect

from agent_tools.auth import tokens
from agent_tools.models import AgentToken
from approvals.models import Agent, Proposal, Status, User
from memory_app.reads import Block
from tests.end_to_end.conftest import Server, WindowOf, status_of

PLAYGROUND = "/settings/playground/"


def propose(window: Page) -> None:
    window.fill("#arg-block_label", "goals")
    window.fill("#arg-old_string", "Alice likes math.\nShe wants")
    window.fill("#arg-new_string", "Alice loves math.\nShe wants")
    window.fill("#arg-reasoning", "She said so.")
    window.get_by_role("button", name="Run it").click()


def test_a_tool_is_chosen_run_and_its_proposal_withdrawn(window_of: WindowOf, alice: User, goals: Block) -> None:
    window = window_of(alice)
    window.goto(PLAYGROUND)
    window.select_option("#tool", "propose_memory_edit")
    expect(window).to_have_url(f"{window.url.split('/settings')[0]}{PLAYGROUND}?tool=propose_memory_edit")
    propose(window)
    expect(window.locator("#tried-title")).to_be_focused()
    expect(window.locator("#tried-title")).to_contain_text("200 OK")
    expect(window.locator(".rendered ins, .redline ins").first).to_contain_text("loves")
    proposal = Proposal.objects.get()
    # Outside of the form: it belongs to it by the form's id, and what was typed stays.
    window.get_by_role("button", name="Withdraw it").click()
    expect(window.locator("#tried-title")).to_be_focused()
    expect(window.get_by_role("button", name="Withdraw it")).to_have_count(0)
    assert status_of(proposal) == Status.WITHDRAWN
    expect(window.locator("#arg-old_string")).to_have_value("Alice likes math.\nShe wants")


def test_without_javascript_it_does_the_same(window_of: WindowOf, alice: User, goals: Block) -> None:
    window = window_of(alice, java_script_enabled=False)
    window.goto(PLAYGROUND)
    window.select_option("#tool", "propose_memory_edit")
    window.get_by_role("button", name="Show").first.click()
    propose(window)
    expect(window.locator("#tried-title")).to_contain_text("200 OK")
    proposal = Proposal.objects.get()
    window.get_by_role("button", name="Withdraw it").click()
    expect(window.locator("#arg-reasoning")).to_have_value("She said so.")
    assert status_of(proposal) == Status.WITHDRAWN
    expect(window.locator("[data-copy-from]").first).to_be_hidden()


def test_enter_runs_the_tool_and_adds_no_item(window_of: WindowOf, alice: User, goals: Block) -> None:
    window = window_of(alice)
    window.goto(f"{PLAYGROUND}?tool=propose_memory_edit")
    window.click(".more-arguments > summary")
    window.fill("#arg-block_label", "goals")
    window.press("#arg-block_label", "Enter")
    expect(window.locator("#tried-title")).to_contain_text("400")
    expect(window.locator(".argument-row")).to_have_count(1)


def test_an_item_is_added_and_what_was_typed_stays(window_of: WindowOf, alice: User, goals: Block) -> None:
    window = window_of(alice)
    window.goto(f"{PLAYGROUND}?tool=propose_memory_edit")
    window.click(".more-arguments > summary")
    window.fill("#arg-evidence-0-content", "I love it.")
    window.get_by_role("button", name="One more evidence").click()
    expect(window.locator(".argument-row").nth(1)).to_be_focused()
    expect(window.locator("#arg-evidence-0-content")).to_have_value("I love it.")
    expect(window.locator(".more-arguments")).to_have_attribute("open", "")


def test_who_stays_with_what_was_typed_stays_with_its_tool(window_of: WindowOf, alice: User, goals: Block) -> None:
    """Or the page would name one tool above the form of another."""
    window = window_of(alice)
    window.goto(f"{PLAYGROUND}?tool=propose_memory_edit")
    window.fill("#arg-reasoning", "She said so.")
    window.once("dialog", lambda dialog: dialog.dismiss())
    window.select_option("#tool", "list_memory_blocks")
    expect(window.locator("#tool")).to_have_value("propose_memory_edit")
    expect(window.locator("#arg-reasoning")).to_have_value("She said so.")
    window.once("dialog", lambda dialog: dialog.accept())
    window.select_option("#tool", "list_memory_blocks")
    expect(window.locator("#playground-form [name=tool]")).to_have_value("list_memory_blocks")


def test_an_answer_is_copied(window_of: WindowOf, alice: User, goals: Block) -> None:
    """The buttons came with a part of the page, after its script."""
    window = window_of(alice, permissions=["clipboard-read", "clipboard-write"])
    window.goto(f"{PLAYGROUND}?tool=read_memory_block")
    window.fill("#arg-block_label", "goals")
    window.get_by_role("button", name="Run", exact=True).click()
    expect(window.locator("#tried-title")).to_be_focused()
    button = window.locator("[data-copy-from=request-curl]")
    button.click()
    expect(button).to_have_text("Copied")
    assert "$MEMORY_TOKEN" in str(window.evaluate("navigator.clipboard.readText()"))


def test_the_command_on_the_page_of_a_new_token_works(
    window_of: WindowOf, server: Server, alice: User, goals: Block
) -> None:
    """As it stands there, in a shell; and the one of the playground with the variables of the page."""
    window = window_of(alice)
    window.goto("/settings/agents/")
    window.fill("[name=name]", "planner")
    window.click("button:has-text('Create the token')")
    first = window.locator("#snippet-curl").text_content() or ""
    window.locator("#way-environment > summary").click()
    environment = window.locator("#snippet-environment").text_content() or ""
    assert '"label": "goals"' in in_a_shell(first)
    window.goto(f"{PLAYGROUND}?tool=read_memory_block")
    window.fill("#arg-block_label", "goals")
    window.get_by_role("button", name="Only show the request").click()
    command = window.locator("#request-curl").text_content() or ""
    assert "Alice likes math" in in_a_shell(f"{environment}\n{command}")


def in_a_shell(command: str) -> str:
    done = subprocess.run(["sh", "-c", command], capture_output=True, check=True, timeout=20)
    return done.stdout.decode()


def test_calls_are_narrowed_without_leaving_the_page(
    window_of: WindowOf, server: Server, alice: User, goals: Block
) -> None:
    window = window_of(alice)
    for label in ("goals", "nothing"):
        window.goto(f"{PLAYGROUND}?tool=read_memory_block")
        window.fill("#arg-block_label", label)
        window.get_by_role("button", name="Run", exact=True).click()
        expect(window.locator("#tried-title")).to_be_focused()
    window.wait_for_timeout(1_500)  # rows are written a moment later
    window.goto("/settings/agents/playground-alice/")
    expect(window.locator(".calls-table tbody tr")).to_have_count(2)
    window.select_option("#calls-outcome", "block_not_found")
    expect(window.locator(".calls-table tbody tr")).to_have_count(1)
    assert "outcome=block_not_found" in window.url


def test_a_secret_is_rotated_without_javascript(window_of: WindowOf, server: Server, alice: User) -> None:
    diary = Agent.objects.create(name="diary", created_by=alice)
    tokens.issue(agent=diary, owners=[alice], scopes=["memory:read"], created_by=alice)
    window = window_of(alice, java_script_enabled=False)
    window.goto("/settings/agents/")
    window.get_by_role("link", name="Rotate").click()
    window.get_by_label("for a week").check()
    window.get_by_role("button", name="Create the new secret").click()
    assert window.input_value("#secret").startswith("asn_")
    window.get_by_role("button", name="End it now").click()
    expect(window.locator("body")).to_contain_text("no longer opens your memory")
    assert [token.is_usable for token in AgentToken.objects.order_by("pk")] == [False, True]


def test_every_tab_of_the_settings_is_in_view(window_of: WindowOf, alice: User) -> None:
    """Also on a narrow page, whose last tab was cut off where another one is bold."""
    for width in (1280, 768, 360):
        window = window_of(alice, viewport={"width": width, "height": 800})
        for page in ("/settings/", "/settings/agents/", "/settings/webhooks/", PLAYGROUND):
            window.goto(page)
            assert window.evaluate("(bar => bar.scrollWidth <= bar.clientWidth)(document.querySelector('.tabs'))"), page


def test_the_variables_that_a_snippet_reads_are_one_press_away(window_of: WindowOf, alice: User) -> None:
    """With the new token in them, which another page does not have."""
    window = window_of(alice, java_script_enabled=False)
    window.goto("/settings/agents/")
    window.fill("[name=name]", "planner")
    window.click("button:has-text('Create the token')")
    window.click("#way-claude-code > summary")
    window.click("#way-claude-code a:has-text('Environment')")
    expect(window.locator("#snippet-environment")).to_be_visible()
    expect(window.locator("#snippet-environment")).to_contain_text(window.input_value("#secret"))
