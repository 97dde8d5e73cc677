"""Queries and rows that are put together once: they answer and write as the ORM does."""

from datetime import timedelta

import pytest
from django.db import IntegrityError
from django.utils import timezone

from approvals.models import Agent, Event, Proposal
from memory_app.databases.prepared import Prepared, insert, update
from memory_app.dolt.errors import WriteOutsideCommit
from memory_app.models import MemoryNote
from memory_app.reads import Block
from tests.support.fixtures import Propose


def test_rows_are_those_of_the_queryset_for_each_value(scribe: Agent) -> None:
    other = Agent.objects.create(name="robin")
    by_name = Prepared(lambda name: Agent.objects.filter(name=name), name=str)
    assert by_name.first(name="scribe") == scribe
    assert by_name.first(name="robin") == other
    assert by_name.first(name="nobody") is None
    assert by_name.first(name="' OR 1=1 --") is None


def test_related_rows_values_and_times_come_as_from_the_queryset(scribe: Agent, goals: Block, propose: Propose) -> None:
    proposal = propose(goals, "Alice likes math.", "Alice loves math.")
    since = Prepared(
        lambda at, agent: Proposal.objects.filter(created_at__gte=at, agent=agent).select_related("agent"),
        at=type(timezone.now()),
        agent=int,
    )
    (found,) = since.all(at=proposal.created_at, agent=scribe.pk)
    assert found == proposal
    assert (found.created_at, found.evidence, found.agent) == (proposal.created_at, proposal.evidence, scribe)
    assert since.all(at=proposal.created_at + timedelta(seconds=1), agent=scribe.pk) == []
    words = Prepared(lambda pk: Proposal.objects.filter(pk=pk).values_list("status", "words_added"), pk=int)
    assert words.first(pk=proposal.pk) == (proposal.status, proposal.words_added)


def test_a_query_that_changes_with_its_values_is_refused() -> None:
    with pytest.raises(ValueError, match="depends on what count is"):
        Prepared(lambda count: Agent.objects.filter(pk__in=range(count - 1_000_000_000)), count=int).all(count=3)
    with pytest.raises(ValueError, match="does not use name"):
        Prepared(lambda name: Agent.objects.all(), name=str).all(name="scribe")


def test_an_inserted_row_is_the_one_saving_makes(scribe: Agent, goals: Block, propose: Propose) -> None:
    proposal = propose(goals, "Alice likes math.", "Alice loves math.")
    event = insert(
        Event(proposal=proposal, owner="alice", what="proposed", actor="scribe", actor_kind="agent", revision=1)
    )
    read = Event.objects.get(pk=event.pk)
    assert (read.what, read.data, read.at) == ("proposed", {}, event.at)
    event.text = "changed"
    event.save()
    assert Event.objects.get(pk=event.pk).text == "changed"
    with pytest.raises(IntegrityError):
        insert(Agent(name="scribe"))


def test_an_update_says_whether_the_row_was_as_expected(scribe: Agent, goals: Block, propose: Propose) -> None:
    proposal = propose(goals, "Alice likes math.", "Alice loves math.")
    where = {"id": proposal.pk, "status": ["open", "merging"], "agent_id": scribe.pk}
    assert update(Proposal, {"decision_comment": "so", "evidence": [{"role": "user"}]}, where=where)
    assert not update(Proposal, {"decision_comment": "no"}, where=where | {"current_revision_number": 2})
    proposal.refresh_from_db()
    assert (proposal.decision_comment, proposal.evidence) == ("so", [{"role": "user"}])


def test_versioned_rows_are_refused_outside_of_a_commit() -> None:
    with pytest.raises(WriteOutsideCommit):
        insert(MemoryNote(owner="alice", note_id="note-1"))
    with pytest.raises(WriteOutsideCommit):
        update(MemoryNote, {"content": "forged"}, where={"owner": "alice"})
