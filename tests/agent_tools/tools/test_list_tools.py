"""GET /api/v1/tools/: definitions a model of each maker takes as they are."""

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import override_settings
from jsonschema import Draft202012Validator

from agent_tools.calls import foreign_names, registry, toolsets
from approvals import services
from approvals.models import Proposal, User
from memory_app.reads import Block
from tests.agent_tools.checks import answered, refused
from tests.agent_tools.conftest import Call, Issue, Machine
from tests.agent_tools.mcp.peer import Peer, text_of

#: What a list has by default.
CORE = """
    list_memory_blocks read_memory_block propose_memory_edit propose_memory_append list_proposals withdraw_proposal
    memory_search memory_save memory_update memory_delete
""".split()
#: All, in the order in which agents meet them.
NAMES = """
    list_memory_blocks read_memory_block
    propose_memory_edit propose_memory_edits propose_memory_append propose_memory_prepend propose_memory_insert
    propose_section_update propose_memory_rewrite propose_memory_block propose_block_deletion
    list_files view_file edit_file append_to_file prepend_to_file update_section write_file
    list_proposals get_proposal withdraw_proposal comment_on_proposal
    memory_search memory_save memory_update memory_delete
    remember forget recall prime_memories
    memory_list_sessions memory_read_session
""".split()
#: Those whose names are no words of English.
OTHERS = {name for name in NAMES if "_" in name}
FORMS = ["native", "openai", "responses", "anthropic", "mcp"]


def listed(api: Machine, form: str, **query: Any) -> list[dict[str, Any]]:
    """All tools, unless the query says which."""
    answer = answered(api.get(f"/api/v1/tools/?{urlencode({'format': form, 'toolset': 'all'} | query)}"))
    tools: list[dict[str, Any]] = answer["data"]["tools"]
    return tools


def schemas(api: Machine, form: str, **query: Any) -> dict[str, Any]:
    """The schemas of the tools' arguments, by name."""
    tools = [tool.get("function", tool) for tool in listed(api, form, **query)]
    key = {"anthropic": "input_schema", "mcp": "inputSchema"}.get(form, "parameters")
    return {tool["name"]: tool[key] for tool in tools}


@pytest.mark.parametrize("form", FORMS)
def test_every_format_has_every_tool_with_a_plain_schema(api: Machine, form: str) -> None:
    found = schemas(api, form)
    assert list(found) == NAMES
    for schema in found.values():
        Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
        assert schema["additionalProperties"] is False
        for noise in ("$defs", "$ref", "anyOf", "'title': '", "null", "x-required"):
            assert noise not in str(schema)
    answer = answered(api.get(f"/api/v1/tools/read_memory_block/?format={form}"))
    assert answer["data"] == {"format": form, "tool": listed(api, form)[1]}
    assert answer["text"].startswith("read_memory_block: Read ")


def test_each_format_says_what_its_models_need(api: Machine) -> None:
    tools = answered(api.get("/api/v1/tools/"))["data"]["tools"]  # native
    edit = tools[2]
    assert (edit["scope"], edit["effect"], edit["timeout"]) == ("memory:propose", "side_effecting", 10)
    assert edit["url"] == "/api/v1/tools/propose_memory_edit/"
    for form in ("openai", "responses"):
        assert {tool["type"] for tool in listed(api, form)} == {"function"}
    # The Responses API takes a definition without the mark as a strict one.
    assert {tool["strict"] for tool in listed(api, "responses")} == {False}
    hints = {tool["name"]: tool["annotations"]["readOnlyHint"] for tool in listed(api, "mcp")}
    assert (hints["read_memory_block"], hints["propose_memory_edit"]) == (True, False)


#: What strict modes take, OpenAI's and Anthropic's: no limit of a number, a text or a list.
STRICT_KEYWORDS = set("type properties required additionalProperties description enum items".split())


def objects_in(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every object of a strict schema, itself and inner ones; what no schema may have is asserted on the way."""
    assert set(schema) <= STRICT_KEYWORDS
    if "properties" in schema:
        yield schema
    for inner in [*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])]:
        yield from objects_in(inner)


def sent(schema: dict[str, Any]) -> Any:
    """The least a model can send: null wherever that is allowed."""
    if "null" in schema["type"]:
        return None
    if schema["type"] == "object":
        return {name: sent(inner) for name, inner in schema["properties"].items()}
    if schema["type"] == "array":
        return [sent(schema["items"])]
    return schema.get("enum", [{"string": "x", "integer": schema.get("minimum", 1), "boolean": False}[schema["type"]]])[
        0
    ]


def test_the_strict_form_requires_every_argument_and_null_is_taken_for_what_is_left_out(api: Machine) -> None:
    for form in FORMS:
        for tool in listed(api, form, strict=1):
            assert tool.get("function", tool).get("strict", form == "mcp") is True
    plain, strict = (schemas(api, "responses", strict=strict) for strict in ("false", "true"))
    for name, schema in strict.items():
        for inner in objects_in(schema):
            assert inner["type"] in ("object", ["object", "null"])
            assert inner["required"] == list(inner["properties"])
            assert inner["additionalProperties"] is False
        assert list(schema["properties"]) == list(plain[name]["properties"])
        nullable = {each for each, inner in schema["properties"].items() if "null" in inner["type"]}
        assert nullable == plain[name]["properties"].keys() - set(plain[name]["required"])
        arguments = sent(schema)
        Draft202012Validator(schema).validate(arguments)
        answer = api.call(name, **arguments).json()
        assert answer["ok"] or answer["error"]["code"] != "invalid_arguments", answer


def test_a_tools_own_arguments_come_first_and_the_required_ones_are_named(api: Machine) -> None:
    edit = schemas(api, "openai")["propose_memory_edit"]
    first = "block_label old_string new_string replace_all expected_replacements reasoning"
    assert list(edit["properties"])[:6] == first.split()
    assert edit["required"] == ["block_label", "old_string", "new_string", "reasoning"]
    assert {edit["properties"][name]["type"] for name in ("confidence", "evidence")} == {"number", "string"}


#: What a model cannot know or use, and names that stand for one of its own vocabulary.
NOT_SHOWN = set(
    "idempotency_key session_id max_characters expected_sha256 force top_k memory_id reason rationale".split()
)


@pytest.mark.parametrize("form", FORMS)
def test_a_model_is_shown_one_vocabulary_of_what_it_can_use(api: Machine, form: str) -> None:
    found = schemas(api, form)
    for name, schema in found.items():
        shown = NOT_SHOWN & schema["properties"].keys()
        assert shown == ({"session_id"} if name == "memory_read_session" else set()), name
    assert next(iter(found["forget"]["properties"])) == "note_id"
    assert found["memory_search"]["properties"]["limit"]["maximum"] == 20
    sure = {
        repr(each["type"])
        for schema in found.values()
        for name, each in schema["properties"].items()
        if "confid" in name
    }
    assert sure == {"'number'"}
    document = api.get("/api/schema/").json()["paths"]["/api/v1/tools/propose_memory_edit/"]["post"]
    taken = document["requestBody"]["content"]["application/json"]["schema"]["properties"]
    assert set("idempotency_key session_id expected_sha256 force".split()) <= taken.keys()
    assert [option["type"] for option in taken["evidence"]["anyOf"]] == ["string", "array", "null"]


#: Characters of a token of o200k in such a list, at least: 4.5 and more were measured (benchmarks/tool_lists.py).
CHARACTERS = 4


@pytest.mark.parametrize("form", FORMS)
def test_a_list_has_ten_tools_that_a_model_can_afford(
    api: Machine, token: str, alice: User, ben: User, issue: Issue, form: str
) -> None:
    assert answered(api.get(f"/api/v1/tools/?format={form}"))["data"]["tools"] == listed(api, form, toolset="core")
    lists = [listed(api, form, toolset="core"), listed(api, form, toolset="core", strict=1)]
    people = [User.objects.create(username=f"{number:02}".rjust(64, "a")) for number in range(25)]
    several = [issue(alice, ben), issue(all_owners=True), issue(*people)]
    lists += [Peer(secret).result("tools/list")["tools"] for secret in (token, *several)]
    for tools in lists:
        assert [tool.get("function", tool)["name"] for tool in tools] == CORE
        assert len(json.dumps(tools)) < 4_000 * CHARACTERS


#: The sets whose tools somebody else named.
FAMILIES = {
    "edit_tool": "list_memory_blocks read_memory_block propose_memory_edit",
    "file_safety": "edit_file append_to_file prepend_to_file update_section write_file",
    "memories": "memory_search memory_delete remember recall prime_memories",
    "memory_tools": "memory_search memory_save memory_update memory_delete",
    "remember": "remember forget recall",
}


def test_sets_and_names_choose_by_rest_as_by_mcp_and_the_address_before_the_token(
    api: Machine, token: str, alice: User, issue: Issue
) -> None:
    for name, tools in FAMILIES.items():
        assert list(schemas(api, "native", toolset=name)) == tools.split()
        assert Peer(token, query=f"toolset={name}").names() == tools.split()
    assert {name for each in toolsets.NAMES[:-1] for name in toolsets.tools_of(each)} == set(NAMES)
    chosen = {"toolset": "proposals,conversations", "tools": "recall"}
    expected = ["list_proposals", "get_proposal", "withdraw_proposal", "comment_on_proposal", "recall"]
    expected += ["memory_list_sessions", "memory_read_session"]
    assert list(schemas(api, "native", **chosen)) == expected == Peer(token, query=urlencode(chosen)).names()
    own = issue(alice, toolset="edit_tool,remember")
    both = [*FAMILIES["edit_tool"].split(), *FAMILIES["remember"].split()]
    assert list(schemas(Machine(own), "native", toolset="")) == both == Peer(own).names()
    assert Peer(own, query="tools=recall").names() == ["recall"]
    sets = ", ".join(toolsets.NAMES)
    for query, said in (
        ("toolset=note", f"(did you mean notes?); there are {sets}."),
        ("toolset=xyz", f"not known here; there are {sets}."),
        ("tools=recal", "did you mean recall?"),
    ):
        assert said in refused(api.get(f"/api/v1/tools/?{query}"), 400, "invalid_arguments")["message"]
        assert said in Peer(token, query=query).ask("tools/list").json()["error"]["message"]
    # What older clients ask for.
    former = answered(api.get("/api/v1/tools/?family=memory"))["data"]["tools"]
    assert [tool["name"] for tool in former] == [name for name in NAMES if name not in registry.FILE_TOOLS]


def test_a_token_sees_the_tools_it_may_use(reader: Machine) -> None:
    assert "propose_memory_edit" not in schemas(reader, "native")
    refused(reader.get("/api/v1/tools/memory_save/"), 403, "missing_scope")


def test_an_unknown_tool_names_the_nearest_and_an_unknown_format_the_known_ones(api: Machine, call: Call) -> None:
    for response in (api.get("/api/v1/tools/read_memory_blok/"), call("read_memory_blok", block_label="goals")):
        error = refused(response, 404, "unknown_tool")
        assert error["details"]["nearest"] == "read_memory_block"
        assert "Did you mean read_memory_block?" in error["text"]
    error = refused(api.get("/api/v1/tools/?format=opanai"), 400, "invalid_arguments")
    assert error["details"]["fields"]["format"] == "must be one of native, openai, responses, anthropic, mcp"


#: What models of other systems call, and the tool they mean.
OF_OTHERS = {
    "edit_block": "propose_memory_edit",
    "str_replace_based_edit_tool": "propose_memory_edit",
    "core_memory_append": "propose_memory_append",
    "undo_edit": "withdraw_proposal",
    "undo_delete": "memory_save",
    "mcp__assent__read_memory_block": "read_memory_block",
    "functions.readMemoryBlock": "read_memory_block",
    "memory_serach": "memory_search",
    "memory_list": "list_memory_blocks",
    "memory_read": "read_memory_block",
    "memory_forget": "memory_delete",
    "memory_write": "memory_save",
    "note_delete": "memory_delete",
    # Of those that are not in the caller's list, the one there that does it, too.
    "multi_edit": "propose_memory_edit",
    "recal_memories": "memory_search",
    **dict.fromkeys(("send_email", "x", "greet", "nope", "open_door", "get_weather", "hello_world")),
}


def test_a_name_of_another_system_is_answered_with_ours(call: Call) -> None:
    for name, meant in OF_OTHERS.items():
        error = refused(call(name, text="x"), 404, "unknown_tool")
        assert error["details"]["nearest"] == meant, name
        assert (f"Did you mean {meant}?" in error["text"]) == (meant is not None)


def test_without_notes_a_name_for_one_is_answered_with_a_tool_for_blocks(call: Call) -> None:
    with override_settings(MEMORIES_ENABLED=False):
        error = refused(call("add_memory", text="x"), 404, "unknown_tool")
    assert error["details"]["nearest"] == "propose_memory_append"


@pytest.mark.pure
def test_every_name_in_the_table_is_written_as_it_is_looked_up_and_stands_once() -> None:
    others = [other for names in foreign_names._OTHERS.values() for other in names.split()]
    assert sorted(set(others)) == sorted(others)
    assert all(foreign_names._plain(other.lower()) == other for other in others)


#: Calls whose answers say what to do next.
ASKED = {"block_label": "goals", "reasoning": "r"}
MATH = ASKED | {"old_string": "likes math"}
ADVISED: list[tuple[str, dict[str, Any]]] = [
    ("read_memory_block", {"block_label": "goal"}),
    ("list_memory_blocks", {}),
    ("propose_memory_edit", MATH | {"new_string": "loves math"}),
    ("propose_memory_edit", MATH | {"new_string": "adores math"}),
    ("propose_memory_edit", MATH | {"block_label": "diary", "new_string": "x"}),
    ("propose_memory_append", ASKED | {"content": "Alice likes math."}),
    ("propose_section_update", ASKED | {"section_header": "## No", "new_content": "x"}),
    ("propose_memory_rewrite", ASKED | {"content": "All new."}),
    ("propose_memory_block", {"label": "goals", "title": "Goals", "body": "x", "reasoning": "r"}),
    ("list_proposals", {}),
    ("get_proposal", {"proposal_id": 1}),
    ("memory_save", {"content": "Room 4 on Monday at 9."}),
    ("memory_save", {"content": "Room 4 on Monday at 10."}),
    ("remember", {"content": "Room 4 on Monday at 11."}),
    ("forget", {"note_id": "note-1"}),
    ("prime_memories", {"budget": 1}),
    ("view_file", {"path": "/memories/notes/no.md"}),
    ("edit_file", {"path": "no.md", "old_string": "a", "new_string": "b"}),
    ("write_file", {"path": "goals.md", "content": "All new."}),
]


@pytest.mark.parametrize("toolset", toolsets.NAMES)
def test_a_set_is_told_of_its_own_tools_alone(
    token: str, alice: User, goals: Block, proposal: Proposal, careful: Machine, toolset: str
) -> None:
    services.request_changes(actor=alice, proposal_id=proposal.pk, revision=1, comment="Say when.")
    answered(careful.call("memory_save", content="She rows."))
    peer = Peer(token, query=f"toolset={toolset}")
    its_own = set(peer.names())
    told = [peer.result("server/discover")["instructions"]]
    for each in peer.result("tools/list")["tools"]:
        described = json.dumps([each["description"].partition(". ")[2], each["inputSchema"]])
        told.append(described)
    for prompt in ("memory_skill", "review_my_proposals"):
        told.append(peer.result("prompts/get", {"name": prompt})["messages"][0]["content"]["text"])
    told += [text_of(peer.call(tool, **given)) for tool, given in ADVISED if tool in its_own]
    # What it asked before stands under the name of the tool it asked with.
    advice = [line for text in told for line in text.splitlines() if not line.startswith("You asked")]
    assert {(name, line) for line in advice for name in set(re.findall(r"\w+", line)) & OTHERS - its_own} == set()


def test_an_answer_names_the_tool_that_its_agent_has(api: Machine, issue: Issue, alice: User, goals: Block) -> None:
    for toolset, named in (("core", "list_proposals"), ("blocks,proposals", "get_proposal")):
        made = {"block_label": "goals", "content": f"For {toolset}.", "reasoning": "r"}
        text = answered(Machine(issue(alice, toolset=toolset)).call("propose_memory_append", **made))["text"]
        assert f"; {named} tells what became of it." in text
    address = "/api/v1/tools/propose_memory_append/?toolset="
    made = {"block_label": "goals", "content": "For the address.", "reasoning": "r"}
    assert "tells what became" not in answered(api.post(f"{address}edit_tool", made))["text"]
    assert "there are core" in refused(api.post(f"{address}x", made), 400, "invalid_arguments")["text"]
