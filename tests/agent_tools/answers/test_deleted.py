"""What people deleted: agents do not read it in the past either, unless their token has `memory:history`."""

from typing import Any

import pytest

from approvals import services
from approvals.models import Proposal, Status, User
from approvals.services import notes
from memory_app import reads
from memory_app.reads import Block
from memory_app.search import service
from tests.agent_tools.checks import answered, refused
from tests.agent_tools.conftest import Call, Issue, Machine, MachineOf
from tests.support.acts import as_seen
from tests.support.fixtures import ClientOf, MakeBlock, Propose

BLOCK = "/api/v1/users/alice/blocks/diary/"
HISTORY = f"{BLOCK}history/"


@pytest.fixture
def diary(alice: User, make_block: MakeBlock) -> Any:
    """A block of alice's that she deletes, and the commit it was read at."""
    made = make_block(alice, "diary", "Zebras frighten me.")
    return made, reads.head()


@pytest.fixture
def tea(alice: User) -> tuple[str, str]:
    """A note of alice's that she deletes, and the commit it was read at."""
    saved = notes.save(by=notes.ChangeContext(actor=alice), owner="alice", content="Alice drinks peppermint tea.")
    return saved.note_id, saved.commit


@pytest.fixture
def deleted(alice: User, goals: Block, diary: Any, tea: tuple[str, str]) -> str:
    """The commit before alice deleted the block and the note."""
    services.delete_block(actor=alice, owner="alice", label="diary", loaded_sha256=diary[0].sha256, comment="Too dark.")
    notes.delete(by=notes.ChangeContext(actor=alice), owner="alice", note_id=tea[0])
    return tea[1]


def as_never(response: Any, ours: str, never: str) -> bytes:
    """The body of an answer, with the name asked for put in the place of one that never was."""
    return bytes(response.content).replace(ours.encode(), never.encode())


def test_a_deleted_block_is_answered_as_one_that_never_was(api: Machine, call: Call, deleted: str) -> None:
    for path in (f"/?as_of={deleted}", "/", "/history/", "/history/?limit=1"):
        gone, never = (api.get(f"/api/v1/users/alice/blocks/{label}{path}") for label in ("diary", "never"))
        assert gone.status_code == 404
        assert as_never(gone, "diary", "never") == never.content
    for label in ("diary", "never"):
        refused(call("read_memory_block", block_label=label, as_of=deleted), 404, "block_not_found")


def test_a_deleted_note_is_answered_as_one_that_never_was(api: Machine, deleted: str, tea: Any) -> None:
    never = "note-00000000-0000-4000-8000-000000000000"
    for query in (f"?as_of={deleted}", "?as_of=2200-01-01", ""):
        gone, unknown = (api.get(f"/api/v1/users/alice/notes/{id_}/{query}") for id_ in (tea[0], never))
        assert refused(gone, 404, "note_not_found")
        assert as_never(gone, tea[0], never) == unknown.content


def test_the_past_is_searched_without_what_was_deleted(api: Machine, call: Call, deleted: str) -> None:
    for query in ("zebras", "peppermint"):
        asked = {"query": query, "as_of": deleted}
        assert answered(call("memory_search", **asked))["data"]["results"] == []
        by_address = api.get(f"/api/v1/users/alice/search/?q={query}&as_of={deleted}")
        assert answered(by_address)["data"]["results"] == []
    assert answered(call("memory_search", query="math", as_of=deleted))["data"]["results"]


def test_with_the_scope_for_it_what_was_deleted_is_read(
    machine: MachineOf, issue: Issue, alice: User, deleted: str, tea: Any
) -> None:
    historian = machine(issue(alice, scopes=["memory:read", "memory:history"]))
    block = answered(historian.call("read_memory_block", block_label="diary", as_of=deleted))["data"]
    assert block["body"] == "Zebras frighten me."
    items = answered(historian.get(HISTORY))["data"]["items"]
    assert [item["action"] for item in items] == ["deleted", "created"]
    note = answered(historian.get(f"/api/v1/users/alice/notes/{tea[0]}/?as_of={deleted}"))["data"]
    assert note["content"] == "Alice drinks peppermint tea."
    found = answered(historian.call("memory_search", query="zebras peppermint", as_of=deleted))["data"]["results"]
    assert {hit.get("block_label") or hit["note_id"] for hit in found} == {"diary", tea[0]}


def test_a_block_made_again_under_its_label_does_not_open_the_first_one(
    api: Machine, call: Call, alice: User, make_block: MakeBlock, deleted: str
) -> None:
    make_block(alice, "diary", "A new page.")
    made = reads.head()
    refused(call("read_memory_block", block_label="diary", as_of=deleted), 404, "block_not_found")
    assert answered(call("memory_search", query="zebras", as_of=deleted))["data"]["results"] == []
    assert answered(call("read_memory_block", block_label="diary", as_of=made))["data"]["body"] == "A new page."
    assert [item["action"] for item in answered(api.get(HISTORY))["data"]["items"]] == ["created"]


def test_older_versions_of_what_is_there_stay_readable(call: Call, alice: User, tea: Any) -> None:
    notes.update(by=notes.ChangeContext(actor=alice), owner="alice", note_id=tea[0], content="Alice drinks coffee.")
    notes.supersede(by=notes.ChangeContext(actor=alice), owner="alice", note_id=tea[0])
    found = answered(call("memory_search", query="peppermint", as_of=tea[1]))["data"]["results"]
    assert [hit["text"] for hit in found] == ["Alice drinks peppermint tea."]


def test_a_note_that_was_put_back_is_read_as_it_was(api: Machine, call: Call, alice: User) -> None:
    saved = answered(call("memory_save", content="Alice drinks peppermint tea."))["data"]
    gone = answered(call("memory_delete", note_id=saved["note_id"]))["data"]
    address = f"/api/v1/users/alice/notes/{saved['note_id']}/?as_of={saved['commit']}"
    refused(api.get(address), 404, "note_not_found")
    services.undo(actor=alice, proposal_id=gone["proposal_id"])
    assert answered(api.get(address))["data"]["content"] == "Alice drinks peppermint tea."


def test_people_still_see_what_they_deleted(client_of: ClientOf, alice: User, deleted: str, tea: Any) -> None:
    client = client_of(alice)
    assert "Zebras frighten me." in client.get(f"/memory/alice/blocks/diary/?as_of={deleted}").content.decode()
    assert "peppermint" in client.get(f"/memory/alice/notes/{tea[0]}/?as_of={deleted}").content.decode()
    assert service.search("alice", "zebras", as_of=deleted).results


# -- an agent's own proposals about it ------------------------------------------------------------


def test_a_proposal_no_longer_shows_the_text_of_a_deleted_block(
    call: Call, alice: User, diary: Any, propose: Propose
) -> None:
    proposal = propose(diary[0], "frighten", "amuse")
    shown = answered(call("get_proposal", proposal_id=proposal.pk))["data"]
    assert (shown["title"], shown["result"]) == ("Diary", "Zebras amuse me.")
    services.delete_block(actor=alice, owner="alice", label="diary", loaded_sha256=diary[0].sha256)
    answers = [call("get_proposal", proposal_id=proposal.pk), call("list_proposals")]
    answers.append(call("withdraw_proposal", proposal_id=proposal.pk))
    for answer in answers:
        answered(answer)
        assert "Zebras" not in answer.content.decode()
        assert "Diary" not in answer.content.decode()
    shown = answers[0].json()["data"]
    assert (shown["title"], shown["result"]) == (None, None)
    assert shown["edits"][0]["new_string"] == "amuse"


def test_nor_that_of_a_deleted_note(machine: MachineOf, issue: Issue, call: Call, alice: User) -> None:
    saved = answered(call("memory_save", content="Alice drinks peppermint tea."))["data"]
    waits = machine(issue(alice, scopes=["memory:read", "memory:propose"]))
    update = answered(waits.call("memory_update", note_id=saved["note_id"], content="Alice drinks coffee."))["data"]
    notes.delete(by=notes.ChangeContext(actor=alice), owner="alice", note_id=saved["note_id"])
    for number in (saved["proposal_id"], update["proposal_id"]):
        seen = call("get_proposal", proposal_id=number)
        assert (answered(seen)["data"]["title"], seen.json()["data"]["result"]) == (None, None)
        assert "peppermint" not in seen.content.decode()
    assert "peppermint" not in call("list_proposals").content.decode()
    historian = machine(issue(alice))
    assert "peppermint" in historian.call("get_proposal", proposal_id=saved["proposal_id"]).content.decode()


def _imported(api: Machine, note_id: str) -> int:
    """The number of the proposal by which a note about tea was imported."""
    text = f"# Memories\n\n## Facts\n\n### {note_id}\n> Alice drinks peppermint tea.\n"
    sent = api.http.post("/api/v1/users/alice/memories.md", text, content_type="text/markdown")
    number: int = answered(sent)["data"]["proposal_id"]
    return number


def test_nor_what_an_import_brought(api: Machine, call: Call, alice: User) -> None:
    number = _imported(api, "mem-1737372000-a1b2")
    assert "peppermint" in call("get_proposal", proposal_id=number).content.decode()
    notes.delete(by=notes.ChangeContext(actor=alice), owner="alice", note_id="mem-1737372000-a1b2")
    assert "peppermint" not in call("get_proposal", proposal_id=number).content.decode()
    assert "peppermint" not in call("list_proposals").content.decode()


def test_an_agents_own_note_that_waits_stays_its_own(machine: MachineOf, issue: Issue, alice: User) -> None:
    waits = machine(issue(alice, scopes=["memory:read", "memory:propose"]))
    saved = answered(waits.call("memory_save", content="Alice drinks peppermint tea."))["data"]
    seen = answered(waits.call("get_proposal", proposal_id=saved["proposal_id"]))["data"]
    assert (seen["status"], seen["title"]) == (Status.OPEN, "Alice drinks peppermint tea.")
    assert seen["notes"][0]["after"]["content"] == "Alice drinks peppermint tea."


def test_a_note_made_again_under_its_id_does_not_open_the_first_one(
    machine: MachineOf, issue: Issue, api: Machine, call: Call, alice: User
) -> None:
    """An agent chooses the id where it writes a file."""
    saved = answered(call("memory_save", content="Alice drinks peppermint tea."))["data"]
    waits = machine(issue(alice, scopes=["memory:read", "memory:propose"]))
    update = answered(waits.call("memory_update", note_id=saved["note_id"], content="Alice drinks coffee."))["data"]
    change = _imported(api, "mem-1737372000-a1b2")
    for id_ in (saved["note_id"], "mem-1737372000-a1b2"):
        notes.delete(by=notes.ChangeContext(actor=alice), owner="alice", note_id=id_)
        made = answered(call("write_file", path=f"/memories/notes/{id_}.md", content="Something else."))["data"]
        assert made["status"] == "applied"
    for number in (saved["proposal_id"], update["proposal_id"], change):
        seen = call("get_proposal", proposal_id=number)
        assert (answered(seen)["data"]["title"], seen.json()["data"]["result"]) == (None, None)
        assert "peppermint" not in seen.content.decode()
    assert "peppermint" not in call("list_proposals").content.decode()
    assert "peppermint" not in call("list_proposals", decided_since="").content.decode()
    assert "Something else." in call("get_proposal", proposal_id=made["proposal_id"]).content.decode()


def test_a_block_made_again_under_its_label_keeps_the_title_of_the_first_one(
    call: Call, alice: User, make_block: MakeBlock, propose: Propose
) -> None:
    first = make_block(alice, "diary", "I am afraid.", title="Zebras frighten me")
    propose(first, "afraid", "amused")
    services.delete_block(actor=alice, owner="alice", label="diary", loaded_sha256=first.sha256)
    second = make_block(alice, "diary", "Another page.", title="Second")
    propose(second, "Another", "One more")
    said = call("list_proposals").content.decode()
    assert "Zebras" not in said
    assert "Second" in said


def test_a_new_block_and_note_of_the_agents_are_shown_when_approved_in_other_words(
    machine: MachineOf, issue: Issue, alice: User, tim: User
) -> None:
    waits = machine(issue(alice, scopes=["memory:read", "memory:propose"]))
    new = {"label": "plan", "title": "The plan", "body": "Read.\n", "reasoning": "So."}
    for made in (
        answered(waits.call("propose_memory_block", **new))["data"],
        answered(waits.call("memory_save", content="Read."))["data"],
    ):
        services.approve_edited(actor=tim, **as_seen(Proposal.objects.get(pk=made["proposal_id"])), text="Write.")
        answer = answered(waits.call("list_proposals", decided_since=""))
        assert answer["data"]["items"][-1]["final_text"] is not None
        assert answer["data"]["items"][-1]["title"] is not None
        assert answered(waits.call("get_proposal", proposal_id=made["proposal_id"]))["data"]["title"] is not None
