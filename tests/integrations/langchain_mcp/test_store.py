"""LangGraph's store over a memory: examples/langgraph_store.py, which reads and never writes."""

import asyncio
from typing import Any

import pytest

from assent_client import Assent
from tests.integrations.conftest import RunningServer, example

GOALS, NOTES = ("alice", "blocks"), ("alice", "notes")


@pytest.fixture
def store(client: Assent) -> Any:
    return example("langgraph_store.py")["AssentStore"](client)


def test_a_block_is_got_by_its_label(store: Any, memory: RunningServer) -> None:
    got = store.get(GOALS, "goals")
    assert got.value["text"] == memory.call("read_memory_block", block_label="goals")["data"]["body"]
    assert (got.namespace, got.key) == (GOALS, "goals")
    assert asyncio.run(store.aget(GOALS, "goals")) == got
    assert store.get(GOALS, "not-there") is None
    assert store.get(NOTES, "note-not-there") is None


def test_notes_are_found_by_words_and_got_by_their_ids(store: Any, memory: RunningServer) -> None:
    memory.call("memory_save", content="Alice sails a dinghy called Petrel.")
    found = store.search(NOTES, query="dinghy Petrel", limit=3)
    assert found[0].value["text"] == "Alice sails a dinghy called Petrel."
    assert found[0].score > 0
    assert store.get(NOTES, found[0].key).value == found[0].value
    assert store.search(GOALS, query="goals", limit=2)[0].namespace == GOALS


def test_what_it_cannot_do_is_refused_and_nothing_is_put_or_deleted(store: Any, memory: RunningServer) -> None:
    before = memory.call("list_memory_blocks")["text"]
    with pytest.raises(PermissionError, match="propose_memory_edit"):
        store.put(GOALS, "goals", {"text": "Nothing."})
    with pytest.raises(PermissionError, match="memory_save"):
        store.delete(GOALS, "goals")
    assert memory.call("list_memory_blocks")["text"] == before
    with pytest.raises(NotImplementedError):
        store.search(GOALS, query="goals", filter={"type": "fact"})
    with pytest.raises(NotImplementedError):
        store.list_namespaces()
