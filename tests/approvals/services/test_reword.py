"""A person approves words of their own instead of the agent's: reworded, or to resolve a conflict."""

from pathlib import Path
from typing import Any

import pytest

from approvals import services
from approvals.models import Agent, Approval, Policy, Proposal, Status, User
from approvals.recovery.integrity import problems
from approvals.services import merge, notes
from approvals.services.errors import (
    AlreadyDecided,
    DecisionRefused,
    NewRevision,
    NoChange,
    ProposalNotFound,
    Refusal,
    TargetChanged,
)
from memory_app import reads
from memory_app.dolt.connections import dolt
from memory_app.reads import Block
from memory_app.text.edits import ForbiddenCharacter
from tests.support.acts import approve, as_seen, assert_ledger, edit
from tests.support.fixtures import Propose
from tests.support.older import older_default
from tests.support.refusals import refusing

MINE = "Alice enjoys algebra."


def approve_as(actor: User, proposal: Proposal, text: str, **more: Any) -> Proposal:
    return services.approve_edited(actor=actor, text=text, **(as_seen(proposal) | more))


def test_the_reviewers_words_are_merged_and_both_authors_stay(goals: Block, tim: User, propose: Propose) -> None:
    proposal = propose(goals, "likes math", "loves mathematics")
    text = goals.body.replace("Alice likes math.", MINE)
    decided = approve_as(tim, proposal, text, comment="She said algebra.")
    assert reads.block("alice", "goals").body == text
    assert (decided.status, decided.approval) == (Status.APPROVED, Approval.EDITED)
    mine = decided.current_revision
    assert (mine.origin, mine.made_by, mine.edits) == ("reviewer", tim, [{"op": "rewrite", "content": text}])
    assert "loves mathematics" in decided.revisions.get(number=1).result_text
    assert dolt().log(mine.head_commit, limit=1)[0].email == "tim@person.assent.invalid"
    assert_ledger("goals", action="approved", actor="tim", agent="scribe", comment="She said algebra.")
    assert decided.events.last().data["approval"] == "edited"
    assert [branch.name for branch in dolt().branches()] == ["main"]
    assert list(problems()) == []


def test_the_words_as_proposed_are_a_plain_approval(goals: Block, tim: User, propose: Propose) -> None:
    proposal = propose(goals, "math", "maths")
    decided = approve_as(tim, proposal, goals.body.replace("math", "maths"))
    assert (decided.approval, decided.current_revision_number) == (Approval.AS_PROPOSED, 1)


def test_a_stale_proposal_is_reworded_on_todays_text(goals: Block, alice: User, tim: User, propose: Propose) -> None:
    proposal = propose(goals, "math", "maths")
    edit(alice, "goals", "June", "July")
    text = reads.block("alice", "goals").body.replace("likes math", "enjoys maths")
    approve_as(tim, proposal, text)
    assert reads.block("alice", "goals").body == text
    assert list(problems()) == []


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("{}", NoChange),
        ("x" * 20_001, "over_limit"),
        ("NUL \x00", ForbiddenCharacter),
        ("half \ud800", ForbiddenCharacter),
    ],
)
def test_what_a_direct_edit_could_not_save_is_refused(
    goals: Block, tim: User, propose: Propose, text: str, error: str | type[Exception]
) -> None:
    proposal = propose(goals, "math", "maths")
    with refusing(error):
        approve_as(tim, proposal, text.replace("{}", goals.body))
    proposal.refresh_from_db()
    assert (proposal.status, proposal.revisions.count()) == (Status.OPEN, 1)
    assert reads.block("alice", "goals") == goals
    assert list(problems()) == []


def test_only_what_was_seen_is_reworded(goals: Block, alice: User, tim: User, mallory: User, propose: Propose) -> None:
    proposal = propose(goals, "math", "maths")
    with pytest.raises(ProposalNotFound):
        approve_as(mallory, proposal, MINE)
    with pytest.raises(NewRevision):
        approve_as(tim, proposal, MINE, revision=2)
    edit(alice, "goals", "June", "July")
    with pytest.raises(TargetChanged):
        approve_as(tim, proposal, MINE, seen_sha256=goals.sha256)
    services.withdraw(agent=proposal.agent, proposal_id=proposal.pk)
    with pytest.raises(AlreadyDecided):
        approve_as(tim, proposal, MINE)
    assert reads.block("alice", "goals").body == goals.body.replace("June", "July")


def test_an_edit_over_an_edit_is_shown_first(
    goals: Block, alice: User, tim: User, propose: Propose, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody edits the block between the look at it and the merge."""
    proposal, write = propose(goals, "math", "maths"), merge._write

    def after_somebody_else(*arguments: Any) -> Any:
        edit(alice, "goals", "June", "July")
        return write(*arguments)

    monkeypatch.setattr(merge, "_write", after_somebody_else)
    with pytest.raises(TargetChanged) as refused:
        approve_as(tim, proposal, MINE, comment="Mine.")
    assert refused.value.block
    assert "July" in refused.value.block.body
    proposal.refresh_from_db()
    assert (proposal.status, proposal.approval, proposal.revisions.count()) == (Status.OPEN, "", 1)
    assert sorted(branch.name for branch in dolt().branches()) == ["main", f"p/{proposal.pk}"]
    assert list(problems()) == []


def test_a_text_changed_and_changed_back_is_as_it_was_seen(
    goals: Block, alice: User, tim: User, propose: Propose, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine compares rows, not texts: the reviewer's text is written anew on the head of main."""
    proposal, write = propose(goals, "math", "maths"), merge._write
    calls: list[Any] = []

    def after_two_edits(*arguments: Any) -> Any:
        if not calls:
            edit(alice, "goals", "June", "July")
            edit(alice, "goals", "July", "June")
        calls.append(arguments)
        return write(*arguments)

    monkeypatch.setattr(merge, "_write", after_two_edits)
    decided = approve_as(tim, proposal, MINE)
    assert reads.block("alice", "goals").body == MINE
    assert (decided.current_revision.number, decided.current_revision.made_by) == (3, tim)
    assert list(problems()) == []


# -- conflicts ------------------------------------------------------------------------------------


def test_a_conflict_is_resolved_with_a_text_that_settles_both(
    goals: Block, alice: User, tim: User, propose: Propose
) -> None:
    proposal = propose(goals, "likes math", "loves mathematics")
    edit(alice, "goals", "likes math", "is done with math")
    text = reads.block("alice", "goals").body.replace("is done with math", "is done with math, and loves mathematics")
    decided = approve_as(tim, proposal, text, comment="Both hold.", resolves=True)
    assert reads.block("alice", "goals").body == text
    assert (decided.approval, decided.decision_comment) == (Approval.RESOLVED, "Both hold.")
    assert list(problems()) == []


def test_keeping_todays_text_resolves_nothing(goals: Block, alice: User, tim: User, propose: Propose) -> None:
    proposal = propose(goals, "likes math", "loves mathematics")
    edit(alice, "goals", "likes math", "is done with math")
    with pytest.raises(NoChange):
        approve_as(tim, proposal, reads.block("alice", "goals").body, resolves=True)


def test_a_deleted_block_has_nothing_to_resolve(goals: Block, alice: User, tim: User, propose: Propose) -> None:
    proposal = propose(goals, "math", "maths")
    services.delete_block(actor=alice, owner="alice", label="goals", loaded_sha256=goals.sha256)
    with refusing("conflict"):
        approve_as(tim, proposal, MINE, resolves=True)
    assert list(problems()) == []


# -- notes ----------------------------------------------------------------------------------------


@pytest.fixture
def by_scribe(alice: User, tim: User, scribe: Agent) -> notes.ChangeContext:
    Policy.objects.create(owner="alice", notes=Policy.Notes.REVIEW)
    return notes.ChangeContext(actor=scribe, may_apply=True, reasoning="She said so.")


def test_a_new_note_is_reworded(tim: User, by_scribe: notes.ChangeContext) -> None:
    made = notes.save(by=by_scribe, owner="alice", content="She rows.", tags=["sport"])
    decided = approve_as(tim, made.proposal, "She rows on Mondays.")
    note = reads.note("alice", made.note_id)
    assert (note.content, note.tags) == ("She rows on Mondays.", ("sport",))
    assert (decided.approval, decided.current_revision.made_by) == (Approval.EDITED, tim)
    assert list(problems()) == []


def test_a_changed_note_is_resolved_on_what_it_is_now(alice: User, tim: User, by_scribe: notes.ChangeContext) -> None:
    mine = notes.ChangeContext(actor=alice)
    id_ = notes.save(by=mine, owner="alice", content="She rows.").note_id
    proposal = notes.update(by=by_scribe, owner="alice", note_id=id_, content="She rows daily.").proposal
    notes.update(by=mine, owner="alice", note_id=id_, content="She rows on Mondays.")
    with refusing("conflict"):
        approve(tim, proposal)
    decided = approve_as(tim, proposal, "She rows on Mondays, and daily in summer.", resolves=True)
    assert reads.note("alice", id_).content == "She rows on Mondays, and daily in summer."
    assert decided.approval == Approval.RESOLVED
    assert list(problems()) == []


@pytest.mark.parametrize(
    ("text", "error"), [("", "note_invalid"), ("x" * 2_001, "note_invalid"), ("She rows.", NoChange)]
)
def test_a_note_that_could_not_be_saved_is_refused(
    alice: User, tim: User, by_scribe: notes.ChangeContext, text: str, error: str | type[Refusal]
) -> None:
    id_ = notes.save(by=notes.ChangeContext(actor=alice), owner="alice", content="She rows.").note_id
    proposal = notes.update(by=by_scribe, owner="alice", note_id=id_, content="She rows daily.").proposal
    with refusing(error):
        approve_as(tim, proposal, text)
    assert reads.note("alice", id_).content == "She rows."


def test_what_deletes_has_no_words_to_change(alice: User, tim: User, by_scribe: notes.ChangeContext) -> None:
    id_ = notes.save(by=notes.ChangeContext(actor=alice), owner="alice", content="She rows.").note_id
    proposal = notes.delete(by=by_scribe, owner="alice", note_id=id_).proposal
    with pytest.raises(DecisionRefused):
        approve_as(tim, proposal, "She rows daily.")


# -- after a restore ------------------------------------------------------------------------------


def test_a_restored_database_learns_whose_words_were_approved(
    goals: Block, tim: User, propose: Propose, tmp_path: Path
) -> None:
    proposal = propose(goals, "math", "maths")
    with older_default(tmp_path):
        approve_as(tim, proposal, MINE)
    services.recover(trust_log=True)
    proposal.refresh_from_db()
    assert (proposal.status, proposal.approval) == (Status.APPROVED, Approval.EDITED)
    mine = proposal.current_revision
    assert (mine.origin, mine.made_by, mine.result_text) == ("reviewer", tim, MINE)
    assert list(problems()) == []
