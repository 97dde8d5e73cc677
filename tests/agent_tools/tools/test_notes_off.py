"""MEMORIES_ENABLED=false: no tool for notes is there, those for blocks are, and people are told."""

import sys
from collections.abc import Iterator

import pytest
from django.test import override_settings

from agent_tools import tools  # noqa: F401 - fills the registry
from agent_tools.calls import registry
from approvals.models import User
from memory_app.reads import Block
from tests.agent_tools.checks import answered, refused
from tests.agent_tools.conftest import Call, Issue, Machine
from tests.support.acts import save
from tests.support.fixtures import ClientOf
from tests.support.places import run

USER = "/api/v1/users/alice"


@pytest.fixture
def note(alice: User) -> str:
    return save(alice, "Alice likes tea.")


@pytest.fixture
def off(note: str) -> Iterator[None]:
    with override_settings(MEMORIES_ENABLED=False):
        yield


@pytest.mark.pure
def test_every_name_is_that_of_a_tool_or_an_endpoint() -> None:
    assert registry.TOOLS.keys() | registry.ENDPOINTS.keys() >= registry.NOTE_TOOLS


def test_tools_for_notes_are_not_listed_and_refused_in_a_sentence(off: None, call: Call, api: Machine) -> None:
    listed = {tool["name"] for tool in answered(api.get("/api/v1/tools/?toolset=all"))["data"]["tools"]}
    assert {"list_memory_blocks", "propose_memory_edit", "list_proposals", "memory_read_session"} <= listed
    assert not listed & registry.NOTE_TOOLS
    for tool in registry.NOTE_TOOLS & registry.TOOLS.keys():
        error = refused(call(tool), 403, "notes_disabled")
        assert error["message"].startswith("This installation keeps no notes")
        refused(api.get(f"/api/v1/tools/{tool}/"), 403, "notes_disabled")


def test_so_are_the_endpoints(off: None, api: Machine, note: str) -> None:
    for path in ("notes/", f"notes/{note}/", "search/?q=tea", "memories.md"):
        refused(api.get(f"{USER}/{path}"), 403, "notes_disabled")
    sent = api.http.post(f"{USER}/memories.md", "### mem-1-abcd\n> x\n", content_type="text/markdown")
    refused(sent, 403, "notes_disabled")


def test_blocks_and_the_context_go_on_without_notes(
    off: None, alice: User, issue: Issue, call: Call, goals: Block
) -> None:
    assert goals.body in answered(call("read_memory_block", block_label="goals"))["text"]
    answered(call("propose_memory_block", label="diary", title="", body="", reasoning="r"))
    answered(call("propose_block_deletion", block_label="goals", reasoning="r"))
    text = answered(Machine(issue(alice, toolset="all")).get(f"{USER}/context/"))["text"]
    assert goals.body.strip() in text
    for gone in ("Alice likes tea.", "`memory_save`", "`recall`", "`prime_memories`", "# Memories\n"):
        assert gone not in text
    assert "`memory_read_session` reads one" in text


def test_the_pages_say_so_and_still_show_what_was_kept(off: None, alice: User, note: str, client_of: ClientOf) -> None:
    client = client_of(alice)
    for path in ("", f"{note}/", "new/", "import/"):
        page = client.get(f"/memory/alice/notes/{path}")
        assert page.status_code == 200, path
        assert "Notes are switched off on this site" in page.content.decode()
    assert "Alice likes tea." in client.get("/memory/alice/notes/").content.decode()


@pytest.mark.slow
def test_the_command_says_so(alice: User) -> None:
    done = run(
        [sys.executable, "-m", "agent_tools.cli", "list"], {"MEMORY_OWNER": "alice", "MEMORIES_ENABLED": "false"}
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "Error: Notes are switched off in this installation (MEMORIES_ENABLED is off).\n"
