"""A person approves words of their own instead of the agent's: reworded, or to resolve a conflict."""

from pathlib import Path
from typing import Any

import pytest

from approvals import services
from approvals.models import Agent, Approval, Proposal, Status, User
from approvals.services import notes
from memory_app import reads
from memory_app.reads import Block
from memory_app.text.edits import ForbiddenCharacter
from tests.approvals.services.conftest import BeforeMerge, body
from tests.support.acts import approve, as_seen, assert_ledger, edit, save
from tests.support.first import dolt
from tests.support.older import older_default
from tests.support.refusals import refusing

MINE = "Alice enjoys algebra."


def approve_as(actor: User, proposal: Proposal, text: str, **more: Any) -> Proposal:
    return services.approve_edited(actor=actor, text=text, **(as_seen(proposal) | more))


def test_the_reviewers_words_are_merged_and_both_authors_stay(goals: Block, tim: User, proposal: Proposal) -> None:
    text = goals.body.replace("Alice likes math.", MINE)
    decided = approve_as(tim, proposal, text, comment="She said algebra.")
    assert body() == text
    assert (decided.status, decided.approval) == (Status.APPROVED, Approval.EDITED)
    mine = decided.current_revision
    assert (mine.origin, mine.made_by, mine.edits) == ("reviewer", tim, [{"op": "rewrite", "content": text}])
    assert "likes maths" in decided.revisions.get(number=1).result_text
    assert dolt().log(mine.head_commit, limit=1)[0].email == "tim@person.assent.invalid"
    assert_ledger("goals", action="approved", actor="tim", agent="scribe", comment="She said algebra.")
    assert decided.events.last().data["approval"] == "edited"


def test_the_words_as_proposed_are_a_plain_approval(goals: Block, tim: User, proposal: Proposal) -> None:
    decided = approve_as(tim, proposal, goals.body.replace("math", "maths"))
    assert (decided.approval, decided.current_revision_number) == (Approval.AS_PROPOSED, 1)


def test_a_stale_proposal_is_reworded_on_todays_text(alice: User, tim: User, proposal: Proposal) -> None:
    edit(alice, "goals", "June", "July")
    text = body().replace("likes math", "enjoys maths")
    approve_as(tim, proposal, text)
    assert body() == text


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("{}", "no_change"),
        ("x" * 20_001, "over_limit"),
        ("NUL \x00", ForbiddenCharacter),
        ("half \ud800", ForbiddenCharacter),
    ],
)
def test_what_a_direct_edit_could_not_save_is_refused(
    goals: Block, tim: User, proposal: Proposal, text: str, error: str | type[Exception]
) -> None:
    with refusing(error):
        approve_as(tim, proposal, text.replace("{}", goals.body))
    proposal.refresh_from_db()
    assert (proposal.status, proposal.revisions.count()) == (Status.OPEN, 1)
    assert reads.block("alice", "goals") == goals


def test_a_text_changed_and_changed_back_is_as_it_was_seen(
    alice: User, tim: User, proposal: Proposal, just_before_the_merge: BeforeMerge
) -> None:
    """The engine compares rows, not texts: the reviewer's text is written anew on the head of main."""
    just_before_the_merge(lambda: [edit(alice, "goals", *words) for words in (("June", "July"), ("July", "June"))])
    mine = approve_as(tim, proposal, MINE).current_revision
    assert body() == MINE
    assert (mine.number, mine.made_by) == (3, tim)


# -- conflicts ------------------------------------------------------------------------------------


def test_a_conflict_is_resolved_with_a_text_that_settles_both(alice: User, tim: User, proposal: Proposal) -> None:
    edit(alice, "goals", "likes math", "is done with sums")
    with refusing("no_change"):  # today's text resolves nothing
        approve_as(tim, proposal, body(), resolves=True)
    text = body().replace("done with sums", "done with sums, and loves mathematics")
    decided = approve_as(tim, proposal, text, comment="Both hold.", resolves=True)
    assert body() == text
    assert (decided.approval, decided.decision_comment) == (Approval.RESOLVED, "Both hold.")


def test_a_deleted_block_has_nothing_to_resolve(goals: Block, alice: User, tim: User, proposal: Proposal) -> None:
    services.delete_block(actor=alice, owner="alice", label="goals", loaded_sha256=goals.sha256)
    with refusing("conflict"):
        approve_as(tim, proposal, MINE, resolves=True)


# -- notes ----------------------------------------------------------------------------------------


@pytest.fixture
def by_scribe(ask_first: None, tim: User, scribe: Agent) -> notes.ChangeContext:
    return notes.ChangeContext(actor=scribe, may_apply=True, reasoning="She said so.")


def test_a_new_note_is_reworded(tim: User, by_scribe: notes.ChangeContext) -> None:
    made = notes.save(by=by_scribe, owner="alice", content="She rows.", tags=["sport"])
    decided = approve_as(tim, made.proposal, "She rows on Mondays.")
    note = reads.note("alice", made.note_id)
    assert (note.content, note.tags) == ("She rows on Mondays.", ("sport",))
    assert (decided.approval, decided.current_revision.made_by) == (Approval.EDITED, tim)


def test_a_changed_note_is_resolved_on_what_it_is_now(alice: User, tim: User, by_scribe: notes.ChangeContext) -> None:
    id_ = save(alice, "She rows.")
    proposal = notes.update(by=by_scribe, owner="alice", note_id=id_, content="She rows daily.").proposal
    notes.update(by=notes.ChangeContext(actor=alice), owner="alice", note_id=id_, content="She rows on Mondays.")
    with refusing("conflict"):
        approve(tim, proposal)
    decided = approve_as(tim, proposal, "She rows on Mondays, and daily in summer.", resolves=True)
    assert reads.note("alice", id_).content == "She rows on Mondays, and daily in summer."
    assert decided.approval == Approval.RESOLVED


@pytest.mark.parametrize(
    ("text", "error"), [("", "note_invalid"), ("x" * 2_001, "note_invalid"), ("She rows.", "no_change")]
)
def test_a_note_that_could_not_be_saved_is_refused(
    alice: User, tim: User, by_scribe: notes.ChangeContext, text: str, error: str
) -> None:
    id_ = save(alice, "She rows.")
    proposal = notes.update(by=by_scribe, owner="alice", note_id=id_, content="She rows daily.").proposal
    with refusing(error):
        approve_as(tim, proposal, text)
    assert reads.note("alice", id_).content == "She rows."


def test_what_deletes_has_no_words_to_change(alice: User, tim: User, by_scribe: notes.ChangeContext) -> None:
    proposal = notes.delete(by=by_scribe, owner="alice", note_id=save(alice)).proposal
    with refusing("decision_refused"):
        approve_as(tim, proposal, "She rows daily.")


# -- after a restore ------------------------------------------------------------------------------


def test_a_restored_database_learns_whose_words_were_approved(tim: User, proposal: Proposal, tmp_path: Path) -> None:
    with older_default(tmp_path):
        approve_as(tim, proposal, MINE)
    services.recover(trust_log=True)
    proposal.refresh_from_db()
    assert (proposal.status, proposal.approval) == (Status.APPROVED, Approval.EDITED)
    mine = proposal.current_revision
    assert (mine.origin, mine.made_by, mine.result_text) == ("reviewer", tim, MINE)
