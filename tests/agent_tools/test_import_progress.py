"""How far an import over HTTP has come: asked by the token that sent it, and by nobody else."""

from __future__ import annotations

from typing import Any

import pytest

from agent_tools.models import AgentToken
from approvals import import_progress
from memory_app import progress
from memory_app.progress import Stage
from tests.agent_tools.checks import answered, refused

KEY = "k" * 22
FILE = "/api/v1/users/alice/memories.md"
UNKNOWN = {"state": "unknown", "stage": None, "done": 0, "of": 0, "percent": 0}


def address(key: str = KEY, owner: str = "alice") -> str:
    return f"/api/v1/users/{owner}/imports/{key}/"


def put(api: Any, text: str = "### mem-1-aaaa\n> x\n", key: str = KEY) -> Any:
    return api.http.post(FILE, text, content_type="text/markdown", headers={"Progress-Key": key})


def test_it_is_unknown_before_it_began_and_done_afterwards(api: Any, alice: Any) -> None:
    assert answered(api.get(address()))["data"] == UNKNOWN
    assert put(api).status_code == 200
    data = answered(api.get(address()))["data"]
    assert (data["state"], data["percent"]) == ("done", 100)


def test_while_it_runs_it_says_how_many_of_how_many(api: Any, alice: Any) -> None:
    viewer = import_progress.of_token(AgentToken.objects.get().pk)
    with import_progress.watched(viewer, KEY):
        progress.report(Stage.WRITING, 4_500, 10_000)
        data = answered(api.get(address()))["data"]
    assert data.pop("percent") in range(30, 60)
    assert data == {"state": "running", "stage": "writing", "done": 4_500, "of": 10_000}


def test_a_refused_file_has_failed(api: Any, alice: Any) -> None:
    assert put(api, "\x00").status_code == 400
    assert answered(api.get(address()))["data"]["state"] == "failed"


def test_another_token_is_told_nothing(api: Any, alice: Any, ben: Any, machine: Any, issue: Any) -> None:
    put(api)
    other = machine(issue(alice))
    assert answered(other.get(address()))["data"] == UNKNOWN
    refused(api.get(address(owner="ben")), 403, "owner_not_granted")


@pytest.mark.parametrize("key", ["", "short", "x" * 65, "with a space in it", "ä" * 20])
def test_an_import_with_a_key_of_another_shape_or_none_goes_through_untold(api: Any, alice: Any, key: str) -> None:
    headers = {"Progress-Key": key.encode().decode("latin-1")} if key else {}
    assert api.http.post(FILE, "# Memories\n", content_type="text/markdown", headers=headers).status_code == 200
    assert answered(api.get(address(key or "none")))["data"] == UNKNOWN


def test_asking_uses_up_no_calls(api: Any, alice: Any, settings: Any) -> None:
    settings.RATE_LIMIT = 1
    for _ in range(3):
        assert api.get(address()).status_code == 200
