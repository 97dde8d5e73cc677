"""Clients of `/mcp` in each era, for scribe, who serves alice."""

import pytest

from tests.agent_tools.mcp.peer import MODERN, OLD, Peer


@pytest.fixture(params=[OLD[-1], MODERN])
def peer(request: pytest.FixtureRequest, token: str) -> Peer:
    """scribe's client, in the last version with a handshake and in the one without."""
    return Peer(token, request.param)


@pytest.fixture
def modern(token: str) -> Peer:
    return Peer(token)


@pytest.fixture
def old(token: str) -> Peer:
    return Peer(token, OLD[-1])
