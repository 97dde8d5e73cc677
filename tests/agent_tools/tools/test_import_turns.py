"""One import at a time for an owner and for an agent; whoever comes meanwhile is told when to come again."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import override_settings
from django.utils import timezone

from agent_tools.calls import idempotency
from agent_tools.models import IdempotencyKey
from approvals.models import Agent, User
from approvals.services import imports
from memory_app.runtime import turns
from tests import environment
from tests.agent_tools.checks import refused
from tests.agent_tools.conftest import Issue, Machine
from tests.conftest import eventually, in_a_thread
from tests.support.fixtures import ClientOf
from tests.support.holding import held, held_owner, memory_is_stuck
from tests.support.pages import words

pytestmark = pytest.mark.slow

FILE = "/api/v1/users/alice/memories.md"
PAGE = "/memory/alice/notes/import/"
OTHER = "### mem-2-bbbb\n> y\n"


def put(api: Machine, text: str = "### mem-1-aaaa\n> x\n", key: str = "") -> Any:
    return api.http.post(FILE, text, content_type="text/markdown", headers={"Idempotency-Key": key} if key else {})


@contextmanager
def one_under_way(token: str, key: str = "") -> Iterator[None]:
    """An import in another thread that does not get on until this ends, and then succeeds."""
    statuses: list[int] = []
    # A server that hangs would be given up; the turn to record a change of alice's is waited for.
    with held("memory") if environment.is_embedded() else held_owner("alice"):
        sender = in_a_thread(lambda: statuses.append(put(Machine(token), key=key).status_code))
        eventually(lambda: imports.is_under_way("alice"))
        yield
    sender.join()
    assert statuses == [200]


def test_another_file_for_the_same_owner_waits_its_turn(api: Machine, rival: Machine, token: str) -> None:
    with one_under_way(token):
        for who in (api, rival):
            response = put(who, OTHER, key="two")
            error = refused(response, 429, "import_under_way")
            assert response["Retry-After"] == "5"
            assert "Send the file again when it is over." in error["text"]
    for who in (api, rival):
        assert put(who, OTHER, key="two").status_code == 200, "the refusal used up the key"


def test_the_page_says_it_and_keeps_the_comment(alice: User, token: str, client_of: ClientOf) -> None:
    page = client_of(alice)
    with one_under_way(token):
        assert "An import into this memory is still running." in words(page.get(PAGE))
        file = SimpleUploadedFile("memories.md", OTHER.encode())
        answer = page.post(PAGE, {"file": file, "comment": "Mine."})
    assert "still running" not in words(page.get(PAGE))
    assert answer.status_code == 409
    assert "Another import is under way." in words(answer)
    assert "Mine." in answer.content.decode()


@override_settings(TOOL_TIMEOUT=1)
def test_of_one_whose_time_was_up_nobody_says_that_it_failed(api: Machine) -> None:
    with memory_is_stuck():
        error = refused(put(api), 504, "timeout")
    assert error["text"].splitlines() == [
        "Error importing memories: it took longer than 1 second and was stopped; it may have happened all the same.",
        "Sending the file again doubles nothing: what is in the memory by then is left as it is. If that takes too "
        "long as well, split the file and send its parts one after the other.",
    ]
    assert put(api).status_code == 200


def test_the_same_again_while_it_runs_is_refused_and_it_runs_on(api: Machine, token: str) -> None:
    with one_under_way(token, key="one"):
        refused(put(api, key="one"), 409, "idempotency_in_progress")
        refused(put(api), 429, "import_under_way")
    assert put(api, key="one")["Idempotency-Replayed"] == "true"


@override_settings(LEASE=timedelta(0))
def test_its_key_is_held_while_it_runs_and_no_longer(api: Machine, token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idempotency, "BEAT", 0.2)
    with one_under_way(token, key="one"):
        first = IdempotencyKey.objects.get().lease_expires_at
        eventually(lambda: IdempotencyKey.objects.get().lease_expires_at > first + timedelta(seconds=1))
        refused(put(api, key="one"), 409, "idempotency_in_progress")
        assert IdempotencyKey.objects.get().lease_expires_at < timezone.now() + timedelta(seconds=1)


@pytest.mark.pure
def test_a_turn_is_kept_for_as_long_as_it_is_needed_and_free_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "LEASE", 1)
    monkeypatch.setattr(turns, "_PLACE", 0.9)
    with turns.taken("a", "b"):
        time.sleep(2.5)
        with pytest.raises(turns.Taken), turns.taken("b", "c"):
            raise AssertionError
        with turns.taken("c"):
            pass
    with turns.taken("a", "b", "c"):
        assert [thread.name for thread in threading.enumerate()].count("turns") == 1
    # Who kept them ends by itself, when it gets to the processor.
    eventually(lambda: "turns" not in [thread.name for thread in threading.enumerate()], seconds=10)


@pytest.mark.pure
def test_a_turn_of_who_is_gone_is_free_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "LEASE", 1)
    monkeypatch.setattr(turns, "_keep", lambda *lease: None)  # as in a process that was killed
    gone = turns.taken("a")
    gone.__enter__()
    time.sleep(1.2)
    with turns.taken("a"):
        gone.__exit__(None, None, None)  # it was not gone after all, and takes nothing away
        with pytest.raises(turns.Taken), turns.taken("a"):
            raise AssertionError


def test_agents_do_not_wait_for_each_other(ben: User, issue: Issue) -> None:
    bens = Machine(issue(ben, agent=Agent.objects.create(name="other")))
    with turns.taken("import of alice"):
        answer = bens.http.post("/api/v1/users/ben/memories.md", OTHER, content_type="text/markdown")
    assert answer.status_code == 200
