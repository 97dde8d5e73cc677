"""The first page of an inbox in which 10,000 proposals wait: of their tutor, and of an administrator."""

from benchmarks import pages
from benchmarks.measure import Result, result, timed
from benchmarks.pages import ROUNDS
from benchmarks.processes import Session

TARGET = 60.0
MOST_QUERIES = 12


def measure(person: Session, tutor: str, waiting: int) -> list[Result]:
    person.get("/")  # looks after what was left half done: rows without branches, of which these have 10,000
    in_process = [
        _in_process(f"inbox, 25 of {waiting:,}, tutor", tutor),
        _in_process(f"inbox, 25 of {waiting:,}, admin", "admin"),
    ]
    through_http = timed(lambda _: person.get("/"), range(ROUNDS + 5), warm_up=5)
    return [
        *in_process,
        result(f"inbox, 25 of {waiting:,}, tutor, HTTP", through_http, target=TARGET),
    ]


def _in_process(case: str, username: str) -> Result:
    return pages.in_process(case, "/", username, target=TARGET, most_queries=MOST_QUERIES)
