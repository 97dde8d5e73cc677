"""A page asked for in this process: its time, and how many queries it makes."""

from collections.abc import Callable

from django.db import connections
from django.test import Client
from django.test.utils import CaptureQueriesContext

from approvals.models import User
from benchmarks.measure import Result, result, timed
from benchmarks.processes import HOST

ROUNDS = 40


def in_process(
    case: str,
    path: str,
    username: str,
    *,
    target: float | None,
    most_queries: int,
    before_each: Callable[[], None] | None = None,
) -> Result:
    """The page at `path` as `username` gets it, again and again; `before_each` time that is done, which is measured."""
    client = Client(headers={"host": HOST})
    client.force_login(User.objects.get(username=username))

    def get(_: int) -> None:
        if before_each:
            before_each()
        if (status := client.get(path).status_code) != 200:
            raise RuntimeError(f"{path} answered {status}")

    times = timed(get, range(ROUNDS + 5), warm_up=5)
    queries = 0
    for alias in connections:
        with CaptureQueriesContext(connections[alias]) as captured:
            client.get(path)
        queries += len(captured)
    return result(case, times, target=target, note=f"{queries} queries (≤ {most_queries})")
