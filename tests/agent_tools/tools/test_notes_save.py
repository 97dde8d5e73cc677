"""memory_save, memory_update, memory_delete: automatic or waiting, texts, limits, refusals."""

from datetime import timedelta

import pytest
from django.test import override_settings
from django.utils import timezone

from agent_tools.models import IdempotencyKey
from approvals.models import Proposal, Status, User
from memory_app import reads
from memory_app.dolt.connections import dolt_transaction
from memory_app.models import MemoryNote
from memory_app.writing.authors import ASSENT
from tests.agent_tools.checks import answered, refused
from tests.agent_tools.conftest import Call, Machine
from tests.support.acts import save


@pytest.fixture
def tea(call: Call) -> str:
    """The id of a note of alice's."""
    return str(answered(call("memory_save", content="Alice likes tea."))["data"]["note_id"])


def test_a_note_is_saved_changed_and_deleted_at_once(call: Call) -> None:
    evidence = [{"role": "user", "content": "I like tea."}]
    more = {"category": "food", "tags": ["drinks"], "session_id": "s", "evidence": evidence}
    answer = answered(call("memory_save", content="Alice likes tea.", reasoning="She said so.", **more))
    data = answer["data"]
    note_id = data["note_id"]
    assert answer["text"] == f"Note {note_id} saved."
    assert (data["status"], data["commit"]) == ("applied", reads.head())
    note = reads.note("alice", note_id)
    assert (note.content, note.type, note.category, note.tags) == ("Alice likes tea.", "note", "food", ("drinks",))
    assert (note.confidence, note.importance, note.source, note.session_id) == (0.8, 1.0, "agent", "s")
    assert data["content_sha256"] == note.sha256
    record = Proposal.objects.get(pk=data["proposal_id"])
    assert (record.reasoning, record.evidence, record.session_id) == ("She said so.", evidence, "s")

    answer = answered(call("memory_update", note_id=note_id, content="Alice prefers coffee."))
    assert answer["text"] == f"Note {note_id} updated."
    assert reads.note("alice", note_id).content == "Alice prefers coffee."
    assert answered(call("memory_delete", note_id=note_id))["text"] == f"Note {note_id} deleted."
    assert reads.find_note("alice", note_id) is None


def test_where_the_owner_wants_to_be_asked_it_waits(call: Call, ask_first: None) -> None:
    answer = answered(call("memory_save", content="Alice likes tea."))
    note_id = answer["data"]["note_id"]
    waiting = f"Proposal created for note {note_id}. The user will be asked to approve this change."
    assert answer["text"].split("\n")[0] == waiting
    assert (answer["data"]["status"], answer["data"]["commit"]) == ("open", None)
    assert answer["data"]["head_commit"]
    assert reads.notes("alice") == ()


def test_propose_alone_makes_a_proposal_that_names_the_note(careful: Machine) -> None:
    assert "memory_save" in {tool["name"] for tool in answered(careful.get("/api/v1/tools/"))["data"]["tools"]}
    for tool, named in (("remember", "memory_id"), ("memory_save", "note_id")):
        data = answered(careful.call(tool, content=f"Alice likes {tool}."))["data"]
        assert (data["status"], data.get("remembered", False)) == ("open", False)
        seen = answered(careful.call("get_proposal", proposal_id=data["proposal_id"]))
        assert seen["text"].startswith(f"Proposal {data['proposal_id']} for note '{data[named]}' is open")
        assert (seen["data"]["target_kind"], seen["data"]["kind"]) == ("note", "save")
        assert seen["data"]["notes"][0]["after"]["content"] == f"Alice likes {tool}."
    assert Proposal.objects.filter(kind="save", status=Status.OPEN, target_kind="note").count() == 2


@pytest.mark.parametrize("tool", ["memory_save", "memory_update", "memory_delete", "remember", "forget"])
def test_without_either_scope_a_write_is_refused(reader: Machine, tool: str) -> None:
    error = refused(reader.call(tool, content="x", note_id="y", memory_id="y"), 403, "missing_scope")
    assert error["details"]["required"] == "notes:write"


@pytest.mark.parametrize(
    ("field", "given", "reason"),
    [
        ("content", {"content": ""}, "empty"),
        ("content", {"content": " \n"}, "empty"),
        ("content", {"content": "x" * 2_345}, "the content has 2,345 characters, 345 more than the 2,000"),
        ("tags[0]", {"tags": ["y" * 65]}, "at most 64 characters"),
        ("tags", {"tags": ["y"] * 51}, "at most 50 items"),
        ("tags", {"tags": "y"}, "must be a list"),
    ],
)
def test_what_cannot_be_kept_is_named_and_changes_nothing(
    call: Call, tea: str, field: str, given: dict[str, object], reason: str
) -> None:
    before = reads.head()
    answers = [call(tool, **{"content": "x"} | given) for tool in ("memory_save", "remember")]
    if "content" in given:
        answers.append(call("memory_update", note_id=tea, **given))
    for answer in answers:
        assert reason in refused(answer, 400, "invalid_arguments")["details"]["fields"][field]
    refused(call("memory_update", note_id=tea, content="Alice likes tea."), 422, "no_change")
    assert reads.head() == before


@pytest.mark.parametrize(
    ("tool", "name"), [("memory_update", "note_id"), ("memory_delete", "note_id"), ("forget", "memory_id")]
)
def test_a_foreign_note_and_an_unknown_one_look_the_same(call: Call, ben: User, tool: str, name: str) -> None:
    foreign = save(ben, "Ben's secret.")
    more = {"content": "x"} if tool == "memory_update" else {}
    texts = []
    for note_id in (foreign, "note-00000000-0000-4000-8000-000000000000", "nonsense"):
        error = refused(call(tool, **{name: note_id}, **more), 404, "note_not_found")
        assert error["text"] == f"Error: Note '{note_id}' not found."
        texts.append(str(error["details"]).replace(note_id, "?"))
    assert len(set(texts)) == 1
    assert reads.note("ben", foreign).content == "Ben's secret."


def test_a_crashed_delete_is_resumed(call: Call, tea: str) -> None:
    answered(call("memory_delete", note_id=tea, idempotency_key="k"))
    IdempotencyKey.objects.update(status=None, response="", lease_expires_at=timezone.now() - timedelta(seconds=1))
    assert answered(call("memory_delete", note_id=tea, idempotency_key="k"))["data"]["status"] == "applied"


@override_settings(PENDING_CAP=1)
def test_waiting_notes_count_against_the_cap(careful: Machine) -> None:
    waiting = answered(careful.call("memory_save", content="one"))["data"]
    error = refused(careful.call("memory_save", content="two"), 429, "too_many_pending")
    (named,) = error["details"]["proposals"]
    assert (named["proposal_id"], named["note_id"]) == (waiting["proposal_id"], waiting["note_id"])
    assert named["block_label"] is None


def test_where_notes_supersede_each_other_in_a_circle_none_holds(call: Call, alice: User) -> None:
    ids = [save(alice, f"Statement {n}.") for n in range(3)]
    for note_id, other in ((ids[0], ids[1]), (ids[1], ids[2]), (ids[2], ids[1])):
        with dolt_transaction() as verbs:
            MemoryNote.objects.filter(note_id=note_id).update(superseded_by=other, superseded_at=timezone.now())
            verbs.commit("Close a circle", ASSENT)
    with override_settings(TOOL_TIMEOUT=2):
        error = refused(call("memory_update", note_id=ids[0], content="New."), 409, "note_superseded")
    assert error["details"]["holds"] is None
