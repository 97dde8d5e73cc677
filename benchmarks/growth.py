"""How the cost of a call grows: with one owner's notes, with owners, with open branches, with decisions, and on disk.

`make bench ARGS='--part growth'` runs these alone, about ten minutes for each edition. Each line is the processor time
of the thread that answers, since walls on a busy machine say little, with the number of statements beside it. What is
flat has the same figures on each line of its kind.
"""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.db import connections
from django.test import Client
from django.test.utils import CaptureQueriesContext

from approvals import services
from approvals.models import Agent, Kind, User
from approvals.recovery.recover import recover
from approvals.services.imports import import_memories
from approvals.services.notes import ChangeContext
from benchmarks import population
from benchmarks.measure import Result, result
from benchmarks.processes import HOST
from memory_app import reads
from memory_app.dolt import maintenance
from memory_app.dolt.types import FIRST
from memory_app.search import index_state, store
from memory_app.text.edits import Replace

NOTES = (100, 2_000, 20_000)
OWNERS = (200, 2_000, 10_000)
WAITING = 100_000
BRANCHES = (100, 2_000, 5_000)
DECISIONS = (250, 1_000, 2_000)
ROUNDS = 7
#: Lines of a block whose history is measured, about 150 and 1,000 characters.
SMALL, USUAL = 3, 20


def measure(owner: str, token: str) -> Iterator[Result]:
    """Measure each kind of growth; last the one whose rows have no memory, which `check_memory` would report.

    Args:
        owner: with nothing yet.
        token: of an agent that serves all owners.
    """
    for kind in (_by_notes(owner, token), on_disk(), _by_decisions(), _by_branches(), _by_owners(token)):
        for one in kind:
            print(f"    {one.case}: {one.p50:.1f} ({one.note})", file=sys.stderr, flush=True)
            yield one


def _by_notes(owner: str, token: str) -> Iterator[Result]:
    person, there = User.objects.get(username=owner), 0
    calls: dict[str, dict[str, Any]] = {
        "memory_save": {"content": ""},
        "memory_search, words": {"query": "algebra exam"},
        "memory_search, broad": {"query": "what do you know about me"},
        "list_memory_blocks": {},
        "prime_memories": {"budget": 2_000},
        "recall, list": {},
        "recall, word": {"query": "algebra"},
    }
    page = _signed_in(owner)
    number = iter(range(10**6))
    for count in NOTES:
        for start in range(there, count, 10_000):
            new = population.memories(start, min(10_000, count - start))
            import_memories(by=ChangeContext(actor=person), owner=owner, parsed=new)
        there = count
        store.reindex(owner)
        for case, arguments in calls.items():

            def call(case: str = case, arguments: dict[str, Any] = arguments) -> None:
                said = {"content": f"She said {next(number)}."} if "content" in arguments else arguments
                _tool(token, owner, case.split(",")[0], said)

            yield _cpu(f"{case}, {count:,} notes", call)
        yield _cpu(f"context, {count:,} notes", lambda: _get(Client(), f"/api/v1/users/{owner}/context/", token))
        yield _cpu(f"page of notes, {count:,} notes", lambda: _get(page, f"/memory/{owner}/notes/"))
    other = population.make_students(1, first=600)[0]
    stranger = User.objects.get(username=other)
    for commits in (1, 100, 150):
        for start in range(commits):
            services.create_block(
                actor=stranger, owner=other, label=f"b{commits}-{start}", fields=_fields("Something else.")
            )
        yield _cpu(
            f"list after {commits} commits of others, {there:,} notes",
            lambda: _tool(token, owner, "recall", {}),
            rounds=1,
            warm_up=0,
        )


def _by_owners(token: str) -> Iterator[Result]:
    admin, tutor = _signed_in("admin"), _signed_in(population.TUTOR)
    there = 0
    for count in OWNERS:
        population.make_owner_rows(there, count)
        there = count
        named = population.owner_name(count // 2)
        pages = {
            "board, staff": "/memory/",
            "agents, staff": "/agents/",
            "one agent, staff": f"/agents/{population.AGENT}/",
            "inbox, staff": "/",
            "inbox, staff, a word": "/?q=algebra",
            "new token, admin": "/admin/agent_tools/agenttoken/add/",
        }
        for case, path in pages.items():
            yield _cpu(f"{case}, {count:,} owners", partial(_get, admin, path))
        listed = partial(_tool, token, named, "list_proposals", {})
        yield _cpu(f"list_proposals, an owner named, {count:,} owners", listed)
        yield _cpu(f"owners behind, {count:,} owners", index_state.owners_behind)
    yield _cpu("policies, tutor of 40", lambda: _get(tutor, "/settings/policies/"))
    population.make_open_rows(tuple(map(population.owner_name, range(OWNERS[-1]))), WAITING)
    for case, path in {"inbox": "/", "inbox, a word": "/?q=arranged", "inbox, a block": "/?block=goals-7"}.items():
        yield _cpu(f"{case}, {WAITING:,} waiting", partial(_get, admin, path))


def _by_decisions() -> Iterator[Result]:
    decide, there = _decider("decisions", USUAL), 0
    for count in DECISIONS:
        for _ in range(count - there):
            decide()
        there = count
        yield _once(f"check_memory, {count:,} decisions", lambda: _checked())
        decide()
        yield _once(f"check_memory --since-last, {count:,} decisions", lambda: _checked("--since-last"))


def _checked(*options: str) -> None:
    call_command("check_memory", *options, stdout=io.StringIO())


def _by_branches() -> Iterator[Result]:
    agent, there = Agent.objects.get(name=population.AGENT), 0
    # An agent may have 20 proposals waiting with an owner.
    owners = population.make_students(BRANCHES[-1] // 20 + 1, first=1_000)
    for owner in owners:
        services.create_block(
            actor=User.objects.get(username=owner), owner=owner, label="branches", fields=_fields(_lines(USUAL))
        )
    for count in BRANCHES:
        for number in range(there, count):
            line = f"Line {number % USUAL} of it says something small."
            services.propose(
                agent=agent,
                owner=owners[number % len(owners)],
                label="branches",
                edits=[Replace(line, f"{line} And more: {number}.")],
                kind=Kind.EDIT,
                reasoning="She said so.",
            )
        there = count
        yield _cpu(f"recover, {count:,} branches", recover)


def on_disk(times: int = 1_000) -> Iterator[Result]:
    """Kilobytes on disk of a decided proposal and of a note, as both databases are after a collection."""
    for name, lines in (("small", SMALL), ("usual", USUAL)):
        decide = _decider(f"disk-{name}", lines)
        yield _disk(f"kB a decided proposal, block of {lines * 50} characters", decide, times)
    owner = population.make_students(1, first=601)[0]
    by = ChangeContext(actor=User.objects.get(username=owner))
    number = iter(range(10**6))
    yield _disk(
        "kB a note saved alone",
        lambda: services.notes.save(by=by, owner=owner, content=population.sentence(next(number))),
        times,
    )


def _disk(case: str, work: Callable[[], object], times: int) -> Result:
    before = _sizes()
    for _ in range(times):
        work()
    memory, default = ((now - then) / times / 1000 for now, then in zip(_sizes(), before, strict=True))
    return Result(case, memory + default, memory + default, note=f"memory {memory:.1f}, default {default:.1f}")


def _sizes() -> tuple[int, int]:
    """Bytes of the memory and of `default`, with all that can be collected collected."""
    maintenance.collect_garbage(FIRST, force=True)
    default = connections["default"]
    with default.cursor() as cursor:
        if default.vendor == "sqlite":
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            cursor.execute("SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()")
        else:
            cursor.execute("SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r'")
        of_default = int(cursor.fetchone()[0])
    if settings.EMBEDDED_MEMORY:
        return Path(str(settings.DATABASES["memory"]["NAME"])).stat().st_size, of_default
    with connections["memory"].cursor() as cursor:
        cursor.execute("SELECT @@datadir")
        folder = Path(cursor.fetchone()[0]) / str(settings.DATABASES["memory"]["NAME"])
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()), of_default


def _decider(name: str, lines: int) -> Callable[[], None]:
    """Return what proposes a change of one line of one of eight blocks, and approves it."""
    owner = population.make_students(1, first=700 + User.objects.count())[0]
    person, agent = User.objects.get(username=owner), Agent.objects.get(name=population.AGENT)
    for block in range(8):
        services.create_block(actor=person, owner=owner, label=f"{name}-{block}", fields=_fields(_lines(lines)))
    numbers = iter(range(10**6))

    def decide() -> None:
        turn = next(numbers)
        block = reads.block(owner, f"{name}-{turn % 8}")
        old = block.body.split("\n")[turn // 8 % lines]
        made = services.propose(
            agent=agent,
            owner=owner,
            label=block.label,
            edits=[Replace(old, f"Line {turn // 8 % lines} of it says something new, {turn}.")],
            kind=Kind.EDIT,
            reasoning="She said so.",
        )
        services.approve(actor=person, proposal_id=made.proposal.pk, revision=1, seen_sha256=block.sha256)

    return decide


def _lines(count: int) -> str:
    return "\n".join(f"Line {number} of it says something small." for number in range(count))


def _fields(body: str) -> services.BlockFields:
    return services.BlockFields(title="", description="", body=body, limit=settings.BLOCK_LIMIT)


# -- calls and their cost -------------------------------------------------------------------------


def _signed_in(username: str) -> Client:
    client = Client(headers={"host": HOST})
    client.force_login(User.objects.get(username=username))
    return client


def _get(client: Client, path: str, token: str = "") -> None:
    headers = {"host": HOST} | ({"authorization": f"Bearer {token}"} if token else {})
    answer = client.get(path, headers=headers)
    if answer.status_code != 200:
        raise RuntimeError(f"{path} answered {answer.status_code}")


def _tool(token: str, owner: str, tool: str, arguments: dict[str, Any]) -> None:
    answer = Client().post(
        f"/api/v1/tools/{tool}/",
        arguments | {"user_id": owner},
        content_type="application/json",
        headers={"host": HOST, "authorization": f"Bearer {token}"},
    )
    if answer.status_code != 200:
        raise RuntimeError(f"{tool} answered {answer.status_code}: {answer.content[:300]!r}")


def _cpu(case: str, work: Callable[[], object], *, rounds: int = ROUNDS, warm_up: int = 2) -> Result:
    """Return the processor time of some calls, and the statements of one."""
    for _ in range(warm_up):
        work()
    with ExitStack() as stack:
        captured = [stack.enter_context(CaptureQueriesContext(connections[alias])) for alias in connections]
        times = [_thread_ms(work)]
        statements = sum(map(len, captured))
    times += [_thread_ms(work) for _ in range(rounds - 1)]
    return result(case, [times[0], *times] if rounds == 1 else times[1:], note=f"{statements} statements")


def _once(case: str, work: Callable[[], object]) -> Result:
    took = _thread_ms(work)
    return Result(case, took, took, note="once")


def _thread_ms(work: Callable[[], object]) -> float:
    began = time.thread_time()
    work()
    return (time.thread_time() - began) * 1000
