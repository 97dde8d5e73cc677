"""Notes: saved and searched through HTTP, imported and indexed by the thousand, and listed by the page."""

import json
import time

from benchmarks import pages
from benchmarks.measure import Result, result, timed
from benchmarks.population import memories, sentence, subject
from benchmarks.processes import Session
from memory_app.reads.catalogue import catalogue

SAVES = 200
IMPORTED = 10_000
SEARCHES = 100
MOST_QUERIES = 16


def through_http(agent: Session, owner: str, *, target_ms: float | None) -> list[Result]:
    """Save notes and search them as an agent does."""

    def save(number: int) -> None:
        _call(agent, "memory_save", {"user_id": owner, "content": sentence(number)})

    def search(number: int) -> None:
        query = f"what did she say about {subject(number)}"
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
    from approvals.services.notes import ChangeContext
    from memory_app.search import store

    person = User.objects.get(username=owner)
    began = time.perf_counter()
    import_memories(by=ChangeContext(actor=person), owner=owner, parsed=memories(0, IMPORTED))
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


def decide_import(owner: str, reader: str) -> list[Result]:
    """An agent's import of 10,000 memories that waits: its page, approving it, and the first search after it."""
    from approvals import services
    from approvals.models import Agent, Policy, Proposal, User
    from approvals.review.presentation import review_of
    from approvals.services.imports import import_memories
    from approvals.services.notes import ChangeContext
    from benchmarks.population import AGENT
    from memory_app.search.service import search

    actor = User.objects.get(username=reader)
    Policy.objects.create(owner=owner, notes=Policy.Notes.REVIEW)
    search(owner, "music")  # there is an index, which approving leaves behind
    began = time.perf_counter()
    by = ChangeContext(actor=Agent.objects.get(name=AGENT), reasoning="From the old laptop.")
    outcome = import_memories(by=by, owner=owner, parsed=memories(0, IMPORTED)).outcome
    assert outcome is not None
    assert outcome.proposal is not None
    proposal = outcome.proposal
    times = {"proposing": (time.perf_counter() - began) * 1000}
    page = pages.in_process(
        f"page of a waiting import of {IMPORTED:,}",
        f"/proposals/{proposal.pk}/?page=50",
        reader,
        target=1_000,
        most_queries=MOST_QUERIES,
    )
    seen = review_of(Proposal.objects.get(pk=proposal.pk), actor).seen_sha256
    began = time.perf_counter()
    services.approve(actor=actor, proposal_id=proposal.pk, revision=1, seen_sha256=seen)
    times["approving"] = (time.perf_counter() - began) * 1000
    began = time.perf_counter()
    search(owner, "music")
    times["searching"] = (time.perf_counter() - began) * 1000
    return [
        Result(f"propose an import of {IMPORTED:,}", times["proposing"], times["proposing"], note="once"),
        page,
        Result(
            f"approve an import of {IMPORTED:,}, the service alone",
            times["approving"],
            times["approving"],
            target=3_000,
            note="once",
        ),
        Result("first search after it", times["searching"], times["searching"], note="once, waits 3 s at most"),
    ]


def lists(owner: str, reader: str) -> list[Result]:
    """The pages of an owner with 10,000 notes, as a tutor reads them."""
    from memory_app.reads.catalogue import catalogues

    def read_anew(_: int) -> None:
        catalogues.clear()
        catalogue(owner)

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
