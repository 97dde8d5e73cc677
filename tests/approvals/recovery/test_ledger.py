"""The ledger says what commits did to whose rows, and no text of anybody can make it say more."""

import uuid

import pytest
from django.core.management import call_command
from django.utils import timezone

from approvals import services
from approvals.models import Proposal, Revision, Status, User
from approvals.recovery.integrity import problems
from approvals.services.errors import NoChange
from memory_app import reads
from memory_app.models import Change, DirectWrite
from memory_app.reads import Block
from memory_app.text.trailers import Trailers
from memory_app.writing import authors, ledger, rows
from memory_app.writing.values import BlockFields, BlockWrite
from tests.conftest import make_user
from tests.support.acts import approve, edit
from tests.support.first import dolt, dolt_transaction, head_of_main
from tests.support.fixtures import MakeBlock, Propose
from tests.support.histories import ledger_snapshot, make_history

#: Acts after which a history has every kind of change that its generator makes.
EVERY_KIND = 250

FORGED = (
    "I told my tutor.\n\nAction: edited\nOwner: alice\nTarget: block/goals\nTarget: block/student\n"
    f"Actor: alice\nOperation: {'a' * 32}"
)


def rebuilt() -> list[tuple[object, ...]]:
    """The ledger once it was made again from the log."""
    call_command("rebuild_ledger", verbosity=0)
    return ledger_snapshot()


def write_outside(body: str, message: str) -> str:
    """Change (or make) alice's goals past our one way to write, as somebody at the engine's own shell can."""
    found = [block for block in reads.blocks("alice") if block.label == "goals"]
    fields = BlockFields(title="Learning goals", description="", body=body, limit=20_000)
    with dolt_transaction() as verbs:
        rows.write_rows((BlockWrite("alice", "goals", fields, found[0].sha256 if found else ""),))
        return verbs.commit(message, authors.person("alice"))


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "acts"), [(1, 80), pytest.param(7, EVERY_KIND, marks=pytest.mark.nightly)])
def test_the_ledger_of_any_history_can_be_made_again(seed: int, acts: int) -> None:
    make_history(seed, acts)
    if acts >= EVERY_KIND:
        assert set(Change.objects.values_list("action", flat=True)) == set(Change.Action) - {Change.Action.RECOVERED}
        assert Proposal.objects.filter(status=Status.REJECTED).exists()
        assert Revision.objects.filter(origin=Revision.Origin.REAPPLIED).exists()
    before = ledger_snapshot()
    numbers = list(Change.objects.order_by("id").values_list("id", "commit"))
    assert list(problems()) == []

    call_command("rebuild_ledger", verbosity=0)
    assert list(Change.objects.order_by("id").values_list("id", "commit")) == numbers  # search follows these
    Change.objects.all().delete()
    assert rebuilt() == before
    # One row lost, one altered, one invented.
    some = list(Change.objects.order_by("id"))
    some[3].delete()
    Change.objects.filter(pk=some[5].pk).update(actor="mallory")
    Change.objects.filter(pk=some[7].pk).update(target="elsewhere")
    assert {problem.code for problem in problems()} == {"ledger_differs", "ledger_lacks"}
    assert rebuilt() == before
    assert list(problems()) == []


def test_a_comment_cannot_write_into_the_history_of_others(
    goals: Block, make_block: MakeBlock, propose: Propose
) -> None:
    mal = make_user("mal")
    mine = make_block(mal, "goals", "I like maths.\n")
    approve(mal, propose(mine, "maths", "physics"), comment=FORGED)
    before = ledger_snapshot()
    services.recover()
    assert rebuilt() == before
    Change.objects.all().delete()
    services.recover()
    assert [(row.actor, row.action) for row in reads.changes_of("alice")] == [("alice", "created")]


@pytest.mark.parametrize("named", ["mal", "alice"])
def test_a_comment_cannot_say_that_a_change_was_reverted(
    goals: Block, alice: User, make_block: MakeBlock, propose: Propose, named: str
) -> None:
    """As the released version did, whose messages were cut: the comment's last lines passed for trailers."""
    mal = make_user("mal")
    mine = make_block(mal, "goals", "I like maths.\n")
    vic = approve(alice, propose(goals, "math", "maths"))
    forged = (
        f"Revert\n\nAction: reverted\nOwner: {named}\nTarget: note/x\nTarget: note/y\nProposal: {vic.pk}\n"
        f"Reviewed-by: mal\nOperation: {'a' * 32}"
    )
    proposal = propose(mine, "maths", "physics")
    with dolt_transaction() as verbs:
        verbs._merge(proposal.current_revision.head_commit, forged, authors.person("mal"))
    services.recover()
    assert list(problems()) == []
    vic.refresh_from_db()
    assert vic.reverted_by_commit == ""
    assert not Change.objects.filter(action="reverted").exists()
    # What was merged is known by its head, whatever the message says.
    assert [(row.target, row.action, row.proposal_id) for row in reads.changes_of("mal")] == [
        ("goals", "approved", proposal.pk),
        ("goals", "created", None),
    ]
    assert {row.action for row in reads.changes_of("alice")} == {"approved", "created"}


@pytest.mark.parametrize("comment", ["é" * 5000, FORGED])
def test_an_approval_is_found_by_its_operation_whatever_its_comment(
    alice: User, make_block: MakeBlock, propose: Propose, comment: str
) -> None:
    block = make_block(alice, "l" * 64, "I like maths.\n")
    proposal = approve(alice, propose(block, "maths", "physics"), comment=comment)
    merge = dolt().find_operation(proposal.merge_operation, proposal.main_before)
    assert merge is not None
    assert merge.hash == proposal.merge_commit
    assert reads.history("alice", "block", "l" * 64)[0].comment == comment.strip()


def test_messages_of_the_longest_names_fit() -> None:
    longest = ledger.LedgerEntry(
        action="approved",
        owner="o" * 64,
        targets=(("block", "l" * 64),),
        operation="a" * 32,
        actor="r" * 64,
        agent="g" * 64,
        proposal_id=2**63 - 1,
    )
    subject = f"Approve proposal {2**63 - 1}: {'l' * 64} of {'o' * 64}"
    message = longest.message(subject, timezone.now(), most=255)
    assert len(message.encode()) <= 255
    said = Trailers.of(message)
    assert (said.action, said.person, said.operation) == ("approved", "r" * 64, "a" * 32)
    whole = Trailers.of(longest.message(subject, timezone.now(), most=10_000))
    assert (whole.owner, whole.targets, whole.agent) == ("o" * 64, longest.targets, "g" * 64)


def test_what_is_written_past_assent_is_recorded_as_that(
    goals: Block, alice: User, ben: User, make_block: MakeBlock
) -> None:
    make_block(ben, "goals", "Run.\n")
    operation = uuid.uuid4().hex
    forged = "Edit\n\nAction: edited\nOwner: alice\nTarget: block/goals\nActor: alice\nAt: 2026-01-01T00:00:00.000000Z"
    without_time = forged.partition("\nAt: ")[0]
    for message in (
        "Just so.",
        f"{forged}\nOperation: {operation}",
        f"{without_time}\nOperation: {operation}",
        "Edit\n\nAction: nonsense\nOwner: ben",
        f"Edit\n\nAction: edited\nOwner: ben\nTarget: block/goals\nActor: ben\nOperation: {operation}",
    ):
        hash_ = write_outside(f"{message} {operation}", message)
        (problem,) = problems()
        assert (problem.code, problem.about) == ("ledger_lacks", hash_)
        assert services.recover().ledger_rows == 1
        newest = Change.objects.order_by("-id")[0]
        assert (newest.commit, newest.action, newest.actor) == (hash_, "recovered", "")
        assert (newest.owner, newest.target) == ("alice", "goals")
        assert list(problems()) == []
    assert [row.action for row in reads.changes_of("ben")] == ["created"]


def test_a_restored_ledger_believes_the_log_when_told_to(goals: Block, alice: User) -> None:
    """`default` was copied before these writes: neither their rows nor what announced them are in it."""
    edit(alice, "goals", goals.body, "Later.", comment="Later.")
    Change.objects.filter(commit=head_of_main()).delete()
    DirectWrite.objects.all().delete()
    assert services.recover(trust_log=True).ledger_rows == 1
    newest = reads.history("alice", "block", "goals")[0]
    assert (newest.action, newest.actor, newest.comment) == ("edited", "alice", "")
    assert list(problems()) == []
    before = ledger_snapshot()
    assert rebuilt() == before


def test_no_words_of_people_or_agents_are_in_the_log(goals: Block, alice: User, tim: User, propose: Propose) -> None:
    proposal = propose(goals, "math", "maths", reasoning="AGENTSREASON")
    approve(tim, proposal, comment="REVIEWERSCOMMENT")
    edit(alice, "goals", "maths", "physics", comment="EDITORSCOMMENT")
    with pytest.raises(NoChange):  # nor does what was refused stay anywhere
        edit(alice, "goals", "physics", "physics", comment="Oh.")
    assert not DirectWrite.objects.filter(comment="Oh.").exists()
    assert all("REASON" not in commit.message and "COMMENT" not in commit.message for commit in dolt().log())


def test_trailers_are_only_ours() -> None:
    whole = f"Subject\n\nAction: edited\nOwner: a b\nTarget: block/goals\nOperation: {'a' * 32}"
    assert Trailers.of(whole).owner == "a b"
    for broken in ("Operation: nothex", "Action: edited\nAction: edited", "Foo: bar", "Owner: ", "Target: x/y", ""):
        assert Trailers.of(f"Subject\n\n{broken}") == Trailers()
    entry = ledger.LedgerEntry("edited", "alice\nOwner: ben", (("block", "goals"),), "a" * 32)
    with pytest.raises(ValueError, match="trailer"):
        entry.message("x", timezone.now(), most=255)
