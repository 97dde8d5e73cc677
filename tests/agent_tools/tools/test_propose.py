"""Proposing over HTTP: the contract's words, the order of its checks, and the help after a refusal."""

import json
from typing import Any

import pytest
from django.test import override_settings

from approvals import services
from approvals.models import Proposal, User
from memory_app import reads
from memory_app.reads import Block
from tests.agent_tools.checks import answered, refused
from tests.agent_tools.conftest import Call, Machine
from tests.support.acts import approve
from tests.support.acts import edit as change_by_hand
from tests.support.fixtures import MakeBlock

WHICH = {"block_label": "goals", "reasoning": "She said so."}
EDIT = WHICH | {"old_string": "likes math", "new_string": "loves math"}

#: Every tool that changes a block, with arguments that do.
CHANGING: dict[str, dict[str, Any]] = {
    "propose_memory_edit": EDIT,
    "propose_memory_edits": WHICH
    | {"edits": [{"old_string": "likes", "new_string": "loves"}, {"old_str": "loves", "new_str": "adores"}]},
    "propose_memory_append": WHICH | {"content": "She rows."},
    "propose_memory_prepend": WHICH | {"content": "She rows."},
    "propose_memory_insert": WHICH | {"insert_line": 3, "content": "She rows."},
    "propose_section_update": WHICH | {"section_header": "# Goals", "new_content": "- geometry"},
    "propose_memory_rewrite": WHICH | {"content": "# Goals\n\nShe rows.\n"},
}
PROPOSE = "/api/v1/users/alice/blocks/goals/propose/"


def edit(**changes: Any) -> dict[str, Any]:
    return {name: value for name, value in (EDIT | changes).items() if value is not ...}


def missed(call: Call, **changes: Any) -> Any:
    """The refusal of an edit whose old_string does not occur."""
    return refused(call("propose_memory_edit", **edit(**changes)), 422, "old_string_not_found")


@pytest.fixture
def nothing_changes(goals: Block) -> Any:
    """Fails when the test leaves a proposal or another text behind."""
    yield
    assert not Proposal.objects.exists()
    assert reads.block("alice", "goals").sha256 == goals.sha256


# -- what all tools have in common ----------------------------------------------------------------


@pytest.mark.parametrize("tool", CHANGING)
def test_a_change_becomes_a_proposal_in_the_plans_words(call: Call, goals: Block, tool: str) -> None:
    answered(call("read_memory_block", block_label="goals"))
    answer = answered(call(tool, **CHANGING[tool]))
    assert answer["text"].splitlines()[0] == (
        "Edit proposal created for block 'goals'. The user will be asked to approve this change. "
        "Reasoning provided: She said so."
    )
    data, proposal = answer["data"], Proposal.objects.get()
    assert (data["proposal_id"], data["status"], proposal.agent.name) == (proposal.pk, "open", "scribe")
    assert proposal.kind == ("rewrite" if tool == "propose_memory_rewrite" else "edit")
    assert data["branch"] == f"p/{proposal.pk}"
    assert data["base_commit"] == reads.snapshot("alice", "goals")[0]
    assert data["head_commit"] == proposal.current_revision.head_commit
    assert (data["revision"], data["warnings"]) == (1, [])
    assert data["occurrences_replaced"] == {"propose_memory_edit": 1, "propose_memory_edits": 2}.get(tool, 0)
    assert data["content_sha256"] == goals.body_sha256
    assert data["review_url"].endswith(f"/proposals/{proposal.pk}/")
    assert reads.block("alice", "goals").sha256 == goals.sha256


@pytest.mark.usefixtures("nothing_changes")
@pytest.mark.parametrize("tool", [*CHANGING, "propose_block_deletion"])
def test_what_refuses_one_tool_refuses_all_in_one_order(
    call: Call, alice: User, goals: Block, make_block: MakeBlock, tool: str
) -> None:
    make_block(alice, "rules", goals.body, read_only=True)
    works = CHANGING.get(tool, WHICH)
    asked = works | {"block_label": "nowhere", "reasoning": " \n", "expected_sha256": "0" * 64}
    refused(call(tool, **asked | {"session_id": "x\x00"}), 400, "forbidden_character")
    refused(call(tool, **asked), 400, "missing_reasoning")
    asked["reasoning"] = "r"
    error = refused(call(tool, **asked), 404, "block_not_found")
    assert error["text"].splitlines()[:2] == ["Error: Memory block 'nowhere' not found.", "There are: goals, rules."]
    is_for_text = tool != "propose_block_deletion"
    assert ("To begin it, call propose_memory_append " in error["text"]) == is_for_text
    error = refused(call(tool, **asked | {"block_label": "goals"}), 409, "precondition_failed")
    assert error["details"]["content_sha256"] == goals.body_sha256
    refused(call(tool, **works | {"block_label": "rules"}), 422, "block_read_only")


def test_what_explains_an_edit_is_kept_with_it(call: Call, goals: Block) -> None:
    turns = [{"role": "user", "content": "I love math!", "at": "2026-03-01T10:00:00Z"}]
    more = {"expected_sha256": goals.body_sha256, "evidence": turns, "session_id": "s-1"}
    answered(call("propose_memory_edit", **edit(confidence="high", **more)))
    proposal = Proposal.objects.get()
    assert (proposal.confidence, proposal.session_id, proposal.evidence) == ("high", "s-1", turns)


def test_other_systems_names_are_taken_and_null_stands_for_left_out(call: Call, goals: Block) -> None:
    arguments = {"label": "goals", "old_str": "likes math", "new_str": "loves math", "reason": "r"}
    answered(call("propose_memory_edit", **arguments, expected_sha256=None, session_id=None, replace_all=None))


def test_all_occurrences_are_replaced_or_the_expected_number(call: Call, goals: Block) -> None:
    for more in ({"replace_all": True}, {"expected_replacements": 2}):
        answer = answered(call("propose_memory_edit", **edit(old_string="She", new_string="Alice", **more)))
        assert answer["data"]["occurrences_replaced"] == 2
    assert Proposal.objects.get().current_revision.result_text.count("Alice") == 3
    wrong = call("propose_memory_edit", **edit(old_string="She", new_string="Ann", expected_replacements=3))
    error = refused(wrong, 422, "wrong_count")
    assert (error["details"]["expected"], error["details"]["count"]) == (3, 2)


def test_an_equal_proposal_is_returned_and_nothing_new_made(call: Call, goals: Block) -> None:
    first = answered(call("propose_memory_edit", **EDIT))["data"]
    again = answered(call("propose_memory_edit", **edit(old_string="likes", new_string="loves")))
    assert (again["data"]["proposal_id"], again["data"]["created"]) == (first["proposal_id"], False)
    assert "nothing new was made" in again["text"]
    assert Proposal.objects.count() == 1


def test_invisible_characters_and_markup_are_taken_as_text(call: Call, goals: Block) -> None:
    hostile = "<script>alert(1)</script>\u200b\u202e\U000e0041"
    made = answered(call("propose_memory_edit", **edit(new_string=hostile, reasoning=f"Because {hostile}")))["data"]
    assert f"Alice {hostile}." in Proposal.objects.get().current_revision.result_text
    told = answered(call("get_proposal", proposal_id=made["proposal_id"]))["data"]
    assert f"Alice {hostile}." in told["result"], "it comes out as it went in"


# -- the whole-body endpoint ----------------------------------------------------------------------


def test_a_whole_body_is_proposed(api: Machine, goals: Block) -> None:
    refused(api.post(PROPOSE, {"body": goals.body, "reasoning": "r"}), 422, "no_change")
    answer = answered(api.post(PROPOSE, {"body": "# Goals\n", "reasoning": "Tidied.", "confidence": "low"}))
    assert answer["text"].startswith("Edit proposal created for block 'goals'.")
    assert answer["data"]["warnings"][0].startswith("Warning: you have not read block 'goals' in the last 24 hours")
    proposal = Proposal.objects.get()
    assert (proposal.kind, proposal.confidence) == ("rewrite", "low")
    assert proposal.current_revision.result_text == "# Goals\n"


@pytest.mark.usefixtures("nothing_changes")
def test_the_endpoint_takes_a_body_or_edits(api: Machine) -> None:
    both = {"body": "x", "edits": [{"old_string": "a", "new_string": "b"}]}
    for wrong in ({}, both):
        error = refused(api.post(PROPOSE, wrong | {"reasoning": "r"}), 400, "invalid_arguments")
        assert list(error["details"]["fields"]) == ["body"]


# -- the contract's checks, in its order ----------------------------------------------------------

IDENTICAL = "Error: old_string and new_string must be different."
EMPTY = "Error: old_string cannot be empty."
REASONING = "Error: reasoning is required to explain the edit to the user."
MISSING_BLOCK = "Error: Memory block 'nothing' not found."
NOT_FOUND = (
    "Error: old_string not found in block 'goals'. Make sure you've read the block first and the text matches "
    "exactly (including whitespace and newlines)."
)
REPEATED = (
    "Error: old_string appears 2 times in block 'goals'. Provide a larger unique string with more surrounding "
    "context, or set replace_all=True to replace all occurrences.\nIt begins on lines 4, 5."
)


@pytest.mark.usefixtures("nothing_changes")
@pytest.mark.parametrize(
    ("changes", "status", "code", "text"),
    [
        ({"new_string": "likes math", "reasoning": ..., "block_label": "nothing"}, 400, "identical_strings", IDENTICAL),
        ({"old_string": "", "new_string": ""}, 400, "identical_strings", IDENTICAL),
        ({"old_string": "", "reasoning": "", "block_label": "nothing"}, 400, "empty_old_string", EMPTY),
        ({"reasoning": ..., "block_label": "nothing"}, 400, "missing_reasoning", REASONING),
        ({"reasoning": None}, 400, "missing_reasoning", REASONING),
        ({"block_label": "nothing", "old_string": "zzz"}, 404, "block_not_found", MISSING_BLOCK),
        ({"old_string": "hates sports"}, 422, "old_string_not_found", NOT_FOUND),
        ({"old_string": "She"}, 422, "old_string_repeated", REPEATED),
    ],
)
def test_refusals_have_the_plans_words_and_order(call: Call, changes: Any, status: int, code: str, text: str) -> None:
    error = refused(call("propose_memory_edit", **edit(**changes)), status, code)
    assert f"{error['text']}\n".startswith(f"{text}\n")
    assert f"Error: {error['message']}" == text.splitlines()[0]


@pytest.mark.usefixtures("nothing_changes")
@pytest.mark.parametrize("character", ["\x00", "\ud800"])
@pytest.mark.parametrize("field", ["old_string", "new_string", "reasoning", "block_label", "session_id"])
def test_nul_and_lone_surrogates_are_refused(call: Call, field: str, character: str) -> None:
    error = refused(call("propose_memory_edit", **edit(**{field: f"a{character}b"})), 400, "forbidden_character")
    assert error["details"]["fields"][field] == f"contains the character U+{ord(character):04X} at position 1"


# -- the help after a refusal ---------------------------------------------------------------------


def test_a_missing_block_names_those_there_are(call: Call, goals: Block) -> None:
    error = refused(call("propose_memory_edit", **edit(block_label="gaols")), 404, "block_not_found")
    assert error["text"].splitlines()[1:] == [
        "There are: goals.",
        "The nearest is goals.",
        "To begin it, call propose_memory_append with title: that proposes a new block.",
    ]
    assert error["details"]["nearest"] == "goals"


def test_a_block_is_begun_by_appending_to_it_with_a_title(call: Call, goals: Block) -> None:
    asked = WHICH | {"block_label": "diary", "content": "She rows."}
    error = refused(call("propose_memory_append", **asked), 404, "block_not_found")
    assert error["text"].endswith(
        "To begin it, call propose_memory_append again with title: that proposes a new block."
    )
    answer = answered(call("propose_memory_append", **asked, title="Diary", confidence="high"))
    assert answer["text"].startswith("Block proposal created for block 'diary'. The user will be asked to approve")
    proposal = Proposal.objects.get()
    assert (proposal.kind, proposal.target_title, proposal.confidence) == ("create_block", "Diary", "high")
    assert proposal.current_revision.result_text == "She rows."
    refused(call("propose_memory_append", **asked | {"block_label": "My Diary", "title": "x"}), 400, "label_invalid")
    again = refused(
        call("propose_memory_append", **asked | {"content": "She sails.", "title": "x"}), 409, "block_waits"
    )
    assert f"with proposal_id={proposal.pk}" in again["text"]
    # Where the block is there, the title changes nothing.
    answered(call("propose_memory_append", **asked | {"block_label": "goals", "title": "Other"}))
    assert Proposal.objects.latest("pk").kind == "edit"


def test_what_its_own_proposals_change_too_is_named(call: Call, goals: Block, rival: Machine) -> None:
    first = answered(call("propose_memory_edit", **EDIT))["data"]["proposal_id"]
    answered(rival.call("propose_memory_edit", **edit(new_string="adores math")))
    other = answered(call("propose_memory_edit", **edit(old_string="one book", new_string="two books")))
    assert other["data"]["warnings"] == [], "it changes other lines"
    twice = answered(call("propose_memory_edit", **edit(new_string="enjoys math")))
    (warning,) = twice["data"]["warnings"]
    assert warning.startswith(
        f"Warning: your proposal {first} changes the same lines. Amend it with proposal_id={first}"
    )
    assert warning in twice["text"].splitlines()


@pytest.mark.parametrize("title_in_body", [False, True])
def test_a_rewrite_as_it_was_read_has_no_title_in_the_block(
    call: Call, alice: User, make_block: MakeBlock, title_in_body: bool
) -> None:
    body = "# Weekly plan\n\nMonday: rest.\n" if title_in_body else "Monday: rest.\n"
    make_block(alice, "weekly_plan", body)
    text = answered(call("read_memory_block", block_label="weekly_plan"))["text"]
    which = WHICH | {"block_label": "weekly_plan"}
    answer = answered(call("propose_memory_rewrite", **which, content=f"{text}Tuesday: row.\n"))
    assert Proposal.objects.latest("pk").current_revision.result_text == f"{body}Tuesday: row.\n"
    assert "began with the block's title" in answer["text"]
    answer = answered(call("propose_memory_rewrite", **which, content=f"{body}Wednesday: row.\n"))
    assert Proposal.objects.latest("pk").current_revision.result_text == f"{body}Wednesday: row.\n"
    assert "began with" not in answer["text"]


def test_a_near_miss_is_answered_with_the_passage_and_a_call_that_works(call: Call, goals: Block) -> None:
    error = missed(
        call,
        old_string="She wants to  pass the b2 exam in June",
        session_id="s-1",
        idempotency_key="k",
        expected_replacements=1,
    )
    near = error["details"]["nearest"]
    assert (near["first_line"], near["last_line"]) == (4, 4)
    assert "She wants to pass the B2 exam in June" in error["text"]
    assert goals.body_sha256 == error["details"]["content_sha256"]
    # The call keeps the rest, but for the key, which is used up.
    corrected = error["details"]["corrected_call"]
    assert corrected == edit(old_string="She wants to pass the B2 exam in June", session_id="s-1")
    answered(call("propose_memory_edit", **corrected))


LKES = 'in its words: "lkes" instead of "likes".'


@pytest.mark.parametrize(
    ("old_string", "differs", "said"),
    [
        ("alice LIKES math", "case", "only in case."),
        ("3: Alice likes math.\n4: She wants to", "line_numbers", "only by the line numbers before its lines."),
        ("alice lkes math", "case words", f"in case and {LKES}"),
        ("alice LIKES hard math", "case words", 'in case and in its words: "hard" instead of nothing.'),
        ("Alice lkes MATH.\nShe  wants", "whitespace case words", f"in white space, in case and {LKES}"),
    ],
)
def test_how_a_near_miss_differs_is_said(call: Call, goals: Block, old_string: str, differs: str, said: str) -> None:
    error = missed(call, old_string=old_string)
    assert error["details"]["nearest"]["differs"] == differs.split()
    assert error["details"]["nearest"]["why"] == (None if " " in differs else differs)
    assert f"Your old_string differs from it {said}\n" in error["text"]


@pytest.mark.parametrize("new_string", ["a", "x", "the", "one boo"])
def test_a_letter_or_a_part_of_a_word_is_not_the_change_made_already(call: Call, goals: Block, new_string: str) -> None:
    assert "already" not in missed(call, old_string="Zebras graze quietly", new_string=new_string)["text"]


BOOKS = (
    "# Books\n\n- “Emma”, read in May\n- Dune,\tread in\u00a0June\n- **Ulysses**, given up\n- Ivanhoe, read in May\n"
)


@pytest.mark.parametrize(
    ("old_string", "new_string", "result"),
    [
        ('- "Emma", read', '- "Emma", not read', "- “Emma”, not read"),
        ("- Dune, read in June", "- Dune, read in July", "- Dune,\tread in\u00a0July"),
        ("- Dune,  read in June\n\n- **Ulysses**", "- **Ulysses**", "- **Ulysses**"),
    ],
)
def test_what_differs_in_form_only_is_made_in_the_form_there_is_and_said(
    api: Machine, alice: User, make_block: MakeBlock, old_string: str, new_string: str, result: str
) -> None:
    make_block(alice, "goals", BOOKS)
    asked = {"old_string": old_string, "new_string": new_string}
    said = "differs from the text only in white space, line ends or quotation marks"
    for tool, given in {
        "propose_memory_edit": WHICH | asked,
        "propose_memory_edits": WHICH | {"edits": [asked]},
        "edit_file": {"path": "/memories/blocks/goals.md", "reasoning": "r"} | asked,
    }.items():
        answer = answered(api.call(tool, **given, idempotency_key=tool))
        assert said in answer["text"] or not answer["data"]["created"]
        assert answered(api.call(tool, **given, idempotency_key=tool)) == answer
    (proposal,) = Proposal.objects.all()
    revision = proposal.current_revision
    before, _, after = BOOKS.partition(revision.edits[0]["old_string"])
    assert revision.result_text == before + revision.edits[0]["new_string"] + after
    assert result in revision.result_text
    approve(alice, proposal)
    assert reads.block("alice", "goals").body == revision.result_text


def test_a_text_with_crlf_is_edited_by_lines_with_lf(call: Call, alice: User, make_block: MakeBlock) -> None:
    make_block(alice, "goals", BOOKS.replace("\n", "\r\n"))
    asked = edit(old_string="given up\n- Ivanhoe", new_string="given up\n- Middlemarch\n- Ivanhoe")
    (repaired,) = answered(call("propose_memory_edit", **asked))["data"]["repaired"]
    assert repaired["new_string"] == "given up\r\n- Middlemarch\r\n- Ivanhoe"
    text = Proposal.objects.get().current_revision.result_text
    assert text == BOOKS.replace("- Ivanhoe", "- Middlemarch\n- Ivanhoe").replace("\n", "\r\n")


@pytest.mark.parametrize(
    ("old_string", "new_string", "differs", "corrected"),
    [
        ("# Goals\n\n- ivanhoe, read", "# Goals\n\n- ivanhoe, not read", ["heading", "case"], "- Ivanhoe, not read"),
        ("# Goals\n\n- Ivanhoe, read", "# Goals\n\n- Ivanhoe, not read", ["heading"], "- Ivanhoe, not read"),
        ("6: - Ivanhoe, read in", "6: - Ivanhoe, heard in", ["line_numbers"], "- Ivanhoe, heard in"),
        ('"- Ivanhoe, read in"', '"- Ivanhoe, heard in"', ["quotation_marks"], "- Ivanhoe, heard in"),
        ("```\n- Ivanhoe, read in\n```", "```\n- Ivanhoe, heard in\n```", ["code_fence"], "- Ivanhoe, heard in"),
        ("given up\\n- Ivanhoe", "given up\\n- Emil", ["escapes"], "given up\n- Emil"),
        ("- Ulysses, given up", "- Ulysses, thrown away", None, "- **Ulysses**, thrown away"),
        ("* Ivanhoe, red in May", "* Ivanhoe, red in June", None, "- Ivanhoe, read in June"),
        ("- **Ulysses** ... read in May", "- **Ulysses** ... heard in May", None, None),
        ("- Ivanhoe, red in May", "- Ivanhoe, rode in May", None, None),
    ],
)
def test_the_corrected_call_makes_the_change_alone(
    call: Call, alice: User, make_block: MakeBlock, old_string: str, new_string: str, differs: Any, corrected: Any
) -> None:
    make_block(alice, "goals", BOOKS, title="Goals")
    error = missed(call, old_string=old_string, new_string=new_string)
    details = error["details"]
    assert differs is None or details["nearest"]["differs"] == differs
    if corrected is None:
        assert "corrected_call" not in details
        assert "quote " in error["text"]
        return
    answered(call("propose_memory_edit", **details["corrected_call"]))
    assert details["corrected_call"]["new_string"] == corrected
    revision = Proposal.objects.get().current_revision
    assert revision.result_text == BOOKS.replace(details["corrected_call"]["old_string"], corrected)


def test_several_passages_that_fit_are_listed_and_none_is_chosen(
    call: Call, alice: User, make_block: MakeBlock
) -> None:
    body = "## Essay\n- Status: open\n\n## Lab\n- Status: open\n\n## Talk\n- Status: open\n"
    make_block(alice, "goals", body)
    asked = {"old_string": "- status: open", "new_string": "- status: done"}
    error = missed(call, **asked)
    assert [place["first_line"] for place in error["details"]["places"]] == [2, 5, 8]
    assert not {"nearest", "corrected_call"} & {*error["details"]}
    assert error["text"].splitlines()[1:5] == [
        "3 passages fit equally well; none is chosen:",
        "Line 2: - Status: open",
        "Line 5: - Status: open",
        "Line 8: - Status: open",
    ]
    whole = missed(call, **asked, replace_all=True)
    assert "If you meant all of them, call again with:" in whole["text"]
    answered(call("propose_memory_edit", **whole["details"]["corrected_call"]))
    assert Proposal.objects.get().current_revision.result_text == body.replace("open", "done")
    change_by_hand(alice, "goals", "## Lab\n- Status: open", "## Lab\n- STATUS: open")
    assert "corrected_call" not in missed(call, **asked, replace_all=True)["details"], "they are not written alike"


def test_of_several_edits_all_are_made_or_none_and_the_failing_one_is_corrected(api: Machine, goals: Block) -> None:
    edits = [{"old_string": "likes", "new_string": "loves"}, {"old_string": "b2 exam", "new_string": "c1 exam"}]
    error = refused(api.call("propose_memory_edits", edits=edits, **WHICH), 422, "old_string_not_found")
    assert error["details"]["edit"] == 1
    assert "This is about edit 2 of 2; none was made." in error["text"].splitlines()
    assert not Proposal.objects.exists()
    right = [edits[0], {"old_string": "B2 exam", "new_string": "C1 exam"}]
    assert error["details"]["corrected_call"] == WHICH | {"edits": right}
    made = answered(api.call("propose_memory_edits", **error["details"]["corrected_call"]))["data"]
    error = refused(api.post(PROPOSE, {"edits": edits, "reasoning": "r"}), 422, "old_string_not_found")
    by_address = answered(api.post(PROPOSE, error["details"]["corrected_call"]))["data"]
    assert by_address["proposal_id"] == made["proposal_id"]


def test_an_edit_of_what_an_earlier_one_takes_is_told_so(call: Call, goals: Block) -> None:
    def refusal(code: str, first: str, second: str) -> Any:
        edits = [{"old_string": "likes math", "new_string": first}, {"old_string": second, "new_string": "x"}]
        return refused(call("propose_memory_edits", edits=edits, **WHICH), 422, code)["text"].splitlines()

    assert refusal("old_string_not_found", "loves it", "likes math")[2] == (
        "The block has the text, but an edit before this one changes it: quote what that one leaves."
    )
    assert refusal("old_string_repeated", "a\nb\na", "a")[-1].endswith(", counted after the edits before it.")


def test_text_found_only_in_the_agents_own_proposal_names_it(call: Call, rival: Machine, proposal: Proposal) -> None:
    error = missed(call, old_string="loves math.", new_string="adores math.")
    assert error["details"]["in_proposal"] == proposal.pk
    assert f"open proposal {proposal.pk}" in error["text"]
    assert f"amend it with proposal_id={proposal.pk}" in error["text"]
    offered = json.loads(error["text"].splitlines()[-1])
    made = answered(call("propose_memory_edit", **offered))["data"]
    assert (made["proposal_id"], made["amended"]) == (proposal.pk, True)
    asked = answered(call("get_proposal", proposal_id=proposal.pk))["data"]
    assert asked["result"] == proposal.current_revision.base_text.replace("likes math", "adores math")
    added = {"block_label": "goals", "content": "She rows.", "reasoning": "r"}
    number = answered(call("propose_memory_append", **added))["data"]["proposal_id"]
    for old, new in (("rows", "sails"), ("sails.", "swims.\nShe dives.")):
        offered = missed(call, old_string=old, new_string=new)["details"]["corrected_call"]
        assert answered(call("propose_memory_edit", **offered))["data"]["proposal_id"] == number
    asked = answered(call("get_proposal", proposal_id=number))["data"]
    assert asked["result"] == proposal.current_revision.base_text + "She swims.\nShe dives."
    error = missed(rival.call, old_string="loves math.", new_string="adores math.")
    assert "in_proposal" not in error["details"], "another agent's is not given away"


def proposed_both_ways(api: Machine, **changes: str) -> list[Any]:
    """The answers of the tool and of the address."""
    edits = [{"old_string": changes["old_string"], "new_string": changes["new_string"]}]
    by_address = api.post(PROPOSE, {"edits": edits, "reasoning": "r"})
    return [api.call("propose_memory_edit", **edit(**changes)), by_address]


def test_what_was_made_already_is_said_to_be(api: Machine, tim: User, alice: User, proposal: Proposal) -> None:
    approve(tim, proposal)
    change_by_hand(alice, "goals", "one book a month.", "one book a month. She sails.")
    for answer in proposed_both_ways(api, **EDIT):
        error = refused(answer, 422, "already_true")
        assert error["details"]["line"] == 3
        assert "This change is made already: an earlier version had old_string where line 3 is now." in error["text"]
        assert error["text"].startswith("Error: old_string not found in block 'goals'.")
        assert "nearest" not in error["details"]


def test_several_edits_made_already_are_said_to_be(api: Machine, alice: User, goals: Block) -> None:
    edits = [{"old_string": "likes math", "new_string": "loves math"}, {"old_string": "one book", "new_string": "two"}]
    change_by_hand(alice, "goals", "likes math", "loves math")
    change_by_hand(alice, "goals", "one book", "two")
    error = refused(api.post(PROPOSE, {"edits": edits, "reasoning": "r"}), 422, "already_true")
    assert error["details"]["edit"] == 0
    change_by_hand(alice, "goals", "loves math", "likes math")
    error = refused(api.post(PROPOSE, {"edits": edits, "reasoning": "r"}), 422, "already_true")
    assert (error["details"]["edit"], error["details"]["line"]) == (1, 5), "the first one fits again"


@pytest.mark.parametrize("is_longer", [False, True])
def test_a_mistaken_shortening_is_not_told_that_it_is_made(api: Machine, goals: Block, is_longer: bool) -> None:
    old_string = "She wants to pass the b2 exam in June, which is soon." if is_longer else "ALICE LIKES MATH."
    new_string = "She wants to pass the B2 exam" if is_longer else "Alice"
    for answer in proposed_both_ways(api, old_string=old_string, new_string=new_string):
        error = refused(answer, 422, "old_string_not_found")
        assert "already" not in error["text"]
        assert error["details"]["nearest"]["passage"]
        assert "If you meant that passage, call again with:" in error["text"]
    answered(api.post(PROPOSE, error["details"]["corrected_call"]))


def test_an_earlier_version_that_became_something_else_makes_nothing_true(
    call: Call, alice: User, goals: Block, make_block: MakeBlock
) -> None:
    change_by_hand(alice, "goals", "likes math.", "likes mathematics and logic.")
    assert "made already" not in missed(call, old_string="likes math.", new_string="likes math")["text"]
    change_by_hand(alice, "goals", "likes mathematics and logic.", "likes logic. Her brother loves math")
    assert "made already" not in missed(call)["text"], "it stands elsewhere"
    now = reads.block("alice", "goals")
    services.delete_block(actor=alice, owner="alice", label="goals", loaded_sha256=now.sha256)
    make_block(alice, "goals", goals.body.replace("likes math", "loves math"))
    assert "made already" not in missed(call)["text"], "the earlier version is of a deleted block"


@pytest.mark.parametrize(
    ("old_string", "new_string", "line", "nearest", "is_corrected"),
    [
        ("Alice likes maths.", "Alice likes math.", 3, 3, False),
        ("Ａlice likes math.", "one book", 5, 3, True),
    ],
)
def test_a_new_text_that_is_there_by_chance_makes_nothing_true_and_hides_no_passage(
    call: Call, goals: Block, old_string: str, new_string: str, line: int, nearest: int | None, is_corrected: bool
) -> None:
    error = missed(call, old_string=old_string, new_string=new_string)
    assert f"new_string is in the block already (line {line})." in error["text"]
    assert "made already" not in error["text"]
    assert (error["details"].get("nearest") or {}).get("first_line") == nearest
    assert ("corrected_call" in error["details"]) == is_corrected


def test_a_nearly_full_block_is_warned_about_and_an_over_limit_result_says_by_how_much(
    call: Call, alice: User, make_block: MakeBlock
) -> None:
    make_block(alice, "small", "x" * 89, limit=100)
    asked = edit(block_label="small", old_string="x" * 89)
    error = refused(call("propose_memory_edit", **asked | {"new_string": "y" * 120}), 422, "over_limit")
    assert error["details"] == {"block_label": "small", "used": 120, "limit": 100, "over_by": 20}
    assert "remove something in the same call: propose_memory_edit. Otherwise tell the user" in error["text"]
    answer = answered(call("propose_memory_edit", **asked | {"new_string": "y" * 90}))
    assert answer["text"].splitlines()[-1] == answer["data"]["warnings"][0]
    make_block(alice, "many", "a" * 2_000)
    asked = edit(block_label="many", old_string="a", new_string="b" * 10_000, replace_all=True)
    error = refused(call("propose_memory_edit", **asked), 422, "over_limit")
    assert error["details"]["over_by"] == 2_000 * 10_000 - 20_000


@override_settings(PENDING_CAP=2)
def test_the_pending_cap_names_what_waits(call: Call, proposal: Proposal) -> None:
    second = answered(call("propose_memory_edit", **edit(new_string="likes 2")))["data"]["proposal_id"]
    response = call("propose_memory_edit", **edit(new_string="likes 3"))
    error = refused(response, 429, "too_many_pending")
    assert [entry["proposal_id"] for entry in error["details"]["proposals"]] == [proposal.pk, second]
    assert f"{proposal.pk}, {second}" in error["text"]
    assert int(response["Retry-After"]) > 0
    answered(call("withdraw_proposal", proposal_id=second))
    answered(call("propose_memory_edit", **edit(new_string="likes 3")))


def test_a_huge_edit_of_a_huge_block_is_answered_in_good_time(call: Call, alice: User, make_block: MakeBlock) -> None:
    body = "\n".join(f"Line {n} of a long study log about subject {n % 17}." for n in range(3_500))
    make_block(alice, "log", body, limit=200_000)
    error = missed(call, block_label="log", old_string="Line 2000 of the long study log about subject 11")
    assert error["details"]["nearest"]["first_line"] == 2001
