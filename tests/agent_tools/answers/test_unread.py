"""A token that may propose and not read: what it is answered does not depend on what the memory says.

An edit that fits becomes a proposal, which the owner sees; no refusal, number or waiting proposal tells more than that.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import override_settings

from agent_tools.calls.registry import TOOLS
from approvals import services
from approvals.models import Proposal, User
from approvals.services import notes
from memory_app import reads
from tests.agent_tools.checks import answered, refused
from tests.agent_tools.conftest import Issue, MachineOf
from tests.support.fixtures import MakeBlock

SECRET = "The code of the safe is 4711-1147."
#: What a guess may be: a part of the secret, or as long a text that is not.
RIGHT, WRONG = "safe is 4711", "safe is 0815"
FILE = "/api/v1/users/alice/memories.md"
LIKE_IT = "x" * 40

_VARYING = re.compile(
    r"p/\d+|[0-9a-f]{40,64}|\"[0-9a-v]{32}\"|"  # a branch, hashes of DoltLite and of Dolt
    r"note-[0-9a-f-]{36}|proposals/\d+|proposal \d+|Proposal \d+|\"proposal_id\": \d+|"
    r"\d{4}-\d\d-\d\dT[\d:.]+Z|mem-\d+-[0-9a-z]{4}"
)


def same(response: Any, *sent: str) -> tuple[int, str]:
    """The whole answer, without the ids and times that differ each time and what was sent itself."""
    text = response.content.decode()
    for guess in sent:
        text = text.replace(guess, "…")
    return response.status_code, _VARYING.sub("#", text)


@pytest.fixture
def block(alice: User, make_block: MakeBlock) -> Any:
    return make_block(alice, "safe", f"{SECRET}\nNobody else knows, knows.\n", limit=70)


@pytest.fixture
def note(alice: User) -> str:
    return notes.save(by=notes.ChangeContext(actor=alice), owner="alice", content=SECRET, rationale=SECRET).note_id


@pytest.fixture
def unread(machine: MachineOf, issue: Issue, alice: User) -> Any:
    return machine(issue(alice, scopes=["memory:propose"]))


def edit(**changes: Any) -> dict[str, Any]:
    return {"block_label": "safe", "old_string": RIGHT, "new_string": LIKE_IT[:12], "reasoning": "She asked."} | changes


#: Calls that are refused whether the guess is right or wrong, each for another reason.
REFUSED: dict[str, Callable[[str], dict[str, Any]]] = {
    "a count that cannot be": lambda guess: edit(old_string=guess, expected_replacements=99_999),
    "a result over the limit": lambda guess: edit(old_string=guess, new_string="x" * 1_000),
    "a result that is too long for anything": lambda guess: edit(old_string=guess, new_string="x" * 900_000),
    "another text expected": lambda guess: edit(old_string=guess, expected_sha256="0" * 64),
    "repeated or not there": lambda guess: edit(old_string=" knows" if guess == RIGHT else " gnows"),
    "new_string there or not": lambda guess: edit(old_string="nowhere to be found", new_string=guess),
}


@pytest.mark.parametrize("why", REFUSED)
def test_a_refusal_is_the_same_for_a_right_guess_and_a_wrong_one(unread: Any, block: Any, why: str) -> None:
    right, wrong = (unread.call("propose_memory_edit", **REFUSED[why](guess)) for guess in (RIGHT, WRONG))
    error = refused(right, 422, "edit_refused")
    assert error["details"] == {"block_label": "safe"}
    assert same(right) == same(wrong)
    assert not Proposal.objects.exists()


def test_of_several_edits_the_one_that_does_not_fit_is_not_named(unread: Any, block: Any) -> None:
    answers = []
    for guess in (RIGHT, WRONG):
        edits = [{"old_string": guess, "new_string": "b"}, {"old_string": "not there", "new_string": "c"}]
        answers.append(
            unread.post("/api/v1/users/alice/blocks/safe/propose/", {"edits": edits, "reasoning": "She asked."})
        )
    refused(answers[0], 422, "edit_refused")
    assert same(answers[0]) == same(answers[1])


def test_the_whole_text_guessed_right_is_refused_like_one_that_is_too_long(unread: Any, block: Any) -> None:
    bodies = (block.body, "x" * 71)
    answers = [
        unread.post("/api/v1/users/alice/blocks/safe/propose/", {"body": body, "reasoning": "She asked."})
        for body in bodies
    ]
    refused(answers[0], 422, "edit_refused")
    assert same(answers[0]) == same(answers[1])


def test_with_as_many_waiting_as_may_a_right_guess_is_refused_like_a_wrong_one(
    unread: Any, block: Any, note: str
) -> None:
    answered(unread.call("propose_memory_edit", **edit(old_string="Nobody", new_string="No one")))
    with override_settings(PENDING_CAP=1):
        right, wrong = (unread.call("propose_memory_edit", **edit(old_string=guess)) for guess in (RIGHT, WRONG))
        refused(right, 429, "too_many_pending")
        assert same(right) == same(wrong)
        right, wrong = (unread.call("memory_update", note_id=note, content=guess) for guess in (SECRET, LIKE_IT))
        refused(right, 429, "too_many_pending")
        assert same(right) == same(wrong)


def test_an_equal_result_does_not_tell_that_a_longer_guess_fits(unread: Any, block: Any) -> None:
    """One waiting proposal would otherwise answer for every longer old_string, and none would be seen."""
    first = answered(unread.call("propose_memory_edit", **edit(old_string="is 4", new_string="is 5")))["data"]
    longer = answered(unread.call("propose_memory_edit", **edit(old_string="is 47", new_string="is 57")))["data"]
    assert longer["created"] is True
    assert longer["proposal_id"] != first["proposal_id"]
    again = answered(unread.call("propose_memory_edit", **edit(old_string="is 4", new_string="is 5")))["data"]
    assert (again["created"], again["proposal_id"]) == (False, first["proposal_id"])


def test_what_fits_is_answered_without_a_word_of_the_text(unread: Any, block: Any, alice: User) -> None:
    """The same edit of two texts of another length, one of them nearly full."""
    first = unread.call("propose_memory_edit", **edit(old_string="4711", new_string="4712", replace_all=True))
    fields = services.BlockFields(title="", description="", body=f"4711 4711 {'y' * 59}", limit=70, read_only=False)
    services.edit_block(actor=alice, owner="alice", label="safe", fields=fields, loaded_sha256=block.sha256)
    unread.call("withdraw_proposal", proposal_id=answered(first)["data"]["proposal_id"])
    second = unread.call("propose_memory_edit", **edit(old_string="4711", new_string="4712", replace_all=True))
    answered(second)
    assert same(first) == same(second)
    data = second.json()["data"]
    assert (data["content_sha256"], data["length"], data["occurrences_replaced"], data["warnings"]) == (
        None,
        None,
        None,
        [],
    )


def test_a_withdrawn_proposal_shows_nothing_of_the_note(unread: Any, note: str) -> None:
    for tool, name in (("memory_delete", "note_id"), ("forget", "memory_id")):
        made = unread.call(tool, **{name: note})
        number = answered(made)["data"]["proposal_id"]
        withdrawn = unread.call("withdraw_proposal", proposal_id=number)
        assert answered(withdrawn)["data"]["title"] is None
        again = unread.call("withdraw_proposal", proposal_id=number)
        refused(again, 409, "already_decided")
        assert all("safe" not in answer.content.decode() for answer in (made, withdrawn, again))


def test_a_note_that_says_so_already_is_refused_like_one_that_no_longer_holds(
    unread: Any, alice: User, note: str
) -> None:
    right = unread.call("memory_update", note_id=note, content=SECRET)
    refused(right, 422, "edit_refused")
    notes.supersede(by=notes.ChangeContext(actor=alice), owner="alice", note_id=note, reason=SECRET)
    wrong = unread.call("memory_update", note_id=note, content=LIKE_IT)
    assert same(right) == same(wrong)
    assert same(unread.call("forget", memory_id=note)) == same(right)


@pytest.mark.parametrize("scopes", [["memory:propose"], ["notes:write"]])
def test_an_import_does_not_tell_which_notes_the_memory_has(
    machine: MachineOf, issue: Issue, alice: User, scopes: list[str]
) -> None:
    known = "mem-1737372000-a1b2"
    notes.save(by=notes.ChangeContext(actor=alice), owner="alice", content=SECRET, type="fact", note_id=known)
    agent = machine(issue(alice, scopes=scopes))
    answers = []
    for number, guess in enumerate((SECRET, "The code of the safe is 0815-5180.")):
        text = f"# Memories\n\n## Facts\n\n### {known}\n> {guess}\n\n### mem-173737200{number}-zzzz\n> New {number}.\n"
        sent = agent.http.post(FILE, text, content_type="text/markdown", headers={"Progress-Key": f"{number}" * 16})
        answered(sent)
        answers.append(same(sent))
        told = agent.get(f"/api/v1/users/alice/imports/{str(number) * 16}/").json()["data"]
        assert (told["state"], told["done"], told["of"]) == ("done", 0, 0)
    assert answers[0] == answers[1]


def test_a_waiting_import_does_not_answer_for_one_with_a_right_guess_beside_it(unread: Any, alice: User) -> None:
    known = "mem-1737372000-a1b2"
    notes.save(by=notes.ChangeContext(actor=alice), owner="alice", content=SECRET, type="fact", note_id=known)
    new = "### mem-1737372001-zzzz\n> New.\n"

    def send(more: str = "") -> Any:
        return unread.http.post(FILE, f"# Memories\n\n## Facts\n\n{new}{more}", content_type="text/markdown")

    answered(send())
    right, wrong = (send(f"\n### {known}\n> {guess}\n") for guess in (SECRET, LIKE_IT))
    assert same(right) == same(wrong)
    with override_settings(PENDING_CAP=1):
        right, wrong = (send(f"\n### {known}\n> {guess}\n") for guess in (SECRET, LIKE_IT))
        refused(right, 429, "too_many_pending")
        assert same(right) == same(wrong)


def once(agent: Any, tool: str, arguments: dict[str, Any]) -> Any:
    """An answer, with the proposal it made taken back: the next call would be answered with that one."""
    response = agent.call(tool, **arguments)
    if response.status_code == 200 and response.json()["data"].get("created"):
        answered(agent.call("withdraw_proposal", proposal_id=response.json()["data"]["proposal_id"]))
    return response


@pytest.mark.slow
@pytest.mark.parametrize("cap", [1, 1_000])
def test_no_tool_answers_a_right_guess_otherwise_than_a_wrong_one(
    unread: Any, alice: User, block: Any, note: str, cap: int
) -> None:
    """The guess in every text argument of every tool, where the call cannot become a proposal that fits the text: as
    many wait as may, or the sha256 it expects is not the block's."""
    answered(unread.call("memory_save", content="One that waits."))
    asked = 0
    with override_settings(PENDING_CAP=cap, RATE_LIMIT=10_000):
        for tool in TOOLS.values():
            properties = tool.schema["properties"]
            fixed: dict[str, Any] = {
                "block_label": "safe",
                "note_id": note,
                "memory_id": note,
                "expected_sha256": "0" * 64,
            }
            fixed |= {"proposal_id": 999, "reasoning": "She asked.", "expected_replacements": 2}
            base = {name: value for name, value in fixed.items() if name in properties}
            texts = [name for name, schema in properties.items() if schema.get("type") == "string"]
            base |= {name: "text" for name in tool.schema["required"] if name in texts and name not in base}
            for name in texts:
                pair = [once(unread, tool.name, base | {name: guess}) for guess in (RIGHT, WRONG)]
                assert same(pair[0], RIGHT) == same(pair[1], WRONG), (tool.name, name)
                asked += 1
    assert asked > 40
    assert reads.block("alice", "safe").body == block.body


# -- the memory as files --------------------------------------------------------------------------

#: Calls that change a file, each with a guess at its text or at how long that is.
FILE_CALLS: dict[str, Callable[[str], tuple[str, dict[str, Any]]]] = {
    "a result over the limit": lambda guess: ("edit_file", {"old_string": guess, "new_string": "x" * 2_001}),
    "another text expected": lambda guess: (
        "edit_file",
        {"old_string": guess, "new_string": "x", "expected_sha256": "0" * 64},
    ),
    "new_string there or not": lambda guess: ("edit_file", {"old_string": "nowhere", "new_string": guess}),
    "how long it is": lambda guess: ("append_to_file", {"content": "x" * (1_999 if guess == RIGHT else 2_000)}),
    "how long it is, from its beginning": lambda guess: (
        "prepend_to_file",
        {"content": "x" * (1_999 if guess == RIGHT else 2_000)},
    ),
    "a header": lambda guess: ("update_section", {"section_header": guess, "new_content": "x" * 2_001}),
    "its whole text expected": lambda guess: ("write_file", {"content": guess, "expected_sha256": "0" * 64}),
}


@pytest.mark.parametrize("cap", [1, 1_000])
@pytest.mark.parametrize("why", FILE_CALLS)
def test_no_file_tool_answers_a_right_guess_otherwise_than_a_wrong_one(
    unread: Any, block: Any, note: str, why: str, cap: int
) -> None:
    answered(unread.call("memory_save", content="One that waits."))
    before = Proposal.objects.count()
    with override_settings(PENDING_CAP=cap):
        for path in (f"/memories/notes/{note}.md", "/memories/blocks/safe.md"):
            answers = []
            for guess in (RIGHT, WRONG):
                tool, arguments = FILE_CALLS[why](guess)
                response = unread.call(tool, path=path, **arguments)
                assert response.status_code != 200, response.content
                answers.append(same(response, guess))
            assert answers[0] == answers[1]
    assert Proposal.objects.count() == before


def test_a_part_of_a_note_is_changed_by_who_may_read_it_only(unread: Any, note: str) -> None:
    """What was rejected is quoted when it comes again, and whole sentences of the note would be in it."""
    for id_ in (note, "note-00000000-0000-4000-8000-000000000000"):
        path = f"/memories/notes/{id_}.md"
        calls: dict[str, dict[str, Any]] = {
            "edit_file": {"old_string": "safe", "new_string": "vault"},
            "append_to_file": {"content": " Or so."},
            "prepend_to_file": {"content": "I think: "},
            "update_section": {"section_header": "# The", "new_content": "x"},
        }
        for tool, arguments in calls.items():
            error = refused(unread.call(tool, path=path, **arguments), 403, "missing_scope")
            assert error["details"]["required"] == "memory:read"
        assert answered(unread.call("write_file", path=path, content=f"It is {id_}."))["data"]["status"] == "open"
