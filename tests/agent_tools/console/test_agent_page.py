"""One agent's page: its tokens, its calls about this person's memory, refusals, and what became of its proposals."""

import html
import re
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from agent_tools.auth import tokens
from agent_tools.calls import audit
from agent_tools.console import agent_page
from agent_tools.models import AgentToken, ToolCall
from approvals import services
from approvals.models import Agent, RejectReason, User
from memory_app.reads import Block
from tests.agent_tools.conftest import Call, Issue, Machine, MachineOf
from tests.support.fixtures import ClientOf, Propose
from tests.support.pages import words

PAGE = "/settings/agents/scribe/"


def shown(client: Any, query: str = "") -> str:
    audit.settle()
    return words(client.get(f"{PAGE}{query}"))


def rows(client: Any, query: str = "") -> list[str]:
    """The rows of the table of calls."""
    audit.settle()
    table = client.get(f"{PAGE}{query}").content.decode().partition("calls-table")[2].partition("</table>")[0]
    return [" ".join(re.sub(r"<[^>]*>", " ", row).split()) for row in table.split('<tr role="row">')[2:]]


def test_calls_are_listed_with_outcome_and_size_and_no_text(
    client_of: ClientOf, alice: User, call: Call, goals: Block
) -> None:
    call("read_memory_block", block_label="goals")
    call("memory_search", query="a very private question")
    client = client_of(alice)
    newest, oldest = rows(client)
    assert "memory_search" in newest
    assert re.search(
        r"read_memory_block goals answered 200 \d+ bytes \d.*(bytes|KB) \d+ ms", oldest.replace("\xa0", " ")
    )
    page = shown(client)
    assert "private question" not in page
    assert "B2 exam" not in page


def test_what_the_agent_made_up_is_not_shown(client_of: ClientOf, alice: User, call: Call, goals: Block) -> None:
    """A refused call names what the agent says, which may be anything."""
    call("read_memory_block", block_label="her-secret-plan")
    page = shown(client_of(alice))
    assert "block_not_found" in page
    assert "her-secret-plan" not in page


def test_tools_and_errors_are_counted_with_what_they_mean(
    client_of: ClientOf, alice: User, call: Call, goals: Block
) -> None:
    for _ in range(3):
        call("read_memory_block", block_label="goals")
    call("read_memory_block", block_label="nothing")
    call("propose_memory_edit", block_label="goals", old_string="not there", new_string="x", reasoning="r")
    page = shown(client_of(alice))
    assert "read_memory_block 4 1 error" in page
    assert "propose_memory_edit 1 1 error" in page
    assert "block_not_found 1 × · 404 The owner has no block of that label" in page
    assert "`" not in page


def test_calls_are_narrowed_by_tool_and_outcome(client_of: ClientOf, alice: User, call: Call, goals: Block) -> None:
    call("read_memory_block", block_label="goals")
    call("read_memory_block", block_label="nothing")
    call("list_memory_blocks")
    client = client_of(alice)
    assert len(rows(client)) == 3
    assert len(rows(client, "?tool=read_memory_block")) == 2
    assert len(rows(client, "?tool=read_memory_block&outcome=ok")) == 1
    assert len(rows(client, "?outcome=refused")) == 1
    assert len(rows(client, "?outcome=block_not_found")) == 1
    # Only the most frequent errors are explained above; narrowed to one, it says what that means.
    meant = "<code>block_not_found</code>: The owner has no block of that label"
    for query in ("?outcome=block_not_found", "", "?outcome=refused", "?outcome=ok", "?outcome=nonsense"):
        assert (meant in client.get(f"{PAGE}{query}").content.decode()) is ("block_not_found" in query)
    assert "No such calls" in shown(client, "?tool=forget")
    assert "No such calls" in shown(client, "?tool=%00&outcome=nonsense")


def test_pages_follow_each_other_without_a_gap(
    client_of: ClientOf, alice: User, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_page, "ON_A_PAGE", 3)
    for _ in range(4):
        call("list_memory_blocks")
        call("list_proposals")  # whose row names nobody
    client, query, seen = client_of(alice), "", []
    while True:
        found = rows(client, query)
        seen.append(len(found))
        page = client.get(f"{PAGE}{query}").content.decode()
        older = re.search(r'rel="next" href="([^"]*)"', page)
        if older is None:
            break
        query = older[1].replace("&amp;", "&")
    assert seen == [3, 3, 2]
    for made_up in ("x", "-1", "99999999999999999-1", "9999999999999999-999999999999999999", "1-"):
        assert client.get(f"{PAGE}?before={made_up}").status_code == 200


# -- whose calls ----------------------------------------------------------------------------------


def test_no_call_about_somebody_else_is_shown(
    client_of: ClientOf, machine: MachineOf, issue: Issue, alice: User, ben: User
) -> None:
    shared, bens = machine(issue(alice, ben)), machine(issue(ben))
    shared.call("list_memory_blocks", user_id="ben")
    shared.call("list_proposals")  # about both of them
    shared.call("read_memory_block", user_id="alice", block_label="goals")
    bens.call("prime_memories")
    assert [row.split()[4] for row in rows(client_of(alice))] == ["read_memory_block"]
    assert len(rows(client_of(ben))) == 2


def test_what_names_nobody_is_shown_to_whom_alone_the_token_serves(
    client_of: ClientOf, machine: MachineOf, issue: Issue, alice: User, ben: User
) -> None:
    api = machine(issue(alice, scopes=["memory:read"]))
    api.call("list_proposals")
    api.call("memory_save", content="x")
    assert sorted(row.split()[4] for row in rows(client_of(alice))) == ["list_proposals", "memory_save"]


def test_once_shared_a_token_keeps_its_earlier_calls_to_itself(
    client_of: ClientOf, machine: MachineOf, issue: Issue, alice: User, ben: User
) -> None:
    api = machine(issue(alice, ben))
    api.call("list_proposals")
    audit.settle()
    tokens.stop_serving(AgentToken.objects.get(), ben)
    assert "No calls yet" in shown(client_of(alice))
    api.call("list_proposals")
    assert len(rows(client_of(alice))) == 1


def test_tutors_and_staff_see_what_is_about_themselves_only(
    client_of: ClientOf, alice: User, tim: User, admin: User, mallory: User, call: Call
) -> None:
    call("list_memory_blocks")
    audit.settle()
    for person in (tim, admin, mallory):
        assert client_of(person).get(PAGE).status_code == 404
    assert client_of(alice).get("/settings/agents/nobody-there/").status_code == 404
    assert Client().get(PAGE).status_code == 302


# -- proposals ------------------------------------------------------------------------------------


def test_rejections_are_shown_with_their_reason_and_lead_to_the_proposal(
    client_of: ClientOf, alice: User, goals: Block, propose: Propose, token: str
) -> None:
    proposal = propose(goals, "likes math", "loves math", reasoning="She said so.")
    services.reject(
        actor=alice, proposal_id=proposal.pk, revision=1, reason=RejectReason.OUTDATED, comment="No longer <so>."
    )
    page = client_of(alice).get(PAGE).content.decode()
    assert f'href="{proposal.get_absolute_url()}">She said so.' in page
    said = shown(client_of(alice))
    assert "Rejected 1 1 outdated" in said
    assert "<span>Outdated</span><span>Learning goals</span>" in page
    assert "No longer <so>." in html.unescape(said)
    assert "Acceptance 0%" in said


def test_proposals_to_others_are_not_counted(
    client_of: ClientOf, alice: User, ben: User, goals: Block, propose: Propose, issue: Issue
) -> None:
    propose(goals, "likes math", "loves math")
    issue(ben)
    assert "No proposals yet" in shown(client_of(ben))
    assert "Waiting 1" in shown(client_of(alice))


def test_where_there_is_nothing_the_page_says_so(client_of: ClientOf, alice: User, token: str) -> None:
    services.create_rule(actor=alice, owner="alice", agent="scribe", needs="ask")
    page = shown(client_of(alice))
    assert "Rules 1" in page
    for sentence in ("No calls in the last 30 days", "No proposals yet", "No calls yet"):
        assert sentence in page


def test_the_page_costs_the_same_with_many_calls(
    client_of: ClientOf, alice: User, scribe: Agent, token: str, django_assert_max_num_queries: Any
) -> None:
    row = AgentToken.objects.get()
    made = (
        ToolCall(token=row, agent=scribe, owner="alice", tool="list_memory_blocks", outcome="ok", status=200,
                 duration_ms=1, request_bytes=1, response_bytes=1, request_id="r", at=timezone.now())
        for _ in range(300)
    )  # fmt: skip
    ToolCall.objects.bulk_create(made)
    client = client_of(alice)
    with django_assert_max_num_queries(26):
        client.get(PAGE)


def test_an_agent_that_only_called_is_found(client_of: ClientOf, api: Machine, alice: User) -> None:
    api.call("list_memory_blocks")
    audit.settle()
    tokens.stop_serving(AgentToken.objects.get(), alice)
    assert "It has no token for your memory any more." in shown(client_of(alice))
