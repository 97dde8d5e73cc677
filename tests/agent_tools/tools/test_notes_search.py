"""memory_search and the whole lives of notes: what was saved is found, what was changed or deleted is not."""

from typing import Any

import pytest

from approvals.models import User
from approvals.services import BlockFields, create_block, notes
from memory_app.reads import Block
from tests.agent_tools.checks import answered, caught_up, refused
from tests.agent_tools.conftest import Call, Issue, Machine, MachineOf
from tests.end_to_end.test_away import gone

pytestmark = pytest.mark.usefixtures("worker")


def found(call: Call, query: str, **more: Any) -> list[dict[str, Any]]:
    """The results, once the index has caught up."""

    answer = caught_up(lambda: call("memory_search", query=query, **more))
    results: list[dict[str, Any]] = answer["data"]["results"]
    return results


def texts(call: Call, query: str, **more: Any) -> list[str]:
    return [result["text"] for result in found(call, query, **more)]


def test_a_note_lives_from_save_to_delete(call: Call, alice: User) -> None:
    note_id = answered(call("memory_save", content="User's name is Shantanu"))["data"]["note_id"]
    (hit,) = found(call, "name")
    assert (hit["note_id"], hit["source"]) == (note_id, "user_memory")
    assert "weak" not in hit
    answered(call("memory_update", note_id=note_id, content="User prefers SG"))
    (hit,) = found(call, "name")
    assert (hit["note_id"], hit["text"], hit["weak"]) == (note_id, "User prefers SG", True)
    assert texts(call, "Shantanu") == ["User prefers SG"]
    answered(call("memory_delete", note_id=note_id))
    assert found(call, "name") == []


def test_what_matches_comes_before_the_nearest_notes_which_are_marked(call: Call, alice: User) -> None:
    for content in ("Prefers dark mode.", "Likes chocolate.", "The exam is in June."):
        answered(call("memory_save", content=content))
    first, *rest = found(call, "exam")
    assert (first["text"], "weak" in first) == ("The exam is in June.", False)
    assert {hit["text"] for hit in rest if hit["weak"]} == {"Prefers dark mode.", "Likes chocolate."}
    said = answered(call("memory_search", query="exam"))["text"].splitlines()
    assert said[1] == "These do not match, they are only the nearest notes (weak):"
    assert len(found(call, "exam", top_k=2)) == 2
    said = answered(call("memory_search", query="quicksilver"))["text"].splitlines()
    assert said[0] == "Nothing matches; these are only the nearest notes (weak):"
    assert len(said) == 4


def test_weak_hits_keep_to_the_filters_and_are_notes_alone(api: Machine, call: Call, goals: Block) -> None:
    turn = {"id": "m", "role": "user", "content": "I saw a parrot."}
    answered(api.post("/api/v1/users/alice/conversations/one/messages/", {"messages": [turn]}))
    answered(call("memory_save", content="Likes tea.", tags=["food"]))
    answered(call("remember", content="Keeps bees.", type="decision"))
    gone = answered(call("remember", content="Keeps wasps."))["data"]["memory_id"]
    answered(call("forget", memory_id=gone))
    assert set(texts(call, "quicksilver")) == {"Likes tea.", "Keeps bees."}
    assert texts(call, "quicksilver", tags=["food"]) == ["Likes tea."]
    assert texts(call, "quicksilver", type="decision") == ["Keeps bees."]
    assert texts(call, "quicksilver", sources=["memory_block"]) == []
    assert texts(call, "quicksilver", sources=["conversation"]) == []


@pytest.mark.parametrize(
    "query",
    ["everything", "what do you know about me", "user preferences", "What do you remember?", "list all notes", "*"],
)
def test_a_question_about_everything_lists_the_most_useful_notes(call: Call, alice: User, query: str) -> None:
    contents = ["Likes tea.", "Plays chess.", "The exam is in June."]
    ids = [answered(call("memory_save", content=content))["data"]["note_id"] for content in contents]
    assert texts(call, query) == contents[::-1]  # the newest first
    for _ in range(3):
        answered(call("recall", query="tea", match="text"))
    assert texts(call, query)[0] == "Likes tea."  # the most used first
    answer = answered(call("memory_search", query=query, top_k=2))
    assert [hit["note_id"] for hit in answer["data"]["results"]] == [ids[0], ids[2]]
    assert answer["data"]["broad"]
    assert not any("weak" in hit for hit in answer["data"]["results"])
    primed = answered(call("prime_memories"))["data"]["receipt"]["included"]
    assert [hit["note_id"] for hit in found(call, query)] == primed


@pytest.mark.parametrize("query", ["exam", "food preferences", "what do you know about exams", "user's name"])
def test_a_question_about_something_is_not_about_everything(call: Call, alice: User, query: str) -> None:
    assert not answered(call("memory_search", query=query))["data"]["broad"]


def test_notes_are_not_crowded_out_by_blocks(call: Call, alice: User) -> None:
    sections = "\n\n".join(f"## Name {number}\n\nName, name and name again: the name {number}." for number in range(9))
    fields = BlockFields(title="Name", description="", body=sections, limit=20_000)
    create_block(actor=alice, owner="alice", label="names", fields=fields)
    told = [
        answered(call("memory_save", content=f"At the {place} people asked for her name."))["data"]["note_id"]
        for place in ("station", "harbour", "bakery", "library", "market", "museum")
    ]
    hits = found(call, "name")
    assert len(hits) == 5
    assert [hit.get("block_label") for hit in hits].count("names") == 1  # the best passage keeps its place
    assert {hit.get("note_id") for hit in hits} - {None} < set(told)
    assert [hit["score"] for hit in hits] == sorted((hit["score"] for hit in hits), reverse=True)
    assert [hit.get("note_id") for hit in found(call, "name", top_k=7)].count(None) == 1
    of_blocks = found(call, "name", sources=["memory_block"])
    assert {hit["block_label"] for hit in of_blocks} == {"names"}


def test_the_past_has_weak_hits_and_broad_questions_too(call: Call, alice: User) -> None:
    kept = answered(call("memory_save", content="Likes tea."))["data"]
    gone = answered(call("memory_save", content="Likes secrets."))["data"]
    answered(call("memory_delete", note_id=gone["note_id"]))
    for query in ("quicksilver", "everything"):
        assert texts(call, query, as_of=gone["commit"]) == ["Likes tea."], "what was deleted is not there"
    answered(call("memory_update", note_id=kept["note_id"], content="Likes coffee."))
    assert texts(call, "quicksilver", as_of=kept["commit"]) == ["Likes tea."]


def test_a_memory_lives_from_remember_to_forget(call: Call, alice: User) -> None:
    memory_id = answered(call("remember", content="The exam is in June."))["data"]["memory_id"]

    def recalled(**more: Any) -> list[str]:
        answer = caught_up(lambda: call("recall", query="exam in June", **more))
        return [memory["id"] for memory in answer["data"]["memories"]]

    assert recalled() == [memory_id]
    answered(call("forget", memory_id=memory_id, reason="It was moved."))
    assert recalled() == []
    assert recalled(include_superseded=True) == [memory_id]


def test_blocks_are_searched_too(call: Call, goals: Block) -> None:
    answered(call("memory_save", content="She prefers evening lessons."))
    hits = found(call, "B2 exam in June")
    assert hits[0]["block_label"] == "goals"
    assert hits[0]["source"] == "memory_block"
    assert "note_id" not in hits[0]


def test_a_conversation_is_searched_when_asked_for(api: Machine, call: Call, alice: User) -> None:
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


def test_filters_narrow_the_notes(call: Call, alice: User) -> None:
    answered(call("memory_save", content="Tea with milk.", category="food", tags=["drinks"]))
    answered(call("remember", content="Tea at five.", type="decision"))
    assert texts(call, "tea", category="food") == ["Tea with milk."]
    assert texts(call, "tea", tags=["drinks", "x"]) == ["Tea with milk."]
    assert texts(call, "tea", type="decision") == ["Tea at five."]
    assert len(texts(call, "tea", top_k=1)) == 1


def test_the_past_is_searched_as_it_was(call: Call, alice: User) -> None:
    saved = answered(call("memory_save", content="The exam is in June."))["data"]
    answered(call("memory_update", note_id=saved["note_id"], content="The exam is in July."))
    assert texts(call, "exam") == ["The exam is in July."]
    assert texts(call, "exam", as_of=saved["commit"]) == ["The exam is in June."]
    refused(call("memory_search", query="x", as_of="1999-01-01"), 404, "revision_not_found")


def test_waiting_notes_are_in_no_search(machine: MachineOf, issue: Issue, call: Call, alice: User) -> None:
    careful = machine(issue(alice, scopes=["memory:propose"]))
    answered(careful.call("memory_save", content="Alice keeps a parrot."))
    assert found(call, "parrot") == []


def test_nothing_of_somebody_else_is_found(call: Call, ben: User, alice: User) -> None:
    notes.save(by=notes.ChangeContext(actor=ben), owner="ben", content="Ben keeps a parrot.")
    assert found(call, "parrot") == []


def test_nothing_is_answered_from_the_index_alone(call: Call, alice: User) -> None:
    answered(call("memory_save", content="Likes tea."))
    assert texts(call, "tea") == ["Likes tea."]
    with gone("memory"):
        for query in ("tea", "everything"):
            error = refused(call("memory_search", query=query), 503, "engine_unavailable")
            assert error["text"].startswith("Error searching memory: ")
    assert texts(call, "tea") == ["Likes tea."]


def test_search_by_address_is_the_same(api: Machine, call: Call, alice: User) -> None:
    answered(call("memory_save", content="Tea with milk.", tags=["drinks"]))
    assert texts(call, "tea") == ["Tea with milk."]
    by_address = answered(api.get("/api/v1/users/alice/search/?q=tea&tag=drinks&tag=x&top_k=3"))["data"]
    assert by_address == answered(call("memory_search", query="tea", top_k=3))["data"]


def test_what_search_does_not_take_is_named(call: Call, alice: User) -> None:
    given = {"include_conversation": "yes", "sources": ["web"]}
    error = refused(call("memory_search", query="x", **given), 400, "invalid_arguments")
    assert error["details"]["fields"] == {
        "include_conversation": "must be true or false",
        "sources[0]": "must be one of user_memory, memory_block, conversation",
    }


def test_a_query_of_stop_words_is_no_error(call: Call, alice: User) -> None:
    answered(call("memory_save", content="Alice likes tea."))
    assert isinstance(found(call, "the of and to a"), list)
