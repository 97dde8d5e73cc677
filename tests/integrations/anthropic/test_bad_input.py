"""Paths that lead elsewhere, arguments that do not fit, and a server that is away: a text, and nothing changed."""

from typing import Any

import pytest

from assent_client import Assent, AsyncAssent
from assent_client.adapters.anthropic import AssentMemoryTool, AsyncAssentMemoryTool
from tests.integrations.anthropic.conftest import GOALS, Claude, Result, ran
from tests.integrations.conftest import RunningServer

ESCAPES = [
    "/memories/../etc/passwd",
    "/memories/%2e%2e/etc/passwd",
    "/memories/%2525252e%2525252e/etc",
    "/memories\\..\\etc",
    "/memories/\uff0e\uff0e\uff0fetc",
    "/memories/\u2025/etc",
    "/memories/blocks/goals.md\x00.txt",
    "/memories/%c0%ae%c0%ae/etc",
    "/memories/\u202e/goals.md",
    "/memoriesX",
    "//memories/goals.md",
    "memories/goals.md",
    "/MEMORIES/goals.md",
    "file:///memories/goals.md",
    " /memories/goals.md",
    "/",
]


@pytest.mark.parametrize("path", ESCAPES, ids=ascii)
def test_no_path_leads_out_whatever_the_command(claude: Claude, memory: RunningServer, path: str) -> None:
    before = memory.newest_proposal()["proposal_id"]
    found = claude(
        {"command": "view", "path": path},
        {"command": "create", "path": path, "file_text": "x"},
        {"command": "str_replace", "path": path, "old_str": "a", "new_str": "b"},
        {"command": "insert", "path": path, "insert_line": 0, "insert_text": "x"},
        {"command": "delete", "path": path},
        {"command": "rename", "old_path": path, "new_path": "/memories/blocks/fine.md"},
        {"command": "rename", "old_path": GOALS, "new_path": path},
    )
    assert all(each.is_error for each in found), found
    assert len({each.text for each in found}) == 1
    assert any(
        words in found[0].text
        for words in ("Path must start with /memories", "would escape /memories directory", "write it plainly")
    )
    assert memory.newest_proposal()["proposal_id"] == before


@pytest.mark.parametrize("path", ["", None, 7, ["/memories"], {"path": "/memories"}, True], ids=repr)
def test_a_path_has_to_be_a_text(claude: Claude, path: object) -> None:
    commands = [{"command": name, "path": path} for name in ("view", "create", "str_replace", "insert", "delete")]
    for found in claude(*commands, {"command": "view"}, {"command": "rename", "old_path": path, "new_path": path}):
        assert (found.is_error, found.text) == (True, "Missing required parameter: path")


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"command": "create", "path": "/memories/x.md"}, "Missing required parameter: file_text"),
    ({"command": "create", "path": "/memories/x.md", "file_text": 7}, "file_text must be a string"),
    ({"command": "str_replace", "path": GOALS, "new_str": "x"}, "Missing required parameter: old_str"),
    ({"command": "str_replace", "path": GOALS, "old_str": "x"}, 'new_str. To delete old_str, send new_str as "".'),
    ({"command": "str_replace", "path": GOALS, "old_str": "", "new_str": "y"}, "No replacement was performed: old_str"),
    ({"command": "insert", "path": GOALS, "insert_text": "x"}, "Invalid `insert_line` parameter"),
    ({"command": "insert", "path": GOALS, "insert_line": 1.5, "insert_text": "x"}, "Invalid `insert_line` parameter"),
    ({"command": "insert", "path": GOALS, "insert_line": 1}, "Missing required parameter: insert_text"),
    ({"command": "view", "path": GOALS, "view_range": "1-2"}, "Invalid `view_range` parameter"),
    ({"command": "view", "path": GOALS, "view_range": [1, "two"]}, "Invalid `view_range` parameter"),
    ({"command": "view", "path": GOALS, "view_range": [5, 2]}, "Invalid `view_range` parameter"),
    ({"command": "fly", "path": GOALS}, "Unknown command: fly. There are: view, create, "),
    ({}, "Unknown command: "),
    ({"command": "rename", "old_path": GOALS}, "Missing required parameter: path"),
    ({"command": "delete", "path": "/memories/blocks"}, "/memories/blocks is a directory"),
    ({"command": "create", "path": "/memories/a/b.md", "file_text": "x"}, "Use /memories/blocks/a_b.md."),
    ({"command": "create", "path": "/memories/\u2603.md", "file_text": "x"}, "names no block"),
    (
        {"command": "create", "path": "/memories/\u504f\u597d.md", "file_text": "x"},
        "or /memories/blocks/file_91b456f0.md.",
    ),
    ({"command": "view", "path": "/memories/notes/a b.md"}, "names no note"),
]


@pytest.mark.parametrize(("given", "said"), WRONG, ids=lambda each: str(each)[:50] if isinstance(each, dict) else "")
def test_what_does_not_fit_is_an_error_that_says_how(
    claude: Claude, memory: RunningServer, given: dict[str, Any], said: str
) -> None:
    before = memory.newest_proposal()["proposal_id"]
    (found,) = claude(given)
    assert found.is_error
    assert said in found.text
    assert memory.newest_proposal()["proposal_id"] == before


def test_what_the_server_refuses_is_told_in_its_words(claude: Claude, memory: RunningServer, path: str) -> None:
    fixed = "/memories/blocks/accommodations.md"
    body = memory.call("read_memory_block", block_label="accommodations")["data"]["body"]
    same, long, *read_only = claude(
        {"command": "str_replace", "path": GOALS, "old_str": "This semester", "new_str": "This semester"},
        {"command": "create", "path": path, "file_text": "x" * 300_000},
        {"command": "str_replace", "path": fixed, "old_str": body, "new_str": "none"},
        {"command": "insert", "path": fixed, "insert_line": 0, "insert_text": "none"},
        {"command": "delete", "path": fixed},
    )
    assert same.is_error
    assert same.text == "No replacement was performed: old_str and new_str are the same."
    assert long.is_error
    for refused in read_only:
        assert refused.is_error
        assert "read" in refused.text


def test_a_server_that_is_away_is_an_error_and_not_an_exception() -> None:
    view, create = {"command": "view", "path": GOALS}, {"command": "create", "path": "/memories/x.md", "file_text": "x"}
    with Assent("http://127.0.0.1:1", "asn_x", max_retries=0) as away:
        for found in ran(AssentMemoryTool(away, user="alice"), view, create):
            assert found == Result("The memory cannot be reached at the moment. Try again shortly.", is_error=True)


def test_a_token_that_is_not_known_and_a_person_it_does_not_serve_are_refused(
    memory: RunningServer, client: Assent
) -> None:
    view = {"command": "view", "path": GOALS}
    with Assent(memory.url, "asn_unknown_secret", max_retries=0) as unknown:
        (found,) = ran(AssentMemoryTool(unknown, user="alice"), view)
    assert found.is_error
    (other,) = ran(AssentMemoryTool(client, user="ben"), view)
    assert other.is_error
    assert "ben" in other.text


def test_each_tool_wants_the_client_of_its_kind(client: Assent) -> None:
    with pytest.raises(TypeError, match="needs an Assent, not AsyncAssent"):
        AssentMemoryTool(AsyncAssent("http://127.0.0.1:1", "asn_x"))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="needs an AsyncAssent, not Assent"):
        AsyncAssentMemoryTool(client)  # type: ignore[arg-type]
