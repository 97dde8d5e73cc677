"""What agents are told of what people deleted, and of proposals whose texts were removed: none of the words."""

from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from django.utils import timezone

from agent_tools.calls import idempotency
from agent_tools.models import AgentToken, IdempotencyKey
from approvals import services
from approvals.models import Proposal, Status, User
from approvals.services import notes
from memory_app import reads
from memory_app.reads import Block
from memory_app.search import service
from tests.agent_tools.checks import answered, refused
from tests.agent_tools.conftest import Call, Issue, Machine
from tests.support.acts import as_seen, save
from tests.support.fixtures import ClientOf, MakeBlock, Propose
from tests.support.traces import tables_with

# -- deleted: not read in the past either, but with the scope `memory:history` ----------------------

DIARY = "/api/v1/users/alice/blocks/diary/"
NOTES = "/api/v1/users/alice/notes/"
MEM = "mem-1737372000-a1b2"
TEA = "Alice drinks peppermint tea."


@pytest.fixture
def diary(alice: User, make_block: MakeBlock) -> Block:
    """A block of alice's that she deletes."""
    return make_block(alice, "diary", "Zebras frighten me.")


@pytest.fixture
def tea(alice: User, diary: Block) -> tuple[str, str]:
    """A note of alice's that she deletes, and a commit at which it and the block are there."""
    return save(alice, TEA), reads.head("alice")


def delete_block(alice: User, block: Block) -> None:
    services.delete_block(actor=alice, owner="alice", label=block.label, loaded_sha256=block.sha256)


def delete_note(alice: User, note_id: str) -> None:
    notes.delete(by=notes.ChangeContext(actor=alice), owner="alice", note_id=note_id)


@pytest.fixture
def deleted(alice: User, goals: Block, diary: Block, tea: tuple[str, str]) -> str:
    """The commit before alice deleted the block and the note."""
    before = reads.head("alice")
    delete_block(alice, diary)
    delete_note(alice, tea[0])
    return before


def results(call: Call, query: str, as_of: str) -> list[Any]:
    found: list[Any] = answered(call("memory_search", query=query, as_of=as_of))["data"]["results"]
    return found


def test_what_was_deleted_is_answered_as_what_never_was(api: Machine, call: Call, deleted: str, tea: Any) -> None:
    never = "note-00000000-0000-4000-8000-000000000000"
    for path in (f"?as_of={deleted}", "", "history/", "history/?limit=1"):
        gone, unknown = api.get(f"{DIARY}{path}"), api.get(f"{DIARY}{path}".replace("diary", "never"))
        refused(gone, 404, "block_not_found")
        assert gone.content.replace(b"diary", b"never") == unknown.content
    for query in (f"?as_of={deleted}", "?as_of=2200-01-01", ""):
        gone, unknown = (api.get(f"{NOTES}{id_}/{query}") for id_ in (tea[0], never))
        refused(gone, 404, "note_not_found")
        assert gone.content.replace(tea[0].encode(), never.encode()) == unknown.content
    for label in ("diary", "never"):
        refused(call("read_memory_block", block_label=label, as_of=deleted), 404, "block_not_found")


def test_the_past_is_searched_without_what_was_deleted(api: Machine, call: Call, deleted: str) -> None:
    for query in ("zebras", "peppermint"):
        assert results(call, query, deleted) == []
        by_address = api.get(f"/api/v1/users/alice/search/?q={query}&as_of={deleted}")
        assert answered(by_address)["data"]["results"] == []
    assert results(call, "math", deleted)


def test_with_the_scope_for_it_what_was_deleted_is_read(historian: Machine, deleted: str, tea: Any) -> None:
    block = answered(historian.call("read_memory_block", block_label="diary", as_of=deleted))["data"]
    assert block["body"] == "Zebras frighten me."
    items = answered(historian.get(f"{DIARY}history/"))["data"]["items"]
    assert [item["action"] for item in items] == ["deleted", "created"]
    note = answered(historian.get(f"{NOTES}{tea[0]}/?as_of={deleted}"))["data"]
    assert note["content"] == TEA
    found = results(historian.call, "zebras peppermint", deleted)
    assert {hit.get("block_label") or hit["note_id"] for hit in found} == {"diary", tea[0]}


def test_people_still_see_what_they_deleted(client_of: ClientOf, alice: User, deleted: str, tea: Any) -> None:
    client = client_of(alice)
    assert "Zebras frighten me." in client.get(f"/memory/alice/blocks/diary/?as_of={deleted}").content.decode()
    assert "peppermint" in client.get(f"/memory/alice/notes/{tea[0]}/?as_of={deleted}").content.decode()
    assert service.search("alice", "zebras", as_of=deleted).results


def test_a_block_made_again_under_its_label_does_not_open_the_first_one(
    api: Machine, call: Call, alice: User, make_block: MakeBlock, deleted: str
) -> None:
    make_block(alice, "diary", "A new page.")
    made = reads.head("alice")
    refused(call("read_memory_block", block_label="diary", as_of=deleted), 404, "block_not_found")
    assert results(call, "zebras", deleted) == []
    assert answered(call("read_memory_block", block_label="diary", as_of=made))["data"]["body"] == "A new page."
    assert [item["action"] for item in answered(api.get(f"{DIARY}history/"))["data"]["items"]] == ["created"]


def test_older_versions_of_what_is_there_stay_readable(call: Call, alice: User, tea: Any) -> None:
    notes.update(by=notes.ChangeContext(actor=alice), owner="alice", note_id=tea[0], content="Alice drinks coffee.")
    notes.supersede(by=notes.ChangeContext(actor=alice), owner="alice", note_id=tea[0])
    assert [hit["text"] for hit in results(call, "peppermint", tea[1])] == [TEA]


def test_a_note_that_was_put_back_is_read_as_it_was(api: Machine, call: Call, alice: User) -> None:
    saved = answered(call("memory_save", content=TEA))["data"]
    gone = answered(call("memory_delete", note_id=saved["note_id"]))["data"]
    address = f"{NOTES}{saved['note_id']}/?as_of={saved['commit']}"
    refused(api.get(address), 404, "note_not_found")
    services.undo(actor=alice, proposal_id=gone["proposal_id"])
    assert answered(api.get(address))["data"]["content"] == TEA


# -- an agent's own proposals about it ------------------------------------------------------------


def test_a_proposal_no_longer_shows_the_text_of_a_deleted_block(
    call: Call, alice: User, diary: Block, propose: Propose
) -> None:
    proposal = propose(diary, "frighten", "amuse")
    shown = answered(call("get_proposal", proposal_id=proposal.pk))["data"]
    assert (shown["title"], shown["result"]) == ("Diary", "Zebras amuse me.")
    delete_block(alice, diary)
    answers = [call("get_proposal", proposal_id=proposal.pk), call("list_proposals")]
    answers.append(call("withdraw_proposal", proposal_id=proposal.pk))
    for answer in answers:
        answered(answer)
        assert "Zebras" not in answer.content.decode()
        assert "Diary" not in answer.content.decode()
    shown = answers[0].json()["data"]
    assert (shown["title"], shown["result"]) == (None, None)
    assert shown["edits"][0]["new_string"] == "amuse"


@pytest.mark.parametrize("is_made_again", [False, True], ids=["gone", "made again"])
def test_nor_that_of_a_deleted_note_or_one_that_was_imported(
    api: Machine, careful: Machine, issue: Issue, call: Call, alice: User, is_made_again: bool
) -> None:
    """Nor where an agent writes a file with the same id, which it chooses."""
    saved = answered(call("memory_save", content=TEA))["data"]
    update = answered(careful.call("memory_update", note_id=saved["note_id"], content="Alice drinks coffee."))["data"]
    file = f"# Memories\n\n## Facts\n\n### {MEM}\n> {TEA} Every day.\n"
    sent = api.http.post("/api/v1/users/alice/memories.md", file, content_type="text/markdown")
    numbers = [made["proposal_id"] for made in (saved, update, answered(sent)["data"])]
    assert "peppermint" in call("get_proposal", proposal_id=numbers[2]).content.decode()
    for id_ in (saved["note_id"], MEM):
        delete_note(alice, id_)
        if is_made_again:
            made = answered(call("write_file", path=f"/memories/notes/{id_}.md", content=f"Not {id_}."))["data"]
            assert made["status"] == "applied"
            assert f"Not {id_}." in call("get_proposal", proposal_id=made["proposal_id"]).content.decode()
    for number in numbers:
        seen = call("get_proposal", proposal_id=number)
        assert (answered(seen)["data"]["title"], seen.json()["data"]["result"]) == (None, None)
        assert "peppermint" not in seen.content.decode()
    for asked in ({}, {"decided_since": ""}):
        assert "peppermint" not in call("list_proposals", **asked).content.decode()
    historian = Machine(issue(alice))
    assert "peppermint" in historian.call("get_proposal", proposal_id=numbers[0]).content.decode()


def test_an_agents_own_note_that_waits_stays_its_own(careful: Machine) -> None:
    saved = answered(careful.call("memory_save", content=TEA))["data"]
    seen = answered(careful.call("get_proposal", proposal_id=saved["proposal_id"]))["data"]
    assert (seen["status"], seen["title"], seen["notes"][0]["after"]["content"]) == (Status.OPEN, TEA, TEA)


def test_a_block_made_again_under_its_label_keeps_the_title_of_the_first_one(
    call: Call, alice: User, make_block: MakeBlock, propose: Propose
) -> None:
    first = make_block(alice, "diary", "I am afraid.", title="Zebras frighten me")
    propose(first, "afraid", "amused")
    delete_block(alice, first)
    propose(make_block(alice, "diary", "Another page.", title="Second"), "Another", "One more")
    said = call("list_proposals").content.decode()
    assert "Zebras" not in said
    assert "Second" in said


def test_a_new_block_and_note_of_the_agents_are_shown_when_approved_in_other_words(careful: Machine, tim: User) -> None:
    new = {"label": "plan", "title": "The plan", "body": "Read.\n", "reasoning": "So."}
    for made in (careful.call("propose_memory_block", **new), careful.call("memory_save", content="Read.")):
        proposal = Proposal.objects.get(pk=answered(made)["data"]["proposal_id"])
        services.approve_edited(actor=tim, **as_seen(proposal), text="Write.")
        last = answered(careful.call("list_proposals", decided_since=""))["data"]["items"][-1]
        assert None not in (last["final_text"], last["title"])
        assert answered(careful.call("get_proposal", proposal_id=proposal.pk))["data"]["title"] is not None


# -- removed: told by whom and why -----------------------------------------------------------------

SECRET = "zebrafinch"
EDIT = {
    "block_label": "goals",
    "old_string": "likes math",
    "new_string": f"likes math and her {SECRET}",
    "reasoning": f"She told me of her {SECRET}.",
}
FILE = f"### mem-1-aaaa\n> {SECRET}\n"


def too_private(actor: User) -> None:
    number = Proposal.objects.latest("pk").pk
    why = {"reason": "too_private", "comment": "Not about her birds."}
    services.reject(actor=actor, proposal_id=number, revision=1, **why)


def test_the_proposal_says_that_it_is_redacted_and_why_and_nothing_has_a_word_of_it(
    call: Call, api: Machine, goals: Block, tim: User
) -> None:
    number = answered(call("propose_memory_edit", **EDIT))["data"]["proposal_id"]
    assert answered(call("get_proposal", proposal_id=number))["data"]["redacted"] is False
    too_private(tim)
    told = answered(call("get_proposal", proposal_id=number))
    data = told["data"]
    assert told["text"].splitlines() == [
        f"Proposal {number} for block 'goals' is rejected, by tim (too_private): Not about her birds.",
        "Its texts were removed: what you proposed, and why, is kept no more. Do not propose it again.",
    ]
    assert (data["redacted"], data["status"]) == (True, "rejected")
    assert (data["decision"]["reason"], data["decision"]["comment"]) == ("too_private", "Not about her birds.")
    assert (data["title"], data["reasoning"], data["session_id"]) == ("goals", "", "")
    assert (data["edits"], data["notes"], data["note_count"], data["result"]) == ([], [], 0, "")
    assert api.get(f"/api/v1/proposals/{number}/").json()["data"] == data
    for response in (
        call("list_proposals"),
        call("read_memory_block", block_label="goals"),
        call("memory_search", query=SECRET),
        api.get("/api/v1/users/alice/blocks/goals/history/"),
        api.get("/api/v1/users/alice/context/"),
    ):
        assert response.status_code == 200, response.content
        assert SECRET not in response.content.decode().replace(f'"query": "{SECRET}"', "")


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("propose_memory_edit", EDIT),
        ("memory_save", {"content": f"Has a {SECRET}.", "tags": [SECRET], "category": SECRET}),
        ("remember", {"content": f"Has a {SECRET}.", "tags": [SECRET], "rationale": SECRET}),
        ("an import", {}),
    ],
)
def test_the_same_call_again_is_told_what_became_of_it(
    api: Machine, goals: Block, alice: User, ask_first: None, tool: str, arguments: dict[str, Any]
) -> None:
    def send() -> Any:
        if tool != "an import":
            return api.call(tool, **arguments, idempotency_key="k")
        path, key = "/api/v1/users/alice/memories.md", {"Idempotency-Key": "k"}
        return api.http.post(path, FILE, content_type="text/markdown", headers=key)

    answered(send())
    too_private(alice)
    for _ in range(2):
        error = refused(send(), 409, "already_decided")
        assert "is rejected, by alice (too_private)" in error["text"]
        assert error["details"]["proposal"]["redacted"] is True
    assert Proposal.objects.count() == 1
    assert tables_with(SECRET) == []


def test_taking_it_back_too_late_says_nothing_of_it(call: Call, goals: Block, alice: User) -> None:
    number = answered(call("propose_memory_edit", **EDIT))["data"]["proposal_id"]
    services.reject(actor=alice, proposal_id=number, revision=1, reason="wrong")
    first = call("withdraw_proposal", proposal_id=number, idempotency_key="w")
    assert SECRET in refused(first, 409, "already_decided")["details"]["proposal"]["reasoning"]
    services.redact(actor=alice, proposal_id=number)
    again = call("withdraw_proposal", proposal_id=number, idempotency_key="w")
    assert refused(again, 409, "already_decided")["details"]["proposal"]["redacted"] is True
    assert SECRET not in again.content.decode()
    assert tables_with(SECRET) == []


def test_a_refused_attempt_that_was_answered_with_its_words_is_forgotten(call: Call, goals: Block, alice: User) -> None:
    wrong = call("propose_memory_edit", **EDIT | {"old_string": "likes Math"}, idempotency_key="1")
    assert SECRET in str(refused(wrong, 422, "old_string_not_found"))
    answered(call("propose_memory_edit", **EDIT, idempotency_key="2"))
    too_private(alice)
    assert tables_with(SECRET) == []


def test_keys_of_other_calls_keep_their_answers(call: Call, goals: Block, alice: User, issue: Issue) -> None:
    other = EDIT | {"old_string": "June", "new_string": "July", "reasoning": "Moved."}
    first = call("propose_memory_edit", **other, idempotency_key="o")
    answered(call("propose_memory_edit", **EDIT, idempotency_key="k"))
    too_private(alice)
    again = Machine(issue(alice)).call("list_proposals")
    assert answered(again)["data"]["items"][0]["redacted"] is True
    assert call("propose_memory_edit", **other, idempotency_key="o").content == first.content


@pytest.mark.pure
def test_an_answer_is_kept_with_every_proposal_it_names() -> None:
    decisions = {"items": [{"proposal_id": 7}, {"proposal_id": 9, "title": '"proposal_id": 11'}], "left_out": 3}
    payload = {"ok": True, "data": {"proposal_id": 5, "decisions": decisions, "replaces": {"proposal_id": None}}}
    assert idempotency.named_proposals(payload) == {5, 7, 9}


def test_what_older_answers_name_is_found_in_the_migration(call: Call, goals: Block) -> None:
    answered(call("propose_memory_edit", **EDIT, idempotency_key="k"))
    named = IdempotencyKey.proposals.through.objects
    before = list(named.values_list("idempotencykey__key", "proposal"))
    assert before == [("k", Proposal.objects.get().pk)]
    named.all().delete()
    IdempotencyKey.objects.create(
        token=AgentToken.objects.get(), key="gone", operation="0" * 32, status=200, lease_expires_at=timezone.now(),
        response='{"ok": true, "data": {"proposal_id": 999}}',
    )  # fmt: skip
    migration = import_module("agent_tools.migrations.0009_proposals_of_kept_answers")
    with connection.schema_editor() as editor:
        migration.name_proposals(apps, editor)
    assert list(named.values_list("idempotencykey__key", "proposal")) == before
