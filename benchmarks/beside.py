"""What a call costs beside a bare Django view that does the same (`bare`), in turns in the same minutes.

`make bench ARGS='--part beside'` runs these alone: with 1,000 notes and 200 approved edits, then with a history of
10,000 notes and 2,000 decided proposals. A ratio says more than milliseconds: both sides get the same machine.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from benchmarks import processes
from benchmarks.measure import Against

if TYPE_CHECKING:
    from approvals.models import Agent, User

OWNER = "student-000"
LONG = "long"
LABELS = tuple(f"topic-{number}" for number in range(8))
FEW_NOTES, MANY_NOTES = 1_000, 10_000
FEW_EDITS, MANY_EDITS = 200, 2_000
#: Each round asks the bare view and then ours, so many times each.
ROUNDS, CALLS = 8, 25
CLIENTS, CLIENT_SECONDS = 8, 8.0
#: Calls a second, and milliseconds of a bare read on the machine where so many were asked for.
CLIENT_CALLS, BARE_READ = 120, 0.97
THREADS, THREAD_SECONDS = 8, 20.0


def measure(agent: processes.Session, folder: Path, *, database_url: str) -> list[Against]:
    """Both states of the owner, one after the other.

    Args:
        agent: of the site that runs.
        database_url: the PostgreSQL the bare view keeps its tables in; empty for SQLite.
    """
    from memory_app import reads
    from memory_app.search import store

    folder = folder / "bare"
    folder.mkdir()
    make_blocks()
    import_notes(0, FEW_NOTES)
    _decide(FEW_EDITS)
    store.reindex(OWNER)
    environment = {"BARE_DATA": str(folder), "BARE_DATABASE_URL": database_url}
    bodies = {block.label: block.body for block in reads.blocks(OWNER)}
    _fill_bare(environment, bodies, 0, FEW_NOTES)
    with processes.web_server("benchmarks.bare", folder, environment) as port:
        bare = processes.Session(port)
        results = _calls(agent, bare, f"{FEW_NOTES:,} notes, {FEW_EDITS} edits", search_at_most=2.5)
        results += _clients(agent, "few", bare)
        import_notes(FEW_NOTES, MANY_NOTES)
        _fill_bare(environment, {}, FEW_NOTES, MANY_NOTES)
        _decide(MANY_EDITS - FEW_EDITS)
        store.reindex(OWNER)
        results += _calls(agent, bare, f"{MANY_NOTES:,} notes, {MANY_EDITS:,} decided", search_at_most=1.3)
        results += _clients(agent, "many", bare)
    return results


# -- calls one after the other --------------------------------------------------------------------


def _calls(agent: processes.Session, bare: processes.Session, state: str, *, search_at_most: float) -> list[Against]:
    number = itertools.count(int(time.monotonic() * 1000))
    words = itertools.cycle(("algebra exam", "sister", "library heading", "chemistry", "music essay", "French Tuesday"))
    edits = _edits()

    def bare_search() -> None:
        _ok(bare.get(f"/search/?q={quote(next(words))}"))

    def propose() -> None:
        old, new = next(edits)
        waiting.append(_tool(agent, "propose_memory_edit", **_edit(LONG, old, new))["data"]["proposal_id"])

    def withdraw() -> None:
        while waiting:
            _withdraw(agent, waiting.pop())

    waiting: list[int] = []
    read = lambda: _ok(bare.get(f"/blocks/{LABELS[0]}/"))  # noqa: E731
    save = lambda: _post(bare, "/notes/", content=f"She said {next(number)}.")  # noqa: E731
    cases = [
        Timed("list_memory_blocks", read, lambda: _tool(agent, "list_memory_blocks"), 2.5),
        Timed("read_memory_block", read, lambda: _tool(agent, "read_memory_block", block_label=LABELS[0]), 3),
        Timed("memory_save", save, lambda: _tool(agent, "memory_save", content=f"She said {next(number)}."), 5),
        Timed(
            "propose_memory_edit, 2,000 words",
            lambda: _post(bare, f"/blocks/{LONG}/edit/", old_string="the", new_string="the"),
            propose,
            7,
            withdraw,
        ),
        Timed("memory_search", bare_search, lambda: _tool(agent, "memory_search", query=next(words)), search_at_most),
    ]
    return [in_turns(case, state) for case in cases]


@dataclass(frozen=True)
class Timed:
    """What is called, bare and of ours, and what ours may take of bare.

    Args:
        between: done after each call of ours, outside of the time.
    """

    name: str
    bare: Callable[[], object]
    ours: Callable[[], object]
    at_most: float
    between: Callable[[], object] | None = None


def in_turns(case: Timed, state: str) -> Against:
    times: dict[Callable[[], object], list[float]] = {case.bare: [], case.ours: []}
    for turn in range(ROUNDS + 1):
        for work in times:
            for _ in range(CALLS if turn else 5):
                took = _timed(work)
                if turn:
                    times[work].append(took)
                if case.between and work is case.ours:
                    case.between()
    return Against(f"{case.name} ({state})", median(times[case.bare]), median(times[case.ours]), at_most=case.at_most)


# -- many at once ---------------------------------------------------------------------------------


def _clients(agent: processes.Session, run: str, bare: processes.Session) -> list[Against]:
    """One client and eight, each proposing to a block of its own and taking it back; the calls in a second.

    What is aimed at is CLIENT_CALLS on a machine whose bare view answers a read in BARE_READ: on others, as many more
    or fewer as theirs is faster or slower in this minute. Eight are never slower than one.
    """
    read_times = [_timed(lambda: _ok(bare.get(f"/blocks/{LABELS[0]}/"))) for _ in range(ROUNDS * CALLS)]
    one, eight = (_calls_a_second(agent, run, clients) for clients in (1, CLIENTS))
    what = "proposing and withdrawing, calls a second"
    wanted = CLIENT_CALLS * BARE_READ / median(read_times)
    return [
        Against(f"{CLIENTS} clients {what} ({run})", wanted, eight, at_least=1),
        Against(f"{CLIENTS} clients beside one, {what} ({run})", one, eight, at_least=1),
    ]


def _calls_a_second(agent: processes.Session, run: str, clients: int) -> float:
    sessions = [processes.Session(agent.port, agent.token) for _ in range(clients)]
    end = time.monotonic() + CLIENT_SECONDS

    def work(client: int) -> int:
        calls = 0
        while time.monotonic() < end:
            edit = _edit(LABELS[client], f"Line {calls % 20} of it.", f"Line {calls} of {run}, {clients}.")
            proposal = _tool(sessions[client], "propose_memory_edit", **edit)["data"]["proposal_id"]
            _withdraw(sessions[client], proposal)
            calls += 2
        return calls

    with ThreadPoolExecutor(clients) as pool:
        return sum(pool.map(work, range(clients))) / CLIENT_SECONDS


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def services_beside_dolt(url: str) -> Against:
    """Propose and approve through the services beside the verbs alone, eight threads each; both in pairs a second."""
    with _dolt_alone(url) as alone:
        bare = _pairs(alone)
        ours = _pairs(_propose_and_approve)
        bare = (bare + _pairs(alone)) / 2
    return Against(f"propose + approve by the services, {THREADS} threads, a second", bare, ours, at_least=0.7)


def _pairs(work: Callable[[int, int], None]) -> float:
    end = time.monotonic() + THREAD_SECONDS

    def run(thread: int) -> int:
        from django.db import connections

        done = 0
        try:
            while time.monotonic() < end:
                work(thread, done)
                done += 1
        finally:
            connections.close_all()
        return done

    with ThreadPoolExecutor(THREADS) as pool:
        return sum(pool.map(run, range(THREADS))) / THREAD_SECONDS


@contextmanager
def _dolt_alone(url: str) -> Iterator[Callable[[int, int], None]]:
    """A branch, a row on it, a commit, the merge into main, and the branch dropped: by the driver, on the same server,
    in a copy of the same memory with its history."""
    import environ
    import MySQLdb

    from memory_app.models import MemoryBlock, block_id

    config = environ.Env.db_url_config(url)
    host = {"host": config["HOST"], "port": int(config["PORT"] or 3306), "user": config["USER"]}
    setup = MySQLdb.connect(**host, password=config["PASSWORD"] or "", autocommit=True).cursor()
    setup.execute(f"USE `{config['NAME']}`")
    with tempfile.TemporaryDirectory(prefix="assent-copy-") as copy:
        setup.execute("CALL dolt_backup('sync-url', %s)", [Path(copy, "memory").as_uri()])
        setup.execute("CALL dolt_backup('restore', %s, 'alone')", [Path(copy, "memory").as_uri()])
    update = f"UPDATE {MemoryBlock._meta.db_table} SET body = %s, sha256 = %s WHERE id = %s"  # noqa: S608 (our own)
    local, counter = threading.local(), itertools.count()

    def pair(thread: int, done: int) -> None:
        if not hasattr(local, "cursor"):
            local.cursor = MySQLdb.connect(**host, password=config["PASSWORD"] or "", autocommit=False).cursor()
        run, number = local.cursor.execute, next(counter)
        run("USE `alone`")
        run("CALL dolt_branch(%s, 'main')", [f"alone{number}"])
        run(f"USE `alone/alone{number}`")
        run(update, [f"{_body(LABELS[thread])}{number}", str(number), block_id(OWNER, LABELS[thread]).hex])
        run("CALL dolt_commit('-A', '-m', 'propose')")
        head = local.cursor.fetchall()[0][0]
        run("USE `alone`")
        for attempt in range(50):
            try:
                run("START TRANSACTION")
                run("CALL dolt_merge(%s, '--no-ff', '-m', 'approve')", [head])
                break
            except MySQLdb.Error:
                run("ROLLBACK")
                if attempt == 49:
                    raise
        run("COMMIT")
        run("CALL dolt_branch('-D', '-f', %s)", [f"alone{number}"])

    try:
        yield pair
    finally:
        setup.execute("USE information_schema")
        setup.execute("DROP DATABASE alone")


def _propose_and_approve(thread: int, done: int) -> None:
    """Change the last line of a block that no other thread writes, through the services alone."""
    from approvals import services
    from approvals.models import Kind
    from memory_app import reads
    from memory_app.text.edits import Replace

    agent, person = _people()
    label = LABELS[thread]
    line = _last_lines.get(label) or reads.block(OWNER, label).body.rpartition("\n")[2]
    _last_lines[label] = f"Line last of it, {time.monotonic_ns()}."
    made = services.propose(
        agent=agent,
        owner=OWNER,
        label=label,
        edits=[Replace(line, _last_lines[label])],
        kind=Kind.EDIT,
        reasoning="She said so.",
    )
    services.approve(actor=person, proposal_id=made.proposal.pk, revision=1, seen_sha256=made.revision.base_sha256)


_last_lines: dict[str, str] = {}


@cache
def _people() -> tuple[Agent, User]:
    """The agent that proposes and the person who decides, as a call has them already when it comes to the services."""
    from approvals.models import Agent, User
    from benchmarks.population import AGENT

    return Agent.objects.get(name=AGENT), User.objects.get(username=OWNER)


# -- what it works on -----------------------------------------------------------------------------


def make_blocks() -> None:
    from approvals import services
    from approvals.models import User

    person = User.objects.get(username=OWNER)
    for label in (*LABELS, LONG):
        fields = services.BlockFields(title="", description="", body=_body(label), limit=20_000)
        services.create_block(actor=person, owner=OWNER, label=label, fields=fields)


def _body(label: str) -> str:
    lines = 400 if label == LONG else 60
    return "\n".join(f"Line {number} of it." for number in range(lines)) + "\n" + "Line last of it."


def _edits() -> Iterator[tuple[str, str]]:
    for number in itertools.count():
        yield f"Line {number % 400} of it.", f"Line {number % 400} says {number} now."


def _edit(label: str, old: str, new: str) -> dict[str, str]:
    return {"block_label": label, "old_string": old, "new_string": new, "reasoning": "She said so."}


def import_notes(start: int, end: int) -> None:
    from approvals.models import User
    from approvals.services.imports import import_memories
    from approvals.services.notes import ChangeContext
    from benchmarks.population import memories

    person = User.objects.get(username=OWNER)
    import_memories(by=ChangeContext(actor=person), owner=OWNER, parsed=memories(start, end - start))


def _decide(count: int) -> None:
    """Propose and approve so many edits of the short blocks, for real: each is two commits and a merge."""
    for number in range(count):
        _propose_and_approve(number % len(LABELS), number)


def _fill_bare(environment: dict[str, str], bodies: dict[str, str], start: int, end: int) -> None:
    from benchmarks.population import sentence

    given = json.dumps({"blocks": bodies, "notes": [sentence(number) for number in range(start, end)]})
    subprocess.run(
        [sys.executable, "-m", "benchmarks.bare"],
        input=given.encode(),
        cwd=processes.ROOT,
        env=_plain() | environment,
        check=True,
    )


def _plain() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}


def _tool(agent: processes.Session, name: str, **arguments: object) -> dict[str, Any]:
    body = json.dumps({"user_id": OWNER, **arguments}).encode()
    return dict(json.loads(_ok(agent.post_json(f"/api/v1/tools/{name}/", body))))


def _withdraw(agent: processes.Session, proposal: int) -> None:
    _ok(agent.post_json("/api/v1/tools/withdraw_proposal/", json.dumps({"proposal_id": proposal}).encode()))


def _post(bare: processes.Session, path: str, **fields: object) -> str:
    return _ok(bare.post_json(path, json.dumps(fields).encode()))


def _ok(answer: processes.Reply) -> str:
    if answer.status >= 300:
        raise RuntimeError(f"answered {answer.status}: {answer.text[:500]}")
    return answer.text
