"""Proposals go back to their agents: a person asks for changes, and what no longer fits is handed back by itself."""

from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from approvals import services
from approvals.models import Event, Proposal, Status, User
from approvals.pages.inbox import counts, waiting_for
from approvals.pages.inbox_filters import Tab
from approvals.permissions import ReviewAction, available_actions, proposals_visible_to
from approvals.review.turn import change_request
from approvals.services.hand_back import ALREADY_APPLIED, hand_back
from memory_app import reads
from memory_app.reads import Block
from tests.approvals.services.test_approve import DECISIONS
from tests.support.acts import approve, change, edit, reject
from tests.support.first import dolt, head_of_main
from tests.support.fixtures import Propose
from tests.support.refusals import refusing

WANTED = "Say which exam."


def ask(person: User, proposal: Proposal, **changed: object) -> Proposal:
    given = {"revision": 1, "comment": WANTED} | changed
    return services.request_changes(actor=person, proposal_id=proposal.pk, **given)


@pytest.fixture
def asked(tim: User, proposal: Proposal) -> Proposal:
    return ask(tim, proposal)


def test_asking_for_changes_gives_the_turn_to_the_agent_and_keeps_its_branch(tim: User, proposal: Proposal) -> None:
    before = head_of_main()
    asked = ask(tim, proposal, comment=f" {WANTED} ", reason="wrong")
    proposal.refresh_from_db()
    assert asked.status == proposal.status == Status.CHANGES_REQUESTED
    assert proposal.handed_back_at is not None
    assert not proposal.is_decided
    event = proposal.events.get(what=Event.What.CHANGES_REQUESTED)
    assert (event.actor, event.text, event.data) == ("tim", WANTED, {"reason": "wrong"})
    request = change_request(proposal)
    assert (request.by, request.by_name, request.comment, request.reason) == ("tim", "Tim Okafor", WANTED, "wrong")
    assert head_of_main() == before
    assert dolt().head(proposal.current_revision.branch) == proposal.current_revision.head_commit


def test_it_waits_for_the_agent_and_not_for_you(goals: Block, tim: User, asked: Proposal, propose: Propose) -> None:
    propose(goals, "in June", "in July")
    assert waiting_for(tim) == 1
    assert counts(proposals_visible_to(tim)) == {Tab.YOURS: 1, Tab.AGENT: 1, Tab.DECIDED: 0}


def test_a_request_says_what_should_change(tim: User, proposal: Proposal) -> None:
    for given in ({"comment": " \n"}, {"reason": "too_private"}, {"reason": "because"}):
        with pytest.raises(ValueError, match=r"request|reason"):
            ask(tim, proposal, **given)
    proposal.refresh_from_db()
    assert proposal.status == Status.OPEN


@pytest.mark.parametrize("name", sorted(DECISIONS.keys() - {"back_to_review"}))
def test_who_does_not_know_of_the_request_decides_nothing(
    goals: Block, alice: User, asked: Proposal, name: str
) -> None:
    with refusing("with_agent", match="Tim Okafor asked scribe for changes."):
        DECISIONS[name](actor=alice, proposal_id=asked.pk, revision=1)
    assert reads.block("alice", "goals") == goals
    assert asked.events.filter(what=Event.What.CHANGES_REQUESTED).count() == 1


def test_it_can_be_approved_rejected_and_withdrawn_all_the_same(
    goals: Block, tim: User, asked: Proposal, propose: Propose
) -> None:
    others = [propose(goals, "in June", "in July"), propose(goals, "one book", "two books")]
    for other in others:
        ask(tim, other)
    approved = approve(tim, asked, is_with_agent=True)
    rejected = reject(tim, others[0], is_with_agent=True)
    withdrawn = services.withdraw(agent=asked.agent, proposal_id=others[1].pk, comment="No, then.")
    statuses = [each.status for each in (approved, rejected, withdrawn)]
    assert statuses == [Status.APPROVED, Status.REJECTED, Status.WITHDRAWN]
    assert reads.block("alice", "goals").body == goals.body.replace("math", "maths")


def test_a_request_is_taken_back(tim: User, alice: User, mallory: User, asked: Proposal) -> None:
    possible = {ReviewAction.APPROVE, ReviewAction.REJECT, ReviewAction.BACK_TO_REVIEW}
    assert available_actions(alice, Proposal.objects.get()) == possible
    for person, revision, error in ((tim, 2, "new_revision"), (mallory, 1, "proposal_not_found")):
        with refusing(error):
            services.back_to_review(actor=person, proposal_id=asked.pk, revision=revision)
    assert Proposal.objects.get().status == Status.CHANGES_REQUESTED
    back, again = (services.back_to_review(actor=alice, proposal_id=asked.pk, revision=1) for _ in range(2))
    assert (back.status, back.handed_back_at) == (Status.OPEN, None)
    assert again.events.filter(what=Event.What.REOPENED).count() == 1
    assert change_request(again) is None
    assert ReviewAction.REQUEST_CHANGES in available_actions(tim, again)


def test_what_its_agent_leaves_expires_but_not_at_once(tim: User, proposal: Proposal) -> None:
    Proposal.objects.update(expires_at=timezone.now() + timedelta(minutes=1))
    ask(tim, proposal)
    assert services.expire(now=timezone.now() + timedelta(days=6)) == 0
    assert services.expire(now=timezone.now() + timedelta(days=8)) == 1
    proposal.refresh_from_db()
    assert proposal.status == Status.EXPIRED


def test_a_proposal_that_moved_on_is_not_handed_back(tim: User, proposal: Proposal) -> None:
    reject(tim, proposal)
    with transaction.atomic():
        assert not hand_back(proposal, actor=None, automatic="conflict")
    proposal.refresh_from_db()
    assert proposal.status == Status.REJECTED


# -- what no longer fits is handed back by itself, and what is there already is closed ------------


def edit_goals(alice: User, old: str, new: str) -> None:
    """Edit the block as its owner, and check what waits for it, which a worker may do later."""
    edit(alice, "goals", old, new)
    services.recheck("alice", [("block", "goals")])


def in_days(number: int) -> int:
    return services.settle(now=timezone.now() + timedelta(days=number))


@pytest.fixture
def conflict(alice: User, proposal: Proposal) -> Proposal:
    """A proposal whose words alice took away."""
    edit_goals(alice, "likes math", "loves physics")
    return proposal


def test_a_conflict_goes_back_to_its_agent_after_three_days(conflict: Proposal) -> None:
    assert in_days(2) == 0
    assert in_days(4) == 1
    conflict.refresh_from_db()
    assert conflict.status == Status.CHANGES_REQUESTED
    event = conflict.events.get(what=Event.What.CHANGES_REQUESTED)
    assert (event.actor, event.actor_kind, event.data) == ("assent", "assent", {"automatic": "conflict"})
    request = change_request(conflict)
    assert (request.by, request.by_name) == ("", "Assent")
    assert "no longer fits" in request.said
    assert in_days(4) == 0


def test_the_agent_proposes_it_again_on_todays_text(tim: User, conflict: Proposal) -> None:
    in_days(4)
    done = change(conflict.agent, ("loves physics", "loves physics and maths"), proposal_id=conflict.pk)
    assert (done, done.status, done.mergeability) == (conflict, Status.OPEN, "clean")
    approve(tim, done)
    assert "physics and maths" in reads.block("alice", "goals").body


def test_what_fits_again_is_left_alone(alice: User, conflict: Proposal) -> None:
    edit_goals(alice, "loves physics", "likes math")
    Proposal.objects.update(mergeability="conflict")  # nobody has checked it since
    assert in_days(4) == 0
    conflict.refresh_from_db()
    assert conflict.status == Status.OPEN


def test_what_is_there_already_is_closed_after_a_day_whosever_turn_it_is(
    goals: Block, alice: User, tim: User, proposal: Proposal, propose: Propose
) -> None:
    other = propose(goals, "in June", "in July")
    services.request_changes(actor=tim, proposal_id=other.pk, revision=1, comment="Which year?")
    edit_goals(alice, "likes math", "likes maths")
    edit_goals(alice, "in June", "in July")
    assert in_days(0) == 0
    assert in_days(2) == 2
    for each in (proposal, other):
        each.refresh_from_db()
        assert (each.status, each.decided_by, each.decision_reason) == (Status.REJECTED, None, "duplicate")
        assert each.was_already_applied
        assert each.decision_comment == ALREADY_APPLIED
        assert each.events.get(what=Event.What.REJECTED).actor == "assent"


def test_a_person_who_is_faster_decides(tim: User, conflict: Proposal) -> None:
    reject(tim, conflict, "outdated")
    assert in_days(4) == 0
    conflict.refresh_from_db()
    assert conflict.decided_by == tim
