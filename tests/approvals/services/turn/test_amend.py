"""An agent amends its undecided proposal: the next revision, on today's text."""

import threading
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from importlib import import_module
from typing import Any

import pytest
from django.utils import timezone

from approvals import services
from approvals.models import Agent, Event, Kind, Proposal, Status, User
from approvals.services.errors import AlreadyDecided, BeingDecided, NewRevision
from memory_app import reads
from memory_app.reads import Block
from memory_app.text.edits import Replace, Rewrite
from tests.approvals.services.turn.test_request_changes import ask
from tests.conftest import in_a_thread
from tests.support.acts import as_seen, edit, reject
from tests.support.first import dolt
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


def test_the_next_revision_comes_back_with_a_branch_of_its_own(goals: Block, tim: User, propose: Propose) -> None:
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
    assert first.result_text == goals.body.replace("math", "maths")
    assert second.result_text == goals.body.replace("math", "mathematics and https://example.org")
    assert list(dolt().branches()) == ["main", second.branch]
    assert [event.what for event in proposal.events.all()] == ["proposed", "changes_requested", "amended"]
    assert proposal.events.get(what=Event.What.AMENDED).revision == 2


def test_the_person_approves_the_new_revision_and_not_the_one_before(proposal: Proposal, tim: User) -> None:
    seen = as_seen(proposal)
    amend(proposal)
    with refusing("new_revision"):
        services.approve(actor=tim, **seen)
    services.approve(actor=tim, **seen | {"revision": 2})
    assert "likes mathematics" in reads.block("alice", "goals").body


def test_an_edit_is_made_on_todays_text_and_not_on_the_revision_before(
    goals: Block, alice: User, proposal: Proposal
) -> None:
    with refusing("old_string_not_found"):
        amend(proposal, edits=[Replace("maths", "mathematics")])
    edit(alice, "goals", "June", "July")
    with refusing("precondition_failed"):
        amend(proposal, expected_sha256=goals.body_sha256)
    now = reads.block("alice", "goals")
    done = amend(proposal, expected_sha256=now.body_sha256)
    assert done.revision.result_text == now.body.replace("math", "mathematics")
    assert done.proposal.mergeability == "clean"


def test_others_have_nothing_to_amend(goals: Block, ben: User, make_block: MakeBlock, proposal: Proposal) -> None:
    make_block(ben, "goals", goals.body)
    other = Agent.objects.create(name="other")
    for changed in ({"agent": other}, {"owner": "ben"}, {"proposal_id": proposal.pk + 1}):
        with refusing("proposal_not_found"):
            amend(proposal, **changed)
    proposal.refresh_from_db()
    assert proposal.current_revision_number == 1


def test_another_block_and_the_same_change_are_refused_but_for_other_evidence(
    alice: User, tim: User, make_block: MakeBlock, proposal: Proposal
) -> None:
    make_block(alice, "profile", "Alice likes math.")
    with refusing("other_target"):
        amend(proposal, label="profile")
    ask(tim, proposal, comment="Where did she say so?")
    for edit_ in (Replace("math", "maths"), Replace("likes math", "likes maths")):  # the same text, by another way
        with refusing("no_change"):
            amend(proposal, edits=[edit_])
    proposal.refresh_from_db()
    assert (proposal.status, proposal.current_revision_number) == (Status.CHANGES_REQUESTED, 1)
    turn = {"role": "user", "content": "I like maths."}
    done = amend(proposal, "maths", evidence=[turn])
    assert (done.proposal.status, done.revision.number, done.proposal.evidence) == (Status.OPEN, 2, [turn])


def test_one_that_is_being_decided_or_is_decided_is_not_amended(tim: User, proposal: Proposal) -> None:
    Proposal.objects.update(status=Status.MERGING, lease_expires_at=timezone.now() + timedelta(minutes=1))
    with refusing("being_decided"):
        amend(proposal)
    Proposal.objects.update(status=Status.OPEN)
    reject(tim, proposal)
    with refusing("already_decided"):
        amend(proposal)


def test_the_same_operation_gives_the_same_revision(proposal: Proposal) -> None:
    first, again = (amend(proposal, operation="a" * 32) for _ in range(2))
    assert (first.revision.number, again.revision.number, again.amended) == (2, 2, True)
    assert proposal.revisions.count() == 2


def test_amending_has_an_end_and_does_not_count_against_the_caps(
    proposal: Proposal, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_module("approvals.services.proposing"), "MOST_REVISIONS", 2)
    settings.PENDING_CAP = settings.MAX_OPEN_PROPOSALS = 1
    assert amend(proposal).revision.number == 2
    with refusing("too_many_revisions"):
        amend(proposal, "arithmetic")


def test_the_kind_follows_what_is_asked_for_now(proposal: Proposal) -> None:
    done = amend(proposal, edits=[Rewrite("# Goals\n\nAll new.\n")], kind=Kind.REWRITE)
    assert (done.proposal.kind, done.revision.result_text) == (Kind.REWRITE, "# Goals\n\nAll new.\n")


def test_of_a_decision_and_amendments_at_once_all_see_one_order(goals: Block, tim: User, proposal: Proposal) -> None:
    seen = as_seen(proposal)
    begin, outcomes = threading.Barrier(3), []

    def work(act: Callable[[], object]) -> None:
        begin.wait()
        try:
            act()
            outcomes.append("done")
        except (AlreadyDecided, BeingDecided, NewRevision) as refusal:
            outcomes.append(type(refusal).__name__)

    acts = [
        partial(services.approve, actor=tim, **seen),
        partial(amend, proposal, "mathematics"),
        partial(amend, proposal, "arithmetic"),
    ]
    for thread in [in_a_thread(partial(work, act)) for act in acts]:
        thread.join()
    assert "done" in outcomes
    proposal.refresh_from_db()
    if proposal.status == Status.APPROVED:
        assert "likes maths." in reads.block("alice", "goals").body
    else:
        assert proposal.status == Status.OPEN
        assert reads.block("alice", "goals") == goals
