"""An agent amends its undecided proposal: the next revision, on today's text."""

import threading
from datetime import timedelta
from importlib import import_module
from typing import Any

import pytest
from django.utils import timezone

from approvals import services
from approvals.models import Agent, Event, Kind, Proposal, RejectReason, Status, User
from approvals.recovery.integrity import problems
from approvals.services.errors import AlreadyDecided, BeingDecided, NewRevision, NoChange, ProposalNotFound
from memory_app import reads
from memory_app.dolt.connections import dolt
from memory_app.reads import Block
from memory_app.text.edits import Replace, Rewrite
from tests.approvals.services.turn.test_request_changes import ask
from tests.conftest import in_a_thread
from tests.support.acts import edit
from tests.support.fixtures import MakeBlock, Propose
from tests.support.refusals import refusing


def amend(proposal: Proposal, new: str = "mathematics", **changed: Any) -> services.Proposed:
    given = {
        "agent": proposal.agent,
        "owner": proposal.owner,
        "proposal_id": proposal.pk,
        "label": proposal.target,
        "edits": [Replace("math", new)],
        "kind": Kind.EDIT,
        "reasoning": "As you asked.",
    }
    return services.propose(**(given | changed))


def test_the_next_revision_comes_back_to_your_turn_with_a_branch_of_its_own(
    goals: Block, tim: User, propose: Propose
) -> None:
    proposal = propose(goals, "math", "maths", evidence=[{"role": "user", "content": "I like maths."}])
    Proposal.objects.update(expires_at=timezone.now() + timedelta(days=1))
    ask(tim, proposal)
    done = amend(proposal, "mathematics and https://example.org")
    proposal.refresh_from_db()
    assert (done.amended, done.created, done.proposal.pk, done.revision.number) == (True, True, proposal.pk, 2)
    assert (proposal.status, proposal.current_revision_number) == (Status.OPEN, 2)
    assert (proposal.reasoning, proposal.handed_back_at) == ("As you asked.", None)
    assert proposal.evidence == [{"role": "user", "content": "I like maths."}]
    # All that follows from the change is of the new one.
    assert "example.org" in str(proposal.excerpt)
    assert Proposal.objects.filter(search_words__contains="example.org").exists()
    assert proposal.words_added > 1
    assert proposal.risks == ["links_added"]
    assert proposal.expires_at > timezone.now() + timedelta(days=29)
    first, second = proposal.revisions.all()
    assert (first.result_text, second.result_text) == (
        goals.body.replace("math", "maths"),
        goals.body.replace("math", "mathematics and https://example.org"),
    )
    assert [branch.name for branch in dolt().branches()] == ["main", second.branch]
    assert [event.what for event in proposal.events.all()] == ["proposed", "changes_requested", "amended"]
    assert proposal.events.get(what=Event.What.AMENDED).revision == 2
    assert list(problems()) == []


def test_the_person_approves_the_new_revision_and_not_the_one_before(goals: Block, tim: User, propose: Propose) -> None:
    proposal = propose(goals, "math", "maths")
    amend(proposal)
    with pytest.raises(NewRevision):
        services.approve(actor=tim, proposal_id=proposal.pk, revision=1, seen_sha256=goals.sha256)
    services.approve(actor=tim, proposal_id=proposal.pk, revision=2, seen_sha256=goals.sha256)
    assert "likes mathematics" in reads.block("alice", "goals").body
    assert [branch.name for branch in dolt().branches()] == ["main"]
    assert list(problems()) == []


def test_an_edit_is_made_on_todays_text_and_not_on_the_revision_before(
    goals: Block, alice: User, propose: Propose
) -> None:
    proposal = propose(goals, "math", "maths")
    with refusing("old_string_not_found"):
        amend(proposal, edits=[Replace("maths", "mathematics")])
    edit(alice, "goals", "June", "July")
    with refusing("precondition_failed"):
        amend(proposal, expected_sha256=goals.body_sha256)
    now = reads.block("alice", "goals")
    done = amend(proposal, expected_sha256=now.body_sha256)
    assert "in July" in done.revision.result_text
    assert "mathematics" in done.revision.result_text
    assert done.proposal.mergeability == "clean"


def test_of_others_there_is_nothing_to_amend(goals: Block, ben: User, make_block: MakeBlock, propose: Propose) -> None:
    proposal = propose(goals, "math", "maths")
    make_block(ben, "goals", goals.body)
    other = Agent.objects.create(name="other")
    for changed in ({"agent": other}, {"owner": "ben"}, {"proposal_id": proposal.pk + 1}):
        with pytest.raises(ProposalNotFound):
            amend(proposal, **changed)
    proposal.refresh_from_db()
    assert proposal.current_revision_number == 1


def test_another_block_and_the_same_change_are_refused(
    goals: Block, alice: User, tim: User, make_block: MakeBlock, propose: Propose
) -> None:
    proposal = propose(goals, "math", "maths")
    make_block(alice, "profile", "Alice likes math.")
    with refusing("other_target"):
        amend(proposal, label="profile")
    ask(tim, proposal)
    with pytest.raises(NoChange):
        amend(proposal, "maths")
    with pytest.raises(NoChange):  # the same text, by another way
        amend(proposal, edits=[Replace("likes math", "likes maths")])
    proposal.refresh_from_db()
    assert (proposal.status, proposal.current_revision_number) == (Status.CHANGES_REQUESTED, 1)


def test_the_same_change_with_other_evidence_is_an_answer(goals: Block, tim: User, propose: Propose) -> None:
    proposal = propose(goals, "math", "maths")
    ask(tim, proposal, comment="Where did she say so?")
    turn = {"role": "user", "content": "I like maths."}
    done = amend(proposal, "maths", evidence=[turn])
    assert (done.proposal.status, done.revision.number, done.proposal.evidence) == (Status.OPEN, 2, [turn])


def test_one_that_is_being_decided_or_is_decided_is_not_amended(goals: Block, tim: User, propose: Propose) -> None:
    proposal = propose(goals, "math", "maths")
    Proposal.objects.update(status=Status.MERGING, lease_expires_at=timezone.now() + timedelta(minutes=1))
    with pytest.raises(BeingDecided):
        amend(proposal)
    Proposal.objects.update(status=Status.OPEN)
    services.reject(actor=tim, proposal_id=proposal.pk, revision=1, reason=RejectReason.WRONG)
    with pytest.raises(AlreadyDecided):
        amend(proposal)


def test_the_same_operation_gives_the_same_revision(goals: Block, propose: Propose) -> None:
    proposal = propose(goals, "math", "maths")
    first = amend(proposal, operation="a" * 32)
    again = amend(proposal, operation="a" * 32)
    assert (first.revision.number, again.revision.number, again.amended) == (2, 2, True)
    assert proposal.revisions.count() == 2


def test_amending_does_not_count_against_the_caps(goals: Block, propose: Propose, settings: Any) -> None:
    settings.PENDING_CAP = settings.MAX_OPEN_PROPOSALS = 1
    assert amend(propose(goals, "math", "maths")).revision.number == 2


def test_amending_has_an_end(goals: Block, propose: Propose, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("approvals.services.proposing"), "MOST_REVISIONS", 2)
    proposal = propose(goals, "math", "maths")
    amend(proposal)
    with refusing("too_many_revisions"):
        amend(proposal, "arithmetic")


def test_the_kind_follows_what_is_asked_for_now(goals: Block, propose: Propose) -> None:
    proposal = propose(goals, "math", "maths")
    done = amend(proposal, edits=[Rewrite("# Goals\n\nAll new.\n")], kind=Kind.REWRITE)
    assert (done.proposal.kind, done.revision.result_text) == (Kind.REWRITE, "# Goals\n\nAll new.\n")


def test_of_a_decision_and_amendments_at_once_all_see_one_order(goals: Block, tim: User, propose: Propose) -> None:
    proposal = propose(goals, "math", "maths")
    begin, outcomes = threading.Barrier(3), []

    def work(act: Any) -> None:
        begin.wait()
        try:
            act()
            outcomes.append("done")
        except (AlreadyDecided, BeingDecided, NewRevision) as refusal:
            outcomes.append(type(refusal).__name__)

    approve = {"actor": tim, "proposal_id": proposal.pk, "revision": 1, "seen_sha256": goals.sha256}
    threads = [
        in_a_thread(lambda: work(lambda: services.approve(**approve))),
        in_a_thread(lambda: work(lambda: amend(proposal, "mathematics"))),
        in_a_thread(lambda: work(lambda: amend(proposal, "arithmetic"))),
    ]
    for thread in threads:
        thread.join()
    assert "done" in outcomes
    proposal.refresh_from_db()
    if proposal.status == Status.APPROVED:
        assert "likes maths." in reads.block("alice", "goals").body
    else:
        assert proposal.status == Status.OPEN
        assert reads.block("alice", "goals") == goals
    assert list(problems()) == []
