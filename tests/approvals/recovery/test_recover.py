"""What a crash leaves half done is finished; the crashes are real: a process killed in mid-step.

What a rule or a policy was to apply waits for a person instead, where the owner, or a change of the block, no longer
lets it through.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.core.management import call_command
from django.db import connections
from django.test.utils import CaptureQueriesContext

from approvals import services, tasks
from approvals.models import Agent, Policy, Proposal, Status, TrustRule, User
from approvals.recovery import ledger, recover
from approvals.recovery.integrity import problems
from approvals.review.targets import BlockState
from approvals.services import notes, trust
from approvals.services.checks import Seen
from approvals.services.errors import NotesChanged
from approvals.services.merge import finish_merging
from approvals.services.notes import ChangeContext, NoteChange
from memory_app import reads
from memory_app.models import Change
from memory_app.reads import Block
from memory_app.text.trailers import Trailers
from memory_app.writing.commits import commit_schema
from tests.approvals.recovery.use_cases import COMMENT, a_rule_applies, do, killed_at
from tests.support.acts import approve, assert_ledger, edit, save
from tests.support.crashing import killed, let_leases_run_out
from tests.support.first import dolt, head_of_main
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
    assert list(dolt().branches()) == ["main"]
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


# -- what a rule or a policy applies ----------------------------------------------------------------

BEFORE_THE_COMMIT = "commits.dolt_transaction = die"
AFTER_THE_COMMIT = "commits.record = die"
BEFORE_IT_WAITS = "trust.branch_name = die"
BEFORE_ITS_BRANCH = "trust.finish_preparing = die"


@dataclass(frozen=True)
class WayIn:
    """A use case that is applied, while `allow` was done last and not `forbid`."""

    use_case: str
    allow: Callable[[], object]
    forbid: Callable[[], object]
    is_in_memory: Callable[[], bool]


def policy(chosen: str) -> None:
    Policy.objects.update_or_create(owner="alice", defaults={"notes": chosen})


BY_RULE = WayIn(
    "apply a change of a block",
    a_rule_applies,
    lambda: TrustRule.objects.all().delete(),
    lambda: "maths" in reads.block("alice", "goals").body,
)
BY_POLICY = WayIn(
    "apply a new note",
    lambda: policy("apply"),
    lambda: policy("review"),
    lambda: [note.content for note in reads.notes("alice")] == ["She rows."],
)


@pytest.fixture(params=[BY_RULE, BY_POLICY], ids=["by a rule", "by the policy"])
def way(request: Any, goals: Block, scribe: Agent) -> WayIn:
    way: WayIn = request.param
    way.allow()
    return way


def cut(crash: str, way: WayIn) -> Proposal:
    """The proposal of a process that died at `crash`, and whose lease has expired."""
    killed_at(crash, f"do({way.use_case!r})")
    let_leases_run_out()
    return Proposal.objects.get(status=Status.PREPARING)


def require_applied(way: WayIn, *, told: Sequence[str] = ("applied",)) -> None:
    proposal = Proposal.objects.get()
    assert (proposal.status, proposal.auto_applied, proposal.merge_commit) == (Status.APPLIED, True, head_of_main())
    assert [event.what for event in proposal.events.all()] == list(told)
    assert way.is_in_memory()
    assert list(problems()) == []


def require_waiting(way: WayIn, *, mergeability: str = "clean") -> None:
    proposal = Proposal.objects.get()
    assert (proposal.status, proposal.auto_applied, proposal.mergeability) == (Status.OPEN, False, mergeability)
    assert dolt().head(proposal.current_revision.branch) == proposal.current_revision.head_commit
    assert [(event.what, event.text) for event in proposal.events.all()] == [("proposed", "She said so.")]
    assert not way.is_in_memory()
    assert list(problems()) == []


@pytest.mark.parametrize("crash", [BEFORE_THE_COMMIT, AFTER_THE_COMMIT, "events.move = die"])
def test_what_a_rule_or_the_policy_applies_is_finished(way: WayIn, crash: str) -> None:
    assert cut(crash, way).auto_applied
    services.recover()
    require_applied(way)
    if way is BY_RULE:
        assert Proposal.objects.get().events.get().data["rule"]["id"] == TrustRule.objects.get().pk


def test_what_is_in_the_memory_already_was_applied_whatever_the_owner_says_since(way: WayIn) -> None:
    cut(AFTER_THE_COMMIT, way)
    way.forbid()
    services.recover()
    require_applied(way)


@pytest.mark.parametrize("gone", ["permission", "agent"])
def test_it_waits_where_the_owner_asks_to_see_it_since_or_its_agent_is_deactivated(way: WayIn, gone: str) -> None:
    proposal = cut(BEFORE_THE_COMMIT, way)
    if gone == "permission":
        way.forbid()
    else:
        Agent.objects.update(is_active=False)
    assert services.recover().opened == 1
    require_waiting(way)
    proposal.refresh_from_db()
    approve(User.objects.get(username="alice"), proposal)
    assert way.is_in_memory()


def test_it_waits_where_the_block_changed_first(goals: Block, alice: User, scribe: Agent) -> None:
    BY_RULE.allow()
    cut(BEFORE_THE_COMMIT, BY_RULE)
    edit(alice, "goals", goals.body, f"{goals.body}New.\n")
    services.recover()
    require_waiting(BY_RULE, mergeability="rebasable")


def test_what_was_to_wait_waits_though_the_owner_lets_it_through_since(way: WayIn) -> None:
    way.forbid()
    cut(BEFORE_ITS_BRANCH, way)
    way.allow()
    services.recover()
    require_waiting(way)


@pytest.mark.parametrize("crash", [BEFORE_IT_WAITS, BEFORE_ITS_BRANCH, BEFORE_THE_COMMIT])
def test_killed_while_it_is_made_to_wait_it_waits(way: WayIn, crash: str) -> None:
    cut(BEFORE_THE_COMMIT, way)
    way.forbid()
    killed_at(crash, "services.recover()")
    let_leases_run_out()
    services.recover()
    require_waiting(way)


def test_the_same_call_again_finishes_it_as_the_owner_says_now(way: WayIn) -> None:
    cut(BEFORE_THE_COMMIT, way)
    way.forbid()
    do(way.use_case)
    require_waiting(way)


def test_the_same_call_again_does_not_apply_it_twice(way: WayIn) -> None:
    cut(AFTER_THE_COMMIT, way)
    before = head_of_main()
    do(way.use_case)
    require_applied(way)
    assert head_of_main() == before


def test_an_import_that_waits_after_all_names_its_notes(goals: Block, scribe: Agent) -> None:
    killed_at(BEFORE_THE_COMMIT, "import_by_agent()")
    let_leases_run_out()
    policy("review")
    services.recover()
    proposal = Proposal.objects.get()
    assert proposal.status == Status.OPEN
    assert proposal.proposed_notes.count() == len(proposal.current_revision.note_changes) == 61
    assert reads.notes("alice") == ()


def test_who_applies_it_and_who_makes_it_wait_at_once_agree_with_the_memory(
    goals: Block, alice: User, scribe: Agent
) -> None:
    """Two finish the same: one asked policy before it changed, and commits after the other made it wait."""
    slow = cut(BEFORE_THE_COMMIT, BY_POLICY)
    policy("review")
    assert trust.finish(Proposal.objects.get()).status == Status.OPEN
    policy("apply")  # as the slow one was told
    assert trust.finish(slow).status == Status.APPLIED
    services.recover()
    require_applied(BY_POLICY, told=["proposed", "applied"])
    assert list(dolt().branches()) == ["main"]
    services.undo(actor=alice, proposal_id=slow.pk)
    assert reads.notes("alice") == ()


def test_a_note_that_changed_while_a_change_of_it_was_proposed_is_told(alice: User, scribe: Agent) -> None:
    policy("review")
    before = reads.note("alice", save(alice, "She rows."))
    notes.update(by=ChangeContext(actor=alice), owner="alice", note_id=before.id, content="She swims.")
    after = notes.stamped(before.__class__(**{**vars(before), "content": "She sails."}), before.updated_at)
    changes = [NoteChange(before.id, before, after)]
    with pytest.raises(NotesChanged):  # read before, based on what came after
        notes.change_notes(by=ChangeContext(actor=scribe), owner="alice", kind="update", changes=changes)
    assert not Proposal.objects.exists()
    assert list(dolt().branches()) == ["main"]
    assert [note.content for note in reads.notes("alice")] == ["She swims."]


# -- what a run costs -------------------------------------------------------------------------------


def asked(work: Callable[[], object]) -> dict[str, list[str]]:
    """The statements of each database during the work."""
    with ExitStack() as stack:
        kept = {alias: stack.enter_context(CaptureQueriesContext(connections[alias])) for alias in connections}
        work()
    return {alias: [each["sql"] for each in queries.captured_queries] for alias, queries in kept.items()}


def last_events_are_about_others(alice: User, propose: Propose, make_block: MakeBlock) -> None:
    other = propose(make_block(alice, "plans", "Read.\n"), "Read.", "Read a lot.")
    for _ in range(recover.LAST_EVENTS):
        services.comment(actor=alice, proposal_id=other.pk, text="Hm.")


def test_a_run_asks_as_much_however_many_proposals_and_commits_there_are(
    goals: Block, alice: User, propose: Propose, settings: Any
) -> None:
    settings.PENDING_CAP = 10 * recover.LAST_EVENTS
    made = []
    for more in (recover.LAST_EVENTS, recover.LAST_EVENTS + 10):
        for number in range(more):
            save(alice, f"She rows on day {number} of {more}.")
            propose(goals, "She reads one book a month.", f"She reads {number} books of {more}.")
        services.recover()
        made.append(asked(services.recover))
    few, many = ({alias: len(statements) for alias, statements in each.items()} for each in made)
    assert few == many
    of_memory = " ".join(made[-1]["memory"])
    assert "dolt_branches" not in of_memory
    assert ".." not in of_memory, "a range of the log"


@pytest.mark.parametrize("run", [lambda: call_command("recover"), lambda: tasks.recover_everything()])
def test_what_is_older_than_a_run_looks_at_is_found_at_the_start_and_each_hour(
    goals: Block, alice: User, tim: User, propose: Propose, make_block: MakeBlock, run: Callable[[], object]
) -> None:
    decided, waiting = propose(goals, "math", "maths"), propose(goals, "one book", "two books")
    services.reject(actor=tim, proposal_id=decided.pk, revision=1, reason="wrong")
    revision = decided.current_revision
    dolt().create_branch(revision.branch, revision.base_commit)
    dolt().drop_branch(waiting.current_revision.branch)
    last_events_are_about_others(alice, propose, make_block)
    assert services.recover() == services.RecoveryReport()
    run()
    assert not dolt().exists(revision.branch)
    assert dolt().exists(waiting.current_revision.branch)
    assert list(problems()) == []


def test_a_commit_without_its_rows_behind_many_others_is_recorded_at_the_start(
    goals: Block, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger, "LOOK_BACK", 10)
    for number in range(15):
        save(alice, f"She rows on day {number}.")
        if not number:
            Change.objects.all().delete()
    assert services.recover().ledger_rows == 0
    assert [finding.code for finding in problems()] == ["ledger_lacks", "ledger_lacks"]
    call_command("recover")
    assert list(problems()) == []


def test_a_change_of_schema_at_the_head_of_main_is_looked_at_once(goals: Block, settings: Any) -> None:
    settings.CELERY_TASK_ALWAYS_EAGER = True  # with workers, nobody looks while reading
    with connections["memory"].cursor() as cursor:
        cursor.execute("CREATE TABLE later (id INTEGER PRIMARY KEY)")
    commit_schema("memory")
    for is_compared in (True, False):
        cache.delete("approvals.recover")
        logs = [sql for sql in asked(services.recover_on_read)["memory"] if "dolt_log" in sql]
        assert bool(logs) is is_compared
