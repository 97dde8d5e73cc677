"""remember, recall, forget: types, confidence, filters, supersession, accesses, signals."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest
from django.utils import timezone

from agent_tools.calls import audit
from approvals.models import User
from approvals.services import notes
from assent_client.text.notes import TYPES
from memory_app import reads, recall_counts
from tests.agent_tools.checks import answered, refused
from tests.agent_tools.conftest import Call, Issue, Machine, MachineOf
from tests.conftest import eventually
from tests.support.fixtures import ClientOf


def remember(call: Call, content: str, **more: Any) -> str:
    return str(answered(call("remember", content=content, **more))["data"]["memory_id"])


def contents(answer: Any) -> list[str]:
    return [memory["content"] for memory in answered(answer)["data"]["memories"]]


@pytest.fixture
def told() -> Iterator[list[dict[str, Any]]]:
    """What the signals said."""
    heard: list[dict[str, Any]] = []

    def hear(signal: Any, **about: Any) -> None:
        heard.append({name: value for name, value in about.items() if name != "sender"})

    for signal in (audit.remembered, audit.recalled, audit.forgotten):
        signal.connect(hear)
    yield heard
    for signal in (audit.remembered, audit.recalled, audit.forgotten):
        signal.disconnect(hear)


def test_what_is_remembered_is_a_fact_unless_said_otherwise(call: Call, alice: User) -> None:
    answer = answered(call("remember", content="Alice likes tea.", rationale="She said so."))
    data = answer["data"]
    assert answer["text"] == data["message"] == f"Successfully stored fact memory with id {data['memory_id']}"
    assert (data["remembered"], data["memory_type"], data["status"]) == (True, "fact", "applied")
    note = reads.note("alice", data["memory_id"])
    assert (note.type, note.confidence, note.importance, note.source) == ("fact", 0.8, 1.0, "agent")
    assert note.rationale == "She said so."


@pytest.mark.parametrize(("given", "kept"), [(7, 1.0), (-0.5, 0.0), (0, 0.0), (0.25, 0.25), (1e300, 1.0)])
def test_confidence_is_clamped(call: Call, alice: User, given: float, kept: float) -> None:
    assert reads.note("alice", remember(call, "x", confidence=given)).confidence == kept


@pytest.mark.parametrize("given", ["high", "0.8", True, [], {}])
def test_a_confidence_that_is_no_number_is_refused(call: Call, alice: User, given: Any) -> None:
    error = refused(call("remember", content="x", confidence=given), 400, "invalid_arguments")
    assert error["details"]["fields"] == {"confidence": "must be a number"}
    assert reads.notes("alice") == ()


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
def test_nan_is_no_json(api: Machine, alice: User, constant: str) -> None:
    raw = f'{{"content": "x", "confidence": {constant}}}'
    refused(api.post("/api/v1/tools/remember/", raw), 400, "invalid_json")
    assert reads.notes("alice") == ()


def test_an_id_of_ones_own_is_kept_once(call: Call, alice: User) -> None:
    assert remember(call, "x", memory_id="mem-1737372000-a1b2") == "mem-1737372000-a1b2"
    error = refused(call("remember", content="y", memory_id="mem-1737372000-a1b2"), 400, "invalid_arguments")
    assert "memory_id" in error["details"]["fields"]
    error = refused(call("remember", content="y", memory_id="../x"), 400, "invalid_arguments")
    assert "memory_id" in error["details"]["fields"]
    assert [note.content for note in reads.notes("alice")] == ["x"]


def test_without_a_query_the_newest_come_first(call: Call, alice: User) -> None:
    for content in ("one", "two", "three"):
        remember(call, content)
    assert contents(call("recall")) == ["three", "two", "one"]
    assert contents(call("recall", limit=2)) == ["three", "two"]


def test_a_memory_is_recalled_with_its_fields(call: Call, alice: User) -> None:
    memory_id = remember(call, "x", type="risk", confidence=0.9)
    (memory,) = answered(call("recall"))["data"]["memories"]
    assert memory.pop("timestamp").endswith("Z")
    assert memory == {"id": memory_id, "content": "x", "type": "risk", "confidence": 0.9}


def test_text_matches_what_contains_it_case_aside(call: Call, alice: User) -> None:
    remember(call, "Alice likes GREEN tea.")
    remember(call, "Alice likes coffee.")
    assert contents(call("recall", query="green TEA", match="text")) == ["Alice likes GREEN tea."]
    assert contents(call("recall", query="black tea", match="text")) == []


def test_type_and_confidence_filter(call: Call, alice: User) -> None:
    remember(call, "sure fact", confidence=0.9)
    remember(call, "unsure fact", confidence=0.3)
    remember(call, "sure risk", type="risk", confidence=0.9)
    assert contents(call("recall", type="fact")) == ["sure fact"]
    assert set(contents(call("recall", min_confidence=0))) == {"sure fact", "unsure fact", "sure risk"}
    assert contents(call("recall", query="fact", type="fact", min_confidence=0.9)) == ["sure fact"]


@pytest.mark.parametrize(
    "given", [{"limit": 51}, {"limit": 1.5}, {"scope": "everyone"}, {"match": "fuzzy"}, {"include_superseded": "yes"}]
)
def test_what_recall_does_not_take_is_named(call: Call, alice: User, given: dict[str, Any]) -> None:
    error = refused(call("recall", **given), 400, "invalid_arguments")
    assert set(error["details"]["fields"]) == set(given)


def test_a_session_recalls_its_own(call: Call, alice: User) -> None:
    remember(call, "from one", session_id="one")
    remember(call, "from two", session_id="two")
    assert contents(call("recall", scope="session", session_id="one")) == ["from one"]
    assert contents(call("recall", scope="session", session_id="one", query="one")) == ["from one"]
    assert contents(call("recall", session_id="one")) == ["from two", "from one"]
    refused(call("recall", scope="session"), 400, "missing_session_id")


def test_recalls_are_counted_beside_the_memory(call: Call, alice: User) -> None:
    memory_id = remember(call, "x")
    other = remember(call, "unsure", confidence=0.1)
    before = reads.head()
    call("recall")
    first = recall_counts.for_owner("alice", [memory_id])[memory_id]
    call("recall", query="x", match="text")
    second = recall_counts.for_owner("alice", [memory_id])[memory_id]
    assert (first.count, second.count) == (1, 2)
    assert second.last_at > first.last_at
    assert other not in recall_counts.for_owner("alice", [memory_id, other])
    assert reads.head() == before


def test_a_note_says_how_often_it_was_recalled_and_when(
    call: Call, api: Machine, alice: User, client_of: ClientOf, django_assert_max_num_queries: Any
) -> None:
    memory_id = remember(call, "x")
    note = f"/api/v1/users/alice/notes/{memory_id}/"
    read = answered(api.get(note))["data"]
    assert (read["access_count"], read["last_access"]) == (0, None)
    call("recall")
    call("recall")
    read = answered(api.get(note))["data"]
    assert read["access_count"] == 2
    assert read["last_access"].endswith("Z")
    for number in range(5):
        remember(call, f"another {number}")
    items = answered(api.get("/api/v1/users/alice/notes/"))["data"]["items"]
    assert {item["id"]: item["access_count"] for item in items}[memory_id] == 2
    assert "Recalled by agents" in client_of(alice).get(f"/memory/alice/notes/{memory_id}/").content.decode()


def test_a_forgotten_memory_is_superseded_and_still_readable(call: Call, api: Machine, alice: User) -> None:
    old, new = remember(call, "Alice likes tea."), remember(call, "Alice likes coffee.")
    answer = answered(call("forget", memory_id=old, reason="She changed her mind.", replacement_id=new))
    assert answer["text"] == answer["data"]["message"] == f"Memory {old} has been superseded"
    assert (answer["data"]["forgotten"], answer["data"]["reason"]) == (True, "She changed her mind.")
    for asked in ({}, {"query": "likes"}, {"query": "likes", "match": "text"}):
        assert contents(call("recall", **asked)) == ["Alice likes coffee."]
        both = contents(call("recall", include_superseded=True, **asked))
        assert set(both) == {"Alice likes tea.", "Alice likes coffee."}
    note = answered(api.get(f"/api/v1/users/alice/notes/{old}/"))["data"]
    assert (note["superseded_by"], note["superseded_reason"]) == (new, "She changed her mind.")


def test_a_superseded_memory_cannot_be_forgotten_again(call: Call, alice: User) -> None:
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


def test_a_superseded_note_is_not_updated_and_what_holds_instead_is_named(call: Call, alice: User) -> None:
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
    answered(call("memory_update", note_id=third, content="Bremen"))


def test_a_superseded_note_can_be_deleted(call: Call, alice: User) -> None:
    old, new = remember(call, "Bonn"), remember(call, "Berlin")
    answered(call("forget", memory_id=old, replacement_id=new))
    assert answered(call("memory_delete", note_id=old))["text"] == f"Note {old} deleted."
    assert [note.id for note in reads.notes("alice")] == [new]


def test_a_change_proposed_while_the_note_held_waits_on_as_a_conflict(
    machine: MachineOf, issue: Issue, call: Call, alice: User, worker: None
) -> None:
    proposer = machine(issue(alice, scopes=["memory:read", "memory:propose"]))
    old = remember(call, "Bonn")
    waiting = answered(proposer.call("memory_update", note_id=old, content="Bremen"))["data"]["proposal_id"]
    answered(call("forget", memory_id=old))

    def told() -> tuple[str, str]:
        data = answered(proposer.call("get_proposal", proposal_id=waiting))["data"]
        return data["status"], data["mergeability"]

    assert eventually(lambda: told() == ("open", "conflict"))  # a worker looks
    refused(proposer.call("memory_update", note_id=old, content="Kiel"), 409, "note_superseded")


def test_a_replacement_must_be_another_that_is_there(call: Call, ben: User, alice: User) -> None:
    one, two = remember(call, "one"), remember(call, "two")
    error = refused(call("forget", memory_id=one, replacement_id=one), 400, "invalid_arguments")
    assert "replacement_id" in error["details"]["fields"]
    foreign = notes.save(by=notes.ChangeContext(actor=ben), owner="ben", content="Ben's.").note_id
    for missing in (foreign, "note-00000000-0000-4000-8000-000000000000"):
        error = refused(call("forget", memory_id=one, replacement_id=missing), 404, "replacement_not_found")
        assert error["details"] == {"replacement_id": missing}
        assert error["text"] == f"Error: replacement_id: note '{missing}' not found."
    answered(call("forget", memory_id=one, replacement_id=two))
    error = refused(call("forget", memory_id=two, replacement_id=one), 400, "invalid_arguments")
    assert "circle" in error["details"]["fields"]["replacement_id"]
    assert not reads.note("alice", two).is_superseded


def test_each_tells_the_log_and_a_signal(call: Call, alice: User, told: Any) -> None:
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


def test_a_receiver_that_fails_changes_nothing(call: Call, alice: User) -> None:
    def fail(**about: Any) -> None:
        raise RuntimeError("no")

    audit.remembered.connect(fail)
    try:
        assert remember(call, "x")
    finally:
        audit.remembered.disconnect(fail)


def test_what_is_superseded_is_marked_where_it_is_asked_for(call: Call, alice: User) -> None:
    old, new = remember(call, "Django 5 is used."), remember(call, "Django 6 is used.")
    answered(call("forget", memory_id=old, reason="It was upgraded.", replacement_id=new))
    answer = answered(call("recall", query="Django", match="text", include_superseded=True))
    by_id = {memory["id"]: memory for memory in answer["data"]["memories"]}
    assert (by_id[old]["superseded_by"], by_id[old]["superseded_reason"]) == (new, "It was upgraded.")
    assert by_id[old]["superseded_at"]
    assert not [name for name in by_id[new] if name.startswith("superseded")]
    lines = answer["text"].splitlines()
    day = by_id[old]["superseded_at"][:10]
    assert f"- {old} (fact, superseded {day} by {new}: It was upgraded.): Django 5 is used." in lines
    assert f"- {new} (fact): Django 6 is used." in lines


def test_the_refusal_of_a_type_names_all(call: Call, alice: User) -> None:
    types = ", ".join(TYPES)
    for tool, given, known in (
        ("recall", {"type": "banana"}, f"all, {types}"),
        ("remember", {"content": "x", "type": "all"}, types),
        ("memory_search", {"query": "x", "type": "all"}, types),
    ):
        fields = refused(call(tool, **given), 400, "invalid_arguments")["details"]["fields"]
        assert fields == {"type": f"must be one of {known}"}
