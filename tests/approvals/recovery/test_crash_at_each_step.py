"""A process that dies before any one of its writes leaves the memory as it was, or as it was to become.

Each use case runs again and again in a process of its own, killed before its first write, its second … and after
each crash `recover` runs here, in another process. The process that finishes says what "as it was to become" is.
"""

from typing import Any

import pytest
from django.core.management import call_command

from approvals import services
from approvals.models import Event, Proposal, Revision
from approvals.recovery.integrity import problems
from approvals.services.preparing import parse_branch_name
from memory_app import reads
from memory_app.models import Change
from tests import environment
from tests.approvals.recovery.use_cases import USE_CASES, do
from tests.conftest import begin_anew
from tests.support.crashing import MOST_STEPS, crash_at, let_leases_run_out
from tests.support.first import dolt
from tests.support.histories import ledger_snapshot

pytestmark = pytest.mark.slow

#: Those that run by day with files: each way to write once. The others differ in what is written, and run at night.
BY_DAY = (
    "propose",
    "approve a stale one",
    "approve one of two, the other goes back",
    "amend",
    "apply a change of a block",
    "apply a change of a note",
    "apply an import",
    "undo an approval",
    "undo a rejection",
    "edit",
    "approve a new block",
)
#: With servers each step costs four times as much, and what differs is one engine's way to commit.
WITH_SERVERS = (
    "approve a stale one",
    "approve one of two, the other goes back",
    "apply a change of a note",
    "revert a note",
    "undo an approval",
    "undo a rejection",
    "edit",
    "approve a new block",
    "approve a stale deletion",
    "undo a deletion",
)
BY_DAY_WITH_SERVERS = ("approve a stale one", "apply a change of a note", "undo an approval")


def state() -> dict[str, Any]:
    """All that lasts, but for ids, hashes and times. A transaction undone uses up ids of PostgreSQL."""
    numbers = {pk: number for number, pk in enumerate(Proposal.objects.order_by("pk").values_list("pk", flat=True), 1)}

    def numbered(rows: Any) -> list[tuple[Any, ...]]:
        return [(numbers[pk], *rest) for pk, *rest in rows]

    of_proposal = ["pk", "status", "current_revision_number", "decided_by__username", "decision_reason"]
    of_proposal += ["decision_comment", "approval", "answers__target"]
    if environment.is_embedded():  # with servers a worker looks at what else is open, in its own time
        of_proposal += ["mergeability"]
    of_revision = ("proposal", "number", "origin", "made_by__username", "result_text")
    return {
        "blocks": [(block.label, block.title, block.body) for block in reads.blocks("alice")],
        "notes": sorted((note.id, note.content, note.is_superseded) for note in reads.notes("alice")),
        "proposals": numbered(Proposal.objects.order_by("pk").values_list(*of_proposal)),
        "reverted": Proposal.objects.exclude(reverted_by_commit="").count(),
        "revisions": numbered(Revision.objects.order_by("proposal", "number").values_list(*of_revision)),
        "events": numbered(Event.objects.order_by("id").values_list("proposal", "what", "actor", "text")),
        "ledger": sorted(row[2:-1] for row in ledger_snapshot()),  # without databases, commits and times
        "branches": [_numbered_branch(name, numbers) for name in dolt().branches()],
    }


def _numbered_branch(name: str, numbers: dict[int, int]) -> str:
    proposal = parse_branch_name(name)
    return f"{numbers.get(proposal[0])}-{proposal[1]}" if proposal else name


def _use_cases() -> list[Any]:
    every, by_day = (USE_CASES, BY_DAY) if environment.is_embedded() else (WITH_SERVERS, BY_DAY_WITH_SERVERS)
    assert set(by_day) <= set(every)
    return [pytest.param(name, marks=[] if name in by_day else [pytest.mark.nightly]) for name in every]


def prepare(name: str) -> None:
    for act in USE_CASES[name][:-1]:
        act()


#: With servers a test of every write would take more than 20 s.
HALVES = {"odd writes": range(1, MOST_STEPS, 2), "even writes": range(2, MOST_STEPS, 2)}
WRITES = {"each write": range(1, MOST_STEPS)} if environment.is_embedded() else HALVES


@pytest.mark.parametrize("writes", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("name", _use_cases())
def test_a_crash_before_any_write_is_recovered_from(name: str, writes: range, databases: Any) -> None:
    states: list[dict[str, Any]] = []
    prepare(name)
    states.append(state())
    for write in writes:
        crashed = crash_at(write, do, name)
        where = f"killed before write {write}"
        let_leases_run_out()
        services.recover()
        states.append(state())
        assert list(problems()) == [], where
        recovered = ledger_snapshot()
        Change.objects.all().delete()
        call_command("rebuild_ledger", verbosity=0)
        assert ledger_snapshot() == recovered, where
        if not crashed:
            break
        begin_anew(databases)
        prepare(name)
    before, after = states[0], states[-1]
    assert before != after
    assert len(states) > 1 + 2 / writes.step, "the writes were not counted"
    first = states.index(after)
    # As it was up to some write, and as it was to become from then on: never anything else, and never back again.
    for step, found in enumerate(states):
        assert found == (before if step < first else after), f"killed before write {[0, *writes][step]}"
