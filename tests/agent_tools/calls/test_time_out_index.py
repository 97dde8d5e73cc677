"""What is indexed while a call's time runs out: nothing is lost, and what is done is not called undone."""

import time
from typing import Any

import pytest
from django.test import override_settings

from memory_app.models import SearchIndex
from memory_app.search import index_state, store
from tests import environment
from tests.agent_tools.checks import answered
from tests.agent_tools.conftest import Call
from tests.conftest import eventually

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not environment.is_embedded(), reason="there a worker indexes, after the call"),
]


@pytest.fixture
def slowly(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Vectors take a second and a half, as from a service far away."""
    made = store._vectors

    def slow(chunks: Any) -> Any:
        time.sleep(1.5)
        return made(chunks)

    monkeypatch.setattr(store, "_vectors", slow)
    return monkeypatch


def test_a_save_that_is_done_says_so_although_its_indexing_took_too_long(call: Call, slowly: Any) -> None:
    SearchIndex.objects.create(owner="alice", version=1, change_id=0)
    with override_settings(TOOL_TIMEOUT=1):
        saved = answered(call("memory_save", content="She sails far."))
    assert saved["data"]["status"] == "applied"
    assert SearchIndex.objects.get().busy_until is None, "nobody else could index for a minute"
    slowly.undo()
    found = answered(call("memory_search", query="sails"))["data"]
    assert [hit["text"] for hit in found["results"]] == ["She sails far."]
    assert not found["index_behind"]


def test_a_first_index_that_takes_longer_than_a_call_is_made_all_the_same(call: Call, slowly: Any) -> None:
    answered(call("memory_save", content="She sails far."))
    with override_settings(TOOL_TIMEOUT=1):
        assert call("memory_search", query="sails").status_code == 504
    eventually(lambda: not index_state.is_behind("alice"), seconds=20)
    found = answered(call("memory_search", query="sails"))["data"]
    assert [hit["text"] for hit in found["results"]] == ["She sails far."]
