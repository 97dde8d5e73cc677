"""Eight ordinary agents beside one that calls with 24 connections at once: what they keep of their speed.

`make bench ARGS='--part crowd'` runs it. Each agent has a token and an owner of its own and calls again as soon as it
is answered; the rate limit is raised for all. The greedy one is a process of its own, so that its clients' work is not
in the way of theirs; both states are measured in turns.
"""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from statistics import median

from benchmarks.measure import Result
from benchmarks.processes import ROOT, Session

ORDINARY, GREEDY = 8, 24
ROUNDS, SECONDS = 5, 6.0
NOTES = 200
#: Seconds in which the connections of the greedy one are all at work.
_ARRIVE = 2.0


def measure(port: int, owners: Sequence[str]) -> list[Result]:
    from agent_tools import auth
    from agent_tools.models import Scope
    from approvals.models import Agent, User
    from approvals.services.imports import import_memories
    from approvals.services.notes import ChangeContext
    from benchmarks import population

    agent, tokens = Agent.objects.get(name=population.AGENT), []
    for username in owners[: ORDINARY + 1]:
        owner = User.objects.get(username=username)
        import_memories(by=ChangeContext(actor=owner), owner=username, parsed=population.memories(0, NOTES))
        tokens.append(auth.issue(agent=agent, scopes=Scope.usual(), owners=[owner]).secret)
    _speed(port, tokens[:ORDINARY], SECONDS)
    alone, beside = [], []
    for _ in range(ROUNDS):
        alone.append(_speed(port, tokens[:ORDINARY], SECONDS))
        with _greedy(port, tokens[-1]):
            beside.append(_speed(port, tokens[:ORDINARY], SECONDS))
    kept = median(after / before for before, after in zip(alone, beside, strict=True))
    each = ", ".join(f"{before:.0f} → {after:.0f}" for before, after in zip(alone, beside, strict=True))
    note = f"{kept:.0%} of {median(alone):.0f} calls a second are kept beside it (at least 70 %): {each}"
    times = [1000 * ORDINARY / one for one in beside]
    return [
        Result(f"a call of {ORDINARY} agents beside {GREEDY} connections of one", median(times), max(times), note=note)
    ]


def _speed(port: int, tokens: list[str], seconds: float) -> float:
    """Return how many calls a second these clients are answered, one at a time each."""
    answered, until = [0] * len(tokens), time.monotonic() + seconds

    def call_on(number: int) -> None:
        session = Session(port, tokens[number])
        while time.monotonic() < until:
            _call(session, answered[number])
            answered[number] += 1
        session.close()

    threads = [threading.Thread(target=call_on, args=[number]) for number in range(len(tokens))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(answered) / seconds


def _call(session: Session, number: int) -> None:
    """Read, search, and now and then save."""
    tool, arguments = (
        ("memory_search", {"query": "algebra exam"}),
        ("list_memory_blocks", {}),
        ("recall", {"query": "library"}),
        ("memory_save", {"content": f"Said {time.monotonic()} and {number}."}),
    )[number % 4]
    reply = session.post_json(f"/api/v1/tools/{tool}/", json.dumps(arguments).encode())
    if reply.status not in (200, 429):
        raise RuntimeError(f"{tool}: {reply.status} {reply.text[:300]}")


@contextmanager
def _greedy(port: int, token: str) -> Iterator[None]:
    command = [sys.executable, "-m", "benchmarks.crowd", str(port)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        process.stdin.write(f"{token}\n")
        process.stdin.flush()
        time.sleep(_ARRIVE)
        try:
            yield
            if process.poll() is not None:
                raise RuntimeError("the greedy agent ended")
        finally:
            process.terminate()


if __name__ == "__main__":
    _speed(int(sys.argv[1]), [sys.stdin.readline().strip()] * GREEDY, 3600)
