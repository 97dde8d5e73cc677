"""Propose and approve through the services with one, two and four databases of the memory, from 16 threads.

`make bench ARGS='--part memories'` runs it alone. In one process Python's lock is part of what is measured, and its
writers take turns; between processes Dolt throws away a merge that another was faster than.
"""

import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from itertools import count, product
from multiprocessing import get_context

from django.core.management import call_command
from django.db import connections

from approvals import services
from approvals.models import Agent, Kind, User
from approvals.services.errors import DecisionRefused, Refusal
from benchmarks.measure import Against
from benchmarks.processes import set_up_django
from memory_app import reads
from memory_app.dolt.placement import databases, put_in
from memory_app.text.edits import Rewrite

THREADS = 16
PROCESSES = (1, 4)
DATABASES = (1, 2, 4)
MANY, FEW = 64, 4
SECONDS = 12.0
#: Seconds in which each process has begun, and another one takes the next share.
STARTS = 1.0
AIM = 1.5
_numbers = count(1)


def measure() -> list[Against]:
    """Return pairs a second with several databases beside those with one, over many owners and over few."""
    pairs: dict[tuple[int, int, int], float] = {}
    for databases_now in DATABASES:
        while len(databases()) < databases_now:
            call_command("memories", "add", f"memory_{len(databases()) + 1}", verbosity=0)
        for owners, processes in product((MANY, FEW), PROCESSES):
            pairs[databases_now, owners, processes] = _pairs_a_second(_make_owners(owners), processes)
    return [
        Against(
            f"pairs a second, {processes} x {THREADS // processes} threads, {owners} owners, {several} databases",
            bare=pairs[1, owners, processes],
            ours=pairs[several, owners, processes],
            at_least=AIM if (several, owners) == (2, FEW) else 1,
        )
        for processes, owners, several in product(PROCESSES, (MANY, FEW), DATABASES[1:])
    ]


def _make_owners(owners: int) -> list[User]:
    """Make owners with a block each, the same number in each database."""
    made, places = [], databases()
    for place in range(owners):
        person = User.objects.create(username=f"owner{next(_numbers)}")
        put_in(person.username, places[place % len(places)])
        fields = services.BlockFields(title="", description="", body="Says 0.\n", limit=20_000)
        services.create_block(actor=person, owner=person.username, label="goals", fields=fields)
        made.append(person)
    return made


def _pairs_a_second(owners: list[User], processes: int) -> float:
    """Let processes of equal shares of the threads work for some seconds."""
    each = THREADS // processes
    shares = [range(first, first + each) for first in range(0, THREADS, each)]
    # Not forked: SQLite's connections, of which other threads have some, do not survive that.
    with ProcessPoolExecutor(processes, get_context("spawn"), set_up_django) as pool:
        list(pool.map(time.sleep, [STARTS] * processes))  # so that all have started
        began = time.monotonic()
        done = sum(pool.map(partial(_work, owners, began + SECONDS), shares))
        return done / (time.monotonic() - began)


def _work(owners: list[User], end: float, share: range) -> int:
    """Propose and approve in a thread for each number until a time. Return how many pairs were made."""

    def work(thread: int) -> int:
        try:
            agent = Agent.objects.get_or_create(name=f"agent{thread}")[0]
            numbers = iter(lambda: time.monotonic() < end, False)
            few = owners[thread % FEW]
            return sum(
                _pair(agent, owners[(thread + turn) % len(owners)] if len(owners) > FEW else few)
                for turn, _ in enumerate(numbers)
            )
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(share)) as pool:
        return sum(pool.map(work, share))


def _pair(agent: Agent, owner: User) -> int:
    """Propose a change of the owner's block and approve it. Return 1, or 0 where another thread changed it first."""
    says = [Rewrite(f"{agent.name} says {next(_numbers)}.\n")]
    about = {"owner": owner.username, "label": "goals", "reasoning": "Measured."}
    try:
        proposal = services.propose(agent=agent, edits=says, kind=Kind.REWRITE, **about).proposal
        seen = reads.block(owner.username, "goals").sha256
        services.approve(
            actor=owner, proposal_id=proposal.pk, revision=proposal.current_revision_number, seen_sha256=seen
        )
    except (DecisionRefused, Refusal):
        return 0
    return 1
