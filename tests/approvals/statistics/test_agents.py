"""How agents do: what each proposed and what became of it, for owners, tutors and staff."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.db import connections
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from approvals.models import Agent, Approval, Mergeability, Proposal, RejectReason, Status, User
from approvals.statistics import weeks
from approvals.statistics.agents import AgentCounts, agents_of
from tests.approvals.statistics.test_board import make_proposals
from tests.support.pages import words

if TYPE_CHECKING:
    from tests.support.fixtures import ClientOf


def decide(agent: Agent, status: Status, number: int = 1, owner: str = "alice", **fields: Any) -> None:
    make_proposals(agent, owner, number, status=status, decided_at=timezone.now(), **fields)


def story(agent: Agent) -> None:
    """One of everything, and more of some."""
    decide(agent, Status.APPROVED, 3, approval=Approval.AS_PROPOSED)
    decide(agent, Status.APPROVED, 1, approval="")  # older than the column
    decide(agent, Status.APPROVED, 2, approval=Approval.EDITED)
    decide(agent, Status.APPROVED, 1, approval=Approval.PART)
    decide(agent, Status.REJECTED, 2, decision_reason=RejectReason.WRONG)
    decide(agent, Status.REJECTED, 1, decision_reason=RejectReason.TOO_PRIVATE)
    present = {"decision_reason": RejectReason.DUPLICATE, "mergeability": Mergeability.ALREADY_APPLIED}
    decide(agent, Status.REJECTED, 1, **present)
    decide(agent, Status.WITHDRAWN, 1)
    decide(agent, Status.EXPIRED, 1)
    decide(agent, Status.APPLIED, 4)
    make_proposals(agent, "alice", 2)


def counts() -> AgentCounts:
    (agent,) = agents_of(Proposal.objects.all(), weeks.starts())
    return agent


def test_every_outcome_is_counted_once(alice: User, scribe: Agent) -> None:
    story(scribe)
    agent = counts()
    assert agent.decided == {
        Approval.AS_PROPOSED: 4,
        Approval.EDITED: 2,
        Approval.PART: 1,
        RejectReason.WRONG: 2,
        RejectReason.TOO_PRIVATE: 1,
        "already_applied": 1,
        Status.WITHDRAWN: 1,
        Status.EXPIRED: 1,
        Status.APPLIED: 4,
    }
    assert (agent.waiting, agent.proposed) == (2, 15)
    assert (agent.approved, agent.changed, agent.rejected) == (7, 3, 4)
    assert (agent.acceptance.total, agent.acceptance.share) == (10, 0.4)
    *earlier, week = agent.weeks
    assert week == {"as_proposed": 4, "changed": 3, "rejected": 3, "unused": 3, "automatic": 4, "proposed": 15}
    assert not any(earlier)


def test_what_is_older_than_twelve_weeks_does_not_count(alice: User, scribe: Agent) -> None:
    old = timezone.now() - timedelta(weeks=13)
    make_proposals(scribe, "alice", 5, status=Status.APPROVED, created_at=old, decided_at=old)
    assert (counts().proposed, counts().approved, counts().acceptance.total) == (0, 0, 0)


def test_the_page_of_an_agent_says_it_in_words_bars_and_a_table(tim: User, scribe: Agent, client_of: ClientOf) -> None:
    story(scribe)
    page = client_of(tim).get(reverse("agent", args=["scribe"]))
    said = words(page)
    assert "Acceptance 40% of 10 decisions, approved as proposed" in said
    assert "Approved 7 4 as proposed 1 in part 2 with changes" in said
    assert "Rejected 4 2 wrong 1 too private 1 already in the memory" in said
    body = page.content.decode()
    last = body.partition("<tbody")[2].rpartition("<tr>")[2]
    assert re.findall(r"<td>(\d+)</td>", last) == ["15", "4", "3", "3", "3", "4"]
    # One over the other, each from the start to where it ends.
    assert re.findall(r'<rect class="part-(\w+)" width="(\d+)"', last) == [
        ("automatic", "17"),
        ("unused", "13"),
        ("rejected", "10"),
        ("changed", "7"),
        ("as_proposed", "4"),
    ]


def test_its_numbers_lead_to_their_lists(tim: User, scribe: Agent, client_of: ClientOf) -> None:
    story(scribe)
    client = client_of(tim)
    body = client.get(reverse("agent", args=["scribe"])).content.decode()
    since = weeks.starts()[0].date().isoformat()
    for state, number in (("approved", 7), ("rejected", 4), ("withdrawn", 1), ("expired", 1), ("applied", 4)):
        query = urlencode({"agent": "scribe", "tab": "decided", "state": state, "decided": since})
        assert f'href="/?{query.replace("&", "&amp;")}">{number}</a>' in body, state
        noun = "proposal" if number == 1 else "proposals"
        assert f"{number} {noun} found" in words(client.get(f"/?{query}"))
    every = client.get(reverse("agent_list")).content.decode()
    for state, number in (("as_proposed", 4), ("changed", 3)):
        query = urlencode({"agent": "scribe", "tab": "decided", "state": state, "decided": since})
        assert f'href="/?{query.replace("&", "&amp;")}">{number}</a>' in every, state
        assert f"{number} proposals found" in words(client.get(f"/?{query}"))


def test_each_person_sees_what_concerns_them(
    tim: User, alice: User, ben: User, mallory: User, admin: User, scribe: Agent, client_of: ClientOf
) -> None:
    other = Agent.objects.create(name="other")
    decide(scribe, Status.APPROVED, 2)
    decide(scribe, Status.APPROVED, 1, owner="ben")
    decide(other, Status.APPROVED, 1, owner="ben")
    address = reverse("agent", args=["scribe"])
    for person, number in ((alice, 2), (tim, 2), (ben, 1), (admin, 3)):
        assert f"Approved {number} " in words(client_of(person).get(address)), person
    assert client_of(mallory).get(address).status_code == 404
    assert client_of(alice).get(reverse("agent", args=["other"])).status_code == 404
    assert client_of(alice).get(reverse("agent", args=["nobody"])).status_code == 404
    assert "other" not in words(client_of(tim).get(reverse("agent_list")))
    assert "other" in words(client_of(admin).get(reverse("agent_list")))


def test_an_agent_with_a_token_is_there_before_it_proposes(
    alice: User, mallory: User, token: str, client_of: ClientOf
) -> None:
    address = reverse("agent", args=["scribe"])
    assert "scribe" in words(client_of(alice).get(reverse("agent_list")))
    page = words(client_of(alice).get(address))
    assert "Nothing decided yet" in page
    assert "Nothing in these weeks" in page
    assert client_of(mallory).get(address).status_code == 404
    assert "No agent has proposed anything yet" in words(client_of(mallory).get(reverse("agent_list")))


def test_it_can_be_narrowed_to_one_owner_whom_one_may_read(
    tim: User, ben: User, admin: User, scribe: Agent, client_of: ClientOf
) -> None:
    decide(scribe, Status.APPROVED, 2)
    decide(scribe, Status.APPROVED, 1, owner="ben")
    address = reverse("agent", args=["scribe"])
    assert "Proposals about Alice Berg" in words(client_of(admin).get(address, {"owner": "alice"}))
    assert "Approved 2 " in words(client_of(admin).get(address, {"owner": "alice"}))
    assert client_of(tim).get(address, {"owner": "ben"}).status_code == 404
    assert client_of(tim).get(reverse("agent_list"), {"owner": "ben"}).status_code == 404


def test_any_number_of_agents_costs_the_same_queries(alice: User, scribe: Agent, client_of: ClientOf) -> None:
    story(scribe)
    client = client_of(alice)
    client.get(reverse("agent_list"))
    with CaptureQueriesContext(connections["default"]) as one:
        client.get(reverse("agent_list"))
    for number in range(8):
        story(Agent.objects.create(name=f"agent{number}"))
    with CaptureQueriesContext(connections["default"]) as many:
        page = client.get(reverse("agent_list"))
    assert page.content.count(b'<th scope="row"') == 9
    assert len(many) == len(one)
