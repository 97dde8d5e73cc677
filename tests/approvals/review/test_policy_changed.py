"""An owner changes what agents may do without asking, while a note is on its way."""

import pytest

from approvals import services
from approvals.models import Agent, Policy, Proposal, Status, User
from approvals.recovery.integrity import problems
from approvals.services import notes, trust
from approvals.services.errors import NotesChanged
from approvals.services.notes import ChangeContext, NoteChange
from memory_app import reads
from memory_app.dolt.connections import dolt, head_of_main
from tests.support.crashing import killed, let_leases_run_out

SAVE = """
from approvals.models import Agent
from approvals.services import notes, trust
from approvals.services.notes import ChangeContext
from memory_app.writing import commits
{crash}
by = ChangeContext(actor=Agent.objects.get(), may_apply=True, reasoning="She said so.", operation="{operation}")
notes.save(by=by,
           owner="alice", content="She rows.")
"""
RECOVER = """
from approvals import services
from approvals.services import trust
from memory_app.writing import commits
{crash}
services.recover()
"""
OPERATION = "b" * 32

BEFORE_THE_COMMIT = "commits.write_main = die"
AFTER_THE_COMMIT = "commits.record = die"


def cut(crash: str) -> Proposal:
    killed(SAVE.format(crash=crash, operation=OPERATION))
    let_leases_run_out()
    return Proposal.objects.get()


def policy(notes: str) -> None:
    Policy.objects.update_or_create(owner="alice", defaults={"notes": notes})


def contents() -> list[str]:
    return [note.content for note in reads.notes("alice")]


def require_waiting(proposal: Proposal) -> None:
    proposal.refresh_from_db()
    assert (proposal.status, proposal.auto_applied, proposal.review_reason) == (Status.OPEN, False, "policy")
    assert contents() == []
    assert dolt().head(proposal.current_revision.branch) == proposal.current_revision.head_commit
    assert [(event.what, event.text) for event in proposal.events.all()] == [("proposed", "She said so.")]
    assert list(problems()) == []


@pytest.mark.slow
def test_what_was_cut_off_waits_where_the_owner_asks_to_see_notes_since(alice: User, scribe: Agent) -> None:
    proposal, before = cut(BEFORE_THE_COMMIT), head_of_main()
    policy("review")
    assert services.recover().opened == 1
    assert head_of_main() == before
    require_waiting(proposal)
    seen = ""
    services.approve(actor=alice, proposal_id=proposal.pk, revision=1, seen_sha256=seen)
    assert contents() == ["She rows."]
    assert list(problems()) == []


@pytest.mark.slow
def test_what_was_cut_off_is_applied_where_the_owner_still_lets_it(alice: User, scribe: Agent) -> None:
    proposal = cut(BEFORE_THE_COMMIT)
    services.recover()
    proposal.refresh_from_db()
    assert (proposal.status, proposal.auto_applied) == (Status.APPLIED, True)
    assert contents() == ["She rows."]


@pytest.mark.slow
def test_what_is_in_the_memory_already_was_applied(alice: User, scribe: Agent) -> None:
    proposal = cut(AFTER_THE_COMMIT)
    policy("review")
    services.recover()
    proposal.refresh_from_db()
    assert (proposal.status, proposal.auto_applied) == (Status.APPLIED, True)
    assert contents() == ["She rows."]
    assert list(problems()) == []


@pytest.mark.slow
def test_what_was_to_wait_waits_though_the_owner_lets_notes_be_since(alice: User, scribe: Agent) -> None:
    policy("review")
    proposal = cut("trust.finish_preparing = die")
    policy("apply")
    services.recover()
    require_waiting(proposal)


@pytest.mark.slow
@pytest.mark.parametrize(
    "crash",
    [
        "trust.branch_name = die",  # before it waits
        "trust.finish_preparing = die",  # before its branch
        "commits.dolt_transaction = die",  # before the commit on its branch
    ],
)
def test_killed_while_it_is_made_to_wait_it_waits(alice: User, scribe: Agent, crash: str) -> None:
    proposal = cut(BEFORE_THE_COMMIT)
    policy("review")
    killed(RECOVER.format(crash=crash))
    let_leases_run_out()
    services.recover()
    require_waiting(proposal)


@pytest.mark.slow
def test_the_same_call_again_waits_too(alice: User, scribe: Agent) -> None:
    cut(BEFORE_THE_COMMIT)
    policy("review")
    by = ChangeContext(actor=scribe, may_apply=True, reasoning="She said so.", operation=OPERATION)
    outcome = notes.save(by=by, owner="alice", content="She rows.")
    assert not outcome.is_applied
    require_waiting(Proposal.objects.get())


@pytest.mark.slow
def test_an_import_that_waits_after_all_names_its_notes(alice: User, scribe: Agent) -> None:
    killed(
        """
        from approvals.models import Agent
        from approvals.services import imports
        from approvals.services.notes import ChangeContext
        from memory_app.writing import commits
        commits.write_main = die
        imports.import_file(by=ChangeContext(actor=Agent.objects.get(), may_apply=True), owner="alice",
                            data=b"### mem-1-aaaa\\n> She rows.\\n\\n### mem-2-bbbb\\n> She sails.\\n")
        """
    )
    let_leases_run_out()
    policy("review")
    services.recover()
    proposal = Proposal.objects.get()
    assert proposal.status == Status.OPEN
    assert [note.note_id for note in proposal.proposed_notes.all()] == ["mem-1-aaaa", "mem-2-bbbb"]
    assert contents() == []


@pytest.mark.slow
def test_who_applies_it_and_who_makes_it_wait_at_once_agree_with_the_memory(alice: User, scribe: Agent) -> None:
    """Two finish the same: one asked policy before it changed, and commits after the other made it wait."""
    slow = cut(BEFORE_THE_COMMIT)
    policy("review")
    assert trust.finish(Proposal.objects.get()).status == Status.OPEN
    policy("apply")  # as the slow one was told
    assert trust.finish(slow).status == Status.APPLIED
    assert contents() == ["She rows."]
    services.recover()
    proposal = Proposal.objects.get()
    assert (proposal.status, proposal.auto_applied) == (Status.APPLIED, True)
    assert [branch.name for branch in dolt().branches()] == ["main"]
    assert list(problems()) == []
    services.undo(actor=alice, proposal_id=proposal.pk)
    assert contents() == []


def test_a_note_that_changed_while_a_change_of_it_was_proposed_is_told(alice: User, scribe: Agent) -> None:
    policy("review")
    by = ChangeContext(actor=alice)
    before = notes.save(by=by, owner="alice", content="She rows.").changes[0].after
    assert before is not None
    notes.update(by=by, owner="alice", note_id=before.id, content="She swims.")
    after = notes.stamped(before.__class__(**{**vars(before), "content": "She sails."}), before.updated_at)
    with pytest.raises(NotesChanged):  # read before, based on what came after
        notes.change_notes(
            by=ChangeContext(actor=scribe), owner="alice", kind="update", changes=[NoteChange(before.id, before, after)]
        )
    assert not Proposal.objects.exists()
    assert [branch.name for branch in dolt().branches()] == ["main"]
    assert contents() == ["She swims."]
