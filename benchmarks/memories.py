"""Propose and approve through the services with one, two and four databases of the memory, from 16 threads.

`make bench ARGS='--part memories'` runs it alone. Threads of one process: Python's lock is part of what is measured.
"""

import threading
import time
from itertools import count

from django.core.management import call_command
from django.db import connections

from approvals import services
from approvals.models import Agent, Kind, User
from approvals.services.errors import DecisionRefused, Refusal
from benchmarks.measure import Against
from memory_app import reads
from memory_app.dolt.placement import databases, put_in
from memory_app.text.edits import Rewrite

THREADS = 16
DATABASES = (1, 2, 4)
MANY, FEW = 64, 4
SECONDS = 12.0
AIM = 1.5
_numbers = count(1)


def measure() -> list[Against]:
    """Return pairs a second with several databases beside those with one, over many owners and over few."""
    pairs: dict[tuple[int, int], float] = {}
    for number in DATABASES:
        while len(databases()) < number:
            call_command("memories", "add", f"memory_{len(databases()) + 1}", verbosity=0)
        for owners in (MANY, FEW):
            pairs[number, owners] = _pairs_a_second(_make_owners(owners))
    return [
        Against(
            f"pairs a second, {THREADS} threads, {owners} owners, {number} databases beside 1",
            bare=pairs[1, owners],
            ours=pairs[number, owners],
            at_least=AIM if (number, owners) == (2, FEW) else 1,
        )
        for owners in (MANY, FEW)
        for number in DATABASES[1:]
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


def _pairs_a_second(owners: list[User]) -> float:
    end, done = time.monotonic() + SECONDS, [0] * THREADS

    def work(thread: int) -> None:
        agent = Agent.objects.get_or_create(name=f"agent{thread}")[0]
        try:
            for turn in count(thread):
                if time.monotonic() >= end:
                    return
                done[thread] += _pair(agent, owners[turn % len(owners)] if len(owners) > FEW else owners[thread % FEW])
        finally:
            connections.close_all()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    began = time.monotonic()
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return sum(done) / (time.monotonic() - began)


def _pair(agent: Agent, owner: User) -> int:
    """Propose a change of the owner's block and approve it. Return 1, or 0 where another thread changed it first."""
    says = [Rewrite(f"Says {next(_numbers)}.\n")]
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
