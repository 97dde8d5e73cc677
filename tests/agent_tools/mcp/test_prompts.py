"""The prompts: the skill, and the agent's own proposals with what to do about them."""

from typing import Any

import pytest
from django.test import override_settings

from agent_tools.mcp import methods
from approvals import services
from approvals.models import User
from memory_app.reads import Block
from tests.agent_tools.conftest import Issue
from tests.agent_tools.mcp.peer import Peer, error_of
from tests.support.acts import approve
from tests.support.fixtures import Propose

PARAMS = -32602


def prompt(peer: Peer, name: str) -> str:
    got = peer.result("prompts/get", {"name": name})
    (message,) = got["messages"]
    assert (message["role"], message["content"]["type"]) == ("user", "text")
    text: str = message["content"]["text"]
    return text


def test_there_are_two(peer: Peer) -> None:
    listed = peer.result("prompts/list")["prompts"]
    assert [each["name"] for each in listed] == ["memory_skill", "review_my_proposals"]
    assert all(each["title"] and each["description"] for each in listed)


def test_the_skill_says_when_to_use_which_tool(peer: Peer) -> None:
    text = prompt(peer, "memory_skill")
    assert "`propose_memory_edit`" in text
    assert "## Which Tool for What" in text
    with override_settings(MEMORIES_ENABLED=False):
        assert "`memory_save`" not in prompt(peer, "memory_skill")


def test_decisions_and_requests_are_listed_with_what_to_do(
    peer: Peer, alice: User, goals: Block, propose: Propose
) -> None:
    assert "There is nothing to do." in prompt(peer, "review_my_proposals")
    rejected = propose(goals, "one book", "nine books")
    services.reject(actor=alice, proposal_id=rejected.pk, revision=1, reason="wrong", comment="Nine is too many.")
    asked = propose(goals, "She wants", "She plans")
    services.request_changes(actor=alice, proposal_id=asked.pk, revision=1, comment="Say when.")
    waiting = propose(goals, "likes math", "likes maths")
    withdrawn = propose(goals, "in June", "in July")
    peer.call("withdraw_proposal", proposal_id=withdrawn.pk)
    text = prompt(peer, "review_my_proposals")
    assert f"- {rejected.pk}: block 'goals', rejected" in text
    assert "Nine is too many." in text
    assert "These of your proposals wait for changes of yours:" in text
    assert "Say when." in text
    assert f"- {waiting.pk}:" not in text
    assert f"- {withdrawn.pk}:" not in text
    assert "`proposal_id`" in text


def test_proposals_that_wait_do_not_hide_a_decision(
    peer: Peer, alice: User, goals: Block, propose: Propose, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(methods, "_MOST", 2)  # fewer than there will be in all
    first = propose(goals, "one book", "two books")
    second = propose(goals, "in June", "in July")
    why = "No:\n- not in July\n- and not in May"
    services.reject(actor=alice, proposal_id=second.pk, revision=1, reason="wrong", comment=why)
    approve(alice, first)
    for number in range(3):
        propose(goals, "likes math", f"likes math {number}")
    text = prompt(peer, "review_my_proposals")
    shown = text[text.index("These were decided:") :]
    assert shown.index(f"- {first.pk}: ") < shown.index(f"- {second.pk}: ")  # the latest decision first


def test_another_owners_proposals_are_not_listed(
    alice: User, ben: User, goals: Block, propose: Propose, issue: Issue
) -> None:
    approved = propose(goals, "one book", "two books")
    approve(alice, approved)
    assert f"- {approved.pk}: block 'goals', approved" in prompt(Peer(issue(alice)), "review_my_proposals")
    assert "There is nothing to do." in prompt(Peer(issue(ben)), "review_my_proposals")
    assert "There is nothing to do." in prompt(Peer(issue(alice, ben), query="user=ben"), "review_my_proposals")
    assert f"- {approved.pk}:" in prompt(Peer(issue(alice, ben)), "review_my_proposals")


@pytest.mark.parametrize(
    "params", [{}, {"name": "nothing"}, {"name": 7}, {"name": "memory_skill", "arguments": {"a": "b"}}]
)
def test_a_prompt_that_is_not_there_is_refused(old: Peer, params: dict[str, Any]) -> None:
    error_of(old.ask("prompts/get", params), PARAMS, 200)
