"""Blocks and notes as resources, their templates, completion of their addresses; and the prompts."""

from typing import Any

import pytest
from django.test import override_settings

from agent_tools.calls import execution
from agent_tools.mcp import methods
from agent_tools.models import ToolCall
from approvals import services
from approvals.models import User
from memory_app.reads import Block
from tests.agent_tools.conftest import Issue
from tests.agent_tools.mcp.peer import OLD, Peer, error_of, text_of
from tests.support.acts import approve, reject
from tests.support.fixtures import MakeBlock, Propose

PARAMS, INTERNAL = -32602, -32603


def saved(peer: Peer, content: str) -> str:
    return text_of(peer.call("memory_save", content=content)).split()[1]


def all_of(peer: Peer) -> list[Any]:
    """Every resource, over all pages."""
    return [each for page in peer.pages("resources/list", "resources") for each in page]


def test_blocks_come_first_and_then_notes_newest_first(peer: Peer, alice: User, make_block: MakeBlock) -> None:
    assert all_of(peer) == []
    make_block(alice, "goals", "Math.", title="Learning goals")
    first, second = saved(peer, "Likes tea.\nWithout sugar."), saved(peer, "x" * 200)
    block, newest, oldest = all_of(peer)
    assert (block["uri"], block["name"], block["title"]) == ("memory://alice/blocks/goals", "goals", "Learning goals")
    assert block["mimeType"] == "text/markdown"
    assert block["annotations"]["lastModified"]
    assert (newest["uri"], oldest["uri"]) == (f"memory://alice/notes/{second}", f"memory://alice/notes/{first}")
    assert oldest["title"] == "Likes tea. Without sugar."
    assert len(newest["title"]) == 81


@pytest.mark.parametrize("size", [1, 3])
def test_a_long_list_comes_in_pages_and_whole(
    modern: Peer, alice: User, make_block: MakeBlock, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    for label in ("a", "b", "c"):
        make_block(alice, label, label)
    for number in range(4):
        saved(modern, f"note {number}")
    monkeypatch.setattr(methods, "SIZE", size)
    names = [each["uri"].split("/")[-2] for each in all_of(modern)]
    assert names == ["blocks"] * 3 + ["notes"] * 4
    assert len({each["uri"] for each in all_of(modern)}) == 7


@override_settings(MEMORIES_ENABLED=False)
def test_without_notes_there_are_blocks(peer: Peer, goals: Block) -> None:
    assert [each["name"] for each in all_of(peer)] == ["goals"]
    templates = peer.result("resources/templates/list")["resourceTemplates"]
    assert [each["name"] for each in templates] == ["block"]


def test_what_is_read_is_the_text_and_nothing_else(peer: Peer, goals: Block) -> None:
    note_id = saved(peer, "Likes tea.")
    for uri, text in (
        (f"memory://alice/blocks/{goals.label}", goals.body),
        (f"memory://alice/notes/{note_id}", "Likes tea."),
    ):
        read = peer.result("resources/read", {"uri": uri})
        assert read["contents"] == [{"uri": uri, "mimeType": "text/markdown", "text": text}]
        assert read.get("ttlMs") == (0 if peer.is_modern else None)


def test_a_block_longer_than_an_answer_is_read_whole(modern: Peer, alice: User, make_block: MakeBlock) -> None:
    body = "".join(f"line {number}\n" for number in range(10_000))
    make_block(alice, "long", body, limit=200_000)
    (read,) = modern.result("resources/read", {"uri": "memory://alice/blocks/long"})["contents"]
    assert read["text"] == body


ESCAPES = [
    "memory://alice/blocks/gaols",
    "memory://alice/blocks/",
    "memory://alice/blocks",
    "memory://alice/blocks/goals/",
    "memory://alice/blocks/goals?x",
    "memory://alice/blocks/goals#x",
    "memory://alice/blocks/goals\n",
    "memory://alice/blocks/../blocks/goals",
    "memory://alice/blocks/%67oals",
    "memory://alice/blocks/..%2f..%2fben%2fblocks%2fgoals",
    "memory://alice/../ben/blocks/goals",
    "memory://alice/blocks/goals%00",
    "memory://alice/blocks/GOALS",
    "memory://alice/blocks/ｇoals",
    "memory://alice@ben/blocks/goals",
    "memory://alice:80/blocks/goals",
    "memory://ben/blocks/goals",
    "memory://nobody/blocks/goals",
    "memory:///blocks/goals",
    "memory:/alice/blocks/goals",
    "MEMORY://alice/blocks/goals",
    "memory://alice/notes/note-00000000-0000-0000-0000-000000000000",
    "memory://alice/notes/mem-1-aaaa",
    "memory://alice/notes/1",
    "memory://alice/sessions/s",
    "file:///etc/passwd",
    "https://memory.example/",
    "",
    " memory://alice/blocks/goals",
    "memory://alice/blocks/" + "a" * 5_000,
]


def test_what_names_nothing_of_the_owners_is_not_found(
    old: Peer, ben: User, goals: Block, make_block: MakeBlock
) -> None:
    make_block(ben, "journal", "of ben's")
    for uri in (*ESCAPES, "memory://ben/blocks/journal", "memory://ben/blocks/journax"):
        error = error_of(old.ask("resources/read", {"uri": uri}), PARAMS, 200)
        assert (error["message"], error["data"]) == ("Resource not found", {"uri": uri})
    for params in ({}, {"uri": 7}, {"uri": None}, {"uri": ["memory://alice/blocks/goals"]}):
        error_of(old.ask("resources/read", params), PARAMS, 200)


def test_an_address_about_one_owner_reads_no_other(
    alice: User, ben: User, goals: Block, make_block: MakeBlock, issue: Issue
) -> None:
    make_block(ben, "journal", "of ben's")
    secret = issue(alice, ben)
    about_alice = Peer(secret, OLD[-1], query="user=alice")
    error_of(about_alice.ask("resources/read", {"uri": "memory://ben/blocks/journal"}), PARAMS, 200)
    both = Peer(secret)
    assert both.result("resources/read", {"uri": "memory://ben/blocks/journal"})["contents"][0]["text"] == "of ben's"


def test_with_several_owners_the_templates_say_how_to_ask(alice: User, ben: User, goals: Block, issue: Issue) -> None:
    peer = Peer(issue(alice, ben))
    assert all_of(peer) == []
    templates = peer.result("resources/templates/list")["resourceTemplates"]
    assert templates[0]["uriTemplate"] == "memory://{user}/blocks/{label}"
    (one,) = Peer(issue(alice)).result("resources/templates/list")["resourceTemplates"][:1]
    assert one["uriTemplate"] == "memory://alice/blocks/{label}"


def test_reading_is_on_record_as_reading_by_a_tool(peer: Peer, goals: Block) -> None:
    peer.result("resources/read", {"uri": "memory://alice/blocks/goals"})
    peer.ask("resources/read", {"uri": "memory://alice/blocks/gaols"})
    execution.settle()
    rows = list(ToolCall.objects.order_by("pk").values_list("tool", "owner", "target", "outcome"))
    assert rows == [("read_memory_block", "alice", "goals", "ok"), ("read_memory_block", "alice", "gaols", "not_found")]


def test_what_fails_by_our_fault_says_so_and_nothing_more(
    old: Peer, goals: Block, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*args: Any, **more: Any) -> Any:
        raise RuntimeError("secret words of an exception")

    monkeypatch.setattr("memory_app.reads.snapshot", fails)
    response = old.ask("resources/read", {"uri": "memory://alice/blocks/goals"})
    error = error_of(response, INTERNAL, 200)
    assert error["message"].startswith("Something went wrong on our side (request ")
    assert "secret" not in response.content.decode()


# -- completion -----------------------------------------------------------------------------------


REFERENCE = {"type": "ref/resource", "uri": "memory://{user}/blocks/{label}"}


def completed(peer: Peer, name: str, typed: str, **more: Any) -> list[str]:
    argument = {"name": name, "value": typed}
    found = peer.result("completion/complete", {"ref": REFERENCE, "argument": argument} | more)
    values: list[str] = found["completion"]["values"]
    assert found["completion"]["total"] == len(values)
    return values


def test_labels_and_users_are_completed(
    peer: Peer, alice: User, ben: User, goals: Block, make_block: MakeBlock, issue: Issue
) -> None:
    make_block(alice, "goodies", "x")
    make_block(alice, "student", "x")
    assert completed(peer, "label", "go") == ["goals", "goodies"]
    assert completed(peer, "label", "") == ["goals", "goodies", "student"]
    assert completed(peer, "user", "al") == ["alice"]
    assert completed(peer, "user", "b") == completed(peer, "id", "") == []
    both = Peer(issue(alice, ben), peer.version)
    assert completed(both, "user", "") == ["alice", "ben"]
    assert completed(both, "label", "go") == []
    assert completed(both, "label", "go", context={"arguments": {"user": "alice"}}) == ["goals", "goodies"]


def test_another_owners_labels_are_not_completed(
    alice: User, ben: User, mallory: User, make_block: MakeBlock, issue: Issue
) -> None:
    make_block(mallory, "plans", "x")
    peer = Peer(issue(alice, ben), OLD[-1])
    of_nobody: list[Any] = [{"arguments": {"user": "../alice"}}, {"arguments": []}, "x", {"arguments": {"user": 7}}]
    for context in of_nobody:
        assert completed(peer, "label", "", context=context) == []
    argument = {"name": "label", "value": ""}
    asked = {"ref": REFERENCE, "argument": argument, "context": {"arguments": {"user": "mallory"}}}
    assert error_of(peer.ask("completion/complete", asked), PARAMS, 200)["data"]["code"] == "owner_not_granted"
    assert completed(peer, "user", "m") == []


def test_what_cannot_be_completed_is_refused(old: Peer) -> None:
    for params in (
        {},
        {"ref": "x"},
        {"ref": {"type": "ref/resource"}},
        {"ref": {"type": "ref/tool"}, "argument": {"name": "a", "value": "b"}},
        {"ref": {"type": "ref/resource"}, "argument": {"name": "label"}},
        {"ref": {"type": "ref/resource"}, "argument": {"name": "label", "value": 7}},
    ):
        error_of(old.ask("completion/complete", params), PARAMS, 200)


# -- prompts --------------------------------------------------------------------------------------


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
    reject(alice, rejected, comment="Nine is too many.")
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
    reject(alice, second, comment="No:\n- not in July\n- and not in May")
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
