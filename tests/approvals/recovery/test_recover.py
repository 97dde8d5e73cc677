"""What a crash leaves half done is finished; the crashes are real: a process killed in mid-step."""

from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db import connections

from approvals import services
from approvals.models import Agent, Proposal, Status, User
from approvals.recovery.integrity import problems
from approvals.review.targets import BlockState
from approvals.services.checks import Seen
from approvals.services.merge import finish_merging
from memory_app import reads
from memory_app.dolt.connections import dolt, head_of_main
from memory_app.models import Change
from memory_app.reads import Block
from memory_app.text.trailers import Trailers
from tests.approvals.recovery.use_cases import COMMENT, killed_at
from tests.support.acts import assert_ledger, edit
from tests.support.crashing import killed, let_leases_run_out
from tests.support.fixtures import MakeBlock, Propose

pytestmark = pytest.mark.slow

BEFORE_THE_MERGE = "approving.finish_merging = die"


@pytest.fixture
def waiting(goals: Block, tim: User, propose: Propose) -> Proposal:
    return propose(goals, "math", "maths")


@pytest.mark.parametrize(
    "crash",
    [
        BEFORE_THE_MERGE,
        "commits.record = die",  # after the merge, before the ledger
        "events.record = die",  # after the ledger, before the status
        "merge.drop_branches = die",  # after the status, before the branch is dropped
        "merge.after_change = die",
    ],
)
def test_an_approval_killed_at_any_step_is_finished(waiting: Proposal, tim: User, crash: str) -> None:
    killed_at(crash, "approve()")
    let_leases_run_out()
    services.recover()
    waiting.refresh_from_db()
    assert (waiting.status, waiting.decided_by) == (Status.APPROVED, tim)
    assert reads.block("alice", "goals").body.count("maths") == 1
    ledger = reads.history("alice", "block", "goals")
    assert [(row.action, row.actor) for row in ledger] == [("approved", "tim"), ("created", "alice")]
    assert (ledger[0].comment, ledger[0].commit) == (COMMENT, waiting.merge_commit)
    assert [branch.name for branch in dolt().branches()] == ["main"]
    assert list(problems()) == []


def test_a_merge_that_became_impossible_goes_back_to_open(waiting: Proposal, alice: User) -> None:
    killed_at(BEFORE_THE_MERGE, "approve()")
    edit(alice, "goals", "math", "math", title="Other")
    let_leases_run_out()
    assert services.recover().reopened == 1
    waiting.refresh_from_db()
    assert (waiting.status, waiting.decided_by, waiting.current_revision_number) == (Status.OPEN, None, 1)
    assert "maths" not in reads.block("alice", "goals").body
    assert list(problems()) == []


@pytest.mark.parametrize(
    "crash", ["trust.finish_preparing = die", "commits.dolt_transaction = die", "events.record = die"]
)
def test_a_proposal_killed_at_any_step_is_opened(goals: Block, scribe: Agent, crash: str) -> None:
    killed_at(crash, "propose()")
    proposal = Proposal.objects.get()
    assert proposal.status == Status.PREPARING
    let_leases_run_out()
    assert services.recover().opened == 1
    proposal.refresh_from_db()
    assert proposal.status == Status.OPEN
    assert dolt().head(proposal.current_revision.branch) == proposal.current_revision.head_commit
    assert [event.what for event in proposal.events.all()] == ["proposed"]
    assert list(problems()) == []


def test_a_lease_that_still_runs_is_left_alone(waiting: Proposal) -> None:
    killed_at(BEFORE_THE_MERGE, "approve()")
    assert services.recover().approved == 0
    waiting.refresh_from_db()
    assert waiting.status == Status.MERGING


def test_a_direct_edit_killed_before_its_ledger_row_is_recorded(goals: Block, scribe: Agent) -> None:
    killed_at("commits.record = die", "edit()")
    assert len(list(problems())) == 1
    # DoltLite's log has whole seconds: what happened earlier in that second must stay earlier.
    (edited, *_) = dolt().log("main", limit=1)
    at = Trailers.of(edited.message).at
    assert at
    Change.objects.update(at=at - timedelta(microseconds=1))
    assert services.recover().ledger_rows == 1
    assert_ledger("goals", action="edited", actor="alice", comment=COMMENT)
    assert list(problems()) == []


@pytest.mark.parametrize("is_taken_back", [False, True])
def test_a_merge_that_is_on_main_already_is_found_also_where_it_was_taken_back_since(
    goals: Block, waiting: Proposal, alice: User, is_taken_back: bool
) -> None:
    """As for a process that looked before another one, or a server that was given up, had merged."""
    killed_at("commits.record = die", "approve()")
    if is_taken_back:
        edit(alice, "goals", "maths", "math")
    waiting.refresh_from_db()
    target = BlockState(goals)
    seen = Seen(waiting.main_before, target, target.assess(waiting.current_revision))
    assert finish_merging(waiting, seen=seen).status == Status.APPROVED
    assert (reads.block("alice", "goals").body == goals.body) is is_taken_back
    assert [row.action for row in reads.history("alice", "block", "goals")].count("approved") == 1
    assert list(problems()) == []


@pytest.fixture
def dirty(goals: Block, ben: User, make_block: MakeBlock) -> None:
    """Rows of two owners that somebody changed at the engine's own shell and did not commit."""
    make_block(ben, "goals", "Run.\n")
    with connections["memory"].cursor() as cursor:
        cursor.execute("UPDATE memory_app_memoryblock SET title = 'sneaked in'")


def test_uncommitted_rows_are_recorded_as_nobodys_and_reported(dirty: None) -> None:
    assert any("uncommitted" in str(problem) for problem in problems())
    report = services.recover()
    assert report.dirt == head_of_main()
    assert "uncommitted changes found" in str(report)
    assert dolt().log(limit=1)[0].author == "unknown"
    for owner in ("alice", "ben"):
        assert_ledger("goals", owner=owner, action="recovered")
    assert list(problems()) == []
    assert services.recover().dirt == ""


def test_rows_of_several_owners_found_uncommitted_are_recorded_together_after_a_crash(dirty: None) -> None:
    killed(
        """
        from approvals import services
        from memory_app.writing import ledger
        record, recorded = ledger.record, []
        def recording(*args, **more):
            if recorded:
                die()
            recorded.append(record(*args, **more))
        ledger.record = recording
        services.recover()
        """
    )
    assert services.recover().ledger_rows == 2
    for owner in ("alice", "ben"):
        assert_ledger("goals", owner=owner, action="recovered")
    call_command("rebuild_ledger", verbosity=0)
    assert Change.objects.filter(action="recovered").count() == 2
