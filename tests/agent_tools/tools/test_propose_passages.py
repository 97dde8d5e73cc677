"""Text added at a place, and sections, over HTTP: the rest is left, and each refusal says how to go on."""

from typing import Any

import pytest

from approvals.models import Proposal, User
from memory_app.reads import Block
from tests.agent_tools.checks import answered, refused
from tests.agent_tools.conftest import Call
from tests.support.acts import approve, edit
from tests.support.fixtures import MakeBlock

WHY = {"reasoning": "She said so."}
ROWS = WHY | {"block_label": "goals", "content": "She rows."}
ADDING: dict[str, dict[str, Any]] = {
    "propose_memory_append": ROWS,
    "propose_memory_prepend": ROWS,
    "propose_memory_insert": ROWS | {"insert_line": 3},
}


def result() -> str:
    """What the block would be by the last proposal."""
    return Proposal.objects.latest("pk").current_revision.result_text


# -- append, prepend, insert ----------------------------------------------------------------------


def test_what_is_added_stands_on_lines_of_its_own(call: Call, alice: User, goals: Block, make_block: MakeBlock) -> None:
    answer = answered(call("propose_memory_append", **ROWS))
    assert result() == goals.body + "She rows."
    assert "A line end" not in answer["text"]
    answer = answered(call("propose_memory_prepend", **ROWS))
    assert result() == "She rows.\n" + goals.body
    assert "A line end was put between content and the block." in answer["text"]
    make_block(alice, "items", "- algebra")
    answer = answered(call("propose_memory_append", block_label="items", content="- geometry", **WHY))
    assert result() == "- algebra\n- geometry"
    assert "A line end was put between the block's last line and content." in answer["text"].splitlines()


def test_what_is_inserted_stands_after_the_line_and_the_answer_names_it(call: Call, goals: Block) -> None:
    lines = goals.body.splitlines()
    for line, told in (
        (0, "It goes before the first line."),
        (2, "It goes after line 2, which is empty."),
        (5, "It goes after line 5: She reads one book a month."),
    ):
        answer = answered(call("propose_memory_insert", **ROWS, insert_line=line))
        assert result().splitlines() == [*lines[:line], "She rows.", *lines[line:]]
        assert told in answer["text"].splitlines()


def test_a_line_out_of_range_is_refused_with_the_range_and_a_call_that_works(call: Call, goals: Block) -> None:
    asked = ROWS | {"insert_line": 9, "session_id": "s-1"}
    error = refused(call("propose_memory_insert", **asked), 422, "line_out_of_range")
    assert error["text"].splitlines()[:2] == [
        "Error: insert_line 9 is out of range: block 'goals' has 5 lines, so it must be between 0 and 5.",
        "0 puts the content at the start, 5 at the end.",
    ]
    assert (error["details"]["first"], error["details"]["last"]) == (0, 5)
    assert error["details"]["corrected_call"] == asked | {"insert_line": 5}
    below = refused(call("propose_memory_insert", **asked | {"insert_line": -1}), 422, "line_out_of_range")
    assert "corrected_call" not in below["details"]


@pytest.mark.parametrize("tool", ADDING)
def test_each_takes_content_and_warns_of_what_the_block_has_already(
    call: Call, alice: User, goals: Block, make_block: MakeBlock, tool: str
) -> None:
    names = ["data", "value", "new_string"]
    asked = {name: value for name, value in ADDING[tool].items() if name != "content"}
    fields = refused(call(tool, **asked | dict.fromkeys(names, "x")), 400, "invalid_arguments")["details"]["fields"]
    hint = "is not known here (did you mean content?)"
    assert fields == dict.fromkeys(names, hint) | {"content": "is required"}
    error = refused(call(tool, **asked, content=""), 400, "invalid_arguments")
    assert error["details"]["fields"] == {"content": "must not be empty"}

    answer = answered(call(tool, **asked, content="Alice likes math.\n"))
    (warning,) = answer["data"]["warnings"]
    assert warning.startswith("Warning: the block has this text already (line 3).")
    assert answer["text"].splitlines()[-1] == warning

    make_block(alice, "empty", "")
    at_the_start = {"insert_line": 0} if "insert_line" in asked else {}
    answered(call(tool, **ADDING[tool] | at_the_start | {"block_label": "empty"}))
    assert result() == "She rows."


def test_approved_and_said_again_it_is_another_proposal_with_a_warning(call: Call, goals: Block, alice: User) -> None:
    answered(call("propose_memory_append", **ROWS))
    approve(alice, Proposal.objects.get())
    again = answered(call("propose_memory_append", **ROWS))["data"]
    assert again["created"]
    assert "(line 6)" in again["warnings"][0]


def test_a_block_that_changed_since_it_was_read_has_other_line_numbers(call: Call, goals: Block, alice: User) -> None:
    answered(call("read_memory_block", block_label="goals", session_id="s-1"))
    edit(alice, "goals", "# Goals", "New.\n# Goals")
    (warning,) = answered(call("propose_memory_insert", **ROWS, insert_line=3, session_id="s-1"))["data"]["warnings"]
    assert warning == "Warning: the block has changed since you read it, so its lines may have other numbers now."


# -- sections -------------------------------------------------------------------------------------

BODY = "# Plan\n\n## Goals\n\n- algebra\n\n### By June\n\n- B2\n\n## Log\n\nNothing.\n"
TWICE = "# Spring\n\n## Goals\n\na\n\n# Autumn\n\n## Goals\n\nb\n"
ASKED = WHY | {"block_label": "plan", "section_header": "## Goals", "new_content": "- geometry"}


def update(call: Call, **changes: Any) -> Any:
    return answered(call("propose_section_update", **ASKED | changes))


def refusal(call: Call, code: str, **changes: Any) -> Any:
    return refused(call("propose_section_update", **ASKED | changes), 422, code)


@pytest.fixture
def plan(alice: User, make_block: MakeBlock) -> Block:
    return make_block(alice, "plan", BODY)


@pytest.fixture
def twice(alice: User, make_block: MakeBlock) -> Block:
    return make_block(alice, "plan", TWICE)


def test_a_section_is_replaced_up_to_the_next_header_of_its_level(call: Call, plan: Block) -> None:
    answer = update(call)
    assert "It is the section on line 3: ## Goals" in answer["text"].splitlines()
    assert result() == "# Plan\n\n## Goals\n\n- geometry\n\n## Log\n\nNothing.\n"
    assert Proposal.objects.get().current_revision.edits == [
        {"op": "section", "header": "## Goals", "content": "- geometry", "line": None}
    ]


def test_a_section_named_without_its_signs_is_emptied_or_filled(call: Call, plan: Block) -> None:
    refusal(call, "no_change", section_header="Log", new_content="Nothing.\n")
    number = update(call, section_header="Log", new_content="")["data"]["proposal_id"]
    assert result() == BODY.replace("Nothing.\n", "").rstrip("\n") + "\n"
    update(call, proposal_id=number, section_header="By June", new_content="- C1")
    assert result() == BODY.replace("- B2", "- C1")
    update(call, proposal_id=number, section_header="# Plan")
    assert result() == "# Plan\n\n- geometry\n"


def test_an_unknown_header_names_the_headers_and_the_nearest_with_the_call_that_works(call: Call, plan: Block) -> None:
    error = refusal(call, "section_not_found", section_header="## Gaols", session_id="s-1")
    assert error["text"].splitlines()[:3] == [
        "Error: section_header '## Gaols' not found in block 'plan'.",
        "Its headers are: # Plan; ## Goals; ### By June; ## Log.",
        "The nearest is: ## Goals",
    ]
    assert "propose_memory_append" in error["text"].splitlines()[-1]
    assert error["details"]["corrected_call"] == ASKED | {"session_id": "s-1"}
    # A line that was given is that of the nearest header.
    corrected = refusal(call, "section_not_found", section_header="## goals", section_line=1)["details"]
    assert corrected["corrected_call"] == ASKED | {"section_line": 3}
    answered(call("propose_section_update", **corrected["corrected_call"]))


def test_a_block_without_headers_says_so(call: Call, alice: User, make_block: MakeBlock) -> None:
    make_block(alice, "plan", "- item\n  # no header\n")
    error = refusal(call, "section_not_found")
    assert "It has no headers." in error["text"]
    assert (error["details"]["nearest"], error["details"]["headers"]) == (None, [])


def test_a_header_that_occurs_twice_asks_which(call: Call, twice: Block) -> None:
    error = refusal(call, "section_repeated")
    assert error["text"].splitlines() == [
        "Error: section_header '## Goals' appears 2 times in block 'plan'. "
        "Set section_line to the line of the one you mean.",
        "Line 3: # Spring / ## Goals",
        "Line 9: # Autumn / ## Goals",
    ]
    error = refusal(call, "section_repeated", section_line=4)
    assert error["details"]["lines"] == [3, 9], "those that are lines of that header"
    update(call, section_line=9)
    assert result() == TWICE.replace("b\n", "- geometry\n")


def test_a_nearest_header_that_occurs_twice_is_told_with_its_lines(call: Call, twice: Block) -> None:
    error = refusal(call, "section_not_found", section_header="## goals")
    assert "It is there 2 times, on lines 3, 9: set section_line to the one you mean." in error["text"].splitlines()
    assert "corrected_call" not in error["details"]
    error = refusal(call, "section_not_found", section_header="## goals", section_line=9)
    assert error["details"]["corrected_call"] == ASKED | {"section_line": 9}


def test_a_line_that_is_not_that_headers_is_refused_with_the_one_that_is(call: Call, plan: Block) -> None:
    error = refusal(call, "section_repeated", section_line=4)
    assert error["details"]["lines"] == [3]
    assert error["details"]["corrected_call"] == ASKED | {"section_line": 3}


def test_content_that_leaves_a_fence_open_is_refused(call: Call, plan: Block) -> None:
    error = refusal(call, "section_unclosed", new_content="```\nx = 1")
    assert error["details"]["swallowed"] == "## Log"
    assert "close it" in error["text"]


def test_a_header_in_the_content_stands_once_and_one_beside_it_is_warned_about(call: Call, plan: Block) -> None:
    answer = update(call, new_content="## Goals\n\n- geometry\n\n## More\n\n### In it")
    assert result().count("## Goals") == 1
    assert "is not put in twice" in answer["text"]
    removed, warning = answer["data"]["warnings"]
    assert removed.endswith("are removed: ### By June.")
    assert "beside this one, not in it: ## More. Give them more than 2 #" in warning


def test_subsections_that_an_update_removes_are_named(call: Call, alice: User, make_block: MakeBlock) -> None:
    make_block(alice, "plan", "\ufeff## Goals\n\n### Soon\n\na\n\n### Late\n\nb\n\n## Log\n")
    answer = update(call, new_content="### Late\n\nc")
    assert result() == "\ufeff## Goals\n\n### Late\n\nc\n\n## Log\n"
    (warning,) = answer["data"]["warnings"]
    assert warning == "Warning: the subsections of it that new_content does not have are removed: ### Soon."
    error = refusal(call, "section_not_found", section_header="# Plan")
    assert "That is the block's title, which read_memory_block shows above the text" in error["text"]


def test_other_names_for_the_arguments_are_hinted_at(call: Call, plan: Block) -> None:
    wrong = {"block_label": "plan", "section": "## Goals", "replacement": "x", "line": 3}
    fields = refused(call("propose_section_update", **wrong), 400, "invalid_arguments")["details"]["fields"]
    for given, ours in {"section": "section_header", "replacement": "new_content", "line": "section_line"}.items():
        assert fields[given] == f"is not known here (did you mean {ours}?)"
    assert fields["reasoning"] == "is required"
