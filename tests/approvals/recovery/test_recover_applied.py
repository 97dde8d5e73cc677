"""A process dies while a rule applies a change of a block: recover finishes it, or a person is asked."""

import pytest

from approvals import services
from approvals.models import Agent, Kind, Proposal, Status, TrustRule, User
from approvals.recovery.integrity import problems
from memory_app import reads
from memory_app.dolt.connections import head_of_main
from memory_app.reads import Block
from memory_app.text.edits import Replace
from tests.support.acts import edit
from tests.support.crashing import killed, let_leases_run_out

pytestmark = pytest.mark.slow

OPERATION = "b" * 32

PROPOSE = """
from approvals import services
from approvals.models import Agent
from approvals.services import events
from approvals.services import trust
from memory_app.text.edits import Replace
from memory_app.writing import commits
{crash}
services.propose(agent=Agent.objects.get(), owner="alice", label="goals", edits=[Replace("math", "maths")],
                 kind="edit", reasoning="She said so.", operation="{operation}", may_apply=True)
"""

BEFORE_THE_COMMIT = "commits.dolt_transaction = die"
AFTER_THE_COMMIT = "events.close = die"


@pytest.fixture
def rule(alice: User) -> TrustRule:
    return TrustRule.objects.create(owner="alice", needs="apply", made_by=alice)


def cut(crash: str) -> Proposal:
    """The proposal of a process that died at `crash`, and whose lease has expired."""
    killed(PROPOSE.format(crash=crash, operation=OPERATION))
    proposal = Proposal.objects.get()
    assert (proposal.status, proposal.auto_applied) == (Status.PREPARING, True)
    let_leases_run_out()
    return proposal


@pytest.mark.parametrize("crash", ["finish = die", BEFORE_THE_COMMIT, AFTER_THE_COMMIT])
def test_what_a_rule_applies_is_finished(goals: Block, scribe: Agent, rule: TrustRule, crash: str) -> None:
    if crash == "finish = die":
        crash = 'sys.modules["approvals.services.proposing"].finish = die'
    proposal = cut(crash)
    services.recover()
    proposal.refresh_from_db()
    assert (proposal.status, proposal.merge_commit) == (Status.APPLIED, head_of_main())
    assert "maths" in reads.block("alice", "goals").body
    assert [event.what for event in proposal.events.all()] == ["applied"]
    assert proposal.events.get().data["rule"]["id"] == rule.pk
    assert list(problems()) == []


def test_the_same_call_again_finishes_it(goals: Block, scribe: Agent, rule: TrustRule) -> None:
    cut(AFTER_THE_COMMIT)
    before = head_of_main()
    again = services.propose(
        agent=scribe,
        owner="alice",
        label="goals",
        edits=[Replace("math", "maths")],
        kind=Kind.EDIT,
        reasoning="She said so.",
        operation=OPERATION,
        may_apply=True,
    )
    assert (again.proposal.status, head_of_main()) == (Status.APPLIED, before)


@pytest.mark.parametrize("gone", ["rule", "agent"])
def test_it_waits_where_its_rule_is_gone_or_its_agent_deactivated(
    goals: Block, scribe: Agent, rule: TrustRule, gone: str
) -> None:
    proposal = cut(BEFORE_THE_COMMIT)
    if gone == "rule":
        rule.delete()
    else:
        Agent.objects.update(is_active=False)
    assert services.recover().opened == 1
    require_waiting(proposal)


def test_it_waits_where_the_block_changed_first(goals: Block, alice: User, scribe: Agent, rule: TrustRule) -> None:
    proposal = cut(BEFORE_THE_COMMIT)
    edit(alice, "goals", goals.body, f"{goals.body}New.\n")
    services.recover()
    require_waiting(proposal, mergeability="rebasable")


@pytest.mark.parametrize("crash", ["trust.branch_name = die", "trust.finish_preparing = die"])
def test_killed_while_it_is_made_to_wait_it_waits(goals: Block, scribe: Agent, rule: TrustRule, crash: str) -> None:
    proposal = cut(BEFORE_THE_COMMIT)
    rule.delete()
    killed(f"from approvals import services\nfrom approvals.services import trust\n{crash}\nservices.recover()")
    let_leases_run_out()
    services.recover()
    require_waiting(proposal)


def require_waiting(proposal: Proposal, *, mergeability: str = "clean") -> None:
    proposal.refresh_from_db()
    assert (proposal.status, proposal.auto_applied, proposal.mergeability) == (Status.OPEN, False, mergeability)
    assert "maths" not in reads.block("alice", "goals").body
    assert [event.what for event in proposal.events.all()] == ["proposed"]
    assert list(problems()) == []
