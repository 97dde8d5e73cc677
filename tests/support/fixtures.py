"""The types of the fixtures that are functions, so that a test which calls one wrongly does not pass the type check.

Belongs here: protocols of what tests/conftest.py returns. Not here: the fixtures, and helpers that tests import.
"""

from typing import Any, Protocol

from django.test import Client

from approvals.models import Proposal, User
from memory_app.reads import Block


class ClientOf(Protocol):
    """`client_of(tim)`: a Django test client in which tim is signed in."""

    def __call__(self, user: User, /) -> Client: ...


class MakeBlock(Protocol):
    """`make_block(alice, "goals", body)`: write a block as its owner; the block as it reads back."""

    def __call__(
        self, owner: User, label: str, body: str, *, title: str = "", limit: int = 20_000, read_only: bool = False
    ) -> Block: ...


class Propose(Protocol):
    """`propose(block, old, new)`: scribe proposes one replacement; the proposal.

    Further arguments are those of `services.propose`, such as `idempotency_key`.
    """

    def __call__(
        self, block: Block, old: str, new: str, *, reasoning: str = "Alice said so.", **arguments: Any
    ) -> Proposal: ...
