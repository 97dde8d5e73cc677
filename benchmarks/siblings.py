"""A block for which 50 proposals wait: one is approved, and the other 49 are assessed again.

`make bench ARGS='--part siblings'` runs it alone. Embedded, the approval does it before it answers; with servers, a
worker does it after.
"""

import time
from collections.abc import Callable

from approvals import services
from approvals.models import Agent, Kind, Mergeability, Proposal, User
from benchmarks import pages
from benchmarks.measure import Result, result, timed
from benchmarks.population import TUTOR
from benchmarks.worddiff import edited, long_text
from memory_app import reads
from memory_app.text.edits import Edit, Replace, Rewrite

WAITING = 50
CHARACTERS = 20_000
ROUNDS = 8
TARGET = 500.0
MOST_QUERIES = 30
_FIRST = "Arranged 0 times so far.\n\n"
#: Proposals that one agent may have waiting for one owner.
_OF_ONE_AGENT = 20


def measure(owner: str) -> list[Result]:
    text = _FIRST + long_text()[: CHARACTERS - 500]
    lines = [line for line in text.split("\n")[2:] if len(line) > 40 and text.count(line) == 1]
    shapes: dict[str, Callable[[int], Edit]] = {
        "of other lines": lambda number: Replace(lines[number], f"{lines[number]} ({number})"),
        "of one line": lambda number: Replace("Arranged 0 times", f"Cancelled {number} times"),
        "whole texts, 34 places": lambda number: Rewrite(edited(text, 34).replace("\n", f" ({number})\n", 3)),
    }
    results = []
    for number, (shape, edit) in enumerate(shapes.items()):
        results += _shape(owner, f"siblings-{number}", shape, text, edit)
    return results


def _shape(owner: str, label: str, shape: str, text: str, edit: Callable[[int], Edit]) -> list[Result]:
    person = User.objects.get(username=owner)
    fields = services.BlockFields(title="", description="", body=text, limit=CHARACTERS * 2)
    services.create_block(actor=person, owner=owner, label=label, fields=fields)
    waiting = [_propose(f"{label}-{number // _OF_ONE_AGENT}", owner, label, edit(number)) for number in range(WAITING)]
    beside = Proposal.objects.filter(pk__in=[proposal.pk for proposal in waiting[1:]])
    page = pages.in_process(
        f"proposal's page, {WAITING - 1} beside it, {shape}",
        waiting[0].get_absolute_url(),
        TUTOR,
        target=TARGET,
        most_queries=MOST_QUERIES,
    )
    services.withdraw(agent=waiting[0].agent, proposal_id=waiting[0].pk)
    approving: list[float] = []
    assessing: list[float] = []
    for number in range(ROUNDS):
        old, new = (f"Arranged {count} times so far." for count in (number, number + 1))
        proposal = _propose("approved", owner, label, Replace(old, new))
        seen = reads.block(owner, label).sha256
        beside.update(mergeability=Mergeability.UNKNOWN)
        began = time.perf_counter()
        services.approve(actor=person, proposal_id=proposal.pk, revision=1, seen_sha256=seen)
        approving.append((time.perf_counter() - began) * 1000)
        while beside.filter(mergeability=Mergeability.UNKNOWN).exists():
            time.sleep(0.005)
        assessing.append((time.perf_counter() - began) * 1000)

    def assess(_: int) -> None:
        beside.update(mergeability=Mergeability.UNKNOWN)
        services.recheck(owner, [("block", label)])

    return [
        page,
        result(f"assess {WAITING - 1} again, {shape}", timed(assess, range(ROUNDS)), target=TARGET),
        result(f"approve, {WAITING - 1} beside it, {shape}", approving),
        result("… until all of them are assessed", assessing, target=TARGET),
    ]


def _propose(agent: str, owner: str, label: str, edit: Edit) -> Proposal:
    return services.propose(
        agent=Agent.objects.get_or_create(name=agent)[0],
        owner=owner,
        label=label,
        edits=[edit],
        kind=Kind.EDIT if isinstance(edit, Replace) else Kind.REWRITE,
        reasoning="She said so.",
    ).proposal
