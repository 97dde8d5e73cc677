"""An agent's page and the tokens in a real browser, with JavaScript and without."""

import subprocess

from playwright.sync_api import expect

from agent_tools import auth
from agent_tools.models import AgentToken, Scope
from approvals.models import Agent, User
from memory_app.reads import Block
from tests.end_to_end.conftest import Server, WindowOf


def test_the_command_on_the_page_of_a_new_token_works(
    window_of: WindowOf, server: Server, alice: User, goals: Block
) -> None:
    """As it stands there, in a shell; and it is copied whole."""
    window = window_of(alice, permissions=["clipboard-read", "clipboard-write"])
    window.goto("/settings/agents/")
    window.fill("[name=name]", "planner")
    window.click("button:has-text('Create the token')")
    first = window.locator("#snippet-curl").text_content() or ""
    done = subprocess.run(["sh", "-c", first], capture_output=True, check=True, timeout=20)
    assert '"label": "goals"' in done.stdout.decode()
    button = window.locator("[data-copy-from=snippet-curl]")
    button.click()
    expect(button).to_have_text("Copied")
    assert window.evaluate("navigator.clipboard.readText()") == first


def test_calls_are_narrowed_without_leaving_the_page(
    window_of: WindowOf, server: Server, alice: User, goals: Block
) -> None:
    window = window_of(alice)
    secret = auth.issue(agent=Agent.objects.create(name="diary"), owners=[alice], scopes=Scope.usual()).secret
    for label in ("goals", "nothing"):
        answer = window.request.post(
            "/api/v1/tools/read_memory_block/",
            data={"block_label": label},
            headers={"Authorization": f"Bearer {secret}"},
        )
        assert answer.status == (200 if label == "goals" else 404)
    window.wait_for_timeout(1_500)  # rows are written a moment later
    window.goto("/settings/agents/diary/")
    expect(window.locator(".calls-table tbody tr")).to_have_count(2)
    window.select_option("#calls-outcome", "block_not_found")
    expect(window.locator(".calls-table tbody tr")).to_have_count(1)
    assert "outcome=block_not_found" in window.url


def test_a_secret_is_rotated_without_javascript(window_of: WindowOf, server: Server, alice: User) -> None:
    diary = Agent.objects.create(name="diary", created_by=alice)
    auth.issue(agent=diary, owners=[alice], scopes=["memory:read"], created_by=alice)
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
        for page in ("/settings/", "/settings/agents/", "/settings/webhooks/"):
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
