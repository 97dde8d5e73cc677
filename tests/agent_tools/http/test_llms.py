"""/llms.txt: in step with the registry, the same for everyone, and nothing of anyone."""

import json
import re

import pytest
from django.test import Client, override_settings
from pytest_django import DjangoAssertNumQueries

from agent_tools.calls.registry import FILE_TOOLS, NOTE_TOOLS, TOOLS
from approvals.models import User
from memory_app.reads import Block
from tests.agent_tools.checks import refused
from tests.agent_tools.conftest import Machine
from tests.support.fixtures import ClientOf

ADDRESS = "https://memory.example:8443"


@pytest.fixture
def text(client: Client) -> str:
    with override_settings(PUBLIC_URL=ADDRESS):
        answer = client.get("/llms.txt")
    assert answer.status_code == 200
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    return answer.content.decode()


def listed(text: str) -> set[str]:
    return set(re.findall(r"^- `(\w+)`[^:]*: ", text, re.MULTILINE))


def test_it_lists_every_tool_with_its_first_sentence(text: str) -> None:
    assert listed(text) == TOOLS.keys()
    for tool in TOOLS.values():
        ((needed, line),) = re.findall(rf"^- `{tool.name}`(?: \(([^)]*)\))?: (.+)$", text, re.MULTILINE)
        assert re.findall(r"\w+", needed) == tool.schema["required"]
        assert tool.description.startswith(line)
        assert line.endswith(".")


def test_it_has_the_form_that_readers_of_such_files_expect(text: str) -> None:
    assert text.startswith("# Assent\n\n> ")
    assert "{" not in re.sub(r"`\{.*\}`|'\{[^}]*\}'", "", text), "a name was not filled in"


def test_its_example_works_as_it_is_written(text: str, goals: Block, api: Machine) -> None:
    (body,) = re.findall(r"-d '(\{[^']*\})'", text)
    arguments = json.loads(body)
    # Only its words are those of another memory.
    refused(api.call("propose_memory_edit", **arguments), 422, "old_string_not_found")


def test_its_addresses_are_those_of_this_installation_and_answer(text: str, client: Client) -> None:
    links = re.findall(r"\]\((\S+)\)", text)
    assert len(links) == 4
    for link in links:
        assert link.startswith(ADDRESS)
        # A page of people, and MCP that wants a POST, are there too.
        assert client.get(link.removeprefix(ADDRESS)).status_code in (200, 302, 401, 405)
    assert "127.0.0.1" not in text
    with override_settings(PUBLIC_URL=ADDRESS, ALLOWED_HOSTS=["*"]):
        assert client.get("/llms.txt", headers={"Host": "evil.example"}).content.decode() == text


def test_where_notes_are_switched_off_none_of_their_tools_is_named(client: Client) -> None:
    with override_settings(MEMORIES_ENABLED=False):
        text = client.get("/llms.txt").content.decode()
    assert listed(text) == TOOLS.keys() - NOTE_TOOLS
    assert [name for name in NOTE_TOOLS & TOOLS.keys() if f"`{name}`" in text] == []
    assert listed(text) >= FILE_TOOLS


def test_it_is_the_same_for_everyone(text: str, goals: Block, alice: User, client_of: ClientOf, api: Machine) -> None:
    with override_settings(PUBLIC_URL=ADDRESS):
        assert client_of(alice).get("/llms.txt").content.decode() == text
        assert api.get("/llms.txt").content.decode() == text
    assert goals.body not in text


def test_it_is_read_only_small_asks_no_database_and_may_be_cached(
    client: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    assert client.post("/llms.txt").status_code == 405
    with django_assert_num_queries(0), django_assert_num_queries(0, using="memory"):
        answer = client.get("/llms.txt")
    assert len(answer.content) < 16_000
    assert answer["Cache-Control"] == "public, max-age=3600"
    assert not answer.cookies
    assert client.head("/llms.txt").status_code == 200
