"""What this machine can do at all: the figures the cases are set against, so that two machines can be compared.

No code of ours is measured here but the web server.
"""

import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median

from benchmarks import processes
from benchmarks.measure import Result, result, timed


def references(folder: Path) -> list[Result]:
    """The machine's figures, measured now.

    Args:
        folder: on the disk that will hold the data.
    """
    return [_loop(), _commit(folder), _round_trip(folder)]


def _loop() -> Result:
    return result("loop", _loops(50), note="adding 100,000 numbers in Python")


def beside(measure: Callable[[], list[Result]]) -> list[Result]:
    """Run cases with the loop before and after them; their results with the ratio to it."""
    before = _loops(20)
    results = measure()
    loop = median(before + _loops(20))
    return [replace(one, ratio=one.p50 / loop) for one in results]


def _loops(count: int) -> list[float]:
    def add(_: int) -> None:
        total = 0
        for number in range(100_000):
            total += number

    return timed(add, range(count + 5), warm_up=5)


def _commit(folder: Path) -> Result:
    path = folder / "reference.sqlite3"
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode=DELETE")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("CREATE TABLE reference (number INTEGER, text TEXT)")
        insert = "INSERT INTO reference VALUES (?, ?)"
        times = timed(lambda number: connection.execute(insert, (number, "x" * 1000)), range(110), warm_up=10)
    finally:
        connection.close()
        path.unlink()
    return result("commit", times, note="one row into plain SQLite, with fsync")


def _round_trip(folder: Path) -> Result:
    with processes.web_server("benchmarks.trivial", folder, {}) as port:
        session = processes.Session(port)
        times = timed(lambda _: session.get("/"), range(320), warm_up=20)
        session.close()
    return result("round trip", times, note="HTTP on loopback to an empty application in the same web server")
