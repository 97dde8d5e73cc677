"""The playground: a real call on the viewer's own memory, as an agent of their own."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import pytest
from django.test import Client, override_settings

from agent_tools.auth import tokens
from agent_tools.calls import audit
from agent_tools.models import PLAYGROUND, AgentToken, ToolCall
from approvals.models import Agent, Policy, Proposal, Status, User
from memory_app import reads
from memory_app.reads import Block
from tests.support.fixtures import ClientOf, MakeBlock
from tests.support.pages import form, form_of_id, words

PAGE = "/settings/playground/"
READS = {"scope-memory:read": "on"}
PROPOSES = READS | {"scope-memory:propose": "on"}
EDIT = {
    "arg-block_label": "goals",
    "arg-old_string": "likes math",
    "arg-new_string": "loves math",
    "arg-reasoning": "She said so.",
}


def sent(client: Any, tool: str, fields: dict[str, str], **more: str) -> Any:
    return client.post(PAGE, {"tool": tool, "run": "1"} | PROPOSES | fields | more)


def typed_in(page: Any) -> dict[str, Any]:
    return form_of_id(page, "playground-form")


# -- looking --------------------------------------------------------------------------------------


def test_looking_makes_nothing_and_runs_nothing(client_of: ClientOf, alice: User, goals: Block) -> None:
    client = client_of(alice)
    for query in ("", "?tool=propose_memory_edit", "?tool=memory_save&arg-content=x&run=1", "?withdraw=1", "?tool=x"):
        assert client.get(f"{PAGE}{query}").status_code == 200
    assert not Agent.objects.exists()
    assert not ToolCall.objects.exists()


def test_a_form_has_each_argument_with_what_it_means(client_of: ClientOf, alice: User, goals: Block) -> None:
    answer = client_of(alice).get(f"{PAGE}?tool=propose_memory_edit")
    page = words(answer)
    assert "old_string required The exact text to find and replace." in page
    assert "replace_all not sent (false) true false" in page
    assert "expected_replacements" in page
    assert '<option value="goals">' in answer.content.decode()


def test_names_in_what_an_argument_means_are_code(client_of: ClientOf, alice: User) -> None:
    page = client_of(alice).get(f"{PAGE}?tool=list_memory_blocks").content.decode()
    assert "<code>next</code> of the page before." in page
    assert "`" not in page


def test_the_rights_of_ones_own_token_are_taken_over(client_of: ClientOf, alice: User, ben: User, token: str) -> None:
    mine = AgentToken.objects.get()
    taken = typed_in(client_of(alice).get(f"{PAGE}?as={mine.pk}"))
    assert "scope-notes:write" in taken
    not_bens = typed_in(client_of(ben).get(f"{PAGE}?as={mine.pk}"))
    assert {name for name in not_bens if name.startswith("scope-")} == {"scope-memory:read", "scope-memory:propose"}


# -- running --------------------------------------------------------------------------------------


def test_a_read_is_shown_as_the_agent_reads_it(client_of: ClientOf, alice: User, goals: Block) -> None:
    answer = sent(client_of(alice), "read_memory_block", {"arg-block_label": "goals"})
    page = words(answer)
    assert "200 OK" in page
    assert "# Learning goals" in page
    assert "Alice likes math." in page
    assert f'"sha256": "{goals.body_sha256}"' in page
    assert "Authorization: Bearer $MEMORY_TOKEN" in page
    assert typed_in(answer)["arg-block_label"] == "goals"


def test_the_request_that_is_shown_does_the_same(client_of: ClientOf, alice: User, goals: Block, token: str) -> None:
    """Sent by a program, the arguments on the page get the answer on the page."""
    answer = sent(client_of(alice), "read_memory_block", {"arg-block_label": "goals", "arg-view_range": "1\n2"})
    shown = _passage(answer, "request-json")
    given = json.loads(shown)
    assert given == {"block_label": "goals", "view_range": [1, 2]}
    machine = Client(headers={"Authorization": f"Bearer {token}"})
    said = machine.post("/api/v1/tools/read_memory_block/", shown, content_type="application/json").json()
    assert json.loads(_passage(answer, "tried-data")) == said["data"]


def test_a_proposal_waits_with_its_preview_and_is_withdrawn_in_one_press(
    client_of: ClientOf, alice: User, goals: Block
) -> None:
    client = client_of(alice)
    answer = sent(client, "propose_memory_edit", EDIT)
    proposal = Proposal.objects.get()
    assert (proposal.status, proposal.agent.name) == (Status.OPEN, "playground-alice")
    page = answer.content.decode()
    assert "What the reviewer sees" in page
    assert "<del>" in page
    assert proposal.get_absolute_url() in page
    assert "playground-alice" in words(client.get(proposal.get_absolute_url()))
    fields = typed_in(answer) | {"withdraw": str(proposal.pk)}
    again = client.post(PAGE, fields)
    proposal.refresh_from_db()
    assert proposal.status == Status.WITHDRAWN
    assert typed_in(again)["arg-old_string"] == "likes math"
    assert "Alice likes math." in reads.block("alice", "goals").body


def test_what_waits_is_listed_to_be_withdrawn(client_of: ClientOf, alice: User, goals: Block) -> None:
    client = client_of(alice)
    sent(client, "propose_memory_edit", EDIT)
    assert "Waiting proposals from here" in words(client.get(PAGE))


def test_a_note_waits_unless_saving_is_ticked(client_of: ClientOf, alice: User) -> None:
    client = client_of(alice)
    Policy.objects.create(owner="alice", notes=Policy.Notes.APPLY)
    waits = sent(client, "memory_save", {"arg-content": "She paints."})
    assert "A new note" in words(waits)
    assert not reads.notes("alice")
    applied = sent(client, "memory_save", {"arg-content": "She sings."}, **{"scope-notes:write": "on"})
    assert "Note note-" in words(applied)
    assert [note.content for note in reads.notes("alice")] == ["She sings."]


@pytest.mark.parametrize(
    ("tool", "fields", "status", "code"),
    [
        ("read_memory_block", {"arg-block_label": "nothing"}, 404, "block_not_found"),
        ("read_memory_block", {"arg-block_label": "goals", "arg-max_characters": "x"}, 400, "invalid_arguments"),
        ("read_memory_block", {"arg-block_label": "a\0b"}, 400, "forbidden_character"),
        ("propose_memory_edit", EDIT | {"arg-old_string": "not there"}, 422, "old_string_not_found"),
        ("propose_memory_edit", EDIT | {"arg-reasoning": ""}, 400, "missing_reasoning"),
        ("get_proposal", {"arg-proposal_id": "1"}, 404, "proposal_not_found"),
    ],
)
def test_refusals_are_shown_as_an_agent_gets_them_and_what_was_typed_stays(
    client_of: ClientOf, alice: User, goals: Block, tool: str, fields: dict[str, str], status: int, code: str
) -> None:
    answer = sent(client_of(alice), tool, fields)
    assert answer.status_code == 200
    page = words(answer)
    assert f"{status} " in page
    assert code in page
    kept = typed_in(answer)
    assert {name: kept[name] for name in fields} == fields


def test_the_corrected_call_of_a_refusal_is_filled_in_and_works(client_of: ClientOf, alice: User, goals: Block) -> None:
    client = client_of(alice)
    answer = sent(client, "propose_memory_edit", EDIT | {"arg-old_string": "Likes Math"})
    found = re.search(r'name="correct" value="([^"]*)"', answer.content.decode())
    assert found
    filled = client.post(PAGE, typed_in(answer) | {"correct": html.unescape(found[1])})
    assert typed_in(filled)["arg-old_string"] == "likes math"
    assert not Proposal.objects.exists()
    client.post(PAGE, typed_in(filled) | {"run": "1"})
    assert Proposal.objects.get().status == Status.OPEN


@pytest.mark.parametrize("text", ["{", "[1]", '{"nobody": "x", "old_string": {"a": 1}}', "[" * 100_000])
def test_a_made_up_correction_changes_nothing(client_of: ClientOf, alice: User, goals: Block, text: str) -> None:
    answer = client_of(alice).post(PAGE, {"tool": "propose_memory_edit", "correct": text} | PROPOSES | EDIT)
    assert {name: typed_in(answer)[name] for name in EDIT} == EDIT


def test_line_ends_of_browsers_are_those_of_the_text(client_of: ClientOf, alice: User, goals: Block) -> None:
    two_lines = {"arg-old_string": "Alice likes math.\r\nShe wants", "arg-new_string": "Alice likes math. She wants"}
    sent(client_of(alice), "propose_memory_edit", EDIT | two_lines)
    assert Proposal.objects.get().status == Status.OPEN


def test_without_the_scope_the_call_is_refused(client_of: ClientOf, alice: User, goals: Block) -> None:
    answer = client_of(alice).post(PAGE, {"tool": "propose_memory_edit", "run": "1"} | READS | EDIT)
    assert "missing_scope" in words(answer)
    assert not Proposal.objects.exists()
    kept = typed_in(answer)
    assert "scope-memory:read" in kept
    assert "scope-memory:propose" not in kept


def test_the_request_alone_can_be_looked_at(client_of: ClientOf, alice: User, goals: Block) -> None:
    fields = {"tool": "propose_memory_edit", "show": "1"} | PROPOSES | EDIT
    answer = client_of(alice).post(PAGE, fields)
    assert json.loads(_passage(answer, "request-json"))["new_string"] == "loves math"
    assert not Proposal.objects.exists()
    assert not ToolCall.objects.exists()


def test_one_more_item_keeps_what_was_typed(client_of: ClientOf, alice: User, goals: Block) -> None:
    typed = EDIT | {"arg-evidence-0-role": "user", "arg-evidence-0-content": "I love it."}
    answer = client_of(alice).post(PAGE, {"tool": "propose_memory_edit", "add": "evidence"} | PROPOSES | typed)
    kept = typed_in(answer)
    assert {name: kept[name] for name in typed} == typed
    assert kept["arg-evidence-1-content"] == ""
    empty = client_of(alice).post(PAGE, {"tool": "propose_memory_edit", "add": "evidence"} | PROPOSES)
    assert '<details class="more-arguments" open>' in empty.content.decode()
    sent(client_of(alice), "propose_memory_edit", typed | {"arg-evidence-rows": "2"})
    assert Proposal.objects.get().evidence[0]["content"] == "I love it."


def test_unseen_characters_are_shown_as_escapes(client_of: ClientOf, alice: User, make_block: MakeBlock) -> None:
    make_block(alice, "odd", "one\u200btwo\u202e")
    answer = sent(client_of(alice), "read_memory_block", {"arg-block_label": "odd"})
    page = answer.content.decode()
    assert "\u200b" not in page
    assert "\u202e" not in page


# -- whose memory, and as whom --------------------------------------------------------------------


def test_nobody_reaches_the_memory_of_others(
    client_of: ClientOf, alice: User, tim: User, admin: User, goals: Block
) -> None:
    for person in (tim, admin):
        client = client_of(person)
        page = words(sent(client, "read_memory_block", {"arg-block_label": "goals", "arg-user_id": "alice"}))
        assert "block_not_found" in page
        assert "likes math" not in page
    assert {tuple(token.owners.values_list("username", flat=True)) for token in AgentToken.objects.all()} == {
        ("tim",),
        ("admin",),
    }


def test_nobody_withdraws_the_proposals_of_others(client_of: ClientOf, alice: User, ben: User, goals: Block) -> None:
    sent(client_of(alice), "propose_memory_edit", EDIT)
    proposal = Proposal.objects.get()
    answer = client_of(ben).post(PAGE, {"tool": "list_memory_blocks", "withdraw": str(proposal.pk)})
    assert "proposal_not_found" in words(answer)
    proposal.refresh_from_db()
    assert proposal.status == Status.OPEN


def test_the_token_is_on_the_page_of_tokens_and_opens_no_door(
    client_of: ClientOf, machine: Any, alice: User, goals: Block
) -> None:
    client = client_of(alice)
    sent(client, "list_memory_blocks", {})
    token = AgentToken.objects.get()
    page = words(client.get("/settings/agents/"))
    assert f"playground-alice {token.prefix}… playground" in page
    assert "last used just now" in page
    assert token.sha256 == ""
    assert tokens.find(f"{token.prefix}_{'x' * 43}") is None


def test_calls_are_audited_and_seen_on_the_agents_page(client_of: ClientOf, alice: User, goals: Block) -> None:
    client = client_of(alice)
    sent(client, "read_memory_block", {"arg-block_label": "goals"})
    sent(client, "read_memory_block", {"arg-block_label": "nothing"})
    audit.settle()
    rows = ToolCall.objects.order_by("pk").values_list("agent__name", "owner", "tool", "outcome", "status")
    assert list(rows) == [
        ("playground-alice", "alice", "read_memory_block", "ok", 200),
        ("playground-alice", "alice", "read_memory_block", "block_not_found", 404),
    ]
    assert "block_not_found" in words(client.get("/settings/agents/playground-alice/"))


@override_settings(RATE_LIMIT=2)
def test_calls_are_throttled_as_an_agents(client_of: ClientOf, alice: User) -> None:
    client = client_of(alice)
    pages = [words(sent(client, "list_memory_blocks", {})) for _ in range(6)]
    assert any("429 Too Many Requests" in page for page in pages)
    assert any("Retry-After:" in page for page in pages)


def test_revoked_it_begins_anew_as_the_same_agent(client_of: ClientOf, alice: User) -> None:
    client = client_of(alice)
    sent(client, "list_memory_blocks", {})
    first = AgentToken.objects.get()
    client.post(f"/settings/agents/{first.pk}/revoke/")
    assert "200 OK" in words(sent(client, "list_memory_blocks", {}))
    assert [token.agent.name for token in AgentToken.objects.all()] == ["playground-alice"] * 2


def test_deactivated_by_an_admin_it_runs_nothing(client_of: ClientOf, alice: User) -> None:
    client = client_of(alice)
    sent(client, "list_memory_blocks", {})
    Agent.objects.update(is_active=False)
    answer = sent(client, "propose_memory_edit", EDIT)
    assert answer.status_code == 422
    assert "deactivated your playground" in words(answer)
    assert typed_in(answer)["arg-old_string"] == "likes math"


def test_no_other_agent_is_called_like_a_playground(client_of: ClientOf, alice: User, mallory: User) -> None:
    """Whether there is one already is not told either: it would show who has an account."""
    sent(client_of(alice), "list_memory_blocks", {})
    pages = set()
    for name in ("playground-alice", "playground-ben", f"{PLAYGROUND}x"):
        fields = {"name": name, "scopes": ["memory:read"], "days": ""}
        answer = client_of(mallory).post("/settings/agents/", fields)
        assert answer.status_code == 422
        pages.update(re.findall(r'<p class="field-error"[^>]*>(.*?)</p>', answer.content.decode()))
    assert len(pages) == 1


def test_a_name_taken_before_it_was_reserved_is_left_to_its_agent(
    client_of: ClientOf, alice: User, mallory: User
) -> None:
    taken = Agent.objects.create(name="playground-alice", created_by=mallory)
    sent(client_of(alice), "list_memory_blocks", {})
    assert AgentToken.objects.get().agent != taken


# -- forms ----------------------------------------------------------------------------------------


def test_without_the_csrf_token_nothing_runs(alice: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice)
    assert sent(client, "memory_save", {"arg-content": "x"}).status_code == 403
    assert not AgentToken.objects.exists()


def test_an_unknown_tool_is_not_another_one(client_of: ClientOf, alice: User) -> None:
    assert sent(client_of(alice), "no_such_tool", {}).status_code == 404


def test_signed_out_in_between_nothing_typed_is_lost(client: Any, alice: User) -> None:
    answer = sent(client, "propose_memory_edit", EDIT)
    assert answer.status_code == 401
    fields = form(answer, "/sign-in/and-go-on/")
    alice.set_password("a long enough passphrase")
    alice.save()
    back = client.post(
        "/sign-in/and-go-on/", fields | {"username": "alice", "password": "a long enough passphrase"}, follow=True
    )
    kept = typed_in(back)
    assert {name: kept[name] for name in EDIT} == EDIT
    assert "scope-notes:write" not in kept
    assert not Proposal.objects.exists()


def _passage(answer: Any, key: str) -> str:
    """The text of a snippet as a browser copies it."""
    found = re.search(rf'<pre class="source" id="{key}"[^>]*>(.*?)</pre>', answer.content.decode(), re.S)
    assert found
    return html.unescape(found[1])
