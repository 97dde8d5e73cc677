"""Proposing over HTTP: the contract's words, the order of its checks, and the help after a refusal."""

from typing import Any

import pytest
from django.test import override_settings

from approvals import services
from approvals.models import Proposal, User
from approvals.review.presentation import review_of
from memory_app import reads
from memory_app.reads import Block
from tests.agent_tools.checks import answered, refused
from tests.agent_tools.conftest import Call, Issue, Machine, MachineOf
from tests.support.fixtures import MakeBlock

EDIT = {"block_label": "goals", "old_string": "likes math", "new_string": "loves math", "reasoning": "She said so."}


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


# -- success --------------------------------------------------------------------------------------


def test_an_edit_becomes_a_proposal_in_the_plans_words(call: Call, goals: Block) -> None:
    answer = answered(call("propose_memory_edit", **EDIT))
    assert answer["text"].splitlines()[0] == (
        "Edit proposal created for block 'goals'. The user will be asked to approve this change. "
        "Reasoning provided: She said so."
    )
    data, proposal = answer["data"], Proposal.objects.get()
    assert data["proposal_id"] == proposal.pk
    assert data["status"] == proposal.status == "open"
    assert data["branch"] == f"p/{proposal.pk}"
    assert data["base_commit"] == reads.snapshot("alice", "goals").commit
    assert data["head_commit"] == proposal.current_revision.head_commit
    assert data["revision"] == data["occurrences_replaced"] == 1
    assert data["content_sha256"] == goals.body_sha256
    assert data["review_url"].endswith(f"/proposals/{proposal.pk}/")
    assert proposal.agent.name == "scribe"
    assert reads.block("alice", "goals").sha256 == goals.sha256


def test_what_explains_an_edit_is_kept_with_it(call: Call, goals: Block) -> None:
    turns = [{"role": "user", "content": "I love math!", "at": "2026-03-01T10:00:00Z"}]
    answered(call("propose_memory_edit", **edit(confidence="high", session_id="s-1", evidence=turns)))
    proposal = Proposal.objects.get()
    assert (proposal.confidence, proposal.session_id, proposal.evidence) == ("high", "s-1", turns)


def test_other_systems_names_are_taken_and_null_stands_for_left_out(call: Call, goals: Block) -> None:
    arguments = {"label": "goals", "old_str": "likes math", "new_str": "loves math", "reason": "r"}
    answered(call("propose_memory_edit", **arguments, expected_sha256=None, session_id=None, replace_all=None))


def test_all_occurrences_are_replaced_when_asked(call: Call, goals: Block) -> None:
    answer = answered(call("propose_memory_edit", **edit(old_string="She", new_string="Alice", replace_all=True)))
    assert answer["data"]["occurrences_replaced"] == 2
    assert Proposal.objects.get().current_revision.result_text.count("Alice") == 3


def test_the_expected_number_of_replacements_allows_that_many(call: Call, goals: Block) -> None:
    answered(call("propose_memory_edit", **edit(old_string="She", new_string="Alice", expected_replacements=2)))
    wrong = call("propose_memory_edit", **edit(old_string="She", new_string="Ann", expected_replacements=3))
    error = refused(wrong, 422, "wrong_count")
    assert (error["details"]["expected"], error["details"]["count"]) == (3, 2)


def test_an_equal_proposal_is_returned_and_nothing_new_made(call: Call, goals: Block) -> None:
    first = answered(call("propose_memory_edit", **EDIT))["data"]
    again = answered(call("propose_memory_edit", **edit(old_string="likes", new_string="loves")))
    assert again["data"]["proposal_id"] == first["proposal_id"]
    assert again["data"]["created"] is False
    assert "nothing new was made" in again["text"]
    assert Proposal.objects.count() == 1


def test_a_nearly_full_block_is_warned_about(call: Call, alice: User, make_block: MakeBlock) -> None:
    make_block(alice, "small", "x" * 89, limit=100)
    asked = edit(block_label="small", old_string="x" * 89, new_string="y" * 90)
    answer = answered(call("propose_memory_edit", **asked))
    assert answer["data"]["warnings"]
    assert answer["text"].splitlines()[-1] == answer["data"]["warnings"][0]


# -- the whole-body endpoint ----------------------------------------------------------------------

PROPOSE = "/api/v1/users/alice/blocks/goals/propose/"


def test_a_whole_body_is_proposed(api: Machine, goals: Block) -> None:
    answer = answered(api.post(PROPOSE, {"body": "# Goals\n", "reasoning": "Tidied.", "confidence": "low"}))
    assert answer["text"].startswith("Edit proposal created for block 'goals'.")
    proposal = Proposal.objects.get()
    assert (proposal.kind, proposal.confidence) == ("rewrite", "low")
    assert proposal.current_revision.result_text == "# Goals\n"


@pytest.mark.usefixtures("nothing_changes")
@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"reasoning": "r"}, "body"),
        ({"body": "x", "edits": [{"old_string": "a", "new_string": "b"}], "reasoning": "r"}, "body"),
        ({"edits": [], "reasoning": "r"}, "edits"),
        ({"edits": [{"old_string": "a"}], "reasoning": "r"}, "edits[0].new_string"),
        ({"body": "x", "reasoning": "r", "user_id": "alice"}, "user_id"),
        ({"body": "x", "reasoning": "r", "proposal_id": 0}, "proposal_id"),
        ({"body": 7, "reasoning": "r"}, "body"),
    ],
)
def test_a_bad_body_of_the_endpoint_is_named(api: Machine, body: Any, field: str) -> None:
    assert field in refused(api.post(PROPOSE, body), 400, "invalid_arguments")["details"]["fields"]


@pytest.mark.usefixtures("nothing_changes")
def test_the_present_text_is_no_proposal(api: Machine, goals: Block) -> None:
    refused(api.post(PROPOSE, {"body": goals.body, "reasoning": "r"}), 422, "no_change")


# -- the contract's checks, in its order ----------------------------------------------------------

IDENTICAL = "Error: old_string and new_string must be different."
EMPTY = "Error: old_string cannot be empty."
REASONING = "Error: reasoning is required to explain the edit to the user."
MISSING_BLOCK = "Error: Memory block 'nothing' not found."


@pytest.mark.usefixtures("nothing_changes")
@pytest.mark.parametrize(
    ("changes", "status", "code", "first_line"),
    [
        ({"new_string": "likes math", "reasoning": ..., "block_label": "nothing"}, 400, "identical_strings", IDENTICAL),
        ({"old_string": "", "new_string": ""}, 400, "identical_strings", IDENTICAL),
        ({"old_string": "", "reasoning": "", "block_label": "nothing"}, 400, "empty_old_string", EMPTY),
        ({"reasoning": ..., "block_label": "nothing"}, 400, "missing_reasoning", REASONING),
        ({"reasoning": ""}, 400, "missing_reasoning", REASONING),
        ({"reasoning": None}, 400, "missing_reasoning", REASONING),
        ({"reasoning": " \n\t"}, 400, "missing_reasoning", REASONING),
        ({"block_label": "nothing", "old_string": "zzz"}, 404, "block_not_found", MISSING_BLOCK),
        (
            {"old_string": "hates sports"},
            422,
            "old_string_not_found",
            "Error: old_string not found in block 'goals'. Make sure you've read the block first and the text matches "
            "exactly (including whitespace and newlines).",
        ),
        (
            {"old_string": "She"},
            422,
            "old_string_repeated",
            "Error: old_string appears 2 times in block 'goals'. Provide a larger unique string with more surrounding "
            "context, or set replace_all=True to replace all occurrences.",
        ),
    ],
)
def test_refusals_have_the_plans_words_in_the_plans_order(
    call: Call, changes: Any, status: int, code: str, first_line: str
) -> None:
    error = refused(call("propose_memory_edit", **edit(**changes)), status, code)
    assert error["text"].splitlines()[0] == first_line
    assert f"Error: {error['message']}" == first_line


@pytest.mark.usefixtures("nothing_changes")
@pytest.mark.parametrize(
    ("changes", "reasons"),
    [
        ({"replace_all": "true"}, {"replace_all": "must be true or false"}),
        ({"block_label": 7, "old_string": ...}, {"block_label": "must be a string", "old_string": "is required"}),
        (
            {"resoning": "x", "reasoning": ...},
            {"resoning": "is not known here (did you mean reasoning?)", "reasoning": "is required"},
        ),
        ({"colour": "red"}, {"colour": "is not known here"}),
        ({"confidence": "certain"}, {"confidence": "must be one of low, medium, high"}),
        ({"expected_sha256": "abc"}, {"expected_sha256": "must be 64 hexadecimal digits in lower case"}),
        ({"evidence": "she said"}, {"evidence": "must be a list"}),
        (
            {"evidence": [{"role": "ghost", "content": "boo"}]},
            {"evidence[0].role": "must be one of user, assistant, system, tool"},
        ),
        (
            {"evidence": [{"role": "user", "content": "x", "at": "later"}]},
            {"evidence[0].at": "must be a date or time in ISO 8601"},
        ),
        ({"session_id": "s" * 129}, {"session_id": "must have at most 128 characters"}),
    ],
)
def test_every_bad_argument_is_named_with_a_plain_reason(call: Call, changes: Any, reasons: dict[str, str]) -> None:
    error = refused(call("propose_memory_edit", **edit(**changes)), 400, "invalid_arguments")
    for field, reason in reasons.items():
        assert error["details"]["fields"][field] == reason
        assert f"{field} {reason}" in error["text"]


@pytest.mark.usefixtures("nothing_changes")
@pytest.mark.parametrize("character", ["\x00", "\ud800"])
@pytest.mark.parametrize("field", ["old_string", "new_string", "reasoning", "block_label", "session_id"])
def test_nul_and_lone_surrogates_are_refused(call: Call, field: str, character: str) -> None:
    error = refused(call("propose_memory_edit", **edit(**{field: f"a{character}b"})), 400, "forbidden_character")
    assert error["details"]["fields"][field] == f"contains the character U+{ord(character):04X} at position 1"


def test_invisible_characters_and_markup_are_taken_as_text(call: Call, goals: Block) -> None:
    hostile = "<script>alert(1)</script>\u200b\u202e\U000e0041"
    answered(call("propose_memory_edit", **edit(new_string=hostile, reasoning=f"Because {hostile}")))
    assert hostile in Proposal.objects.get().current_revision.result_text


# -- the help after a refusal ---------------------------------------------------------------------


def test_a_missing_block_names_those_there_are(call: Call, goals: Block) -> None:
    error = refused(call("propose_memory_edit", **edit(block_label="gaols")), 404, "block_not_found")
    assert error["text"].splitlines()[1:] == [
        "There are: goals.",
        "The nearest is goals.",
        "To make a new block, use propose_memory_block.",
    ]
    assert error["details"]["nearest"] == "goals"


def test_a_near_miss_is_answered_with_the_passage_and_a_call_that_works(call: Call, goals: Block) -> None:
    error = missed(call, old_string="She wants to  pass the b2 exam in June")
    near = error["details"]["nearest"]
    assert (near["first_line"], near["last_line"]) == (4, 4)
    assert "She wants to pass the B2 exam in June" in error["text"]
    assert goals.body_sha256 in error["text"]
    corrected = error["details"]["corrected_call"]
    assert corrected["old_string"] == "She wants to pass the B2 exam in June"
    answered(call("propose_memory_edit", **corrected))


@pytest.mark.parametrize(
    ("old_string", "differs", "said"),
    [
        ("alice LIKES math", ["case"], "only in case."),
        ("Alice  likes\tmath", ["whitespace"], "only in white space."),
        (
            "3: Alice likes math.\n4: She wants to pass the B2 exam in June.",
            ["line_numbers"],
            "only by the line numbers before its lines.",
        ),
        ("alice lkes math", ["case", "words"], 'in case and in its words: "lkes" instead of "likes".'),
        ("alice  likes math", ["whitespace", "case"], "in white space and in case."),
        (
            "Alice lkes MATH.\nShe  wants",
            ["whitespace", "case", "words"],
            'in white space, in case and in its words: "lkes" instead of "likes".',
        ),
    ],
)
def test_how_a_near_miss_differs_is_said(
    call: Call, goals: Block, old_string: str, differs: list[str], said: str
) -> None:
    error = missed(call, old_string=old_string)
    assert error["details"]["nearest"]["differs"] == differs
    assert error["details"]["nearest"]["why"] == (differs[0] if len(differs) == 1 else None)
    assert f"Your old_string differs from it {said}\n" in error["text"]


def test_a_corrected_call_keeps_the_rest_and_drops_the_used_up_key(call: Call, goals: Block) -> None:
    asked = edit(old_string="alice likes MATH", session_id="s-1", idempotency_key="k", expected_replacements=1)
    corrected = refused(call("propose_memory_edit", **asked), 422, "old_string_not_found")["details"]["corrected_call"]
    assert corrected == edit(old_string="Alice likes math", new_string="loves math", session_id="s-1")


def test_an_edit_of_what_an_earlier_one_takes_is_told_so(call: Call, goals: Block) -> None:
    edits = [{"old_string": "likes math", "new_string": "loves it"}, {"old_string": "likes math", "new_string": "x"}]
    asked = {"block_label": "goals", "reasoning": "r"}
    error = refused(call("propose_memory_edits", edits=edits, **asked), 422, "old_string_not_found")
    assert error["text"].splitlines()[1:3] == [
        "This is about edit 2 of 2; none was made.",
        "The block has the text, but an edit before this one changes it: quote what that one leaves.",
    ]
    edits = [{"old_string": "likes math", "new_string": "a\nb\na"}, {"old_string": "a", "new_string": "x"}]
    error = refused(call("propose_memory_edits", edits=edits, **asked), 422, "old_string_repeated")
    assert error["text"].splitlines()[-1].endswith(", counted after the edits before it.")


def test_a_corrected_call_of_several_edits_holds_them_all(api: Machine, goals: Block) -> None:
    edits = [
        {"old_string": "likes", "new_string": "loves"},
        {"old_string": "one  book a month", "new_string": "two books a month"},
    ]
    error = refused(api.post(PROPOSE, {"edits": edits, "reasoning": "r"}), 422, "old_string_not_found")
    answered(api.post(PROPOSE, error["details"]["corrected_call"]))
    assert "Alice loves math." in Proposal.objects.get().current_revision.result_text
    assert "two books a month" in Proposal.objects.get().current_revision.result_text


def test_several_matches_are_given_with_their_lines(call: Call, goals: Block) -> None:
    error = refused(call("propose_memory_edit", **edit(old_string="She")), 422, "old_string_repeated")
    assert error["text"].splitlines()[1] == "It begins on lines 4, 5."
    assert error["details"]["lines"] == [4, 5]


def test_text_found_only_in_the_agents_own_proposal_names_it(call: Call, goals: Block) -> None:
    first = answered(call("propose_memory_edit", **EDIT))["data"]["proposal_id"]
    error = missed(call, old_string="loves math.", new_string="adores math.")
    assert error["details"]["in_proposal"] == first
    assert f"open proposal {first}" in error["text"]


def test_another_agents_proposal_is_not_given_away(
    machine: MachineOf, issue: Issue, call: Call, alice: User, goals: Block
) -> None:
    from approvals.models import Agent

    answered(call("propose_memory_edit", **EDIT))
    other = machine(issue(alice, agent=Agent.objects.create(name="reader")))
    error = missed(other.call, old_string="loves math.", new_string="x")
    assert "in_proposal" not in error["details"]


def write(owner: Any, body: str) -> None:
    """The owner changes the block by hand."""
    fields = services.BlockFields(title="", description="", body=body, limit=20_000, read_only=False)
    now = reads.block("alice", "goals").sha256
    services.edit_block(actor=owner, owner="alice", label="goals", fields=fields, loaded_sha256=now)


def proposed_both_ways(api: Machine, **changes: str) -> list[Any]:
    """The answers of the tool and of the address."""
    edits = [{"old_string": changes["old_string"], "new_string": changes["new_string"]}]
    by_address = api.post(PROPOSE, {"edits": edits, "reasoning": "r"})
    return [api.call("propose_memory_edit", **edit(**changes)), by_address]


def test_what_was_made_already_is_said_to_be(api: Machine, tim: User, alice: User, goals: Block) -> None:
    number = answered(api.call("propose_memory_edit", **EDIT))["data"]["proposal_id"]
    seen = review_of(Proposal.objects.get(pk=number), tim).seen_sha256
    services.approve(actor=tim, proposal_id=number, revision=1, seen_sha256=seen)
    write(alice, reads.block("alice", "goals").body + "\nShe sails.\n")
    for answer in proposed_both_ways(api, **EDIT):
        error = refused(answer, 422, "already_true")
        assert error["details"]["line"] == 3
        assert "This change is made already: an earlier version had old_string where line 3 is now." in error["text"]
        assert error["text"].startswith("Error: old_string not found in block 'goals'.")
        assert "nearest" not in error["details"]


def test_several_edits_made_already_are_said_to_be(api: Machine, alice: User, goals: Block) -> None:
    edits = [{"old_string": "likes math", "new_string": "loves math"}, {"old_string": "one book", "new_string": "two"}]
    write(alice, goals.body.replace("likes math", "loves math").replace("one book", "two"))
    error = refused(api.post(PROPOSE, {"edits": edits, "reasoning": "r"}), 422, "already_true")
    assert error["details"]["edit"] == 0
    # The first one fits again; the second is made.
    write(alice, goals.body.replace("one book", "two"))
    error = refused(api.post(PROPOSE, {"edits": edits, "reasoning": "r"}), 422, "already_true")
    assert (error["details"]["edit"], error["details"]["line"]) == (1, 5)


@pytest.mark.parametrize(
    ("old_string", "new_string"),
    [
        ("ALICE LIKES MATH.", "Alice"),
        ("She wants to pass the b2 exam in June, which is soon.", "She wants to pass the B2 exam"),
        ("alice likes math", "Ali"),
    ],
)
def test_a_mistaken_shortening_is_not_told_that_it_is_made(
    api: Machine, goals: Block, old_string: str, new_string: str
) -> None:
    for answer in proposed_both_ways(api, old_string=old_string, new_string=new_string):
        error = refused(answer, 422, "old_string_not_found")
        assert "already" not in error["text"]
        assert error["details"]["nearest"]["passage"]
        corrected = error["details"]["corrected_call"]
        assert "If you meant that passage, call again with:" in error["text"]
    answered(api.post(PROPOSE, corrected))


def test_an_earlier_version_that_became_something_else_makes_nothing_true(
    api: Machine, alice: User, goals: Block
) -> None:
    write(alice, goals.body.replace("Alice likes math.", "Alice likes mathematics and logic."))
    error = missed(api.call, old_string="likes math.", new_string="likes math")
    assert "made already" not in error["text"]
    write(alice, goals.body.replace("Alice likes math.", "Alice likes logic. Her brother loves math"))
    error = missed(api.call)
    assert "made already" not in error["text"], "it stands elsewhere"


def test_a_deleted_blocks_versions_make_nothing_true(
    api: Machine, alice: User, goals: Block, make_block: MakeBlock
) -> None:
    services.delete_block(actor=alice, owner="alice", label="goals", loaded_sha256=goals.sha256)
    make_block(alice, "goals", goals.body.replace("likes math", "loves math"))
    error = missed(api.call)
    assert "made already" not in error["text"]


@pytest.mark.parametrize(
    ("old_string", "new_string", "line", "nearest", "is_corrected"),
    [
        ("Alice likes maths.", "Alice likes math.", 3, 3, False),
        ("Zebras graze quietly", "a", 1, None, False),
        ("Alice likes  math.", "book", 5, 3, True),
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


@pytest.mark.usefixtures("nothing_changes")
def test_an_over_limit_result_says_by_how_much(call: Call, alice: User, make_block: MakeBlock) -> None:
    make_block(alice, "small", "x" * 95, limit=100)
    asked = edit(block_label="small", old_string="x" * 95, new_string="y" * 120)
    error = refused(call("propose_memory_edit", **asked), 422, "over_limit")
    assert error["details"] == {"block_label": "small", "used": 120, "limit": 100, "over_by": 20}
    make_block(alice, "many", "a" * 2_000)
    asked = edit(block_label="many", old_string="a", new_string="b" * 10_000, replace_all=True)
    error = refused(call("propose_memory_edit", **asked), 422, "over_limit")
    assert error["details"]["over_by"] == 2_000 * 10_000 - 20_000


@pytest.mark.usefixtures("nothing_changes")
def test_a_read_only_block_is_refused(call: Call, alice: User, make_block: MakeBlock) -> None:
    make_block(alice, "rules", "Be kind.", read_only=True)
    asked = edit(block_label="rules", old_string="kind", new_string="rude")
    refused(call("propose_memory_edit", **asked), 422, "block_read_only")


def test_a_changed_block_fails_the_precondition(call: Call, alice: User, goals: Block) -> None:
    write(alice, "Alice likes math.")
    error = refused(call("propose_memory_edit", **edit(expected_sha256=goals.body_sha256)), 409, "precondition_failed")
    now = reads.block("alice", "goals").body_sha256
    assert error["details"]["content_sha256"] == now
    answered(call("propose_memory_edit", **edit(expected_sha256=now)))


@override_settings(PENDING_CAP=2)
def test_the_pending_cap_names_what_waits(call: Call, goals: Block) -> None:
    waiting = [
        answered(call("propose_memory_edit", **edit(new_string=f"likes {n}")))["data"]["proposal_id"] for n in "12"
    ]
    response = call("propose_memory_edit", **edit(new_string="likes 3"))
    error = refused(response, 429, "too_many_pending")
    assert [entry["proposal_id"] for entry in error["details"]["proposals"]] == waiting
    assert f"{waiting[0]}, {waiting[1]}" in error["text"]
    assert int(response["Retry-After"]) > 0
    answered(call("withdraw_proposal", proposal_id=waiting[0]))
    answered(call("propose_memory_edit", **edit(new_string="likes 3")))


def test_a_huge_edit_of_a_huge_block_is_answered_in_good_time(call: Call, alice: User, make_block: MakeBlock) -> None:
    body = "\n".join(f"Line {n} of a long study log about subject {n % 17}." for n in range(3_500))
    make_block(alice, "log", body, limit=200_000)
    error = missed(call, block_label="log", old_string="Line 2000 of the long study log about subject 11")
    assert error["details"]["nearest"]["first_line"] == 2001
