"""The memory as files: paths, words, what becomes of a change; nothing outside of it can be named."""

import json
import uuid
from typing import Any

import pytest
from django.test import override_settings

from approvals import services
from approvals.models import Kind, Proposal, User
from memory_app import reads
from memory_app.reads import Block
from tests.agent_tools.checks import answered, refused
from tests.agent_tools.conftest import Call, Machine
from tests.support.acts import approve, edit, save
from tests.support.fixtures import MakeBlock

GOALS = "/memories/blocks/goals.md"
DIARY = "/memories/blocks/diary.md"
MEM = "/memories/notes/mem-1-aaaa.md"
FILES = "list_files view_file edit_file append_to_file prepend_to_file update_section write_file".split()
WRITES: dict[str, dict[str, Any]] = {
    "edit_file": {"old_string": "likes math", "new_string": "loves math"},
    "append_to_file": {"content": "\nMore."},
    "prepend_to_file": {"content": "First.\n"},
    "update_section": {"section_header": "# Goals", "new_content": "None."},
    "write_file": {"content": "All new."},
}


@pytest.fixture
def note(alice: User) -> str:
    save(alice, "She rows.", note_id="mem-1-aaaa")
    return MEM


def result_of(answer: dict[str, Any]) -> str:
    return Proposal.objects.get(pk=answer["data"]["proposal_id"]).current_revision.result_text


# -- lists of tools -------------------------------------------------------------------------------


def names(api: Machine, query: str = "") -> list[str]:
    return [tool["name"] for tool in answered(api.get(f"/api/v1/tools/{query}"))["data"]["tools"]]


def test_they_are_listed_for_who_asks_and_run_for_everybody(api: Machine, call: Call, goals: Block) -> None:
    assert not set(FILES) & set(names(api))
    files = names(api, "?toolset=files&format=mcp")
    assert [name for name in files if name in FILES] == FILES
    assert {"list_proposals", "withdraw_proposal", "memory_search"} <= set(files)
    assert "propose_memory_edit" not in files
    assert set(names(api, "?toolset=all")) > set(names(api)) | set(files)
    answered(call("view_file", path=GOALS))


# -- paths ----------------------------------------------------------------------------------------

ESCAPES = [
    "",
    " /memories/blocks/goals.md",
    "/memories/blocks/goals.md\n",
    "/memories/blocks/goals.md\x00.txt",
    *"""
    / memories/blocks/goals.md ../goals.md blocks/../goals.md ~/memories/blocks/goals.md file:///memories/blocks/goals.md
    C:/memories/blocks/goals.md \\memories\\blocks\\goals.md /memories\\..\\blocks/goals.md
    /memoriesX/blocks/goals.md /memories/../memories/blocks/goals.md /memories/blocks/../blocks/goals.md
    /memories/./blocks/goals.md /memories//blocks/goals.md /memories/blocks/\u2025/goals.md
    /memories/blocks/%2e%2e/blocks/goals.md /memories/%2e%2e%2fblocks/goals.md
    /memories/%252e%252e/blocks/goals.md /memories/blocks/goals%2emd
    /memories\u2215blocks\u2215goals.md /memories/blocks/\uff47oals.md /memories/blocks/g\u043eals.md
    /memories/blocks/goals\u200b.md /memories/blocks/\u202egoals.md
    """.split(),
]


@pytest.mark.parametrize("path", ESCAPES)
def test_nothing_leads_out_in_any_encoding(call: Call, goals: Block, path: str) -> None:
    before = reads.head("alice")
    for tool in ("list_files", "view_file", *WRITES):
        response = call(tool, path=path, **WRITES.get(tool, {}))
        codes = {"": "invalid_arguments"} | ({path: "forbidden_character"} if "\x00" in path else {})
        error = refused(response, 400, codes.get(path, "path_refused"))
        if path not in codes:
            assert error["text"].splitlines()[1] == (
                "Paths are /memories/blocks/{label}.md for memory blocks and /memories/notes/{id}.md for notes."
            )
    assert (reads.head("alice"), Proposal.objects.count()) == (before, 0)


@pytest.mark.parametrize(
    "path",
    ["goals.md", "goals", "blocks/goals.md", "/memories/goals.md", "/memories/goals.txt", "/memories/blocks/Goals.md"],
)
def test_a_block_is_found_by_the_names_that_agents_write(call: Call, goals: Block, path: str) -> None:
    assert answered(call("view_file", path=path))["text"] == goals.body
    for tool, arguments in WRITES.items():
        answer = answered(call(tool, path=path, **arguments))
        assert (answer["data"]["path"], GOALS in answer["text"].splitlines()[0]) == (GOALS, True)


@pytest.mark.parametrize(
    ("path", "suggested"),
    [
        ("/memories/\u504f\u597d.md", "file_91b456f0"),
        ("\u504f\u597d.md", "file_91b456f0"),
        ("/memories/pr\u00e9f\u00e9rences.md", "preferences"),
        ("/memories/trips/summer plans.md", "trips_summer_plans"),
    ],
)
def test_a_name_that_is_none_is_refused_with_one_that_works(call: Call, alice: User, path: str, suggested: str) -> None:
    right = f"/memories/blocks/{suggested}.md"
    for tool in ("view_file", *WRITES):
        assert right in refused(call(tool, path=path, **WRITES.get(tool, {})), 400, "path_refused")["text"]
    assert answered(call("write_file", path=right, content="x"))["data"]["path"] == right


# -- reading --------------------------------------------------------------------------------------


def test_files_are_blocks_and_notes_in_folders(call: Call, goals: Block, note: str) -> None:
    answer = answered(call("list_files"))
    assert answer["text"].splitlines()[0] == "Files in /memories:"
    of_block, of_note = answer["data"]["items"]
    assert of_block == {"path": GOALS, "title": "Learning goals", "length": len(goals.body), "proposal_id": None}
    assert of_note == {"path": MEM, "title": "She rows.", "length": 9, "proposal_id": None}
    first = answered(call("list_files", limit=1))["data"]
    then = answered(call("list_files", limit=1, cursor=first["next"]))["data"]
    assert (first["items"], then["items"], then["next"]) == ([of_block], [of_note], None)
    assert answered(call("list_files", path="/memories/notes/"))["data"]["items"] == [of_note]
    with override_settings(MEMORIES_ENABLED=False):
        assert answered(call("list_files"))["data"]["items"] == [of_block]
        refused(call("view_file", path=note), 403, "notes_disabled")
        refused(call("write_file", path=note, content="x"), 403, "notes_disabled")
        answered(call("append_to_file", path=GOALS, content="x"))

    error = refused(call("view_file", path="/memories/blocks"), 404, "path_not_found")
    assert error["text"].startswith("Error: /memories/blocks is a folder.\nlist_files names the files in it.")
    refused(call("list_files", path=GOALS), 404, "path_not_found")


def test_a_file_is_shown_as_it_has_to_be_quoted(call: Call, goals: Block, note: str) -> None:
    answer = answered(call("view_file", path=GOALS))
    assert (answer["text"], answer["data"]["content"]) == (goals.body, goals.body)
    assert (answer["data"]["sha256"], answer["data"]["title"]) == (goals.body_sha256, "Learning goals")
    part = answered(call("view_file", path=GOALS, view_range=[1, 1]))
    assert part["text"] == goals.body.splitlines()[0]
    assert answered(call("view_file", path=MEM))["text"] == "She rows."


def test_a_file_that_is_not_there_names_the_nearest(call: Call, goals: Block) -> None:
    path = "/memories/blocks/goal.md"
    for response in (call("view_file", path=path), call("edit_file", path=path, old_string="a", new_string="b")):
        error = refused(response, 404, "block_not_found")
        assert error["text"].splitlines()[:2] == [f"Error: File not found: {path}", f"The nearest is {GOALS}."]
    assert not Proposal.objects.exists()
    refused(call("view_file", path="/memories/notes/mem-9-zzzz.md"), 404, "note_not_found")


# -- changing blocks ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        ("edit_file", "replaced 10 chars with 10 chars"),
        ("append_to_file", "appended 6 chars"),
        ("prepend_to_file", "prepended 7 chars"),
        ("update_section", "updated section # Goals with 5 chars"),
        ("write_file", "wrote 8 chars"),
    ],
)
def test_every_change_of_a_block_is_proposed_without_a_reason(call: Call, goals: Block, tool: str, said: str) -> None:
    answer = answered(call(tool, path=GOALS, **WRITES[tool]))
    proposal = Proposal.objects.get()
    first, then = answer["text"].splitlines()[:2]
    assert first == f"Proposed for {GOALS}: {said}"
    assert then == f"The user will be asked to approve proposal {proposal.pk}. Until then the file reads as before."
    assert (answer["data"]["path"], answer["data"]["status"], proposal.reasoning) == (GOALS, "open", "")
    assert reads.block("alice", "goals") == goals
    again = answered(call(tool, path=GOALS, **WRITES[tool]))
    assert again["text"].startswith(f"Proposed for {GOALS} already: proposal {proposal.pk}")


def test_append_and_prepend_add_exactly_the_content(call: Call, alice: User, make_block: MakeBlock) -> None:
    make_block(alice, "log", "no line end")
    path = "/memories/blocks/log.md"
    glued = answered(call("append_to_file", path=path, content=", more"))
    assert result_of(glued) == "no line end, more"
    assert "It goes on the last line, “no line end”, which has no line end" in glued["text"]
    assert "goes on" not in answered(call("append_to_file", path=path, content="\nmore"))["text"]
    assert result_of(answered(call("prepend_to_file", path=path, content="So: "))) == "So: no line end"


def test_a_rule_that_lets_it_through_is_told_in_the_plans_words(call: Call, alice: User, goals: Block) -> None:
    services.create_rule(actor=alice, owner="alice", agent="scribe", needs="apply")
    answer = answered(call("edit_file", path=GOALS, **WRITES["edit_file"]))
    assert answer["text"].splitlines()[0] == f"Edited {GOALS}: replaced 10 chars with 10 chars"
    answer = answered(call("append_to_file", path=GOALS, content="x"))
    assert answer["text"].splitlines()[0] == f"Appended 1 chars to {GOALS}"


def test_what_does_not_match_is_refused_in_the_plans_words(call: Call, goals: Block, note: str) -> None:
    """Of a block and of a note in the same words."""

    def refusal(path: str, code: str, old_string: str) -> Any:
        return refused(call("edit_file", path=path, old_string=old_string, new_string="Loves math"), 422, code)

    answered(call("append_to_file", path=note, content=" She sings."))
    for path in (GOALS, note):
        first, *_ = refusal(path, "old_string_not_found", "hates math")["text"].splitlines()
        assert first == f"Error: old_string not found in {path}"
        first, *_ = refusal(path, "old_string_repeated", "She")["text"].splitlines()
        assert first == f"Error: old_string appears multiple times in {path}. Be more specific."
    corrected = refusal(GOALS, "old_string_not_found", "Likes math")["details"]["corrected_call"]
    assert corrected["path"] == GOALS, "a call of one of these tools"
    answered(call("edit_file", **corrected))


def test_what_a_refusal_quotes_stays_as_it_is(call: Call, alice: User, make_block: MakeBlock) -> None:
    """A tool's name and an empty line in the memory's own text are not put into the words of files."""
    passage = "Ask for read_memory_block.\n\nThen quote what she means."
    make_block(alice, "habits", f"# Habits\n\n{passage}\n")
    given = {"old_string": passage.lower(), "new_string": passage.lower().replace("she means", "she wrote")}
    error = refused(call("edit_file", path="/memories/blocks/habits.md", **given), 422, "old_string_not_found")
    assert f"\n{passage}\n" in error["text"]
    assert json.loads(error["text"].splitlines()[-1]) == error["details"]["corrected_call"]


def test_other_refusals_are_about_files_too(call: Call, goals: Block, note: str) -> None:
    refused(call("edit_file", path=GOALS, old_string="x", new_string="x"), 400, "identical_strings")
    answer = call("edit_file", path=GOALS, old_string="a", new_string="b", replace_all=True)
    assert list(refused(answer, 400, "invalid_arguments")["details"]["fields"]) == ["replace_all"]
    answer = call("update_section", path=GOALS, section_header="## No {x}", new_content="")
    error = refused(answer, 422, "section_not_found")
    assert GOALS in error["text"]
    assert "propose_memory_append" not in error["text"]
    refused(call("write_file", path=note, content="x" * 2_001), 400, "invalid_arguments")
    refused(call("write_file", path=note, content="x", expected_sha256="0" * 64), 409, "notes_changed")
    missing = "/memories/notes/mem-9-zzzz.md"
    refused(call("edit_file", path=missing, old_string="a", new_string="b"), 404, "note_not_found")


def test_a_read_only_block_and_a_changed_one_are_refused(call: Call, alice: User, make_block: MakeBlock) -> None:
    make_block(alice, "rules", "Be kind.", read_only=True)
    for tool in ("append_to_file", "write_file"):
        refused(call(tool, path="/memories/blocks/rules.md", content="x"), 422, "block_read_only")
    make_block(alice, "log", "One.")
    path = "/memories/blocks/log.md"
    sha256 = answered(call("view_file", path=path))["data"]["sha256"]
    edit(alice, "log", "One", "Two")
    answer = call("append_to_file", path=path, content="x", expected_sha256=sha256)
    error = refused(answer, 409, "precondition_failed")
    assert error["text"].splitlines()[0] == f"Error: {path} changed since you read it."


def test_replacing_what_was_not_read_warns_and_names_the_atomic_tools(call: Call, alice: User, goals: Block) -> None:
    text = answered(call("write_file", path=GOALS, content="All new."))["text"]
    assert f"Warning: you have not read {GOALS} in the last 24 hours, and this replaces all of it" in text
    assert "edit_file, append_to_file, prepend_to_file, update_section" in text
    answered(call("view_file", path=GOALS))
    assert "Warning" not in answered(call("write_file", path=GOALS, content="Other."))["text"]
    edit(alice, "goals", "math", "maths")
    assert "has changed since you read it" in answered(call("write_file", path=GOALS, content="Third."))["text"]


@pytest.mark.parametrize("tool", ["append_to_file", "prepend_to_file", "write_file"])
def test_what_is_not_there_is_proposed_as_a_new_block(call: Call, alice: User, tool: str) -> None:
    answer = answered(call(tool, path=DIARY, content="# Monday\n"))
    proposal = Proposal.objects.get()
    assert proposal.kind == Kind.CREATE_BLOCK
    assert answer["text"].splitlines()[0].startswith(f"Proposed for {DIARY}: ")
    assert "(a new block)" in answer["text"]
    assert "Until then only you see it here." in answer["text"]
    assert answered(call("view_file", path=DIARY))["text"] == "# Monday\n"
    assert "goes on" not in answered(call("append_to_file", path=DIARY, content="More"))["text"]
    glued = answered(call("append_to_file", path=DIARY, content=".\n", proposal_id=proposal.pk))
    assert "It goes on the last line, “More”" in glued["text"]
    answered(call("edit_file", path="diary.md", old_string="Monday", new_string="Tuesday"))
    shown = answered(call("list_files"))
    assert f"{DIARY}\t16 chars\tDiary\twaits for the user as your proposal {proposal.pk}" in shown["text"].splitlines()
    assert answered(call("view_file", path=DIARY))["data"]["proposal_id"] == proposal.pk
    refused(call("edit_file", path=DIARY, old_string="Sunday", new_string="x"), 422, "old_string_not_found")
    proposal.refresh_from_db()
    approve(alice, proposal)
    assert reads.block("alice", "diary").body == "# Tuesday\nMore.\n"
    assert "waits" not in answered(call("list_files"))["text"]


def test_what_others_proposed_is_not_there(call: Call, rival: Machine) -> None:
    answered(rival.call("write_file", path=DIARY, content="x"))
    assert answered(call("list_files"))["text"] == "There are no files in /memories."
    refused(call("view_file", path=DIARY), 404, "block_not_found")
    assert answered(call("write_file", path=DIARY, content="y"))["data"]["amended"] is False


def test_an_edit_of_what_only_an_own_edit_has_amends_that(call: Call, alice: User, goals: Block) -> None:
    first = answered(call("edit_file", path=GOALS, old_string="likes math", new_string="loves math"))["data"]
    second = answered(call("edit_file", path=GOALS, old_string="loves math", new_string="adores math"))
    assert (second["data"]["proposal_id"], second["data"]["amended"]) == (first["proposal_id"], True)
    assert result_of(second) == goals.body.replace("likes math", "adores math")
    edit(alice, "goals", "one book", "two books")  # today's text is not the one it was made on
    again = call("edit_file", path=GOALS, old_string="adores math", new_string="likes math")
    assert f"proposal_id={first['proposal_id']}" in refused(again, 422, "old_string_not_found")["text"]


# -- changing notes -------------------------------------------------------------------------------


def test_a_note_is_changed_as_its_owners_policy_says(call: Call, note: str) -> None:
    answer = answered(call("edit_file", path=note, old_string="rows", new_string="sails"))
    assert answer["text"] == f"Edited {note}: replaced 4 chars with 5 chars"
    assert reads.note("alice", "mem-1-aaaa").content == "She sails."
    assert "“She sails.”" in answered(call("append_to_file", path=note, content=" Daily."))["text"]
    assert reads.note("alice", "mem-1-aaaa").content == "She sails. Daily."
    answered(call("write_file", path="/memories/notes/mem-2-aaaa.md", content="She said “hi” to Ben."))
    greets = {"path": "/memories/notes/mem-2-aaaa.md", "old_string": 'said "hi"', "new_string": 'says "hi"'}
    answer = answered(call("edit_file", **greets))
    assert reads.note("alice", "mem-2-aaaa").content == "She says “hi” to Ben."
    assert "your change was made in the passage as it stands" in answer["text"]
    assert answer["data"]["repaired"] == [{"edit": 0, "old_string": "said “hi”", "new_string": "says “hi”"}]


@pytest.mark.parametrize("tool", ["append_to_file", "prepend_to_file", "write_file"])
@pytest.mark.parametrize("name", ["hiking", f"note-{uuid.UUID(int=7)}"], ids=["a name", "an id of our kind"])
def test_a_new_note_gets_an_id_and_its_name_is_said(call: Call, alice: User, tool: str, name: str) -> None:
    answer = answered(call(tool, path=f"notes/{name}.md", content="She hikes."))
    path = answer["data"]["path"]
    assert name not in path
    assert path == f"/memories/notes/{answer['data']['note_id']}.md"
    assert answer["text"].endswith(f"Notes are named by their ids: this one is {path}.")
    assert answered(call("view_file", path=path))["text"] == "She hikes."


def test_a_note_that_waits_is_listed_read_and_changed(call: Call, ask_first: None) -> None:
    made = answered(call("write_file", path="/memories/notes/hiking.md", content="She hikes."))["data"]
    path, number = made["path"], made["proposal_id"]
    shown = answered(call("list_files"))["text"]
    assert f"{path}\t10 chars\tShe hikes.\twaits for the user as your proposal {number}" in shown
    changed = answered(call("edit_file", path=path, old_string="hikes", new_string="rows"))["data"]
    assert (changed["proposal_id"], changed["path"]) == (number, path)
    viewed = answered(call("view_file", path=path))
    assert (viewed["text"], viewed["data"]["proposal_id"]) == ("She rows.", number)


def test_a_note_waits_where_its_owner_asks_first(call: Call, note: str, ask_first: None) -> None:
    answer = answered(call("write_file", path=note, content="She sails."))
    number = Proposal.objects.latest("pk").pk
    assert answer["text"].splitlines() == [
        f"Proposed for {note}: wrote 10 chars",
        f"The user will be asked to approve proposal {number}.",
    ]
    assert reads.note("alice", "mem-1-aaaa").content == "She rows."


@pytest.mark.parametrize(
    ("tool", "path"),
    [("append_to_file", GOALS), ("write_file", DIARY), ("write_file", MEM)],
    ids=["a block", "a new block", "a note"],
)
def test_with_force_a_person_is_asked_again_about_what_was_rejected(
    call: Call, tim: User, goals: Block, ask_first: None, tool: str, path: str
) -> None:
    more = {"path": path, "content": "\nShe drinks green tea before every exam."}
    number = answered(call(tool, reasoning="She said so.", **more))["data"]["proposal_id"]
    services.reject(actor=tim, proposal_id=number, revision=1, reason="wrong", comment="It is coffee.")
    assert "force=true" in refused(call(tool, reasoning="She said so.", **more), 409, "rejected_before")["text"]
    again = answered(call(tool, reasoning="She corrected herself today.", force=True, **more))["data"]
    assert again["waits_because"] == "repeated"
    assert Proposal.objects.get(pk=again["proposal_id"]).answers_id == number


@pytest.mark.parametrize("tool", ["write_file", "append_to_file", "prepend_to_file"])
def test_a_file_of_which_a_sha256_is_given_is_not_made_anew(call: Call, tool: str) -> None:
    for path, code in ((DIARY, "block_not_found"), (MEM, "note_not_found")):
        refused(call(tool, path=path, content="x", expected_sha256="0" * 64), 404, code)
    assert not Proposal.objects.exists()
