"""A process dies while a rule or a policy applies a change: recover finishes it, or a person is asked.

A person is asked where the owner, or a change of the block, no longer lets it through.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from approvals import services
from approvals.models import Agent, Policy, Proposal, Status, TrustRule, User
from approvals.recovery.integrity import problems
from approvals.services import notes, trust
from approvals.services.errors import NotesChanged
from approvals.services.notes import ChangeContext, NoteChange
from memory_app import reads
from memory_app.dolt.connections import dolt, head_of_main
from memory_app.reads import Block
from tests.approvals.recovery.use_cases import a_rule_applies, do, killed_at
from tests.support.acts import approve, edit, save
from tests.support.crashing import let_leases_run_out

pytestmark = pytest.mark.slow

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


@pytest.mark.parametrize("crash", [BEFORE_THE_COMMIT, AFTER_THE_COMMIT, "events.close = die"])
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
    assert [branch.name for branch in dolt().branches()] == ["main"]
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
    assert [branch.name for branch in dolt().branches()] == ["main"]
    assert [note.content for note in reads.notes("alice")] == ["She swims."]
