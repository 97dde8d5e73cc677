"""People decide about new blocks and deletions, and about what else waits for the same block."""

import pytest

from approvals import services
from approvals.models import Agent, Approval, Event, Mergeability, Proposal, RejectReason, Status, User
from approvals.permissions import ReviewAction
from approvals.recovery.integrity import problems
from approvals.review.collisions import CollisionEffect
from approvals.review.presentation import review_of
from approvals.review.turn import BLOCK_DELETED, BLOCK_EXISTS, change_request
from approvals.review.undo import plan_undo
from approvals.services.errors import DecisionRefused, TargetChanged
from memory_app import reads
from memory_app.models import Change
from memory_app.reads import Block
from tests.approvals.services.whole_blocks.conftest import NEW, ProposeBlock, ProposeDeletion
from tests.support.acts import approve, as_seen, assert_ledger, edit
from tests.support.fixtures import MakeBlock, Propose
from tests.support.refusals import refusing


def again(proposal: Proposal) -> Proposal:
    """The proposal as it is, once what a worker does after a change is done."""
    services.recheck("alice", [("block", proposal.target)])
    proposal.refresh_from_db()
    return proposal


def delete(alice: User, label: str = "goals") -> None:
    block = reads.block("alice", label)
    services.delete_block(actor=alice, owner="alice", label=label, loaded_sha256=block.sha256)


# -- new blocks -----------------------------------------------------------------------------------


def test_an_approved_new_block_is_in_the_memory(alice: User, tim: User, propose_block: ProposeBlock) -> None:
    proposal = propose_block().proposal
    done = approve(tim, proposal)
    block = reads.block("alice", "diary")
    assert (block.title, block.description, block.body) == (NEW["title"], NEW["description"], NEW["body"])
    assert (done.status, done.approval) == (Status.APPROVED, Approval.AS_PROPOSED)
    assert_ledger("diary", action="approved", actor="tim", agent="scribe", commit=done.merge_commit)
    assert list(problems()) == []


def test_a_new_block_is_approved_while_the_memory_goes_on(
    alice: User, goals: Block, propose_block: ProposeBlock
) -> None:
    proposal = propose_block().proposal
    edit(alice, "goals", "math", "maths")
    approve(alice, proposal)
    assert reads.block("alice", "diary").title == "Diary"
    assert "maths" in reads.block("alice", "goals").body


@pytest.mark.parametrize("text", ["# Monday\nNoether.\n", NEW["body"]])
def test_a_reviewer_rewords_title_and_text_of_a_new_block(alice: User, propose_block: ProposeBlock, text: str) -> None:
    proposal = propose_block().proposal
    done = services.approve_edited(actor=alice, **as_seen(proposal), title="My days", text=text)
    block = reads.block("alice", "diary")
    assert (block.title, block.body, block.description) == ("My days", text, NEW["description"])
    assert (done.approval, done.current_revision.made_by) == (Approval.EDITED, alice)
    assert list(problems()) == []


def test_a_new_block_may_be_emptied_and_may_not_pass_its_limit(alice: User, propose_block: ProposeBlock) -> None:
    proposal = propose_block().proposal
    with refusing("over_limit"):
        services.approve_edited(actor=alice, **as_seen(proposal), text="x" * 20_001)
    services.approve_edited(actor=alice, **as_seen(proposal), text="")
    assert reads.block("alice", "diary").body == ""


def test_two_agents_with_one_label_collide_and_the_other_goes_back_to_its_agent(
    alice: User, propose_block: ProposeBlock
) -> None:
    mine = propose_block().proposal
    other = propose_block(agent=Agent.objects.create(name="mentor"), body="Other words.").proposal
    (collision,) = review_of(mine, alice).collisions
    assert collision.other == other
    assert collision.effect is collision.back is CollisionEffect.NO_LONGER_FITS
    approve(alice, mine)
    other = again(other)
    assert (other.status, other.mergeability) == (Status.CHANGES_REQUESTED, Mergeability.CONFLICT)
    asked = change_request(other)
    assert (asked.by, asked.automatic) == ("", BLOCK_EXISTS)
    with refusing("conflict"):
        approve(alice, other, is_with_agent=True)


def test_two_agents_with_the_same_block_are_settled_by_one_approval(alice: User, propose_block: ProposeBlock) -> None:
    mine = propose_block().proposal
    other = propose_block(agent=Agent.objects.create(name="mentor")).proposal
    (collision,) = review_of(mine, alice).collisions
    assert collision.effect is collision.back is CollisionEffect.SETTLED
    approve(alice, mine)
    assert (again(other).status, other.mergeability) == (Status.OPEN, Mergeability.ALREADY_APPLIED)
    with refusing("already_applied"):
        approve(alice, other)
    services.close_already_applied(actor=alice, **as_seen(other))
    assert again(other).was_already_applied


def test_a_label_that_a_person_took_in_between_is_a_conflict(
    alice: User, make_block: MakeBlock, propose_block: ProposeBlock
) -> None:
    proposal = propose_block().proposal
    made = make_block(alice, "diary", "My own.")
    assert again(proposal).mergeability == Mergeability.CONFLICT
    actions = review_of(proposal, alice).actions
    assert actions == {ReviewAction.REJECT, ReviewAction.REQUEST_CHANGES}
    with pytest.raises(TargetChanged):
        approve(alice, proposal, seen_sha256="")
    with refusing("conflict"):
        approve(alice, proposal)
    assert reads.block("alice", "diary") == made


def test_a_label_that_was_free_again_can_be_approved(
    alice: User, make_block: MakeBlock, propose_block: ProposeBlock
) -> None:
    proposal = propose_block().proposal
    make_block(alice, "diary", "My own.")
    delete(alice, "diary")
    assert again(proposal).mergeability == Mergeability.CLEAN
    approve(alice, proposal)
    assert reads.block("alice", "diary").body == NEW["body"]


def test_a_rejected_new_block_leaves_nothing_and_can_be_opened_again(alice: User, propose_block: ProposeBlock) -> None:
    proposal = propose_block().proposal
    services.reject(actor=alice, proposal_id=proposal.pk, revision=1, reason=RejectReason.WRONG)
    assert reads.find_block("alice", "diary") is None
    services.undo(actor=alice, proposal_id=proposal.pk)
    assert again(proposal).status == Status.OPEN
    approve(alice, proposal)
    assert reads.block("alice", "diary").body == NEW["body"]


def test_a_new_block_rejected_as_too_private_leaves_no_word(alice: User, propose_block: ProposeBlock) -> None:
    proposal = propose_block().proposal
    services.reject(actor=alice, proposal_id=proposal.pk, revision=1, reason=RejectReason.TOO_PRIVATE)
    proposal = again(proposal)
    assert proposal.target_title == "diary"
    revision = proposal.revisions.get()
    assert (revision.result_text, revision.edits) == ("", [])


def test_a_rejected_new_block_that_is_proposed_again_answers_the_rejection(
    alice: User, propose_block: ProposeBlock
) -> None:
    first = propose_block().proposal
    services.reject(actor=alice, proposal_id=first.pk, revision=1, reason=RejectReason.BADLY_WORDED)
    assert propose_block(body="# Monday\nShe read a book by Noether.\n").proposal.answers_id == first.pk


# -- deletions ------------------------------------------------------------------------------------


def test_an_approved_deletion_takes_the_block_out(
    alice: User, tim: User, goals: Block, propose_deletion: ProposeDeletion
) -> None:
    proposal = propose_deletion().proposal
    done = approve(tim, proposal)
    assert reads.find_block("alice", "goals") is None
    assert_ledger("goals", action="approved", actor="tim", agent="scribe", commit=done.merge_commit)
    assert list(problems()) == []


def test_a_deletion_is_approved_against_the_text_that_was_seen(
    alice: User, goals: Block, propose_deletion: ProposeDeletion
) -> None:
    proposal = propose_deletion().proposal
    edit(alice, "goals", "likes math", "loves mathematics")
    assert again(proposal).mergeability == Mergeability.REBASABLE
    with pytest.raises(TargetChanged):
        approve(alice, proposal, seen_sha256=goals.sha256)
    assert "loves mathematics" in reads.block("alice", "goals").body
    shown = review_of(proposal, alice)
    assert "loves mathematics" in shown.before_text
    assert shown.after_text == ""
    done = approve(alice, proposal, seen_sha256=shown.seen_sha256)
    assert reads.find_block("alice", "goals") is None
    assert "loves mathematics" in done.current_revision.base_text
    assert list(problems()) == []


def test_a_block_changed_and_changed_back_is_deleted(
    alice: User, goals: Block, propose_deletion: ProposeDeletion
) -> None:
    proposal = propose_deletion().proposal
    edit(alice, "goals", "math", "maths")
    edit(alice, "goals", "maths", "math")
    approve(alice, proposal)
    assert reads.find_block("alice", "goals") is None


def test_a_block_that_its_owner_deleted_first_is_already_gone(
    alice: User, goals: Block, propose_deletion: ProposeDeletion
) -> None:
    proposal = propose_deletion().proposal
    other = propose_deletion(agent=Agent.objects.create(name="mentor")).proposal
    (collision,) = review_of(proposal, alice).collisions
    assert (collision.other, collision.effect, collision.back) == (other, *[CollisionEffect.SETTLED] * 2)
    delete(alice)
    assert again(proposal).mergeability == Mergeability.ALREADY_APPLIED
    services.close_already_applied(actor=alice, **as_seen(proposal))
    assert again(proposal).was_already_applied


def test_a_deletion_is_taken_whole(alice: User, goals: Block, propose_deletion: ProposeDeletion) -> None:
    proposal = propose_deletion().proposal
    whole = {ReviewAction.APPROVE, ReviewAction.REJECT, ReviewAction.REQUEST_CHANGES}
    assert review_of(proposal, alice).actions == whole
    with pytest.raises(DecisionRefused):
        services.approve_edited(actor=alice, **as_seen(proposal), text="Something.")
    with pytest.raises(DecisionRefused):
        services.approve_some(actor=alice, **as_seen(proposal), accepted=["1"], rest=services.Rest.AGENT)
    assert reads.block("alice", "goals") == goals


def test_a_deletion_is_never_approved_among_others(
    alice: User, goals: Block, propose_deletion: ProposeDeletion
) -> None:
    proposal = propose_deletion().proposal
    item = services.Item(proposal.pk, 1, goals.sha256)
    outcome = services.decide_several(actor=alice, items=[item], action=ReviewAction.APPROVE)
    assert [result.code for result in outcome.results] == [DecisionRefused.code]
    assert reads.block("alice", "goals") == goals


def test_deleting_hands_the_edits_of_the_block_back_and_undoing_takes_them_to_review_again(
    alice: User, goals: Block, propose: Propose, propose_deletion: ProposeDeletion
) -> None:
    change = propose(goals, "likes math", "loves math")
    proposal = propose_deletion().proposal
    (from_deletion,) = review_of(proposal, alice).collisions
    (from_edit,) = review_of(change, alice).collisions
    assert (from_deletion.effect, from_deletion.back) == (CollisionEffect.NO_LONGER_FITS, CollisionEffect.STILL_FITS)
    assert (from_edit.effect, from_edit.back) == (CollisionEffect.STILL_FITS, CollisionEffect.NO_LONGER_FITS)

    approve(alice, proposal)
    assert (again(change).status, change.mergeability) == (Status.CHANGES_REQUESTED, Mergeability.CONFLICT)
    asked = change_request(change)
    assert asked.automatic == BLOCK_DELETED

    services.undo(actor=alice, proposal_id=proposal.pk)
    assert (again(change).status, change.mergeability) == (Status.OPEN, Mergeability.CLEAN)
    assert change.events.last().what == Event.What.REOPENED
    approve(alice, change)
    assert "loves math" in reads.block("alice", "goals").body


# -- undo -----------------------------------------------------------------------------------------


def test_undoing_a_new_block_deletes_it(alice: User, propose_block: ProposeBlock) -> None:
    proposal = approve(alice, propose_block().proposal)
    services.undo(actor=alice, proposal_id=proposal.pk)
    assert reads.find_block("alice", "diary") is None
    assert_ledger("diary", action=Change.Action.REVERTED, actor="alice")
    assert list(problems()) == []


def test_undoing_a_new_block_that_was_changed_is_looked_at_first(alice: User, propose_block: ProposeBlock) -> None:
    proposal = approve(alice, propose_block().proposal)
    edit(alice, "diary", "Noether", "Emmy Noether")
    with pytest.raises(DecisionRefused):
        services.undo(actor=alice, proposal_id=proposal.pk)
    plan = plan_undo(again(proposal))
    assert plan.deletes_changed
    assert "Emmy Noether" in plan.before_text
    assert [change.action for change in plan.later] == [Change.Action.EDITED]
    services.undo(actor=alice, proposal_id=proposal.pk, seen_sha256=plan.seen_sha256)
    assert reads.find_block("alice", "diary") is None
    assert list(problems()) == []


def test_undoing_a_deletion_brings_the_block_back(alice: User, goals: Block, propose_deletion: ProposeDeletion) -> None:
    proposal = approve(alice, propose_deletion().proposal)
    services.undo(actor=alice, proposal_id=proposal.pk)
    back = reads.block("alice", "goals")
    assert (back.sha256, back.body, back.title) == (goals.sha256, goals.body, goals.title)
    assert list(problems()) == []


def test_a_block_made_anew_is_not_overwritten_by_undoing_the_deletion(
    alice: User, goals: Block, make_block: MakeBlock, propose_deletion: ProposeDeletion
) -> None:
    proposal = approve(alice, propose_deletion().proposal)
    made = make_block(alice, "goals", "New ones.")
    with pytest.raises(DecisionRefused, match="new block with this label"):
        services.undo(actor=alice, proposal_id=proposal.pk, seen_sha256=made.sha256)
    assert reads.block("alice", "goals").body == "New ones."
