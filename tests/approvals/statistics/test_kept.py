"""What is kept for the board and for the pages of agents: it is what plain counting gives, and costs the same for any
number of people."""

import random
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import call_command
from django.db import connection, connections, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from approvals.models import (
    Agent,
    Approval,
    Mergeability,
    Proposal,
    RejectReason,
    Status,
    Tutorship,
    User,
)
from approvals.models.counts import ORDERS, OwnerCounts, WeekCount
from approvals.statistics import agents, board, kept, weeks
from memory_app.models import Change
from tests.conftest import make_user
from tests.support.fixtures import ClientOf

#: Midnight is a whole hour away from UTC's, a half, three quarters; in the first and the last zone, and behind UTC.
ZONES = ("UTC", "Asia/Kolkata", "Asia/Kathmandu", "Pacific/Kiritimati", "Etc/GMT+12", "America/New_York")
MINUTES = 13 * 7 * 24 * 60
OWNERS = ("alice", "ben", "carla", "dora")


def outcome(chance: random.Random) -> dict[str, Any]:
    """A status with what belongs to it, decided or not."""
    status = chance.choice(list(Status))
    fields: dict[str, Any] = {"status": status, "approval": "", "decision_reason": "", "reverted_by_commit": ""}
    fields |= {"decided_at": None, "mergeability": chance.choice(list(Mergeability))}
    if status in (Status.OPEN, Status.PREPARING, Status.CHANGES_REQUESTED):
        return fields
    fields["decided_at"] = timezone.now() - timedelta(minutes=chance.randrange(MINUTES))
    if status == Status.APPROVED:
        fields["approval"] = chance.choice(["", *Approval.values])
    if status == Status.REJECTED:
        fields["decision_reason"] = chance.choice(["", *RejectReason.values])
    if status == Status.APPLIED:
        fields["reverted_by_commit"] = chance.choice(["", "0" * 40])
    return fields


def make_rows(agent: Agent, owner: str, number: int, seed: object) -> list[Proposal]:
    chance = random.Random(str(seed))
    return Proposal.objects.bulk_create(
        Proposal(
            owner=owner,
            agent=agent,
            operation=uuid4().hex,
            target="goals",
            target_title="Goals",
            kind="edit",
            result_sha256="0" * 64,
            expires_at=timezone.now() + timedelta(days=30),
            created_at=timezone.now() - timedelta(minutes=chance.randrange(MINUTES)),
            **outcome(chance),
        )
        for _ in range(number)
    )


def plainly(owners: list[str], began: tuple[datetime, ...]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the board says of each owner, and what is said of each agent, counted row by row."""
    of_owner: dict[str, Any] = {owner: [Counter() for _ in began] for owner in owners}
    of_agent: dict[str, Any] = {}
    for each in Proposal.objects.filter(owner__in=owners).select_related("agent"):
        agent = of_agent.setdefault(each.agent.name, Counter())
        if each.status == Status.OPEN:
            agent["waiting"] += 1
        if each.status not in (Status.APPLIED, Status.PREPARING) and each.created_at >= began[0]:
            week = sum(each.created_at >= at for at in began) - 1
            of_owner[each.owner][week]["proposed"] += 1
            agent["proposed"] += 1
            agent["proposed", week] += 1
        if each.decided_at is None or each.decided_at < began[0]:
            continue
        week = sum(each.decided_at >= at for at in began) - 1
        if each.status in (Status.APPROVED, Status.REJECTED):
            of_owner[each.owner][week][each.status.value if isinstance(each.status, Status) else each.status] += 1
        if each.reverted_by_commit:
            agent["reverted"] += 1
        was_there = each.decision_reason == "duplicate" and each.mergeability == "already_applied"
        match each.status:
            case "approved":
                how = each.approval or "as_proposed"
                agent["edited" if how != "as_proposed" else "as_proposed"] += not each.reverted_by_commit
                part, what = ("as_proposed" if how == "as_proposed" else "changed"), how
            case "rejected" if was_there:
                part, what = "unused", "already_applied"
            case "rejected":
                agent["rejected"] += 1
                part, what = "rejected", each.decision_reason
            case "applied":
                part, what = "automatic", each.status
            case "withdrawn" | "expired":
                part, what = "unused", each.status
            case _:
                continue
        agent[part, week] += 1
        agent["decided", what] += 1
    return of_owner, of_agent


def check(owners: list[str], asked: list[str] | None) -> None:
    """What is kept is what plain counting gives, in each zone."""
    for zone in ZONES:
        with timezone.override(zone):
            began = weeks.starts()
            of_owner, of_agent = plainly(owners, began)
            for row in board.rows_of(OwnerCounts.objects.filter(person__username__in=owners), began):
                plain = of_owner[row.person.username]
                shown = [Counter(week._asdict()) for week in row.weeks]
                assert shown == [week | Counter(dict.fromkeys(board.WeekOfOwner._fields, 0)) for week in plain], zone
            for each in agents.agents_of(asked, began):
                said: Counter[Any] = Counter({"waiting": each.waiting, "proposed": each.proposed})
                said |= Counter({("decided", what): number for what, number in each.decided.items()})
                for number, week in enumerate(each.weeks):
                    said |= Counter({(part, number): counted for part, counted in week.items()})
                said |= Counter({name: getattr(each.acceptance, name) for name in each.acceptance.__annotations__})
                assert +said == +of_agent[each.name], (zone, each.name)


@pytest.fixture
def people(scribe: Agent) -> list[str]:
    for owner in OWNERS:
        if not User.objects.filter(username=owner).exists():
            make_user(owner)
    return list(OWNERS)


@pytest.mark.parametrize("seed", range(3))
def test_counts_are_those_of_plain_counting(people: list[str], scribe: Agent, seed: int) -> None:
    chance, zebra = random.Random(seed), Agent.objects.create(name="zebra")
    for owner in people:
        for agent in (scribe, zebra):
            make_rows(agent, owner, 60, f"{owner} {agent} {seed}")
    check(people, None)
    check(["alice", "dora"], ["alice", "dora"])
    for pk in chance.sample(list(Proposal.objects.values_list("pk", flat=True)), 200):
        Proposal.objects.filter(pk=pk).update(**outcome(chance))
    Proposal.objects.filter(pk__in=chance.sample(list(Proposal.objects.values_list("pk", flat=True)), 40)).delete()
    check(people, None)
    kept.keep()
    assert not WeekCount.objects.filter(is_new=True).exists()
    check(people, None)
    summed = WeekCount.objects.count()
    kept.correct()
    assert WeekCount.objects.count() == summed, "there was nothing to correct"
    check(["ben"], ["ben"])


def test_a_part_of_a_week_is_in_one_week_of_each_zone(alice: User, scribe: Agent) -> None:
    """A proposal a moment before and one at each zone's midnight of Monday."""
    for zone in ZONES:
        with timezone.override(zone):
            for number, at in enumerate(weeks.starts()):
                for made in (at - timedelta(microseconds=1), at):
                    (row,) = make_rows(scribe, "alice", 1, seed=f"{zone} {number} {made}")
                    Proposal.objects.filter(pk=row.pk).update(created_at=made, status=Status.OPEN, decided_at=None)
    check(["alice"], None)


def test_what_was_lost_is_corrected(people: list[str], scribe: Agent) -> None:
    make_rows(scribe, "alice", 30, 1)
    WeekCount.objects.filter(owner="alice", part="proposed").delete()
    WeekCount.objects.filter(owner="").update(number=7)
    OwnerCounts.objects.update(waiting=99, counted_at=timezone.now() - timedelta(days=2))
    kept.correct()
    kept.keep()
    check(people, None)
    waiting = Proposal.objects.open().filter(owner="alice").count()
    assert OwnerCounts.objects.get(person__username="alice").waiting == waiting


@contextmanager
def as_before_the_counts() -> Iterator[None]:
    """Rows are written as a version wrote them that kept no counts; afterwards it is migrated."""
    on = "" if connection.vendor == "sqlite" else " ON {0}"
    with connection.cursor() as cursor:
        for name, (event, *_rest) in kept._triggers().items():
            cursor.execute(f"DROP TRIGGER {name}{on.format(event.rpartition(' ')[2])}")
    OwnerCounts.objects.all().delete()
    WeekCount.objects.all().delete()
    yield
    call_command("migrate", database="default", verbosity=0)


def test_an_upgrade_counts_what_is_there(people: list[str], scribe: Agent) -> None:
    with as_before_the_counts():
        make_rows(scribe, "alice", 40, 1)
        make_user("emil")
    check([*people, "emil"], None)
    make_rows(scribe, "emil", 10, 2)
    check([*people, "emil"], None)


@pytest.mark.usefixtures("people")
def test_transactions_at_once_lose_nothing(scribe: Agent) -> None:
    """Four write about two owners, in other orders; none waits for another, so none is in a deadlock."""
    made = {owner: make_rows(scribe, owner, 40, 3) for owner in ("alice", "ben")}
    failed: list[BaseException] = []

    def write(number: int) -> None:
        chance = random.Random(number)
        try:
            for step in range(number, 40, 4):
                with transaction.atomic():
                    for owner in ("alice", "ben") if number % 2 else ("ben", "alice"):
                        Proposal.objects.filter(pk=made[owner][step].pk).update(**outcome(chance))
        except BaseException as error:
            failed.append(error)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=write, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    kept.keep()
    for thread in threads:
        thread.join()
    assert failed == []
    kept.keep()
    check(["alice", "ben"], None)
    for owner in ("alice", "ben"):
        counted = OwnerCounts.objects.get(person__username=owner)
        assert counted.waiting == Proposal.objects.open().filter(owner=owner).count()


# -- what pages cost ------------------------------------------------------------------------------


def populate(agent: Agent, first: int, last: int) -> None:
    """Owners with ten proposals and as many changes each, tutored by tim."""
    made = User.objects.bulk_create(User(username=f"o{n:05}", first_name=f"Owner {n}") for n in range(first, last))
    tutor = User.objects.get(username="tim")
    Tutorship.objects.bulk_create(Tutorship(tutor=tutor, owner=person) for person in made)
    for number, person in enumerate(made):
        make_rows(agent, person.username, 10, number % 50)
    Change.objects.bulk_create(
        Change(commit=f"{person.pk}-{n}", owner=person.username, target="goals", action="edited", at=timezone.now())
        for person in made
        for n in range(10)
    )


def cost(client: Client, address: str) -> tuple[int, int]:
    """Statements of a page and, of SQLite, its steps in hundreds: every row that it looks at is a few."""
    client.get(address)
    steps = 0

    def step() -> None:
        nonlocal steps
        steps += 1

    if connection.vendor == "sqlite":
        connection.connection.set_progress_handler(step, 100)
    with CaptureQueriesContext(connection) as made:
        assert client.get(address).status_code == 200
    if connection.vendor == "sqlite":
        connection.connection.set_progress_handler(None, 0)
    return len(made), steps


SORTS = [f"{sign}{name}" for name in ("name", *ORDERS) for sign in ("", "-")]
PAGES = {
    **{f"/memory/?sort={sort}": 1.4 for sort in SORTS},  # those who wait are counted
    "/memory/?people=waiting&sort=oldest": 1.4,
    "/memory/?show=numbers": 1.4,
    "/memory/?q=o": 3.0,  # names are looked through
    "/agents/": 1.4,
    "/agents/scribe/": 1.4,
}


def test_pages_of_staff_cost_the_same_for_more_people(
    tim: User, admin: User, scribe: Agent, client_of: ClientOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(board, "PEOPLE_ON_A_PAGE", 20)
    client, costs = client_of(admin), []
    for first, last in ((0, 50), (50, 200)):
        populate(scribe, first, last)
        kept.keep()
        costs.append({address: cost(client, address) for address in PAGES})
    for address, (statements, steps) in costs[1].items():
        before, fewer = costs[0][address]
        assert statements == before, address
        assert steps <= PAGES[address] * fewer, (address, fewer, steps)
