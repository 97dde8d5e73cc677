"""memory_search and the whole lives of notes: what was saved is found, what was changed or deleted is not."""

from __future__ import annotations

from typing import Any

import pytest

from approvals.services import notes
from tests.agent_tools.checks import answered, refused
from tests.conftest import eventually

pytestmark = pytest.mark.usefixtures("worker")


def found(call: Any, query: str, **more: Any) -> list[dict[str, Any]]:
    """The results, once the index has caught up."""

    def caught_up() -> Any:
        data = answered(call("memory_search", query=query, **more))["data"]
        return None if data["index_behind"] else data

    results: list[dict[str, Any]] = eventually(caught_up, seconds=20)["results"]
    return results


def texts(call: Any, query: str, **more: Any) -> list[str]:
    return [result["text"] for result in found(call, query, **more)]


def test_a_note_lives_from_save_to_delete(call: Any, alice: Any) -> None:
    note_id = answered(call("memory_save", content="The user's name is Shantanu"))["data"]["note_id"]
    assert [hit["note_id"] for hit in found(call, "user's name")] == [note_id]
    answered(call("memory_update", note_id=note_id, content="The user prefers to be called SG; that is the name"))
    (hit,) = found(call, "user's name")
    assert (hit["note_id"], hit["source"]) == (note_id, "user_memory")
    assert "SG" in hit["text"]
    assert not [text for text in texts(call, "Shantanu") if "Shantanu" in text]
    answered(call("memory_delete", note_id=note_id))
    assert found(call, "user's name") == []


def test_a_memory_lives_from_remember_to_forget(call: Any, alice: Any) -> None:
    memory_id = answered(call("remember", content="The exam is in June."))["data"]["memory_id"]

    def recalled(**more: Any) -> list[str]:
        def caught_up() -> Any:
            data = answered(call("recall", query="exam in June", **more))["data"]
            return None if data["index_behind"] else data

        return [memory["id"] for memory in eventually(caught_up, seconds=20)["memories"]]

    assert recalled() == [memory_id]
    answered(call("forget", memory_id=memory_id, reason="It was moved."))
    assert recalled() == []
    assert recalled(include_superseded=True) == [memory_id]


def test_blocks_are_searched_too(call: Any, goals: Any) -> None:
    answered(call("memory_save", content="She prefers evening lessons."))
    hits = found(call, "B2 exam in June")
    assert hits[0]["block_label"] == "goals"
    assert hits[0]["source"] == "memory_block"
    assert "note_id" not in hits[0]


def test_a_conversation_is_searched_when_asked_for(api: Any, call: Any, alice: Any) -> None:
    said = {"one": "I saw a green parrot.", "two": "My uncle's parrot, all green, speaks Italian with the postman."}
    for session, content in said.items():
        turn = {"id": "m", "role": "user", "content": content}
        answered(api.post(f"/api/v1/users/alice/conversations/{session}/messages/", {"messages": [turn]}))
    note = answered(call("memory_save", content="The parrot eats seeds.", session_id="three"))["data"]["note_id"]
    assert [hit.get("note_id") for hit in found(call, "parrot")] == [note]
    both = found(call, "green parrot", include_conversation=True, session_id="one")
    of_one = [hit for hit in both if hit["source"] == "conversation"]
    assert [(hit["session_id"], hit["message_id"]) for hit in of_one] == [("one", "m")]
    assert note in [hit.get("note_id") for hit in both]  # the session is no filter on what is known
    everywhere = found(call, "green parrot", sources=["conversation"])
    assert {hit["session_id"] for hit in everywhere} == {"one", "two"}
    answered(api.http.delete("/api/v1/users/alice/conversations/one/messages/"))
    assert {hit["session_id"] for hit in found(call, "green parrot", sources=["conversation"])} == {"two"}


def test_filters_narrow_the_notes(call: Any, alice: Any) -> None:
    answered(call("memory_save", content="Tea with milk.", category="food", tags=["drinks"]))
    answered(call("remember", content="Tea at five.", type="decision"))
    assert texts(call, "tea", category="food") == ["Tea with milk."]
    assert texts(call, "tea", tags=["drinks", "x"]) == ["Tea with milk."]
    assert texts(call, "tea", type="decision") == ["Tea at five."]
    assert len(texts(call, "tea", top_k=1)) == 1


def test_the_past_is_searched_as_it_was(call: Any, alice: Any) -> None:
    saved = answered(call("memory_save", content="The exam is in June."))["data"]
    answered(call("memory_update", note_id=saved["note_id"], content="The exam is in July."))
    assert texts(call, "exam") == ["The exam is in July."]
    assert texts(call, "exam", as_of=saved["commit"]) == ["The exam is in June."]
    refused(call("memory_search", query="x", as_of="1999-01-01"), 404, "revision_not_found")


def test_waiting_notes_are_in_no_search(machine: Any, issue: Any, call: Any, alice: Any) -> None:
    careful = machine(issue(alice, scopes=["memory:propose"]))
    answered(careful.call("memory_save", content="Alice keeps a parrot."))
    assert found(call, "parrot") == []


def test_nothing_of_somebody_else_is_found(call: Any, ben: Any, alice: Any) -> None:
    notes.save(by=notes.By(actor=ben), owner="ben", content="Ben keeps a parrot.")
    assert found(call, "parrot") == []


def test_search_by_address_is_the_same(api: Any, call: Any, alice: Any) -> None:
    answered(call("memory_save", content="Tea with milk.", tags=["drinks"]))
    assert texts(call, "tea") == ["Tea with milk."]
    by_address = answered(api.get("/api/v1/users/alice/search/?q=tea&tag=drinks&tag=x&top_k=3"))["data"]
    assert by_address == answered(call("memory_search", query="tea", top_k=3))["data"]


@pytest.mark.parametrize(
    "given",
    [
        {"top_k": 0},
        {"top_k": 1000},
        {"top_k": 21},
        {"top_k": "5"},
        {"query": ""},
        {"query": "  "},
        {"query": "x" * 50_000},
        {"sources": []},
        {"include_conversation": "yes"},
    ],
)
def test_what_search_does_not_take_is_named(call: Any, alice: Any, given: dict[str, Any]) -> None:
    error = refused(call("memory_search", **{"query": "x"} | given), 400, "invalid_arguments")
    assert set(error["details"]["fields"]) == set(given)


def test_an_unknown_source_is_named(call: Any, alice: Any) -> None:
    error = refused(call("memory_search", query="x", sources=["web"]), 400, "invalid_arguments")
    assert error["details"]["fields"] == {"sources[0]": "must be one of user_memory, memory_block, conversation"}


def test_a_query_of_stop_words_is_no_error(call: Any, alice: Any) -> None:
    answered(call("memory_save", content="Alice likes tea."))
    assert isinstance(found(call, "the of and to a"), list)
