"""New blocks and deletions: an agent proposes them, and people decide about them and what else waits for the block."""

from typing import Any

import pytest
from django.test import override_settings

from approvals import services
from approvals.models import Agent, Approval, Event, Kind, Mergeability, Proposal, Status, TrustRule, User
from approvals.permissions import ReviewAction
from approvals.review.collisions import CollisionEffect
from approvals.review.presentation import review_of
from approvals.review.turn import BLOCK_DELETED, BLOCK_EXISTS, change_request
from approvals.review.undo import plan_undo
from memory_app import reads
from memory_app.models import Change
from memory_app.reads import Block, BlockNotFound
from memory_app.text.edits import ForbiddenCharacter, Replace
from tests.approvals.services.turn.test_amend import amend
from tests.support.acts import approve, as_seen, assert_ledger, edit, reject
from tests.support.first import dolt, head_of_main
from tests.support.fixtures import MakeBlock, Propose
from tests.support.refusals import refusing

NEW = {"title": "Diary", "body": "# Monday\nShe read Noether.\n", "description": "What she did, day by day."}
SAID = {"owner": "alice", "reasoning": "She keeps telling me about her days."}
#: What a deletion can be decided to be; a label that is taken is only the latter two.
WHOLE = {ReviewAction.APPROVE, ReviewAction.REJECT, ReviewAction.REQUEST_CHANGES}


def propose_block(agent: Agent, label: str = "diary", **more: Any) -> services.Proposed:
    return services.propose_block(**{"agent": agent, "label": label} | NEW | SAID | more)


def propose_deletion(agent: Agent, label: str = "goals", **more: Any) -> services.Proposed:
    return services.propose_deletion(**{"agent": agent, "label": label} | SAID | more)


@pytest.fixture
def new(alice: User, scribe: Agent) -> Proposal:
    """A new block `diary`."""
    return propose_block(scribe).proposal


@pytest.fixture
def deletion(goals: Block, scribe: Agent) -> Proposal:
    return propose_deletion(scribe).proposal


@pytest.fixture
def mentor() -> Agent:
    """Another agent."""
    return Agent.objects.create(name="mentor")


def again(proposal: Proposal) -> Proposal:
    """The proposal as it is, once what a worker does after a change is done."""
    services.recheck("alice", [("block", proposal.target)])
    proposal.refresh_from_db()
    return proposal


def delete(alice: User, label: str = "goals") -> None:
    block = reads.block("alice", label)
    services.delete_block(actor=alice, owner="alice", label=label, loaded_sha256=block.sha256)


# -- an agent proposes a new block ----------------------------------------------------------------


def test_a_new_block_is_a_branch_off_main_and_main_stays(goals: Block, scribe: Agent) -> None:
    before = head_of_main()
    made = propose_block(scribe)

    assert head_of_main() == before
    assert reads.find_block("alice", "diary") is None
    proposal, revision = made.proposal, made.revision
    assert (proposal.kind, proposal.status, proposal.target_title) == (Kind.CREATE_BLOCK, Status.OPEN, "Diary")
    assert (revision.base_commit, revision.base_sha256, revision.base_text) == (before, "", "")
    there = reads.block_at("alice", "diary", dolt().head(revision.branch))
    assert {name: getattr(there, name) for name in NEW} == NEW
    assert (there.limit, there.read_only) == (20_000, False)
    assert (made.created, made.used, made.limit) == (True, len(NEW["body"]), 20_000)
    assert (proposal.words_added, proposal.words_removed) == (4, 0)


def test_the_first_block_of_all_may_be_empty_and_have_no_title(alice: User, scribe: Agent) -> None:
    made = propose_block(scribe, "study_log", title="", body="", description="")
    assert (made.proposal.status, made.proposal.target_title) == (Status.OPEN, "Study Log")
    assert reads.block_at("alice", "study_log", made.revision.branch).body == ""


@pytest.mark.parametrize("label", ["", "Diary", "-diary", "my diary", "tagebüch", "a" * 65, "diary\n", "../diary"])
def test_a_label_is_one_that_a_person_could_choose(alice: User, scribe: Agent, label: str) -> None:
    with refusing("label_invalid"):
        propose_block(scribe, label)
    assert not Proposal.objects.exists()


@pytest.mark.parametrize(
    ("field", "text"),
    [("title", "x" * 201), ("title", "Diary\n- secret: Yes"), ("title", "Diary\u2028x"), ("description", "x" * 1_001)],
)
def test_a_title_is_a_line_and_a_description_is_short(alice: User, scribe: Agent, field: str, text: str) -> None:
    with refusing("invalid_arguments") as refusal:
        propose_block(scribe, **{field: text})
    assert list(refusal.value.details["fields"]) == [field]


@pytest.mark.parametrize("field", NEW)
def test_what_cannot_be_stored_is_refused(alice: User, scribe: Agent, field: str) -> None:
    with pytest.raises(ForbiddenCharacter) as refusal:
        propose_block(scribe, **{field: "a\x00b"})
    assert refusal.value.field == field


def test_the_limit_is_that_of_new_blocks(alice: User, scribe: Agent) -> None:
    with override_settings(BLOCK_LIMIT=10):
        assert propose_block(scribe, body="x" * 10).limit == 10
        with refusing("over_limit") as refusal:
            propose_block(scribe, "other", body="x" * 11)
    assert (refusal.value.details["used"], refusal.value.details["limit"]) == (11, 10)


def test_a_label_that_is_there_is_refused_with_its_block(goals: Block, scribe: Agent) -> None:
    with refusing("label_taken") as refusal:
        propose_block(scribe, "goals")
    assert refusal.value.details["block"] == goals


def test_an_agent_proposes_a_label_once(new: Proposal, scribe: Agent, mentor: Agent) -> None:
    equal = propose_block(scribe, reasoning="Another reason.")
    assert (equal.created, equal.proposal) == (False, new)
    for other in ({"body": "Something else."}, {"title": "My days"}):
        with refusing("block_waits") as refusal:
            propose_block(scribe, **other)
        assert refusal.value.details["proposal"] == new
    assert propose_block(mentor).proposal != new
    assert Proposal.objects.count() == 2


# -- an agent proposes a deletion -----------------------------------------------------------------


def test_a_deletion_is_a_branch_without_the_block_and_main_stays(goals: Block, scribe: Agent) -> None:
    before = head_of_main()
    made = propose_deletion(scribe)
    assert head_of_main() == before
    assert reads.block("alice", "goals") == goals
    proposal, revision = made.proposal, made.revision
    assert (proposal.kind, proposal.status, proposal.target_title) == (Kind.DELETE_BLOCK, Status.OPEN, "Learning goals")
    assert (revision.base_text, revision.result_text) == (goals.body, "")
    with pytest.raises(BlockNotFound):
        reads.block_at("alice", "goals", dolt().head(revision.branch))
    # That all of it goes is what the proposal says: it is no warning.
    assert proposal.risks == []


def test_what_is_not_there_is_read_only_or_has_changed_is_not_deleted(
    alice: User, goals: Block, scribe: Agent, make_block: MakeBlock
) -> None:
    make_block(alice, "rules", "Be kind.", read_only=True)
    with pytest.raises(BlockNotFound):
        propose_deletion(scribe, "nothing")
    with refusing("block_read_only"):
        propose_deletion(scribe, "rules")
    edit(alice, "goals", "math", "maths")
    with refusing("precondition_failed"):
        propose_deletion(scribe, expected_sha256=goals.body_sha256)
    assert not Proposal.objects.exists()
    assert propose_deletion(scribe, expected_sha256=reads.block("alice", "goals").body_sha256).created


def test_the_same_deletion_waits_once_and_an_edit_to_nothing_is_another(
    goals: Block, deletion: Proposal, scribe: Agent, propose: Propose
) -> None:
    same = propose_deletion(scribe, reasoning="Really.")
    assert (same.created, same.proposal) == (False, deletion)
    assert propose(goals, goals.body, "") != deletion


# -- amending -------------------------------------------------------------------------------------


def test_an_undecided_new_block_is_amended_by_another_text(new: Proposal, scribe: Agent) -> None:
    with refusing("no_change"):
        propose_block(scribe, proposal_id=new.pk)
    done = propose_block(scribe, proposal_id=new.pk, title="Days", body="# Tuesday\n", reasoning="As you asked.")
    assert (done.amended, done.proposal) == (True, new)
    assert (done.revision.number, done.revision.branch) == (2, f"p/{new.pk}-2")
    new.refresh_from_db()
    assert (new.status, new.target_title, new.reasoning) == (Status.OPEN, "Days", "As you asked.")
    assert reads.block_at("alice", "diary", f"p/{new.pk}-2").body == "# Tuesday\n"
    assert list(dolt().branches()) == ["main", f"p/{new.pk}-2"]
    turn = {"role": "user", "content": "My day was fine."}
    same = {"title": "Days", "body": "# Tuesday\n"}
    assert propose_block(scribe, proposal_id=new.pk, evidence=[turn], **same).amended


def test_an_edit_whose_block_was_deleted_can_become_a_new_block(alice: User, proposal: Proposal, scribe: Agent) -> None:
    delete(alice)
    done = propose_block(scribe, "goals", proposal_id=proposal.pk, title="Goals", body="She loves math.")
    assert (done.proposal, done.proposal.kind, done.proposal.status) == (proposal, Kind.CREATE_BLOCK, Status.OPEN)


def test_a_new_block_whose_label_is_taken_can_become_an_edit(alice: User, new: Proposal, make_block: MakeBlock) -> None:
    make_block(alice, "diary", "Nothing yet.")
    done = amend(new, edits=[Replace("Nothing yet.", "She read Noether.")])
    assert (done.proposal.kind, done.proposal.mergeability) == (Kind.EDIT, "clean")


def test_an_own_deletion_can_become_an_edit_that_empties_the_block(goals: Block, deletion: Proposal) -> None:
    done = amend(deletion, edits=[Replace(goals.body, "")])
    assert (done.amended, done.proposal.kind) == (True, Kind.EDIT)


def test_an_edit_becomes_a_deletion_when_its_agent_is_asked_to(alice: User, proposal: Proposal, scribe: Agent) -> None:
    services.request_changes(actor=alice, proposal_id=proposal.pk, revision=1, comment="Just delete it.")
    done = propose_deletion(scribe, proposal_id=proposal.pk)
    assert (done.amended, done.proposal.kind, done.revision.number) == (True, Kind.DELETE_BLOCK, 2)
    with refusing("no_change"):
        propose_deletion(scribe, proposal_id=proposal.pk)
    edit(alice, "goals", "math", "maths")
    assert propose_deletion(scribe, proposal_id=proposal.pk).revision.base_text == reads.block("alice", "goals").body


# -- rules ----------------------------------------------------------------------------------------


def test_a_rule_may_let_a_new_block_in_at_once(alice: User, scribe: Agent) -> None:
    TrustRule.objects.create(owner="alice", agent=scribe, kind=Kind.CREATE_BLOCK, needs="apply", made_by=alice)
    made = propose_block(scribe, may_apply=True)
    assert made.proposal.status == Status.APPLIED
    assert reads.block("alice", "diary").body == NEW["body"]
    services.undo(actor=alice, proposal_id=made.proposal.pk)
    assert reads.find_block("alice", "diary") is None


def test_a_secret_waits_whatever_a_rule_says(alice: User, scribe: Agent) -> None:
    TrustRule.objects.create(owner="alice", agent=scribe, needs="apply", made_by=alice)
    made = propose_block(scribe, may_apply=True, description="The password is 'swordfish-77'.")
    assert (made.proposal.status, made.proposal.review_reason) == (Status.OPEN, "secrets")
    assert made.proposal.risks == ["secrets"]


@pytest.mark.parametrize("needs", ["apply", "small", "ask"])
def test_no_rule_lets_a_deletion_through(alice: User, scribe: Agent, goals: Block, needs: str) -> None:
    for fields in ({}, {"block": "goals"}, {"kind": Kind.DELETE_BLOCK}):
        TrustRule.objects.create(owner="alice", agent=scribe, needs=needs, made_by=alice, **fields)
    assert propose_deletion(scribe, may_apply=True).proposal.status == Status.OPEN
    assert reads.block("alice", "goals") == goals


# -- people decide about a new block --------------------------------------------------------------


def test_an_approved_new_block_is_in_the_memory(alice: User, tim: User, goals: Block, new: Proposal) -> None:
    edit(alice, "goals", "math", "maths")
    done = approve(tim, new)
    block = reads.block("alice", "diary")
    assert {name: getattr(block, name) for name in NEW} == NEW
    assert "maths" in reads.block("alice", "goals").body
    assert (done.status, done.approval) == (Status.APPROVED, Approval.AS_PROPOSED)
    assert_ledger("diary", action="approved", actor="tim", agent="scribe", commit=done.merge_commit)


@pytest.mark.parametrize("text", ["# Monday\nNoether.\n", NEW["body"], ""])
def test_a_reviewer_rewords_title_and_text_of_a_new_block(alice: User, new: Proposal, text: str) -> None:
    with refusing("over_limit"):
        services.approve_edited(actor=alice, **as_seen(new), text="x" * 20_001)
    done = services.approve_edited(actor=alice, **as_seen(new), title="My days", text=text)
    block = reads.block("alice", "diary")
    assert (block.title, block.body, block.description) == ("My days", text, NEW["description"])
    assert (done.approval, done.current_revision.made_by) == (Approval.EDITED, alice)


def test_of_two_agents_with_one_label_the_other_goes_back(alice: User, new: Proposal, mentor: Agent) -> None:
    other = propose_block(mentor, body="Other words.").proposal
    (collision,) = review_of(new, alice).collisions
    assert collision.other == other
    assert collision.effect is collision.back is CollisionEffect.NO_LONGER_FITS
    approve(alice, new)
    assert (again(other).status, other.mergeability) == (Status.CHANGES_REQUESTED, Mergeability.CONFLICT)
    asked = change_request(other)
    assert (asked.by, asked.automatic) == ("", BLOCK_EXISTS)
    with refusing("conflict"):
        approve(alice, other, is_with_agent=True)


def test_two_agents_with_the_same_block_are_settled_by_one_approval(alice: User, new: Proposal, mentor: Agent) -> None:
    other = propose_block(mentor).proposal
    (collision,) = review_of(new, alice).collisions
    assert collision.effect is collision.back is CollisionEffect.SETTLED
    approve(alice, new)
    assert (again(other).status, other.mergeability) == (Status.OPEN, Mergeability.ALREADY_APPLIED)
    with refusing("already_applied"):
        approve(alice, other)
    services.close_already_applied(actor=alice, **as_seen(other))
    assert again(other).was_already_applied


def test_a_label_that_a_person_took_in_between_is_a_conflict_until_it_is_free_again(
    alice: User, new: Proposal, make_block: MakeBlock
) -> None:
    made = make_block(alice, "diary", "My own.")
    assert again(new).mergeability == Mergeability.CONFLICT
    assert review_of(new, alice).actions == WHOLE - {ReviewAction.APPROVE}
    with refusing("target_changed"):
        approve(alice, new, seen_sha256="")
    with refusing("conflict"):
        approve(alice, new)
    assert reads.block("alice", "diary") == made
    delete(alice, "diary")
    assert again(new).mergeability == Mergeability.CLEAN
    approve(alice, new)
    assert reads.block("alice", "diary").body == NEW["body"]


def test_a_rejected_new_block_leaves_nothing_and_can_be_opened_again(alice: User, new: Proposal) -> None:
    reject(alice, new)
    assert reads.find_block("alice", "diary") is None
    services.undo(actor=alice, proposal_id=new.pk)
    assert again(new).status == Status.OPEN
    approve(alice, new)
    assert reads.block("alice", "diary").body == NEW["body"]


def test_a_new_block_rejected_as_too_private_leaves_no_word(alice: User, new: Proposal) -> None:
    reject(alice, new, "too_private")
    assert again(new).target_title == "diary"
    revision = new.revisions.get()
    assert (revision.result_text, revision.edits) == ("", [])


def test_a_rejected_new_block_proposed_again_answers_it(alice: User, new: Proposal, scribe: Agent) -> None:
    reject(alice, new, "badly_worded")
    assert propose_block(scribe, body="# Monday\nShe read a book by Noether.\n").proposal.answers == new


# -- people decide about a deletion ---------------------------------------------------------------


def test_an_approved_deletion_takes_the_block_out(tim: User, deletion: Proposal) -> None:
    done = approve(tim, deletion)
    assert reads.find_block("alice", "goals") is None
    assert_ledger("goals", action="approved", actor="tim", agent="scribe", commit=done.merge_commit)


def test_a_deletion_is_approved_against_the_text_that_was_seen(alice: User, goals: Block, deletion: Proposal) -> None:
    edit(alice, "goals", "likes math", "loves mathematics")
    assert again(deletion).mergeability == Mergeability.REBASABLE
    with refusing("target_changed"):
        approve(alice, deletion, seen_sha256=goals.sha256)
    assert "loves mathematics" in reads.block("alice", "goals").body
    shown = review_of(deletion, alice)
    assert "loves mathematics" in shown.before_text
    assert shown.after_text == ""
    done = approve(alice, deletion, seen_sha256=shown.seen_sha256)
    assert reads.find_block("alice", "goals") is None
    assert "loves mathematics" in done.current_revision.base_text


def test_a_block_changed_and_changed_back_is_deleted(alice: User, deletion: Proposal) -> None:
    edit(alice, "goals", "math", "maths")
    edit(alice, "goals", "maths", "math")
    approve(alice, deletion)
    assert reads.find_block("alice", "goals") is None


def test_a_block_that_its_owner_deleted_first_is_already_gone(alice: User, deletion: Proposal, mentor: Agent) -> None:
    other = propose_deletion(mentor).proposal
    (collision,) = review_of(deletion, alice).collisions
    assert (collision.other, collision.effect, collision.back) == (other, *[CollisionEffect.SETTLED] * 2)
    delete(alice)
    assert again(deletion).mergeability == Mergeability.ALREADY_APPLIED
    services.close_already_applied(actor=alice, **as_seen(deletion))
    assert again(deletion).was_already_applied


def test_a_deletion_is_taken_whole_and_never_among_others(alice: User, goals: Block, deletion: Proposal) -> None:
    assert review_of(deletion, alice).actions == WHOLE
    with refusing("decision_refused"):
        services.approve_edited(actor=alice, **as_seen(deletion), text="Something.")
    with refusing("nothing_approved"):
        services.approve_some(actor=alice, **as_seen(deletion), accepted=["1"], rest=services.Rest.AGENT)
    item = services.Item(**as_seen(deletion))
    outcome = services.decide_several(actor=alice, items=[item], action=ReviewAction.APPROVE)
    assert [result.code for result in outcome.results] == ["decision_refused"]
    assert reads.block("alice", "goals") == goals


def test_deleting_hands_the_edits_of_the_block_back_and_undoing_takes_them_to_review_again(
    alice: User, proposal: Proposal, deletion: Proposal
) -> None:
    (from_deletion,) = review_of(deletion, alice).collisions
    (from_edit,) = review_of(proposal, alice).collisions
    assert (from_deletion.effect, from_deletion.back) == (CollisionEffect.NO_LONGER_FITS, CollisionEffect.STILL_FITS)
    assert (from_edit.effect, from_edit.back) == (CollisionEffect.STILL_FITS, CollisionEffect.NO_LONGER_FITS)

    approve(alice, deletion)
    assert (again(proposal).status, proposal.mergeability) == (Status.CHANGES_REQUESTED, Mergeability.CONFLICT)
    assert change_request(proposal).automatic == BLOCK_DELETED

    services.undo(actor=alice, proposal_id=deletion.pk)
    assert (again(proposal).status, proposal.mergeability) == (Status.OPEN, Mergeability.CLEAN)
    assert proposal.events.last().what == Event.What.REOPENED
    approve(alice, proposal)
    assert "likes maths" in reads.block("alice", "goals").body


# -- undo -----------------------------------------------------------------------------------------


def test_undoing_a_new_block_deletes_it(alice: User, new: Proposal) -> None:
    services.undo(actor=alice, proposal_id=approve(alice, new).pk)
    assert reads.find_block("alice", "diary") is None
    assert_ledger("diary", action=Change.Action.REVERTED, actor="alice")


def test_undoing_a_new_block_that_was_changed_is_looked_at_first(alice: User, new: Proposal) -> None:
    approve(alice, new)
    edit(alice, "diary", "Noether", "Emmy Noether")
    with refusing("changed_since"):
        services.undo(actor=alice, proposal_id=new.pk)
    plan = plan_undo(again(new))
    assert plan.deletes_changed
    assert "Emmy Noether" in plan.before_text
    assert [change.action for change in plan.later] == [Change.Action.EDITED]
    services.undo(actor=alice, proposal_id=new.pk, seen_sha256=plan.seen_sha256)
    assert reads.find_block("alice", "diary") is None


def test_undoing_a_deletion_brings_the_block_back(alice: User, goals: Block, deletion: Proposal) -> None:
    services.undo(actor=alice, proposal_id=approve(alice, deletion).pk)
    back = reads.block("alice", "goals")
    assert (back.sha256, back.body, back.title) == (goals.sha256, goals.body, goals.title)


def test_a_block_made_anew_is_not_overwritten_by_undoing(
    alice: User, make_block: MakeBlock, deletion: Proposal
) -> None:
    approve(alice, deletion)
    made = make_block(alice, "goals", "New ones.")
    with refusing("undo_conflict", match="new block with this label"):
        services.undo(actor=alice, proposal_id=deletion.pk, seen_sha256=made.sha256)
    assert reads.block("alice", "goals").body == "New ones."
