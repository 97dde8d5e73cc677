"""With a history: the pages, calls and decisions of an owner with 20,000 notes, 300 blocks and 10,000 proposals.

`make bench ARGS='--part history'` runs these alone.
"""

import time

from benchmarks import pages
from benchmarks.measure import Result, result, timed
from benchmarks.population import NEW, OLD, History, Target, make_blocks, make_history, memories

#: Milliseconds every page of such an owner may take, warm.
TARGET = 150.0
MOST_QUERIES = 30
SIBLINGS = 200
DECISIONS = 20
IMPORTED = 5_000


def measure(owner: str, reader: str) -> list[Result]:
    from memory_app import reads
    from memory_app.search import store

    size = History()
    imports = _imports(owner, size.notes)
    make_history(owner, size)
    store.reindex(owner)
    label, note = reads.blocks(owner)[0].label, reads.notes(owner)[0].id
    memory = f"/memory/{owner}/"
    addresses = {
        "inbox": "/",
        "decided": "/?tab=decided",
        "memory": memory,
        "block": f"{memory}blocks/{label}/",
        "history of a block": f"{memory}blocks/{label}/history/",
        "notes": f"{memory}notes/",
        "notes by words": f"{memory}notes/?q=algebra",
        "note": f"{memory}notes/{note}/",
        "conversations": f"{memory}conversations/",
        "search": f"{memory}search/?q=algebra",
    }
    return [
        *imports,
        *(
            pages.in_process(f"with a history: {name}", path, reader, target=TARGET, most_queries=MOST_QUERIES)
            for name, path in addresses.items()
        ),
        result("with a history: context", timed(lambda _: _context(owner), range(12), warm_up=2), target=TARGET),
        result("with a history: memories.md", timed(lambda _: reads.memories(owner), range(7), warm_up=2)),
        *_after_an_import(owner),
        *_siblings(owner),
    ]


def _context(owner: str) -> str:
    from agent_tools.tools import guidance

    return guidance.context_of(owner).text


def _imports(owner: str, count: int) -> list[Result]:
    """The first notes of many, and the last: an import takes as long however many there are."""
    from approvals.models import User
    from approvals.services.imports import import_memories
    from approvals.services.notes import ChangeContext

    person = User.objects.get(username=owner)
    results = []
    for start in range(0, count, IMPORTED):
        began = time.perf_counter()
        import_memories(by=ChangeContext(actor=person), owner=owner, parsed=memories(start, IMPORTED))
        took = (time.perf_counter() - began) * 1000
        results.append(Result(f"import of {IMPORTED:,} beside {start:,}", took, took, note="once"))
    return [results[0], results[-1]]


def _after_an_import(owner: str) -> list[Result]:
    from approvals.models import User
    from approvals.services.imports import import_memories
    from approvals.services.notes import ChangeContext
    from memory_app.search.service import search

    search(owner, "music")
    import_memories(
        by=ChangeContext(actor=User.objects.get(username=owner)), owner=owner, parsed=memories(100_000, IMPORTED)
    )
    began = time.perf_counter()
    found = search(owner, "music")
    took = (time.perf_counter() - began) * 1000
    note = "index behind" if found.index_behind else "index up to date"
    return [Result(f"first search after an import of {IMPORTED:,}", took, took, target=1_000, note=note)]


def _siblings(owner: str) -> list[Result]:
    """Approving beside nothing, and beside 200 open proposals to the same block."""
    from django.test.utils import override_settings

    alone, crowded = make_blocks((owner,), 2, first=2_000)
    with override_settings(PENDING_CAP=10_000):
        times = _approvals(alone)
        for number in range(SIBLINGS):
            _propose(crowded, OLD, f"{NEW} {number}")
        beside = _approvals(crowded)
    ratio = sorted(beside)[len(beside) // 2] / sorted(times)[len(times) // 2]
    return [
        result("approve, the service alone", times),
        result(f"approve beside {SIBLINGS} open ones", beside, note=f"{ratio:.2f} × as long (≤ 1.5)"),
    ]


def _approvals(target: Target) -> list[float]:
    from approvals import services
    from approvals.models import User
    from memory_app import reads

    person = User.objects.get(username=target.owner)

    def approve(number: int) -> None:
        services.approve(actor=person, proposal_id=ids[number], revision=1, seen_sha256=shas[number])

    ids: dict[int, int] = {}
    shas: dict[int, str] = {}
    times = []
    for number in range(DECISIONS):
        block = reads.block(target.owner, target.label)
        first = block.body.partition("\n")[0]
        ids[number] = _propose(target, first, f"{first[:40]} ({number})")
        shas[number] = block.sha256
        times += timed(approve, [number])
    return times


def _propose(target: Target, old: str, new: str) -> int:
    from approvals import services
    from approvals.models import Agent, Kind
    from benchmarks.population import AGENT
    from memory_app.text.edits import Replace

    done = services.propose(
        agent=Agent.objects.get(name=AGENT),
        owner=target.owner,
        label=target.label,
        edits=[Replace(old, new)],
        kind=Kind.EDIT,
        reasoning="She said so.",
    )
    return int(done.proposal.pk)
