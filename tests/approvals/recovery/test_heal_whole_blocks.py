"""After a restore of an older `default`: new blocks and deletions that only the memory still has."""

from __future__ import annotations

from pathlib import Path

import pytest

from approvals import services
from approvals.models import Agent, Kind, Proposal, Status, User
from approvals.recovery.integrity import problems
from approvals.review.targets import current_state
from memory_app import reads
from memory_app.reads import Block
from tests.support.acts import approve
from tests.support.older import older_default

pytestmark = pytest.mark.slow


def propose_block(scribe: Agent) -> Proposal:
    given = {"title": "Diary", "body": "She read.", "description": "Her days.", "reasoning": "r"}
    return services.propose_block(agent=scribe, owner="alice", label="diary", **given).proposal


def propose_deletion(scribe: Agent) -> Proposal:
    return services.propose_deletion(agent=scribe, owner="alice", label="goals", reasoning="r").proposal


def test_what_waited_only_in_the_memory_waits_again_as_what_it_was(
    goals: Block, scribe: Agent, tim: User, tmp_path: Path
) -> None:
    with older_default(tmp_path):
        new, deletion = propose_block(scribe).pk, propose_deletion(scribe).pk
    assert services.recover(trust_log=True).recreated_proposals == 2
    block, gone = Proposal.objects.get(pk=new), Proposal.objects.get(pk=deletion)
    assert (block.kind, block.status, block.target_title) == (Kind.CREATE_BLOCK, Status.OPEN, "Diary")
    assert (gone.kind, gone.status) == (Kind.DELETE_BLOCK, Status.OPEN)
    assert list(problems()) == []
    approve(tim, block)
    approve(tim, gone)
    assert reads.block("alice", "diary").description == "Her days."
    assert reads.find_block("alice", "goals") is None
    assert list(problems()) == []


def test_what_was_approved_since_can_be_undone(goals: Block, scribe: Agent, tim: User, tmp_path: Path) -> None:
    with older_default(tmp_path):
        approve(tim, propose_block(scribe))
        approve(tim, propose_deletion(scribe))
    services.recover(trust_log=True)
    kinds = set(Proposal.objects.values_list("kind", "status"))
    assert kinds == {(Kind.CREATE_BLOCK, Status.APPROVED), (Kind.DELETE_BLOCK, Status.APPROVED)}
    assert list(problems()) == []
    for proposal in Proposal.objects.all():
        services.undo(actor=tim, proposal_id=proposal.pk)
    assert [block.label for block in reads.blocks("alice")] == ["goals"]


def test_one_reworded_and_approved_since_keeps_its_own_revision(
    goals: Block, scribe: Agent, tim: User, tmp_path: Path
) -> None:
    proposal = propose_block(scribe)
    with older_default(tmp_path):
        services.approve_edited(
            actor=tim,
            proposal_id=proposal.pk,
            revision=1,
            seen_sha256=current_state(proposal, proposal.current_revision).sha256,
            title="Days",
            text="She read twice.",
        )
    services.recover(trust_log=True)
    proposal.refresh_from_db()
    assert (proposal.status, proposal.approval, proposal.current_revision_number) == (Status.APPROVED, "edited", 2)
    assert list(problems()) == []
