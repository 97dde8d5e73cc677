"""New blocks and deletions over HTTP: the words, what is refused, and what an agent learns of its own."""

from typing import Any

import pytest

from approvals import services
from approvals.models import Agent, Proposal, User
from memory_app import reads
from memory_app.reads import Block
from tests.agent_tools.checks import answered, refused
from tests.agent_tools.conftest import Call, Machine
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
OF_DIARY = {"block_label": "diary", "old_string": "x", "new_string": "She read.", "reasoning": "r"}


def new(call: Call, **changes: Any) -> Any:
    """The answer to a new block that is proposed with these changes of NEW."""
    asked = {name: value for name, value in (NEW | changes).items() if value is not ...}
    return call("propose_memory_block", **asked)


@pytest.fixture
def diary(call: Call) -> int:
    """The number of a proposal for a new block of alice's."""
    return int(answered(new(call))["data"]["proposal_id"])


# -- new blocks -----------------------------------------------------------------------------------


def test_a_new_block_becomes_a_proposal(call: Call) -> None:
    answer = answered(new(call))
    data, proposal = answer["data"], Proposal.objects.get()
    assert answer["text"].splitlines() == [
        "Block proposal created for block 'diary'. The user will be asked to approve this change. "
        "Reasoning provided: She tells me about her days.",
        f"It is proposal {proposal.pk}; list_proposals tells what became of it.",
    ]
    assert (data["proposal_id"], data["status"], data["branch"]) == (proposal.pk, "open", f"p/{proposal.pk}")
    assert (data["length"], data["limit"], data["occurrences_replaced"]) == (len(NEW["body"]), 20_000, 0)
    assert reads.find_block("alice", "diary") is None

    told = answered(call("get_proposal", proposal_id=proposal.pk))
    asked = '"title": "Diary", "description": "What she did.", "body": "# Monday\\nShe read Noether.\\n"'
    assert told["text"].startswith(f"Proposal {proposal.pk} for new block 'diary' is open: it still applies.\n")
    assert f"\nYou asked: propose_memory_block {{{asked}}}\n" in told["text"]
    data = told["data"]
    assert (data["kind"], data["title"], data["result"]) == ("create_block", "Diary", NEW["body"])
    assert data["edits"] == [{"op": "create_block", "title": "Diary", "description": "What she did.", "limit": 20_000}]
    listed = answered(call("list_proposals", block_label="diary"))
    assert f"- {proposal.pk}: new block 'diary', open" in listed["text"]
    assert listed["data"]["items"][0]["title"] == "Diary"


def test_title_and_body_may_be_empty_but_not_left_out_and_a_title_is_a_line(call: Call) -> None:
    for wrong, named in (({"title": ..., "body": ...}, ["title", "body"]), ({"title": "Two\nlines"}, ["title"])):
        assert list(refused(new(call, **wrong), 400, "invalid_arguments")["details"]["fields"]) == named
    answered(new(call, title="", body="", description=...))
    error = refused(new(call, label="long", body="x" * 20_001), 422, "over_limit")
    assert error["text"].splitlines()[1] == (
        "Shorten it, or propose two blocks, each with a part of it. Otherwise tell the user: a person can raise a "
        "block's limit."
    )


@pytest.mark.parametrize("reasoning", [..., "", "  "])
def test_a_reason_comes_before_everything_else(call: Call, goals: Block, reasoning: Any) -> None:
    refused(new(call, label="goals", reasoning=reasoning), 400, "missing_reasoning")


@pytest.mark.parametrize(("label", "nearest"), [("My Diary", "my_diary"), ("Tagebücher!", "tageb_cher"), ("§", None)])
def test_a_bad_label_is_answered_with_a_good_one(call: Call, label: str, nearest: str | None) -> None:
    error = refused(new(call, label=label), 400, "label_invalid")
    assert error["details"]["nearest"] == nearest
    assert error["text"].startswith(f"Error: label '{label}' is not a label: it has to be lower-case letters")


def test_a_taken_label_names_the_tools_to_edit_it(call: Call, alice: User, goals: Block, make_block: MakeBlock) -> None:
    error = refused(new(call, label="goals"), 409, "label_taken")
    assert error["text"].splitlines() == [
        "Error: There is a memory block 'goals' already: \"Learning goals\".",
        "Read it with read_memory_block, then change it with propose_memory_edit; or choose another label.",
    ]
    assert error["details"]["block"]["sha256"] == goals.body_sha256
    make_block(alice, "rules", "Be kind.", read_only=True)
    error = refused(new(call, label="rules"), 409, "label_taken")
    assert error["text"].splitlines()[1] == "It is read-only for agents: choose another label."


def test_the_same_block_waits_once_and_other_words_for_it_are_an_amendment(call: Call, diary: int) -> None:
    again = answered(new(call))
    assert (again["data"]["created"], again["data"]["proposal_id"]) == (False, diary)
    assert "asks for exactly this already" in again["text"]

    error = refused(new(call, body="Other."), 409, "block_waits")
    assert error["details"]["proposal"]["proposal_id"] == diary
    assert f"proposal_id={diary}" in error["text"]

    amended = answered(new(call, body="Other.", proposal_id=diary))
    assert (amended["data"]["amended"], amended["data"]["revision"]) == (True, 2)
    assert amended["text"].startswith(f"Your proposal {diary} is amended: its revision 2 is new block 'diary'.")
    refused(new(call, body="Other.", proposal_id=diary), 422, "no_change")


def test_a_rule_lets_a_new_block_in_and_says_so(call: Call, alice: User, scribe: Agent) -> None:
    services.create_rule(actor=alice, owner="alice", agent="scribe", kind="create_block", needs="apply")
    answer = answered(new(call))
    assert (answer["data"]["status"], answer["data"]["commit"]) == ("applied", reads.head("alice"))
    assert answer["text"].startswith("Block 'diary' created at once: a rule of the user lets it through.")
    assert reads.block("alice", "diary").description == "What she did."


# -- what is not there yet ------------------------------------------------------------------------


def test_a_block_that_waits_is_not_found_and_its_agent_alone_is_told_that_it_waits(
    call: Call, rival: Machine, goals: Block, diary: int
) -> None:
    error = refused(call("read_memory_block", block_label="diary"), 404, "block_not_found")
    first, there, more = error["text"].splitlines()
    assert (first, there) == ("Memory block 'diary' not found.", "There are: goals.")
    assert more.startswith(f"Your proposal {diary} for this new block waits for the user (open)")
    assert error["details"]["waiting"]["proposal_id"] == diary

    error = refused(call("propose_memory_edit", **OF_DIARY), 404, "block_not_found")
    assert error["text"].splitlines()[:2] == ["Error: Memory block 'diary' not found.", "There are: goals."]
    assert f"proposal_id={diary}" in error["text"]

    listed = answered(call("list_memory_blocks"))
    waiting = f"Proposed by you, and not in the memory yet:\n\n- diary: Diary (proposal {diary}, open)"
    assert listed["text"] == f"Available memory blocks:\n\n- goals: Learning goals\n\n{waiting}"
    assert [(each["proposal_id"], each["block_label"]) for each in listed["data"]["waiting"]] == [(diary, "diary")]

    def assert_nothing_waits(ask: Call) -> None:
        error = refused(ask("read_memory_block", block_label="diary"), 404, "block_not_found")
        assert error["text"] == "Memory block 'diary' not found.\nThere are: goals."
        assert "waiting" not in error["details"]
        assert answered(ask("list_memory_blocks"))["data"]["waiting"] == []

    assert_nothing_waits(rival.call)
    answered(call("withdraw_proposal", proposal_id=diary))
    assert_nothing_waits(call)


@pytest.mark.parametrize(
    ("tool", "asked", "text"),
    [
        ("propose_memory_append", {"content": "She rows."}, "# Monday\nShe read Noether.\nShe rows."),
        ("propose_memory_prepend", {"content": "Hers."}, "Hers.\n# Monday\nShe read Noether.\n"),
        ("propose_memory_insert", {"insert_line": 1, "content": "Early."}, "# Monday\nEarly.\nShe read Noether.\n"),
        ("propose_memory_edit", {"old_string": "read", "new_string": "met"}, "# Monday\nShe met Noether.\n"),
        (
            "propose_memory_edits",
            {"edits": [{"old_string": "read", "new_string": "met"}]},
            "# Monday\nShe met Noether.\n",
        ),
        ("propose_section_update", {"section_header": "# Monday", "new_content": "Rest."}, "# Monday\nRest.\n"),
        ("propose_memory_rewrite", {"content": "All new."}, "All new."),
    ],
)
def test_the_text_of_a_new_block_that_waits_is_changed_by_every_tool(
    call: Call, diary: int, tool: str, asked: dict[str, Any], text: str
) -> None:
    which = {"block_label": "diary", "reasoning": "r", "proposal_id": diary}
    answer = answered(call(tool, **which, **asked))
    assert answer["text"].startswith(f"Your proposal {diary} is amended: its revision 2 is new block 'diary'.")
    revision = Proposal.objects.get().current_revision
    assert (revision.result_text, revision.edits[0]["title"]) == (text, "Diary")
    error = refused(
        call("propose_memory_edit", **which, old_string="Noethre", new_string="x"), 422, "old_string_not_found"
    )
    assert error["text"].startswith("Error: old_string not found in block 'diary'.")


def test_its_agent_is_told_when_somebody_else_made_the_block(call: Call, tim: User, diary: int) -> None:
    other = services.propose_block(
        agent=Agent.objects.create(name="mentor"), owner="alice", label="diary", title="", body="x", reasoning="r"
    )
    approve(tim, other.proposal)
    answer = answered(call("get_proposal", proposal_id=diary))
    assert "changes are requested by Assent, not by a person: There is a block with this label now." in answer["text"]
    assert answer["data"]["changes_requested"]["reason"] == "block_exists"
    assert answered(call("propose_memory_edit", **OF_DIARY, proposal_id=diary))["data"]["amended"]


def test_an_approval_in_other_words_is_told(call: Call, alice: User, diary: int) -> None:
    words = {"title": "My days", "text": "# Monday\nEmmy Noether.\n"}
    services.approve_edited(actor=alice, proposal_id=diary, revision=1, seen_sha256="", **words)
    data = answered(call("get_proposal", proposal_id=diary))["data"]
    assert (data["approval"], data["final_text"], data["final_title"]) == ("edited", words["text"], "My days")
    assert data["difference"]


# -- deletions ------------------------------------------------------------------------------------


def test_a_deletion_becomes_a_proposal(call: Call, goals: Block) -> None:
    answer = answered(call("propose_block_deletion", **GONE, expected_sha256=goals.body_sha256))
    number = Proposal.objects.get().pk
    assert answer["text"].splitlines() == [
        "Deletion proposal created for block 'goals'. The user will be asked to approve this change. "
        "Reasoning provided: All of it is outdated.",
        f"It is proposal {number}; list_proposals tells what became of it.",
    ]
    assert (answer["data"]["length"], answer["data"]["content_sha256"]) == (0, goals.body_sha256)
    assert reads.block("alice", "goals") == goals
    told = answered(call("get_proposal", proposal_id=number))
    assert told["text"].startswith(f"Proposal {number} for the deletion of block 'goals' is open: it still applies.")
    assert (told["data"]["edits"], told["data"]["result"]) == ([{"op": "delete_block"}], "")


def test_its_agent_learns_that_a_deletion_took_its_edit_along(call: Call, alice: User, proposal: Proposal) -> None:
    deletion = answered(call("propose_block_deletion", **GONE))["data"]["proposal_id"]
    told = answered(call("get_proposal", proposal_id=deletion))
    assert told["data"]["collides_with"] == [
        {"proposal_id": proposal.pk, "effect": "no_longer_fits", "other_first": "still_fits"}
    ]
    approve(alice, Proposal.objects.get(pk=deletion))
    answer = answered(call("get_proposal", proposal_id=proposal.pk))
    assert answer["data"]["changes_requested"]["reason"] == "block_deleted"
    assert "The block was deleted since" in answer["text"]
