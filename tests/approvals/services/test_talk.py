"""Talking about a proposal, assigning it, saying that one looks at it, and putting it off."""

from datetime import timedelta

import pytest
from django.utils import timezone

from approvals import services
from approvals.models import Agent, Event, Proposal, User
from approvals.review import turn
from memory_app.text import edits
from tests.support.acts import approve, reject
from tests.support.refusals import refusing

INVALID = "comment_invalid"


def comment(actor: User | Agent, proposal: Proposal, text: str = "Why?", **more: str) -> Event:
    return services.comment(actor=actor, proposal_id=proposal.pk, text=text, **more)


def assign(actor: User, proposal: Proposal, to: str) -> Proposal:
    return services.assign(actor=actor, proposal_id=proposal.pk, to=to)


# -- comments -------------------------------------------------------------------------------------


def test_owner_tutor_staff_agent_talk(alice: User, tim: User, admin: User, scribe: Agent, proposal: Proposal) -> None:
    for actor in (alice, tim, admin, scribe):
        comment(actor, proposal, "What about June?")
    said = [(each.actor, each.actor_kind) for each in turn.thread_of(proposal)]
    assert said == [("alice", "person"), ("tim", "person"), ("admin", "person"), ("scribe", "agent")]
    summary = turn.thread_summary(proposal)
    assert (summary.comments, summary.is_answered) == (4, True)


def test_a_stranger_and_another_agent_learn_nothing(mallory: User, proposal: Proposal) -> None:
    other = Agent.objects.create(name="other")
    for actor in (mallory, other):
        with refusing("proposal_not_found"):
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
    reject(tim, proposal, "too_private", comment="Private.")
    assert turn.thread_of(proposal) == ()
    kept = Event.objects.filter(proposal=proposal, what=Event.What.COMMENTED)
    assert {(each.text, str(each.data)) for each in kept} == {("", "{}")}
    assert Event.objects.get(proposal=proposal, what=Event.What.REJECTED).text == "Private."
    with refusing("already_decided"):
        comment(alice, proposal)


# -- assigning ------------------------------------------------------------------------------------


def test_it_is_assigned_to_who_may_decide(alice: User, tim: User, proposal: Proposal) -> None:
    assert assign(alice, proposal, "tim").assigned_to == tim
    assign(tim, proposal, "tim")
    events = Event.objects.filter(proposal=proposal, what=Event.What.ASSIGNED)
    assert [(event.actor, event.data) for event in events] == [("alice", {"to": "tim"})]
    assert assign(tim, proposal, "").assigned_to is None


def test_it_is_assigned_by_and_to_nobody_else_and_not_when_decided(
    alice: User, mallory: User, proposal: Proposal
) -> None:
    for to in ("mallory", "ghost", "scribe"):
        with refusing("decision_refused"):
            assign(alice, proposal, to)
    with refusing("proposal_not_found"):
        assign(mallory, proposal, "mallory")
    approve(alice, proposal)
    with refusing("already_decided"):
        assign(alice, proposal, "alice")
    proposal.refresh_from_db()
    assert proposal.assigned_to is None
