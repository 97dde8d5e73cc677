"""Notes: saved and searched through HTTP, imported and indexed by the thousand, and listed by the page."""

from __future__ import annotations

import json
import time
from datetime import date

from benchmarks import pages
from benchmarks.measure import Result, result, timed
from benchmarks.processes import Session

SAVES = 200
IMPORTED = 10_000
SEARCHES = 100
MOST_QUERIES = 16

_DAY = date(2026, 11, 1)
_SUBJECTS = ("algebra", "the exam", "her sister", "chemistry", "the library", "Tuesday", "the essay", "music", "French")
_VERBS = ("prefers", "finished", "is worried about", "wants to discuss", "has given up", "asked about", "enjoys")


def _sentence(number: int) -> str:
    verb, subject = _VERBS[number % len(_VERBS)], _SUBJECTS[number // len(_VERBS) % len(_SUBJECTS)]
    return f"On day {number} she {verb} {subject} and noted it under heading {number % 97}."


def through_http(agent: Session, owner: str, *, target_ms: float | None) -> list[Result]:
    """Save notes and search them as an agent does."""

    def save(number: int) -> None:
        _call(agent, "memory_save", {"user_id": owner, "content": _sentence(number)})

    def search(number: int) -> None:
        query = f"what did she say about {_SUBJECTS[number % len(_SUBJECTS)]}"
        _call(agent, "memory_search", {"user_id": owner, "query": query})

    search(0)  # the owner's index is made now, so that saving includes bringing it up
    saves = timed(save, range(SAVES), warm_up=10)
    searches = timed(search, range(SEARCHES), warm_up=5)
    return [
        result("memory_save, HTTP", saves, target=target_ms),
        result("memory_search, HTTP", searches, note=f"{SAVES} notes and the owner's blocks"),
    ]


def import_and_reindex(owner: str) -> list[Result]:
    """One import of 10,000 memories, and the index of their owner made anew."""
    from approvals.models import User
    from approvals.services.imports import import_memories
    from approvals.services.notes import By
    from memory_app import memories_md
    from memory_app.memories_md import Memory
    from memory_app.search import store

    person = User.objects.get(username=owner)
    memories = [Memory(f"mem-{1_700_000_000 + n}-abcd", "fact", _sentence(n), ("bulk",), _DAY) for n in range(IMPORTED)]
    parsed = memories_md.parse(memories_md.write(memories))
    began = time.perf_counter()
    import_memories(by=By(actor=person), owner=owner, parsed=parsed)
    imported = (time.perf_counter() - began) * 1000
    began = time.perf_counter()
    done = store.reindex(owner, whole=True)
    indexed = time.perf_counter() - began
    return [
        Result(f"import of {IMPORTED:,} memories", imported, imported, target=60_000, note="once"),
        Result(
            "full reindex",
            indexed * 1000,
            indexed * 1000,
            target=done.documents / 2,  # 2,000 notes a second
            note=f"{done.documents / indexed:,.0f} documents a second",
        ),
    ]


def lists(owner: str, reader: str) -> list[Result]:
    """The pages of an owner with 10,000 notes, as a tutor reads them."""
    from memory_app import recall
    from memory_app.recall.catalogue import catalogues

    def read_anew(_: int) -> None:
        catalogues.clear()
        recall.catalogue(owner)

    address = f"/memory/{owner}/notes/"
    wanted = [
        (f"notes, 50 of {IMPORTED:,}", address),
        (f"notes, the last 50 of {IMPORTED:,}", f"{address}?page=200"),
        (f"notes by type and tag, 50 of {IMPORTED:,}", f"{address}?type=fact&tag=bulk"),
        (f"overview of a memory with {IMPORTED:,} notes", f"/memory/{owner}/"),
    ]
    return [
        *(pages.in_process(case, path, reader, target=50, most_queries=MOST_QUERIES) for case, path in wanted),
        result(f"catalogue of {IMPORTED:,} notes, read anew", timed(read_anew, range(7), warm_up=2)),
    ]


def _call(agent: Session, tool: str, arguments: dict[str, object]) -> None:
    answer = agent.post_json(f"/api/v1/tools/{tool}/", json.dumps(arguments).encode())
    if answer.status >= 300:
        raise RuntimeError(f"{tool} answered {answer.status}: {answer.text[:500]}")
