"""Answers of tools have a longest length: whole items that fit, and how to get the rest."""

import json
from typing import Any

import pytest
from django.test import override_settings

from agent_tools.calls.registry import TOOLS
from approvals.models import Agent, User
from memory_app.models import NoteAccess
from memory_app.reads import Block
from tests.agent_tools.checks import answered, caught_up
from tests.agent_tools.conftest import Call, Machine
from tests.support.acts import proposed_import
from tests.support.fixtures import MakeBlock, Propose

pytestmark = pytest.mark.slow


@pytest.fixture
def log(alice: User, make_block: MakeBlock) -> Block:
    """A block of 2,000 lines, within its own limit and over the budget."""
    body = "\n".join(f"Line {number} of the study log." for number in range(1, 2_001))
    return make_block(alice, "log", body, limit=200_000)


def read(call: Call, label: str = "log", **more: Any) -> Any:
    return answered(call("read_memory_block", block_label=label, **more))


def length_of(data: dict[str, Any]) -> int:
    return len(json.dumps(data, ensure_ascii=False))


def test_a_block_of_the_usual_limit_comes_whole(call: Call, alice: User, make_block: MakeBlock) -> None:
    body = "One line more of it.\n" * 952
    made = make_block(alice, "full", body + "x" * (20_000 - len(body)))
    answer = read(call, "full")
    assert answer["text"] == f"# Full\n\n{made.body}"
    assert answer["data"]["body"] == made.body
    assert (answer["data"]["view_range"], answer["data"]["next_range"]) == (None, None)


def test_a_longer_block_is_cut_at_a_line_and_says_how_to_go_on(call: Call, log: Block) -> None:
    parts: list[str] = []
    more: dict[str, Any] = {}
    while more or not parts:
        answer = read(call, **more)
        data = answer["data"]
        first, last = data["view_range"]
        assert data["body"] == "\n".join(log.body.split("\n")[first - 1 : last])
        assert len(data["body"]) <= 20_000
        assert len(answer["text"]) <= 20_200
        assert (data["sha256"], data["lines"]) == (log.body_sha256, 2_000)
        parts.append(data["body"])
        more = {"view_range": data["next_range"]} if data["next_range"] else {}
        how = (
            f"\n\n(These are lines {first}-{last} of 2000. The rest was left out for its length: call "
            f"read_memory_block with view_range {data['next_range']} for it.)"
        )
        assert answer["text"].endswith(how if more else data["body"])
    assert "\n".join(parts) == log.body
    assert len(parts) > 2


def test_the_call_and_the_site_may_say_another_length(api: Machine, call: Call, log: Block) -> None:
    whole = read(call, max_characters=200_000)["data"]
    assert (whole["body"], whole["view_range"]) == (log.body, None)
    little = read(call, max_characters=100)["data"]
    assert (little["view_range"], little["next_range"]) == ([1, 4], [5, 2_000])
    with override_settings(ANSWER_BUDGET=200_000):
        assert read(call)["data"]["body"] == log.body
    # By address programs read.
    assert answered(api.get("/api/v1/users/alice/blocks/log/"))["data"]["body"] == log.body


def test_a_line_longer_than_the_answer_may_be_comes_whole(call: Call, alice: User, make_block: MakeBlock) -> None:
    make_block(alice, "one", f"{'x' * 30_000}\nend", limit=200_000)
    data = read(call, "one")["data"]
    assert (len(data["body"]), data["next_range"]) == (30_000, [2, 2])


def test_recall_leaves_whole_memories_out_and_says_so(call: Call) -> None:
    for number in range(15):
        answered(call("remember", content=f"Memory {number}: {'word ' * 350}"))
    answer = answered(call("recall", limit=50))
    data = answer["data"]
    assert (data["count"], data["left_out"]) == (len(data["memories"]), 15 - data["count"])
    assert 0 < data["left_out"] < 15
    assert length_of(data) <= 20_200
    assert len(answer["text"]) <= 20_200
    assert f"({data['count']} of 15 memories are shown, the others were left out for their length: " in answer["text"]
    assert NoteAccess.objects.count() == data["count"], "what was not shown was not recalled"
    needed = int(answer["text"].rpartition("max_characters=")[2].split()[0])
    whole = answered(call("recall", limit=50, max_characters=needed))
    assert (whole["data"]["count"], whole["data"]["left_out"]) == (15, 0)
    assert "left out" not in whole["text"]
    assert answered(call("recall", limit=50, max_characters=100))["data"]["count"] == 1


def test_a_search_leaves_whole_results_out_and_says_so(call: Call) -> None:
    for number in range(6):
        answered(call("memory_save", content=f"Exam {number}: {'word ' * 350}"))
    asked = {"query": "exam", "top_k": 20, "max_characters": 5_000}

    data = caught_up(lambda: call("memory_search", **asked))
    assert (len(data["data"]["results"]), data["data"]["left_out"]) == (2, 4)
    assert "(2 of 6 results are shown, the others were left out for their length: max_characters=" in data["text"]
    assert length_of(data["data"]["results"]) <= 5_000


def test_lists_go_on_with_a_cursor(call: Call, alice: User, make_block: MakeBlock, propose: Propose) -> None:
    labels = [f"block-{number:02}" for number in range(12)]
    blocks = [make_block(alice, label, "Likes math.") for label in labels]
    seen: list[str] = []
    more: dict[str, Any] = {}
    while more or not seen:
        answer = answered(call("list_memory_blocks", max_characters=1_500, **more))
        data = answer["data"]
        assert length_of(data["items"]) <= 1_500
        seen += [item["label"] for item in data["items"]]
        more = {"cursor": data["next"]} if data["next"] else {}
        assert (f"call again with cursor {data['next']}.)" in answer["text"]) == bool(more)
    assert seen == labels

    made = [propose(block, "Likes", "loves", reasoning="She said so. " * 100).pk for block in blocks[:5]]
    first = answered(call("list_proposals", max_characters=4_000))
    assert length_of(first["data"]["items"]) <= 4_000
    assert f"(There are more: call again with cursor {first['data']['next']}.)" in first["text"]
    rest = answered(call("list_proposals", cursor=first["data"]["next"], max_characters=100_000))
    assert [item["proposal_id"] for item in first["data"]["items"] + rest["data"]["items"]] == made[::-1]
    assert rest["data"]["next"] is None


def test_a_proposals_long_fields_are_cut_and_counted(api: Machine, call: Call, log: Block, propose: Propose) -> None:
    number = propose(log, "Line 7 of", "Line seven of").pk
    answer = answered(call("get_proposal", proposal_id=number))
    data = answer["data"]
    assert len(data["result"]) <= 20_000
    assert data["left_out"]["result"] == 2_000 - len(data["result"].split("\n"))
    assert "Left out" not in answer["text"], "which has no result"
    for whole in (
        answered(call("get_proposal", proposal_id=number, max_characters=200_000)),
        answered(api.get(f"/api/v1/proposals/{number}/")),
    ):
        assert (len(whole["data"]["result"].split("\n")), whole["data"]["left_out"]) == (2_000, {})
        assert "Left out" not in whole["text"]


def test_the_notes_of_a_proposal_are_cut_too(call: Call, scribe: Agent) -> None:
    number = proposed_import(scribe, 30, "{} " + "word " * 300).pk
    data = answered(call("get_proposal", proposal_id=number))["data"]
    assert data["note_count"] == 30
    assert data["left_out"]["notes"] == 30 - len(data["notes"])
    assert length_of(data) < 25_000


def test_the_tools_whose_answers_may_be_long_take_the_argument() -> None:
    bounded = {name for name, tool in TOOLS.items() if "max_characters" in tool.schema["properties"]}
    assert bounded == set(
        """
        list_files view_file read_memory_block list_memory_blocks recall memory_search list_proposals get_proposal
        memory_list_sessions memory_read_session
        """.split()
    )
    for name in bounded:
        assert list(TOOLS[name].schema["properties"])[-2:] == ["max_characters", "session_id"]
