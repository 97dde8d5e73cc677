"""An index that follows the memory: saving so that it is found, waiting until it is up to date, and what is found."""

from typing import Any

from approvals.models import User
from memory_app.search import index_state, store
from memory_app.search.service import search
from tests.conftest import eventually
from tests.support import acts


def up_to_date(owner: str = "alice") -> None:
    store.settle()  # what this process asked for would be done a moment later, beside what the test does next
    eventually(lambda: not index_state.is_behind(owner), seconds=60)


def texts(query: str, owner: str = "alice", **more: Any) -> list[str]:
    return [hit.text for hit in search(owner, query, **more).results]


def save(owner: User, content: str, **fields: Any) -> str:
    """Save a note and have it indexed; its id."""
    id_ = acts.save(owner, content, **fields)
    search(owner.username, "the first search makes the index")
    up_to_date(owner.username)
    return id_
