"""Listing tools and calling them: what a client is offered, and what its model reads."""

import json
import time
from typing import Any

import pytest
from django.test import override_settings

from agent_tools.calls import execution, registry
from agent_tools.calls.registry import Effect
from agent_tools.mcp import methods
from agent_tools.models import ToolCall
from approvals.models import Proposal, User
from memory_app.reads import Block, EngineUnavailable
from tests.agent_tools.conftest import Issue, Machine
from tests.agent_tools.mcp.peer import MODERN, OLD, Peer, error_of, text_of
from tests.conftest import make_user

EDIT = {"block_label": "goals", "old_string": "one book", "new_string": "two books", "reasoning": "She said so."}
PARAMS = -32602


def tools_of(peer: Peer) -> dict[str, Any]:
    return {tool["name"]: tool for tool in peer.result("tools/list")["tools"]}


# -- what is offered ------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [OLD[-1], MODERN])
def test_every_tool_says_what_it_is_and_what_it_does(token: str, version: str) -> None:
    offered = tools_of(Peer(token, version, query="toolset=all"))
    assert list(offered) == [tool.name for tool in registry.switched_on()]
    for name, tool in offered.items():
        known = registry.TOOLS[name]
        assert tool["description"] == known.description
        assert tool["inputSchema"]["type"] == "object"
        assert "outputSchema" not in tool  # clients would show the model the JSON alone
        is_read = known.effect is Effect.READ_ONLY
        hints = tool["annotations"]
        assert (hints["readOnlyHint"], hints["destructiveHint"], hints["openWorldHint"]) == (is_read, False, False)
        assert hints["title"] == tool["title"]
        assert hints["idempotentHint"] or not is_read
    assert offered["read_memory_block"]["title"] == "Read memory block"
    repeatable = {name for name, tool in offered.items() if tool["annotations"]["idempotentHint"]}
    assert {"memory_update", "forget", "withdraw_proposal"} <= repeatable
    assert not {"memory_save", "remember", "propose_memory_edit"} & repeatable


def test_the_same_is_said_in_the_format_of_the_api(api: Machine, modern: Peer) -> None:
    listed = api.get("/api/v1/tools/?format=mcp").json()["data"]["tools"]
    assert listed == modern.result("tools/list")["tools"]


def test_tools_ask_whose_memory_where_the_token_serves_several(
    modern: Peer, alice: User, ben: User, issue: Issue
) -> None:
    for tool in tools_of(modern).values():
        assert "user_id" not in tool["inputSchema"]["properties"]
    for tool in tools_of(Peer(issue(alice, ben), query="toolset=all")).values():
        schema = tool["inputSchema"]
        assert next(iter(schema["properties"])) == "user_id"
        assert ("user_id" in schema["required"]) is not registry.TOOLS[tool["name"]].owner_optional


def test_an_address_may_say_whose_memory(alice: User, ben: User, goals: Block, issue: Issue) -> None:
    secret = issue(alice, ben)
    peer = Peer(secret, query="user=alice")
    assert all("user_id" not in tool["inputSchema"]["properties"] for tool in tools_of(peer).values())
    assert "goals" in text_of(peer.call("list_memory_blocks"))
    assert "goals" in text_of(peer.call("list_memory_blocks", user_id="alice"))
    other = peer.call("list_memory_blocks", user_id="ben")
    assert other["isError"]
    assert "user_id is set to 'alice'" in text_of(other)
    refusal = text_of(Peer(secret).call("list_memory_blocks"))
    assert "this token serves several owners.\nIt serves alice, ben: give one as user_id." in refusal
    refusal = text_of(Peer(secret).call("list_memory_blocks", user_id="Alice Marlowe"))
    assert "It serves alice, ben: give one as user_id." in refusal


def test_of_more_than_twenty_owners_it_says_that_there_are_more(issue: Issue) -> None:
    people = [make_user(f"student{number:02}") for number in range(21)]
    for number in (20, 21):
        refusal = text_of(Peer(issue(*people[:number])).call("list_memory_blocks"))
        assert (", and more, whom your host knows" in refusal) is (number == 21)
        assert ("student19" in refusal, "student20" in refusal) == (True, False)


def test_an_address_of_somebody_not_served_is_refused(ben: User, token: str) -> None:
    for name in ("ben", "nobody", "..", "Alice"):
        peer = Peer(token, query=f"user={name}")
        for method in ("tools/list", "resources/list"):
            assert peer.ask(method).json()["error"]["data"]["code"] in ("owner_not_granted", "invalid_arguments")
        assert peer.call("list_memory_blocks")["isError"]


def test_tools_the_token_has_no_scope_for_are_hidden_and_refused(alice: User, issue: Issue) -> None:
    peer = Peer(issue(alice, scopes=["memory:read"]))
    assert "read_memory_block" in peer.names()
    assert "propose_memory_edit" not in peer.names()
    refused = peer.call("propose_memory_edit", **EDIT)
    assert refused["isError"]
    assert text_of(refused) == (
        "Error: This token does not have the scope memory:propose.\n"
        "Every call of this kind fails with it: tell the user, who may give another."
    )


@override_settings(MEMORIES_ENABLED=False)
def test_tools_that_are_switched_off_are_hidden_and_refused(modern: Peer, token: str) -> None:
    assert not registry.NOTE_TOOLS & set(Peer(token, query="toolset=all").names())
    assert "keeps no notes" in text_of(modern.call("memory_save", content="x"))


@pytest.mark.parametrize("value", ["1", "true"])
def test_a_read_only_address_offers_and_runs_only_what_changes_nothing(token: str, goals: Block, value: str) -> None:
    peer = Peer(token, query=f"readonly={value}&toolset=all")
    assert set(peer.names()) == {tool.name for tool in registry.switched_on() if tool.effect is Effect.READ_ONLY}
    assert "Alice likes math." in text_of(peer.call("read_memory_block", block_label="goals"))
    error = error_of(peer.ask("tools/call", {"name": "propose_memory_edit", "arguments": EDIT}), PARAMS, 400)
    assert "is not offered at this address" in error["message"]
    assert not Proposal.objects.exists()


def test_an_address_chooses_tools_and_sets_of_tools(token: str) -> None:
    assert Peer(token, query="tools=recall,read_memory_block").names() == ["read_memory_block", "recall"]
    blocks = Peer(token, query="toolset=blocks").names()
    assert {"list_memory_blocks", "propose_memory_edit"} <= set(blocks)
    assert "memory_save" not in blocks
    both = Peer(token, query="toolset=blocks&toolset=notes&tools=get_proposal").names()
    assert {"memory_save", "propose_memory_edit", "get_proposal"} <= set(both)
    assert "list_proposals" not in both


def test_a_tool_that_is_not_listed_runs_by_its_name(peer: Peer, token: str, goals: Block) -> None:
    for each in (peer, Peer(token, peer.version, query="tools=memory_search")):
        assert "view_file" not in each.names()
        assert "Alice likes math." in text_of(each.call("view_file", path="/memories/blocks/goals.md"))


@pytest.mark.parametrize(
    ("query", "about"),
    [
        ("toolset=block", "did you mean blocks?"),
        ("tools=read_memory_blok", "did you mean read_memory_block?"),
        ("tools=zzzzzz", "there are list_memory_blocks"),
        ("read_only=1", "did you mean readonly?"),
        ("readonly=maybe", "readonly must be true or false"),
        ("user=alice&user=ben", "user is given more than once"),
        ("user=", "user must not be empty"),
        ("token=asn_x", "token is not known here"),
        ("session_id=a%00b", "session_id contains the character U+0000"),
        ("%00=1", "has a name with a NUL"),
    ],
)
def test_an_address_that_cannot_be_is_refused_with_each_message(token: str, query: str, about: str) -> None:
    peer = Peer(token, OLD[-1], query=query)
    for method in ("initialize", "tools/list", "tools/call"):
        assert about in error_of(peer.ask(method, {"protocolVersion": OLD[-1]}), PARAMS, 400)["message"]


def test_a_long_list_comes_in_pages(token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(methods, "SIZE", 7)
    pages = Peer(token, query="toolset=all").pages("tools/list", "tools")
    assert max(len(page) for page in pages) == 7
    assert [tool["name"] for page in pages for tool in page] == [tool.name for tool in registry.switched_on()]


@pytest.mark.parametrize("method", ["tools/list", "resources/list"])
def test_a_cursor_of_nothing_is_refused(old: Peer, method: str) -> None:
    assert old.ask(method, {"cursor": ""}).status_code == 200
    for cursor in ("x", "ä", 7, ["a"], "bm90aGluZw==", "/w==", "A" * 2_000):
        error_of(old.ask(method, {"cursor": cursor}), PARAMS, 200)


# -- what a call answers --------------------------------------------------------------------------


def test_the_model_reads_the_text_and_programs_the_data(peer: Peer, token: str, api: Machine, goals: Block) -> None:
    plain = peer.call("read_memory_block", block_label="goals")
    assert not {"assent/data", "structuredContent"} & {*plain, *plain.get("_meta", {})}
    refused = peer.call("read_memory_block", block_label="gaols")
    assert refused["_meta"]["assent/error"] == {"code": "block_not_found"}
    result = Peer(token, peer.version, query="data=1").call("read_memory_block", block_label="goals")
    rest = api.call("read_memory_block", block_label="goals").json()
    assert text_of(result) == rest["text"]
    assert result["isError"] is False
    assert result["_meta"]["assent/data"] == rest["data"]
    assert "structuredContent" not in result


def test_structured_content_comes_where_it_is_asked_for_with_the_text_in_it(token: str, goals: Block) -> None:
    peer = Peer(token, query="structured=1")
    result = peer.call("read_memory_block", block_label="goals")
    assert list(result["structuredContent"]) == ["text", "data"]
    assert result["structuredContent"]["text"] == text_of(result)
    assert "assent/data" not in result["_meta"]
    refused = peer.call("read_memory_block", block_label="gaols")
    assert refused["structuredContent"]["error"]["code"] == "block_not_found"


def test_a_proposal_is_made_and_waits_for_a_person(peer: Peer, goals: Block) -> None:
    result = peer.call("propose_memory_edit", **EDIT)
    assert text_of(result).startswith("Edit proposal created for block 'goals'.")
    proposal = Proposal.objects.get()
    assert (proposal.owner, proposal.status, proposal.agent.name) == ("alice", "open", "scribe")
    assert f"proposal {proposal.pk};" in text_of(result)


@pytest.mark.parametrize(
    ("tool", "arguments", "text"),
    [
        ("propose_memory_edit", EDIT | {"old_string": "B1"}, "Error: old_string not found in block 'goals'."),
        ("propose_memory_edit", EDIT | {"block_label": "gaols"}, "Error: Memory block 'gaols' not found."),
        ("read_memory_block", {}, "Error: invalid arguments for read_memory_block: block_label is required"),
        (
            "memory_save",
            {"content": "x", "tags": json.loads("[" * 40 + "]" * 40)},
            "Error: The body is nested too deep",
        ),
        (
            "list_memory_blocks",
            {"user_id": "ben"},
            "Error: This token does not serve user_id 'ben'.\nIt serves alice: leave user_id out.",
        ),
    ],
)
def test_what_a_tool_refuses_is_a_result_the_model_reads(
    peer: Peer, goals: Block, tool: str, arguments: dict[str, Any], text: str
) -> None:
    result = peer.call(tool, **arguments)
    assert result["isError"] is True
    assert text_of(result).startswith(text)
    assert result["_meta"]["assent/error"]["code"]
    assert not Proposal.objects.exists()


def test_parameters_that_name_no_tool_are_an_error_of_the_protocol(old: Peer) -> None:
    for params in ({}, {"name": 7}, {"name": "recall", "arguments": []}, {"name": "recall", "arguments": "x"}):
        error_of(old.ask("tools/call", params), PARAMS, 200)


def test_an_unknown_tool_is_an_error_that_names_the_nearest_the_token_may_use(
    peer: Peer, alice: User, issue: Issue
) -> None:
    response = peer.ask("tools/call", {"name": "propose_memory_edti", "arguments": {}})
    error = error_of(response, PARAMS, 400 if peer.is_modern else 200)
    assert error["message"] == "There is no tool 'propose_memory_edti'. Did you mean propose_memory_edit?"
    assert error["data"]["nearest"] == "propose_memory_edit"
    assert error["data"]["tools"] == peer.names()
    reader = Peer(issue(alice, scopes=["memory:read"]), OLD[-1])
    error = error_of(reader.ask("tools/call", {"name": "propose_memory_edti"}), PARAMS, 200)
    assert "propose_memory_edit" not in [error["data"]["nearest"], *error["data"]["tools"]]


def test_arguments_that_a_client_turned_into_text_are_taken(peer: Peer, goals: Block) -> None:
    edits = json.dumps([{key: EDIT[key] for key in ("old_string", "new_string")} | {"replace_all": "false"}])
    made = peer.call("propose_memory_edits", block_label="goals", edits=edits, reasoning="She said so.")
    assert not made["isError"], text_of(made)
    number = Proposal.objects.get().pk
    for tool, arguments in (
        ("get_proposal", {"proposal_id": str(number), "wait": 0.0}),
        (
            "memory_save",
            {"content": "She drinks tea.", "tags": '["tea"]', "evidence": {"role": "user", "content": "Tea!"}},
        ),
        ("memory_search", {"query": "tea", "sources": '["user_memory"]', "top_k": "3", "include_conversation": "true"}),
        ("recall", {"min_confidence": "0.5", "limit": 3.0}),
        ("read_memory_block", {"block_label": "goals", "view_range": "[1, 2]"}),
        ("withdraw_proposal", {"proposal_id": f"{number}.0"}),
    ):
        answer = peer.call(tool, **arguments)
        assert not answer["isError"], text_of(answer)
    whole = json.dumps({"query": "tea"})
    assert not peer.result("tools/call", {"name": "memory_search", "arguments": whole})["isError"]


def test_what_fails_by_our_fault_says_so_and_nothing_more(peer: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*args: Any, **more: Any) -> Any:
        raise RuntimeError("secret words of an exception")

    monkeypatch.setattr("memory_app.reads.blocks", fails)
    result = peer.call("list_memory_blocks")
    assert result["isError"]
    assert text_of(result).startswith("Error listing memory blocks: something went wrong on our side (request ")
    assert "secret" not in json.dumps(result)


def test_a_call_that_takes_too_long_is_answered_in_words(peer: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    def hangs(*args: Any, **more: Any) -> Any:
        time.sleep(0.3)
        raise EngineUnavailable

    monkeypatch.setattr("memory_app.reads.blocks", hangs)
    with override_settings(TOOL_TIMEOUT=0.2):
        result = peer.call("list_memory_blocks")
    assert result["isError"]
    assert result["_meta"]["assent/error"]["code"] == "timeout"


def test_the_same_key_gives_the_same_answer(peer: Peer, goals: Block) -> None:
    first = peer.call("propose_memory_edit", **EDIT, idempotency_key="k1")
    asked = {"name": "propose_memory_edit", "arguments": EDIT}
    in_meta = peer.result("tools/call", asked | {"_meta": {"assent/idempotency_key": "k1"}})
    for again in (in_meta, peer.ask("tools/call", asked, **{"Idempotency-Key": "k1"}).json()["result"]):
        assert text_of(again) == text_of(first)
        assert (first.get("_meta", {}).get("assent/replayed"), again["_meta"]["assent/replayed"]) == (None, True)
    assert Proposal.objects.count() == 1
    other = peer.call("propose_memory_edit", **EDIT | {"new_string": "three books"}, idempotency_key="k1")
    assert other["_meta"]["assent/error"]["code"] == "idempotency_key_reused"


def test_a_session_comes_with_the_call_or_beside_it(token: str, api: Machine, goals: Block) -> None:
    peer, read = (
        Peer(token, query="session_id=s-1"),
        {"name": "read_memory_block", "arguments": {"block_label": "goals"}},
    )
    peer.result("tools/call", read)
    peer.ask("tools/call", read, **{"X-Session-ID": "s-2"})
    peer.ask("tools/call", read | {"_meta": {"assent/session_id": "s-3"}}, **{"X-Session-ID": "s-2"})
    peer.call("read_memory_block", block_label="goals", session_id="s-4")
    for name, given in (
        ("read_memory_block", {"block_label": "goals"}),
        ("memory_read_session", {"session_id": "s-0"}),
    ):
        api.post(f"/api/v1/tools/{name}/", given, **{"X-Session-ID": "s-5"})
    refused = api.post("/api/v1/tools/memory_read_session/", **{"X-Session-ID": "s-5"})
    assert refused.json()["error"]["details"]["fields"] == {"session_id": "is required"}
    execution.settle()
    sessions = ToolCall.objects.order_by("pk").values_list("session_id", flat=True)
    assert list(sessions) == ["s-1", "s-2", "s-3", "s-4", "s-5", "s-0", ""]


def test_each_call_is_on_record_without_its_texts(peer: Peer, goals: Block) -> None:
    peer.call("read_memory_block", block_label="goals")
    peer.call("propose_memory_edit", **EDIT | {"old_string": "B1"})
    peer.ask("tools/call", {"name": "no_such_tool"})
    peer.ask("tools/list")
    execution.settle()
    rows = list(ToolCall.objects.order_by("pk").values_list("tool", "owner", "target", "outcome", "status"))
    assert rows == [
        ("read_memory_block", "alice", "goals", "ok", 200),
        ("propose_memory_edit", "alice", "goals", "old_string_not_found", 422),
        ("unknown", "", "", "unknown_tool", 404),
    ]
    for row in ToolCall.objects.all():
        assert row.request_bytes > 50
        assert row.response_bytes > 50
        assert row.request_id
