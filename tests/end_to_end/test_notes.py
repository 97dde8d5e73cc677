"""A note's life over HTTP against a live server; in the server leg a real worker keeps the index."""

from typing import Any

import httpx
import pytest

from approvals.models import User
from approvals.recovery.integrity import problems
from tests.conftest import eventually

pytestmark = pytest.mark.slow


def call(api: httpx.Client, tool: str, **arguments: Any) -> dict[str, Any]:
    answer = api.post(f"/tools/{tool}/", json={"user_id": "alice"} | arguments)
    assert answer.status_code == 200, answer.text
    return dict(answer.json()["data"])


def found(api: httpx.Client, query: str) -> list[str]:
    """What a search finds once the index reflects everything saved before it."""

    def caught_up() -> Any:
        data = call(api, "memory_search", query=query)
        return None if data["index_behind"] else data

    return [hit["text"] for hit in eventually(caught_up, seconds=20)["results"]]


def recalled(api: httpx.Client, query: str) -> list[str]:
    def caught_up() -> Any:
        data = call(api, "recall", query=query)
        return None if data["index_behind"] else data

    return [memory["content"] for memory in eventually(caught_up, seconds=20)["memories"]]


def test_saved_found_changed_found_deleted_gone(alice: User, api: httpx.Client) -> None:
    id_ = call(api, "memory_save", content="User's name is Shantanu")["note_id"]
    assert found(api, "name") == ["User's name is Shantanu"]
    call(api, "memory_update", note_id=id_, content="User prefers SG")
    assert found(api, "name") == ["User prefers SG"]
    call(api, "memory_delete", note_id=id_)
    assert found(api, "name") == []
    assert list(problems()) == []


def test_remembered_recalled_forgotten_gone(alice: User, api: httpx.Client) -> None:
    id_ = call(api, "remember", content="The exam is on the 16th of January.", type="fact")["memory_id"]
    assert recalled(api, "when is the exam") == ["The exam is on the 16th of January."]
    call(api, "forget", memory_id=id_, reason="It was moved.")
    assert recalled(api, "when is the exam") == []
    kept = call(api, "recall", include_superseded=True)["memories"]
    assert [memory["id"] for memory in kept] == [id_]
    assert list(problems()) == []
