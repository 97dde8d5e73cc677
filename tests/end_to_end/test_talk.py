"""Talking about a proposal in a browser: by mouse, by keyboard, without JavaScript; and a rule that applies at once."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest
from playwright.sync_api import expect

from approvals import services
from approvals.models import Agent, Event, Kind, Proposal, Status, TrustRule, User
from memory_app.reads import Block
from memory_app.text.edits import Rewrite
from tests.end_to_end.conftest import Person, WindowOf, status_of
from tests.support.fixtures import Propose

pytestmark = pytest.mark.slow

PersonOf = Callable[[User], Person]


def test_a_question_and_its_answer(
    window_of: WindowOf, api: httpx.Client, tim: User, scribe: Agent, goals: Block
) -> None:
    text = goals.body.replace("likes math", "loves math").replace("one book", "two books")
    rewrite: dict[str, Any] = {"edits": [Rewrite(text)], "kind": Kind.REWRITE, "reasoning": "She said so."}
    proposal = services.propose(agent=scribe, owner="alice", label="goals", **rewrite).proposal
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


def test_what_is_typed_stays_when_the_thread_refuses_it(
    window_of: WindowOf, tim: User, goals: Block, propose: Propose
) -> None:
    proposal = propose(goals, "in June", "in July")
    window = window_of(tim)
    window.goto(proposal.get_absolute_url())
    window.fill("#talk-said", "Who said so?")
    window.evaluate("document.querySelector('.talk-form [name=nonce]').value = 'broken'")
    window.click(".talk-form button")
    expect(window.locator("#talk-error")).to_be_visible()
    expect(window.locator("#talk-said")).to_have_value("Who said so?")
    assert not Event.objects.filter(what="commented").exists()


def test_assigning_by_mouse(window_of: WindowOf, tim: User, goals: Block, propose: Propose) -> None:
    proposal = propose(goals, "in June", "in July")
    window = window_of(tim)
    window.goto(proposal.get_absolute_url())
    window.click("summary:has-text('Assign…')")
    window.select_option("#assign-to", "tim")
    window.click(".care-form button:has-text('Assign')")
    expect(window.locator(".care")).to_contain_text("Assigned to you")


def test_without_javascript(person: PersonOf, tim: User, goals: Block, propose: Propose) -> None:
    proposal = propose(goals, "in June", "in July")
    someone, here = person(tim), proposal.get_absolute_url()
    page = someone.submit(someone.read(here), {"said": "Who said so?"}, path=f"{here}comment/")
    assert "Who said so?" in page.text
    page = someone.submit(page, {"to": "tim"}, path=f"{here}assign/")
    assert "Assigned to you" in page.text


def test_a_rule_made_on_the_page_applies_what_an_agent_proposes(
    window_of: WindowOf, api: httpx.Client, alice: User, goals: Block
) -> None:
    window = window_of(alice)
    window.goto("/settings/policies/")
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
    proposal = Proposal.objects.get()
    assert status_of(proposal) == Status.APPLIED
    window.goto("/memory/alice/automatic/")
    expect(window.locator(".rows")).to_contain_text("rule: scribe · block goals · apply immediately if small")
    window.click(".row-actions button, .row-actions a")
    window.wait_for_load_state()
    proposal.refresh_from_db()
    if not proposal.reverted_by_commit:  # undoing is confirmed on a page of its own
        window.click("main form button[type=submit]:visible")
        window.wait_for_load_state()
        proposal.refresh_from_db()
    assert proposal.reverted_by_commit


def test_a_rule_is_made_and_removed_without_javascript(
    person: PersonOf, alice: User, scribe: Agent, token: str
) -> None:
    someone, here = person(alice), "/settings/policies/"
    fields = {"agent": "scribe", "block": "", "kind": "", "needs": "ask"}
    page = someone.submit(someone.read(here), fields, path=f"{here}rules/")
    rule = TrustRule.objects.get()
    assert (rule.agent, rule.needs) == (scribe, "ask")
    someone.submit(page, {}, path=f"{here}rules/{rule.pk}/delete/")
    assert not TrustRule.objects.exists()
