"""The first memory database, where a test's site has no other: by the names of `memory_app.dolt.connections`."""

from contextlib import AbstractContextManager

from memory_app.dolt import connections
from memory_app.dolt.operations import DoltOperations
from memory_app.dolt.types import FIRST

#: Whoever has no memory yet reads the first database.
_ANYBODY = "anybody"


def dolt() -> DoltOperations:
    return connections.dolt_of(FIRST)


def head_of_main() -> str:
    return dolt().head()


def open_at(revision: str) -> AbstractContextManager[DoltOperations]:
    return connections.open_at(_ANYBODY, revision)


def dolt_transaction(*, takes_stray_rows: bool = False) -> AbstractContextManager[DoltOperations]:
    return connections.transaction_on(FIRST, takes_stray_rows=takes_stray_rows)
