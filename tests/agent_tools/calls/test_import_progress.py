"""How far an import over HTTP has come: asked by the token that sent it, and by nobody else."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.db import connections
from django.test import override_settings
from django.utils import timezone

from agent_tools.calls import idempotency
from agent_tools.models import AgentToken, IdempotencyKey
from approvals.models import User
from approvals.pages import import_progress
from memory_app.runtime import progress
from memory_app.runtime.progress import Stage
from tests import environment
from tests.agent_tools.checks import answered, refused
from tests.agent_tools.conftest import Issue, Machine, MachineOf
from tests.conftest import eventually
from tests.support.holding import held, held_owner, memory_is_stuck

pytestmark = pytest.mark.slow

KEY = "k" * 22
FILE = "/api/v1/users/alice/memories.md"
UNKNOWN = {"state": "unknown", "stage": None, "done": 0, "of": 0, "percent": 0}


def address(key: str = KEY, owner: str = "alice") -> str:
    return f"/api/v1/users/{owner}/imports/{key}/"


def put(api: Machine, text: str = "### mem-1-aaaa\n> x\n", key: str = KEY, **headers: str) -> Any:
    headers = {"Progress-Key": key} | {name.replace("_", "-"): value for name, value in headers.items()}
    return api.http.post(FILE, text, content_type="text/markdown", headers=headers)


@contextmanager
def one_under_way(machine: MachineOf, token: str, **headers: str) -> Iterator[list[int]]:
    """An import in another thread that does not get on until this ends; the status of its answer afterwards."""
    statuses: list[int] = []

    def send() -> None:
        try:
            statuses.append(put(machine(token), **headers).status_code)
        finally:
            connections.close_all()

    sender = threading.Thread(target=send)
    # A server that hangs would be given up; the turn to record a change of alice's is waited for.
    with held("memory") if environment.is_embedded() else held_owner("alice"):
        sender.start()
        eventually(lambda: state_of(machine(token)) == "running")
        yield statuses
    sender.join()


def state_of(api: Machine, key: str = KEY) -> str:
    return str(answered(api.get(address(key)))["data"]["state"])


def test_it_is_unknown_before_it_began_and_done_afterwards(api: Machine, alice: User) -> None:
    assert answered(api.get(address()))["data"] == UNKNOWN
    assert put(api).status_code == 200
    data = answered(api.get(address()))["data"]
    assert (data["state"], data["percent"]) == ("done", 100)


def test_while_it_runs_it_says_how_many_of_how_many(api: Machine, alice: User) -> None:
    viewer = import_progress.of_token(AgentToken.objects.get().pk)
    with import_progress.watched(viewer, KEY):
        progress.report(Stage.WRITING, 4_500, 10_000)
        data = answered(api.get(address()))["data"]
    assert data.pop("percent") in range(30, 60)
    assert data == {"state": "running", "stage": "writing", "done": 4_500, "of": 10_000}


def test_a_refused_file_has_failed(api: Machine, alice: User) -> None:
    assert put(api, "\x00").status_code == 400
    assert answered(api.get(address()))["data"]["state"] == "failed"


@override_settings(TOOL_TIMEOUT=1)
def test_of_one_whose_time_was_up_nobody_says_that_it_failed(api: Machine, alice: User) -> None:
    with memory_is_stuck():
        error = refused(put(api), 504, "timeout")
        assert state_of(api) == "lost"
    assert error["text"].splitlines() == [
        "Error importing memories: it took longer than 1 second and was stopped; it may have happened all the same.",
        "Sending the file again doubles nothing: what is in the memory by then is left as it is. If that takes too "
        "long as well, split the file and send its parts one after the other.",
    ]
    assert put(api).status_code == 200
    assert state_of(api) == "done"


def test_the_same_again_while_it_runs_is_refused_and_it_runs_on(alice: User, token: str, machine: MachineOf) -> None:
    with one_under_way(machine, token, Idempotency_Key="one") as statuses:
        for headers in ({"Idempotency_Key": "one"}, {}):
            error = refused(put(machine(token), **headers), 409, "idempotency_in_progress")
            assert f"GET {address()} tells how far it has come." in error["text"]
            assert state_of(machine(token)) == "running"
    assert statuses == [200]
    assert state_of(machine(token)) == "done"
    assert put(machine(token), Idempotency_Key="one")["Idempotency-Replayed"] == "true"


@override_settings(LEASE=timedelta(0))
def test_the_same_again_under_another_name_has_not_begun(alice: User, token: str, machine: MachineOf) -> None:
    other = "l" * 22
    with one_under_way(machine, token, Idempotency_Key="one"):
        refused(put(machine(token), key=other, Idempotency_Key="one"), 409, "idempotency_in_progress")
        assert state_of(machine(token), other) == "unknown"
        assert state_of(machine(token)) == "running"


@override_settings(LEASE=timedelta(0))
def test_its_key_is_held_as_long_as_it_runs_and_no_longer(
    alice: User, token: str, machine: MachineOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(idempotency, "BEAT", 0.2)
    with one_under_way(machine, token, Idempotency_Key="one") as statuses:
        first = IdempotencyKey.objects.get().lease_expires_at
        eventually(lambda: IdempotencyKey.objects.get().lease_expires_at > first + timedelta(seconds=1))
        refused(put(machine(token), key="l" * 22, Idempotency_Key="one"), 409, "idempotency_in_progress")
        assert IdempotencyKey.objects.get().lease_expires_at < timezone.now() + timedelta(seconds=1)
    assert statuses == [200]


def test_another_token_is_told_nothing(api: Machine, alice: User, ben: User, machine: MachineOf, issue: Issue) -> None:
    put(api)
    other = machine(issue(alice))
    assert answered(other.get(address()))["data"] == UNKNOWN
    refused(api.get(address(owner="ben")), 403, "owner_not_granted")


@pytest.mark.parametrize("key", ["", "short", "x" * 65, "with a space in it", "ä" * 20])
def test_an_import_with_a_key_of_another_shape_or_none_goes_through_untold(api: Machine, alice: User, key: str) -> None:
    headers = {"Progress-Key": key.encode().decode("latin-1")} if key else {}
    assert api.http.post(FILE, "# Memories\n", content_type="text/markdown", headers=headers).status_code == 200
    assert answered(api.get(address(key or "none")))["data"] == UNKNOWN


def test_asking_uses_up_no_calls(api: Machine, alice: User, settings: Any) -> None:
    settings.RATE_LIMIT = 1
    for _ in range(3):
        assert api.get(address()).status_code == 200
