"""The board of a tutor with 200 students and of an administrator, with proposals waiting and decided, and twelve weeks.

`make bench ARGS='--part board'` runs it alone.
"""

from django.db.models import F

from approvals.models import Proposal, Status
from benchmarks import pages, population
from benchmarks.measure import Result

STUDENTS = 200
TARGET = 100.0
MOST_QUERIES = 12


def measure(students: tuple[str, ...], waiting: int) -> list[Result]:
    """Measure an empty board, and one where so many proposals wait and as many again are decided."""
    results = [_board("board, 200 students, nothing waits", population.TUTOR)]
    population.make_open_rows(students, 2 * waiting)
    _decide_half()
    case = f"board, 200 students, {waiting:,} waiting, {waiting:,} decided"
    results += [_board(f"{case}, tutor", population.TUTOR), _board(f"{case}, admin", "admin")]
    return [*results, _board(f"{case}, week by week", population.TUTOR, "?show=numbers")]


def _decide_half() -> None:
    every = list(Proposal.objects.open().order_by("pk").values_list("pk", flat=True))[::2]
    for number, status in enumerate((Status.APPROVED, Status.REJECTED, Status.APPLIED)):
        mine = every[number::3]
        for start in range(0, len(mine), 1_000):
            rows = Proposal.objects.filter(pk__in=mine[start : start + 1_000])
            rows.update(status=status, decided_at=F("created_at"))


def _board(case: str, username: str, query: str = "") -> Result:
    return pages.in_process(case, f"/memory/{query}", username, target=TARGET, most_queries=MOST_QUERIES)
