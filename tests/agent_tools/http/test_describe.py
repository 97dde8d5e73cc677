"""What describes the API says what the API does: OpenAPI, its page, the list of fields, /llms.txt."""

import json
import re
from typing import Any

import pytest
from django.test import Client, override_settings
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from agent_tools.answers import fields
from agent_tools.calls import registry
from agent_tools.calls.registry import FILE_TOOLS, NOTE_TOOLS, TOOLS
from agent_tools.errors import ErrorCode
from agent_tools.urls import urlpatterns
from approvals import services
from approvals.models import User
from memory_app.reads import Block
from tests.agent_tools.checks import answered, caught_up, document, refused
from tests.agent_tools.conftest import Call, Machine
from tests.support.first import head_of_main
from tests.support.fixtures import ClientOf

ALICE = "/api/v1/users/alice"
EDIT = {"block_label": "goals", "old_string": "likes math", "new_string": "loves math", "reasoning": "She said so."}

NEW = {"label": "diary", "title": "Diary", "body": "She read.", "reasoning": "She tells me about her days."}
WHOLE = {"body": "x", "reasoning": "r"}
GONE = {"block_label": "goals", "reasoning": "All of it is outdated."}
GOALS = {"path": "/memories/blocks/goals.md"}
OF_FILES: dict[str, dict[str, Any]] = {
    "list_files": {},
    "view_file": GOALS,
    "edit_file": GOALS | {"old_string": "likes math", "new_string": "adores math"},
    "append_to_file": GOALS | {"content": "More."},
    "prepend_to_file": GOALS | {"content": "First."},
    "update_section": GOALS | {"section_header": "# Goals", "new_content": "None."},
    "write_file": GOALS | {"content": "All new."},
}

#: The other tools that propose a change of a block that exists.
PROPOSING: dict[str, dict[str, Any]] = {
    name: {"block_label": "goals", "reasoning": "She said so."} | given
    for name, given in {
        "propose_memory_edits": {"edits": [{"old_string": "one book", "new_string": "two books"}]},
        "propose_memory_append": {"content": "She rows."},
        "propose_memory_prepend": {"content": "Hers."},
        "propose_memory_insert": {"insert_line": 3, "content": "She sails."},
        "propose_section_update": {"section_header": "# Goals", "new_content": "She skis."},
        "propose_memory_rewrite": {"content": "She skates."},
    }.items()
}


def fields_of(data: dict[str, Any]) -> set[str]:
    """Names as the reference writes them: `items[].label` for what is in a list of objects."""
    names = set()
    for name, value in data.items():
        if isinstance(value, list) and value and isinstance(value[0], dict) and name not in ("edits", "notes"):
            names |= {f"{name}[].{inner}" for item in value for inner in item}
        else:
            names.add(name)
    return names


class Watched:
    """A client whose calls are noted in `moved` when main moved by them."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.moved: set[str] = set()

    def __call__(self, tool: str, /, **arguments: Any) -> Any:
        before = head_of_main()
        answer = self.call(tool, **arguments)
        if head_of_main() != before:
            self.moved.add(tool)
        return answer


@pytest.mark.slow
@pytest.mark.usefixtures("worker")
def test_every_field_of_every_answer_is_described_and_only_notes_move_main(
    api: Machine, call: Call, tim: User, goals: Block
) -> None:
    call = watched = Watched(call)
    proposed = answered(call("propose_memory_edit", **EDIT))["data"]
    number = proposed["proposal_id"]
    said = answered(call("comment_on_proposal", proposal_id=number, comment="Is that right?"))["data"]
    answered(call("propose_memory_edit", **EDIT | {"new_string": "changes the same"}))
    services.comment(actor=tim, proposal_id=number, text="It is.")
    decided = answered(api.get("/api/v1/proposals/decisions/"))["data"]
    beside = answered(call("memory_save", content="Alice rows."))["data"]["decisions"]
    assert set(beside["items"][0]) == set(decided["items"][0])
    assert set(beside) == {"items", "next", "more", "left_out"}
    answers = (
        {name: answered(call(name, **given))["data"] for name, given in PROPOSING.items()}
        | {
            "propose_memory_edit": proposed,
            "propose_memory_block": answered(call("propose_memory_block", **NEW))["data"],
            "propose_block_deletion": answered(call("propose_block_deletion", **GONE))["data"],
            **{name: answered(call(name, **given))["data"] for name, given in OF_FILES.items()},
            "comment_on_proposal": said,
            "list_memory_blocks": answered(call("list_memory_blocks"))["data"],
            "read_memory_block": answered(call("read_memory_block", block_label="goals"))["data"],
            "list_proposals": answered(call("list_proposals"))["data"],
            "get_proposal": answered(call("get_proposal", proposal_id=number))["data"],
            "proposal_read": answered(api.get(f"/api/v1/proposals/{number}/"))["data"],
            "decision_list": decided,
            "block_list": answered(api.get(f"{ALICE}/blocks/"))["data"],
            "block_history": answered(api.get(f"{ALICE}/blocks/goals/history/"))["data"],
            "block_propose": answered(api.post(f"{ALICE}/blocks/goals/propose/", {"body": "x", "reasoning": "r"}))[
                "data"
            ],
            "withdraw_proposal": answered(call("withdraw_proposal", proposal_id=number))["data"],
        }
        | answers_about_notes(api, call)
    )
    every = registry.TOOLS | registry.ENDPOINTS
    assert set(answers) == set(every) == set(registry.SAID)
    for name, data in answers.items():
        returns = every[name].returns
        # Where one call cannot have them all, other tests do, whose answers have no field that is not described either.
        optional = {field for field, text in returns.items() if fields.read(text)[1]}
        assert fields_of(data) | optional == set(returns), name
    assert watched.moved == {"memory_save", "memory_update", "memory_delete", "remember", "forget"}


def answers_about_notes(api: Machine, call: Call) -> dict[str, Any]:
    """One answer of each tool and endpoint of notes that has all its fields."""
    saved = answered(call("memory_save", content="Alice reads one book a month.", session_id="s"))["data"]
    note_id = saved["note_id"]
    remembered = answered(call("remember", content="Alice likes tea."))["data"]
    outdated = answered(call("remember", content="Alice likes milk."))["data"]["memory_id"]
    answered(call("forget", memory_id=outdated))
    messages = {"messages": [{"id": "m", "role": "user", "content": "I read one book a month."}]}
    kept = answered(api.post(f"{ALICE}/conversations/s/messages/", messages))["data"]
    asked = {"query": "one book a month", "include_conversation": True, "session_id": "s"}
    file = "### mem-1-aaaa\n> Alice reads one book a month.\n### y\n"
    imported = api.http.post(f"{ALICE}/memories.md", file, content_type="text/markdown")
    searched = caught_up(lambda: call("memory_search", **asked))["data"]
    assert api.get(f"{ALICE}/memories.md")["Content-Type"] == "text/markdown; charset=utf-8"
    return {
        "memory_save": saved,
        "remember": remembered,
        "message_keep": kept,
        "memory_search": searched,
        "search": answered(api.get(f"{ALICE}/search/?q=one+book&include_conversation=true&session_id=s"))["data"],
        "recall": answered(call("recall", include_superseded=True))["data"],
        "note_list": answered(api.get(f"{ALICE}/notes/"))["data"],
        "note_read": answered(api.get(f"{ALICE}/notes/{note_id}/"))["data"],
        "prime_memories": answered(call("prime_memories"))["data"],
        "context_read": answered(api.get(f"{ALICE}/context/"))["data"],
        "import_file": answered(imported)["data"],
        "export_file": {},
        "memory_list_sessions": answered(call("memory_list_sessions"))["data"],
        "memory_read_session": answered(call("memory_read_session", session_id="s"))["data"],
        "message_delete": answered(api.http.delete(f"{ALICE}/conversations/s/messages/"))["data"],
        "memory_update": answered(call("memory_update", note_id=note_id, content="She reads two."))["data"],
        "forget": answered(call("forget", memory_id=remembered["memory_id"]))["data"],
        "memory_delete": answered(call("memory_delete", note_id=note_id))["data"],
    }


def test_every_tool_refuses_what_it_does_not_know(call: Call, goals: Block) -> None:
    for name in registry.TOOLS:
        fields = call(name, blokc_label="x", not_an_argument=1).json()["error"]["details"]["fields"]
        assert fields["not_an_argument"] == "is not known here"


def test_endpoints_that_are_no_tools_are_called_what_they_are(api: Machine, goals: Block) -> None:
    assert all(" " in endpoint.called for endpoint in registry.ENDPOINTS.values())
    for response, name in (
        (api.post(f"{ALICE}/conversations/s/messages/", {}), "keeping messages"),
        (api.get(f"{ALICE}/notes/?cursor=x"), "the list of notes"),
        (api.get(f"{ALICE}/blocks/?limit=0"), "the list of blocks"),
        (api.post(f"{ALICE}/blocks/goals/propose/", {"reasoning": "So."}), "a proposal to a block"),
        (api.get(f"{ALICE}/search/"), "the search"),
    ):
        error = refused(response, 400, "invalid_arguments")
        assert error["message"].startswith(f"Invalid arguments for {name}: ")
        assert error["text"].startswith(f"Error: invalid arguments for {name}: ")


def test_a_tool_for_blocks_moves_main_by_a_rule_alone(call: Call, alice: User, goals: Block) -> None:
    services.create_rule(actor=alice, owner="alice", agent="scribe", block="goals", kind="edit", needs="small")
    before = head_of_main()
    for name, given in (
        ("propose_memory_rewrite", PROPOSING["propose_memory_rewrite"]),
        ("propose_block_deletion", GONE),
    ):
        assert answered(call(name, **given))["data"]["status"] == "open"
    assert head_of_main() == before
    data = answered(call("propose_memory_edit", **EDIT))["data"]
    assert (data["status"], data["commit"]) == ("applied", head_of_main())
    assert head_of_main() != before


def test_the_openapi_document_has_every_tool_and_address() -> None:
    assert document()["openapi"].startswith("3.1")
    assert document()["servers"][0]["url"] == "/"
    assert document()["info"]["license"]["name"] == "MIT"
    paths = document()["paths"]
    routes = {f"/{each.pattern}" for each in urlpatterns if str(each.pattern).startswith("api/v1/")}
    addresses = {re.sub(r"<\w+:(\w+)>", r"{\1}", route) for route in routes} - {"/api/v1/tools/{name}/"}
    assert set(paths) == addresses | {f"/api/v1/tools/{name}/" for name in registry.TOOLS}
    code = document()["components"]["schemas"]["Failure"]["properties"]["error"]["properties"]["code"]
    assert code["enum"] == [code.code for code in ErrorCode]
    assert all(f"- `{each.code}` ({each.status}): {each.meaning}" in code["description"] for each in ErrorCode)
    for tool in registry.TOOLS.values():
        run = paths[f"/api/v1/tools/{tool.name}/"]["post"]
        answer = run["responses"]["200"]["description"]
        assert all(f"- `{name}`: {fields.read(text)[2]}" in answer for name, text in tool.returns.items())
        assert run["summary"] != tool.name
        assert 10 < len(run["summary"]) < 200, run["summary"]
    operations = [operation for path in paths.values() for operation in path.values()]
    assert not any("Django" in operation.get("description", "") for operation in operations), "a comment of the code"
    ids = [operation["operationId"] for operation in operations]
    assert len(ids) == len(set(ids))
    assert all(operation["security"] == [{"token": []}] for operation in operations)


def test_the_docs_page_needs_nothing_the_policy_forbids_and_leads_back(client: Any) -> None:
    response = client.get("/api/docs/")
    page = response.content.decode()
    assert response.status_code == 200
    assert "<style" not in page
    assert not re.search(r"<script(?![^>]* src=)", page)
    assert not re.search(r"(src|href)=\"(https?:)?//", page)
    assert "script-src 'self'" in response["Content-Security-Policy"]
    script = client.get("/api/docs/?script=")
    assert script["Content-Type"].startswith("application/javascript")
    assert f'href="{reverse("inbox")}"' in page
    assert f'href="{reverse("agents")}"' in page


def test_error_codes_are_unique_and_explained() -> None:
    codes = [code.code for code in ErrorCode]
    assert len(codes) == len(set(codes))
    assert all(code.meaning.endswith(".") and 400 <= code.status < 600 for code in ErrorCode)


def test_the_document_says_what_addresses_take_and_when_a_body_is_needed() -> None:
    paths = document()["paths"]
    (whose,) = [each for each in paths["/api/v1/users/{user_id}/blocks/"]["get"]["parameters"] if each["in"] == "path"]
    assert whose["schema"]["pattern"] == "^[a-z0-9._-]{1,64}$"
    assert "400" in paths["/api/v1/users/{user_id}/blocks/"]["get"]["responses"]
    assert paths["/api/v1/tools/read_memory_block/"]["post"]["requestBody"]["required"]
    assert not paths["/api/v1/tools/list_memory_blocks/"]["post"]["requestBody"]["required"]
    asked = paths["/api/v1/tools/read_memory_block/"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert asked["properties"]["as_of"]["type"] == ["string", "null"]
    assert asked["properties"]["block_label"]["type"] == "string"
    searched = paths["/api/v1/tools/memory_search/"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert not re.match(searched["properties"]["query"]["pattern"], "a\0b")


# -- /llms.txt ------------------------------------------------------------------------------------

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
