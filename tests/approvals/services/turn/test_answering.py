"""A second try is tied to the rejection that it answers."""

from datetime import timedelta

import pytest
from django.utils import timezone

from approvals import services
from approvals.models import Agent, Kind, Policy, Proposal, User
from approvals.services import notes
from approvals.services.notes import ChangeContext
from memory_app.reads import Block
from memory_app.text.edits import Replace
from tests.support.fixtures import Propose


def rejected(tim: User, proposal: Proposal, reason: str = "badly_worded") -> Proposal:
    return services.reject(actor=tim, proposal_id=proposal.pk, revision=1, reason=reason)


def answered(proposal: Proposal) -> int | None:
    return Proposal.objects.get(pk=proposal.pk).answers_id


def test_another_wording_of_the_same_place_answers_the_rejection(goals: Block, tim: User, propose: Propose) -> None:
    first = rejected(tim, propose(goals, "likes math", "digs math"))
    second = propose(goals, "likes math", "enjoys mathematics")
    assert answered(second) == first.pk
    assert list(first.answered_by.all()) == [second]


def test_the_same_words_at_another_place_answer_it_too(goals: Block, tim: User, propose: Propose) -> None:
    first = rejected(tim, propose(goals, "likes math.", "likes math. She prefers evening lessons with Tim."))
    second = propose(goals, "in June.", "in June. Evening lessons with Tim are what she prefers.")
    assert answered(second) == first.pk


def test_another_matter_in_the_same_block_answers_nothing(goals: Block, tim: User, propose: Propose) -> None:
    rejected(tim, propose(goals, "likes math", "digs math"))
    assert answered(propose(goals, "one book", "two books")) is None


@pytest.mark.parametrize("reason", ["too_private", "duplicate"])
def test_what_is_gone_or_was_there_already_is_not_taken_up(
    goals: Block, tim: User, propose: Propose, reason: str
) -> None:
    rejected(tim, propose(goals, "likes math", "digs math"), reason)
    assert answered(propose(goals, "likes math", "enjoys math")) is None


def test_after_a_month_or_by_another_agent_it_is_a_new_matter(goals: Block, tim: User, propose: Propose) -> None:
    first = rejected(tim, propose(goals, "likes math", "digs math"))
    said = {
        "agent": Agent.objects.create(name="other"),
        "owner": "alice",
        "label": "goals",
        "reasoning": "She said so.",
    }
    other = services.propose(edits=[Replace("likes math", "enjoys math")], kind=Kind.EDIT, **said).proposal
    Proposal.objects.filter(pk=first.pk).update(decided_at=timezone.now() - timedelta(days=31))
    assert answered(other) is None
    assert answered(propose(goals, "likes math", "loves math")) is None


def test_a_reworded_note_answers_the_rejected_one(alice: User, tim: User, scribe: Agent) -> None:
    Policy.objects.create(owner="alice", notes=Policy.Notes.REVIEW)
    by = ChangeContext(actor=scribe, reasoning="She said so.")
    first = notes.save(by=by, owner="alice", content="Hands in sheets by bicycle on Mondays").proposal
    rejected(tim, first)
    same = notes.save(by=by, owner="alice", content="On Mondays she brings her sheets by bicycle").proposal
    other = notes.save(by=by, owner="alice", content="Reads one novel a month").proposal
    assert (answered(same), answered(other)) == (first.pk, None)
