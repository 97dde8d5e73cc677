"""What Claude writes is proposed, a person sees it, and the file says that it waits."""

import re
import uuid

import httpx2
import pytest

from tests.integrations.anthropic.conftest import GOALS, Claude
from tests.integrations.conftest import RunningServer


@pytest.fixture
def alice(memory: RunningServer) -> httpx2.Client:
    """The owner's browser."""
    browser = httpx2.Client(base_url=memory.url, follow_redirects=True)
    page = browser.get("/")
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)
    assert token
    given = {"csrfmiddlewaretoken": token[1], "username": "alice", "password": "demo"}
    assert browser.post(str(page.url), data=given, headers={"Referer": str(page.url)}).is_success
    return browser


def test_an_edit_waits_for_alice_who_sees_it_and_why(
    claude: Claude, memory: RunningServer, alice: httpx2.Client, goals: str
) -> None:
    new = f"Undecided {uuid.uuid4().hex[:8]} whether"
    edit = {"command": "str_replace", "path": GOALS, "old_str": "Undecided whether", "new_str": new}
    (found,) = claude(edit, reasoning="Alice said so on Monday.", session_id="chat-7")
    proposal = memory.proposal(found.proposal)
    assert proposal["status"] == "open"
    assert (proposal["session_id"], proposal["reasoning"]) == ("chat-7", "Alice said so on Monday.")
    assert proposal["edits"][0]["new_string"] == new
    page = alice.get(f"/proposals/{found.proposal}/").text
    assert new.split()[1] in page
    assert "Alice said so on Monday." in page
    assert memory.call("read_memory_block", block_label="goals", max_characters=100_000)["data"]["body"] == goals


def test_a_proposed_file_is_listed_and_read_as_pending_and_its_edits_amend_the_proposal(
    claude: Claude, memory: RunningServer, path: str
) -> None:
    created, listed, viewed, edited, inserted = claude(
        {"command": "create", "path": path, "file_text": "Likes tea.\n"},
        {"command": "view", "path": "/memories"},
        {"command": "view", "path": path},
        {"command": "str_replace", "path": path, "old_str": "tea", "new_str": "coffee"},
        {"command": "insert", "path": path, "insert_line": 0, "insert_text": "Gets up early."},
    )
    number = created.proposal
    assert "only you see it here" in created.text
    assert "Proposed, and not there until a person approves: " in listed.text
    assert f"{path} (#{number})" in listed.text
    assert f"Proposed (#{number})" in viewed.text
    assert (edited.proposal, inserted.proposal) == (number, number)
    proposal = memory.proposal(number)
    assert proposal["result"].rstrip("\n") == "Gets up early.\nLikes coffee."
    assert (proposal["status"], proposal["reasoning"]) == ("open", f"Lines for {path}.")


def test_an_edit_of_what_only_an_own_edit_has_amends_that_edit(claude: Claude, memory: RunningServer) -> None:
    word = uuid.uuid4().hex[:8]
    first, second = claude(
        {"command": "str_replace", "path": GOALS, "old_str": "written exam is", "new_str": f"{word} exam is"},
        {"command": "str_replace", "path": GOALS, "old_str": word, "new_str": f"oral {word[:4]}"},
    )
    assert not second.is_error, second.text
    assert second.proposal == first.proposal
    assert f"oral {word[:4]} exam is" in memory.proposal(first.proposal)["result"]


def test_deleting_and_renaming_a_block_are_proposed_and_nothing_is_gone(
    claude: Claude, memory: RunningServer, path: str, goals: str
) -> None:
    renamed, viewed = claude(
        {"command": "rename", "old_path": GOALS, "new_path": path}, {"command": "view", "path": GOALS}
    )
    assert renamed.lines[0] == f"Successfully renamed {GOALS} to {path}"
    numbers = [int(each) for each in re.findall(r"#(\d+)", renamed.text)]
    new, gone = map(memory.proposal, numbers)
    assert (new["kind"], new["result"]) == ("create_block", goals)
    assert (gone["kind"], gone["status"]) == ("delete_block", "open")
    assert viewed.lines[1].endswith(goals.split("\n")[0])
    for number in numbers:
        memory.call("withdraw_proposal", proposal_id=number)

    vocabulary = "/memories/blocks/vocabulary.md"
    (deleted,) = claude({"command": "delete", "path": vocabulary})
    assert deleted.lines[0] == f"Successfully deleted {vocabulary}"
    assert memory.proposal(deleted.proposal)["kind"] == "delete_block"
    assert memory.call("read_memory_block", block_label="vocabulary")["ok"]
    memory.call("withdraw_proposal", proposal_id=deleted.proposal)


def test_a_note_is_written_read_changed_and_deleted_under_its_id(claude: Claude, memory: RunningServer) -> None:
    words = f"Allergic to peanuts {uuid.uuid4().hex[:8]}."
    (created,) = claude({"command": "create", "path": "/memories/notes/allergies.md", "file_text": words})
    assert created.lines[0] == "File created successfully at: /memories/notes/allergies.md"
    assert memory.proposal(created.proposal)["kind"] == "save"

    (listed,) = claude({"command": "view", "path": "/memories/notes"})
    name = next(line for line in listed.lines if "\t/memories/notes/" in line).split("\t")[1]
    viewed, missing, refused = claude(
        {"command": "view", "path": name},
        {"command": "view", "path": "/memories/notes/no-such-note.md"},
        {"command": "rename", "old_path": name, "new_path": "/memories/notes/other.md"},
    )
    assert viewed.lines[0] == f"Here's the content of {name} with line numbers:"
    assert missing.text == ("The path /memories/notes/no-such-note.md does not exist. Please provide a valid path.")
    assert "A note keeps its id" in refused.text
    inserted, deleted = claude(
        {"command": "insert", "path": name, "insert_line": 0, "insert_text": f"Since {uuid.uuid4().hex[:6]}:"},
        {"command": "delete", "path": name},
    )
    assert inserted.lines[0] == f"The file {name} has been edited."
    assert deleted.lines[0] == f"Successfully deleted {name}"
    for each in (inserted, deleted):
        assert memory.proposal(each.proposal)["status"] in ("open", "applied")


def test_a_file_named_in_the_way_of_agents_is_told_its_name(claude: Claude) -> None:
    word = uuid.uuid4().hex[:8]
    (created,) = claude({"command": "create", "path": f"/memories/My Plans {word}.txt", "file_text": "x"})
    assert created.lines[:2] == [
        f"File created successfully at: /memories/My Plans {word}.txt",
        f"It is named /memories/blocks/my_plans_{word}.md.",
    ]


def test_what_she_rejected_is_answered_with_her_reason_and_no_other_argument(
    claude: Claude, memory: RunningServer, alice: httpx2.Client, path: str
) -> None:
    create = {"command": "create", "path": path, "file_text": " ".join(uuid.uuid4().hex[:9] for _ in range(9))}
    (found,) = claude(create)
    page = alice.get(f"/proposals/{found.proposal}/")
    form = re.search(r'<form[^>]*action="/proposals/\d+/reject/".*?</form>', page.text, re.DOTALL)
    assert form
    given = dict(re.findall(r'name="(\w+)" value="([^"]*)"', form[0])) | {"reason": "wrong", "comment": "It is coffee."}
    alice.post(f"/proposals/{found.proposal}/reject/", data=given, headers={"Referer": str(page.url)})
    proposal = memory.proposal(found.proposal)
    assert (proposal["status"], proposal["reasoning"]) == ("rejected", f"A new file, {path}.")
    (again,) = claude(create)
    assert again.is_error
    assert "It is coffee." in again.text
    assert "force" not in again.text
    # Told once more, by an answer after which it is not told again: other tests compare whole texts.
    assert "It is coffee." in memory.call("memory_search", query="coffee")["text"]
