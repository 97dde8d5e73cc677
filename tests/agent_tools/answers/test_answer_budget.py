"""Answers of tools have a longest length: whole items that fit, and how to get the rest."""

import json
from typing import Any

import pytest
from django.test import override_settings

from agent_tools.calls.registry import TOOLS
from approvals.models import Policy, User
from memory_app.models import NoteAccess
from tests.agent_tools.checks import answered, caught_up, refused
from tests.agent_tools.conftest import Call, Machine
from tests.support.fixtures import MakeBlock

pytestmark = pytest.mark.slow


@pytest.fixture
def log(alice: User, make_block: MakeBlock) -> Any:
    """A block of 2,000 lines, within its own limit and over the budget."""
    return make_block(
        alice, "log", "\n".join(f"Line {number} of the study log." for number in range(1, 2_001)), limit=200_000
    )


def length_of(data: dict[str, Any]) -> int:
    return len(json.dumps(data, ensure_ascii=False))


def test_a_block_of_the_usual_limit_comes_whole(call: Call, alice: User, make_block: MakeBlock) -> None:
    body = "One line more of it.\n" * 952
    made = make_block(alice, "full", body + "x" * (20_000 - len(body)))
    answer = answered(call("read_memory_block", block_label="full"))
    assert answer["text"] == f"# Full\n\n{made.body}"
    assert (answer["data"]["body"], answer["data"]["view_range"], answer["data"]["next_range"]) == (
        made.body,
        None,
        None,
    )


def test_a_longer_block_is_cut_at_a_line_and_says_how_to_go_on(call: Call, log: Any) -> None:
    read, view_range = [], None
    while True:
        more: dict[str, Any] = {"view_range": view_range} if view_range else {}
        answer = answered(call("read_memory_block", block_label="log", **more))
        data = answer["data"]
        first, last = data["view_range"]
        assert data["body"] == "\n".join(log.body.split("\n")[first - 1 : last])
        assert len(data["body"]) <= 20_000
        assert len(answer["text"]) <= 20_200
        assert (data["sha256"], data["lines"]) == (log.body_sha256, 2_000)
        read.append(data["body"])
        view_range = data["next_range"]
        if view_range is None:
            break
        assert answer["text"].endswith(
            f"\n\n(These are lines {first}-{last} of 2000. The rest was left out for its length: call "
            f"read_memory_block with view_range {view_range} for it.)"
        )
        assert view_range[0] == last + 1
    assert "\n".join(read) == log.body
    assert len(read) > 2
    assert answer["text"].endswith(read[-1])


def test_the_call_and_the_site_may_say_another_length(api: Machine, call: Call, log: Any) -> None:
    whole = answered(call("read_memory_block", block_label="log", max_characters=200_000))["data"]
    assert (whole["body"], whole["view_range"]) == (log.body, None)
    little = answered(call("read_memory_block", block_label="log", max_characters=100))["data"]
    assert (little["view_range"], little["next_range"]) == ([1, 4], [5, 2_000])
    with override_settings(ANSWER_BUDGET=200_000):
        assert answered(call("read_memory_block", block_label="log"))["data"]["body"] == log.body
    # By address programs read.
    assert answered(api.get("/api/v1/users/alice/blocks/log/"))["data"]["body"] == log.body
    for wrong in (99, 1_000_001, "x"):
        error = refused(call("read_memory_block", block_label="log", max_characters=wrong), 400, "invalid_arguments")
        assert set(error["details"]["fields"]) == {"max_characters"}


def test_a_line_longer_than_the_answer_may_be_comes_whole(call: Call, alice: User, make_block: MakeBlock) -> None:
    make_block(alice, "one", f"{'x' * 30_000}\nend", limit=200_000)
    data = answered(call("read_memory_block", block_label="one"))["data"]
    assert (len(data["body"]), data["next_range"]) == (30_000, [2, 2])


def test_recall_leaves_whole_memories_out_and_says_so(call: Call, alice: User) -> None:
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


def test_a_search_leaves_whole_results_out_and_says_so(call: Call, alice: User) -> None:
    for number in range(6):
        answered(call("memory_save", content=f"Exam {number}: {'word ' * 350}"))
    asked = {"query": "exam", "top_k": 20, "max_characters": 5_000}

    data = caught_up(lambda: call("memory_search", **asked))
    assert (len(data["data"]["results"]), data["data"]["left_out"]) == (2, 4)
    assert "(2 of 6 results are shown, the others were left out for their length: max_characters=" in data["text"]
    assert length_of(data["data"]["results"]) <= 5_000


def test_blocks_and_proposals_go_on_with_a_cursor(call: Call, alice: User, make_block: MakeBlock) -> None:
    labels = [f"block-{number:02}" for number in range(12)]
    for label in labels:
        make_block(alice, label, "Likes math.")
    seen, cursor = [], None
    while True:
        more: dict[str, Any] = {"cursor": cursor} if cursor else {}
        answer = answered(call("list_memory_blocks", max_characters=1_500, **more))
        assert length_of(answer["data"]["items"]) <= 1_500
        seen += [item["label"] for item in answer["data"]["items"]]
        cursor = answer["data"]["next"]
        if cursor is None:
            break
        assert f"call again with cursor {cursor} for the next.)" in answer["text"]
    assert seen == labels

    edit = {"old_string": "likes", "new_string": "loves", "reasoning": "She said so. " * 100}
    made = [
        answered(call("propose_memory_edit", block_label=label, **edit | {"old_string": "Likes"}))["data"][
            "proposal_id"
        ]
        for label in labels[:5]
    ]
    first = answered(call("list_proposals", max_characters=4_000))
    assert length_of(first["data"]["items"]) <= 4_000
    assert f"(There are more: call again with cursor {first['data']['next']}.)" in first["text"]
    rest = answered(call("list_proposals", cursor=first["data"]["next"], max_characters=100_000))
    assert [item["proposal_id"] for item in first["data"]["items"] + rest["data"]["items"]] == made[::-1]
    assert rest["data"]["next"] is None


def test_a_proposals_long_fields_are_cut_and_counted(api: Machine, call: Call, log: Any) -> None:
    edit = {"old_string": "Line 7 of", "new_string": "Line seven of", "reasoning": "r"}
    number = answered(call("propose_memory_edit", block_label="log", **edit))["data"]["proposal_id"]
    answer = answered(call("get_proposal", proposal_id=number))
    data = answer["data"]
    assert len(data["result"]) <= 20_000
    assert data["left_out"]["result"] == 2_000 - len(data["result"].split("\n"))
    assert f"Left out for their length: {data['left_out']['result']:,} lines of the result" in answer["text"]
    needed = int(answer["text"].rpartition("max_characters=")[2].split()[0])
    for whole in (
        answered(call("get_proposal", proposal_id=number, max_characters=needed)),
        answered(api.get(f"/api/v1/proposals/{number}/")),
    ):
        assert (len(whole["data"]["result"].split("\n")), whole["data"]["left_out"]) == (2_000, {})
        assert "Left out" not in whole["text"]


def test_the_notes_of_a_proposal_are_cut_too(api: Machine, call: Call, alice: User) -> None:
    Policy.objects.create(owner="alice", notes=Policy.Notes.REVIEW)
    file = "".join(f"### mem-{number}-aaaa\n> {'word ' * 300}\n\n" for number in range(30))
    sent = api.http.post("/api/v1/users/alice/memories.md", file, content_type="text/markdown")
    data = answered(call("get_proposal", proposal_id=answered(sent)["data"]["proposal_id"]))["data"]
    assert data["note_count"] == 30
    assert data["left_out"]["notes"] == 30 - len(data["notes"])
    assert length_of(data) < 25_000


def test_the_tools_whose_answers_may_be_long_take_the_argument() -> None:
    bounded = {name for name, tool in TOOLS.items() if "max_characters" in tool.schema["properties"]}
    assert bounded == {
        "list_files",
        "view_file",
        "read_memory_block",
        "list_memory_blocks",
        "recall",
        "memory_search",
        "list_proposals",
        "get_proposal",
        "memory_list_sessions",
        "memory_read_session",
    }
    for name in bounded:
        assert list(TOOLS[name].schema["properties"])[-2:] == ["max_characters", "session_id"]
