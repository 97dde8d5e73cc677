"""One agent's page: its tokens and what became of its proposals; its calls about this person's memory, and refusals."""

import html
import re
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from agent_tools import auth
from agent_tools.answers import paging
from agent_tools.calls import execution
from agent_tools.console import agents_page
from agent_tools.models import AgentToken, ToolCall
from approvals import services
from approvals.models import Agent, User
from memory_app.reads import Block
from tests.agent_tools.conftest import Call, Issue, Machine
from tests.support.acts import reject
from tests.support.fixtures import ClientOf, Propose
from tests.support.pages import words

PAGE = "/agents/scribe/"
CALLS = f"{PAGE}calls/"


@pytest.fixture
def browser(alice: User, client_of: ClientOf) -> Client:
    return client_of(alice)


def shown(client: Any, query: str = "", page: str = CALLS) -> str:
    execution.settle()
    return words(client.get(f"{page}{query}"))


def rows(client: Any, query: str = "") -> list[str]:
    """The rows of the table of calls."""
    execution.settle()
    table = client.get(f"{CALLS}{query}").content.decode().partition("calls-table")[2].partition("</table>")[0]
    return [" ".join(re.sub(r"<[^>]*>", " ", row).split()) for row in table.split('<tr role="row">')[2:]]


def test_calls_are_listed_with_outcome_and_size_and_no_text(browser: Client, call: Call, goals: Block) -> None:
    """A refused call names what the agent says, which may be anything."""
    call("read_memory_block", block_label="goals")
    call("memory_search", query="a very private question")
    call("read_memory_block", block_label="her-secret-plan")
    refused, searched, read = rows(browser)
    assert "block_not_found" in refused
    assert "memory_search" in searched
    assert re.search(r"read_memory_block goals answered 200 \d+ bytes \d.*(bytes|KB) \d+ ms", read.replace("\xa0", " "))
    page = shown(browser)
    for text in ("private question", "B2 exam", "her-secret-plan"):
        assert text not in page


def test_tools_and_errors_are_counted_with_what_they_mean(browser: Client, call: Call, goals: Block) -> None:
    for _ in range(3):
        call("read_memory_block", block_label="goals")
    call("read_memory_block", block_label="nothing")
    call("propose_memory_edit", block_label="goals", old_string="not there", new_string="x", reasoning="r")
    page = shown(browser)
    assert "read_memory_block 4 1 error" in page
    assert "propose_memory_edit 1 1 error" in page
    assert "block_not_found 1 × · 404 The owner has no block of that label" in page
    assert "`" not in page


def test_calls_are_narrowed_by_tool_and_outcome(browser: Client, call: Call, goals: Block) -> None:
    call("read_memory_block", block_label="goals")
    call("read_memory_block", block_label="nothing")
    call("list_memory_blocks")
    for query, count in (
        ("", 3),
        ("?tool=read_memory_block", 2),
        ("?tool=read_memory_block&outcome=ok", 1),
        ("?outcome=refused", 1),
        ("?outcome=block_not_found", 1),
    ):
        assert len(rows(browser, query)) == count, query
    # Only the most frequent errors are explained above; narrowed to one, it says what that means.
    meant = "<code>block_not_found</code>: The owner has no block of that label"
    for query in ("?outcome=block_not_found", "", "?outcome=refused", "?outcome=ok", "?outcome=nonsense"):
        assert (meant in browser.get(f"{CALLS}{query}").content.decode()) is ("block_not_found" in query)
    assert "No such calls" in shown(browser, "?tool=forget")
    assert "No such calls" in shown(browser, "?tool=%00&outcome=nonsense")


def test_pages_follow_each_other_without_a_gap(browser: Client, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agents_page, "ON_A_PAGE", 3)
    for _ in range(4):
        call("list_memory_blocks")
        call("list_proposals")  # whose row names nobody
    query, seen = "", []
    while True:
        seen.append(len(rows(browser, query)))
        page = browser.get(f"{CALLS}{query}").content.decode()
        older = re.search(r'rel="next" href="([^"]*)"', page)
        if older is None:
            break
        query = older[1].replace("&amp;", "&")
    assert seen == [3, 3, 2]
    moment = "2026-01-01T00:00:00+00:00"
    odd = [(moment,), (moment, "1"), (moment, 2**70), (7, 1), ("0001-01-01T00:00:00+23:00", 1), ("2026-01-01", 1)]
    for made_up in ("x", "-1", *(paging.pack(*each) for each in odd)):
        assert browser.get(f"{CALLS}?before={made_up}").status_code == 200


# -- whose calls ----------------------------------------------------------------------------------


def test_no_call_about_somebody_else_is_shown(client_of: ClientOf, issue: Issue, alice: User, ben: User) -> None:
    shared, bens = Machine(issue(alice, ben)), Machine(issue(ben))
    shared.call("list_memory_blocks", user_id="ben")
    shared.call("list_proposals")  # about both of them
    shared.call("read_memory_block", user_id="alice", block_label="goals")
    bens.call("prime_memories")
    assert [row.split()[4] for row in rows(client_of(alice))] == ["read_memory_block"]
    assert len(rows(client_of(ben))) == 2


def test_what_names_nobody_is_shown_to_whom_alone_the_token_serves(
    browser: Client, issue: Issue, alice: User, ben: User
) -> None:
    api = Machine(issue(alice, ben, scopes=["memory:read"]))
    api.call("list_proposals")
    execution.settle()
    auth.stop_serving(AgentToken.objects.get(), ben)
    assert "No calls yet" in shown(browser), "it was shared then"
    api.call("list_proposals")
    api.call("memory_save", content="x")
    assert sorted(row.split()[4] for row in rows(browser)) == ["list_proposals", "memory_save"]


def test_tutors_and_staff_see_what_is_about_themselves_only(
    client_of: ClientOf, alice: User, tim: User, admin: User, mallory: User, call: Call
) -> None:
    call("list_memory_blocks")
    execution.settle()
    for person in (tim, admin, mallory):
        assert client_of(person).get(CALLS).status_code == 404
    assert client_of(mallory).get(PAGE).status_code == 404
    assert client_of(alice).get("/agents/nobody-there/").status_code == 404
    assert Client().get(PAGE).status_code == 302


# -- proposals ------------------------------------------------------------------------------------


def test_rejections_are_shown_with_their_reason_and_lead_to_the_proposal(
    browser: Client, alice: User, goals: Block, propose: Propose, token: str
) -> None:
    proposal = propose(goals, "likes math", "loves math", reasoning="She said so.")
    reject(alice, proposal, "outdated", comment="No longer <so>.")
    page = browser.get(PAGE).content.decode()
    assert f'href="{proposal.get_absolute_url()}"><bdi lang="">She said so.' in page
    assert '<span>Outdated</span><span><bdi lang="">Learning goals</bdi></span>' in page
    said = shown(browser, page=PAGE)
    for text in ("Rejected 1 1 outdated", "No longer <so>.", "Acceptance 0%"):
        assert text in html.unescape(said)


def test_proposals_to_others_are_not_counted(
    client_of: ClientOf, alice: User, ben: User, goals: Block, propose: Propose, issue: Issue
) -> None:
    propose(goals, "likes math", "loves math")
    issue(ben)
    assert "Nothing in these weeks" in shown(client_of(ben), page=PAGE)
    assert "Waiting 1" in shown(client_of(alice), page=PAGE)


def test_where_there_is_nothing_the_page_says_so(browser: Client, alice: User, token: str) -> None:
    services.create_rule(actor=alice, owner="alice", agent="scribe", needs="ask")
    page = shown(browser, page=PAGE) + shown(browser)
    assert "Rules 1" in page
    for sentence in ("No calls in the last 30 days", "Nothing in these weeks", "No calls yet"):
        assert sentence in page


def test_the_page_costs_the_same_with_many_calls(
    browser: Client, scribe: Agent, token: str, django_assert_max_num_queries: Any
) -> None:
    row = {"token": AgentToken.objects.get(), "agent": scribe, "owner": "alice", "tool": "recall", "outcome": "ok"}
    row |= {"status": 200, "duration_ms": 1, "request_bytes": 1, "response_bytes": 1, "at": timezone.now()}
    ToolCall.objects.bulk_create(ToolCall(**row, request_id="r") for _ in range(300))
    for page in (PAGE, CALLS):
        with django_assert_max_num_queries(26):
            browser.get(page)


def test_an_agent_that_only_called_is_found(browser: Client, api: Machine, alice: User) -> None:
    api.call("list_memory_blocks")
    execution.settle()
    auth.stop_serving(AgentToken.objects.get(), alice)
    assert "It has no token for your memory any more." in shown(browser, page=PAGE)
