"""Taking back what policy applied, when the process that does it dies on the way."""

from __future__ import annotations

import pytest

from approvals import services
from approvals.models import Agent, Proposal, User
from approvals.recovery.integrity import problems
from approvals.services import notes
from approvals.services.errors import AlreadyDecided
from approvals.services.notes import ChangeContext
from memory_app import reads
from tests.approvals.recovery.test_recover import killed

pytestmark = pytest.mark.slow

#: Where it dies: before the ledger's row, before the proposal's, after both.
CRASHES = ["commits.record = die", "revert.finish_reverting = die", "events.record = die", "revert.after_change = die"]


def killed_while_reverting(crash: str) -> None:
    killed(
        f"""
        from approvals.models import Proposal, User
        from approvals.services import events, notes
        from memory_app.writing import commits
        revert = sys.modules["approvals.services.notes.revert"]
        {crash}
        revert.revert(actor=User.objects.get(username="alice"), proposal_id=Proposal.objects.get().pk)
        """
    )


@pytest.fixture
def applied(alice: User, scribe: Agent) -> Proposal:
    made = notes.save(by=ChangeContext(actor=scribe, may_apply=True), owner="alice", content="Wrong.")
    assert made.proposal is not None
    return made.proposal


def is_put_down(proposal: Proposal) -> bool:
    proposal.refresh_from_db()
    (newest, *_) = reads.history("alice", "note", proposal.target)
    assert (newest.action, newest.actor, newest.commit) == ("reverted", "alice", proposal.reverted_by_commit)
    assert [(event.what, event.actor) for event in proposal.events.all()] == [
        ("applied", "scribe"),
        ("reverted", "alice"),
    ]
    assert reads.notes("alice") == ()
    return not list(problems())


@pytest.mark.parametrize("crash", CRASHES)
def test_it_is_finished_by_recovery(applied: Proposal, crash: str) -> None:
    killed_while_reverting(crash)
    report = services.recover()
    assert report.reverted == (0 if "after_change" in crash else 1)
    assert is_put_down(applied)
    assert services.recover().reverted == 0


@pytest.mark.parametrize("crash", CRASHES[:-1])
def test_it_is_finished_by_whoever_presses_again(applied: Proposal, tim: User, crash: str) -> None:
    killed_while_reverting(crash)
    change = notes.revert(actor=tim, proposal_id=applied.pk)
    assert (change.action, change.actor) == ("reverted", "alice")
    assert is_put_down(applied)
    with pytest.raises(AlreadyDecided):
        notes.revert(actor=tim, proposal_id=applied.pk)
