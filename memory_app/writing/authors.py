"""The authors of commits, as Dolt stores them."""

from memory_app.dolt.types import Author

ASSENT = Author("Assent", "assent@assent.invalid")


UNKNOWN = Author("unknown", "unknown@assent.invalid")


def person(username: str, name: str = "") -> Author:
    """Return the author of a person's commit.

    The address only distinguishes people from agents. A real address would stay in the log for ever.
    """
    return Author(name or username, f"{username}@person.assent.invalid")


def agent(name: str) -> Author:
    return Author(name, f"{name}@agent.assent.invalid")
