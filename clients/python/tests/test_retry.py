"""Which calls are sent again, when, and with which key."""

import asyncio
import random
import uuid
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx2
import pytest
from conftest import Script, Slept, refusal, success

from assent_client import APIConnectionError, APIStatusError, APITimeoutError, Assent, AsyncAssent, ConflictError
from assent_client.exchange import pause, retry_after


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_what_may_succeed_later_is_sent_again(status: int, memory: Assent, script: Script, slept: Slept) -> None:
    script.answers = [refusal(status, "busy"), success(label="goals", body="B2")]
    assert memory.blocks.get("goals").body == "B2"
    assert len(script.requests) == 2
    assert 0.375 <= slept[0] <= 0.5


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 411, 413, 415, 422, 431])
def test_a_final_refusal_is_not_sent_again(status: int, memory: Assent, script: Script, slept: Slept) -> None:
    script.answers = [refusal(status, "no")]
    with pytest.raises(APIStatusError):
        memory.blocks.get("goals")
    assert len(script.requests) == 1
    assert slept == []


def test_retries_can_be_switched_off(memory: Assent, script: Script) -> None:
    script.answers = [refusal(503, "busy")]
    with pytest.raises(APIStatusError):
        memory.with_options(max_retries=0).blocks.get("goals")
    assert len(script.requests) == 1


def test_a_conflict_is_final_unless_the_first_call_with_the_key_still_runs(memory: Assent, script: Script) -> None:
    script.answers = [refusal(409, "idempotency_in_progress"), success(note_id="note-1")]
    assert memory.notes.save("She sails.").note_id == "note-1"
    for code in ("idempotency_key_reused", "already_decided", "precondition_failed", ""):
        script.answers, script.requests = [refusal(409, code)], []
        with pytest.raises(ConflictError):
            memory.notes.save("She sails.")
        assert len(script.requests) == 1, code


ERRORS = [httpx2.ConnectError, httpx2.ReadError, httpx2.RemoteProtocolError, httpx2.PoolTimeout, httpx2.ReadTimeout]


@pytest.mark.parametrize("kind", ERRORS)
def test_a_broken_connection_is_tried_again_and_then_said(
    kind: type[httpx2.TransportError], memory: Assent, script: Script
) -> None:
    error = kind("broken")
    script.answers = [error, error, success(label="goals")]
    assert memory.blocks.get("goals").label == "goals"
    script.answers, script.requests = [error], []
    with pytest.raises(APIConnectionError) as caught:
        memory.blocks.get("goals")
    assert isinstance(caught.value, APITimeoutError) == isinstance(error, httpx2.TimeoutException)
    assert caught.value.__cause__ is error
    assert len(script.requests) == 3


def test_a_write_has_one_key_on_every_attempt_and_another_for_the_next_call(memory: Assent, script: Script) -> None:
    script.answers = [httpx2.ReadError("reset"), refusal(503, "busy"), success(note_id="note-1")]
    memory.notes.save("She sails.")
    memory.notes.save("She sails.")
    keys = script.header("Idempotency-Key")
    assert keys[0] == keys[1] == keys[2] != keys[3]
    assert uuid.UUID(keys[0]).version == 4
    assert script.header("X-Retry-Count") == ["0", "1", "2", "0"]


def test_a_key_of_the_callers_own_is_sent_and_never_in_the_body(memory: Assent, script: Script) -> None:
    script.answers = [success()]
    memory.notes.save("She sails.", idempotency_key="toolu_01")
    memory.tools.call("memory_save", content="She sails.", idempotency_key="toolu_02")
    assert script.header("Idempotency-Key") == ["toolu_01", "toolu_02"]
    assert all("idempotency_key" not in script.body(number) for number in (0, 1))


def test_what_only_reads_has_no_key_and_an_unknown_tool_has_one(memory: Assent, script: Script) -> None:
    script.answers = [success(items=[], next=None)]
    memory.blocks.get("goals")
    memory.notes.list()
    memory.tools.call("list_memory_blocks")
    memory.tools.call("a_tool_of_tomorrow")
    assert [key is not None for key in script.header("Idempotency-Key")] == [False, False, False, True]


def test_an_error_after_a_write_tells_the_key_to_repeat_it_with(memory: Assent, script: Script) -> None:
    script.answers = [httpx2.ReadTimeout("slow")]
    with pytest.raises(APITimeoutError) as caught:
        memory.notes.save("She sails.")
    assert caught.value.idempotency_key == script.header("Idempotency-Key")[0]


@pytest.mark.parametrize(("asked", "slept_for"), [("0", 0), ("7", 7), ("2.5", 2.5), ("60", 60)])
def test_as_long_as_asked_is_waited(asked: str, slept_for: float, memory: Assent, script: Script, slept: Slept) -> None:
    script.answers = [refusal(429, "rate_limited", {"Retry-After": asked}), success()]
    memory.blocks.get("goals")
    assert slept == [slept_for]


def test_longer_than_a_minute_is_not_waited_but_said(memory: Assent, script: Script, slept: Slept) -> None:
    script.answers = [refusal(429, "rate_limited", {"Retry-After": "61"})]
    with pytest.raises(APIStatusError) as caught:
        memory.blocks.get("goals")
    assert (caught.value.retry_after, slept, len(script.requests)) == (61, [], 1)


@pytest.mark.parametrize(
    "asked", ["soon", "", "inf", "nan", "9" * 26 + "e99999", "Mon, 01 Jan 99999999999999999999 00:00:00 GMT"]
)
def test_a_retry_after_that_is_no_time_is_passed_over(asked: str, memory: Assent, script: Script, slept: Slept) -> None:
    script.answers = [refusal(503, "busy", {"Retry-After": asked}), success()]
    memory.blocks.get("goals")
    assert len(slept) == 1
    assert slept[0] <= 0.5


def test_a_retry_after_may_be_a_date() -> None:
    at = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    assert 28 <= (retry_after(httpx2.Headers({"Retry-After": at})) or 0) <= 30
    past = format_datetime(datetime.now(UTC) - timedelta(hours=1), usegmt=True)
    assert retry_after(httpx2.Headers({"Retry-After": past})) == 0


def test_pauses_double_up_to_eight_seconds_and_differ_between_clients() -> None:
    random.seed(7)
    for attempt, longest in enumerate([0.5, 1, 2, 4, 8, 8, 8]):
        pauses = {pause(attempt) for _ in range(50)}
        assert all(0.75 * longest <= each <= longest for each in pauses)
        assert len(pauses) > 1
    assert pause(2_000) <= 8


def test_the_asynchronous_client_does_the_same(async_memory: AsyncAssent, script: Script, slept: Slept) -> None:
    script.answers = [
        httpx2.ReadError("reset"),
        refusal(429, "rate_limited", {"Retry-After": "3"}),
        success(note_id="note-1"),
    ]
    assert asyncio.run(async_memory.notes.save("She sails.")).note_id == "note-1"
    keys = script.header("Idempotency-Key")
    assert keys == [keys[0]] * 3
    assert script.header("X-Retry-Count") == ["0", "1", "2"]
    assert slept[1] == 3
