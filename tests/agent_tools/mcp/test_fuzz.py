"""Made-up messages: whatever is sent, the answer is one of the protocol, never a 5xx and never an exception's words."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import override_settings
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_tools.calls import registry
from agent_tools.mcp.methods import METHODS
from memory_app.reads import Block
from tests.agent_tools.mcp.peer import META, MODERN, OLD, Peer

LEAKS = ("Traceback", "Error(", 'File "', "object at 0x", "psycopg", "sqlite", "pydantic", "/agent_tools/")
STATUSES = {200, 202, 400, 404}

texts = st.one_of(
    st.text(max_size=20),
    st.sampled_from(
        ["goals", "alice", "ben", "../ben", "memory://alice/blocks/goals", "memory_skill", "\x00", "%00", ""]
    ),
)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), texts),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=4)),
    max_leaves=12,
)
names = sorted({name for tool in registry.TOOLS.values() for name in tool.arguments.model_fields})
arguments = st.dictionaries(st.sampled_from([*names, "user_id", "nothing"]), values, max_size=5)
params = st.one_of(
    values,
    st.fixed_dictionaries(
        {},
        optional={
            "name": st.one_of(st.sampled_from(sorted(registry.TOOLS)), values),
            "arguments": st.one_of(arguments, values),
            "uri": texts,
            "cursor": values,
            "ref": st.one_of(values, st.just({"type": "ref/resource", "uri": "x"})),
            "argument": st.one_of(values, st.just({"name": "label", "value": ""})),
            "context": values,
            "protocolVersion": values,
            "_meta": st.one_of(values, st.just({f"{META}protocolVersion": MODERN, f"{META}clientCapabilities": {}})),
        },
    ),
)
messages = st.one_of(
    values,
    st.fixed_dictionaries(
        {"jsonrpc": st.one_of(st.just("2.0"), values), "method": st.one_of(st.sampled_from(sorted(METHODS)), values)},
        optional={"id": values, "params": params},
    ),
)
#: What a call has that gets as far as a tool.
calls = st.tuples(st.sampled_from(sorted(registry.TOOLS)), arguments)
MANY = settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@pytest.fixture(autouse=True)
def unlimited(token: str) -> Iterator[None]:
    with override_settings(RATE_LIMIT=1_000_000):
        yield


def check(response: Any) -> Any:
    """An answer of the protocol, and nothing of how it was made."""
    said = response.content.decode()
    assert response.status_code in STATUSES, said
    assert not [word for word in LEAKS if word in said], said
    if response.status_code == 202:
        assert said == ""
        return None
    answer = json.loads(said)
    for each in answer if isinstance(answer, list) else [answer]:  # a list answers a batch
        assert each["jsonrpc"] == "2.0"
        assert ("result" in each) != ("error" in each)
        if "error" in each:
            assert isinstance(each["error"]["code"], int)
            assert each["error"]["code"] != -32603, said
    return answer


@MANY
@given(message=messages)
def test_any_json_is_answered_by_the_protocol(token: str, message: Any) -> None:
    raw = json.dumps(message)
    check(Peer(token).send(f"[{raw}, {raw}]"))
    for headers in ({}, {"MCP-Protocol-Version": OLD[0]}, {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call"}):
        check(Peer(token).send(raw, **headers))


@MANY
@given(raw=st.one_of(st.binary(max_size=200), st.text(max_size=200).map(str.encode)))
def test_any_bytes_are_answered_by_the_protocol(token: str, raw: bytes) -> None:
    check(Peer(token).send(raw))


@MANY
@given(call=calls)
def test_any_arguments_are_answered_with_a_result(token: str, goals: Block, call: Any) -> None:
    tool, given_ = call
    # As json.dumps writes it, NaN among them, which is no JSON.
    answer = check(Peer(token, OLD[-1]).ask("tools/call", {"name": tool, "arguments": given_}))
    if "error" in answer:
        assert answer["error"]["code"] == -32700
        return
    (content,) = answer["result"]["content"]
    assert content["text"].startswith("Error") or answer["result"]["isError"] is False or "not found" in content["text"]


@MANY
@given(name=texts, value=texts, version=texts)
def test_any_headers_and_query_are_answered_by_the_protocol(token: str, name: str, value: str, version: str) -> None:
    plain = "".join(each for each in version if " " <= each <= "~")
    peer = Peer(token, query=urlencode({name: value}))
    headers = {"MCP-Protocol-Version": plain, "Mcp-Name": plain, "Mcp-Method": plain}
    check(peer.send({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, **headers))
