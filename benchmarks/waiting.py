"""Agents that wait for decisions: what they cost everybody else, and how soon they hear of one.

`make bench ARGS='--part waiting'` runs it alone. A hundred clients ask to wait, each with a token of its own, and come
back when they are told to, as the client library does; a third of the server's threads hold the few that wait.
"""

import http.client
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from benchmarks import approve, propose
from benchmarks.measure import Result, result, timed
from benchmarks.population import AGENT, Target
from benchmarks.processes import HOST, Session

CLIENTS = 100
WAIT = 20
#: Pings while nobody waits, and while a hundred do.
PINGS = 400
DECISIONS = 20
#: Seconds for the hundred to have asked once.
_ARRIVE = 6


@dataclass
class _Waiter:
    """A client that waits for decisions until it is told to end, and notes when an answer had one."""

    port: int
    token: str
    heard: dict[int, float] = field(default_factory=dict)
    is_over: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        since = "now"
        while not self.is_over.is_set():
            try:
                connection = http.client.HTTPConnection(HOST, self.port, timeout=WAIT + 20)
                path = f"/api/v1/proposals/decisions/?since={since}&wait={WAIT}"
                connection.request("GET", path, headers={"Authorization": f"Bearer {self.token}"})
                response = connection.getresponse()
                data = json.loads(response.read())["data"]
                after = response.headers.get("Retry-After")
                connection.close()
            except OSError:  # the server ends before its clients
                return
            for item in data["items"]:
                self.heard[item["proposal_id"]] = time.perf_counter()
            since = data["next"]
            if after:
                self.is_over.wait(float(after))


@contextmanager
def _waiting(port: int, count: int) -> Iterator[list[_Waiter]]:
    from agent_tools import auth
    from agent_tools.models import Scope
    from approvals.models import Agent

    agent = Agent.objects.get(name=AGENT)
    issued = [auth.issue(agent=agent, scopes=Scope.usual(), all_owners=True).secret for _ in range(count)]
    waiters = [_Waiter(port, secret) for secret in issued]
    threads = [threading.Thread(target=waiter.run, daemon=True) for waiter in waiters]
    for thread in threads:
        thread.start()
    time.sleep(_ARRIVE)
    try:
        yield waiters
    finally:
        for waiter in waiters:
            waiter.is_over.set()
        for thread in threads:  # or they would hold the places of those who come next
            thread.join(WAIT + 10)


def measure(agent: Session, person: Session, targets: list[Target]) -> list[Result]:
    """Ping while nobody waits and while a hundred do, then decide while some wait."""

    def ping(_: int) -> None:
        if agent.get("/api/v1/token/").status != 200:
            raise RuntimeError("a ping was not answered")

    idle = timed(ping, range(PINGS + 20), warm_up=20)
    with _waiting(agent.port, CLIENTS):
        waited = timed(ping, range(PINGS))
    _, proposals = propose.through_http(agent, targets[:DECISIONS])
    told: list[float] = []
    with _waiting(agent.port, 1) as (waiter,):
        for number in proposals:
            approve.through_pages(person, [number])
            decided = time.perf_counter()
            while number not in waiter.heard and time.perf_counter() < decided + WAIT:
                time.sleep(0.001)
            # The decision is on record before its own answer is written, so this may be less than nothing.
            told.append((waiter.heard[number] - decided) * 1000)
            time.sleep(0.1)  # until it waits again
    quiet, busy = result("ping while nobody waits", idle), result(f"ping while {CLIENTS} wait", waited)
    note = f"p95 is {busy.p95 / quiet.p95:.2f} times that while nobody waits (at most 2)"
    return [
        quiet,
        Result(busy.case, busy.p50, busy.p95, note=note),
        result("from the answer to who decides to that of who waits", told),
    ]
