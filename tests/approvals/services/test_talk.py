"""Talking about a proposal, assigning it, saying that one looks at it, and putting it off."""

from datetime import timedelta

import pytest
from django.utils import timezone

from approvals import services
from approvals.models import Agent, Event, Proposal, User
from approvals.review import turn
from approvals.services import errors
from memory_app.reads import Block
from memory_app.text import edits
from tests.support.acts import approve
from tests.support.fixtures import Propose
from tests.support.refusals import refusing

INVALID = "comment_invalid"


@pytest.fixture
def proposal(goals: Block, propose: Propose) -> Proposal:
    return propose(goals, "math", "maths")


def comment(actor: User | Agent, proposal: Proposal, text: str = "Why?", **more: str) -> Event:
    return services.comment(actor=actor, proposal_id=proposal.pk, text=text, **more)


# -- comments -------------------------------------------------------------------------------------


def test_owner_tutor_staff_and_agent_talk(
    alice: User, tim: User, admin: User, scribe: Agent, proposal: Proposal
) -> None:
    for actor in (alice, tim, admin, scribe):
        comment(actor, proposal, "What about June?")
    said = turn.thread_of(proposal)
    people = [(name, "person") for name in ("alice", "tim", "admin")]
    assert [(each.actor, each.actor_kind) for each in said] == [*people, ("scribe", "agent")]
    assert turn.thread_summary(proposal).comments == 4
    assert turn.thread_summary(proposal).is_answered


def test_a_stranger_and_another_agent_learn_nothing(mallory: User, proposal: Proposal) -> None:
    other = Agent.objects.create(name="other")
    for actor in (mallory, other):
        with pytest.raises(errors.ProposalNotFound):
            comment(actor, proposal)
    assert turn.thread_of(proposal) == ()


def test_a_comment_may_be_about_one_change(alice: User, proposal: Proposal) -> None:
    assert comment(alice, proposal, change="3f2a90c1").data == {"change": "3f2a90c1"}
    with refusing(INVALID):
        comment(alice, proposal, change="<script>")


@pytest.mark.parametrize(
    ("text", "error"),
    [("", INVALID), ("  \n", INVALID), ("x" * 2_001, INVALID), ("a\0b", edits.ForbiddenCharacter)],
)
def test_what_says_nothing_or_too_much_is_refused(
    alice: User, proposal: Proposal, text: str, error: str | type[Exception]
) -> None:
    with refusing(error):
        comment(alice, proposal, text)
    comment(alice, proposal, "x" * 2_000)


def test_the_same_operation_is_one_comment(scribe: Agent, proposal: Proposal) -> None:
    first = comment(scribe, proposal, operation="a" * 32)
    assert comment(scribe, proposal, operation="a" * 32).pk == first.pk
    assert turn.thread_summary(proposal).comments == 1


def test_decided_ones_are_talked_about_for_thirty_days(alice: User, scribe: Agent, proposal: Proposal) -> None:
    approve(alice, proposal)
    comment(scribe, proposal, "Thank you.")
    Proposal.objects.update(decided_at=timezone.now() - timedelta(days=31))
    with refusing("talk_closed"):
        comment(alice, proposal)


def test_an_agent_cannot_fill_a_thread_up(alice: User, scribe: Agent, proposal: Proposal) -> None:
    for number in range(50):
        comment(scribe, proposal, f"{number}?")
    with refusing("talk_closed"):
        comment(scribe, proposal)
    comment(alice, proposal, "Enough.")


def test_comments_go_with_the_other_texts(alice: User, tim: User, scribe: Agent, proposal: Proposal) -> None:
    comment(scribe, proposal, "She has migraines.", change="abc")
    comment(tim, proposal, "Migraines?")
    services.reject(actor=tim, proposal_id=proposal.pk, revision=1, reason="too_private", comment="Private.")
    assert turn.thread_of(proposal) == ()
    kept = Event.objects.filter(proposal=proposal, what=Event.What.COMMENTED)
    assert {(each.text, str(each.data)) for each in kept} == {("", "{}")}
    assert Event.objects.get(proposal=proposal, what=Event.What.REJECTED).text == "Private."
    with pytest.raises(errors.AlreadyDecided):
        comment(alice, proposal)


# -- assigning ------------------------------------------------------------------------------------


def test_it_is_assigned_to_who_may_decide(alice: User, tim: User, proposal: Proposal) -> None:
    assert services.assign(actor=alice, proposal_id=proposal.pk, to="tim").assigned_to == tim
    services.assign(actor=tim, proposal_id=proposal.pk, to="tim")
    events = Event.objects.filter(proposal=proposal, what=Event.What.ASSIGNED)
    assert [(event.actor, event.data) for event in events] == [("alice", {"to": "tim"})]
    assert services.assign(actor=tim, proposal_id=proposal.pk, to="").assigned_to is None


@pytest.mark.parametrize("to", ["mallory", "ghost", "scribe"])
def test_it_is_not_assigned_to_others(alice: User, mallory: User, proposal: Proposal, to: str) -> None:
    with pytest.raises(errors.DecisionRefused):
        services.assign(actor=alice, proposal_id=proposal.pk, to=to)
    proposal.refresh_from_db()
    assert proposal.assigned_to is None


def test_a_decided_one_is_nobodys_and_strangers_assign_nothing(alice: User, mallory: User, proposal: Proposal) -> None:
    with pytest.raises(errors.ProposalNotFound):
        services.assign(actor=mallory, proposal_id=proposal.pk, to="mallory")
    approve(alice, proposal)
    with pytest.raises(errors.AlreadyDecided):
        services.assign(actor=alice, proposal_id=proposal.pk, to="alice")
