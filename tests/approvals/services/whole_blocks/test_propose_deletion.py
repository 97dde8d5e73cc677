"""An agent proposes to delete a block; a person always decides."""

import pytest

from approvals import services
from approvals.models import Agent, Kind, Proposal, Status, TrustRule, User
from approvals.recovery.integrity import problems
from approvals.services.errors import NoChange, Refusal
from memory_app import reads
from memory_app.dolt.connections import dolt, head_of_main
from memory_app.reads import Block, BlockNotFound
from tests.approvals.services.whole_blocks.conftest import ProposeDeletion
from tests.support.acts import edit
from tests.support.fixtures import MakeBlock, Propose
from tests.support.refusals import refusing


def test_a_deletion_is_a_branch_without_the_block_and_main_stays(
    goals: Block, propose_deletion: ProposeDeletion
) -> None:
    before = head_of_main()
    made = propose_deletion()
    assert head_of_main() == before
    assert reads.block("alice", "goals") == goals
    proposal, revision = made.proposal, made.revision
    assert (proposal.kind, proposal.status, proposal.target_title) == (Kind.DELETE_BLOCK, Status.OPEN, "Learning goals")
    assert (revision.base_text, revision.result_text) == (goals.body, "")
    with pytest.raises(BlockNotFound):
        reads.block_at("alice", "goals", dolt().head(revision.branch))
    # That all of it goes is what the proposal says: it is no warning.
    assert proposal.risks == []
    assert list(problems()) == []


def test_what_is_not_there_cannot_be_deleted(alice: User, propose_deletion: ProposeDeletion) -> None:
    with pytest.raises(BlockNotFound):
        propose_deletion("nothing")


def test_a_read_only_block_stays(alice: User, make_block: MakeBlock, propose_deletion: ProposeDeletion) -> None:
    make_block(alice, "rules", "Be kind.", read_only=True)
    with refusing("block_read_only"):
        propose_deletion("rules")
    assert not Proposal.objects.exists()


def test_a_text_that_changed_since_it_was_read_is_refused(
    alice: User, goals: Block, propose_deletion: ProposeDeletion
) -> None:
    propose_deletion(expected_sha256=goals.body_sha256)
    edit(alice, "goals", "math", "maths")
    with refusing("precondition_failed"):
        propose_deletion(expected_sha256=goals.body_sha256)


def test_the_same_deletion_waits_once_and_an_edit_to_nothing_is_another(
    goals: Block, propose_deletion: ProposeDeletion, propose: Propose
) -> None:
    first = propose_deletion()
    again = propose_deletion(reasoning="Really.")
    assert (again.created, again.proposal.pk) == (False, first.proposal.pk)
    emptied = propose(goals, goals.body, "")
    assert emptied.pk != first.proposal.pk


@pytest.mark.parametrize("needs", ["apply", "small", "ask"])
def test_no_rule_lets_a_deletion_through(
    alice: User, scribe: Agent, goals: Block, propose_deletion: ProposeDeletion, needs: str
) -> None:
    for fields in ({}, {"block": "goals"}, {"kind": Kind.DELETE_BLOCK}):
        TrustRule.objects.create(owner="alice", agent=scribe, needs=needs, made_by=alice, **fields)
    assert propose_deletion().proposal.status == Status.OPEN
    assert reads.block("alice", "goals") == goals


def test_a_rule_about_deletions_is_refused(alice: User) -> None:
    with pytest.raises(Refusal):
        services.create_rule(actor=alice, owner="alice", kind=Kind.DELETE_BLOCK, needs="apply")


def test_a_rule_about_new_blocks_names_no_block(alice: User, goals: Block) -> None:
    services.create_rule(actor=alice, owner="alice", kind=Kind.CREATE_BLOCK, needs="apply")
    with pytest.raises(Refusal):
        services.create_rule(actor=alice, owner="alice", block="goals", kind=Kind.CREATE_BLOCK, needs="apply")


def test_an_edit_becomes_a_deletion_when_its_agent_is_asked_to(
    alice: User, goals: Block, propose: Propose, propose_deletion: ProposeDeletion
) -> None:
    proposal = propose(goals, "likes math", "loves math")
    services.request_changes(actor=alice, proposal_id=proposal.pk, revision=1, comment="Just delete it.")
    done = propose_deletion(proposal_id=proposal.pk)
    assert (done.amended, done.proposal.kind, done.revision.number) == (True, Kind.DELETE_BLOCK, 2)
    with pytest.raises(NoChange):
        propose_deletion(proposal_id=proposal.pk)
    edit(alice, "goals", "math", "maths")
    assert propose_deletion(proposal_id=proposal.pk).revision.base_text == reads.block("alice", "goals").body
    assert list(problems()) == []
