"""Arguments that are none: each is named, with a reason that is true and reads well."""

from typing import Any

import pytest

from memory_app.reads import Block
from tests.agent_tools.checks import answered, refused
from tests.agent_tools.conftest import Call, Machine

ALICE = "/api/v1/users/alice"


@pytest.mark.parametrize(
    ("tool", "arguments", "field", "reason"),
    [
        ("memory_search", {"query": "x", "top_k": 0}, "top_k", "must be at least 1"),
        ("memory_search", {"query": "x", "top_k": 1_000}, "top_k", "must be at most 20"),
        ("memory_search", {"query": "x", "top_k": 10**40}, "top_k", "must be at most 20"),
        ("memory_search", {"query": "x", "top_k": "7"}, "top_k", "must be a whole number"),
        ("memory_search", {"query": "x", "top_k": True}, "top_k", "must be a whole number"),
        ("memory_search", {"query": "x", "top_k": [7]}, "top_k", "must be a whole number"),
        ("memory_search", {"query": ["x"]}, "query", "must be a string"),
        ("memory_search", {"query": "  "}, "query", "must not be empty"),
        ("recall", {"query": "  "}, "query", "must not be empty"),
        ("recall", {"query": ""}, "query", "must not be empty"),
        ("recall", {"query": "x" * 20_001}, "query", "must have at most 20,000 characters"),
        ("memory_search", {"query": "x", "sources": []}, "sources", "must have at least 1 item"),
        ("memory_search", {"query": "x", "sources": ["user_memory"] * 4}, "sources", "must have at most 3 items"),
        ("memory_search", {"query": "x" * 20_001}, "query", "must have at most 20,000 characters"),
        ("recall", {"min_confidence": 1.5}, "min_confidence", "must be at most 1"),
        ("recall", {"min_confidence": -0.5}, "min_confidence", "must be at least 0"),
        ("prime_memories", {"budget": 10**7}, "budget", "must be at most 1,000,000"),
        ("get_proposal", {"proposal_id": 2**63}, "proposal_id", "must be at most 9,223,372,036,854,775,807"),
        (
            "propose_memory_edit",
            {"block_label": "goals", "old_string": "a", "old_str": "a", "new_string": "b", "reasoning": "r"},
            "old_str",
            "is another name for old_string; give one of them",
        ),
    ],
)
def test_the_argument_is_named_with_the_reason(
    call: Call, goals: Block, tool: str, arguments: dict[str, Any], field: str, reason: str
) -> None:
    error = refused(call(tool, **arguments), 400, "invalid_arguments")
    assert error["details"]["fields"] == {field: reason}
    assert error["text"].startswith(f"Error: invalid arguments for {tool}: {field} {reason}.")


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("limit=0", "must be at least 1"),
        ("limit=-1", "must be at least 1"),
        ("limit=201", "must be at most 200"),
        ("limit=99999999999", "must be at most 200"),
        ("limit=abc", "must be a whole number"),
        ("limit=1e1", "must be a whole number"),
        ("limit=", "must be a whole number"),
        ("limit=" + "9" * 5_000, "must be a whole number"),
        ("limit=1&limit=2", "is given more than once"),
        ("limits=1", "is not known here (did you mean limit?)"),
    ],
)
def test_numbers_of_the_query_are_refused_for_what_they_are(
    api: Machine, goals: Block, query: str, reason: str
) -> None:
    error = refused(api.get(f"{ALICE}/blocks/?{query}"), 400, "invalid_arguments")
    assert list(error["details"]["fields"].values()) == [reason]


def test_lists_of_numbers_can_stand_in_the_query(api: Machine, goals: Block) -> None:
    data = answered(api.get(f"{ALICE}/blocks/goals/?view_range=3&view_range=-1"))["data"]
    assert data["view_range"] == [3, 5]
    refused(api.get(f"{ALICE}/blocks/goals/?view_range=3&view_range=x"), 400, "invalid_arguments")


def test_deleting_takes_nothing_it_does_not_know(api: Machine, goals: Block) -> None:
    messages = f"{ALICE}/conversations/s/messages/"
    answered(api.post(messages, {"messages": [{"id": "m", "role": "user", "content": "Hello."}]}))
    for path in (messages, f"{messages}m/"):
        error = refused(api.http.delete(f"{path}?all=true"), 400, "invalid_arguments")
        assert error["details"]["fields"] == {"all": "is not known here"}
    refused(api.http.delete(f"{messages}?session_id=other"), 400, "invalid_arguments")
    assert answered(api.http.delete(messages))["data"]["deleted"] == 1


def test_the_methods_there_are_make_a_sentence(api: Machine, goals: Block) -> None:
    for path, sentence in (
        (f"{ALICE}/memories.md", "This endpoint answers to GET, HEAD and POST only."),
        (f"{ALICE}/blocks/", "This endpoint answers to GET and HEAD only."),
        ("/api/v1/tools/recall/", "This endpoint answers to GET, HEAD and POST only."),
        (f"{ALICE}/blocks/goals/propose/", "This endpoint answers to POST only."),
    ):
        assert refused(api.http.put(path), 405, "method_not_allowed")["message"] == sentence


def test_of_a_thousand_wrong_arguments_the_first_are_explained(api: Machine, goals: Block) -> None:
    unknown = {f"block_labels{number}": 1 for number in range(1_000)}
    answer = api.call("read_memory_block", **unknown)
    error = refused(answer, 400, "invalid_arguments")
    assert list(error["details"]["fields"]) == ["block_label", *(f"block_labels{number}" for number in range(19))]
    assert error["details"]["fields"]["block_labels0"] == "is not known here (did you mean block_label?)"
    assert "and 981 more" in error["message"]
    assert len(answer.content) < 8_000


def test_other_names_in_items_are_named_by_their_place(api: Machine, goals: Block) -> None:
    body = {"edits": [{"old_string": "a", "old_str": "a", "new_string": "b"}], "reasoning": "r"}
    error = refused(api.post(f"{ALICE}/blocks/goals/propose/", body), 400, "invalid_arguments")
    assert set(error["details"]["fields"]) == {"edits[0].old_str"}


def test_a_time_that_is_too_long_is_counted_in_characters(api: Machine, goals: Block) -> None:
    turn = {"role": "user", "content": "Hello.", "at": "2026-01-01" + " " * 40}
    error = refused(api.post(f"{ALICE}/conversations/s/messages/", {"messages": [turn]}), 400, "invalid_arguments")
    assert error["details"]["fields"] == {"messages[0].at": "must have at most 40 characters"}
    error = refused(api.call("memory_save", content="x", evidence=[turn]), 400, "invalid_arguments")
    assert error["details"]["fields"] == {"evidence[0].at": "must have at most 40 characters"}
