"""/metrics: the figures of the whole site, for Prometheus; who may ask, what they say, and what they never name."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.db import connections
from django.db.utils import OperationalError
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from agent_tools.models import ToolCall
from agent_tools.views import metrics
from approvals import services
from approvals.models import Agent, Event, Proposal, User
from approvals.recovery import figures
from approvals.recovery.integrity import Check
from approvals.statistics import kept
from memory_app.models import Change
from memory_app.reads import Block
from memory_app.runtime import health, records
from memory_app.search import index_state
from tests.agent_tools.conftest import Call
from tests.support import acts
from tests.support.background import wait_for_threads
from tests.support.fixtures import Propose

TOKEN = "what-prometheus-says"
Scraped = dict[tuple[str, tuple[str, ...]], float]  # the values of labels in alphabetical order


@pytest.fixture(autouse=True)
def with_a_token(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(metrics, "_SETTLES", timedelta(0))
    with override_settings(METRICS_TOKEN=TOKEN):
        yield


def asked(token: str = TOKEN, **headers: str) -> Any:
    return Client().get("/metrics", headers={"Authorization": f"Bearer {token}", **headers})


def scrape() -> Scraped:
    """Return each value by its name and the values of its labels."""
    wait_for_threads()
    answer = asked()
    assert answer.status_code == 200
    assert answer["Content-Type"].startswith("text/plain")
    families = list(text_string_to_metric_families(answer.content.decode()))
    assert len({family.name for family in families}) == len(families)
    samples = [sample for family in families for sample in family.samples]
    return {(sample.name, tuple(sorted(sample.labels.values()))): sample.value for sample in samples}


def value(name: str, *labels: str) -> float | None:
    return scrape().get((f"assent_{name}", tuple(sorted(labels))))


def test_without_a_token_in_the_settings_there_is_no_such_address(client: Client) -> None:
    with override_settings(METRICS_TOKEN=""):
        assert asked().status_code == asked(token="").status_code == 404


@pytest.mark.parametrize("said", ["", "Bearer", "Bearer wrong", f"Basic {TOKEN}", TOKEN, f"bearer  {TOKEN}"])
def test_whoever_does_not_say_the_token_learns_nothing(client: Client, said: str) -> None:
    answer = client.get("/metrics", headers={"Authorization": said})
    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == "not_authenticated"


def test_only_reading_is_answered(client: Client) -> None:
    assert client.post("/metrics").status_code == 405


def test_both_formats_of_prometheus_are_spoken() -> None:
    answer = asked(Accept="application/openmetrics-text;version=1.0.0")
    assert answer["Content-Type"].startswith("application/openmetrics-text")
    assert answer.content.endswith(b"# EOF\n")


def test_proposals_are_counted_by_state_and_the_oldest_open_one_has_an_age(
    goals: Block, tim: User, propose: Propose
) -> None:
    assert value("oldest_open_proposal_seconds") == 0
    first, second = propose(goals, "math", "maths"), propose(goals, "math", "art")
    Proposal.objects.filter(pk=first.pk).update(created_at=timezone.now() - timedelta(hours=2))
    found = scrape()
    assert found["assent_proposals", ("open",)] == 2
    assert found["assent_proposals", ("preparing",)] == 0
    assert 7_200 <= found["assent_oldest_open_proposal_seconds", ()] < 7_300
    acts.reject(tim, second)
    assert value("proposals", "open") == 1


def test_decided_proposals_are_counted_by_the_clock_now_and_then_and_by_no_scrape(
    goals: Block, tim: User, propose: Propose, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert value("proposals", "rejected") is None
    kept.keep()
    assert value("proposals", "rejected") == value("proposals", "approved") == 0
    acts.reject(tim, propose(goals, "math", "maths"))
    kept.keep()
    with CaptureQueriesContext(connections["default"]) as said:
        metrics._of_default()
    assert not [query for query in said if "'rejected'" in query["sql"]]
    assert value("proposals", "rejected") == 0
    monkeypatch.setattr(kept, "_DECIDED_BELIEVED", timedelta(0))
    kept.keep()
    assert value("proposals", "rejected") == 1


def test_decisions_and_approvals_are_counted_from_the_first_scrape_on(
    goals: Block, tim: User, propose: Propose
) -> None:
    acts.reject(tim, propose(goals, "math", "maths"))
    assert value("decisions_total", "rejected") == 0
    acts.reject(tim, propose(goals, "math", "art"))
    acts.approve(tim, propose(goals, "math", "music"))
    for _ in range(2):  # nothing is counted twice
        found = scrape()
        assert found["assent_decisions_total", ("rejected",)] == found["assent_decisions_total", ("approved",)] == 1
        assert found["assent_duration_seconds_count", ("approve",)] == 1
        assert 0 < found["assent_duration_seconds_sum", ("approve",)] < 60
        assert found["assent_duration_seconds_bucket", ("+Inf", "approve")] == 1


def test_calls_are_counted_by_tool_and_outcome_and_timed(goals: Block, call: Call) -> None:
    scrape()
    call("read_memory_block", block_label="goals")
    call("read_memory_block", block_label="nothing")
    call("memory_search", query="math")
    call("propose_memory_append", block_label="goals", content="More.", reasoning="Said.")
    call("made_up_by_a_caller")
    found = scrape()
    assert found["assent_calls_total", ("ok", "read_memory_block")] == 1
    assert found["assent_calls_total", ("block_not_found", "read_memory_block")] == 1
    assert found["assent_duration_seconds_count", ("search",)] == 1
    assert found["assent_duration_seconds_count", ("propose",)] == 1
    assert not [labels for _name, labels in found if "made_up_by_a_caller" in labels]


def test_a_name_that_is_no_tool_is_one_label(goals: Block, token: str, scribe: Agent) -> None:
    scrape()
    about = {"agent": scribe, "token_id": 1, "duration_ms": 1, "status": 404, "request_bytes": 1, "response_bytes": 1}
    ToolCall.objects.bulk_create(ToolCall(tool=f"x{number}", outcome="tool_not_found", **about) for number in range(9))
    assert value("calls_total", "unknown", "tool_not_found") == 9


def test_a_row_that_may_come_before_another_is_waited_for(
    goals: Block, tim: User, propose: Propose, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metrics, "_SETTLES", timedelta(seconds=30))
    scrape()
    acts.reject(tim, propose(goals, "math", "art"))
    assert value("decisions_total", "rejected") == 0
    # One row from a machine whose clock is ahead ends what is counted, so that nothing is left out.
    Event.objects.filter(what="proposed").update(at=timezone.now() - timedelta(minutes=1))
    assert value("decisions_total", "rejected") == 0
    Event.objects.update(at=timezone.now() - timedelta(minutes=1))
    assert value("decisions_total", "rejected") == 1


def test_what_is_left_over_is_counted_by_the_next_scrape(
    goals: Block, tim: User, propose: Propose, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metrics, "_AT_ONCE", 3)
    scrape()
    for number in range(3):
        acts.reject(tim, propose(goals, "math", f"art {number}"))
    assert [value("decisions_total", "rejected") for _ in range(3)] == [1, 3, 3]


def test_the_memory_says_its_branches_and_sizes_and_whether_the_ledger_follows(
    goals: Block, alice: User, propose: Propose
) -> None:
    propose(goals, "math", "maths")
    found = scrape()
    assert found["assent_live_branches", ("memory",)] == 1
    assert found["assent_ledger_behind_commits", ("memory",)] == 0
    if size := found.get(("assent_memory_bytes", ("memory",))):
        assert size > 10_000
        assert ("assent_memory_collected_bytes", ("memory",)) in found
    acts.edit(alice, "goals", "math", "art")
    Change.objects.filter(pk=Change.objects.latest("pk").pk).delete()
    assert value("ledger_behind_commits", "memory") == 1
    services.recover()
    assert value("ledger_behind_commits", "memory") == 0


def test_the_index_says_how_many_are_behind(goals: Block, call: Call) -> None:
    call("memory_search", query="math")
    wait_for_threads()
    assert value("index_behind_owners") == 0
    with connections["default"].cursor() as cursor:
        cursor.execute("UPDATE memory_app_searchindex SET writes = writes + 1, change_id = 0")
    assert index_state.owners_behind() == ["alice"]
    assert value("index_behind_owners") == 1


def test_what_was_finished_after_a_crash_is_counted(goals: Block, propose: Propose, tim: User) -> None:
    proposal = propose(goals, "math", "maths")
    Proposal.objects.filter(pk=proposal.pk).update(
        status="merging",
        lease_expires_at=timezone.now() - timedelta(minutes=1),
        decided_by=tim,
        decided_at=timezone.now(),
    )
    services.recover()
    found = scrape()
    assert sum(found["assent_leases_recovered_total", (what,)] for what in ("opened", "approved", "reopened")) == 1


def test_when_things_were_last_done_is_0_before_the_first_time(goals: Block) -> None:
    names = [f"last_{name}_timestamp_seconds" for name in ("backup", "check", "upkeep")]
    assert [value(name) for name in names] == [0, 0, 0]
    records.note(records.BACKUP)
    kept.keep()
    check = Check()
    assert list(check.problems()) == []
    check.keep()
    for name in names:
        assert abs((value(name) or 0) - time.time()) < 60


@contextmanager
def without(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, instead: Callable[..., Any]) -> Iterator[None]:
    with monkeypatch.context() as patched:
        patched.setattr(owner, name, instead)
        yield


def refuse(*args: Any) -> Any:
    raise OperationalError("gone")


def hang(*args: Any) -> Any:
    time.sleep(4)


@pytest.mark.parametrize("instead", [refuse, hang])
def test_while_one_database_is_away_the_other_is_told_of_within_two_seconds(
    goals: Block, propose: Propose, monkeypatch: pytest.MonkeyPatch, instead: Callable[..., Any]
) -> None:
    propose(goals, "math", "maths")
    for owner, name, gone, there in (
        (figures, "of_memory", "memory", "default"),
        (metrics, "_of_default", "default", "memory"),
    ):
        with without(monkeypatch, owner, name, instead):
            began = time.monotonic()
            found = scrape()
            took = time.monotonic() - began
        assert took < 3
        assert found["assent_database_up", (gone,)] == 0
        assert found["assent_database_up", (there,)] == 1
        assert (("assent_proposals", ("open",)) in found) is (there == "default")
        assert (("assent_live_branches", ("memory",)) in found) is (there == "memory")
        for answer in list(health._answers.values()):  # the one that hangs
            answer.exception(timeout=10)


def test_no_label_names_a_person_an_agent_or_a_text(goals: Block, tim: User, propose: Propose, call: Call) -> None:
    scrape()
    acts.approve(tim, propose(goals, "math", "maths"), comment="zebrafinch")
    call("propose_memory_append", block_label="goals", content="zebrafinch", reasoning="zebrafinch")
    wait_for_threads()
    said = asked().content.decode()
    assert "assent_calls_total" in said
    for word in ("alice", "tim", "scribe", "goals", "zebrafinch"):
        assert f'"{word}"' not in said


def test_a_scrape_sends_as_many_statements_with_many_proposals_as_with_few(
    goals: Block, tim: User, propose: Propose
) -> None:
    scrape()
    numbers = []
    for times in (1, 9):
        for number in range(times):
            acts.reject(tim, propose(goals, "math", f"{times} {number}"))
        with CaptureQueriesContext(connections["default"]) as said:
            metrics._of_default()
        numbers.append(len(said))
    assert numbers[0] == numbers[1] < 30
