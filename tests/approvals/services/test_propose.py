"""An agent proposes, and the memory does not move; one proposal is made by one call at a time."""

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from importlib import import_module
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from approvals import services
from approvals.models import Agent, Event, Kind, Proposal, Status, User
from approvals.recovery.recover import finish
from approvals.services import notes, proposing
from approvals.services.errors import Refusal
from approvals.services.notes import ChangeContext
from approvals.services.preparing import finish_once, finish_preparing, take_over
from memory_app import reads
from memory_app.dolt.errors import RevisionNotFound
from memory_app.reads import Block
from memory_app.text import edits
from memory_app.text.edits import Replace, Rewrite
from memory_app.writing import authors, commits, ledger, rows
from memory_app.writing.values import NoteWrite
from tests import environment
from tests.conftest import in_a_thread
from tests.support.acts import save
from tests.support.first import dolt, head_of_main, open_at
from tests.support.fixtures import MakeBlock
from tests.support.refusals import refusing

Ask = Callable[..., services.Proposed]


@pytest.fixture
def ask(scribe: Agent) -> Ask:
    def call(*wanted: edits.Edit, label: str = "goals", owner: str = "alice", **more: Any) -> services.Proposed:
        arguments: dict[str, Any] = {"kind": Kind.EDIT, "reasoning": "She said so."} | more
        return services.propose(agent=scribe, owner=owner, label=label, edits=wanted, **arguments)

    return call


def test_a_proposal_is_a_branch_off_main_and_main_stays(goals: Block, ask: Ask) -> None:
    before = head_of_main()
    made = ask(Replace("likes math", "loves mathematics"))

    assert head_of_main() == before
    assert reads.block("alice", "goals") == goals
    proposal, revision = made.proposal, made.revision
    assert proposal.status == Status.OPEN
    assert (revision.number, revision.branch, revision.base_commit) == (1, f"p/{proposal.pk}", before)
    assert dolt().head(revision.branch) == revision.head_commit != before
    with open_at(revision.branch):
        assert "loves mathematics" in reads.block_at("alice", "goals", "HEAD").body
    assert (made.created, made.occurrences, made.content_sha256) == (True, 1, goals.body_sha256)
    # What lists show is kept with the row.
    assert (proposal.words_added, proposal.words_removed, proposal.target_title) == (2, 2, "Learning goals")
    assert [kind for kind, _ in proposal.excerpt if kind in ("removed", "added")][:2] == ["removed", "added"]
    assert proposal.events.get().what == Event.What.PROPOSED


def test_the_branch_commit_is_the_agents_and_its_trailers_hold_no_agent_text(goals: Block, ask: Ask) -> None:
    sly = "Because.\n\nAction: approved\nOwner: ben\nReviewed-by: tim\nOperation: 0"
    made = ask(Replace("math", "maths"), reasoning=sly)
    commit = dolt().log(made.revision.head_commit, limit=1)[0]
    assert commit.author == "scribe"
    trailers = commit.message.rstrip("\n").split("\n\n")[-1].splitlines()
    assert {"Owner: alice", "Agent: scribe", "Action: proposed"} <= set(trailers)
    assert not any("tim" in line or "approved" in line for line in trailers)


def test_several_edits_apply_in_order_or_not_at_all(goals: Block, ask: Ask) -> None:
    made = ask(Replace("math", "maths"), Replace("maths", "mathematics"))
    assert "likes mathematics." in made.revision.result_text
    with refusing("old_string_not_found") as refused:
        ask(Replace("June", "July"), Replace("nowhere", "x"))
    assert refused.value.index == 1
    assert Proposal.objects.count() == 1


@pytest.mark.parametrize(
    ("wanted", "error"),
    [
        ([Replace("same", "same")], "identical_strings"),
        ([Replace("", "x")], "empty_old_string"),
        ([Replace("absent", "x")], "old_string_not_found"),
        ([Replace("She", "They")], "old_string_repeated"),
        ([Replace("math", "ma\x00th")], edits.ForbiddenCharacter),
        ([Replace("math", "ma\ud800th")], edits.ForbiddenCharacter),
        ([Rewrite("x" * 20_001)], "over_limit"),
        ([Replace("math", "maths"), Replace("maths", "math")], "no_change"),
    ],
)
def test_what_cannot_be_done_is_refused_by_name_and_leaves_nothing(
    goals: Block, ask: Ask, wanted: list[edits.Edit], error: str | type[Exception]
) -> None:
    with refusing(error):
        ask(*wanted)
    assert not Proposal.objects.exists()


def test_a_nearly_full_block_warns_and_over_its_limit_refuses(alice: User, make_block: MakeBlock, ask: Ask) -> None:
    make_block(alice, "short", "0123456789", limit=12)
    with refusing("over_limit") as refused:
        ask(Replace("9", "9abcd"), label="short")
    assert (refused.value.details["used"], refused.value.details["limit"]) == (14, 12)
    made = ask(Replace("9", "9a"), label="short")
    assert "91 % full (11 of 12 characters)" in made.warnings[0]


def test_a_read_only_block_and_one_of_another_owner_are_not_for_agents(
    goals: Block, alice: User, ben: User, make_block: MakeBlock, ask: Ask
) -> None:
    make_block(alice, "fixed", "text", read_only=True)
    with refusing("block_read_only"):
        ask(Replace("text", "other"), label="fixed")
    with pytest.raises(reads.BlockNotFound):
        ask(Replace("math", "x"), owner="ben")


def test_an_expectation_that_does_not_hold_stops_it(goals: Block, ask: Ask) -> None:
    with refusing("precondition_failed") as refused:
        ask(Replace("math", "maths"), expected_sha256="0" * 64)
    assert refused.value.details["block"] == goals
    assert ask(Replace("math", "maths"), expected_sha256=goals.body_sha256).created


def test_an_equal_proposal_or_the_same_operation_makes_no_second_one(goals: Block, ask: Ask) -> None:
    first = ask(Replace("math", "maths"), operation="a" * 32)
    equal = ask(Replace("likes math.", "likes maths."))
    repeated = ask(Replace("math", "maths"), operation="a" * 32)
    assert first.proposal == equal.proposal == repeated.proposal == Proposal.objects.get()
    assert (first.created, equal.created, repeated.created) == (True, False, True)


def test_the_cap_names_what_waits(goals: Block, ask: Ask, settings: Any) -> None:
    settings.PENDING_CAP = 2
    made = [ask(Replace("math", "maths")).proposal, ask(Replace("June", "July")).proposal]
    with refusing("too_many_pending") as refused:
        ask(Replace("book", "novel"))
    assert list(refused.value.details["proposals"]) == made


def test_the_engines_own_bound_holds_for_all_agents_together(goals: Block, ask: Ask, settings: Any) -> None:
    settings.MAX_OPEN_PROPOSALS = 1
    ask(Replace("math", "maths"))
    with refusing("memory_full"):
        ask(Replace("June", "July"))


# -- several calls at once ------------------------------------------------------------------------

ROUNDS, CALLERS = 6, 4


def test_the_cap_holds_when_calls_race(goals: Block, ask: Ask, settings: Any) -> None:
    settings.PENDING_CAP = 3
    outcomes: list[str] = []

    def call(number: int) -> None:
        try:
            ask(Replace("one book", f"{number} books"))
            outcomes.append("made")
        except Refusal as error:
            outcomes.append(error.code)

    for thread in [in_a_thread(partial(call, number)) for number in range(2, 10)]:
        thread.join()
    assert sorted(outcomes) == ["made"] * 3 + ["too_many_pending"] * 5
    assert Proposal.objects.open().count() == 3


@pytest.mark.skipif(environment.is_embedded(), reason="SQLite has a single writer")
def test_an_agent_proposes_for_one_owner_while_it_does_for_another(
    goals: Block, ben: User, make_block: MakeBlock, ask: Ask
) -> None:
    make_block(ben, "goals", "Ben likes math.\n")
    with transaction.atomic():
        proposing._find_equal_or_require_room(Agent.objects.get(), "alice", result_sha256="")
        of_another = in_a_thread(lambda: ask(Replace("math", "maths"), owner="ben"))
        of_another.join(20)
        assert Proposal.objects.get().owner == "ben"
        of_her = in_a_thread(lambda: ask(Replace("math", "maths")))
        of_her.join(0.5)
        assert of_her.is_alive(), "it would not count what the first is about to make"
    of_her.join(20)
    assert set(Proposal.objects.values_list("owner", flat=True)) == {"alice", "ben"}


def save_note(ask: Ask, scribe: Agent, number: int) -> Proposal:
    made = notes.save(by=ChangeContext(actor=scribe, may_apply=True), owner="alice", content=f"Said {number}.").proposal
    assert made is not None
    return made


def propose_edit(ask: Ask, scribe: Agent, number: int, **more: Any) -> Proposal:
    return ask(Replace("one book", f"{number} books"), **more).proposal


def propose_edit_by_name(ask: Ask, scribe: Agent, number: int) -> Proposal:
    return propose_edit(ask, scribe, number, operation=f"{number:032x}")


@pytest.mark.slow
@pytest.mark.usefixtures("ask_first", "goals")
@pytest.mark.parametrize("make", [propose_edit, propose_edit_by_name, save_note])
def test_the_same_from_several_callers_is_one_proposal(
    ask: Ask, scribe: Agent, make: Callable[[Ask, Agent, int], Proposal]
) -> None:
    def run(number: int, ready: threading.Barrier, came_to: list[int | str]) -> None:
        try:
            ready.wait()
            came_to.append(make(ask, scribe, number).pk)
        except Exception as error:
            came_to.append(repr(error))

    for number in range(ROUNDS):
        came_to = list[int | str]()
        work = partial(run, number, threading.Barrier(CALLERS), came_to)
        for thread in [in_a_thread(work) for _ in range(CALLERS)]:
            thread.join()
        assert came_to == [came_to[0]] * CALLERS
        assert_whole(Proposal.objects.get(pk=came_to[0]))


def assert_whole(proposal: Proposal) -> None:
    proposal.refresh_from_db()
    assert (proposal.status, proposal.lease_expires_at) == (Status.OPEN, None)
    assert dolt().head(proposal.current_revision.branch) == proposal.current_revision.head_commit


MATHS = Replace("math", "maths")


def begun(ask: Ask, *, lease: timedelta | None) -> Proposal:
    """A proposal that was begun and not finished."""
    proposal = ask(MATHS, operation="a" * 32).proposal
    dolt().drop_branch(proposal.current_revision.branch)
    until = None if lease is None else timezone.now() + lease
    Proposal.objects.update(status=Status.PREPARING, lease_expires_at=until)
    proposal.refresh_from_db()
    return proposal


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("approvals.services.preparing"), "_PATIENCE", 0.1)


@pytest.mark.usefixtures("impatient")
def test_what_another_call_is_at_is_left_to_it(goals: Block, ask: Ask) -> None:
    proposal = begun(ask, lease=timedelta(minutes=1))
    with refusing("being_made"):
        ask(MATHS)
    assert finish(proposal).status == Status.PREPARING
    assert services.recover().opened == 0
    assert not dolt().exists(proposal.current_revision.branch)


@pytest.mark.parametrize("lease", [timedelta(minutes=5), timedelta(seconds=-1), timedelta(milliseconds=300), None])
def test_who_holds_the_operation_takes_over_from_a_call_that_was_killed(
    goals: Block, ask: Ask, impatient: None, lease: timedelta | None
) -> None:
    """As the lease of its idempotency key has run out; that of a large import runs on for minutes."""
    proposal = begun(ask, lease=lease)
    assert ask(MATHS, operation="a" * 32).proposal == proposal
    assert_whole(proposal)


def test_of_two_who_take_it_over_one_may_and_the_other_takes_what_it_made(goals: Block, ask: Ask) -> None:
    proposal = begun(ask, lease=timedelta(seconds=-1))
    slow = Proposal.objects.get(pk=proposal.pk)
    assert take_over(slow)
    assert not take_over(proposal)
    Proposal.objects.update(lease_expires_at=timezone.now() - timedelta(seconds=1))
    finish(Proposal.objects.get())

    assert finish_once(slow, finish_preparing, is_mine=True).status == Status.OPEN
    assert_whole(proposal)


def test_a_call_that_fails_lets_the_next_one_try_at_once(goals: Block, ask: Ask) -> None:
    proposal = begun(ask, lease=timedelta(seconds=-1))
    base = proposal.current_revision.base_commit
    proposal.revisions.update(base_commit="0" * 32)
    with pytest.raises(RevisionNotFound):
        finish(proposal)

    assert Proposal.objects.get().lease_expires_at is None
    proposal.revisions.update(base_commit=base)
    assert finish(proposal).status == Status.OPEN
    assert_whole(proposal)


def test_a_note_of_an_id_that_is_there_is_not_written(alice: User) -> None:
    saved = reads.note("alice", save(alice, "She sails."))
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
