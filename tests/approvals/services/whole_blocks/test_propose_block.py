"""An agent proposes a new block; the memory does not move."""

import pytest
from django.test import override_settings

from approvals import services
from approvals.models import Agent, Kind, Proposal, Status, TrustRule, User
from approvals.recovery.integrity import problems
from approvals.services.errors import LabelTaken, NoChange
from memory_app import reads
from memory_app.dolt.connections import dolt, head_of_main
from memory_app.reads import Block
from memory_app.text.edits import ForbiddenCharacter, Replace
from tests.approvals.services.turn.test_amend import amend
from tests.approvals.services.whole_blocks.conftest import NEW, ProposeBlock, ProposeDeletion
from tests.support.fixtures import MakeBlock, Propose
from tests.support.refusals import refusing


def test_a_new_block_is_a_branch_off_main_and_main_stays(goals: Block, propose_block: ProposeBlock) -> None:
    before = head_of_main()
    made = propose_block()

    assert head_of_main() == before
    assert reads.find_block("alice", "diary") is None
    proposal, revision = made.proposal, made.revision
    assert (proposal.kind, proposal.status, proposal.target_title) == (Kind.CREATE_BLOCK, Status.OPEN, "Diary")
    assert (revision.base_commit, revision.base_sha256, revision.base_text) == (before, "", "")
    there = reads.block_at("alice", "diary", dolt().head(revision.branch))
    assert (there.title, there.description, there.body) == (NEW["title"], NEW["description"], NEW["body"])
    assert (there.limit, there.read_only) == (20_000, False)
    assert (made.created, made.used, made.limit) == (True, len(NEW["body"]), 20_000)
    assert (proposal.words_added, proposal.words_removed) == (4, 0)
    assert list(problems()) == []


def test_the_first_block_of_all_can_be_proposed(alice: User, propose_block: ProposeBlock) -> None:
    assert propose_block().proposal.status == Status.OPEN


def test_a_block_may_be_empty_and_have_no_title(alice: User, propose_block: ProposeBlock) -> None:
    made = propose_block("study_log", title="", body="", description="")
    assert made.proposal.target_title == "Study Log"
    assert reads.block_at("alice", "study_log", made.revision.branch).body == ""


@pytest.mark.parametrize("label", ["", "Diary", "-diary", "my diary", "tagebüch", "a" * 65, "diary\n", "../diary"])
def test_a_label_is_one_that_a_person_could_choose(alice: User, propose_block: ProposeBlock, label: str) -> None:
    with refusing("label_invalid"):
        propose_block(label)
    assert not Proposal.objects.exists()


@pytest.mark.parametrize(
    ("field", "text"),
    [("title", "x" * 201), ("title", "Diary\n- secret: Yes"), ("title", "Diary\u2028x"), ("description", "x" * 1_001)],
)
def test_a_title_is_a_line_and_a_description_is_short(
    alice: User, propose_block: ProposeBlock, field: str, text: str
) -> None:
    with refusing("invalid_arguments") as refusal:
        propose_block(**{field: text})
    assert list(refusal.value.details["fields"]) == [field]


@pytest.mark.parametrize("field", ["title", "description", "body"])
def test_what_cannot_be_stored_is_refused(alice: User, propose_block: ProposeBlock, field: str) -> None:
    with pytest.raises(ForbiddenCharacter) as refusal:
        propose_block(**{field: "a\x00b"})
    assert refusal.value.field == field


def test_the_limit_is_that_of_new_blocks(alice: User, propose_block: ProposeBlock) -> None:
    with override_settings(BLOCK_LIMIT=10):
        assert propose_block(body="x" * 10).limit == 10
        with refusing("over_limit") as refusal:
            propose_block("other", body="x" * 11)
    assert (refusal.value.details["used"], refusal.value.details["limit"]) == (11, 10)


def test_a_label_that_is_there_is_refused_with_its_block(goals: Block, propose_block: ProposeBlock) -> None:
    with pytest.raises(LabelTaken) as refusal:
        propose_block("goals")
    assert refusal.value.details["block"] == goals


def test_an_equal_proposal_is_returned_and_another_text_for_the_label_is_refused(
    alice: User, propose_block: ProposeBlock
) -> None:
    first = propose_block()
    again = propose_block(reasoning="Another reason.")
    assert (again.created, again.proposal.pk) == (False, first.proposal.pk)
    with refusing("block_waits") as refusal:
        propose_block(body="Something else.")
    assert refusal.value.details["proposal"].pk == first.proposal.pk
    with refusing("block_waits"):
        propose_block(title="My days")
    assert Proposal.objects.count() == 1


def test_another_agent_may_propose_the_same_label(alice: User, propose_block: ProposeBlock) -> None:
    other = Agent.objects.create(name="mentor")
    assert propose_block().proposal.pk != propose_block(agent=other).proposal.pk


# -- amending -------------------------------------------------------------------------------------


def test_an_undecided_new_block_is_amended_by_another_text(alice: User, propose_block: ProposeBlock) -> None:
    first = propose_block().proposal
    done = propose_block(proposal_id=first.pk, title="Days", body="# Tuesday\n", reasoning="As you asked.")
    assert (done.amended, done.proposal.pk) == (True, first.pk)
    assert (done.revision.number, done.revision.branch) == (2, f"p/{first.pk}-2")
    first.refresh_from_db()
    assert (first.status, first.target_title, first.reasoning) == (Status.OPEN, "Days", "As you asked.")
    assert reads.block_at("alice", "diary", f"p/{first.pk}-2").body == "# Tuesday\n"
    assert [branch.name for branch in dolt().branches()].count(f"p/{first.pk}") == 0
    assert list(problems()) == []


def test_nothing_new_is_no_amendment(alice: User, propose_block: ProposeBlock) -> None:
    first = propose_block().proposal
    with pytest.raises(NoChange):
        propose_block(proposal_id=first.pk)
    done = propose_block(proposal_id=first.pk, evidence=[{"role": "user", "content": "My day was fine."}])
    assert done.amended


def test_an_edit_whose_block_was_deleted_can_become_a_new_block(
    alice: User, goals: Block, propose: Propose, propose_block: ProposeBlock
) -> None:
    proposal = propose(goals, "likes math", "loves math")
    services.delete_block(actor=alice, owner="alice", label="goals", loaded_sha256=goals.sha256)
    done = propose_block("goals", proposal_id=proposal.pk, title="Goals", body="She loves math.")
    assert (done.proposal, done.proposal.kind, done.proposal.status) == (proposal, Kind.CREATE_BLOCK, Status.OPEN)
    assert list(problems()) == []


def test_a_new_block_whose_label_was_taken_can_become_an_edit(
    alice: User, propose_block: ProposeBlock, make_block: MakeBlock
) -> None:
    proposal = propose_block().proposal
    make_block(alice, "diary", "Nothing yet.")
    done = amend(proposal, edits=[Replace("Nothing yet.", "She read Noether.")])
    assert (done.proposal.kind, done.proposal.mergeability) == (Kind.EDIT, "clean")


def test_an_own_deletion_can_become_an_edit_that_empties_the_block(
    goals: Block, propose_deletion: ProposeDeletion
) -> None:
    proposal = propose_deletion().proposal
    done = amend(proposal, edits=[Replace(goals.body, "")])
    assert (done.amended, done.proposal.kind) == (True, Kind.EDIT)


# -- rules ----------------------------------------------------------------------------------------


def test_a_rule_may_let_a_new_block_in_at_once(alice: User, scribe: Agent, propose_block: ProposeBlock) -> None:
    TrustRule.objects.create(owner="alice", agent=scribe, kind=Kind.CREATE_BLOCK, needs="apply", made_by=alice)
    made = propose_block(may_apply=True)
    assert made.proposal.status == Status.APPLIED
    assert reads.block("alice", "diary").body == NEW["body"]
    assert list(problems()) == []
    services.undo(actor=alice, proposal_id=made.proposal.pk)
    assert reads.find_block("alice", "diary") is None


def test_a_secret_waits_whatever_a_rule_says(alice: User, scribe: Agent, propose_block: ProposeBlock) -> None:
    TrustRule.objects.create(owner="alice", agent=scribe, needs="apply", made_by=alice)
    made = propose_block(may_apply=True, description="The password is 'swordfish-77'.")
    assert (made.proposal.status, made.proposal.review_reason) == (Status.OPEN, "secrets")
    assert made.proposal.risks == ["secrets"]
