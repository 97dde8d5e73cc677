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
from memory_app.text.edits import Replace
from memory_app.text.trailers import Trailers
from tests.support.acts import assert_ledger, edit
from tests.support.crashing import killed, let_leases_run_out
from tests.support.fixtures import MakeBlock, Propose

pytestmark = pytest.mark.slow

APPROVE = """
from approvals import services
from approvals.models import Proposal, User
from approvals.services import events
from approvals.services import approving, merge
from memory_app import reads
from memory_app.writing import commits
{crash}
p = Proposal.objects.get()
services.approve(actor=User.objects.get(username="tim"), proposal_id=p.pk, revision=p.current_revision_number,
                 seen_sha256=reads.block("alice", "goals").sha256, comment="Fine.")
"""


@pytest.mark.parametrize(
    "crash",
    [
        "approving.finish_merging = die",  # after the claim, before the merge
        "commits.record = die",  # after the merge, before the ledger
        "events.record = die",  # after the ledger, before the status
        "merge.drop_branches = die",  # after the status, before the branch is dropped
        "merge.after_change = die",
    ],
)
def test_an_approval_killed_at_any_step_is_finished(goals: Block, tim: User, propose: Propose, crash: str) -> None:
    proposal = propose(goals, "math", "maths")
    killed(APPROVE.format(crash=crash))
    let_leases_run_out()

    services.recover()
    proposal.refresh_from_db()
    assert proposal.status == Status.APPROVED
    assert proposal.decided_by == tim
    assert reads.block("alice", "goals").body.count("maths") == 1
    ledger = reads.history("alice", "block", "goals")
    assert [(row.action, row.actor) for row in ledger] == [("approved", "tim"), ("created", "alice")]
    assert ledger[0].comment == "Fine."
    assert ledger[0].commit == proposal.merge_commit
    assert [branch.name for branch in dolt().branches()] == ["main"]
    assert list(problems()) == []


def test_a_merge_that_became_impossible_goes_back_to_open(
    goals: Block, alice: User, tim: User, propose: Propose
) -> None:
    proposal = propose(goals, "math", "maths")
    killed(APPROVE.format(crash="approving.finish_merging = die"))
    edit(alice, "goals", "math", "math", title="Other")
    let_leases_run_out()
    assert services.recover().reopened == 1
    proposal.refresh_from_db()
    assert (proposal.status, proposal.decided_by, proposal.current_revision_number) == (Status.OPEN, None, 1)
    assert "maths" not in reads.block("alice", "goals").body
    assert list(problems()) == []


PROPOSE = """
from approvals import services
from approvals.models import Agent
from approvals.services import events
from memory_app.writing import commits
from memory_app.text.edits import Replace
from approvals.services import trust
{crash}
services.propose(agent=Agent.objects.get(), owner="alice", label="goals", edits=[Replace("math", "maths")],
                 kind="edit", reasoning="She said so.", operation="{operation}")
"""


@pytest.mark.parametrize(
    "crash", ["trust.finish_preparing = die", "commits.dolt_transaction = die", "events.record = die"]
)
def test_a_proposal_killed_at_any_step_is_opened(goals: Block, scribe: Agent, crash: str) -> None:
    killed(PROPOSE.format(crash=crash, operation="b" * 32))
    proposal = Proposal.objects.get()
    assert proposal.status == Status.PREPARING
    let_leases_run_out()
    assert services.recover().opened == 1
    proposal.refresh_from_db()
    assert proposal.status == Status.OPEN
    assert dolt().head(proposal.current_revision.branch) == proposal.current_revision.head_commit
    assert [event.what for event in proposal.events.all()] == ["proposed"]
    assert list(problems()) == []


def test_the_same_call_coming_back_resumes_what_was_begun(goals: Block, scribe: Agent) -> None:
    killed(PROPOSE.format(crash="commits.dolt_transaction = die", operation="c" * 32))
    again = services.propose(
        agent=scribe,
        owner="alice",
        label="goals",
        edits=[Replace("math", "maths")],
        kind="edit",
        reasoning="She said so.",
        operation="c" * 32,
    )
    assert again.proposal.status == Status.OPEN
    assert Proposal.objects.count() == 1


def test_a_lease_that_still_runs_is_left_alone(goals: Block, tim: User, propose: Propose) -> None:
    proposal = propose(goals, "math", "maths")
    killed(APPROVE.format(crash="approving.finish_merging = die"))
    report = services.recover()
    proposal.refresh_from_db()
    assert proposal.status == Status.MERGING
    assert report.approved == 0


def test_a_direct_edit_killed_before_its_ledger_row_is_recorded(goals: Block, alice: User) -> None:
    killed(
        """
        from approvals import services
        from approvals.models import User
        from memory_app import reads
        from memory_app.writing import commits
        commits.record = die
        b = reads.block("alice", "goals")
        fields = services.BlockFields(title=b.title, description="", body=b.body + "More.", limit=b.limit)
        services.edit_block(actor=User.objects.get(), owner="alice", label="goals", fields=fields,
                            loaded_sha256=b.sha256, comment="Because.")
        """
    )
    assert len(list(problems())) == 1
    # DoltLite's log has whole seconds: what happened earlier in that second must stay earlier.
    (edited, *_) = dolt().log("main", limit=1)
    at = Trailers.of(edited.message).at
    assert at
    Change.objects.update(at=at - timedelta(microseconds=1))
    assert services.recover().ledger_rows == 1
    newest = reads.history("alice", "block", "goals")[0]
    assert (newest.action, newest.actor, newest.comment) == ("edited", "alice", "Because.")
    assert list(problems()) == []


def test_uncommitted_rows_are_recorded_as_nobodys_and_reported(goals: Block) -> None:
    with connections["memory"].cursor() as cursor:
        cursor.execute("UPDATE memory_app_memoryblock SET title = 'sneaked in'")
    assert any("uncommitted" in str(problem) for problem in problems())
    report = services.recover()
    assert report.dirt == head_of_main()
    assert "uncommitted changes found" in str(report)
    assert dolt().log(limit=1)[0].author == "unknown"
    assert_ledger("goals", action="recovered")
    assert list(problems()) == []
    assert services.recover().dirt == ""


@pytest.mark.parametrize("is_taken_back", [False, True])
def test_a_merge_that_is_on_main_already_is_found_also_where_it_was_taken_back_since(
    goals: Block, alice: User, tim: User, propose: Propose, is_taken_back: bool
) -> None:
    """As for a process that looked before another one, or a server that was given up, had merged."""
    proposal = propose(goals, "math", "maths")
    killed(APPROVE.format(crash="commits.record = die"))
    if is_taken_back:
        edit(alice, "goals", "maths", "math")
    proposal.refresh_from_db()
    target = BlockState(goals)
    seen = Seen(proposal.main_before, target, target.assess(proposal.current_revision))
    assert finish_merging(proposal, seen=seen).status == Status.APPROVED
    assert (reads.block("alice", "goals").body == goals.body) is is_taken_back
    assert [row.action for row in reads.history("alice", "block", "goals")].count("approved") == 1
    assert list(problems()) == []


def test_rows_of_several_owners_found_uncommitted_are_recorded_together(
    goals: Block, ben: User, make_block: MakeBlock
) -> None:
    make_block(ben, "goals", "Run.\n")
    with connections["memory"].cursor() as cursor:
        cursor.execute("UPDATE memory_app_memoryblock SET title = 'sneaked in'")
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
    newest = [reads.history(owner, "block", "goals")[0] for owner in ("alice", "ben")]
    assert {change.action for change in newest} == {"recovered"}
    assert list(problems()) == []
    call_command("rebuild_ledger", verbosity=0)
    assert Change.objects.filter(action="recovered").count() == 2
