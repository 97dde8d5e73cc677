"""Which database has an owner's memory. An owner never changes the database."""

from memory_app.dolt.types import FIRST


def databases() -> list[str]:
    """Return the names of all memory databases, the first one first."""
    return [FIRST]


def database_of(owner: str) -> str:
    """Return the database to read an owner's memory from."""
    return FIRST


def database_for(owner: str) -> str:
    """Return the database to write an owner's memory to; the first write of an owner chooses it."""
    return FIRST
