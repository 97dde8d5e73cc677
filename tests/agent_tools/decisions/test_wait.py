"""Waiting for a decision: who may, what it holds, what ends it, and what is answered then."""

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import pytest
from django.conf import settings
from django.db import connections
from django.test import override_settings

from agent_tools import auth
from agent_tools.models import AgentToken
from approvals import services
from approvals.models import Proposal, User
from memory_app.runtime import waits
from tests import environment
from tests.agent_tools.checks import answered, refused
from tests.agent_tools.conftest import Call, Issue, Machine
from tests.agent_tools.decisions.conftest import FEED
from tests.conftest import early_in_a_minute, eventually, in_a_thread
from tests.support.acts import approve, reject


class Waiting:
    """A call that waits in a thread of its own; `answer` once it is back."""

    threads: ClassVar[list[threading.Thread]] = []

    def __init__(self, ask: Callable[[], Any], *, among: int = 1) -> None:
        self.answer: Any = None
        self.seconds = 0.0

        def run() -> None:
            began = time.monotonic()
            self.answer = ask()
            self.seconds = time.monotonic() - began

        self.thread = in_a_thread(run)
        Waiting.threads.append(self.thread)
        eventually(lambda: waits.waiting() == among or not self.thread.is_alive())
        assert self.thread.is_alive(), "it was answered at once"

    def end(self) -> Any:
        self.thread.join(30)
        assert not self.thread.is_alive()
        return self.answer


@pytest.fixture(autouse=True)
def _nothing_waits(fresh_databases: None) -> Iterator[None]:
    """End what a test that failed left waiting, before its databases are emptied."""
    yield
    waits.close()
    for thread in Waiting.threads:
        thread.join(30)
    Waiting.threads.clear()
    waits._room.is_closed = False
    assert waits.waiting() == 0


def path_of(proposal: Proposal, wait: object = 20) -> str:
    return f"/api/v1/proposals/{proposal.pk}/?wait={wait}"


def ask(person: User, proposal: Proposal) -> None:
    services.request_changes(actor=person, proposal_id=proposal.pk, revision=1, comment="Say which.")


DECISIONS: dict[str, Callable[[User, Proposal], object]] = {
    "rejected": reject,
    "approved": approve,
    "changes_requested": ask,
}


def test_one_that_is_decided_or_whose_turn_it_is_is_answered_at_once(
    api: Machine, tim: User, proposal: Proposal
) -> None:
    ask(tim, proposal)
    assert answered(api.get(path_of(proposal)))["data"]["status"] == "changes_requested"
    services.back_to_review(actor=tim, proposal_id=proposal.pk, revision=1)
    reject(tim, proposal)
    response = api.get(path_of(proposal))
    data = answered(response)["data"]
    assert (data["status"], data["retry_after"]) == ("rejected", None)
    assert "Retry-After" not in response


@pytest.mark.parametrize("what", DECISIONS)
def test_a_decision_wakes_who_waits_for_it(api: Machine, tim: User, proposal: Proposal, what: str) -> None:
    waiting = Waiting(lambda: api.get(path_of(proposal)))
    DECISIONS[what](tim, proposal)
    assert answered(waiting.end())["data"]["status"] == what
    assert waiting.seconds < 15


def test_when_the_time_is_up_it_is_answered_as_it_is(api: Machine, call: Call, proposal: Proposal) -> None:
    waiting = Waiting(lambda: api.get(path_of(proposal, wait=1)))
    data = answered(waiting.end())["data"]
    assert (data["status"], data["retry_after"]) == ("open", None)
    assert 1 <= waiting.seconds < 8
    by_tool = Waiting(lambda: call("get_proposal", proposal_id=proposal.pk, wait=1))
    assert answered(by_tool.end())["data"] == data


def test_a_decision_that_is_undone_in_between_is_waited_for_again(api: Machine, tim: User, proposal: Proposal) -> None:
    waiting = Waiting(lambda: api.get(path_of(proposal, wait=4)))
    with _unwoken():
        reject(tim, proposal)
        services.undo(actor=tim, proposal_id=proposal.pk)
    waits.wake(f"decisions of agent {proposal.agent_id}")
    assert answered(waiting.end())["data"]["status"] == "open"
    assert waiting.seconds >= 4


class _unwoken:  # noqa: N801 - reads as a verb
    """Holds the lock of who waits, so that nothing is looked at before all of it has happened."""

    def __enter__(self) -> None:
        waits._room.changed.acquire()

    def __exit__(self, *_: object) -> None:
        waits._room.changed.release()


def test_the_feed_waits_too(api: Machine, call: Call, tim: User, proposal: Proposal) -> None:
    now = answered(api.get(f"{FEED}?since=now"))["data"]["next"]
    waiting = Waiting(lambda: api.get(f"{FEED}?since={now}&wait=20"))
    services.comment(actor=tim, proposal_id=proposal.pk, text="Which exam?")
    (item,) = answered(waiting.end())["data"]["items"]
    assert item["what"] == "commented"
    from_now = Waiting(lambda: call("list_proposals", decided_since="now", wait=8))
    reject(tim, proposal)
    (item,) = answered(from_now.end())["data"]["items"]
    assert item["what"] == "rejected"
    nothing = Waiting(lambda: api.get(f"{FEED}?since=now&wait=1"))
    assert answered(nothing.end())["data"]["items"] == []


def test_what_another_process_decides_is_seen_within_a_second(api: Machine, tim: User, proposal: Proposal) -> None:
    """No one wakes it: as where another worker, or Celery, decides."""
    waiting = Waiting(lambda: api.get(path_of(proposal)))
    Proposal.objects.filter(pk=proposal.pk).update(status="rejected")
    assert answered(waiting.end())["data"]["status"] == "rejected"
    assert waiting.seconds < 10


def test_a_third_of_the_threads_may_wait_and_the_rest_is_answered_at_once(
    issue: Issue, alice: User, tim: User, proposal: Proposal
) -> None:
    assert settings.MOST_WAITING == 2, "of the 8 threads that are the default"
    machines = [Machine(issue(alice)) for _ in range(3)]
    first = Waiting(lambda: machines[0].get(path_of(proposal)))
    second = Waiting(lambda: machines[1].get(path_of(proposal)), among=2)
    began = time.monotonic()
    response = machines[2].get(path_of(proposal))
    assert time.monotonic() - began < 5
    data = answered(response)["data"]
    assert (data["status"], data["retry_after"], response["Retry-After"]) == ("open", 5, "5")
    reject(tim, proposal)
    assert {answered(each.end())["data"]["status"] for each in (first, second)} == {"rejected"}


def test_a_token_waits_once_at_a_time_with_each_of_its_secrets(
    api: Machine, call: Call, alice: User, tim: User, proposal: Proposal
) -> None:
    new = auth.rotate(AgentToken.objects.get(), by=alice, until=None).secret
    waiting = Waiting(lambda: api.get(path_of(proposal)))
    response = api.get(f"{FEED}?since=now&wait=20")
    assert (answered(response)["data"]["retry_after"], response["Retry-After"]) == (5, "5")
    for tool in ("get_proposal", "list_proposals"):
        assert call(tool, proposal_id=proposal.pk, wait=8)["Retry-After"] == "5"
    assert Machine(new).get(path_of(proposal))["Retry-After"] == "5"
    assert "Retry-After" not in api.get(path_of(proposal, wait=0))
    reject(tim, proposal)
    waiting.end()


@override_settings(MOST_WAITING=0)
def test_where_no_thread_can_be_spared_no_call_waits(api: Machine, proposal: Proposal) -> None:
    assert api.get(path_of(proposal))["Retry-After"] == "5"


@pytest.mark.parametrize("wait", ["21", "-1", "x", "99999999999999999999"])
def test_how_long_is_bounded(api: Machine, call: Call, proposal: Proposal, wait: str) -> None:
    for path in (path_of(proposal, wait), f"{FEED}?wait={wait}"):
        assert "wait" in refused(api.get(path), 400, "invalid_arguments")["details"]["fields"]
    for tool, given in (("get_proposal", {"proposal_id": proposal.pk}), ("list_proposals", {"decided_since": ""})):
        refused(call(tool, **given, wait=9), 400, "invalid_arguments")


def test_a_token_that_is_revoked_while_it_waits_learns_nothing(api: Machine, tim: User, proposal: Proposal) -> None:
    waiting = Waiting(lambda: api.get(path_of(proposal)))
    auth.revoke(AgentToken.objects.get())
    reject(tim, proposal)
    response = waiting.end()
    refused(response, 401, "invalid_token")
    assert "invalid_token" in response["WWW-Authenticate"]


def test_an_owner_who_is_taken_away_while_it_waits_is_not_told_of(
    issue: Issue, alice: User, ben: User, tim: User, proposal: Proposal
) -> None:
    first, second = Machine(issue(alice, ben)), Machine(issue(alice, ben))
    one = Waiting(lambda: second.get(path_of(proposal)))
    feed = Waiting(lambda: first.get(f"{FEED}?since=now&wait=3"), among=2)
    for token in AgentToken.objects.filter(owners=ben):
        auth.stop_serving(token, alice)
    reject(tim, proposal)
    assert answered(feed.end())["data"]["items"] == []
    refused(one.end(), 404, "proposal_not_found")


def test_the_end_of_the_process_ends_the_wait(
    api: Machine, proposal: Proposal, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = Waiting(lambda: api.get(path_of(proposal)))
    monkeypatch.setattr(waits._room, "is_closed", True)  # as `close` does, and undone for the next test
    response = waiting.end()
    assert (answered(response)["data"]["status"], response["Retry-After"]) == ("open", "1")
    assert waiting.seconds < 10
    assert api.get(path_of(proposal))["Retry-After"] == "1"


def test_no_database_connection_is_held(api: Machine, tim: User, proposal: Proposal) -> None:
    held: list[Any] = []
    sessions: dict[str, int] = {}

    def ask() -> Any:
        held.extend(connections[alias] for alias in connections)
        if not environment.is_embedded():
            sessions.update({alias: asked(alias, own) for alias, (own, _there) in SESSIONS.items()})
        return api.get(path_of(proposal))

    waiting = Waiting(ask)
    eventually(lambda: held and all(each.connection is None for each in held), seconds=15)
    eventually(lambda: not any(asked(of, SESSIONS[of][1] % number) for of, number in sessions.items()), seconds=15)
    reject(tim, proposal)
    assert answered(waiting.end())["data"]["status"] == "rejected"


#: How the number of the own session is asked for, and how whether the server still has it.
SESSIONS = {
    "default": ("SELECT pg_backend_pid()", "SELECT count(*) FROM pg_stat_activity WHERE pid = %d"),
    "memory": ("SELECT CONNECTION_ID()", "SELECT count(*) FROM information_schema.processlist WHERE id = %d"),
}


def asked(alias: str, sql: str) -> int:
    with connections[alias].cursor() as cursor:
        cursor.execute(sql)
        return int(cursor.fetchone()[0])


def test_a_wait_counts_as_one_call_for_the_rate_limit(api: Machine, proposal: Proposal) -> None:
    early_in_a_minute()
    with override_settings(RATE_LIMIT=2):
        Waiting(lambda: api.get(path_of(proposal, wait=2))).end()
        answered(api.get(path_of(proposal, wait=0)))
        refused(api.get(path_of(proposal, wait=0)), 429, "rate_limited")
