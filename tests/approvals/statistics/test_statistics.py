"""The tutor's board, and how agents do: what waits, what became of it, twelve weeks; every number leads to its list."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.db import connections
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from approvals.models import Agent, Approval, Mergeability, Proposal, RejectReason, Status, Tutorship, User
from approvals.statistics import weeks
from approvals.statistics.agents import AgentCounts, agents_of
from memory_app.reads import Block
from tests.conftest import make_user
from tests.support.acts import save
from tests.support.fixtures import ClientOf, Propose
from tests.support.pages import words

THIRTY_DAYS = timedelta(days=30)


def make_proposals(agent: Agent, owner: str, number: int = 1, **fields: Any) -> None:
    """Rows as lists see them, without branches."""
    values = {"status": Status.OPEN, "target": "goals", "target_title": "Goals", "kind": "edit"} | fields
    values |= {"result_sha256": "0" * 64, "expires_at": timezone.now() + THIRTY_DAYS}
    for _ in range(number):
        operation = f"{owner}-{Proposal.objects.count()}"
        Proposal.objects.create(owner=owner, agent=agent, operation=operation, **values)


def decide(agent: Agent, status: Status, number: int = 1, owner: str = "alice", **fields: Any) -> None:
    make_proposals(agent, owner, number, status=status, **{"decided_at": timezone.now()} | fields)


def found(client: Client, address: str) -> str:
    """How many proposals the list at an address says that it has."""
    match = re.search(r"\d+ proposals? found", words(client.get(address)))
    assert match
    return match[0]


def statements(client: Client, address: str) -> int:
    with CaptureQueriesContext(connections["default"]) as made:
        client.get(address)
    return len(made)


# -- the board ------------------------------------------------------------------------------------


@pytest.fixture
def as_tim(tim: User, client_of: ClientOf) -> Client:
    return client_of(tim)


@pytest.fixture
def students(tim: User) -> None:
    """29 more students of tim's beside alice."""
    made = [make_user(f"student{number:02}", first_name=f"Student {number:02}") for number in range(29)]
    Tutorship.objects.bulk_create(Tutorship(tutor=tim, owner=student) for student in made)


def board_of(client: Client, **query: str) -> Any:
    return client.get(reverse("memories"), query)


def rows(response: Any) -> list[str]:
    """The usernames of the board, in its order."""
    body = response.content.decode().partition("<tbody")[2]
    return re.findall(r'<th scope="row"[^>]*><a href="/memory/([^/]+)/"', body)


def row_of(response: Any, username: str = "alice") -> str:
    """A person's row."""
    pattern = rf'<tr role="row"[^>]*><th[^>]*><a href="/memory/{username}/".*?</tr>'
    found = re.search(pattern, response.content.decode(), re.S)
    assert found
    return found[0]


def test_a_row_is_one_link_with_what_was_decided_in_seven_days(as_tim: Client, scribe: Agent) -> None:
    now = timezone.now()
    make_proposals(scribe, "alice", 5)
    decide(scribe, Status.APPROVED, 2, decided_at=now - timedelta(days=6))
    decide(scribe, Status.APPROVED, 3, decided_at=now - timedelta(days=8))
    decide(scribe, Status.REJECTED, 1, decided_at=now - timedelta(days=1))
    decide(scribe, Status.APPLIED, 4, decided_at=now - timedelta(days=1))
    row = row_of(board_of(as_tim))
    cells = [" ".join(re.sub("<[^>]+>", " ", cell).split()) for cell in re.findall(r"<td.*?</td>", row, re.S)]
    assert [cells[0], cells[2], cells[3]] == ["5", "2 approved · 1 rejected", "4"]
    assert row.count("<a ") == 1


@pytest.mark.usefixtures("students")
@pytest.mark.parametrize(
    ("sort", "first"),
    [("waiting", "student03"), ("oldest", "student07"), ("decided", "student05"), ("automatic", "student06")],
)
def test_each_column_orders_the_board_both_ways(sort: str, first: str, as_tim: Client, scribe: Agent) -> None:
    make_proposals(scribe, "student03", 3)
    make_proposals(scribe, "student07", 1, created_at=timezone.now() - timedelta(days=20))
    decide(scribe, Status.REJECTED, 2, owner="student05")
    decide(scribe, Status.APPLIED, 2, owner="student06")
    page, other_way = board_of(as_tim, sort=sort), board_of(as_tim, sort=f"-{sort}")
    assert len(rows(page)) == 30
    assert rows(page)[0] == first != rows(other_way)[0]
    assert page.content.count(b"aria-sort=") == 1
    assert sorted(rows(other_way)) == sorted(rows(page))


@pytest.mark.usefixtures("students")
def test_people_without_a_value_are_last_either_way(as_tim: Client, scribe: Agent) -> None:
    make_proposals(scribe, "student03", created_at=timezone.now() - timedelta(days=3))
    make_proposals(scribe, "student07", created_at=timezone.now() - timedelta(days=9))
    assert rows(board_of(as_tim, sort="nonsense", page="-4"))[:2] == ["alice", "student00"], "by name"
    assert rows(board_of(as_tim, sort="oldest"))[:2] == ["student07", "student03"]
    assert rows(board_of(as_tim, sort="-oldest"))[:2] == ["student03", "student07"]


def test_a_row_says_what_waits_since_when_and_when_the_memory_changed(
    tim: User, ben: User, goals: Block, propose: Propose, as_tim: Client
) -> None:
    Tutorship.objects.create(tutor=tim, owner=ben)
    first = propose(goals, "in June", "in July")
    propose(goals, "one book", "two books")
    Proposal.objects.filter(pk=first.pk).update(created_at=timezone.now() - timedelta(days=3))
    page = board_of(as_tim)
    assert "Alice Berg alice 2 3 days ago – – just now" in words(page)
    assert rows(page) == ["alice", "ben"]
    save(ben)
    assert rows(board_of(as_tim, sort="active")) == ["ben", "alice"]


@pytest.mark.usefixtures("students")
def test_only_people_with_proposals_are_shown_when_asked(as_tim: Client, scribe: Agent) -> None:
    assert "No waiting proposals" in words(board_of(as_tim, people="waiting"))
    make_proposals(scribe, "student03", 3)
    page = board_of(as_tim, people="waiting")
    assert rows(page) == ["student03"]
    assert "Everyone 30" in words(page)
    assert "Waiting 1" in words(page)


def test_twelve_weeks_are_a_picture_with_words_and_a_table(as_tim: Client, scribe: Agent) -> None:
    now = timezone.now()
    make_proposals(scribe, "alice", 2)
    decide(scribe, Status.REJECTED, created_at=now - timedelta(weeks=3))
    decide(scribe, Status.APPROVED, created_at=now - timedelta(weeks=20))
    page = board_of(as_tim).content.decode()
    assert "3 proposed in 12 weeks, 1 approved, 1 rejected." in page
    assert '<rect class="spark-proposed" x="11" width=".8" height="2"/>' in page
    numbers = board_of(as_tim, show="numbers").content.decode()
    cells = re.findall(r"<td>(\d*)</td>", numbers.partition("<tbody")[2])
    assert len(cells) == 36
    assert cells[-3:] == ["2", "1", "1"]
    assert cells[24:27] == ["1", "", ""]


@pytest.mark.pure
def test_a_week_is_a_calendar_week_of_the_viewer() -> None:
    sunday_night = datetime(2026, 11, 22, 23, 30, tzinfo=UTC)
    with timezone.override("Europe/Berlin"):
        began = weeks.starts(sunday_night)  # Monday half past midnight there
    assert len(began) == 12
    assert began[-1] == datetime(2026, 11, 22, 23, 0, tzinfo=UTC)
    # Across the change from summer time a week has an hour more.
    assert began[-5].astimezone(UTC) - began[-6].astimezone(UTC) == timedelta(days=7, hours=1)


def test_the_board_costs_the_same_queries_for_thirty_as_for_one(tim: User, scribe: Agent, as_tim: Client) -> None:
    board_of(as_tim)
    one = statements(as_tim, reverse("memories"))
    for number in range(29):
        Tutorship.objects.create(tutor=tim, owner=make_user(f"s{number}"))
        make_proposals(scribe, f"s{number}", 2)
    assert statements(as_tim, reverse("memories")) == one <= 11


def test_a_name_that_looks_like_markup_is_text(tim: User, as_tim: Client) -> None:
    odd = make_user("odd", first_name="<b>Odd</b>", last_name="\u202eevil")
    Tutorship.objects.create(tutor=tim, owner=odd)
    page = board_of(as_tim).content.decode()
    assert "&lt;b&gt;Odd" in page
    assert not re.search("<b>Odd|\u202e", page)


def test_staff_without_anyone_to_look_after_are_told_so(admin: User, client_of: ClientOf) -> None:
    assert "No one else yet" in words(board_of(client_of(admin)))


# -- how agents do --------------------------------------------------------------------------------


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


def page_of(client: Client, agent: str = "scribe", **query: str) -> Any:
    return client.get(reverse("agent", args=[agent]), query)


def counts() -> AgentCounts:
    (agent,) = agents_of(None, weeks.starts())
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
    decide(scribe, Status.APPROVED, 5, created_at=old, decided_at=old)
    assert (counts().proposed, counts().approved, counts().acceptance.total) == (0, 0, 0)


def test_the_page_of_an_agent_says_it_in_words_bars_and_a_table(as_tim: Client, scribe: Agent) -> None:
    story(scribe)
    page = page_of(as_tim)
    for said in (
        "Acceptance 40% of 10 decisions, approved as proposed",
        "Approved 7 4 as proposed 1 in part 2 with changes",
        "Rejected 4 2 wrong 1 too private 1 already in the memory",
    ):
        assert said in words(page)
    last = page.content.decode().partition("<tbody")[2].rpartition("<tr>")[2]
    assert re.findall(r"<td>(\d+)</td>", last) == ["15", "4", "3", "3", "3", "4"]
    # One over the other, each from the start to where it ends.
    widths = dict(re.findall(r'<rect class="part-(\w+)" width="(\d+)"', last))
    assert list(widths.items()) == [
        ("automatic", "17"),
        ("unused", "13"),
        ("rejected", "10"),
        ("changed", "7"),
        ("as_proposed", "4"),
    ]


def test_its_numbers_lead_to_their_lists(as_tim: Client, scribe: Agent) -> None:
    story(scribe)
    since = weeks.starts()[0].date().isoformat()
    page = page_of(as_tim).content.decode()
    for state, number in {"approved": 7, "rejected": 4, "withdrawn": 1, "expired": 1, "applied": 4}.items():
        query = urlencode({"agent": "scribe", "tab": "decided", "state": state, "decided": since})
        assert f'href="/?{query.replace("&", "&amp;")}">{number}</a>' in page, state
        assert found(as_tim, f"/?{query}").startswith(f"{number} proposal")


def test_each_person_sees_what_concerns_them(
    tim: User, alice: User, ben: User, mallory: User, admin: User, scribe: Agent, client_of: ClientOf
) -> None:
    decide(scribe, Status.APPROVED, 2)
    decide(scribe, Status.APPROVED, 1, owner="ben")
    decide(Agent.objects.create(name="zebra"), Status.APPROVED, 1, owner="ben")
    for person, number in ((alice, 2), (tim, 2), (ben, 1), (admin, 3)):
        assert f"Approved {number} " in words(page_of(client_of(person))), person
    for person, agent in ((mallory, "scribe"), (alice, "zebra"), (alice, "nobody")):
        assert page_of(client_of(person), agent).status_code == 404
    assert "zebra" not in words(client_of(tim).get(reverse("agents")))
    assert "zebra" in words(client_of(admin).get(reverse("agents")))
    of_one = words(page_of(client_of(admin), owner="alice"))
    assert "Proposals about Alice Berg" in of_one
    assert "Approved 2 " in of_one
    for address in (reverse("agent", args=["scribe"]), reverse("agents")):
        assert client_of(tim).get(address, {"owner": "ben"}).status_code == 404


def test_an_agent_with_a_token_is_there_at_once(alice: User, mallory: User, token: str, client_of: ClientOf) -> None:
    assert "scribe" in words(client_of(alice).get(reverse("agents")))
    assert "Nothing in these weeks" in words(page_of(client_of(alice)))
    assert page_of(client_of(mallory)).status_code == 404
    assert "No agent can read your memory" in words(client_of(mallory).get(reverse("agents")))


def test_any_number_of_agents_costs_the_same_queries(alice: User, scribe: Agent, client_of: ClientOf) -> None:
    story(scribe)
    client, every = client_of(alice), reverse("agents")
    client.get(every)
    one = statements(client, every)
    for number in range(8):
        story(Agent.objects.create(name=f"agent{number}"))
    assert statements(client, every) == one
    assert client.get(every).content.count(b'<th scope="row"') == 9
