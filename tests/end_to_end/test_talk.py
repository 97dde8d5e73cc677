"""Talking about a proposal in a browser, and a rule that applies at once what an agent proposes."""

from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, expect

from approvals.models import Agent, Event, Proposal, Status, TrustRule, User
from memory_app.reads import Block
from tests.end_to_end.conftest import WindowOf
from tests.support.acts import change

pytestmark = pytest.mark.slow


def test_a_question_and_its_answer(
    window_of: WindowOf, api: httpx.Client, tim: User, scribe: Agent, goals: Block
) -> None:
    proposal = change(scribe, ("likes math", "loves math"), ("one book", "two books"))
    window = window_of(tim)
    window.goto(proposal.get_absolute_url())
    window.locator(".talk-at").nth(1).click()
    expect(window.locator("#talk-said")).to_be_focused()
    assert window.locator("#talk-change option:checked").inner_text().startswith("Change 2")
    window.keyboard.type("Who said so?")
    window.keyboard.press("Control+Enter")
    expect(window.locator("#talk .turn-text")).to_have_text("Who said so?")
    expect(window.locator("#talk .talk-about")).to_contain_text("about change 2")
    expect(window.locator("#talk-said")).to_have_value("")
    expect(window.locator("#talk-said")).to_be_focused()
    expect(window.locator(".talk-at")).to_have_text(["Comment about change 1", "1 comment about change 2"])

    asked = api.post("/tools/get_proposal/", json={"proposal_id": proposal.pk}).json()
    assert "tim commented: Who said so?" in asked["text"]
    answer = api.post("/tools/comment_on_proposal/", json={"proposal_id": proposal.pk, "comment": "Her teacher."})
    assert answer.status_code == 200, answer.text
    window.goto("/")
    expect(window.locator(f"#row-{proposal.pk}")).to_contain_text("scribe answered")
    window.click(f"#row-{proposal.pk} [data-open]")
    expect(window.locator("#talk .turn-text")).to_have_text(["Who said so?", "Her teacher."])
    expect(window.locator("#talk")).to_contain_text("agent")


def test_what_is_typed_stays_when_the_thread_refuses_it(proposal_page: Page) -> None:
    window = proposal_page
    window.click(".talk-write > summary")
    window.fill("#talk-said", "Who said so?")
    window.evaluate("document.querySelector('.talk-form [name=nonce]').value = 'broken'")
    window.click(".talk-form button")
    expect(window.locator("#talk-error")).to_be_visible()
    expect(window.locator("#talk-said")).to_have_value("Who said so?")
    assert not Event.objects.filter(what="commented").exists()


def test_assigning_by_mouse(proposal_page: Page) -> None:
    proposal_page.click(".decide-more > summary")
    proposal_page.click("[data-assign]")
    proposal_page.select_option("#assign-to", "tim")
    proposal_page.click("button:has-text('Assign')")
    expect(proposal_page.locator(".page-head .chips")).to_contain_text("assigned to you")


def test_a_rule_made_on_the_page_applies_what_an_agent_proposes(
    window_of: WindowOf, api: httpx.Client, alice: User, goals: Block
) -> None:
    window = window_of(alice)
    window.goto("/settings/policies/")
    window.click("summary:has-text('New rule')")
    window.select_option("#rule-agent", "scribe")
    window.select_option("#rule-block", "goals")
    window.check(".rule-form input[value=small]")
    window.click("button:has-text('Create the rule')")
    expect(window.locator(".rule-words")).to_have_text("scribe · block goals · apply immediately if small")
    assert TrustRule.objects.get().needs == "small"

    edit: dict[str, Any] = {"block_label": "goals", "old_string": "math", "new_string": "maths", "reasoning": "So."}
    answer = api.post("/tools/propose_memory_edit/", json=edit).json()
    assert (answer["data"]["status"], bool(answer["data"]["commit"])) == ("applied", True), answer
    assert "Edit applied to block 'goals' at once" in answer["text"]
    assert Proposal.objects.get().status == Status.APPLIED
    window.goto("/memory/alice/")
    expect(window.locator(".timeline")).to_contain_text("rule: scribe · block goals · apply immediately if small")
