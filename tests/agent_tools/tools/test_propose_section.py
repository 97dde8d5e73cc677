"""propose_section_update over HTTP: the section is replaced, the rest is left, and each refusal says how to go on."""

from typing import Any

import pytest

from approvals.models import Proposal, User
from memory_app.reads import Block
from tests.agent_tools.checks import answered, refused
from tests.agent_tools.conftest import Call
from tests.support.fixtures import MakeBlock

BODY = "# Plan\n\n## Goals\n\n- algebra\n\n### By June\n\n- B2\n\n## Log\n\nNothing.\n"
TWICE = "# Spring\n\n## Goals\n\na\n\n# Autumn\n\n## Goals\n\nb\n"
ASKED = {"block_label": "plan", "section_header": "## Goals", "new_content": "- geometry", "reasoning": "She said so."}


def asked(**changes: Any) -> dict[str, Any]:
    return ASKED | changes


def result() -> str:
    return Proposal.objects.get().current_revision.result_text


@pytest.fixture
def plan(alice: User, make_block: MakeBlock) -> Block:
    return make_block(alice, "plan", BODY)


@pytest.fixture
def twice(alice: User, make_block: MakeBlock) -> Block:
    return make_block(alice, "plan", TWICE)


def test_a_section_is_replaced_up_to_the_next_header_of_its_level(call: Call, plan: Block) -> None:
    answer = answered(call("propose_section_update", **ASKED))
    assert answer["text"].splitlines()[0] == (
        "Edit proposal created for block 'plan'. The user will be asked to approve this change. "
        "Reasoning provided: She said so."
    )
    assert "It is the section on line 3: ## Goals" in answer["text"].splitlines()
    assert result() == "# Plan\n\n## Goals\n\n- geometry\n\n## Log\n\nNothing.\n"
    assert Proposal.objects.get().current_revision.edits == [
        {"op": "section", "header": "## Goals", "content": "- geometry", "line": None}
    ]


def test_a_header_is_given_with_its_signs_or_without(call: Call, plan: Block) -> None:
    answered(call("propose_section_update", **asked(section_header="By June", new_content="- C1")))
    assert result() == BODY.replace("- B2", "- C1")


def test_a_section_is_emptied_and_an_empty_one_filled(call: Call, plan: Block) -> None:
    number = answered(call("propose_section_update", **asked(section_header="Log", new_content="")))["data"]
    assert result() == BODY.replace("Nothing.\n", "").rstrip("\n") + "\n"
    answered(call("propose_section_update", **asked(proposal_id=number["proposal_id"], section_header="# Plan")))
    assert result() == "# Plan\n\n- geometry\n"


def test_an_unknown_header_names_the_headers_and_the_nearest_with_the_call_that_works(call: Call, plan: Block) -> None:
    wrong = asked(section_header="## Gaols", session_id="s-1")
    error = refused(call("propose_section_update", **wrong), 422, "section_not_found")
    assert error["text"].splitlines()[:3] == [
        "Error: section_header '## Gaols' not found in block 'plan'.",
        "Its headers are: # Plan; ## Goals; ### By June; ## Log.",
        "The nearest is: ## Goals",
    ]
    assert "propose_memory_append" in error["text"].splitlines()[-1]
    corrected = error["details"]["corrected_call"]
    assert corrected == wrong | {"section_header": "## Goals"}
    answered(call("propose_section_update", **corrected))


def test_a_block_without_headers_says_so(call: Call, alice: User, make_block: MakeBlock) -> None:
    make_block(alice, "plan", "- item\n  # no header\n")
    error = refused(call("propose_section_update", **ASKED), 422, "section_not_found")
    assert "It has no headers." in error["text"]
    assert (error["details"]["nearest"], error["details"]["headers"]) == (None, [])


def test_a_header_that_occurs_twice_asks_which(call: Call, twice: Block) -> None:
    error = refused(call("propose_section_update", **ASKED), 422, "section_repeated")
    assert error["text"].splitlines() == [
        "Error: section_header '## Goals' appears 2 times in block 'plan'. "
        "Set section_line to the line of the one you mean.",
        "Line 3: # Spring / ## Goals",
        "Line 9: # Autumn / ## Goals",
    ]
    assert error["details"]["lines"] == [3, 9]
    answered(call("propose_section_update", **asked(section_line=9)))
    assert result() == TWICE.replace("b\n", "- geometry\n")


def test_a_line_that_is_not_that_headers_is_refused_with_those_that_are(call: Call, plan: Block) -> None:
    error = refused(call("propose_section_update", **asked(section_line=4)), 422, "section_repeated")
    assert error["details"]["lines"] == [3]
    assert error["details"]["corrected_call"] == asked(section_line=3)


def test_content_that_leaves_a_fence_open_is_refused(call: Call, plan: Block) -> None:
    error = refused(call("propose_section_update", **asked(new_content="```\nx = 1")), 422, "section_unclosed")
    assert error["details"]["swallowed"] == "## Log"
    assert "close it" in error["text"]
    assert not Proposal.objects.exists()


def test_the_header_given_again_in_the_content_stands_once(call: Call, plan: Block) -> None:
    answer = answered(call("propose_section_update", **asked(new_content="## Goals\n\n- geometry")))
    assert result().count("## Goals") == 1
    assert "is not put in twice" in answer["text"]


def test_headers_that_begin_a_section_beside_it_are_warned_about(call: Call, plan: Block) -> None:
    answer = answered(call("propose_section_update", **asked(new_content="- geometry\n\n## More\n\n### In it")))
    (warning,) = answer["data"]["warnings"]
    assert "beside this one, not in it: ## More. Give them more than 2 #" in warning


def test_other_names_for_the_arguments_are_hinted_at(call: Call, plan: Block) -> None:
    wrong = {"block_label": "plan", "header": "## Goals", "content": "x", "line": 3, "reasoning": "r"}
    fields = refused(call("propose_section_update", **wrong), 400, "invalid_arguments")["details"]["fields"]
    assert fields["header"] == "is not known here (did you mean section_header?)"
    assert fields["content"] == "is not known here (did you mean new_content?)"
    assert fields["line"] == "is not known here (did you mean section_line?)"


def test_the_present_content_is_no_change(call: Call, plan: Block) -> None:
    refused(call("propose_section_update", **asked(section_header="Log", new_content="Nothing.\n")), 422, "no_change")


def test_the_corrected_call_has_the_line_of_the_nearest_header(call: Call, plan: Block) -> None:
    wrong = asked(section_header="## goals", section_line=1)
    corrected = refused(call("propose_section_update", **wrong), 422, "section_not_found")["details"]["corrected_call"]
    assert corrected == asked(section_line=3)
    answered(call("propose_section_update", **corrected))


def test_a_nearest_header_that_occurs_twice_is_told_with_its_lines(call: Call, twice: Block) -> None:
    error = refused(call("propose_section_update", **asked(section_header="## goals")), 422, "section_not_found")
    assert "It is there 2 times, on lines 3, 9: set section_line to the one you mean." in error["text"].splitlines()
    assert "corrected_call" not in error["details"]
    wrong = asked(section_header="## goals", section_line=9)
    corrected = refused(call("propose_section_update", **wrong), 422, "section_not_found")["details"]["corrected_call"]
    answered(call("propose_section_update", **corrected))
    assert result() == TWICE.replace("b\n", "- geometry\n")
