"""`memory mcp`: lines in, lines out, with a server that answers, is away, or is none of ours.

Here the bridge alone, over a transport without a network. With a real server and the official client it is tried in
tests/integrations/mcp_sdk.
"""

import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest
from click.testing import CliRunner

from assent_client.cli.bridge import Bridge
from assent_client.cli.commands import memory

pytestmark = pytest.mark.pure

URL = "https://memory.example/below"
VERSION = "io.modelcontextprotocol/protocolVersion"


def echo(request: httpx2.Request) -> httpx2.Response:
    message = json.loads(request.content)
    return httpx2.Response(200, json={"jsonrpc": "2.0", "id": message["id"], "result": {"method": message["method"]}})


def ran(*lines: Any, answer: Callable[[httpx2.Request], httpx2.Response] = echo, **query: str) -> list[Any]:
    """What the bridge writes for these lines; bytes as they are, anything else as JSON."""
    raw = b"\n".join(line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines)
    sink = io.BytesIO()
    transport = httpx2.MockTransport(answer)
    Bridge(URL, "asn_x", io.BytesIO(raw), sink, query=query, transport=transport).run()
    written = sink.getvalue()
    assert not written or written.endswith(b"\n")
    return [json.loads(line) for line in written.splitlines()]


def request(id: Any, method: str = "tools/list", **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def test_each_request_is_answered_on_its_id() -> None:
    answers = ran(request(1), b"", request("two"), request(3, "prompts/list"))
    assert {json.dumps(each["id"]): each["result"]["method"] for each in answers} == {
        "1": "tools/list",
        '"two"': "tools/list",
        "3": "prompts/list",
    }


def test_the_token_and_the_query_go_with_each_request() -> None:
    seen: list[httpx2.Request] = []

    def look(request_: httpx2.Request) -> httpx2.Response:
        seen.append(request_)
        return echo(request_)

    ran(request(1), answer=look, user="alice", readonly="1")
    assert str(seen[0].url) == f"{URL}/mcp?user=alice&readonly=1"
    assert seen[0].headers["Authorization"] == "Bearer asn_x"
    assert seen[0].headers["Content-Type"] == "application/json"
    assert "MCP-Protocol-Version" not in seen[0].headers


def test_headers_repeat_what_a_message_without_a_handshake_says() -> None:
    seen: list[httpx2.Request] = []

    def look(request_: httpx2.Request) -> httpx2.Response:
        seen.append(request_)
        return echo(request_)

    meta = {"_meta": {VERSION: "2026-07-28"}}
    ran(request(1, "tools/call", name="größe", **meta), answer=look)
    ran(request(2, "resources/read", uri="memory://alice/blocks/goals", **meta), answer=look)
    first, second = (each.headers for each in seen)
    assert (first["MCP-Protocol-Version"], first["Mcp-Method"]) == ("2026-07-28", "tools/call")
    assert first["Mcp-Name"] == "=?base64?Z3LDtsOfZQ==?="
    assert second["Mcp-Name"] == "memory://alice/blocks/goals"


def test_after_a_handshake_the_version_is_sent_with_what_follows() -> None:
    seen: list[str | None] = []

    def agree(request_: httpx2.Request) -> httpx2.Response:
        seen.append(request_.headers.get("MCP-Protocol-Version"))
        id = json.loads(request_.content)["id"]
        return httpx2.Response(200, json={"jsonrpc": "2.0", "id": id, "result": {"protocolVersion": "2025-06-18"}})

    begin = request(1, "initialize", protocolVersion="2025-06-18")
    ran(begin, {"jsonrpc": "2.0", "method": "notifications/initialized"}, request(2), answer=agree)
    assert seen == [None, "2025-06-18"]


def test_notifications_are_kept_and_nothing_is_written() -> None:
    assert ran({"jsonrpc": "2.0", "method": "notifications/initialized"}) == []


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{", -32700),
        (b"\xff\xfe", -32700),
        (b"[" * 50_000, -32700),
        (b"[]", -32600),
        (b"7", -32600),
        (b"null", -32600),
    ],
)
def test_a_line_that_is_no_message_is_refused_and_the_next_is_answered(line: bytes, code: int) -> None:
    first, second = ran(line, request(2))
    assert (first["id"], first["error"]["code"]) == (None, code)
    assert second["id"] == 2


def away(request_: httpx2.Request) -> httpx2.Response:
    raise httpx2.ConnectError("Connection refused", request=request_)


def slow(request_: httpx2.Request) -> httpx2.Response:
    raise httpx2.ReadTimeout("timed out", request=request_)


def unknown(request_: httpx2.Request) -> httpx2.Response:
    error = {"code": -32010, "message": "The token is not valid."}
    return httpx2.Response(401, json={"jsonrpc": "2.0", "id": None, "error": error})


def moved(request_: httpx2.Request) -> httpx2.Response:
    return httpx2.Response(301, headers={"Location": "https://elsewhere.example/mcp"})


def proxy(request_: httpx2.Request) -> httpx2.Response:
    return httpx2.Response(502, html="<h1>Bad gateway</h1>")


def other(request_: httpx2.Request) -> httpx2.Response:
    return httpx2.Response(404, json={"detail": "Not found"})


def broken(request_: httpx2.Request) -> httpx2.Response:
    raise RuntimeError("secret words")


@pytest.mark.parametrize(
    ("answer", "about"),
    [
        (away, "cannot be reached (Connection refused). Is the server running?"),
        (slow, "did not answer in time; what was asked may still be done."),
        (unknown, "does not know the token: check MEMORY_TOKEN."),
        (moved, "has moved to https://elsewhere.example/mcp: change MEMORY_URL."),
        (proxy, "answered 502, but not as Assent: check MEMORY_URL."),
        (other, "answered 404, but not as Assent: check MEMORY_URL."),
        (broken, "The bridge failed (RuntimeError)."),
    ],
)
def test_a_server_that_does_not_answer_is_an_error_on_the_same_id(
    answer: Callable[[httpx2.Request], httpx2.Response], about: str
) -> None:
    for id in (1, "two"):
        (said,) = ran(request(id), answer=answer)
        assert (said["id"], said["error"]["code"]) == (id, -32010)
        assert about in said["error"]["message"]
        assert "secret" not in json.dumps(said)


def test_an_error_of_the_server_keeps_its_words_and_gets_the_id() -> None:
    def limited(request_: httpx2.Request) -> httpx2.Response:
        error = {"code": -32010, "message": "Too many calls with this token. Try again in 7 seconds."}
        return httpx2.Response(429, json={"jsonrpc": "2.0", "id": None, "error": error})

    (said,) = ran(request(5), answer=limited)
    assert (said["id"], said["error"]["message"][:8]) == (5, "Too many")


def test_a_long_call_does_not_hold_up_the_next() -> None:
    second_is_done = threading.Event()

    def answer(request_: httpx2.Request) -> httpx2.Response:
        if json.loads(request_.content)["id"] == 1:
            assert second_is_done.wait(10)
        else:
            second_is_done.set()
        return echo(request_)

    assert {each["id"] for each in ran(request(1), request(2), answer=answer)} == {1, 2}


def test_the_answer_to_a_cancelled_request_is_not_written() -> None:
    cancelled = threading.Event()

    def lines() -> Iterator[bytes]:
        yield json.dumps(request(1)).encode() + b"\n"
        notice = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
        yield json.dumps(notice).encode() + b"\n"
        cancelled.set()

    class Source(io.BytesIO):
        def __init__(self) -> None:
            self.left = lines()

        def readline(self, size: int | None = -1, /) -> bytes:
            return next(self.left, b"")

    def answer(request_: httpx2.Request) -> httpx2.Response:
        assert cancelled.wait(10)
        return echo(request_)

    sink = io.BytesIO()
    Bridge(URL, "asn_x", Source(), sink, transport=httpx2.MockTransport(answer)).run()
    assert sink.getvalue() == b""


def test_text_with_line_separators_stays_on_one_line() -> None:
    def answer(request_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, json={"jsonrpc": "2.0", "id": 1, "result": {"text": "a\u2028b\nc\u0085d"}})

    (said,) = ran(request(1), answer=answer)
    assert said["result"]["text"] == "a\u2028b\nc\u0085d"


def test_a_client_that_is_gone_ends_it() -> None:
    class Gone(io.BytesIO):
        def write(self, data: Any, /) -> int:
            raise BrokenPipeError

    Bridge(URL, "asn_x", io.BytesIO(b"[]\n" * 10), Gone(), transport=httpx2.MockTransport(echo)).run()


@pytest.mark.parametrize(
    ("variables", "about"),
    [
        ({}, "Set MEMORY_URL and MEMORY_TOKEN"),
        ({"MEMORY_URL": "https://memory.example"}, "set MEMORY_TOKEN"),
        ({"MEMORY_URL": "memory.example", "MEMORY_TOKEN": "asn_x"}, "has to begin with http"),
    ],
)
def test_without_a_server_it_says_what_to_set(variables: dict[str, str], about: str) -> None:
    cleared = {name: variables.get(name) for name in ("MEMORY_URL", "MEMORY_TOKEN", "MEMORY_OWNER")}
    done = CliRunner().invoke(memory, ["mcp"], env=cleared)
    assert done.exit_code == 2
    assert about in done.stderr
    assert done.stdout == ""


@pytest.mark.slow
def test_as_a_process_it_writes_messages_alone_and_ends_with_its_input() -> None:
    env = os.environ | {"MEMORY_URL": "http://127.0.0.1:9", "MEMORY_TOKEN": "asn_x"}
    lines = json.dumps(request(1)) + "\nnot json\n"
    done = subprocess.run(
        [sys.executable, "-m", "assent_client.cli", "mcp"],
        input=lines,
        capture_output=True,
        text=True,
        env=env,
        timeout=60,
    )
    assert done.returncode == 0
    assert sorted(json.loads(line)["error"]["code"] for line in done.stdout.splitlines()) == [-32700, -32010]
    assert "cannot be reached" in done.stderr
