"""New blocks and deletions over HTTP: the words, what is refused, and what an agent learns of its own."""

from typing import Any

import pytest
from django.test import override_settings

from approvals import services
from approvals.models import Agent, Proposal, User
from memory_app import reads
from memory_app.reads import Block
from tests.agent_tools.checks import answered, refused
from tests.agent_tools.conftest import Call, Issue, MachineOf
from tests.support.acts import approve
from tests.support.fixtures import MakeBlock

NEW: dict[str, Any] = {
    "label": "diary",
    "title": "Diary",
    "body": "# Monday\nShe read Noether.\n",
    "description": "What she did.",
    "reasoning": "She tells me about her days.",
}
GONE = {"block_label": "goals", "reasoning": "All of it is outdated."}


def new(**changes: Any) -> dict[str, Any]:
    return {name: value for name, value in (NEW | changes).items() if value is not ...}


# -- new blocks -----------------------------------------------------------------------------------


def test_a_new_block_becomes_a_proposal(call: Call, alice: User) -> None:
    answer = answered(call("propose_memory_block", **NEW))
    data, proposal = answer["data"], Proposal.objects.get()
    assert answer["text"].splitlines() == [
        "Block proposal created for block 'diary'. The user will be asked to approve this change. "
        "Reasoning provided: She tells me about her days.",
        f"It is proposal {proposal.pk}; get_proposal tells what became of it.",
    ]
    assert (data["proposal_id"], data["status"], data["branch"]) == (proposal.pk, "open", f"p/{proposal.pk}")
    assert (data["length"], data["limit"], data["occurrences_replaced"]) == (len(NEW["body"]), 20_000, 0)
    assert reads.find_block("alice", "diary") is None


def test_title_and_body_may_be_empty_but_not_left_out(call: Call, alice: User) -> None:
    error = refused(call("propose_memory_block", **new(title=..., body=...)), 400, "invalid_arguments")
    assert set(error["details"]["fields"]) == {"title", "body"}
    answered(call("propose_memory_block", **new(title="", body="", description=...)))


@pytest.mark.parametrize("reasoning", [..., "", "  "])
def test_a_reason_comes_before_everything_else(call: Call, goals: Block, reasoning: Any) -> None:
    refused(call("propose_memory_block", **new(label="goals", reasoning=reasoning)), 400, "missing_reasoning")
    gone = {name: value for name, value in (GONE | {"reasoning": reasoning}).items() if value is not ...}
    refused(call("propose_block_deletion", **gone | {"block_label": "nothing"}), 400, "missing_reasoning")


@pytest.mark.parametrize(("label", "nearest"), [("My Diary", "my_diary"), ("Tagebücher!", "tageb_cher"), ("§", None)])
def test_a_bad_label_is_answered_with_a_good_one(call: Call, alice: User, label: str, nearest: str | None) -> None:
    error = refused(call("propose_memory_block", **new(label=label)), 400, "label_invalid")
    assert error["details"]["nearest"] == nearest
    assert error["text"].startswith(f"Error: label '{label}' is not a label: it has to be lower-case letters")


def test_a_bad_field_is_named(call: Call, alice: User) -> None:
    for fields in ({"title": "Two\nlines"}, {"description": "x" * 1_001}, {"expected_sha256": "0" * 64}):
        error = refused(call("propose_memory_block", **new(**fields)), 400, "invalid_arguments")
        assert list(error["details"]["fields"]) == list(fields)
    assert not Proposal.objects.exists()


def test_a_label_that_is_there_names_the_tools_that_edit_it(
    call: Call, alice: User, goals: Block, make_block: MakeBlock
) -> None:
    error = refused(call("propose_memory_block", **new(label="goals")), 409, "label_taken")
    assert error["text"].splitlines() == [
        "Error: There is a memory block 'goals' already: \"Learning goals\".",
        "Read it with read_memory_block, then change it with propose_memory_edit; or choose another label.",
    ]
    assert error["details"]["block"]["sha256"] == goals.body_sha256
    make_block(alice, "rules", "Be kind.", read_only=True)
    error = refused(call("propose_memory_block", **new(label="rules")), 409, "label_taken")
    assert error["text"].splitlines()[1] == "It is read-only for agents: choose another label."


def test_the_same_block_waits_once_and_other_words_for_it_are_an_amendment(call: Call, alice: User) -> None:
    number = answered(call("propose_memory_block", **NEW))["data"]["proposal_id"]
    again = answered(call("propose_memory_block", **NEW))
    assert (again["data"]["created"], again["data"]["proposal_id"]) == (False, number)
    assert "asks for exactly this already" in again["text"]

    error = refused(call("propose_memory_block", **new(body="Other.")), 409, "block_waits")
    assert error["details"]["proposal"]["proposal_id"] == number
    assert f"proposal_id={number}" in error["text"]

    amended = answered(call("propose_memory_block", **new(body="Other.", proposal_id=number)))
    assert (amended["data"]["amended"], amended["data"]["revision"]) == (True, 2)
    assert amended["text"].startswith(f"Your proposal {number} is amended: its revision 2 is new block 'diary'.")
    refused(call("propose_memory_block", **new(body="Other.", proposal_id=number)), 422, "no_change")


def test_a_rule_lets_a_new_block_in_and_says_so(call: Call, alice: User, scribe: Agent) -> None:
    services.create_rule(actor=alice, owner="alice", agent="scribe", kind="create_block", needs="apply")
    answer = answered(call("propose_memory_block", **NEW))
    assert (answer["data"]["status"], answer["data"]["commit"]) == ("applied", reads.head())
    assert answer["text"].startswith("Block 'diary' created at once: a rule of the user lets it through.")
    assert reads.block("alice", "diary").description == "What she did."


# -- what is not there yet ------------------------------------------------------------------------


def test_a_block_that_waits_is_not_found_and_the_answer_says_that_it_waits(call: Call, goals: Block) -> None:
    number = answered(call("propose_memory_block", **NEW))["data"]["proposal_id"]
    error = refused(call("read_memory_block", block_label="diary"), 404, "block_not_found")
    first, more = error["text"].splitlines()
    assert first == "Memory block 'diary' not found."
    assert more.startswith(f"Your proposal {number} for this new block waits for the user (open)")
    assert error["details"]["waiting"]["proposal_id"] == number

    edit = {"block_label": "diary", "old_string": "Monday", "new_string": "Tuesday", "reasoning": "r"}
    error = refused(call("propose_memory_edit", **edit), 404, "block_not_found")
    assert error["text"].splitlines()[:2] == ["Error: Memory block 'diary' not found.", "There are: goals."]
    assert f"proposal_id={number}" in error["text"]

    listed = answered(call("list_memory_blocks"))
    assert listed["text"] == "Available memory blocks:\n\n- goals: Learning goals"
    assert [(each["proposal_id"], each["block_label"]) for each in listed["data"]["waiting"]] == [(number, "diary")]

    answered(call("withdraw_proposal", proposal_id=number))
    assert refused(call("read_memory_block", block_label="diary"), 404, "block_not_found")["text"] == (
        "Memory block 'diary' not found."
    )
    assert answered(call("list_memory_blocks"))["data"]["waiting"] == []


def test_another_agents_new_block_is_told_to_nobody_else(
    call: Call, alice: User, issue: Issue, machine: MachineOf
) -> None:
    other = Agent.objects.create(name="mentor")
    services.propose_block(agent=other, owner="alice", label="diary", title="Secret", body="Zebrafinch.", reasoning="r")
    error = refused(call("read_memory_block", block_label="diary"), 404, "block_not_found")
    assert error["text"] == "Memory block 'diary' not found."
    assert "waiting" not in error["details"]
    assert answered(call("list_memory_blocks"))["data"]["waiting"] == []


def test_what_waits_can_be_looked_at_as_a_proposal(call: Call, alice: User) -> None:
    number = answered(call("propose_memory_block", **NEW))["data"]["proposal_id"]
    answer = answered(call("get_proposal", proposal_id=number))
    assert answer["text"] == f"Proposal {number} for new block 'diary' is open (clean)."
    data = answer["data"]
    assert (data["kind"], data["title"], data["result"]) == ("create_block", "Diary", NEW["body"])
    assert data["edits"] == [{"op": "create_block", "title": "Diary", "description": "What she did.", "limit": 20_000}]
    listed = answered(call("list_proposals", block_label="diary"))
    assert f"- {number}: new block 'diary', open" in listed["text"]
    assert listed["data"]["items"][0]["title"] == "Diary"


def test_its_agent_is_told_when_somebody_else_made_the_block(
    call: Call, alice: User, tim: User, make_block: MakeBlock
) -> None:
    number = answered(call("propose_memory_block", **NEW))["data"]["proposal_id"]
    other = services.propose_block(
        agent=Agent.objects.create(name="mentor"), owner="alice", label="diary", title="", body="x", reasoning="r"
    )
    approve(tim, other.proposal)
    answer = answered(call("get_proposal", proposal_id=number))
    assert "changes are requested by Assent, not by a person: There is a block with this label now." in answer["text"]
    assert answer["data"]["changes_requested"]["reason"] == "block_exists"
    edit = {"block_label": "diary", "old_string": "x", "new_string": "She read.", "reasoning": "r"}
    assert answered(call("propose_memory_edit", **edit, proposal_id=number))["data"]["amended"]


def test_an_approval_in_other_words_is_told(call: Call, alice: User) -> None:
    number = answered(call("propose_memory_block", **NEW))["data"]["proposal_id"]
    services.approve_edited(
        actor=alice, proposal_id=number, revision=1, seen_sha256="", title="My days", text="# Monday\nEmmy Noether.\n"
    )
    data = answered(call("get_proposal", proposal_id=number))["data"]
    assert (data["approval"], data["final_text"]) == ("edited", "# Monday\nEmmy Noether.\n")
    assert data["difference"]
    assert data["final_title"] == "My days"


# -- deletions ------------------------------------------------------------------------------------


def test_a_deletion_becomes_a_proposal(call: Call, goals: Block) -> None:
    answer = answered(call("propose_block_deletion", **GONE, expected_sha256=goals.body_sha256))
    number = Proposal.objects.get().pk
    assert answer["text"].splitlines() == [
        "Deletion proposal created for block 'goals'. The user will be asked to approve this change. "
        "Reasoning provided: All of it is outdated.",
        f"It is proposal {number}; get_proposal tells what became of it.",
    ]
    assert (answer["data"]["length"], answer["data"]["content_sha256"]) == (0, goals.body_sha256)
    assert reads.block("alice", "goals") == goals
    told = answered(call("get_proposal", proposal_id=number))
    assert told["text"] == f"Proposal {number} for the deletion of block 'goals' is open (clean)."
    assert (told["data"]["edits"], told["data"]["result"]) == ([{"op": "delete_block"}], "")


def test_what_cannot_be_deleted_says_why(call: Call, alice: User, goals: Block, make_block: MakeBlock) -> None:
    error = refused(call("propose_block_deletion", **GONE | {"block_label": "goal"}), 404, "block_not_found")
    assert error["text"] == "Error: Memory block 'goal' not found.\nThere are: goals.\nThe nearest is goals."
    assert error["details"]["nearest"] == "goals"
    make_block(alice, "rules", "Be kind.", read_only=True)
    refused(call("propose_block_deletion", **GONE | {"block_label": "rules"}), 422, "block_read_only")
    error = refused(call("propose_block_deletion", **GONE, expected_sha256="0" * 64), 409, "precondition_failed")
    assert error["details"]["content_sha256"] == goals.body_sha256


def test_its_agent_learns_that_an_approved_deletion_took_its_edit_along(call: Call, alice: User, goals: Block) -> None:
    edit = {"block_label": "goals", "old_string": "likes", "new_string": "loves", "reasoning": "r"}
    number = answered(call("propose_memory_edit", **edit))["data"]["proposal_id"]
    deletion = answered(call("propose_block_deletion", **GONE))["data"]["proposal_id"]
    told = answered(call("get_proposal", proposal_id=deletion))
    assert told["data"]["collides_with"] == [
        {"proposal_id": number, "effect": "no_longer_fits", "other_first": "still_fits"}
    ]
    approve(alice, Proposal.objects.get(pk=deletion))
    answer = answered(call("get_proposal", proposal_id=number))
    assert answer["data"]["changes_requested"]["reason"] == "block_deleted"
    assert "The block was deleted since" in answer["text"]


@override_settings(MEMORIES_ENABLED=False)
def test_blocks_are_proposed_where_no_notes_are_kept(call: Call, goals: Block) -> None:
    answered(call("propose_memory_block", **NEW))
    answered(call("propose_block_deletion", **GONE))
