"""One proposal is made by one call at a time, however often it is asked for."""

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from importlib import import_module
from typing import Any

import pytest
from django.utils import timezone

from approvals import services
from approvals.models import Agent, Kind, Policy, Proposal, Status, User
from approvals.recovery.recover import finish
from approvals.services import notes
from approvals.services.notes import ChangeContext
from approvals.services.preparing import finish_once, finish_preparing, take_over
from memory_app import reads
from memory_app.dolt.connections import dolt, head_of_main
from memory_app.dolt.errors import RevisionNotFound
from memory_app.reads import Block
from memory_app.text.edits import Replace
from memory_app.writing import authors, commits, ledger, rows
from memory_app.writing.values import NoteWrite
from tests.conftest import in_a_thread
from tests.support.refusals import refusing

pytestmark = pytest.mark.slow

ROUNDS, CALLERS = 6, 4


def ask(scribe: Agent, **more: Any) -> services.Proposed:
    edits = more.pop("edits", (Replace("math", "maths"),))
    return services.propose(
        agent=scribe, owner="alice", label="goals", edits=edits, kind=Kind.EDIT, reasoning="She said so.", **more
    )


def at_once(call: Callable[[], int]) -> list[int | Exception]:
    """What the same call comes to for several threads that begin together."""
    ready, came_to = threading.Barrier(CALLERS), list[int | Exception]()

    def run() -> None:
        try:
            ready.wait()
            came_to.append(call())
        except Exception as error:
            came_to.append(error)

    for thread in [in_a_thread(run) for _ in range(CALLERS)]:
        thread.join()
    return came_to


def assert_whole(pk: int) -> None:
    proposal = Proposal.objects.get(pk=pk)
    assert (proposal.status, proposal.lease_expires_at) == (Status.OPEN, None)
    assert dolt().exists(proposal.current_revision.branch)
    assert dolt().head(proposal.current_revision.branch) == proposal.current_revision.head_commit


@pytest.mark.parametrize("names_it", [True, False])
def test_the_same_edit_from_several_callers_is_one_proposal(goals: Block, scribe: Agent, names_it: bool) -> None:
    for number in range(ROUNDS):
        edits = (Replace("one book", f"{number} books"),)
        named = {"operation": f"{number:032x}"} if names_it else {}

        came_to = at_once(lambda edits=edits, named=named: ask(scribe, edits=edits, **named).proposal.pk)  # type: ignore[misc]

        assert came_to == [came_to[0]] * CALLERS
        assert_whole(came_to[0])


def test_the_same_note_from_several_callers_is_one_proposal(alice: User, scribe: Agent) -> None:
    Policy.objects.create(owner="alice", notes=Policy.Notes.REVIEW)
    for number in range(ROUNDS):

        def save(number: int = number) -> int:
            made = notes.save(
                by=ChangeContext(actor=scribe, may_apply=True), owner="alice", content=f"She said thing {number}."
            )
            return made.proposal.pk

        came_to = at_once(save)

        assert came_to == [came_to[0]] * CALLERS
        assert_whole(came_to[0])


def begun(scribe: Agent, *, lease: timedelta | None) -> Proposal:
    """A proposal that was begun and not finished."""
    proposal = ask(scribe, operation="a" * 32).proposal
    dolt().drop_branch(proposal.current_revision.branch)
    until = None if lease is None else timezone.now() + lease
    Proposal.objects.update(status=Status.PREPARING, lease_expires_at=until)
    proposal.refresh_from_db()
    return proposal


def test_what_another_call_is_at_is_left_to_it(goals: Block, scribe: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("approvals.services.preparing"), "_PATIENCE", 0.1)
    proposal = begun(scribe, lease=timedelta(minutes=1))

    with refusing("being_made"):
        ask(scribe)
    assert finish(proposal).status == Status.PREPARING
    assert services.recover().opened == 0
    assert not dolt().exists(proposal.current_revision.branch)


def test_who_holds_the_operation_takes_over_from_a_call_that_was_killed(
    goals: Block, scribe: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the lease of its idempotency key has run out; that of a large import runs on for minutes."""
    monkeypatch.setattr(import_module("approvals.services.preparing"), "_PATIENCE", 0.1)
    proposal = begun(scribe, lease=timedelta(minutes=5))
    assert ask(scribe, operation="a" * 32).proposal.pk == proposal.pk
    assert_whole(proposal.pk)


@pytest.mark.parametrize("lease", [timedelta(seconds=-1), timedelta(milliseconds=300), None])
def test_what_nobody_is_at_any_more_is_finished(goals: Block, scribe: Agent, lease: timedelta | None) -> None:
    proposal = begun(scribe, lease=lease)
    assert ask(scribe, operation="a" * 32).proposal.pk == proposal.pk
    assert_whole(proposal.pk)


def test_of_two_who_take_it_over_one_may(goals: Block, scribe: Agent) -> None:
    proposal = begun(scribe, lease=timedelta(seconds=-1))
    assert take_over(Proposal.objects.get(pk=proposal.pk))
    assert not take_over(proposal)


def test_a_call_that_fails_lets_the_next_one_try_at_once(goals: Block, scribe: Agent) -> None:
    proposal = begun(scribe, lease=timedelta(seconds=-1))
    base = proposal.current_revision.base_commit
    proposal.revisions.update(base_commit="0" * 32)
    with pytest.raises(RevisionNotFound):
        finish(proposal)

    assert Proposal.objects.get().lease_expires_at is None
    proposal.revisions.update(base_commit=base)
    assert finish(proposal).status == Status.OPEN
    assert_whole(proposal.pk)


def test_one_that_outlived_its_lease_takes_what_the_other_made(goals: Block, scribe: Agent) -> None:
    proposal = begun(scribe, lease=timedelta(seconds=-1))
    slow = Proposal.objects.get(pk=proposal.pk)
    assert take_over(slow)
    Proposal.objects.update(lease_expires_at=timezone.now() - timedelta(seconds=1))
    finish(proposal)

    assert finish_once(slow, finish_preparing, is_mine=True).status == Status.OPEN
    assert_whole(proposal.pk)


def test_a_note_of_an_id_that_is_there_is_not_written(alice: User, scribe: Agent) -> None:
    notes.save(by=ChangeContext(actor=alice), owner="alice", content="She sails.")
    (saved,) = reads.notes("alice")
    before = head_of_main()
    entry = ledger.LedgerEntry(
        action="created", owner="alice", targets=(("note", saved.id),), operation="e" * 32, actor="alice"
    )
    for content in ("She rows.", saved.content):
        write = NoteWrite("alice", saved.id, replace(saved, content=content), expected_sha256="")
        with pytest.raises(rows.TargetMoved):
            commits.write_main((write,), entry=entry, author=authors.person("alice"), subject="Create a note")
    assert (head_of_main(), dolt().dirty_tables()) == (before, ())
    assert [note.content for note in reads.notes("alice")] == ["She sails."]
    assert notes.save(by=ChangeContext(actor=scribe, may_apply=True), owner="alice", content="She rows.").commit
