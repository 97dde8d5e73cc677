"""memory_search and the whole lives of notes: what was saved is found, what was changed or deleted is not."""

from typing import Any

import pytest

from approvals.models import User
from memory_app.reads import Block
from tests.agent_tools.checks import answered, caught_up, refused
from tests.agent_tools.conftest import Call, Machine
from tests.end_to_end.test_away import gone
from tests.support.acts import save
from tests.support.fixtures import MakeBlock

pytestmark = pytest.mark.usefixtures("worker", "alice")


def found(call: Call, query: str, **more: Any) -> list[dict[str, Any]]:
    """The results, once the index has caught up."""
    answer = caught_up(lambda: call("memory_search", query=query, **more))
    results: list[dict[str, Any]] = answer["data"]["results"]
    return results


def texts(call: Call, query: str, **more: Any) -> list[str]:
    return [result["text"] for result in found(call, query, **more)]


def test_a_note_lives_from_save_to_delete(call: Call) -> None:
    note_id = answered(call("memory_save", content="User's name is Shantanu"))["data"]["note_id"]
    (hit,) = found(call, "name")
    assert (hit["note_id"], hit["source"]) == (note_id, "user_memory")
    assert "weak" not in hit
    answered(call("memory_update", note_id=note_id, content="User prefers SG"))
    (hit,) = found(call, "name")
    assert (hit["note_id"], hit["text"], hit["weak"]) == (note_id, "User prefers SG", True)
    near = "No exact match; the nearest:"
    assert answered(call("memory_search", query="name"))["text"].splitlines()[0] == near
    assert answered(call("recall", query="name"))["text"].splitlines()[0] == near
    assert texts(call, "Shantanu") == []
    answered(call("memory_delete", note_id=note_id))
    assert found(call, "name") == []


def test_the_nearest_notes_are_shown_only_where_nothing_matches(call: Call, alice: User) -> None:
    contents = [
        "Prefers dark mode.",
        "Likes chocolate.",
        "The exam is in June.",
        "Sister Priya lives in Pune.",
        "yyy " * 99,
    ]
    for content in contents:
        save(alice, content)
    assert texts(call, "exam") == ["The exam is in June."]
    assert texts(call, "quicksilver") == []
    assert answered(call("memory_search", query="quicksilver"))["text"].startswith("Nothing found")
    assert answered(call("recall", query="quicksilver"))["text"] == "No memories match."
    for name in ("memory_search", "recall"):
        answer = answered(call(name, query="family"))
        said = answer["text"].splitlines()
        assert said[0] == "No exact match; the nearest:"
        assert "Sister Priya" in said[1]
        hits = answer["data"]["results" if name == "memory_search" else "memories"]
        assert 1 <= len(hits) <= 3
        assert all(hit["weak"] for hit in hits)
    said = answered(call("memory_search", query="astrology sign"))["text"].splitlines()
    assert said[0] == "Nothing matches; these are only the nearest notes (weak):"
    answered(call("memory_search", query="the of and to a"))  # words that are in no index


def test_scores_can_be_compared_between_searches(call: Call, alice: User) -> None:
    for content in (
        "Sister Priya lives in Pune.",
        "Writes Django every day.",
        "The exam in German is in June in Kiel.",
    ):
        save(alice, content)
    scores = {
        query: [hit["score"] for hit in found(call, query)]
        for query in ("Django", "German exam", "exam at sea", "family")
    }
    assert all(score == sorted(score, reverse=True) for score in scores.values())
    assert scores["Django"][0] > 0.9 < scores["German exam"][0]
    assert 0.3 < scores["exam at sea"][0] < 0.9
    assert scores["family"][0] < scores["Django"][0] - 0.2


def test_filters_narrow_what_matches_and_what_is_only_near(api: Machine, call: Call, alice: User, goals: Block) -> None:
    turn = {"id": "m", "role": "user", "content": "I saw a parrot."}
    answered(api.post("/api/v1/users/alice/conversations/one/messages/", {"messages": [turn]}))
    save(alice, "Tea with milk.", category="food", tags=["drinks"])
    save(alice, "Tea at five.", type="decision")
    forgotten = save(alice, "Tea in Kiel.")
    answered(call("forget", memory_id=forgotten))
    assert len(texts(call, "tea", top_k=1)) == 1
    for query in ("tea", "coffee"):
        assert set(texts(call, query)) == {"Tea with milk.", "Tea at five."}
        assert texts(call, query, category="food") == ["Tea with milk."]
        assert texts(call, query, tags=["drinks", "x"]) == ["Tea with milk."]
        assert texts(call, query, type="decision") == ["Tea at five."]
    for source in ("memory_block", "conversation"):
        assert texts(call, "quicksilver", sources=[source]) == [], "only notes are weak hits"
    by_address = answered(api.get("/api/v1/users/alice/search/?q=tea&tag=drinks&tag=x&top_k=3"))["data"]
    assert by_address == answered(call("memory_search", query="tea", tags=["drinks", "x"], top_k=3))["data"]


@pytest.mark.parametrize(
    "query",
    ["everything", "what do you know about me", "user preferences", "What do you remember?", "list all notes", "*"],
)
def test_a_question_about_everything_lists_the_most_useful_notes(call: Call, alice: User, query: str) -> None:
    contents = ["Likes tea.", "Plays chess.", "The exam is in June."]
    ids = [save(alice, content) for content in contents]
    assert texts(call, query) == contents[::-1]  # the newest first
    for _ in range(3):
        answered(call("recall", query="tea", match="text"))
    answer = answered(call("memory_search", query=query, top_k=2))
    assert [hit["note_id"] for hit in answer["data"]["results"]] == [ids[0], ids[2]]  # the most used first
    assert answer["data"]["broad"]
    assert not any("weak" in hit for hit in answer["data"]["results"])
    primed = answered(call("prime_memories"))["data"]["receipt"]["included"]
    assert [hit["note_id"] for hit in found(call, query)] == primed


@pytest.mark.parametrize("query", ["exam", "food preferences", "what do you know about exams", "user's name"])
def test_a_question_about_something_is_not_about_everything(call: Call, query: str) -> None:
    assert not answered(call("memory_search", query=query))["data"]["broad"]


def test_blocks_are_searched_too_and_do_not_crowd_notes_out(call: Call, alice: User, make_block: MakeBlock) -> None:
    sections = "\n\n".join(f"## Name {number}\n\nName, name and name again: the name {number}." for number in range(9))
    make_block(alice, "names", sections, title="Name")
    places = ("station", "harbour", "bakery", "library", "market", "museum")
    told = {save(alice, f"At the {place} people asked for her name.") for place in places}
    hits = found(call, "name")
    assert len(hits) == 5
    assert [hit.get("block_label") for hit in hits].count("names") == 1  # the best passage keeps its place
    assert {hit.get("note_id") for hit in hits} - {None} < told
    assert [hit["score"] for hit in hits] == sorted((hit["score"] for hit in hits), reverse=True)
    assert [hit.get("note_id") for hit in found(call, "name", top_k=7)].count(None) == 1
    of_blocks = found(call, "name", sources=["memory_block"])
    assert {(hit["block_label"], hit["source"], "note_id" in hit) for hit in of_blocks} == {
        ("names", "memory_block", False)
    }


def test_a_conversation_is_searched_when_asked_for(api: Machine, call: Call) -> None:
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


def test_the_past_is_searched_as_it_was(call: Call) -> None:
    kept = answered(call("memory_save", content="Likes tea."))["data"]
    gone = answered(call("memory_save", content="Likes secrets."))["data"]
    answered(call("memory_delete", note_id=gone["note_id"]))
    answered(call("memory_update", note_id=kept["note_id"], content="Likes coffee."))
    assert texts(call, "likes") == ["Likes coffee."]
    for query in ("likes", "quicksilver", "everything"):
        assert texts(call, query, as_of=gone["commit"]) == ["Likes tea."], "what was deleted is not there"
    refused(call("memory_search", query="x", as_of="1999-01-01"), 404, "revision_not_found")


def test_what_waits_and_what_is_somebody_elses_is_not_found(careful: Machine, call: Call, ben: User) -> None:
    answered(careful.call("memory_save", content="Alice keeps a parrot."))
    save(ben, "Ben keeps a parrot.")
    assert found(call, "parrot") == []


def test_nothing_is_answered_from_the_index_alone(call: Call, alice: User) -> None:
    save(alice, "Likes tea.")
    assert texts(call, "tea") == ["Likes tea."]
    with gone("memory"):
        for query in ("tea", "everything"):
            error = refused(call("memory_search", query=query), 503, "engine_unavailable")
            assert error["text"].startswith("Error searching memory: ")
    assert texts(call, "tea") == ["Likes tea."]
