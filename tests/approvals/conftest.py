"""Browsers in which the people of the tests are signed in, and the proposal that most pages are looked at with."""

import pytest
from django.test import Client

from approvals.models import Agent, Proposal, User
from memory_app.reads import Block
from tests.support.acts import change
from tests.support.fixtures import ClientOf, Propose


@pytest.fixture
def as_alice(alice: User, client_of: ClientOf) -> Client:
    return client_of(alice)


@pytest.fixture
def as_ben(ben: User, client_of: ClientOf) -> Client:
    return client_of(ben)


@pytest.fixture
def as_tim(tim: User, client_of: ClientOf) -> Client:
    return client_of(tim)


@pytest.fixture
def as_mallory(mallory: User, client_of: ClientOf) -> Client:
    return client_of(mallory)


@pytest.fixture
def as_admin(admin: User, client_of: ClientOf) -> Client:
    return client_of(admin)


@pytest.fixture
def proposal(goals: Block, propose: Propose) -> Proposal:
    """Scribe wants to write July where alice's goals say June."""
    return propose(goals, "in June", "in July")


@pytest.fixture
def three_changes(goals: Block, tim: User, scribe: Agent) -> Proposal:
    """Scribe wants to change three places of alice's goals."""
    return change(scribe, ("math", "maths"), ("B2 exam", "C1 exam"), ("one book", "two books"))
