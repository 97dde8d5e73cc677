"""scribe proposes whole blocks of alice's, in one line."""

from typing import Any, Protocol

import pytest

from approvals import services
from approvals.models import Agent


class ProposeBlock(Protocol):
    """`propose_block("diary", body="…")`: scribe proposes a new block of alice's."""

    def __call__(self, label: str = "diary", /, **arguments: Any) -> services.Proposed: ...


class ProposeDeletion(Protocol):
    """`propose_deletion("goals")`: scribe proposes to delete a block of alice's."""

    def __call__(self, label: str = "goals", /, **arguments: Any) -> services.Proposed: ...


NEW = {
    "owner": "alice",
    "title": "Diary",
    "body": "# Monday\nShe read Noether.\n",
    "description": "What she did, day by day.",
    "reasoning": "She keeps telling me about her days.",
}


@pytest.fixture
def propose_block(scribe: Agent) -> ProposeBlock:
    def make(label: str = "diary", /, **arguments: Any) -> services.Proposed:
        return services.propose_block(**({"agent": scribe, "label": label} | NEW | arguments))

    return make


@pytest.fixture
def propose_deletion(scribe: Agent) -> ProposeDeletion:
    def make(label: str = "goals", /, **arguments: Any) -> services.Proposed:
        given = {"agent": scribe, "owner": "alice", "label": label, "reasoning": "All of it is outdated."}
        return services.propose_deletion(**(given | arguments))

    return make
