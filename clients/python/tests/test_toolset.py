"""The tools for any framework: what is sent, and that nothing is raised. With a real server: tests/integrations."""

import asyncio
import json
from typing import Any

import httpx2
import pytest
from conftest import Script, refusal, success

from assent_client import Assent, AsyncAssent
from assent_client.adapters.toolset import Outcome, Toolset, call_key

READS = {"type": "object", "properties": {"block_label": {"type": "string"}}}
SAVES = {"type": "object", "properties": {name: {"type": "string"} for name in ("content", "idempotency_key")}}
TOOLS = [
    {"name": "read_memory_block", "description": "Read.", "parameters": READS, "effect": "read_only"},
    {"name": "memory_save", "description": "Save.", "parameters": SAVES, "effect": "side_effecting"},
]
AWAY = "Error: the memory cannot be reached at the moment. Try again shortly."


def both(memory: Assent, async_memory: AsyncAssent, *args: Any, **more: Any) -> list[Outcome]:
    """The outcome with both clients, and with the blocking one in a thread."""

    async def awaited() -> list[Outcome]:
        return [await Toolset(each).run_async(*args, **more) for each in (memory, async_memory)]

    return [Toolset(memory).run(*args, **more), *asyncio.run(awaited())]


def test_an_answer_is_its_text_and_its_data(memory: Assent, async_memory: AsyncAssent, script: Script) -> None:
    script.answers = [success("Saved.", note_id="1")]
    for outcome in both(memory, async_memory, "memory_save", {"content": "x"}, session_id="s"):
        assert outcome == Outcome("Saved.", {"note_id": "1"})
        assert not outcome.is_error
    assert script.body() == {"content": "x", "session_id": "s", "user_id": "alice"}


def test_whose_memory_it_is_and_the_key_are_not_the_models_to_say(memory: Assent, script: Script) -> None:
    script.answers = [success()]
    given = {"content": "x", "user_id": "ben", "idempotency_key": "mine", "tags": None}
    Toolset(memory, user="alice").run("memory_save", given, idempotency_key="call-1")
    assert script.body() == {"content": "x", "user_id": "alice"}
    assert script.header("Idempotency-Key") == ["call-1"]
    Toolset(memory, user="alice").run("memory_save", given, user="tim")
    assert script.body()["user_id"] == "tim"
    assert given["user_id"] == "ben", "the arguments given are not changed"
    Toolset(memory).run("memory_read_session", {"session_id": "old"}, session_id="now")
    assert script.body()["session_id"] == "old"
    Toolset(memory, user="alice").run("memory_save", given)
    assert script.header("Idempotency-Key")[-1] != "mine"


def test_a_refusal_is_its_text_and_details(memory: Assent, async_memory: AsyncAssent, script: Script) -> None:
    script.answers = [refusal(404, "not_found", None, label="x")]
    for outcome in both(memory, async_memory, "read_memory_block", {}):
        assert outcome == Outcome("Error: not_found", {"label": "x"}, "not_found")
        assert (outcome.is_error, outcome.is_unreached) == (True, False)


@pytest.mark.parametrize(
    "answer",
    [
        httpx2.ConnectError("[Errno 111] at 10.0.0.7"),
        httpx2.Response(502, text="<h1>Bad gateway of 10.0.0.7</h1>"),
        httpx2.Response(200, json={"hello": 1}),
        httpx2.Response(404, json={"detail": "10.0.0.7"}),
        httpx2.Response(302, headers={"Location": "https://login.example"}),
    ],
    ids=lambda each: type(each).__name__ if isinstance(each, Exception) else str(each.status_code),
)
def test_what_is_not_assents_answer_is_an_error_that_says_nothing_of_it(
    memory: Assent, async_memory: AsyncAssent, script: Script, answer: Any
) -> None:
    script.answers = [answer]
    for outcome in both(memory, async_memory, "memory_save", {"content": "x"}):
        assert (outcome.text, outcome.is_error, outcome.is_unreached, outcome.is_ours) == (AWAY, True, True, True)


def test_a_fault_of_the_server_is_ours(memory: Assent, script: Script) -> None:
    script.answers = [refusal(503, "unavailable")]
    outcome = Toolset(memory).run("memory_save", {"content": "x"})
    assert (outcome.code, outcome.is_ours, outcome.is_unreached) == ("unavailable", True, False)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}, b"x", object()], ids=repr)
def test_arguments_that_json_has_no_form_for_are_an_error(
    memory: Assent, async_memory: AsyncAssent, script: Script, value: object
) -> None:
    for outcome in both(memory, async_memory, "memory_save", {"content": value}):
        assert outcome.text == "Error: the arguments of memory_save cannot be sent as JSON."
        assert outcome.is_error
    assert script.requests == []


def test_tools_are_defined_as_the_server_says(memory: Assent, async_memory: AsyncAssent, script: Script) -> None:
    script.answers = [success(tools=TOOLS)]
    read, save = Toolset(memory).definitions()
    assert (read.name, read.is_read_only, save.is_read_only) == ("read_memory_block", True, False)
    assert asyncio.run(Toolset(async_memory).definitions_async()) == [read, save]
    assert asyncio.run(Toolset(memory).definitions_async(["memory_save"])) == [save]
    assert list(save.parameters["properties"]) == ["content"]
    assert not script.requests[0].url.params.keys() & {"toolset", "tools"}
    assert script.requests[-1].url.params["toolset"] == "all"
    with pytest.raises(ValueError, match="may use no fly"):
        Toolset(memory).definitions(["fly"])


def test_an_async_client_is_refused_where_nothing_is_awaited(async_memory: AsyncAssent) -> None:
    with pytest.raises(TypeError, match="give an Assent, or `await amemory_tools"):
        Toolset(async_memory).definitions()
    with pytest.raises(TypeError, match="give an Assent"):
        Toolset(async_memory).run("memory_save", {})


def test_a_key_is_of_the_call_and_of_what_it_asks() -> None:
    key = call_key("call_0", "memory_save", {"a": 1, "b": 2})
    assert key == call_key("call_0", "memory_save", json.loads('{"b": 2, "a": 1}'))
    others = [("call_1", "memory_save", {"a": 1, "b": 2}), ("call_0", "forget", {}), ("call_0", "memory_save", {})]
    assert key not in [call_key(*other) for other in others]
    assert call_key(None, "memory_save", {}) is call_key("", "memory_save", {}) is None


@pytest.mark.parametrize("client", [None, Assent, "http://127.0.0.1:8000"])
def test_what_is_no_client_is_named(client: Any) -> None:
    with pytest.raises(TypeError, match=f"not {type(client).__name__}$"):
        Toolset(client)
