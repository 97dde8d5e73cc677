"""memory_save, memory_update, memory_delete: automatic or waiting, texts, limits, refusals."""

import pytest
from django.test import override_settings
from django.utils import timezone

from approvals.models import Policy, Proposal, Status, User
from approvals.services import notes
from memory_app import reads
from memory_app.dolt.connections import dolt_transaction
from memory_app.models import MemoryNote
from memory_app.writing.authors import ASSENT
from tests.agent_tools.checks import answered, refused
from tests.agent_tools.conftest import Call, Issue, MachineOf


@pytest.fixture
def tea(call: Call) -> str:
    """The id of a note of alice's."""
    return str(answered(call("memory_save", content="Alice likes tea."))["data"]["note_id"])


def test_a_note_is_saved_at_once_and_says_so(call: Call, alice: User) -> None:
    answer = answered(call("memory_save", content="Alice likes tea.", category="food", tags=["drinks"], session_id="s"))
    data = answer["data"]
    assert answer["text"] == f"Note {data['note_id']} saved."
    assert data["status"] == "applied"
    assert data["commit"]
    note = reads.note("alice", data["note_id"])
    assert (note.content, note.type, note.category, note.tags) == ("Alice likes tea.", "note", "food", ("drinks",))
    assert (note.confidence, note.importance, note.source, note.session_id) == (0.8, 1.0, "agent", "s")
    assert data["content_sha256"] == note.sha256


def test_an_update_keeps_the_id(call: Call, tea: str) -> None:
    answer = answered(call("memory_update", note_id=tea, content="Alice prefers coffee."))
    assert answer["text"] == f"Note {tea} updated."
    assert reads.note("alice", tea).content == "Alice prefers coffee."


def test_a_deleted_note_is_gone(call: Call, tea: str) -> None:
    answer = answered(call("memory_delete", note_id=tea))
    assert answer["text"] == f"Note {tea} deleted."
    assert reads.find_note("alice", tea) is None


def test_where_the_owner_wants_to_be_asked_it_waits(call: Call, alice: User) -> None:
    Policy.objects.create(owner="alice", notes=Policy.Notes.REVIEW)
    answer = answered(call("memory_save", content="Alice likes tea."))
    note_id = answer["data"]["note_id"]
    waiting = f"Proposal created for note {note_id}. The user will be asked to approve this change."
    assert answer["text"].split("\n")[0] == waiting
    assert (answer["data"]["status"], answer["data"]["commit"]) == ("open", None)
    assert answer["data"]["head_commit"]
    assert reads.notes("alice") == ()


def test_propose_alone_makes_a_proposal(machine: MachineOf, issue: Issue, alice: User) -> None:
    careful = machine(issue(alice, scopes=["memory:read", "memory:propose"]))
    for tool in ("memory_save", "remember"):
        answer = answered(careful.call(tool, content=f"Alice likes {tool}."))
        assert answer["data"]["status"] == "open"
        assert answer["text"].startswith("Proposal created for note note-")
    assert answer["data"]["remembered"] is False
    assert Proposal.objects.filter(kind="save", status=Status.OPEN, target_kind="note").count() == 2
    assert "memory_save" in {tool["name"] for tool in answered(careful.get("/api/v1/tools/"))["data"]["tools"]}


@pytest.mark.parametrize("tool", ["memory_save", "memory_update", "memory_delete", "remember", "forget"])
def test_without_either_scope_a_write_is_refused(machine: MachineOf, issue: Issue, alice: User, tool: str) -> None:
    reader = machine(issue(alice, scopes=["memory:read"]))
    error = refused(reader.call(tool, content="x", note_id="y", memory_id="y"), 403, "missing_scope")
    assert error["details"]["required"] == "notes:write"


def test_reasoning_and_evidence_go_into_the_record(call: Call, alice: User) -> None:
    evidence = [{"role": "user", "content": "I like tea."}]
    saved = answered(call("memory_save", content="x", reasoning="She said so.", evidence=evidence, session_id="s"))
    proposal = Proposal.objects.get(pk=saved["data"]["proposal_id"])
    assert (proposal.reasoning, proposal.evidence, proposal.session_id) == ("She said so.", evidence, "s")


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
    ("tool", "name"),
    [("memory_update", "note_id"), ("memory_delete", "note_id"), ("forget", "memory_id")],
)
def test_a_foreign_note_and_an_unknown_one_look_the_same(call: Call, ben: User, tool: str, name: str) -> None:
    foreign = notes.save(by=notes.ChangeContext(actor=ben), owner="ben", content="Ben's secret.").note_id
    unknown = "note-00000000-0000-4000-8000-000000000000"
    more = {"content": "x"} if tool == "memory_update" else {}
    texts = []
    for note_id in (foreign, unknown, "nonsense"):
        error = refused(call(tool, **{name: note_id}, **more), 404, "note_not_found")
        assert error["text"] == f"Error: Note '{note_id}' not found."
        texts.append((error["text"] + str(error["details"])).replace(note_id, "?"))
    assert len(set(texts)) == 1
    assert reads.note("ben", foreign).content == "Ben's secret."


def test_a_crashed_delete_is_resumed(call: Call, tea: str) -> None:
    from datetime import timedelta

    from django.utils import timezone

    from agent_tools.models import IdempotencyKey

    answered(call("memory_delete", note_id=tea, idempotency_key="k"))
    IdempotencyKey.objects.update(status=None, response="", lease_expires_at=timezone.now() - timedelta(seconds=1))
    assert answered(call("memory_delete", note_id=tea, idempotency_key="k"))["data"]["status"] == "applied"


@override_settings(PENDING_CAP=1)
def test_waiting_notes_count_against_the_cap(machine: MachineOf, issue: Issue, alice: User) -> None:
    careful = machine(issue(alice, scopes=["memory:propose"]))
    waiting = answered(careful.call("memory_save", content="one"))["data"]
    error = refused(careful.call("memory_save", content="two"), 429, "too_many_pending")
    (named,) = error["details"]["proposals"]
    assert (named["proposal_id"], named["note_id"]) == (waiting["proposal_id"], waiting["note_id"])
    assert named["block_label"] is None


def test_a_proposal_about_a_note_names_the_note(machine: MachineOf, issue: Issue, alice: User) -> None:
    careful = machine(issue(alice, scopes=["memory:propose", "memory:read"]))
    saved = answered(careful.call("memory_save", content="Alice likes tea."))["data"]
    seen = answered(careful.call("get_proposal", proposal_id=saved["proposal_id"]))
    assert seen["text"].startswith(f"Proposal {saved['proposal_id']} for note '{saved['note_id']}' is open")
    assert (seen["data"]["target_kind"], seen["data"]["kind"]) == ("note", "save")
    assert seen["data"]["notes"][0]["after"]["content"] == "Alice likes tea."


def test_where_notes_supersede_each_other_in_a_circle_none_holds(call: Call, alice: User) -> None:
    ids = [answered(call("memory_save", content=f"Statement {n}."))["data"]["note_id"] for n in range(3)]
    for note_id, other in ((ids[0], ids[1]), (ids[1], ids[2]), (ids[2], ids[1])):
        with dolt_transaction() as verbs:
            MemoryNote.objects.filter(note_id=note_id).update(superseded_by=other, superseded_at=timezone.now())
            verbs.commit("Close a circle", ASSENT)
    with override_settings(TOOL_TIMEOUT=2):
        error = refused(call("memory_update", note_id=ids[0], content="New."), 409, "note_superseded")
    assert error["details"]["holds"] is None
