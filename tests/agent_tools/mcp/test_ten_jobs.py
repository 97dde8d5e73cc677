"""What agents are asked to do most, by a model that sees the list of tools and `text`, each right at first try.

The model is scripted, and knows what one knows who read the list and the answers: it calls tools that are listed, with
arguments that are in their schema or in an answer, and takes numbers, ids, words to quote and calls from `text` alone.
"""

import json
import re
from typing import Any

import pytest

from approvals import services
from approvals.models import Proposal, User
from memory_app import reads
from memory_app.reads import Block
from tests.agent_tools.mcp.peer import Peer, text_of
from tests.support.acts import approve, reject, save
from tests.support.fixtures import MakeBlock

PLAN = """\
## This week

- Sheet 4 by **Friday**
- Read chapter 7

## Later

- Ask about the exam
"""
#: What a reading shows above the first item of the plan.
ABOVE = "# My plan\n\n## This week\n\n"


class Model:
    """One session of an agent: what it may call is what it was shown."""

    def __init__(self, token: str) -> None:
        self.peer = Peer(token)
        self.told = self.peer.result("server/discover")["instructions"]
        self.tools = {tool["name"]: tool for tool in self.peer.result("tools/list")["tools"]}

    def call(self, tool: str, *, fails: bool = False, **arguments: Any) -> str:
        """The text of the answer, which succeeds unless it `fails`."""
        known = self.tools[tool]["inputSchema"]["properties"]
        assert [name for name in arguments if name not in known and name not in self.told] == []
        result = self.peer.call(tool, **arguments)
        text = text_of(result)
        assert result["isError"] == fails, text
        self.told += text
        return text


def found(pattern: str, text: str) -> str:
    """The one place of a text where the pattern is, or the group in it."""
    matches = {match[match.lastindex or 0] for match in re.finditer(pattern, text, re.MULTILINE)}
    assert len(matches) == 1, (pattern, text)
    return str(matches.pop())


@pytest.fixture
def model(token: str) -> Model:
    return Model(token)


@pytest.fixture
def plan(alice: User, make_block: MakeBlock) -> Block:
    return make_block(alice, "plan", PLAN, title="My plan")


def body(label: str = "plan") -> str:
    return reads.block("alice", label).body


def newest() -> Proposal:
    return Proposal.objects.latest("pk")


def test_1_learn_a_preference(model: Model, alice: User) -> None:
    said = model.call("memory_save", content="Alice prefers examples before theory.")
    note_id = found(r"note-[0-9a-f-]{36}", said)
    assert reads.note("alice", note_id).content == "Alice prefers examples before theory."
    assert note_id in model.call("memory_search", query="does she want theory or examples first?")


def test_2_correct_a_fact(model: Model, alice: User) -> None:
    save(alice, "The exam of Analysis is on 12 February.")
    save(alice, "She plays the violin.")
    hits = model.call("memory_search", query="when is the Analysis exam")
    note_id = found(r"(note-[0-9a-f-]{36}).*12 February|12 February.*?(note-[0-9a-f-]{36})", hits)
    model.call("memory_update", note_id=note_id, content="The exam of Analysis is on 19 February.")
    again = model.call("memory_search", query="when is the Analysis exam")
    assert "19 February" in again
    assert "12 February" not in again


def test_3_a_line_in_the_diary(model: Model, alice: User, make_block: MakeBlock) -> None:
    make_block(alice, "diary", "Mon: read.", title="Diary")
    label = found(r"^- (\w+): Diary", model.call("list_memory_blocks"))
    model.call("propose_memory_append", block_label=label, content="Tue: slept.", reasoning="She told me.")
    approve(alice, newest())
    assert body("diary") == "Mon: read.\nTue: slept."


def test_4_restructure_a_section(model: Model, alice: User, plan: Block) -> None:
    text = model.call("read_memory_block", block_label="plan")
    section = found(r"## This week\n[^#]*", text)
    swapped = "## This week\n\n- Read chapter 7\n- Sheet 4 by **Friday**\n\n"
    why = "Reading comes first."
    model.call("propose_memory_edit", block_label="plan", old_string=section, new_string=swapped, reasoning=why)
    approve(alice, newest())
    assert body() == PLAN.replace(section, swapped)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("- sheet 4 by Friday", "- sheet 4 by Monday"),
        (
            "# My plan\n\n## This week\n\n- Sheet 4 by **Friday**",
            "# My plan\n\n## This week\n\n- Sheet 4 by **Monday**",
        ),
        ("* Sheet 4 by **Friday**", "* Sheet 4 by **Monday**"),
    ],
)
def test_5_a_wrong_old_string_is_mended_in_one_more_call(
    model: Model, alice: User, plan: Block, old: str, new: str
) -> None:
    given = {"block_label": "plan", "old_string": old, "new_string": new, "reasoning": "It was moved."}
    said = model.call("propose_memory_edit", fails=True, **given)
    call = json.loads(found(r"^\{.*\}$", said))
    model.call("propose_memory_edit", **call)
    approve(alice, newest())
    assert body() == PLAN.replace("Friday", "Monday")


def decided(alice: User, model: Model) -> None:
    """Of two proposals about the plan one was rejected in an earlier session, and one waits."""
    for old, new, why in (
        ("Read chapter 7", "Read chapter 8", "She said that she is done with 7."),
        ("Ask about the exam", "Ask about the oral exam", "It is an oral one."),
    ):
        model.call("propose_memory_edit", block_label="plan", old_string=old, new_string=new, reasoning=why)
    first = Proposal.objects.earliest("pk")
    reject(alice, first, "wrong", comment=f"I still read 7.{' It is long.' * 60} Ask again in May.")


def test_6_what_was_decided_and_why(token: str, alice: User, plan: Block) -> None:
    decided(alice, Model(token))
    model = Model(token)
    said = model.call("list_proposals")
    number = int(found(r"^- (?:Proposal )?(\d+).*rejected", said))
    assert "Ask again in May." in model.call("list_proposals", proposal_id=number)
    for part in ("rejected", "chapter 7", "chapter 8", "She said that she is done with 7.", "wrong", "I still read 7."):
        assert part in said, said


def test_7_amend_what_changes_are_requested_of(token: str, alice: User, tim: User, plan: Block) -> None:
    first = Model(token)
    given = {"block_label": "plan", "old_string": "Read chapter 7", "new_string": "Read chapter 8"}
    first.call("propose_memory_edit", **given, reasoning="She is done with 7.")
    asked = {"reason": "badly_worded", "comment": "Say that it is chapter 8 of Rudin."}
    services.request_changes(actor=alice, proposal_id=newest().pk, revision=1, **asked)
    second = Model(token)
    said = second.call("list_proposals", status="changes_requested")
    assert "Say that it is chapter 8 of Rudin." in said
    number = int(found(r"proposal_id=(\d+)", said))
    tool = found(r"(propose_memory_\w+)[^\n]*proposal_id=", said)
    assert "Read chapter 7" in second.call("read_memory_block", block_label="plan")
    given["new_string"] = "Read chapter 8 of Rudin"
    second.call(tool, **given, reasoning="She is done with 7.", proposal_id=number)
    approve(alice, newest())
    assert body() == PLAN.replace("Read chapter 7", "Read chapter 8 of Rudin")
    assert Proposal.objects.count() == 1


def test_8_insist_after_a_rejection(token: str, alice: User, plan: Block) -> None:
    decided(alice, Model(token))
    model = Model(token)
    given = {"block_label": "plan", "old_string": "Read chapter 7", "new_string": "Read chapter 8"}
    said = model.call("propose_memory_edit", fails=True, **given, reasoning="She is done with 7.")
    assert "I still read 7." in said
    assert "force" in said
    model.call("propose_memory_edit", **given, reasoning="Today she said that she has finished 7.", force=True)
    approve(alice, newest())
    assert "chapter 8" in body()


def test_9_take_back_the_right_one_of_several(token: str, alice: User, plan: Block) -> None:
    first = Model(token)
    for day in ("Monday", "Tuesday", "Thursday"):
        first.call(
            "propose_memory_append", block_label="plan", content=f"- Gym on {day}", reasoning=f"She goes on {day}."
        )
    model = Model(token)
    said = model.call("list_proposals")
    (line,) = (item for item in re.split(r"(?m)^(?=- )", said) if "Gym on Tuesday" in item)
    number = int(found(r"\A- (?:Proposal )?(\d+)", line))
    model.call("withdraw_proposal", proposal_id=number)
    gone = Proposal.objects.get(status="withdrawn")
    assert "Tuesday" in gone.current_revision.result_text.replace(PLAN, "")
    assert "Monday" not in gone.current_revision.result_text


def test_10_hand_over_to_the_next_session(token: str, alice: User, plan: Block) -> None:
    first = Model(token)
    given = {"block_label": "hand_over", "content": "Next: chapter 7, exercise 3.", "reasoning": "For the next time."}
    refusal = first.call("propose_memory_append", fails=True, **given)
    assert "title" in refusal
    first.call("propose_memory_append", **given, title="Where we are")
    second = Model(token)
    assert "hand_over" in second.call("list_memory_blocks"), "it waits, and is not begun again"
    assert "Next: chapter 7, exercise 3." in second.call("list_proposals")
    approve(alice, newest())
    assert "Next: chapter 7, exercise 3." in second.call("read_memory_block", block_label="hand_over")


def test_what_is_forgotten_does_not_come_back(model: Model, alice: User) -> None:
    given = {"content": "Alice has a cat."}
    model.call("memory_save", **given)
    assert "Known already" in model.call("memory_save", **given)
    note_id = found(r"note-[0-9a-f-]{36}", model.call("memory_search", query="cat"))
    model.call("memory_delete", note_id=note_id)
    assert "cat" not in model.call("memory_search", query="pets").replace("pets", "")
