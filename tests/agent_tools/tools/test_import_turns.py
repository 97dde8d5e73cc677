"""One import at a time for an owner and for an agent; whoever comes meanwhile is told when to come again."""

from __future__ import annotations

import threading
import time

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from approvals.models import Agent, User
from memory_app.runtime import turns
from tests.agent_tools.calls.test_import_progress import one_under_way, put
from tests.agent_tools.checks import refused
from tests.agent_tools.conftest import Issue, MachineOf
from tests.conftest import eventually
from tests.support.fixtures import ClientOf
from tests.support.pages import words

pytestmark = pytest.mark.slow

OTHER = "### mem-2-bbbb\n> y\n"


def test_another_file_for_the_same_owner_waits_its_turn(
    alice: User, token: str, machine: MachineOf, issue: Issue
) -> None:
    other_agent = machine(issue(alice, agent=Agent.objects.create(name="other")))
    with one_under_way(machine, token) as statuses:
        for who in (machine(token), other_agent):
            response = put(who, OTHER, key="")
            error = refused(response, 429, "import_under_way")
            assert response["Retry-After"] == "5"
            assert "Send the file again when it is over." in error["text"]
    assert statuses == [200]
    assert put(other_agent, OTHER, key="").status_code == 200


def test_a_refused_turn_uses_up_no_idempotency_key(alice: User, token: str, machine: MachineOf) -> None:
    with one_under_way(machine, token):
        refused(put(machine(token), OTHER, key="", Idempotency_Key="two"), 429, "import_under_way")
    assert put(machine(token), OTHER, key="", Idempotency_Key="two").status_code == 200


def test_the_page_says_it_and_keeps_the_comment(
    alice: User, token: str, machine: MachineOf, client_of: ClientOf
) -> None:
    page = client_of(alice)
    with one_under_way(machine, token):
        file = SimpleUploadedFile("memories.md", OTHER.encode())
        answer = page.post("/memory/alice/notes/import/", {"file": file, "comment": "Mine.", "key": ""})
    assert answer.status_code == 409
    assert "Another import is under way." in words(answer)
    assert "Mine." in answer.content.decode()


@pytest.mark.pure
def test_a_turn_is_kept_for_as_long_as_it_is_needed_and_free_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "LEASE", 1)
    with turns.taken("a", "b"):
        time.sleep(2.5)
        with pytest.raises(turns.Taken), turns.taken("b", "c"):
            raise AssertionError
        with turns.taken("c"):
            pass
    with turns.taken("a", "b", "c"):
        # Who kept the turns before it ends by itself, when it gets to the processor.
        eventually(lambda: [thread.name for thread in threading.enumerate()].count("turn") == 1, seconds=10)


@pytest.mark.pure
def test_a_turn_of_who_is_gone_is_free_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "LEASE", 1)
    monkeypatch.setattr(turns, "_keep", lambda keys, is_over: None)  # as in a process that was killed
    gone = turns.taken("a")
    gone.__enter__()
    time.sleep(1.2)
    with turns.taken("a"):
        gone.__exit__(None, None, None)  # it was not gone after all, and takes nothing away
        with pytest.raises(turns.Taken), turns.taken("a"):
            raise AssertionError


def test_agents_do_not_wait_for_each_other(
    alice: User, ben: User, token: str, machine: MachineOf, issue: Issue
) -> None:
    bens = machine(issue(ben, agent=Agent.objects.create(name="other")))
    with turns.taken("import of alice"):
        answer = bens.http.post("/api/v1/users/ben/memories.md", OTHER, content_type="text/markdown")
    assert answer.status_code == 200
