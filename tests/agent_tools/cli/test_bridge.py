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
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from assent_client.cli.bridge import Bridge
from tests.agent_tools.cli.conftest import invoke

pytestmark = pytest.mark.pure

URL = "https://memory.example/below"
VERSION = "io.modelcontextprotocol/protocolVersion"


def echo(request: httpx2.Request) -> httpx2.Response:
    message = json.loads(request.content)
    return result(message["id"], method=message["method"])


def result(id: Any, **said: Any) -> httpx2.Response:
    return httpx2.Response(200, json={"jsonrpc": "2.0", "id": id, "result": said})


def refusal(status: int, message: str) -> httpx2.Response:
    return httpx2.Response(status, json={"jsonrpc": "2.0", "id": None, "error": {"code": -32010, "message": message}})


def ran(*lines: Any, answer: Any = echo, sent: list[httpx2.Request] | None = None, **query: str) -> list[Any]:
    """What the bridge writes for these lines; bytes as they are, anything else as JSON.

    Args:
        answer: the server's response, an exception that is raised, or a function of the request.
        sent: gets the requests.
    """

    def answered(request_: httpx2.Request) -> httpx2.Response:
        if sent is not None:
            sent.append(request_)
        if isinstance(answer, Exception):
            raise answer
        made: httpx2.Response = answer(request_) if callable(answer) else answer
        return made

    raw = b"\n".join(line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines)
    sink = io.BytesIO()
    Bridge(URL, "asn_x", io.BytesIO(raw), sink, query=query, transport=httpx2.MockTransport(answered)).run()
    written = sink.getvalue()
    assert not written or written.endswith(b"\n")
    return [json.loads(line) for line in written.splitlines()]


def request(id: Any, method: str = "tools/list", **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def test_each_request_is_answered_on_its_id() -> None:
    answers = ran(request(1), b"", request("two"), request(3, "prompts/list"))
    assert {(each["id"], each["result"]["method"]) for each in answers} == {
        (1, "tools/list"),
        ("two", "tools/list"),
        (3, "prompts/list"),
    }


def test_the_token_and_the_query_go_with_each_request() -> None:
    sent: list[httpx2.Request] = []
    ran(request(1), sent=sent, user="alice", readonly="1")
    assert str(sent[0].url) == f"{URL}/mcp?user=alice&readonly=1"
    assert sent[0].headers["Authorization"] == "Bearer asn_x"
    assert sent[0].headers["Content-Type"] == "application/json"
    assert "MCP-Protocol-Version" not in sent[0].headers


def test_headers_repeat_what_a_message_without_a_handshake_says() -> None:
    sent: list[httpx2.Request] = []
    meta = {"_meta": {VERSION: "2026-07-28"}}
    ran(request(1, "tools/call", name="größe", **meta), sent=sent)
    ran(request(2, "resources/read", uri="memory://alice/blocks/goals", **meta), sent=sent)
    first, second = (each.headers for each in sent)
    assert (first["MCP-Protocol-Version"], first["Mcp-Method"]) == ("2026-07-28", "tools/call")
    assert first["Mcp-Name"] == "=?base64?Z3LDtsOfZQ==?="
    assert second["Mcp-Name"] == "memory://alice/blocks/goals"


def test_after_a_handshake_the_version_is_sent_with_what_follows() -> None:
    sent: list[httpx2.Request] = []
    begin = request(1, "initialize", protocolVersion="2025-06-18")
    initialized = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert len(ran(begin, initialized, request(2), sent=sent, answer=result(1, protocolVersion="2025-06-18"))) == 2
    assert [each.headers.get("MCP-Protocol-Version") for each in sent] == [None, "2025-06-18"]


def test_the_messages_of_a_batch_are_answered_each_on_its_id() -> None:
    begin = request(1, "initialize", protocolVersion="2025-03-26")
    notice = {"jsonrpc": "2.0", "method": "notifications/initialized"}

    def answer(request_: httpx2.Request) -> httpx2.Response:
        return result(json.loads(request_.content)["id"], protocolVersion="2025-03-26")

    answers = ran(begin, [request(2), notice, request(3)], answer=answer)
    assert {each["id"] for each in answers if "result" in each} == {1, 2, 3}


@pytest.mark.parametrize("method", ["initialize", "server/discover"])
def test_a_server_that_is_being_started_is_waited_for(method: str) -> None:
    sent: list[httpx2.Request] = []

    def answer(request_: httpx2.Request) -> httpx2.Response:
        if len(sent) < 3:
            raise httpx2.ConnectError("Connection refused")
        return echo(request_)

    (said,) = ran(request(1, method), answer=answer, sent=sent)
    assert (said["result"]["method"], len(sent)) == (method, 3)


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


@pytest.mark.parametrize(
    ("answer", "about"),
    [
        (httpx2.ConnectError("Connection refused"), "cannot be reached (Connection refused). Is the server running?"),
        (httpx2.ReadTimeout("timed out"), "did not answer in time; what was asked may still be done."),
        (refusal(401, "The token is not valid."), "does not know the token: check MEMORY_TOKEN."),
        (refusal(429, "Too many calls. Try again in 7 seconds."), "Too many calls. Try again in 7 seconds."),
        (
            httpx2.Response(301, headers={"Location": "https://elsewhere.example/mcp"}),
            "has moved to https://elsewhere.example/mcp: change MEMORY_URL.",
        ),
        (httpx2.Response(502, html="<h1>Bad gateway</h1>"), "answered 502, but not as Assent: check MEMORY_URL."),
        (httpx2.Response(404, json={"detail": "no"}), "answered 404, but not as Assent: check MEMORY_URL."),
        (RuntimeError("secret words"), "The bridge failed (RuntimeError)."),
    ],
    ids=["away", "slow", "unknown token", "limited", "moved", "proxy", "other", "broken"],
)
def test_a_server_that_does_not_answer_is_an_error_on_the_same_id(answer: Any, about: str) -> None:
    for id in (1, "two"):
        (said,) = ran(request(id), answer=answer)
        assert (said["id"], said["error"]["code"]) == (id, -32010)
        assert said["error"]["message"].endswith(about)
        assert "secret" not in json.dumps(said)


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
    text = "a\u2028b\nc\u0085d"
    (said,) = ran(request(1), answer=result(1, text=text))
    assert said["result"]["text"] == text


def test_a_client_that_is_gone_ends_it() -> None:
    class Gone(io.BytesIO):
        def write(self, data: Any, /) -> int:
            raise BrokenPipeError

    Bridge(URL, "asn_x", io.BytesIO(b"[]\n" * 10), Gone(), transport=httpx2.MockTransport(echo)).run()


def test_without_a_server_it_says_what_to_set() -> None:
    done = invoke("mcp")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "Set MEMORY_URL and MEMORY_TOKEN" in done.stderr


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
