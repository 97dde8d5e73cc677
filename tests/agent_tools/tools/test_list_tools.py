"""GET /api/v1/tools/: definitions a model of each maker takes as they are."""

from typing import Any

import pytest
from django.test import override_settings
from jsonschema import Draft202012Validator

from agent_tools.calls import foreign_names
from approvals.models import User
from tests.agent_tools.checks import answered, refused
from tests.agent_tools.conftest import Call, Issue, Machine, MachineOf

NAMES = [
    "list_memory_blocks",
    "read_memory_block",
    "propose_memory_edit",
    "propose_memory_edits",
    "propose_memory_append",
    "propose_memory_prepend",
    "propose_memory_insert",
    "propose_section_update",
    "propose_memory_rewrite",
    "propose_memory_block",
    "propose_block_deletion",
    "list_proposals",
    "get_proposal",
    "withdraw_proposal",
    "comment_on_proposal",
    "memory_search",
    "memory_save",
    "memory_update",
    "memory_delete",
    "remember",
    "forget",
    "recall",
    "prime_memories",
    "memory_list_sessions",
    "memory_read_session",
]


def schemas(api: Machine, form: str) -> dict[str, Any]:
    tools = answered(api.get(f"/api/v1/tools/?format={form}"))["data"]["tools"]
    match form:
        case "openai":
            return {tool["function"]["name"]: tool["function"]["parameters"] for tool in tools}
        case "anthropic":
            return {tool["name"]: tool["input_schema"] for tool in tools}
        case "mcp":
            return {tool["name"]: tool["inputSchema"] for tool in tools}
    return {tool["name"]: tool["parameters"] for tool in tools}


@pytest.mark.parametrize("form", ["native", "openai", "anthropic", "mcp"])
def test_every_format_has_every_tool_with_a_plain_schema(api: Machine, form: str) -> None:
    found = schemas(api, form)
    assert list(found) == NAMES
    for schema in found.values():
        Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
        assert schema["additionalProperties"] is False
        for noise in ("$defs", "$ref", "anyOf", "'title': '", "null", "x-required"):
            assert noise not in str(schema)


def test_native_is_the_default_and_says_what_a_tool_needs(api: Machine) -> None:
    tools = answered(api.get("/api/v1/tools/"))["data"]["tools"]
    edit = tools[2]
    assert (edit["scope"], edit["effect"], edit["timeout"]) == ("memory:propose", "side_effecting", 10)
    assert edit["url"] == "/api/v1/tools/propose_memory_edit/"


def test_openai_wraps_functions(api: Machine) -> None:
    tools = answered(api.get("/api/v1/tools/?format=openai"))["data"]["tools"]
    assert {tool["type"] for tool in tools} == {"function"}


def test_mcp_marks_what_only_reads(api: Machine) -> None:
    tools = answered(api.get("/api/v1/tools/?format=mcp"))["data"]["tools"]
    hints = {tool["name"]: tool["annotations"]["readOnlyHint"] for tool in tools}
    assert hints["read_memory_block"] is True
    assert hints["propose_memory_edit"] is False


def test_a_tools_own_arguments_come_first_and_the_required_ones_are_named(api: Machine) -> None:
    edit = schemas(api, "openai")["propose_memory_edit"]
    assert list(edit["properties"])[:6] == [
        "block_label",
        "old_string",
        "new_string",
        "replace_all",
        "expected_replacements",
        "reasoning",
    ]
    assert edit["required"] == ["block_label", "old_string", "new_string", "reasoning"]
    assert edit["properties"]["confidence"]["enum"] == ["low", "medium", "high"]


def test_a_token_sees_the_tools_it_may_use(machine: MachineOf, issue: Issue, alice: User) -> None:
    reader = machine(issue(alice, scopes=["memory:read"]))
    assert "propose_memory_edit" not in schemas(reader, "native")


@pytest.mark.parametrize("form", ["native", "openai", "anthropic", "mcp"])
def test_one_tool_is_defined_as_in_the_list(api: Machine, form: str) -> None:
    listed = answered(api.get(f"/api/v1/tools/?format={form}"))["data"]["tools"][1]
    answer = answered(api.get(f"/api/v1/tools/read_memory_block/?format={form}"))
    assert answer["data"] == {"format": form, "tool": listed}
    assert answer["text"].startswith("read_memory_block: Read ")


def test_the_definition_of_an_unknown_tool_names_the_nearest(
    api: Machine, machine: MachineOf, issue: Issue, alice: User
) -> None:
    error = refused(api.get("/api/v1/tools/read_memory_blok/"), 404, "unknown_tool")
    assert error["details"]["nearest"] == "read_memory_block"
    reader = machine(issue(alice, scopes=["memory:read"]))
    refused(reader.get("/api/v1/tools/memory_save/"), 403, "missing_scope")


def test_an_unknown_format_names_the_known_ones(api: Machine) -> None:
    error = refused(api.get("/api/v1/tools/?format=opanai"), 400, "invalid_arguments")
    assert error["details"]["fields"]["format"] == "must be one of native, openai, anthropic, mcp"


def test_an_unknown_tool_names_the_nearest(call: Call) -> None:
    error = refused(call("read_memory_blok", block_label="goals"), 404, "unknown_tool")
    assert error["details"]["nearest"] == "read_memory_block"
    assert "Did you mean read_memory_block?" in error["text"]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("edit_block", "propose_memory_edit"),
        ("str_replace", "propose_memory_edit"),
        ("str_replace_based_edit_tool", "propose_memory_edit"),
        ("multi_edit", "propose_memory_edits"),
        ("append", "propose_memory_append"),
        ("core_memory_append", "propose_memory_append"),
        ("insert_line", "propose_memory_insert"),
        ("replace_section", "propose_section_update"),
        ("overwrite", "propose_memory_rewrite"),
        ("archival_memory_search", "memory_search"),
        ("add_memory", "memory_save"),
        ("update_memory", "memory_update"),
        ("undo_edit", "withdraw_proposal"),
        ("mcp__assent__read_memory_block", "read_memory_block"),
        ("functions.readMemoryBlock", "read_memory_block"),
        ("memory_serach", "memory_search"),
        ("send_email", None),
        ("x", None),
    ],
)
def test_a_name_of_another_system_is_answered_with_ours(call: Call, name: str, meant: str | None) -> None:
    error = refused(call(name, text="x"), 404, "unknown_tool")
    assert error["details"]["nearest"] == meant
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
