"""A quick check goes on from the last one: what it reads does not grow with the history, and what that leaves out."""

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connections
from django.test.utils import CaptureQueriesContext

from approvals import services
from approvals.management.commands import check_memory
from approvals.models import Agent, Proposal, RejectReason, Revision, User
from approvals.recovery.integrity import Check
from memory_app import reads
from memory_app.models import Change, MemoryDatabase
from memory_app.reads import Block
from tests.approvals.recovery.test_damage import codes, keep
from tests.approvals.recovery.use_cases import USE_CASES
from tests.databases import reset_hard
from tests.support import acts
from tests.support.background import wait_for_threads
from tests.support.first import dolt, head_of_main
from tests.support.fixtures import Propose

_numbers = count(1)


def decide(tim: User, propose: Propose, times: int) -> None:
    """Approve so many proposals, reject as many, and undo and reject the last one approved."""
    for _ in range(times):
        block, number = reads.block("alice", "goals"), next(_numbers)
        acts.reject(tim, propose(block, block.body, f"Poem {number}."))
        proposal = acts.approve(tim, propose(block, block.body, f"Text {number}."))
    services.undo(actor=tim, proposal_id=proposal.pk)
    acts.reject(tim, Proposal.objects.get(pk=proposal.pk))


def marked() -> str:
    return MemoryDatabase.objects.get().checked_commit


def statements(*, quick: bool) -> tuple[int, int]:
    """Return how many statements a check sends to `default`, and to the memory."""
    with (
        CaptureQueriesContext(connections["default"]) as default,
        CaptureQueriesContext(connections["memory"]) as memory,
    ):
        assert codes(quick=quick) == set()
    return len(default), len(memory)


@pytest.mark.parametrize("name", USE_CASES)
def test_what_people_and_agents_do_is_no_damage(fresh_databases: None, name: str) -> None:
    *before, last = USE_CASES[name]
    for act in before:
        act()
    keep()
    last()
    wait_for_threads()
    assert codes(quick=True) == codes() == set()


@pytest.mark.parametrize("reason", [RejectReason.TOO_PRIVATE, RejectReason.WRONG])
def test_texts_that_are_removed_later_are_no_damage(
    goals: Block, alice: User, scribe: Agent, propose: Propose, reason: str
) -> None:
    rejected = acts.reject(alice, propose(goals, "math", "maths"), reason, comment="No.")
    withdrawn = services.withdraw(agent=scribe, proposal_id=propose(goals, "math", "art").pk, comment="Sorry.")
    keep()
    for proposal in (rejected, withdrawn):
        services.redact(actor=alice, proposal_id=proposal.pk)
    wait_for_threads()
    assert codes(quick=True) == codes() == set()


def test_a_whole_check_takes_a_few_statements_for_each_decision_and_a_quick_one_none_for_those_before(
    goals: Block, tim: User, propose: Propose
) -> None:
    whole, quick = [], []
    for times in (2, 8):
        decide(tim, propose, times)
        whole.append(statements(quick=False))
        keep()
        decide(tim, propose, 1)
        quick.append(statements(quick=True))
    # Since the first: 9 approved and 2 of them undone, 9 rejected; 11 commits of main.
    (default, memory), (default_later, memory_later) = whole
    assert default_later - default <= 9  # the texts of what was approved; all else in batches
    assert memory_later - memory <= 5 * 11
    assert quick[0] == quick[1]


def test_what_was_found_is_found_again_and_what_is_older_by_a_whole_check_alone(
    goals: Block, tim: User, propose: Propose
) -> None:
    old = acts.approve(tim, propose(goals, "math", "maths"))
    keep()
    before = marked()
    assert before == head_of_main()
    new = acts.approve(tim, propose(reads.block("alice", "goals"), "maths", "art"))
    Change.objects.filter(commit=new.merge_commit).update(actor="mallory")
    for options in (["--since-last"], ["--since-last"], [], ["--since-last", "--json"]):
        with pytest.raises(CommandError, match="1 problem"):
            call_command("check_memory", *options)
        assert marked() == before
    Change.objects.filter(commit=new.merge_commit).update(actor="tim")
    Revision.objects.filter(proposal=old).update(result_text="Other.")
    call_command("check_memory", "--since-last")
    assert marked() == head_of_main()
    assert (codes(quick=True), codes()) == (set(), {"text_altered"})


@pytest.mark.parametrize("is_past_the_mark", [False, True])
def test_a_memory_that_was_put_back_is_seen(
    goals: Block, tim: User, propose: Propose, is_past_the_mark: bool, capsys: Any
) -> None:
    keep()
    acts.approve(tim, propose(goals, "math", "maths"))
    if is_past_the_mark:
        keep()
    reset_hard(dolt().parent(head_of_main()))
    assert (not Check(since_last=True).marks) == is_past_the_mark
    with pytest.raises(CommandError):
        call_command("check_memory", "--since-last")
    said = capsys.readouterr()
    assert "The memory is older than the rest" in said.out
    assert ("everything is checked" in said.err) == is_past_the_mark


def test_a_ledger_that_was_made_again_is_compared_again(goals: Block, tim: User, propose: Propose) -> None:
    approved = acts.approve(tim, propose(goals, "math", "maths"))
    keep()
    Change.objects.all().delete()
    call_command("rebuild_ledger", verbosity=0)
    assert codes(quick=True) == set()
    Change.objects.filter(commit=approved.merge_commit).update(actor="mallory")
    assert codes(quick=True) == {"ledger_differs"}


@pytest.mark.parametrize("quick", [False, True])
def test_a_decision_made_while_the_check_runs_is_no_damage(
    goals: Block, tim: User, propose: Propose, quick: bool
) -> None:
    keep()
    waiting, decided = propose(goals, "math", "maths"), list[Proposal]()

    def tell(what: str, *_: int) -> None:
        if what == "proposals" and not decided:  # the log was read before
            decided.append(acts.approve(tim, waiting))

    check = Check(since_last=quick, tell=tell)
    assert list(check.problems()) == []
    assert decided
    check.keep()
    assert codes(quick=True) == codes() == set()


def test_a_long_run_says_how_far_it_is(
    goals: Block, tim: User, propose: Propose, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    acts.approve(tim, propose(goals, "math", "maths"))
    call_command("check_memory")
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(check_memory, "_EVERY", 0.0)
    call_command("check_memory")
    said = capsys.readouterr()
    assert "Checking commits: 1 of 4" in said.err
    assert said.out == "The memory is consistent.\n"


def test_a_commit_made_while_main_is_read_hides_none(goals: Block, alice: User) -> None:
    """The head is read first: what is committed between the two statements is not a part of it."""
    log: Callable[..., Any] = dolt().own_log
    before = [commit.hash for commit in log()]
    edited = list[bool]()

    def meanwhile(execute: Any, sql: str, *rest: Any) -> Any:
        done = execute(sql, *rest)
        if "dolt_log" in sql and not edited:
            edited.append(True)
            acts.edit(alice, "goals", "math", "maths")
        return done

    with connections["memory"].execute_wrapper(meanwhile):
        assert [commit.hash for commit in log()] == before
    assert len(log()) == len(before) + 1
