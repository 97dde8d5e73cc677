"""A person approves what was seen, and only that; and what holds of every decision."""

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.db import connections

from approvals import services
from approvals.models import Agent, Mergeability, Proposal, Status, User
from approvals.recovery.integrity import problems
from approvals.recovery.recover import finish
from approvals.services import checks, merge
from approvals.services.errors import AlreadyDecided, BeingDecided, TargetChanged
from memory_app import reads
from memory_app.reads import Block
from memory_app.text import worddiff
from memory_app.text.edits import Replace
from tests.approvals.services.conftest import BeforeMerge, body
from tests.conftest import eventually, in_a_thread
from tests.support.acts import approve, as_seen, assert_ledger, change, edit, reject
from tests.support.first import dolt, head_of_main
from tests.support.fixtures import MakeBlock, Propose
from tests.support.refusals import refusing

Decide = Callable[..., Proposal]

#: What people decide about the state of the target that they saw.
OF_WHAT_WAS_SEEN: dict[str, Decide] = {
    "approve": services.approve,
    "approve_edited": partial(services.approve_edited, text="Hers."),
    "approve_some": partial(services.approve_some, accepted=["1"], rest=services.Rest.AGENT),
    "close_already_applied": services.close_already_applied,
}
#: Everything that people decide, ready to be called with an actor, a proposal and a revision.
DECISIONS: dict[str, Decide] = {name: partial(decide, seen_sha256="") for name, decide in OF_WHAT_WAS_SEEN.items()} | {
    "reject": partial(services.reject, reason="wrong"),
    "request_changes": partial(services.request_changes, comment="Which exam?"),
    "back_to_review": services.back_to_review,
}
every_decision = pytest.mark.parametrize("decide", DECISIONS.values(), ids=DECISIONS)


# -- what holds of every decision -----------------------------------------------------------------


@every_decision
def test_staff_may_decide_and_strangers_are_told_there_is_nothing(
    proposal: Proposal, ben: User, tim: User, mallory: User, admin: User, make_block: Any, propose: Any, decide: Decide
) -> None:
    bens = propose(make_block(ben, "goals", "Ben likes chess."), "chess", "go")
    User.objects.filter(username="alice").update(is_active=False)
    alice, head = User.objects.get(username="alice"), head_of_main()
    # tim is a tutor of alice's.
    for person, pk in ((mallory, proposal.pk), (alice, proposal.pk), (tim, bens.pk), (mallory, bens.pk + 1)):
        with refusing("proposal_not_found"):
            decide(actor=person, proposal_id=pk, revision=1)
    assert (head_of_main(), Proposal.objects.open().count()) == (head, 2)
    assert approve(admin, proposal).status == Status.APPROVED


@every_decision
def test_a_revision_that_is_not_the_one_seen_is_refused(proposal: Proposal, alice: User, decide: Decide) -> None:
    with refusing("new_revision"):
        decide(actor=alice, proposal_id=proposal.pk, revision=2)
    assert Proposal.objects.get().status == Status.OPEN


@every_decision
def test_a_second_decision_is_told_who_was_first(proposal: Proposal, alice: User, tim: User, decide: Decide) -> None:
    approve(tim, proposal)
    for attempt in (
        lambda: decide(actor=alice, proposal_id=proposal.pk, revision=1),
        lambda: services.withdraw(agent=proposal.agent, proposal_id=proposal.pk),
    ):
        with refusing("already_decided", match="Tim Okafor was first") as refused:
            attempt()
        assert refused.value.proposal.decided_by == tim


@pytest.mark.parametrize("decide", OF_WHAT_WAS_SEEN.values(), ids=OF_WHAT_WAS_SEEN)
def test_a_block_that_changed_after_it_was_seen_is_shown_again_first(
    goals: Block, alice: User, proposal: Proposal, decide: Decide
) -> None:
    edit(alice, "goals", "June", "July")
    with refusing("target_changed") as refused:
        decide(actor=alice, proposal_id=proposal.pk, revision=1, seen_sha256=goals.sha256)
    assert "July" in refused.value.block.body
    assert Proposal.objects.get().status == Status.OPEN
    assert body() == goals.body.replace("June", "July")


@pytest.mark.parametrize("decide", ["approve", "approve_edited", "approve_some"])
def test_a_block_that_changes_just_before_the_merge_undoes_all_of_the_decision(
    goals: Block, alice: User, tim: User, scribe: Agent, decide: str, just_before_the_merge: BeforeMerge
) -> None:
    proposal = change(scribe, ("math", "maths"), ("one book", "two books"))
    hunks = worddiff.hunks(goals.body, proposal.current_revision.result_text)
    more = {"approve_some": {"accepted": [hunks[0].id], "rest": services.Rest.AGENT}}
    just_before_the_merge(lambda: edit(alice, "goals", "June", "July"))
    with refusing("target_changed") as refused:
        OF_WHAT_WAS_SEEN[decide](actor=tim, comment="Yes.", **as_seen(proposal), **more.get(decide, {}))

    assert refused.value.block.body == body() == goals.body.replace("June", "July")
    proposal.refresh_from_db()
    assert (proposal.status, proposal.decided_by, proposal.handed_back_at) == (Status.OPEN, None, None)
    assert (proposal.approval, proposal.decision_comment) == ("", "")
    assert (proposal.current_revision_number, proposal.revisions.count()) == (1, 1)
    assert [event.what for event in proposal.events.all()] == ["proposed", "reopened"]
    assert sorted(dolt().branches()) == ["main", f"p/{proposal.pk}"]


# -- approving ------------------------------------------------------------------------------------


def test_approving_changes_the_memory_and_tells_who(proposal: Proposal, tim: User) -> None:
    head = proposal.current_revision.head_commit
    decided = approve(tim, proposal, comment="Yes.")

    assert (decided.status, decided.decided_by) == (Status.APPROVED, tim)
    assert "likes maths" in body()
    assert dolt().is_ancestor(head)
    commit = dolt().log(limit=1)[0]
    assert commit.hash == decided.merge_commit == head_of_main()
    assert commit.author == "Tim Okafor"
    trailers = {f"Proposal: {proposal.pk}", "Owner: alice", "Target: block/goals", "Agent: scribe", "Reviewed-by: tim"}
    assert trailers <= set(commit.message.splitlines())
    written = {"actor": "tim", "agent": "scribe", "proposal_id": proposal.pk, "commit": commit.hash}
    assert_ledger("goals", action="approved", comment="Yes.", **written)
    assert [event.what for event in decided.events.all()] == ["proposed", "approved"]


def test_the_branch_goes_and_the_texts_stay(proposal: Proposal, alice: User) -> None:
    revision = approve(alice, proposal).current_revision
    assert list(dolt().branches()) == ["main"]
    assert "likes math." in revision.base_text
    assert "likes maths." in revision.result_text


def test_a_stale_proposal_that_fits_is_applied_to_todays_text(proposal: Proposal, alice: User, worker: Any) -> None:
    edit(alice, "goals", "June", "July")
    eventually(lambda: Proposal.objects.get().mergeability == Mergeability.REBASABLE)
    revision = approve(alice, proposal).current_revision
    assert ("maths" in body(), "July" in body()) == (True, True)
    assert (revision.number, revision.origin, revision.result_text) == (2, "reapplied", body())
    assert dolt().is_ancestor(revision.head_commit)


@pytest.mark.parametrize("is_deleted", [False, True])
def test_a_block_that_changes_while_a_stale_proposal_is_made_again_is_not_approved_unseen(
    alice: User, tim: User, proposal: Proposal, monkeypatch: pytest.MonkeyPatch, is_deleted: bool
) -> None:
    """Another person is faster, between the look at the target and the head of main that the text is put on."""
    edit(alice, "goals", "June", "July")
    seen, original = as_seen(proposal)["seen_sha256"], merge._reapply_on_main

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
    assert sorted(dolt().branches()) == ["main", proposal.current_revision.branch]


def test_a_change_of_the_title_alone_makes_it_stale_too(goals: Block, proposal: Proposal, alice: User) -> None:
    edit(alice, "goals", "", "", title="New title")
    with refusing("target_changed"):
        approve(alice, proposal, seen_sha256=goals.sha256)
    approve(alice, proposal)
    block = reads.block("alice", "goals")
    assert (block.title, "maths" in block.body) == ("New title", True)


@pytest.mark.parametrize(
    ("by_hand", "state"),
    [("likes music", Mergeability.CONFLICT), ("likes maths", Mergeability.ALREADY_APPLIED)],
)
def test_what_no_longer_fits_is_a_conflict_that_can_be_rejected(
    proposal: Proposal, alice: User, worker: Any, by_hand: str, state: Mergeability
) -> None:
    edit(alice, "goals", "likes math", by_hand)
    with refusing(state):
        approve(alice, proposal)
    eventually(lambda: Proposal.objects.get().mergeability == state)
    assert Proposal.objects.get().status == Status.OPEN
    assert reject(alice, proposal, "outdated").status == Status.REJECTED


def test_a_deleted_block_takes_its_proposals_out_of_reach(goals: Block, proposal: Proposal, alice: User) -> None:
    services.delete_block(actor=alice, owner="alice", label="goals", loaded_sha256=goals.sha256)
    with refusing("target_changed") as refused:
        approve(alice, proposal, seen_sha256=goals.sha256)
    assert refused.value.block is None
    with refusing("conflict"):
        approve(alice, proposal)
    assert reads.find_block("alice", "goals") is None


@pytest.mark.parametrize("step", ["proposal_for", "require_as_seen"])
def test_a_decision_made_since_the_proposal_was_read_is_named(
    goals: Block, alice: User, tim: User, proposal: Proposal, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    original = getattr(checks, step)

    def decided_after(*arguments: Any, **more: Any) -> Any:
        result = original(*arguments, **more)
        reject(tim, proposal)
        return result

    monkeypatch.setattr(checks, step, decided_after)
    with refusing("already_decided", match="Tim Okafor was first"):
        approve(alice, proposal)
    assert reads.block("alice", "goals") == goals


def test_a_branch_that_vanished_stops_the_approval_alone(goals: Block, alice: User, proposal: Proposal) -> None:
    dolt().drop_branch(proposal.current_revision.branch)
    with refusing("branch_missing"):
        approve(alice, proposal)
    (problem,) = problems()
    assert (problem.code, problem.about) == ("branch_missing", f"proposal {proposal.pk}")
    assert problem.what == f"Proposal {proposal.pk} is open but its branch p/{proposal.pk} is gone."
    assert reads.block("alice", "goals") == goals
    assert reject(alice, proposal, "other").status == Status.REJECTED


@pytest.mark.usefixtures("unsound")
def test_a_branch_somebody_moved_is_not_merged(goals: Block, proposal: Proposal, alice: User, propose: Propose) -> None:
    branch, other = proposal.current_revision.branch, propose(goals, "June", "July")
    dolt().drop_branch(branch)
    dolt().create_branch(branch, other.current_revision.head_commit)
    with refusing("branch_missing"):
        approve(alice, proposal)


def test_of_many_deciding_at_once_exactly_one_wins(goals: Block, alice: User, tim: User, proposal: Proposal) -> None:
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
                reject(actor, proposal)
            won.append(actor.username)
        except (AlreadyDecided, BeingDecided, TargetChanged) as refused:
            lost.append(refused.code)

    for thread in [in_a_thread(partial(decide, number)) for number in range(6)]:
        thread.join()
    assert (len(won), len(lost)) == (1, 5)
    decided = Proposal.objects.get()
    assert decided.decided_by is not None
    assert [decided.decided_by.username] == won
    assert ("maths" in body()) == (decided.status == Status.APPROVED)


@pytest.mark.slow
def test_many_proposals_on_many_blocks_approved_at_once_lose_nothing(
    alice: User, make_block: MakeBlock, propose: Propose
) -> None:
    blocks = [make_block(alice, f"block-{number}", "before") for number in range(8)]
    proposals = [propose(block, "before", f"after {block.label}") for block in blocks]
    for thread in [in_a_thread(partial(approve, alice, proposal)) for proposal in proposals]:
        thread.join()
    assert [block.body for block in reads.blocks("alice")] == [f"after block-{number}" for number in range(8)]


def test_uncommitted_rows_of_a_stranger_are_not_signed_by_the_reviewer(
    alice: User, make_block: MakeBlock, proposal: Proposal
) -> None:
    make_block(alice, "profile", "text")
    with connections["memory"].cursor() as cursor:
        cursor.execute("UPDATE memory_app_memoryblock SET title = 'sneaked in' WHERE label = 'profile'")
    approve(alice, proposal)
    assert "unknown" in [commit.author for commit in dolt().log(limit=4)]
    assert reads.block("alice", "profile").title == "sneaked in"
    assert_ledger("profile", action="recovered")


def test_an_edit_of_several_places_is_made_again_as_shown(alice: User, scribe: Agent, make_block: MakeBlock) -> None:
    make_block(alice, "twice", "aa bb\naa cc\nzz\n")
    proposal = change(scribe, Replace("aa", "AA", expected_replacements=2), label="twice")
    edit(alice, "twice", "zz\n", "zz\nmore\n")
    approve(alice, proposal)
    assert body("twice") == "AA bb\nAA cc\nzz\nmore\n"


def test_a_block_changed_and_changed_back_takes_the_proposal(goals: Block, alice: User, proposal: Proposal) -> None:
    edit(alice, "goals", "June", "July")
    edit(alice, "goals", "July", "June")
    assert reads.block("alice", "goals").sha256 == goals.sha256
    assert approve(alice, proposal).status == Status.APPROVED
    assert body() == goals.body.replace("math", "maths")


@pytest.mark.parametrize("is_stale", [False, True])
def test_a_decision_another_process_finished_first_is_left_as_it_is(
    proposal: Proposal, alice: User, just_before_the_merge: BeforeMerge, is_stale: bool
) -> None:
    """A process stalled beyond its lease: recovery finishes the decision while it stands still."""
    if is_stale:
        edit(alice, "goals", "June", "July")
    just_before_the_merge(lambda: finish(Proposal.objects.get()))
    decided = approve(alice, proposal)
    assert decided.status == Status.APPROVED
    assert list(decided.revisions.values_list("number", flat=True)) == [1, 2][: 1 + is_stale]
    assert decided.merge_commit == Proposal.objects.get().merge_commit == head_of_main()
    assert decided.events.filter(what="approved").count() == 1
    assert body().count("maths") == 1
