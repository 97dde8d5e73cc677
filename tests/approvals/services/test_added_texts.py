"""Additions and section updates in review: on a text that changed since, in part, amended, with rules, in lists."""

from typing import Any

import pytest

from approvals import services
from approvals.models import Agent, Approval, Kind, Mergeability, Proposal, Status, TrustRule, User
from approvals.pages import inbox_rows
from approvals.pages.inbox_filters import Order
from approvals.pages.inbox_rows import rows_of
from approvals.review.targets import assess
from approvals.services import Rest
from memory_app import reads
from memory_app.models import TargetKind
from memory_app.reads import Block
from memory_app.text import worddiff
from memory_app.text.edits import Append, Edit, Insert, Prepend, Replace, Rewrite, SectionUpdate
from tests.support.acts import approve, as_seen, change
from tests.support.acts import edit as edit_block
from tests.support.fixtures import MakeBlock
from tests.support.refusals import refusing

BODY = "# Plan\n\n## Goals\n\n- algebra\n- reading\n\n## Log\n\nNothing yet.\n"
ELSEWHERE = BODY.replace("# Plan\n", "# Plan\n\nFor the spring.\n")

#: Each with what it makes of the text that changed elsewhere since.
ADDING: dict[str, tuple[Edit, str]] = {
    "append": (Append("She rows.", own_line=True), ELSEWHERE + "She rows."),
    "prepend": (Prepend("Hers.\n"), "Hers.\n" + ELSEWHERE),
    "insert": (Insert(6, "- rowing"), ELSEWHERE.replace("- reading\n", "- reading\n- rowing\n")),
    "section": (
        SectionUpdate("Goals", "- algebra\n- reading\n- rowing"),
        ELSEWHERE.replace("- reading\n", "- reading\n- rowing\n"),
    ),
}
every_kind = pytest.mark.parametrize(("edit", "rebased"), ADDING.values(), ids=ADDING)


@pytest.fixture
def plan(alice: User, make_block: MakeBlock) -> Block:
    return make_block(alice, "plan", BODY)


def written(alice: User, body: str) -> None:
    """alice writes another text into the block; what waits is checked again, as a worker does it."""
    edit_block(alice, "plan", reads.block("alice", "plan").body, body)
    services.recheck("alice", [(TargetKind.BLOCK, "plan")])


def asked(agent: Agent, *edits: Edit, **more: Any) -> Proposal:
    return change(agent, *edits, label="plan", **more)


@every_kind
def test_it_is_made_again_on_a_text_that_changed_elsewhere(
    plan: Block, alice: User, tim: User, scribe: Agent, edit: Edit, rebased: str
) -> None:
    proposal = asked(scribe, edit)
    written(alice, ELSEWHERE)
    proposal.refresh_from_db()
    assert proposal.mergeability == Mergeability.REBASABLE
    decided = approve(tim, proposal)
    assert reads.block("alice", "plan").body == rebased
    assert decided.current_revision.origin == "reapplied"


@every_kind
def test_what_is_done_already_is_not_done_twice(
    plan: Block, alice: User, scribe: Agent, edit: Edit, rebased: str
) -> None:
    proposal = asked(scribe, edit)
    written(alice, rebased)
    proposal.refresh_from_db()
    assert proposal.mergeability == Mergeability.ALREADY_APPLIED


def test_two_appended_entries_are_both_approved(plan: Block, tim: User, scribe: Agent) -> None:
    first, second = (asked(scribe, Append(f"- day {number}\n", own_line=True)) for number in (1, 2))
    approve(tim, first)
    second.refresh_from_db()
    approve(tim, second)
    assert reads.block("alice", "plan").body == BODY + "- day 1\n- day 2\n"


def test_a_section_whose_other_lines_changed_is_merged_and_one_that_a_person_rewrote_is_not_overwritten(
    plan: Block, alice: User, scribe: Agent
) -> None:
    proposal = asked(scribe, SectionUpdate("Goals", "- algebra\n- reading every day"))
    written(alice, BODY.replace("- algebra", "- geometry"))
    standing = assess(proposal.current_revision, reads.block("alice", "plan"))
    assert standing.result_text == BODY.replace("- algebra", "- geometry").replace("- reading", "- reading every day")
    written(alice, BODY.replace("- reading", "- rowing"))
    proposal.refresh_from_db()
    assert proposal.mergeability == Mergeability.CONFLICT


@every_kind
def test_it_is_approved_in_part(plan: Block, tim: User, scribe: Agent, edit: Edit, rebased: str) -> None:
    proposal = asked(scribe, edit, Replace("Nothing yet.", "She rowed."))
    hunks = worddiff.hunks(BODY, proposal.current_revision.result_text)
    (wanted,) = [hunk for hunk in hunks if "She rowed" in hunk.after]
    decided = services.approve_some(
        actor=tim, accepted=[wanted.id], rest=Rest.AGENT, reason="wrong", comment="Not this.", **as_seen(proposal)
    )
    assert decided.approval == Approval.PART
    assert reads.block("alice", "plan").body == BODY.replace("Nothing yet.", "She rowed.")


@every_kind
def test_it_is_amended_and_undone(plan: Block, tim: User, scribe: Agent, edit: Edit, rebased: str) -> None:
    proposal = asked(scribe, Rewrite("# Other\n"))
    amended = asked(scribe, edit, proposal_id=proposal.pk)
    assert (amended, amended.current_revision_number) == (proposal, 2)
    with refusing("no_change"):
        asked(scribe, edit, proposal_id=proposal.pk)
    services.undo(actor=tim, proposal_id=approve(tim, amended).pk)
    assert reads.block("alice", "plan").body == BODY


@every_kind
def test_a_rule_for_small_changes_weighs_what_it_changes(
    plan: Block, alice: User, scribe: Agent, edit: Edit, rebased: str
) -> None:
    TrustRule.objects.create(owner="alice", made_by=alice, needs=TrustRule.Needs.REVIEW_IF_LARGE, kind=Kind.EDIT)
    small = asked(scribe, edit, may_apply=True)
    assert small.status == Status.APPLIED
    long = "She rows on the river every week. " * 20
    large = asked(scribe, type(edit)(**vars(edit) | {"content": long}), may_apply=True)
    assert (large.status, large.review_reason) == (Status.OPEN, "large")


@pytest.mark.parametrize("edit", [Append("She rows."), Prepend("She rows. "), Insert(6, "She rows.")])
def test_a_small_addition_is_shown_whole_in_the_list(plan: Block, scribe: Agent, edit: Edit) -> None:
    (row,) = rows_of([asked(scribe, edit)])
    assert [(segment.kind, segment.text.strip()) for segment in row.change] == [("added", "She rows.")]


def test_a_long_addition_and_a_section_are_read_on_their_page(plan: Block, scribe: Agent) -> None:
    proposals = [asked(scribe, Append("She rows. " * 50)), asked(scribe, SectionUpdate("Log", "She rows."))]
    assert [row.change for row in rows_of(proposals)] == [(), ()]


def test_additions_to_a_block_do_not_touch_each_other_in_the_list(plan: Block, scribe: Agent) -> None:
    proposals = [asked(scribe, Append("She rows.\n")), asked(scribe, Replace("Nothing yet.", "She rowed."))]
    assert not any(row.conflicts for row in rows_of(proposals))


@pytest.mark.parametrize(
    ("edit", "is_one"),
    [
        (Append("She rows.\n"), True),
        (Insert(1, "She rows."), True),
        # What the section had is taken away too, and that is not the same in both blocks.
        (SectionUpdate("Log", "She rows."), False),
    ],
)
def test_the_same_addition_for_two_people_is_one_row_and_sections_go_by_their_words(
    plan: Block, ben: User, scribe: Agent, make_block: MakeBlock, edit: Edit, is_one: bool
) -> None:
    make_block(ben, "plan", BODY.replace("Nothing yet.", "Everything passed."))
    first, other = asked(scribe, edit), asked(scribe, edit, owner="ben")
    together = inbox_rows.alike_to(first, Proposal.objects.all(), Order("created_at"))
    assert together == ([first.pk, other.pk] if is_one else [first.pk])
