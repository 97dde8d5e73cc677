"""The board: students with what waits, what was decided lately and twelve weeks; every number leads to its list."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connections
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from approvals import services
from approvals.models import Agent, Proposal, RejectReason, Status, Tutorship, User
from approvals.services import notes
from approvals.services.notes import ChangeContext
from approvals.statistics import board, weeks
from tests.conftest import make_user
from tests.support.acts import approve
from tests.support.pages import words

if TYPE_CHECKING:
    from memory_app.reads import Block
    from tests.support.fixtures import ClientOf, Propose


def make_proposals(agent: Agent, owner: str, number: int = 1, **fields: Any) -> list[Proposal]:
    """Rows as lists see them, without branches."""
    values = {"status": Status.OPEN, "target": "goals", "target_title": "Goals", "kind": "edit"} | fields
    return [
        Proposal.objects.create(
            owner=owner,
            agent=agent,
            result_sha256="0" * 64,
            operation=f"{owner}-{number}-{Proposal.objects.count()}",
            expires_at=timezone.now() + timedelta(days=30),
            **values,
        )
        for _ in range(number)
    ]


@pytest.fixture
def students(tim: User, scribe: Agent) -> list[User]:
    """29 more students of tim's beside alice."""
    made = [make_user(f"student{number:02}", first_name=f"Student {number:02}") for number in range(29)]
    Tutorship.objects.bulk_create(Tutorship(tutor=tim, owner=student) for student in made)
    return made


def rows(response: Any) -> list[str]:
    """The usernames of the board, in its order."""
    body = response.content.decode().partition("<tbody")[2]
    return re.findall(r'<th scope="row"[^>]*><a href="/memory/([^/]+)/"', body)


def links(response: Any, owner: str) -> list[tuple[str, str]]:
    """Words and addresses of the links in a person's row."""
    row = re.search(rf'<tr role="row"><th[^>]*><a href="/memory/{owner}/".*?</tr>', response.content.decode(), re.S)
    assert row
    found = re.findall(r'<a href="([^"]+)">(.*?)</a>', row[0])
    return [(re.sub("<[^>]+>", "", said), unescape(url)) for url, said in found]


def test_every_number_leads_to_the_list_it_counts(
    goals: Block, tim: User, alice: User, propose: Propose, client_of: ClientOf
) -> None:
    first = propose(goals, "math", "algebra")
    propose(goals, "B2", "C1")
    wrong = propose(goals, "book", "novel")
    services.reject(actor=tim, proposal_id=wrong.pk, revision=1, reason=RejectReason.WRONG, comment="")
    approve(tim, first)
    client = client_of(tim)
    found = dict(links(client.get(reverse("memories")), "alice"))
    assert "1 approved" in found
    assert "1 rejected" in found
    assert "1 proposal found" in words(client.get(found["1 approved"]))
    assert "1 proposal found" in words(client.get(found["1 rejected"]))
    assert "1 proposal found" in words(client.get(found["1"]))
    (oldest,) = [url for url in found.values() if url.startswith("/proposals/")]
    assert "C1" in words(client.get(oldest))


def test_only_decisions_of_the_last_seven_days_count(tim: User, scribe: Agent, client_of: ClientOf) -> None:
    now = timezone.now()
    make_proposals(scribe, "alice", 2, status=Status.APPROVED, decided_at=now - timedelta(days=6))
    make_proposals(scribe, "alice", 3, status=Status.APPROVED, decided_at=now - timedelta(days=8))
    make_proposals(scribe, "alice", 4, status=Status.APPLIED, decided_at=now - timedelta(days=1))
    client = client_of(tim)
    found = dict(links(client.get(reverse("memories")), "alice"))
    assert "2 approved" in found
    assert "2 proposals found" in words(client.get(found["2 approved"]))
    assert "4 proposals found" in words(client.get(found["4"]))


@pytest.mark.parametrize(
    ("sort", "first"),
    [("waiting", "student03"), ("oldest", "student07"), ("decided", "student05"), ("automatic", "student06")],
)
def test_each_column_orders_the_board_both_ways(
    sort: str, first: str, students: list[User], tim: User, scribe: Agent, client_of: ClientOf
) -> None:
    now = timezone.now()
    make_proposals(scribe, "student03", 3)
    make_proposals(scribe, "student07", 1, created_at=now - timedelta(days=20))
    make_proposals(scribe, "student05", 2, status=Status.REJECTED, decided_at=now)
    make_proposals(scribe, "student06", 2, status=Status.APPLIED, decided_at=now)
    client = client_of(tim)
    page = client.get(reverse("memories"), {"sort": sort})
    assert len(rows(page)) == 30
    assert rows(page)[0] == first
    assert page.content.count(b"aria-sort=") == 1
    other_way = client.get(reverse("memories"), {"sort": f"-{sort}"})
    assert rows(other_way)[0] != first
    assert sorted(rows(other_way)) == sorted(rows(page))


def test_people_without_a_value_are_last_either_way(
    students: list[User], tim: User, scribe: Agent, client_of: ClientOf
) -> None:
    make_proposals(scribe, "student03", created_at=timezone.now() - timedelta(days=3))
    make_proposals(scribe, "student07", created_at=timezone.now() - timedelta(days=9))
    client = client_of(tim)
    unknown = client.get(reverse("memories"), {"sort": "nonsense", "page": "-4"})
    assert rows(unknown)[:2] == ["alice", "student00"], "by name"
    assert rows(client.get(reverse("memories"), {"sort": "oldest"}))[:2] == ["student07", "student03"]
    assert rows(client.get(reverse("memories"), {"sort": "-oldest"}))[:2] == ["student03", "student07"]


def test_a_row_says_what_waits_since_when_and_when_the_memory_changed(
    tim: User, ben: User, goals: Block, propose: Propose, client_of: ClientOf
) -> None:
    Tutorship.objects.create(tutor=tim, owner=ben)
    first = propose(goals, "in June", "in July")
    propose(goals, "one book", "two books")
    Proposal.objects.filter(pk=first.pk).update(created_at=timezone.now() - timedelta(days=3))
    client = client_of(tim)
    page = client.get(reverse("memories"))
    assert "Alice Berg alice 2 3 days ago – – just now" in words(page)
    assert rows(page) == ["alice", "ben"]
    notes.save(by=ChangeContext(actor=ben), owner="ben", content="Plays the oboe.")
    assert rows(client.get(reverse("memories"), {"sort": "active"})) == ["ben", "alice"]


def test_only_people_with_proposals_are_shown_when_asked(
    students: list[User], tim: User, scribe: Agent, client_of: ClientOf
) -> None:
    client = client_of(tim)
    nobody = client.get(reverse("memories"), {"people": "waiting"})
    assert "No waiting proposals" in words(nobody)
    make_proposals(scribe, "student03", 3)
    page = client.get(reverse("memories"), {"people": "waiting"})
    assert rows(page) == ["student03"]
    assert "Everyone 30" in words(page)
    assert "With waiting proposals 1" in words(page)


def test_twelve_weeks_are_a_picture_with_words_and_a_table(tim: User, scribe: Agent, client_of: ClientOf) -> None:
    now = timezone.now()
    make_proposals(scribe, "alice", 2)
    make_proposals(scribe, "alice", 1, status=Status.REJECTED, created_at=now - timedelta(weeks=3), decided_at=now)
    make_proposals(scribe, "alice", 1, status=Status.APPROVED, created_at=now - timedelta(weeks=20), decided_at=now)
    client = client_of(tim)
    page = client.get(reverse("memories"))
    assert "3 proposed in 12 weeks, 1 approved, 1 rejected." in page.content.decode()
    assert '<rect class="spark-proposed" x="11" width=".8" height="2"/>' in page.content.decode()
    numbers = client.get(reverse("memories"), {"show": "numbers"}).content.decode()
    cells = re.findall(r"<td>(\d*)</td>", numbers.partition("<tbody")[2])
    assert len(cells) == 36
    assert cells[-3:] == ["2", "1", "1"]
    assert cells[24:27] == ["1", "", ""]


def test_a_week_is_a_calendar_week_of_the_viewer() -> None:
    sunday_night = datetime(2026, 11, 22, 23, 30, tzinfo=UTC)
    with timezone.override("Europe/Berlin"):
        began = weeks.starts(sunday_night)  # Monday half past midnight there
    assert len(began) == 12
    assert began[-1] == datetime(2026, 11, 22, 23, 0, tzinfo=UTC)
    # Across the change from summer time a week has an hour more.
    assert began[-5].astimezone(UTC) - began[-6].astimezone(UTC) == timedelta(days=7, hours=1)


def test_the_board_costs_the_same_queries_for_thirty_as_for_one(tim: User, scribe: Agent, client_of: ClientOf) -> None:
    client = client_of(tim)
    client.get(reverse("memories"))
    with CaptureQueriesContext(connections["default"]) as one:
        client.get(reverse("memories"))
    for number in range(29):
        student = make_user(f"s{number}")
        Tutorship.objects.create(tutor=tim, owner=student)
        make_proposals(scribe, student.username, 2)
    with CaptureQueriesContext(connections["default"]) as thirty:
        client.get(reverse("memories"))
    assert len(thirty) == len(one) <= 11


def test_more_people_than_a_statement_names_are_counted_too(
    admin: User, alice: User, ben: User, scribe: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_proposals(scribe, "alice", 2)
    make_proposals(scribe, "ben", 1)
    named = board.rows_of([alice, ben], weeks.starts())
    monkeypatch.setattr(board, "_MOST_NAMED", 1)
    assert board.rows_of([alice, ben], weeks.starts()) == named
    assert [row.waiting for row in named] == [2, 1]


def test_a_name_that_looks_like_markup_is_text(tim: User, client_of: ClientOf) -> None:
    odd = make_user("odd", first_name="<b>Odd</b>", last_name="\u202eevil")
    Tutorship.objects.create(tutor=tim, owner=odd)
    page = client_of(tim).get(reverse("memories")).content.decode()
    assert "<b>Odd" not in page
    assert "&lt;b&gt;Odd" in page
    assert "\u202e" not in page


def test_staff_without_anyone_to_look_after_are_told_so(admin: User, client_of: ClientOf) -> None:
    assert "No one else yet" in words(client_of(admin).get(reverse("memories")))
