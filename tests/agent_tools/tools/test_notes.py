"""memory_save, memory_update, memory_delete; remember, recall, forget: texts, limits, refusals, what holds instead."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import override_settings
from django.utils import timezone

from agent_tools.calls import execution
from agent_tools.models import IdempotencyKey
from approvals.models import Proposal, User
from approvals.services.trust import create_rule
from memory_app import reads, recall_counts
from memory_app.models import MemoryNote
from memory_app.writing.authors import ASSENT
from tests.agent_tools.checks import answered, refused
from tests.agent_tools.conftest import Call, Machine
from tests.conftest import eventually
from tests.support.acts import save
from tests.support.first import dolt, dolt_transaction
from tests.support.fixtures import ClientOf

pytestmark = pytest.mark.usefixtures("alice")


@pytest.fixture
def tea(call: Call) -> str:
    """The id of a note of alice's."""
    return str(answered(call("memory_save", content="Alice likes tea."))["data"]["note_id"])


def remember(call: Call, content: str, **more: Any) -> str:
    return str(answered(call("remember", content=content, **more))["data"]["memory_id"])


def commits_on_main() -> int:
    return len(dolt().own_log())


def contents(call: Call, **asked: Any) -> list[str]:
    """What the memories say that are recalled."""
    return [memory["content"] for memory in answered(call("recall", **asked))["data"]["memories"]]


@pytest.fixture
def told() -> Iterator[list[dict[str, Any]]]:
    """What the signals said."""
    heard: list[dict[str, Any]] = []

    def hear(signal: Any, **about: Any) -> None:
        heard.append({name: value for name, value in about.items() if name != "sender"})

    for signal in (execution.remembered, execution.recalled, execution.forgotten):
        signal.connect(hear)
    yield heard
    for signal in (execution.remembered, execution.recalled, execution.forgotten):
        signal.disconnect(hear)


# -- save, update, delete --------------------------------------------------------------------------


def test_a_list_of_texts_is_saved_in_one_commit(call: Call, tea: str) -> None:
    said = ["Alice sails.", "alice likes tea", "Alice has a dog.", "Alice sails."]
    commits = commits_on_main()
    saved = answered(call("memory_save", content=said, tags=["hobby"], idempotency_key="one"))
    ids = saved["data"]["note_ids"]
    assert commits_on_main() == commits + 1
    assert (ids[1], ids[3], saved["data"]["note_id"]) == (tea, ids[0], ids[0])
    assert saved["text"].splitlines() == [f"Notes {ids[0]}, {ids[2]} saved.", f"Known already: {tea}."]
    assert {(note.id, note.content, note.tags) for note in reads.notes("alice")} == {
        (ids[0], "Alice sails.", ("hobby",)),
        (tea, "Alice likes tea.", ()),
        (ids[2], "Alice has a dog.", ("hobby",)),
    }
    assert answered(call("memory_save", content=said, tags=["hobby"], idempotency_key="one"))["data"] == saved["data"]
    again = answered(call("memory_save", content=said))
    assert (again["data"]["status"], again["data"]["note_ids"]) == ("known", ids)
    assert commits_on_main() == commits + 1


@pytest.mark.parametrize("needs", ["ask", "small"])
def test_a_list_waits_where_a_note_would(call: Call, needs: str, alice: User) -> None:
    create_rule(actor=alice, owner="alice", kind="save", needs=needs)
    saved = answered(call("memory_save", content=[f"Alice says {'many words ' * 30}{each}." for each in "abc"]))
    assert saved["data"]["status"] == "open"
    assert not reads.notes("alice")


def test_a_list_with_a_bad_text_saves_nothing(call: Call) -> None:
    for bad, why in {"": "empty", "x" * 2_001: "1 more than"}.items():
        error = refused(call("memory_save", content=["Alice sails.", bad]), 400, "invalid_arguments")
        assert why in error["details"]["fields"]["content[1]"]
    assert not reads.notes("alice")
    for given, fields in (
        ([], {"content": 'must have at least 1 item, such as "…"'}),
        (["Alice sails.", 5], {"content[1]": "must be a string"}),
        (5, {"content": "must be a string"}),
    ):
        assert refused(call("memory_save", content=given), 400, "invalid_arguments")["details"]["fields"] == fields
    refused(call("memory_save", content=[f"Alice {each}." for each in range(51)]), 400, "invalid_arguments")


def test_a_note_is_saved_changed_and_deleted_at_once(call: Call) -> None:
    evidence = [{"role": "user", "content": "I like tea."}]
    more = {"category": "food", "tags": ["drinks"], "session_id": "s", "evidence": evidence}
    answer = answered(call("memory_save", content="Alice likes tea.", reasoning="She said so.", **more))
    data = answer["data"]
    note_id = data["note_id"]
    assert answer["text"] == f"Note {note_id} saved."
    assert (data["status"], data["commit"]) == ("applied", reads.head("alice"))
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


def test_what_only_proposes_waits_and_names_the_note(careful: Machine) -> None:
    assert "memory_save" in {tool["name"] for tool in answered(careful.get("/api/v1/tools/"))["data"]["tools"]}
    for tool, named in (("remember", "memory_id"), ("memory_save", "note_id")):
        answer = answered(careful.call(tool, content=f"Alice likes {tool}."))
        data = answer["data"]
        waiting = f"Proposal created for note {data[named]}. The user will be asked to approve this change."
        assert answer["text"].split("\n")[0] == waiting
        assert (data["status"], data["commit"], data.get("remembered", False)) == ("open", None, False)
        seen = answered(careful.call("get_proposal", proposal_id=data["proposal_id"]))
        assert seen["text"].startswith(f"Proposal {data['proposal_id']} for note '{data[named]}' is open")
        assert (seen["data"]["target_kind"], seen["data"]["kind"]) == ("note", "save")
        assert seen["data"]["notes"][0]["after"]["content"] == f"Alice likes {tool}."
        assert data["head_commit"] == seen["data"]["head_commit"]
    assert reads.notes("alice") == ()


@pytest.mark.parametrize("tool", ["memory_save", "memory_update", "memory_delete", "remember", "forget"])
def test_without_either_scope_a_write_is_refused(reader: Machine, tool: str) -> None:
    error = refused(reader.call(tool, content="x", note_id="y", memory_id="y"), 403, "missing_scope")
    assert error["details"]["required"] == "notes:write"


def test_what_cannot_be_kept_is_named_and_changes_nothing(call: Call, tea: str) -> None:
    before = reads.head("alice")
    too_long = "the content has 2,345 characters, 345 more than the 2,000"
    for content, reason in (("", "empty"), (" \n", "empty"), ("x" * 2_345, too_long)):
        answers = [call(tool, content=content) for tool in ("memory_save", "remember")]
        for answer in [*answers, call("memory_update", note_id=tea, content=content)]:
            assert reason in refused(answer, 400, "invalid_arguments")["details"]["fields"]["content"]
    refused(call("memory_update", note_id=tea, content="Alice likes tea."), 422, "no_change")
    assert reads.head("alice") == before


@pytest.mark.parametrize(
    ("tool", "name"), [("memory_update", "note_id"), ("memory_delete", "note_id"), ("forget", "memory_id")]
)
def test_a_foreign_note_and_an_unknown_one_look_the_same(call: Call, ben: User, tool: str, name: str) -> None:
    foreign = save(ben, "Ben's secret.")
    more = {"content": "x"} if tool == "memory_update" else {}
    texts = []
    for note_id in (foreign, "note-00000000-0000-4000-8000-000000000000", "nonsense"):
        error = refused(call(tool, **{name: note_id}, **more), 404, "note_not_found")
        assert error["text"].startswith(f"Error: Note '{note_id}' not found.\nmemory_search has ")
        texts.append(str(error["details"]).replace(note_id, "?"))
    assert len(set(texts)) == 1
    assert reads.note("ben", foreign).content == "Ben's secret."


def test_a_crashed_delete_is_resumed(call: Call, tea: str) -> None:
    answered(call("memory_delete", note_id=tea, idempotency_key="k"))
    IdempotencyKey.objects.update(status=None, response="", lease_expires_at=timezone.now() - timedelta(seconds=1))
    assert answered(call("memory_delete", note_id=tea, idempotency_key="k"))["data"]["status"] == "applied"


def test_where_notes_supersede_each_other_in_a_circle_none_holds(call: Call, alice: User) -> None:
    ids = [save(alice, f"Statement {n}.") for n in range(3)]
    for note_id, other in ((ids[0], ids[1]), (ids[1], ids[2]), (ids[2], ids[1])):
        with dolt_transaction() as verbs:
            MemoryNote.objects.filter(note_id=note_id).update(superseded_by=other, superseded_at=timezone.now())
            verbs.commit("Close a circle", ASSENT)
    with override_settings(TOOL_TIMEOUT=2):
        error = refused(call("memory_update", note_id=ids[0], content="New."), 409, "note_superseded")
    assert error["details"]["holds"] is None


# -- remember -------------------------------------------------------------------------------------


def test_what_is_remembered_is_a_fact_unless_said_otherwise(call: Call) -> None:
    answer = answered(call("remember", content="Alice likes tea.", rationale="She said so."))
    data = answer["data"]
    assert answer["text"] == data["message"] == f"Successfully stored fact memory with id {data['memory_id']}"
    assert (data["remembered"], data["memory_type"], data["status"]) == (True, "fact", "applied")
    note = reads.note("alice", data["memory_id"])
    assert (note.type, note.confidence, note.importance, note.source) == ("fact", 0.8, 1.0, "agent")
    assert note.rationale == "She said so."
    # Models are shown one word for a reason.
    made = answered(call("remember", content="Alice rows.", reasoning="She has a boat."))["data"]["memory_id"]
    assert reads.note("alice", made).rationale == "She has a boat."
    answered(call("forget", note_id=made, reasoning="She sold it."))
    assert reads.note("alice", made).superseded_reason == "She sold it."
    (memory,) = answered(call("recall"))["data"]["memories"]
    assert memory.pop("timestamp").endswith("Z")
    assert memory == {"id": note.id, "content": "Alice likes tea.", "type": "fact", "confidence": 0.8}


@pytest.mark.parametrize(("given", "kept"), [(7, 1.0), (-0.5, 0.0), (0, 0.0), (0.25, 0.25), (1e300, 1.0)])
def test_confidence_is_clamped(call: Call, given: float, kept: float) -> None:
    assert reads.note("alice", remember(call, "x", confidence=given)).confidence == kept


def test_an_id_of_ones_own_is_kept_once(call: Call) -> None:
    assert remember(call, "x", memory_id="mem-1737372000-a1b2") == "mem-1737372000-a1b2"
    for bad in ("mem-1737372000-a1b2", "../x"):
        error = refused(call("remember", content="y", memory_id=bad), 400, "invalid_arguments")
        assert "memory_id" in error["details"]["fields"]
    assert [note.content for note in reads.notes("alice")] == ["x"]


# -- recall ---------------------------------------------------------------------------------------


def test_the_newest_are_recalled_first_by_type_confidence_and_text(call: Call) -> None:
    remember(call, "Likes GREEN tea.", confidence=0.9)
    remember(call, "Likes coffee.", confidence=0.3)
    remember(call, "Likes tea too much.", type="risk", confidence=0.9)
    assert contents(call) == ["Likes tea too much.", "Likes GREEN tea."]
    assert contents(call, limit=1) == ["Likes tea too much."]
    assert contents(call, min_confidence=0) == ["Likes tea too much.", "Likes coffee.", "Likes GREEN tea."]
    assert contents(call, type="fact") == ["Likes GREEN tea."]
    assert contents(call, query="tea", type="fact", min_confidence=0.9) == ["Likes GREEN tea."]
    assert contents(call, query="green TEA", match="text") == ["Likes GREEN tea."]
    assert contents(call, query="black tea", match="text") == []


def test_a_session_recalls_its_own(call: Call) -> None:
    remember(call, "from one", session_id="one")
    remember(call, "from two", session_id="two")
    assert contents(call, scope="session", session_id="one") == ["from one"]
    assert contents(call, scope="session", session_id="one", query="one") == ["from one"]
    assert contents(call, session_id="one") == ["from two", "from one"]
    refused(call("recall", scope="session"), 400, "missing_session_id")


def test_recalls_are_counted_beside_the_memory(call: Call, api: Machine, alice: User, client_of: ClientOf) -> None:
    memory_id, other = remember(call, "x"), remember(call, "unsure", confidence=0.1)

    def read() -> tuple[int, str | None]:
        data = answered(api.get(f"/api/v1/users/alice/notes/{memory_id}/"))["data"]
        return data["access_count"], data["last_access"]

    assert read() == (0, None)
    before = reads.head("alice")
    call("recall")
    first = recall_counts.for_owner("alice", [memory_id])[memory_id]
    call("recall", query="x", match="text")
    counted = recall_counts.for_owner("alice", [memory_id, other])
    assert list(counted) == [memory_id]
    assert (first.count, counted[memory_id].count, read()[0]) == (1, 2, 2)
    assert counted[memory_id].last_at > first.last_at
    assert str(read()[1]).endswith("Z")
    assert reads.head("alice") == before
    items = answered(api.get("/api/v1/users/alice/notes/"))["data"]["items"]
    assert {item["id"]: item["access_count"] for item in items} == {memory_id: 2, other: 0}
    assert "Recalled by agents" in client_of(alice).get(f"/memory/alice/notes/{memory_id}/").content.decode()


# -- forget ---------------------------------------------------------------------------------------


def test_a_forgotten_memory_is_superseded_and_still_readable(call: Call, api: Machine) -> None:
    old, new = remember(call, "Django 5 is used."), remember(call, "Django 6 is used.")
    answer = answered(call("forget", memory_id=old, reason="It was upgraded.", replacement_id=new))
    assert answer["text"] == answer["data"]["message"] == f"Memory {old} has been superseded"
    assert (answer["data"]["forgotten"], answer["data"]["reason"]) == (True, "It was upgraded.")
    note = answered(api.get(f"/api/v1/users/alice/notes/{old}/"))["data"]
    assert (note["superseded_by"], note["superseded_reason"]) == (new, "It was upgraded.")
    for asked in ({}, {"query": "used"}, {"query": "used", "match": "text"}):
        assert contents(call, **asked) == ["Django 6 is used."]
        assert len(contents(call, include_superseded=True, **asked)) == 2

    answer = answered(call("recall", query="Django", match="text", include_superseded=True))
    by_id = {memory["id"]: memory for memory in answer["data"]["memories"]}
    assert (by_id[old]["superseded_by"], by_id[old]["superseded_reason"]) == (new, "It was upgraded.")
    assert not [name for name in by_id[new] if name.startswith("superseded")]
    day = by_id[old]["superseded_at"][:10]
    lines = answer["text"].splitlines()
    assert f"- {old} (fact, superseded {day} by {new}: It was upgraded.): Django 5 is used." in lines
    assert f"- {new} (fact): Django 6 is used." in lines


def test_a_superseded_memory_cannot_be_forgotten_again(call: Call) -> None:
    old = remember(call, "x")
    answered(call("forget", memory_id=old, reason="Wrong."))
    error = refused(call("forget", memory_id=old), 409, "note_superseded")
    assert error["text"] == (
        f"Error: Note '{old}' is superseded: it was forgotten, and nothing took its place. "
        "Save a new note if there is something to remember; only the user can put this one back."
    )
    superseded_at = error["details"].pop("superseded_at")
    assert datetime.fromisoformat(superseded_at) <= timezone.now()
    assert error["details"] == {"note_id": old, "superseded_reason": "Wrong.", "superseded_by": None, "holds": None}


def test_a_superseded_note_is_not_updated_what_holds_is_named_and_it_can_be_deleted(call: Call) -> None:
    first, second, third = remember(call, "Bonn"), remember(call, "Berlin"), remember(call, "Kiel")
    answered(call("forget", memory_id=first, replacement_id=second))
    answered(call("forget", memory_id=second, replacement_id=third))
    for again in (
        call("memory_update", note_id=first, content="Bremen"),
        call("forget", memory_id=first, replacement_id=third),
    ):
        error = refused(again, 409, "note_superseded")
        assert (error["details"]["superseded_by"], error["details"]["holds"]) == (second, third)
        assert f"note '{third}' took its place" in error["text"]
    assert reads.note("alice", first).content == "Bonn"
    assert answered(call("memory_delete", note_id=first))["text"] == f"Note {first} deleted."
    answered(call("memory_update", note_id=third, content="Bremen"))


def test_a_change_proposed_while_the_note_held_waits_as_a_conflict(careful: Machine, call: Call, worker: None) -> None:
    old = remember(call, "Bonn")
    waiting = answered(careful.call("memory_update", note_id=old, content="Bremen"))["data"]["proposal_id"]
    answered(call("forget", memory_id=old))

    def told() -> tuple[str, str]:
        data = answered(careful.call("get_proposal", proposal_id=waiting))["data"]
        return data["status"], data["mergeability"]

    assert eventually(lambda: told() == ("open", "conflict"))  # a worker looks
    refused(careful.call("memory_update", note_id=old, content="Kiel"), 409, "note_superseded")


def test_a_replacement_must_be_another_that_is_there(call: Call, ben: User) -> None:
    one, two = remember(call, "one"), remember(call, "two")
    error = refused(call("forget", memory_id=one, replacement_id=one), 400, "invalid_arguments")
    assert "replacement_id" in error["details"]["fields"]
    for missing in (save(ben, "Ben's."), "note-00000000-0000-4000-8000-000000000000"):
        error = refused(call("forget", memory_id=one, replacement_id=missing), 404, "replacement_not_found")
        assert error["details"] == {"replacement_id": missing}
        assert error["text"] == f"Error: replacement_id: note '{missing}' not found."
    answered(call("forget", memory_id=one, replacement_id=two))
    error = refused(call("forget", memory_id=two, replacement_id=one), 400, "invalid_arguments")
    assert "circle" in error["details"]["fields"]["replacement_id"]
    assert not reads.note("alice", two).is_superseded


# -- signals --------------------------------------------------------------------------------------


def test_each_tells_the_log_and_a_signal(call: Call, told: Any) -> None:
    memory_id = remember(call, "x", type="risk", session_id="s")
    call("recall", type="risk", session_id="s")
    call("forget", memory_id=memory_id, session_id="s")
    durations = [about.pop("duration") for about in told]
    assert all(duration > 0 for duration in durations)
    common = {"owner": "alice", "agent": "scribe", "session_id": "s", "type": "risk"}
    assert told == [
        common | {"note_id": memory_id, "status": "applied"},
        common
        | {"count": 1, "has_query": False, "min_confidence": 0.5, "limit": 10}
        | {"match": "hybrid", "scope": "user", "include_superseded": False},
        common | {"note_id": memory_id, "status": "applied"},
    ]


def test_a_receiver_that_fails_changes_nothing(call: Call) -> None:
    def fail(**about: Any) -> None:
        raise RuntimeError("no")

    execution.remembered.connect(fail)
    try:
        assert remember(call, "x")
    finally:
        execution.remembered.disconnect(fail)
