"""A person approves what was seen, and only that."""

import threading
from functools import partial
from typing import Any

import pytest
from django.db import connections

from approvals import services
from approvals.models import Agent, Mergeability, Proposal, Status, User
from approvals.recovery.integrity import problems
from approvals.services import approving, merge
from approvals.services.errors import (
    AlreadyDecided,
    BeingDecided,
    BranchMissing,
    NewRevision,
    ProposalNotFound,
    TargetChanged,
)
from memory_app import reads
from memory_app.dolt.connections import dolt, head_of_main
from memory_app.reads import Block
from memory_app.text.edits import Replace
from tests.conftest import eventually, in_a_thread
from tests.support.acts import approve, assert_ledger, edit
from tests.support.fixtures import MakeBlock, Propose
from tests.support.refusals import refusing


def today(label: str = "goals", owner: str = "alice") -> str:
    return reads.block(owner, label).sha256


def becomes(proposal: Proposal, state: Mergeability) -> bool:
    """Whether the check after a change, which a worker makes in its own time, comes to `state`."""

    def is_so() -> bool:
        proposal.refresh_from_db()
        return proposal.mergeability == state

    return bool(eventually(is_so))


def test_approving_changes_the_memory_and_tells_who(goals: Block, tim: User, propose: Propose) -> None:
    proposal = propose(goals, "likes math", "loves mathematics", reasoning="She told me on Monday.")
    head = proposal.current_revision.head_commit
    decided = approve(tim, proposal, comment="Yes.")

    assert decided.status == Status.APPROVED
    assert decided.decided_by == tim
    assert "loves mathematics" in reads.block("alice", "goals").body
    assert dolt().is_ancestor(head)
    commit = dolt().log(limit=1)[0]
    assert commit.hash == decided.merge_commit == head_of_main()
    assert commit.author == "Tim Okafor"
    trailers = {f"Proposal: {proposal.pk}", "Owner: alice", "Target: block/goals", "Agent: scribe", "Reviewed-by: tim"}
    assert trailers <= set(commit.message.splitlines())
    written = {"actor": "tim", "agent": "scribe", "proposal_id": proposal.pk, "commit": commit.hash}
    assert_ledger("goals", action="approved", comment="Yes.", **written)
    assert [event.what for event in decided.events.all()] == ["proposed", "approved"]


def test_the_branch_goes_and_the_texts_stay(goals: Block, alice: User, propose: Propose) -> None:
    proposal = approve(alice, propose(goals, "math", "maths"))
    assert [branch.name for branch in dolt().branches()] == ["main"]
    revision = proposal.current_revision
    assert "likes math." in revision.base_text
    assert "likes maths." in revision.result_text
    assert list(problems()) == []


def test_staff_may_decide_and_strangers_are_told_there_is_nothing(
    goals: Block, alice: User, ben: User, tim: User, admin: User, mallory: User, make_block: MakeBlock, propose: Propose
) -> None:
    proposal = propose(goals, "math", "maths")
    bens = propose(make_block(ben, "goals", "Ben likes chess."), "chess", "go")
    User.objects.filter(pk=alice.pk).update(is_active=False)
    alice.refresh_from_db()
    head = head_of_main()
    for person, named in ((mallory, proposal), (alice, proposal), (tim, bens)):  # tim is a tutor of alice's
        with pytest.raises(ProposalNotFound):
            approve(person, named)
    with pytest.raises(ProposalNotFound):
        services.approve(actor=mallory, proposal_id=bens.pk + 1, revision=1, seen_sha256=goals.sha256)
    assert (head_of_main(), Proposal.objects.open().count()) == (head, 2)
    assert approve(admin, proposal).status == Status.APPROVED


def test_a_block_that_changed_after_it_was_seen_is_shown_again_first(
    goals: Block, alice: User, propose: Propose
) -> None:
    proposal = propose(goals, "math", "maths")
    edit(alice, "goals", "June", "July")
    with pytest.raises(TargetChanged) as refused:
        approve(alice, proposal, seen_sha256=goals.sha256)
    assert refused.value.block is not None
    assert "July" in refused.value.block.body
    assert Proposal.objects.get().status == Status.OPEN
    assert "math." in reads.block("alice", "goals").body


def test_a_stale_proposal_that_fits_is_applied_to_todays_text(
    goals: Block, alice: User, propose: Propose, worker: Any
) -> None:
    proposal = propose(goals, "math", "maths")
    edit(alice, "goals", "June", "July")
    assert becomes(proposal, Mergeability.REBASABLE)

    decided = approve(alice, proposal)
    body = reads.block("alice", "goals").body
    assert "maths" in body
    assert "July" in body
    assert decided.current_revision_number == 2
    assert decided.current_revision.origin == "reapplied"
    assert decided.current_revision.result_text == body
    assert dolt().is_ancestor(decided.current_revision.head_commit)
    assert [branch.name for branch in dolt().branches()] == ["main"]
    assert list(problems()) == []


@pytest.mark.parametrize("is_deleted", [False, True])
def test_a_block_that_changes_while_a_stale_proposal_is_made_again_is_not_approved_unseen(
    goals: Block, alice: User, tim: User, propose: Propose, monkeypatch: pytest.MonkeyPatch, is_deleted: bool
) -> None:
    """Another person is faster, between the look at the target and the head of main that the text is put on."""
    proposal = propose(goals, "math", "maths")
    edit(alice, "goals", "June", "July")
    seen, original = today(), merge._reapply_on_main

    def after_somebody_else(*arguments: Any) -> Any:
        if is_deleted:
            services.delete_block(actor=alice, owner="alice", label="goals", loaded_sha256=seen)
        else:
            edit(alice, "goals", "July", "August")
        return original(*arguments)

    monkeypatch.setattr(merge, "_reapply_on_main", after_somebody_else)
    with pytest.raises(TargetChanged):
        approve(tim, proposal, seen_sha256=seen)

    proposal.refresh_from_db()
    assert (proposal.status, proposal.current_revision_number, proposal.decided_by) == (Status.OPEN, 1, None)
    assert sorted(branch.name for branch in dolt().branches()) == ["main", proposal.current_revision.branch]
    assert list(problems()) == []


def test_a_block_that_changes_just_before_the_merge_is_not_changed_unseen(
    goals: Block, alice: User, tim: User, propose: Propose, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposal, write = propose(goals, "math", "maths"), merge._write

    def after_somebody_else(*arguments: Any) -> Any:
        edit(alice, "goals", "June", "July")
        return write(*arguments)

    monkeypatch.setattr(merge, "_write", after_somebody_else)
    with pytest.raises(TargetChanged) as refused:
        approve(tim, proposal)

    assert refused.value.block == reads.block("alice", "goals")
    assert "maths" not in refused.value.block.body
    proposal.refresh_from_db()
    assert (proposal.status, proposal.decided_by) == (Status.OPEN, None)
    assert list(problems()) == []


def test_a_change_of_the_title_alone_makes_it_stale_too(goals: Block, alice: User, propose: Propose) -> None:
    proposal = propose(goals, "math", "maths")
    edit(alice, "goals", "", "", title="New title")
    with pytest.raises(TargetChanged):
        approve(alice, proposal, seen_sha256=goals.sha256)
    approve(alice, proposal)
    block = reads.block("alice", "goals")
    assert (block.title, "maths" in block.body) == ("New title", True)


def test_what_no_longer_fits_is_a_conflict_that_can_be_rejected(
    goals: Block, alice: User, propose: Propose, worker: Any
) -> None:
    proposal = propose(goals, "likes math", "loves mathematics")
    edit(alice, "goals", "likes math", "is done with math")
    with refusing("conflict"):
        approve(alice, proposal)
    assert becomes(proposal, Mergeability.CONFLICT)
    assert proposal.status == Status.OPEN
    rejected = services.reject(actor=alice, proposal_id=proposal.pk, revision=1, reason="outdated")
    assert rejected.status == Status.REJECTED


def test_what_the_memory_says_already_is_not_approved_again(goals: Block, alice: User, propose: Propose) -> None:
    proposal = propose(goals, "likes math", "loves mathematics")
    edit(alice, "goals", "likes math", "loves mathematics")
    with refusing("already_applied"):
        approve(alice, proposal)


def test_a_deleted_block_takes_its_proposals_out_of_reach(goals: Block, alice: User, propose: Propose) -> None:
    proposal = propose(goals, "math", "maths")
    services.delete_block(actor=alice, owner="alice", label="goals", loaded_sha256=goals.sha256)
    with pytest.raises(TargetChanged) as refused:
        services.approve(actor=alice, proposal_id=proposal.pk, revision=1, seen_sha256=goals.sha256)
    assert refused.value.block is None
    with refusing("conflict"):
        services.approve(actor=alice, proposal_id=proposal.pk, revision=1, seen_sha256="")
    assert reads.find_block("alice", "goals") is None


@pytest.mark.parametrize("step", ["proposal_for", "require_as_seen"])
def test_a_decision_made_since_the_proposal_was_read_is_named(
    goals: Block, alice: User, tim: User, propose: Propose, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    proposal = propose(goals, "math", "maths")
    original = getattr(approving, step)

    def decided_after(*arguments: Any, **more: Any) -> Any:
        result = original(*arguments, **more)
        services.reject(actor=tim, proposal_id=proposal.pk, revision=1, reason="wrong")
        return result

    monkeypatch.setattr(approving, step, decided_after)
    with pytest.raises(AlreadyDecided, match="Tim Okafor was first"):
        approve(alice, proposal)
    assert reads.block("alice", "goals") == goals


def test_a_revision_that_is_not_the_one_seen_is_refused(goals: Block, alice: User, propose: Propose) -> None:
    with pytest.raises(NewRevision):
        approve(alice, propose(goals, "math", "maths"), revision=2)


def test_a_branch_that_vanished_stops_the_approval_and_nothing_else(
    goals: Block, alice: User, propose: Propose
) -> None:
    proposal = propose(goals, "math", "maths")
    dolt().drop_branch(proposal.current_revision.branch)
    with pytest.raises(BranchMissing):
        approve(alice, proposal)
    (problem,) = problems()
    assert (problem.code, problem.about) == ("branch_missing", f"proposal {proposal.pk}")
    assert problem.what == f"Proposal {proposal.pk} is open but its branch p/{proposal.pk} is gone."
    assert reads.block("alice", "goals") == goals
    assert services.reject(actor=alice, proposal_id=proposal.pk, revision=1, reason="other").status == Status.REJECTED
    assert list(problems()) == []


def test_a_branch_somebody_moved_is_not_merged(goals: Block, alice: User, propose: Propose) -> None:
    proposal = propose(goals, "math", "maths")
    other = propose(goals, "June", "July")
    dolt().drop_branch(proposal.current_revision.branch)
    dolt().create_branch(proposal.current_revision.branch, other.current_revision.head_commit)
    with pytest.raises(BranchMissing):
        approve(alice, proposal)


def test_a_second_decision_is_told_who_was_first(goals: Block, alice: User, tim: User, propose: Propose) -> None:
    proposal = propose(goals, "math", "maths")
    approve(tim, proposal)
    for attempt in (
        lambda: services.approve(actor=alice, proposal_id=proposal.pk, revision=1, seen_sha256=goals.sha256),
        lambda: services.reject(actor=alice, proposal_id=proposal.pk, revision=1, reason="wrong"),
        lambda: services.withdraw(agent=proposal.agent, proposal_id=proposal.pk),
    ):
        with pytest.raises(AlreadyDecided, match="Tim Okafor was first") as refused:
            attempt()
        assert refused.value.proposal.decided_by == tim


def test_of_many_deciding_at_once_exactly_one_wins(goals: Block, alice: User, tim: User, propose: Propose) -> None:
    proposal = propose(goals, "math", "maths")
    won: list[str] = []
    lost: list[str] = []
    ready = threading.Barrier(6)

    def decide(number: int) -> None:
        actor = (alice, tim)[number % 2]
        try:
            ready.wait()
            if number < 4:
                approve(actor, proposal, seen_sha256=goals.sha256)
            else:
                services.reject(actor=actor, proposal_id=proposal.pk, revision=1, reason="wrong")
            won.append(actor.username)
        except (AlreadyDecided, BeingDecided, TargetChanged) as refused:
            lost.append(refused.code)

    for thread in [in_a_thread(partial(decide, number)) for number in range(6)]:
        thread.join()
    assert (len(won), len(lost)) == (1, 5)
    decided = Proposal.objects.get()
    assert decided.decided_by is not None
    assert [decided.decided_by.username] == won
    approved = decided.status == Status.APPROVED
    assert ("maths" in reads.block("alice", "goals").body) == approved
    assert list(problems()) == []


@pytest.mark.slow
def test_many_proposals_on_many_blocks_approved_at_once_lose_nothing(
    alice: User, make_block: MakeBlock, propose: Propose
) -> None:
    blocks = [make_block(alice, f"block-{number}", "before") for number in range(8)]
    proposals = [propose(block, "before", f"after {block.label}") for block in blocks]
    for thread in [in_a_thread(partial(approve, alice, proposal)) for proposal in proposals]:
        thread.join()
    assert [block.body for block in reads.blocks("alice")] == [f"after block-{number}" for number in range(8)]
    assert list(problems()) == []


def test_uncommitted_rows_of_a_stranger_are_not_signed_by_the_reviewer(
    goals: Block, alice: User, make_block: MakeBlock, propose: Propose
) -> None:
    profile = make_block(alice, "profile", "text")
    proposal = propose(goals, "math", "maths")
    with connections["memory"].cursor() as cursor:
        cursor.execute("UPDATE memory_app_memoryblock SET title = 'sneaked in' WHERE label = 'profile'")
    approve(alice, proposal)
    authors = [commit.author for commit in dolt().log(limit=4)]
    assert "unknown" in authors
    assert reads.block("alice", "profile").title == "sneaked in" != profile.title
    assert_ledger("profile", action="recovered")
    assert list(problems()) == []


def test_an_edit_of_several_places_is_made_again_as_it_was_shown(
    alice: User, scribe: Agent, make_block: MakeBlock
) -> None:
    block = make_block(alice, "twice", "aa bb\naa cc\nzz\n")
    edits = [Replace("aa", "AA", expected_replacements=2)]
    said = {"agent": scribe, "owner": "alice", "label": "twice", "kind": "edit", "reasoning": "Both."}
    proposal = services.propose(edits=edits, **said).proposal
    edit(alice, "twice", "zz\n", "zz\nmore\n")
    decided = approve(alice, proposal, seen_sha256=today("twice"))
    assert decided.status == Status.APPROVED
    assert reads.block("alice", "twice").body == "AA bb\nAA cc\nzz\nmore\n"
    assert block.body != reads.block("alice", "twice").body
    assert list(problems()) == []


def test_a_block_that_was_changed_and_changed_back_takes_the_proposal(
    goals: Block, alice: User, propose: Propose
) -> None:
    proposal = propose(goals, "math", "maths")
    edit(alice, "goals", "June", "July")
    edit(alice, "goals", "July", "June")
    assert reads.block("alice", "goals").sha256 == goals.sha256
    decided = approve(alice, proposal)
    assert decided.status == Status.APPROVED
    assert reads.block("alice", "goals").body == goals.body.replace("math", "maths")
    assert [branch.name for branch in dolt().branches()] == ["main"]
    assert list(problems()) == []


def test_a_decision_another_process_finished_first_is_left_as_it_is(
    goals: Block, alice: User, propose: Propose, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process stalled beyond its lease: recovery finishes the decision while it stands still."""
    from approvals.recovery.recover import finish
    from approvals.review.targets import current_state

    proposal = propose(goals, "math", "maths")
    edit(alice, "goals", "June", "July")
    calls: list[int] = []

    def stalled(*arguments: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:  # the first look is before the claim, the second after it
            finish(Proposal.objects.get(pk=proposal.pk))
        return current_state(*arguments)

    monkeypatch.setattr("approvals.services.merge.current_state", stalled)
    decided = approve(alice, proposal)
    assert decided.status == Status.APPROVED
    assert decided.current_revision_number == 2
    assert list(decided.revisions.values_list("number", flat=True)) == [1, 2]
    assert reads.block("alice", "goals").body.count("maths") == 1
    assert list(problems()) == []
