"""Who a commit is by, as Dolt stores it."""

from __future__ import annotations

from memory_app.dolt.types import Author

ASSENT = Author("Assent", "assent@assent.invalid")


UNKNOWN = Author("unknown", "unknown@assent.invalid")


def person(username: str, name: str = "") -> Author:
    """The author line of a person. The address only tells people and agents apart: real ones would
    stay in the log for ever."""
    return Author(name or username, f"{username}@person.assent.invalid")


def agent(name: str) -> Author:
    return Author(name, f"{name}@agent.assent.invalid")
