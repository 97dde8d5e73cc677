"""Arguments that are none: each is named, with a reason that is true and reads well."""

import json
from typing import Any

import pytest

from agent_tools import tools  # noqa: F401 - fills the registry
from agent_tools.calls.arguments import parse
from agent_tools.calls.registry import ENDPOINTS, TOOLS
from agent_tools.errors import ApiError, ErrorCode
from assent_client.text import notes
from memory_app.reads import Block
from tests.agent_tools.checks import answered, refused
from tests.agent_tools.conftest import Machine

ALICE = "/api/v1/users/alice"


#: Arguments with which each tool could be called.
REQUIRED: dict[str, dict[str, Any]] = {
    "memory_search": {"query": "x"},
    "remember": {"content": "x"},
    "memory_save": {"content": "x"},
    "comment_on_proposal": {"proposal_id": 1},
    "read_memory_block": {"block_label": "goals"},
    "propose_memory_edit": {"block_label": "goals", "old_string": "a", "new_string": "b", "reasoning": "r"},
    "block_propose": {"label": "goals", "reasoning": "r"},
    "propose_memory_edits": {"block_label": "goals", "reasoning": "r"},
    "propose_memory_block": {"label": "diary", "title": "Diary", "body": "", "reasoning": "r"},
}
SWAP = {"old_string": "a", "new_string": "b"}
SAID = {"role": "user", "content": "x"}
ROLES = "must be one of user, assistant, system, tool"
TIME = "must be a date or time in ISO 8601"
AT_MOST_128 = "must have at most 128 characters"
TURN, EDIT = '{"role": "user", "content": "…"}', '{"old_string": "…", "new_string": "…"}'
LINES = "[1, 2]"
SHA256 = "must be 64 hexadecimal digits in lower case"
TYPES = f"must be one of {', '.join(notes.TYPES)}"


@pytest.mark.pure
@pytest.mark.parametrize(
    ("tool", "arguments", "field", "reason"),
    [
        ("memory_search", {"top_k": 0}, "top_k", "must be at least 1"),
        ("memory_search", {"limit": 0}, "limit", "must be at least 1"),
        # What is meant is named as a model is shown it.
        ("memory_search", {"topK": 3}, "topK", "is not known here (did you mean limit?)"),
        ("memory_search", {"limit": 3, "top_k": 3}, "limit", "is another name for top_k; give one of them"),
        ("memory_search", {"k": 3, "top_k": 3}, "k", "is another name for limit; give one of them"),
        ("forget", {"note_id": "note-1", "memoryId": "x"}, "memoryId", "is not known here (did you mean note_id?)"),
        ("propose_memory_edit", {"replace": "x"}, "replace", "is not known here (did you mean new_string?)"),
        ("propose_memory_edits", {}, "edits", f"is required, such as [{EDIT}]"),
        ("forget", {}, "note_id", "is required"),
        ("forget", {"memory_id": 7}, "memory_id", "must be a string"),
        ("remember", {"note_id": "note-1"}, "note_id", "is not known here (did you mean content?)"),
        ("memory_search", {"top_k": 1_000}, "top_k", "must be at most 20"),
        ("memory_search", {"top_k": 10**40}, "top_k", "must be at most 20"),
        ("memory_search", {"top_k": "2-3"}, "top_k", "must be a whole number"),
        ("memory_search", {"top_k": True}, "top_k", "must be a whole number"),
        ("memory_search", {"top_k": [7]}, "top_k", "must be a whole number"),
        ("memory_search", {"top_k": "[7]"}, "top_k", "must be a whole number"),
        ("memory_search", {"top_k": "true"}, "top_k", "must be a whole number"),
        ("memory_search", {"top_k": "1e999"}, "top_k", "must be a whole number"),
        ("memory_search", {"top_k": "9" * 5_000}, "top_k", "must be a whole number"),
        ("memory_search", {"top_k": "[" * 1_000_000}, "top_k", "must be a whole number"),
        ("memory_search", {"top_k": "21"}, "top_k", "must be at most 20"),
        ("memory_search", {"query": ["x"]}, "query", "must be a string"),
        ("memory_search", {"query": "  "}, "query", "must not be empty"),
        ("memory_search", {"query": "x" * 20_001}, "query", "must have at most 20,000 characters"),
        ("memory_search", {"sources": []}, "sources", 'must have at least 1 item, such as ["user_memory"]'),
        ("memory_search", {"sources": ["user_memory"] * 4}, "sources", "must have at most 3 items"),
        ("memory_search", {"sources": ["x"]}, "sources[0]", "must be one of user_memory, memory_block, conversation"),
        ("memory_search", {"include_conversation": "yes"}, "include_conversation", "must be true or false"),
        ("memory_search", {"type": "all"}, "type", TYPES),
        ("recall", {"type": "banana"}, "type", TYPES.replace("one of", "one of all,")),
        ("recall", {"query": "  "}, "query", "must not be empty"),
        ("recall", {"query": ""}, "query", "must not be empty"),
        ("recall", {"query": "x" * 20_001}, "query", "must have at most 20,000 characters"),
        ("recall", {"min_confidence": 1.5}, "min_confidence", "must be at most 1"),
        ("recall", {"min_confidence": -0.5}, "min_confidence", "must be at least 0"),
        ("recall", {"limit": 51}, "limit", "must be at most 50"),
        ("recall", {"limit": 1.5}, "limit", "must be a whole number"),
        ("recall", {"scope": "everyone"}, "scope", "must be one of user, session"),
        ("recall", {"match": "fuzzy"}, "match", "must be one of hybrid, text"),
        ("recall", {"include_superseded": "yes"}, "include_superseded", "must be true or false"),
        ("remember", {"type": "all"}, "type", TYPES),
        ("remember", {"confidence": "sure"}, "confidence", "must be a number"),
        ("remember", {"confidence": "NaN"}, "confidence", "must be a number"),
        ("remember", {"confidence": "9" * 400}, "confidence", "must be a number"),
        ("remember", {"confidence": True}, "confidence", "must be a number"),
        ("remember", {"confidence": []}, "confidence", "must be a number"),
        ("prime_memories", {"budget": 10**7}, "budget", "must be at most 1,000,000"),
        ("prime_memories", {"budget": -1}, "budget", "must be at least 0"),
        ("prime_memories", {"budget": "many"}, "budget", "must be a whole number"),
        ("prime_memories", {"types": ["rumour"]}, "types[0]", TYPES),
        ("prime_memories", {"recent": -1}, "recent", "must be at least 0"),
        ("prime_memories", {"format": "xml"}, "format", "must be one of markdown, json"),
        ("get_proposal", {"proposal_id": 0}, "proposal_id", "must be at least 1"),
        ("get_proposal", {"proposal_id": 2**63}, "proposal_id", "must be at most 9,223,372,036,854,775,807"),
        ("get_proposal", {"proposal_id": "1.5"}, "proposal_id", "must be a whole number"),
        ("get_proposal", {"proposal_id": None}, "proposal_id", "must be a whole number"),
        ("read_memory_block", {"view_range": "1-2"}, "view_range", f"must be a list, such as {LINES}"),
        ("read_memory_block", {"view_range": {"first": 1}}, "view_range", f"must be a list, such as {LINES}"),
        ("read_memory_block", {"view_range": 1}, "view_range", f"must have at least 2 items, such as {LINES}"),
        ("read_memory_block", {"view_range": [1, 2, 3]}, "view_range", "must have at most 2 items"),
        ("read_memory_block", {"view_range": ["1-", 2]}, "view_range[0]", "must be a whole number"),
        ("read_memory_block", {"max_characters": 99}, "max_characters", "must be at least 100"),
        ("read_memory_block", {"max_characters": 1_000_001}, "max_characters", "must be at most 1,000,000"),
        ("propose_memory_edit", {"old_str": "a"}, "old_str", "is another name for old_string; give one of them"),
        ("propose_memory_edit", {"block_label": 7}, "block_label", "must be a string"),
        ("propose_memory_edit", {"replace_all": "True"}, "replace_all", "must be true or false"),
        ("propose_memory_edit", {"resoning": "x"}, "resoning", "is not known here (did you mean reasoning?)"),
        ("propose_memory_edit", {"colour": "red"}, "colour", "is not known here"),
        ("propose_memory_edit", {"confidence": "certain"}, "confidence", "must be one of low, medium, high"),
        ("propose_memory_edit", {"expected_sha256": "a"}, "expected_sha256", SHA256),
        ("propose_memory_edit", {"session_id": "s" * 129}, "session_id", AT_MOST_128),
        ("propose_memory_edit", {"evidence": 7}, "evidence[0]", f"must be an object, such as {TURN}"),
        ("propose_memory_edit", {"evidence": [SAID | {"role": "ghost"}]}, "evidence[0].role", ROLES),
        ("propose_memory_edit", {"evidence": [SAID | {"at": "later"}]}, "evidence[0].at", TIME),
        ("propose_memory_block", {"description": "x" * 1_001}, "description", "must have at most 1,000 characters"),
        ("propose_memory_block", {"expected_sha256": "0" * 64}, "expected_sha256", "is not known here"),
        ("comment_on_proposal", {"comment": ""}, "comment", "must not be empty"),
        ("comment_on_proposal", {"comment": "x" * 2_001}, "comment", "must have at most 2,000 characters"),
        ("comment_on_proposal", {"comment": "Hm.", "change": "no id"}, "change", SHA256),
        ("memory_save", {"tags": ["y" * 65]}, "tags[0]", "must have at most 64 characters"),
        ("memory_save", {"tags": ["y"] * 51}, "tags", "must have at most 50 items"),
        ("remember", {"tags": "['y']"}, "tags", 'must be a list, such as ["…"]'),
        ("remember", {"tags": [7]}, "tags[0]", "must be a string"),
        # By address.
        ("block_propose", {"edits": []}, "edits", f"must have at least 1 item, such as [{EDIT}]"),
        ("block_propose", {"edits": [{"old_string": "a"}]}, "edits[0].new_string", "is required"),
        ("block_propose", {"body": 7}, "body", "must be a string"),
        ("block_propose", {"body": "x", "user_id": "alice"}, "user_id", "is not known here"),
        ("block_propose", {"body": "x", "proposal_id": 0}, "proposal_id", "must be at least 1"),
        ("message_keep", {"messages": "Hello"}, "messages", f"must be a list, such as [{TURN}]"),
        ("message_keep", {"messages": []}, "messages", f"must have at least 1 item, such as [{TURN}]"),
        ("message_keep", {"messages": [SAID] * 501}, "messages", "must have at most 500 items"),
        ("message_keep", {"messages": [{"role": "user"}]}, "messages[0].content", "is required"),
        ("message_keep", {"messages": [SAID | {"role": "robot"}]}, "messages[0].role", ROLES),
        ("message_keep", {"messages": [SAID | {"at": "yesterday"}]}, "messages[0].at", TIME),
        ("message_keep", {"messages": [SAID | {"id": ""}]}, "messages[0].id", "must not be empty"),
        (
            "message_keep",
            {"messages": [SAID | {"id": "x" * 129}]},
            "messages[0].id",
            "must have at most 128 characters",
        ),
        ("message_keep", {"messages": [SAID | {"mood": "good"}]}, "messages[0].mood", "is not known here"),
    ],
)
def test_the_argument_is_named_with_the_reason(tool: str, arguments: dict[str, Any], field: str, reason: str) -> None:
    with pytest.raises(ApiError) as refusal:
        parse((TOOLS | ENDPOINTS)[tool].arguments, REQUIRED.get(tool, {}) | arguments, called=tool)
    assert refusal.value.code == ErrorCode.INVALID_ARGUMENTS
    assert refusal.value.details["fields"] == {field: reason}
    assert refusal.value.text.startswith(f"Error: invalid arguments for {tool}: {field} {reason}.")


@pytest.mark.pure
@pytest.mark.parametrize(
    ("tool", "name", "given", "taken"),
    [
        ("memory_search", "top_k", "3", 3),
        ("memory_search", "top_k", 3.0, 3),
        ("memory_search", "top_k", "1e1", 10),
        ("memory_search", "top_k", "null", 5),
        ("get_proposal", "proposal_id", " 54.0 ", 54),
        ("memory_search", "include_conversation", "true", True),
        ("propose_memory_edit", "replace_all", "false", False),
        ("recall", "min_confidence", "0.25", 0.25),
        ("read_memory_block", "view_range", "[1, 2]", [1, 2]),
        ("read_memory_block", "view_range", ["1", 2.0], [1, 2]),
        ("memory_search", "sources", '["memory_block"]', ["memory_block"]),
        ("memory_save", "tags", "tea", ["tea"]),
        ("memory_save", "tags", "api, naming", ["api", "naming"]),
        ("memory_save", "tags", '["a, b"]', ["a, b"]),
        ("memory_save", "tags", ["a, b"], ["a, b"]),
        ("memory_save", "tags", "3", ["3"]),
        ("memory_save", "evidence", SAID, [SAID]),
        ("memory_save", "evidence", [json.dumps(SAID)], [SAID]),
        ("memory_save", "evidence", ["42"], [SAID | {"content": "42"}]),
        ("block_propose", "edits", json.dumps([SWAP | {"replace_all": "true"}]), [SWAP | {"replace_all": True}]),
        # Where text is wanted, it stays text, also inside of what was read.
        *(("memory_save", "content", text, text) for text in ("[1, 2]", "true", "null", "3.0", '{"a": 1}', "a, b")),
        ("memory_save", "evidence", json.dumps(SAID | {"content": "[1]"}), [SAID | {"content": "[1]"}]),
        (
            "block_propose",
            "edits",
            [{"old_string": "null", "new_string": "1"}],
            [{"old_string": "null", "new_string": "1"}],
        ),
    ],
)
def test_what_a_client_turned_into_text_or_left_alone_is_taken(tool: str, name: str, given: Any, taken: Any) -> None:
    arguments = parse((TOOLS | ENDPOINTS)[tool].arguments, REQUIRED.get(tool, {}) | {name: given}, called=tool)
    found = getattr(arguments, name)
    if isinstance(found, list):
        found = [item if isinstance(item, str | int) else item.model_dump(exclude_unset=True) for item in found]
    assert (found, type(found)) == (taken, type(taken))


@pytest.mark.parametrize(
    ("tags", "code"), [(r'["\u0000"]', "forbidden_character"), ("[" * 99 + "]" * 99, "invalid_json")]
)
def test_what_was_turned_into_text_is_held_to_the_same(api: Machine, tags: str, code: str) -> None:
    refused(api.call("memory_save", content="x", tags=tags), 400, code)
    assert not answered(api.call("recall"))["data"]["count"]


def test_all_arguments_may_come_as_one_text(api: Machine) -> None:
    for said, code in (
        ({"content": "\0"}, "forbidden_character"),
        (["She rows."], "invalid_json"),
        ("x", "invalid_json"),
    ):
        refused(api.post("/api/v1/tools/memory_save/", json.dumps(json.dumps(said))), 400, code)
    answered(api.post("/api/v1/tools/memory_save/", json.dumps(json.dumps({"content": "[1]"}))))
    assert answered(api.call("recall"))["data"]["memories"][0]["content"] == "[1]"


def test_a_key_takes_a_call_and_the_same_as_text_for_one(api: Machine, goals: Block) -> None:
    key = {"content": "She rows.", "idempotency_key": "k"}
    first = answered(api.call("remember", **key, confidence=1, tags=["a"], force=False))["data"]
    assert answered(api.call("remember", **key, confidence="1.0", tags="a", force="false"))["data"] == first


@pytest.mark.pure
@pytest.mark.parametrize(
    ("tool", "arguments", "taken"),
    [
        ("memory_delete", {"memory_id": "m"}, {"note_id": "m"}),
        ("memory_update", {"id": "m", "new_content": "x"}, {"note_id": "m", "content": "x"}),
        ("memory_read_session", {"conversation_id": "s"}, {"session_id": "s"}),
        ("propose_memory_block", {"block_label": "g", "title": "", "text": "x"}, {"label": "g", "body": "x"}),
        ("forget", {"note_id": "m", "why": "r"}, {"memory_id": "m", "reasoning": "r"}),
        ("forget", {"id": "m", "reason": "old"}, {"memory_id": "m", "reason": "old"}),
        ("memory_search", {"q": "x", "limit": 7}, {"query": "x", "top_k": 7}),
        ("recall", {"query": "x", "n_results": 7}, {"query": "x", "limit": 7}),
        ("memory_save", {"text": "x", "rationale": "r"}, {"content": "x", "reasoning": "r"}),
        ("remember", {"fact": "x", "rationale": "r"}, {"content": "x", "rationale": "r"}),
        ("propose_section_update", {"label": "g", "heading": "h", "content": "x"}, {"new_content": "x"}),
        ("propose_memory_append", {"new_str": "x", "label": "g"}, {"content": "x"}),
        ("propose_memory_append", {"text": "x", "block": "g"}, {"content": "x", "block_label": "g"}),
        ("memory_save", {"content": "x", "evidence": "I moved."}, {"evidence": [SAID | {"content": "I moved."}]}),
        ("memory_save", {"content": "x", "evidence": ["x", SAID]}, {"evidence": [SAID, SAID]}),
        ("memory_save", {"content": "x", "evidence": ""}, {"evidence": []}),
        ("remember", {"content": "x", "confidence": "high"}, {"confidence": 0.9}),
        ("recall", {"min_confidence": "low"}, {"min_confidence": 0.3}),
        ("propose_block_deletion", {"label": "g", "confidence": 0.2}, {"confidence": "low"}),
        ("propose_block_deletion", {"label": "g", "confidence": "7"}, {"confidence": "high"}),
    ],
)
def test_other_names_and_plainer_forms_are_taken(tool: str, arguments: dict[str, Any], taken: dict[str, Any]) -> None:
    found = parse(TOOLS[tool].arguments, arguments, called=tool).model_dump(exclude_none=True)
    assert found | taken == found


@pytest.mark.pure
def test_a_refusal_names_what_a_model_can_use() -> None:
    with pytest.raises(ApiError) as refusal:
        parse(TOOLS["forget"].arguments, {"x": 1}, called="forget")
    assert "It takes: note_id, replacement_id, reasoning, evidence, proposal_id." in refusal.value.text


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("limit=0", "must be at least 1"),
        ("limit=-1", "must be at least 1"),
        ("limit=201", "must be at most 200"),
        ("limit=99999999999", "must be at most 200"),
        ("limit=abc", "must be a whole number"),
        ("limit=1.5", "must be a whole number"),
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
    assert len(answered(api.get(f"{ALICE}/blocks/?limit=1e0"))["data"]["items"]) == 1
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
