"""The first page of an inbox in which 10,000 proposals wait: of their tutor, and of an administrator."""

from __future__ import annotations

from django.db import connections
from django.test import Client
from django.test.utils import CaptureQueriesContext

from approvals.models import User
from benchmarks.measure import Result, result, timed
from benchmarks.processes import HOST, Session

TARGET = 60.0
MOST_QUERIES = 12
ROUNDS = 40


def measure(person: Session, tutor: str, waiting: int) -> list[Result]:
    through_http = timed(lambda _: person.get("/"), range(ROUNDS + 5), warm_up=5)
    return [
        _in_process(f"inbox, 25 of {waiting:,}, tutor", tutor),
        _in_process(f"inbox, 25 of {waiting:,}, admin", "admin"),
        result(f"inbox, 25 of {waiting:,}, tutor, HTTP", through_http, target=TARGET),
    ]


def _in_process(case: str, username: str) -> Result:
    client = Client(headers={"host": HOST})
    client.force_login(User.objects.get(username=username))
    times = timed(lambda _: client.get("/"), range(ROUNDS + 5), warm_up=5)
    queries = 0
    for alias in connections:
        with CaptureQueriesContext(connections[alias]) as captured:
            client.get("/")
        queries += len(captured)
    note = f"{queries} queries (≤ {MOST_QUERIES})"
    return result(case, times, target=TARGET, note=note)
