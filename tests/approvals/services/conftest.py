"""What tests of services share: a proposal that waits, and a look at the end whether everything agrees."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from approvals.models import Policy, Proposal, User
from approvals.recovery.integrity import problems
from approvals.services import merge
from memory_app import reads
from memory_app.reads import Block
from tests.support.background import wait_for_threads
from tests.support.fixtures import Propose

BeforeMerge = Callable[[Callable[[], object]], None]


def body(label: str = "goals") -> str:
    """The text of a block of alice's as it is now."""
    return reads.block("alice", label).body


@pytest.fixture(autouse=True)
def sound(request: pytest.FixtureRequest, fresh_databases: None) -> Iterator[None]:
    """At the end of every test memory, ledger, proposals and branches agree; `unsound` is for those that break them."""
    yield
    wait_for_threads()
    assert "unsound" in request.fixturenames or list(problems()) == []


@pytest.fixture
def unsound() -> None:
    """Let the test leave behind what the check finds fault with."""


@pytest.fixture
def ask_first(alice: User) -> None:
    """Let alice's notes wait for a person."""
    Policy.objects.create(owner="alice", notes=Policy.Notes.REVIEW)


@pytest.fixture
def proposal(goals: Block, propose: Propose) -> Proposal:
    """Of scribe, who would write `maths` for `math` in alice's goals."""
    return propose(goals, "math", "maths")


@pytest.fixture
def just_before_the_merge(monkeypatch: pytest.MonkeyPatch) -> BeforeMerge:
    """`just_before_the_merge(act)`: somebody acts between the look at the target and the merge of an approval."""

    def arrange(act: Callable[[], object]) -> None:
        write, left = merge._write, [act]

        def after_it(*arguments: Any) -> Any:
            while left:
                left.pop()()
            return write(*arguments)

        monkeypatch.setattr(merge, "_write", after_it)

    return arrange
