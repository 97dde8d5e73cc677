"""How the tests of the agent API speak to it: as a machine, over HTTP, with a token."""

import json
from collections.abc import Iterable
from typing import Any, Protocol

import pytest
from django.test import Client

from approvals.models import Agent, Policy, Proposal, User
from memory_app.reads import Block
from tests.support.fixtures import Propose


class Machine:
    """An HTTP client of an agent. Answers are Django's test responses; `.json()` is the payload."""

    def __init__(self, token: str | None) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.http = Client(headers=headers)

    def get(self, path: str, **headers: str) -> Any:
        return self.http.get(path, headers=headers)

    def post(self, path: str, body: Any = None, **headers: str) -> Any:
        raw = body if isinstance(body, str | bytes) else json.dumps({} if body is None else body)
        return self.http.post(path, raw, content_type="application/json", headers=headers)

    def call(self, tool: str, /, **arguments: Any) -> Any:
        return self.post(f"/api/v1/tools/{tool}/", arguments)


class Call(Protocol):
    """`call("read_memory_block", block_label="goals")`: the answer to a tool's call, over HTTP."""

    def __call__(self, tool: str, /, **arguments: Any) -> Any: ...


class Issue(Protocol):
    """`issue(alice, ben, scopes=[...])`: the secret of a new token of scribe's, or of `agent`'s."""

    def __call__(
        self, *owners: User, scopes: Iterable[str] | None = None, agent: Agent | None = None, **more: Any
    ) -> str: ...


@pytest.fixture
def api(token: str) -> Machine:
    """scribe's client, serving alice with every scope."""
    return Machine(token)


@pytest.fixture
def call(api: Machine) -> Call:
    """`call("read_memory_block", block_label="goals")` as scribe, for alice."""
    return api.call


@pytest.fixture
def issue(scribe: Agent) -> Issue:
    """`issue(alice, ben, scopes=[...])`: the secret of a new token of scribe's."""
    from agent_tools import auth
    from agent_tools.models import Scope

    def make(*owners: User, scopes: Iterable[str] | None = None, agent: Agent | None = None, **more: Any) -> str:
        return auth.issue(agent=agent or scribe, owners=owners, scopes=scopes or Scope.values, **more).secret

    return make


@pytest.fixture
def careful(issue: Issue, alice: User) -> Machine:
    """scribe's client with a token that may only propose: what it writes of notes waits."""
    return Machine(issue(alice, scopes=["memory:read", "memory:propose"]))


@pytest.fixture
def reader(issue: Issue, alice: User) -> Machine:
    """scribe's client with a token that may only read."""
    return Machine(issue(alice, scopes=["memory:read"]))


@pytest.fixture
def historian(issue: Issue, alice: User) -> Machine:
    """scribe's client with a token that may read what was deleted, too."""
    return Machine(issue(alice, scopes=["memory:read", "memory:history"]))


@pytest.fixture
def rival(issue: Issue, alice: User) -> Machine:
    """Another agent's client, serving alice with every scope."""
    return Machine(issue(alice, agent=Agent.objects.create(name="rival")))


@pytest.fixture
def ask_first(alice: User) -> None:
    """alice wants to be asked before agents write notes."""
    Policy.objects.create(owner=alice.username, notes=Policy.Notes.REVIEW)


@pytest.fixture
def proposal(goals: Block, propose: Propose) -> Proposal:
    """A proposal of scribe's that waits: alice loves math."""
    return propose(goals, "likes math", "loves math")
