"""What no longer fits is handed back by itself, and what is there already is closed."""

from datetime import timedelta

from django.utils import timezone

from approvals import services
from approvals.models import Event, Proposal, Status, User
from approvals.recovery.integrity import problems
from approvals.review.turn import change_request
from approvals.services.hand_back import ALREADY_APPLIED
from memory_app import reads
from memory_app.reads import Block
from memory_app.text.edits import Replace
from tests.approvals.services.turn.test_amend import amend
from tests.support.acts import approve, edit
from tests.support.fixtures import Propose


def edit_goals(alice: User, old: str, new: str) -> None:
    """Edit the block as its owner, and check what waits for it, which a worker may do later."""
    edit(alice, "goals", old, new)
    services.recheck("alice", [("block", "goals")])


def in_days(number: int) -> int:
    return services.settle(now=timezone.now() + timedelta(days=number))


def test_a_conflict_goes_back_to_its_agent_after_three_days(goals: Block, alice: User, propose: Propose) -> None:
    proposal = propose(goals, "likes math", "likes maths")
    edit_goals(alice, "likes math", "loves physics")
    assert in_days(2) == 0
    assert in_days(4) == 1
    proposal.refresh_from_db()
    assert proposal.status == Status.CHANGES_REQUESTED
    event = proposal.events.get(what=Event.What.CHANGES_REQUESTED)
    assert (event.actor, event.actor_kind, event.data) == ("assent", "assent", {"automatic": "conflict"})
    request = change_request(proposal)
    assert (request.by, request.by_name) == ("", "Assent")
    assert "no longer fits" in request.said
    assert in_days(4) == 0
    assert list(problems()) == []


def test_the_agent_proposes_it_again_on_todays_text(goals: Block, alice: User, tim: User, propose: Propose) -> None:
    proposal = propose(goals, "likes math", "likes maths")
    edit_goals(alice, "likes math", "loves physics")
    in_days(4)
    done = amend(proposal, edits=[Replace("loves physics", "loves physics and maths")])
    assert (done.proposal.status, done.proposal.mergeability) == (Status.OPEN, "clean")
    approve(tim, done.proposal)
    assert "physics and maths" in reads.block("alice", "goals").body


def test_what_fits_again_is_left_alone(goals: Block, alice: User, propose: Propose) -> None:
    proposal = propose(goals, "likes math", "likes maths")
    edit_goals(alice, "likes math", "loves physics")
    edit_goals(alice, "loves physics", "likes math")
    Proposal.objects.update(mergeability="conflict")  # nobody has checked it since
    assert in_days(4) == 0
    proposal.refresh_from_db()
    assert proposal.status == Status.OPEN


def test_what_is_there_already_is_closed_after_a_day_whosever_turn_it_is(
    goals: Block, alice: User, tim: User, propose: Propose
) -> None:
    proposal, other = propose(goals, "likes math", "likes maths"), propose(goals, "in June", "in July")
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
    assert list(problems()) == []


def test_a_person_who_is_faster_decides(goals: Block, alice: User, tim: User, propose: Propose) -> None:
    proposal = propose(goals, "likes math", "likes maths")
    edit_goals(alice, "likes math", "loves physics")
    services.reject(actor=tim, proposal_id=proposal.pk, revision=1, reason="outdated")
    assert in_days(4) == 0
    proposal.refresh_from_db()
    assert proposal.decided_by == tim
