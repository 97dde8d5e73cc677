"""Undoing what an approval or a policy brought into the memory, when the process that does it dies on the way."""

import pytest

from approvals import services
from approvals.models import Agent, Proposal, User
from approvals.recovery.integrity import problems
from approvals.services import notes
from approvals.services.errors import AlreadyUndone
from approvals.services.notes import ChangeContext
from memory_app import reads
from memory_app.reads import Block
from tests.support.acts import approve
from tests.support.crashing import killed
from tests.support.fixtures import Propose

pytestmark = pytest.mark.slow

#: Where it dies: before the ledger's row, before the proposal's, after both.
CRASHES = ["commits.record = die", "events.record = die", "undoing.after_change = die"]


def killed_while_undoing(crash: str) -> None:
    killed(
        f"""
        from approvals.models import Proposal, User
        from approvals import services
        from approvals.services import events
        from memory_app.writing import commits
        undoing = sys.modules["approvals.services.undo"]  # the package has a function of that name
        {crash}
        services.undo(actor=User.objects.get(username="alice"), proposal_id=Proposal.objects.get().pk, comment="Why.")
        """
    )


@pytest.fixture(params=["applied", "approved"])
def taken(
    request: pytest.FixtureRequest, alice: User, tim: User, scribe: Agent, goals: Block, propose: Propose
) -> Proposal:
    if request.param == "approved":
        return approve(tim, propose(goals, "math", "maths"))
    made = notes.save(by=ChangeContext(actor=scribe, may_apply=True), owner="alice", content="Wrong.")
    assert made.proposal is not None
    return made.proposal


def is_taken_back(proposal: Proposal, goals: Block) -> bool:
    proposal.refresh_from_db()
    (newest, *_) = reads.history("alice", proposal.target_kind, proposal.target)
    assert (newest.action, newest.actor, newest.commit) == ("reverted", "alice", proposal.reverted_by_commit)
    assert newest.comment == "Why."
    (event,) = proposal.events.filter(what="reverted")
    assert (event.actor, event.text, event.data) == ("alice", "Why.", {"commit": newest.commit})
    assert reads.notes("alice") == ()
    assert reads.block("alice", "goals").body == goals.body
    return not list(problems())


@pytest.mark.parametrize("crash", CRASHES)
def test_it_is_finished_by_recovery(taken: Proposal, goals: Block, crash: str) -> None:
    killed_while_undoing(crash)
    report = services.recover()
    assert report.reverted == (0 if "after_change" in crash else 1)
    assert is_taken_back(taken, goals)
    assert services.recover().reverted == 0


@pytest.mark.parametrize("crash", CRASHES[:-1])
def test_it_is_finished_by_whoever_presses_again(taken: Proposal, goals: Block, tim: User, crash: str) -> None:
    killed_while_undoing(crash)
    undone = services.undo(actor=tim, proposal_id=taken.pk, comment="Another reason.")
    assert undone.reverted_by_commit
    assert is_taken_back(taken, goals)
    with pytest.raises(AlreadyUndone):
        services.undo(actor=tim, proposal_id=taken.pk)
