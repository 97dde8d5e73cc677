"""Proposing and approving in turns, so that a usual number of proposals waits and not all of them."""

from approvals.models import Proposal
from benchmarks import approve, propose
from benchmarks.measure import Result, result
from benchmarks.population import TUTOR, Target
from benchmarks.processes import Session

TURN = 46
WARM_UP = 10


def measure(
    agent: Session, person: Session, targets: list[Target], *, propose_ms: float, approve_ms: float
) -> list[Result]:
    """Propose and approve one edit of each block.

    Args:
        propose_ms, approve_ms: the targets for this engine.
    """
    proposing: list[float] = []
    reading: list[float] = []
    approving: list[float] = []
    serving: list[float] = []
    at_once: list[tuple[float, float]] = []
    for begin in range(0, len(targets), TURN):
        times, proposals = propose.through_http(agent, targets[begin : begin + TURN])
        proposing += times
        half = len(proposals) // 2
        pages, decisions = approve.through_pages(person, proposals[:half])
        reading += pages
        approving += decisions
        if begin // TURN % 2 or len(proposals) < TURN:
            serving += approve.by_service(proposals[half:], TUTOR)
        else:
            at_once.append(approve.at_once(proposals[half:], TUTOR))
    if open_still := Proposal.objects.open().count():
        raise RuntimeError(f"{open_still} proposals were not decided")
    waiting = f"1 to {TURN} waiting"
    return [
        result("propose, HTTP", proposing[WARM_UP:], target=propose_ms, note=waiting),
        result("proposal's page, HTTP", reading[WARM_UP:]),
        result("approve, HTTP", approving[WARM_UP:], target=approve_ms),
        result("approve, the service alone", serving[WARM_UP:], target=approve_ms),
        result(f"approve {TURN // 2} at once, the service", [each[0] for each in at_once], target=1_000),
        result(f"undo these {TURN // 2} at once, the service", [each[1] for each in at_once], target=1_000),
    ]
