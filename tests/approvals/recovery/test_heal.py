"""After a restore one database is older than the other: what `default` lacks is read from the memory."""

from functools import partial
from pathlib import Path

import pytest

from approvals import services
from approvals.models import Agent, Kind, Proposal, Status, User
from approvals.recovery.integrity import problems
from approvals.services import notes
from approvals.services.notes import ChangeContext
from memory_app import reads
from memory_app.models import Change
from memory_app.reads import Block
from tests.approvals.recovery.use_cases import (
    PROPOSED,
    USE_CASES,
    amend,
    approve_edited,
    decide,
    much_later,
    reject,
    request_changes,
    undo,
)
from tests.approvals.recovery.use_cases import approve as approve_proposal
from tests.support.acts import approve, as_seen, assert_ledger, edit, save
from tests.support.background import wait_for_threads
from tests.support.first import dolt
from tests.support.fixtures import ClientOf, MakeBlock, Propose
from tests.support.older import older_default, older_memory

pytestmark = pytest.mark.slow


@pytest.fixture
def waiting(goals: Block, tim: User, propose: Propose) -> Proposal:
    return propose(goals, "math", "maths")


def branches() -> list[str]:
    return list(dolt().branches())


def actions() -> list[str]:
    return [row.action for row in reads.history("alice", "block", "goals")]


def apply_note(scribe: Agent, content: str) -> Proposal:
    by = ChangeContext(actor=scribe, may_apply=True)
    made = notes.save(by=by, owner="alice", content=content).proposal
    assert made
    return made


def propose_block(scribe: Agent) -> Proposal:
    given = {"title": "Diary", "body": "She read.", "description": "Her days.", "reasoning": "r"}
    return services.propose_block(agent=scribe, owner="alice", label="diary", **given).proposal


def propose_deletion(scribe: Agent) -> Proposal:
    return services.propose_deletion(agent=scribe, owner="alice", label="goals", reasoning="r").proposal


# -- what `default` knows, as it was ------------------------------------------------------------------


def test_a_proposal_approved_since_is_approved(waiting: Proposal, tim: User, tmp_path: Path) -> None:
    with older_default(tmp_path):
        approve(tim, waiting)
    assert Proposal.objects.get().status == Status.OPEN

    report = services.recover()
    assert (report.known_approved, report.ledger_rows) == (1, 1)
    waiting.refresh_from_db()
    assert (waiting.status, waiting.decided_by, waiting.merge_commit) == (Status.APPROVED, tim, dolt().head())
    assert [event.what for event in waiting.events.all()] == ["proposed", "approved"]
    assert_ledger("goals", action="approved", actor="tim", agent="scribe", proposal_id=waiting.pk)
    assert reads.history("alice", "block", "goals")[0].at <= waiting.decided_at
    assert list(problems()) == []
    assert services.recover() == services.RecoveryReport()


def test_a_stale_proposal_approved_since_has_the_revision_that_was_merged(
    waiting: Proposal, alice: User, tim: User, tmp_path: Path
) -> None:
    edit(alice, "goals", "math", "math", title="Other")
    with older_default(tmp_path):
        approve(tim, waiting)
    services.recover(trust_log=True)
    waiting.refresh_from_db()
    assert (waiting.status, waiting.current_revision_number) == (Status.APPROVED, 2)
    assert waiting.current_revision.result_text == reads.block("alice", "goals").body
    assert dolt().is_ancestor(waiting.current_revision.head_commit)
    assert branches() == ["main"]
    assert list(problems()) == []


def test_one_reworded_and_approved_since_keeps_its_own_revision(
    goals: Block, scribe: Agent, tim: User, tmp_path: Path
) -> None:
    proposal = propose_block(scribe)
    with older_default(tmp_path):
        services.approve_edited(actor=tim, title="Days", text="She read twice.", **as_seen(proposal))
    services.recover(trust_log=True)
    proposal.refresh_from_db()
    assert (proposal.status, proposal.approval, proposal.current_revision_number) == (Status.APPROVED, "edited", 2)
    assert list(problems()) == []


@pytest.mark.parametrize("how", ["reject", "withdraw"])
def test_a_proposal_rejected_since_waits_again_on_a_branch_of_its_own(
    waiting: Proposal, tim: User, scribe: Agent, tmp_path: Path, how: str
) -> None:
    with older_default(tmp_path):
        if how == "reject":
            services.reject(actor=tim, proposal_id=waiting.pk, revision=1, reason="wrong")
        else:
            services.withdraw(agent=scribe, proposal_id=waiting.pk)
    assert branches() == ["main"]

    assert services.recover().recreated_branches == 1
    assert list(problems()) == []
    waiting.refresh_from_db()
    approve(tim, waiting)
    assert "maths" in reads.block("alice", "goals").body
    assert list(problems()) == []


def test_what_was_under_way_is_finished_before_it_is_compared(
    goals: Block, waiting: Proposal, tim: User, propose: Propose, tmp_path: Path
) -> None:
    """`default` was copied while a proposal was being prepared or decided; the memory when that was done."""
    second = propose(goals, "June", "July")
    of_first = Proposal.objects.filter(pk=waiting.pk)
    of_first.update(status=Status.PREPARING, lease_expires_at=waiting.created_at)
    with older_default(tmp_path):
        of_first.update(status=Status.OPEN, lease_expires_at=None)
        approve(tim, waiting)
        approve(tim, second)
    services.recover(trust_log=True)
    assert set(Proposal.objects.values_list("status", flat=True)) == {Status.APPROVED}
    assert list(problems()) == []


def test_the_branch_of_a_decision_under_way_does_not_stay(waiting: Proposal) -> None:
    own = waiting.current_revision.branch
    dolt().create_branch(f"p/{waiting.pk}-2", dolt().head(own))
    services.recover(trust_log=True)
    assert branches() == ["main", own]


def approve_and_undo(tim: User, proposal: Proposal) -> None:
    services.undo(actor=tim, proposal_id=approve(tim, proposal).pk)


@pytest.mark.parametrize("rounds", [1, 2])
@pytest.mark.parametrize("known", ["waiting", "approved"])
def test_one_undone_since_waits_again(waiting: Proposal, tim: User, tmp_path: Path, known: str, rounds: int) -> None:
    if known == "approved":
        approve(tim, waiting)
    with older_default(tmp_path):
        if known == "approved":
            services.undo(actor=tim, proposal_id=waiting.pk)
        for _ in range(rounds):
            approve_and_undo(tim, Proposal.objects.get())
    services.recover(trust_log=True)
    (found,) = Proposal.objects.all()
    assert (found.status, found.merge_commit, found.reverted_by_commit) == (Status.OPEN, "", "")
    assert list(problems()) == []
    assert services.recover(trust_log=True) == services.RecoveryReport()
    approve(tim, found)
    assert "maths" in reads.block("alice", "goals").body
    assert list(problems()) == []


REJECT_AMENDED = partial(decide, services.reject, revision=2, reason="wrong")
#: What else makes a branch anew.
ALSO = {
    "open what expired again": (*PROPOSED, partial(much_later, services.expire), undo),
    "reject twice": (*PROPOSED, reject, undo, reject, undo),
    "reject, undo and approve": (*PROPOSED, reject, undo, approve_proposal),
    "reject, undo and amend": (*PROPOSED, reject, undo, amend),
    "reject, undo and reword": (*PROPOSED, reject, undo, approve_edited),
    "reject what was amended and undo": (*PROPOSED, request_changes, amend, REJECT_AMENDED, undo),
    "hand back, amend, approve, undo": (*PROPOSED, request_changes, amend, approve_proposal, undo),
}

#: Every use case, with `default` copied after one of its acts and the memory copied after the last one.
BETWEEN = [
    pytest.param(name, copied, id=f"{name}, copied after {copied} acts")
    for name, acts in (USE_CASES | ALSO).items()
    for copied in sorted({1, 2, len(acts) - 1} - {len(acts)})
]


@pytest.mark.parametrize(("name", "copied"), BETWEEN)
def test_whatever_is_done_between_the_two_copies_of_a_backup_accuses_nobody(
    fresh_databases: None, tmp_path: Path, name: str, copied: int
) -> None:
    acts = (USE_CASES | ALSO)[name]
    for act in acts[:copied]:
        act()
    wait_for_threads()
    with older_default(tmp_path):
        for act in acts[copied:]:
            act()
    services.recover(trust_log=True)
    assert list(problems()) == []
    assert services.recover(trust_log=True) == services.RecoveryReport()


# -- what only the memory knows -----------------------------------------------------------------------


def test_proposals_only_the_memory_knows_get_their_rows_and_numbers_back(
    goals: Block, alice: User, tim: User, scribe: Agent, propose: Propose, make_block: MakeBlock, tmp_path: Path
) -> None:
    plans = make_block(alice, "plans", "Read.\n")
    with older_default(tmp_path):
        merged = approve(tim, propose(goals, "math", "maths"))
        waiting = propose(plans, "Read.", "Read a lot.")
        applied, reverted = apply_note(scribe, "Likes tea."), apply_note(scribe, "Likes milk.")
        services.undo(actor=alice, proposal_id=reverted.pk)
        undone = propose(goals, "one book", "two books")
        approve_and_undo(tim, undone)
    services.recover()  # without being told to trust the log it makes none from it
    assert not Proposal.objects.exists()

    report = services.recover(trust_log=True)
    assert report.recreated_proposals == 5
    found = {proposal.pk: proposal for proposal in Proposal.objects.all()}
    assert {pk: proposal.status for pk, proposal in found.items()} == {
        merged.pk: Status.APPROVED,
        waiting.pk: Status.OPEN,
        applied.pk: Status.APPLIED,
        reverted.pk: Status.APPLIED,
        undone.pk: Status.OPEN,
    }
    assert found[merged.pk].decided_by == tim
    open_one = found[waiting.pk]
    assert (open_one.agent, open_one.owner, open_one.target) == (scribe, "alice", "plans")
    assert open_one.current_revision.base_text == plans.body
    assert open_one.current_revision.result_text == "Read a lot.\n"
    assert "lost" in open_one.reasoning
    assert found[reverted.pk].reverted_by_commit
    # By this the same change is found when its agent asks for it again.
    assert {each.pk: each.result_sha256 for each in (merged, waiting, applied, reverted, undone)} == {
        pk: proposal.result_sha256 for pk, proposal in found.items()
    }
    assert list(problems()) == []
    # They can be worked with as before.
    approve(tim, open_one)
    assert reads.block("alice", "plans").body == "Read a lot.\n"
    services.undo(actor=alice, proposal_id=applied.pk)
    assert reads.notes("alice") == ()
    assert list(problems()) == []
    assert services.recover(trust_log=True) == services.RecoveryReport()


def test_an_import_only_the_memory_knows_can_be_taken_back(
    alice: User, scribe: Agent, tmp_path: Path, client_of: ClientOf
) -> None:
    apply_note(scribe, "Likes tea.")
    with older_default(tmp_path):
        ids = [save(alice, text) for text in ("One.", "Two.")]
        changes = [notes.NoteChange(each, reads.note("alice", each), None) for each in ids]
        by = ChangeContext(actor=scribe, may_apply=True)
        notes.change_notes(by=by, owner="alice", kind=Kind.IMPORT, changes=changes)
    services.recover(trust_log=True)
    proposal = Proposal.objects.get(target_kind="import")
    assert client_of(alice).get(proposal.get_absolute_url()).status_code == 200
    services.undo(actor=alice, proposal_id=proposal.pk)
    assert {note.content for note in reads.notes("alice")} == {"Likes tea.", "One.", "Two."}
    assert list(problems()) == []


def test_new_blocks_and_deletions_wait_again_as_what_they_were(
    goals: Block, scribe: Agent, tim: User, tmp_path: Path
) -> None:
    with older_default(tmp_path):
        new, deletion = propose_block(scribe).pk, propose_deletion(scribe).pk
    assert services.recover(trust_log=True).recreated_proposals == 2
    block, gone = Proposal.objects.get(pk=new), Proposal.objects.get(pk=deletion)
    assert (block.kind, block.status, block.target_title) == (Kind.CREATE_BLOCK, Status.OPEN, "Diary")
    assert (gone.kind, gone.status) == (Kind.DELETE_BLOCK, Status.OPEN)
    assert list(problems()) == []
    approve(tim, block)
    approve(tim, gone)
    assert reads.block("alice", "diary").description == "Her days."
    assert reads.find_block("alice", "goals") is None
    assert list(problems()) == []


def test_new_blocks_and_deletions_approved_since_can_be_undone(
    goals: Block, scribe: Agent, tim: User, tmp_path: Path
) -> None:
    with older_default(tmp_path):
        approve(tim, propose_block(scribe))
        approve(tim, propose_deletion(scribe))
    services.recover(trust_log=True)
    kinds = set(Proposal.objects.values_list("kind", "status"))
    assert kinds == {(Kind.CREATE_BLOCK, Status.APPROVED), (Kind.DELETE_BLOCK, Status.APPROVED)}
    assert list(problems()) == []
    for proposal in Proposal.objects.all():
        services.undo(actor=tim, proposal_id=proposal.pk)
    assert [block.label for block in reads.blocks("alice")] == ["goals"]


def test_a_log_that_was_not_trusted_at_first_can_be_and_no_number_is_given_out_again(
    goals: Block, alice: User, tim: User, propose: Propose, tmp_path: Path
) -> None:
    with older_default(tmp_path):
        approve(tim, propose(goals, "math", "maths"))
        edit(alice, "goals", "math", "math", title="Other")
        rejected = propose(reads.block("alice", "goals"), "B2", "C1")
        services.reject(actor=tim, proposal_id=rejected.pk, revision=1, reason="wrong")
    services.recover()  # at the start of the site, or by beat
    assert actions() == ["recovered", "recovered", "created"]
    services.recover(trust_log=True)
    assert actions() == ["edited", "approved", "created"]
    assert Proposal.objects.get().status == Status.APPROVED
    assert list(problems()) == []
    for old, new in (("B2", "C2"), ("June", "July")):
        assert propose(reads.block("alice", "goals"), old, new).pk > rejected.pk


# -- a memory that is older ---------------------------------------------------------------------------


def test_a_memory_older_than_the_rest_is_one_sentence(
    goals: Block, alice: User, tim: User, scribe: Agent, propose: Propose, tmp_path: Path
) -> None:
    with older_memory(tmp_path):
        for number in range(3):
            block = reads.block("alice", "goals")
            old, new = (f"Alice likes math{'s' * each}." for each in (number, number + 1))
            approve(tim, propose(block, old, new))
        waiting = propose(reads.block("alice", "goals"), "June", "July")
    for _ in range(2):
        (problem,) = problems()
        assert str(problem).startswith("The memory is older than the rest: it ends at ")
        assert "3 change(s)" in str(problem)
        assert "alice" in str(problem)
        # It can do nothing about it, must not make it worse, and is not stopped by a lost base.
        assert services.recover().recreated_branches == 0
    assert Change.objects.count() == 4
    assert Proposal.objects.filter(status=Status.APPROVED).count() == 3
    assert Proposal.objects.get(pk=waiting.pk).status == Status.OPEN
