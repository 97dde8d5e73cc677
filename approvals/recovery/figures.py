"""The figures of one database of the memory, for `/metrics`: they name no person, agent or text."""

from dataclasses import dataclass

from approvals.recovery.ledger import LOOK_BACK, expected_entries, in_ledger
from memory_app.dolt.connections import branches, dolt_of
from memory_app.dolt.maintenance import Sizes, sizes


@dataclass(frozen=True)
class MemoryFigures:
    """What there is to see of a database of the memory.

    Args:
        branches: of undecided proposals.
        behind: commits of main newer than the ledger's newest, of the last hundred or so.
        sizes: None on a server, which keeps its files to itself.
    """

    branches: int
    behind: int
    sizes: Sizes | None


def of_memory(database: str) -> MemoryFigures:
    """Return the figures of a database. Raises DoltError or DatabaseError while it does not answer."""
    own = dolt_of(database).own_log(limit=LOOK_BACK)
    recorded = in_ledger(commit.hash for commit in own)
    newest = next((number for number, commit in enumerate(own) if commit.hash in recorded), 0)
    behind = sum(bool(expected_entries(database, commit)) for commit in own[:newest])  # none for a change of schema
    return MemoryFigures(branches=len(branches(database)), behind=behind, sizes=sizes(database))
