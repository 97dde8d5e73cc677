"""Requests that never reach the application, over real sockets: the shape of the answer, and headers nobody obeys."""

import contextlib
import json
import random
import re
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from agent_tools.errors import ErrorCode
from tests.deployment.conftest import OWN_SITE
from tests.deployment.test_slow_clients import said
from tests.services import HOST
from tests.support.sites import Site, serving
from tests.torture.site import descendants

ROOT = Path(__file__).resolve().parents[2]

pytestmark = OWN_SITE


#: What Django refuses and logs with a stack.
REFUSALS = ("DisallowedHost", "Unable to parse request body")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with serving(tmp_path_factory.mktemp("malformed")) as running:
        yield running
        log = running.log.splitlines()
        assert [line for line in log if "Traceback" in line and not any(each in line for each in REFUSALS)] == []


@pytest.fixture
def port(site: Site) -> int:
    return site.port


@pytest.fixture
def same_worker(site: Site) -> Iterator[None]:
    """The process that serves afterwards is the one that served before."""
    before = descendants(site.process.pid)
    yield
    assert site.answers("/healthz")
    assert descendants(site.process.pid) == before


def sent(port: int, request: bytes) -> tuple[int, str, bytes]:
    """Status, media type and body of the answer to these bytes."""
    with socket.create_connection((HOST, port), timeout=20) as connection:
        connection.sendall(request)
        answer = said(connection)
    head, _, body = answer.partition(b"\r\n\r\n")
    headers = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
    return int(head.split()[1]), headers[b"content-type"].decode(), body


HOSTILE = [
    (b"GET {path}?q=" + b"x" * 70_000 + b" HTTP/1.1\r\nHost: here\r\n\r\n", "headers_too_large"),
    (b"GET {path} HTTP/1.1\r\nHost: here\r\nX-Long: " + b"x" * 70_000 + b"\r\n\r\n", "headers_too_large"),
    (b"\r\nGET {path} HTTP/1.1\r\nHost: here\r\nX-Long: " + b"x" * 70_000 + b"\r\n\r\n", "headers_too_large"),
    (b"GET {path} HTTP/1.1\r\nHost: here\r\nno colon\r\n\r\n", "bad_request"),
    (b"GET {path} HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: nonsense\r\n\r\n0\r\n\r\n", "bad_request"),
    (b"GET {path} HTTP/1.1\r\nHost: here\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxy", "bad_request"),
    (b"GET {path} HTTP/9.9\r\nHost: here\r\n\r\n", "bad_request"),
]


@pytest.mark.parametrize(("request_", "code"), HOSTILE)
def test_what_the_web_server_refuses_is_said_as_its_address_says_all_errors(
    port: int, request_: bytes, code: str
) -> None:
    error = next(each for each in ErrorCode if each.code == code)
    *head, body = sent(port, request_.replace(b"{path}", b"/mcp"))
    assert head == [error.status, "application/json"]
    answer = json.loads(body)
    assert (answer["jsonrpc"], answer["id"], answer["error"]["data"]["code"]) == ("2.0", None, code)

    *head, body = sent(port, request_.replace(b"{path}", b"/api/v1/tools/memory_search/"))
    assert head == [error.status, "application/json"]
    answer = json.loads(body)
    assert set(answer) == {"ok", "text", "error"}
    assert answer["error"]["code"] == code
    assert answer["text"].startswith("Error: ")

    *head, body = sent(port, request_.replace(b"{path}", b"/sign-in/"))
    assert head == [error.status, "text/html; charset=utf-8"]
    assert body.startswith(b"<!doctype html>")


def test_chunks_that_are_none_are_the_callers_mistake(port: int, site: Site) -> None:
    head = f"POST /api/v1/tools/memory_search/ HTTP/1.1\r\nHost: {HOST}\r\nAuthorization: Bearer {site.token}\r\n"
    *head_said, body = sent(port, head.encode() + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n")
    assert head_said == [400, "application/json"]
    assert json.loads(body)["error"]["code"] == "bad_request"


@pytest.mark.parametrize(
    "headers",
    [
        {"SCRIPT_NAME": "/evil"},
        {"SCRIPT-NAME": "/evil"},
        {"PATH_INFO": "/healthz"},
        {"X-Forwarded-Proto": "https"},
        {"X-Forwarded-Ssl": "on"},
        {"X-Forwarded-Proto": "https", "X-Forwarded-Ssl": "off"},
    ],
)
def test_headers_that_would_move_the_site_are_not_obeyed_from_this_machine(port: int, headers: dict[str, str]) -> None:
    address = f"http://{HOST}:{port}"
    plain, with_them = (httpx.get(f"{address}/memory/", headers=each) for each in ({}, headers))
    assert (with_them.status_code, with_them.headers["Location"]) == (plain.status_code, plain.headers["Location"])
    assert httpx.get(f"{address}/evil/memory/", headers=headers).status_code == 404


# -- bytes that only an attacker sends: whatever they are, the process that serves outlives them -----------------------

#: `urlsplit` raises ValueError for these, in the loop that serves all clients.
NO_ADDRESSES = [b"http://[", b"http://]/sign-in/", b"https://[::1/api/v1/", b"http://[x]/", b"a-longer-scheme://[/"]


@pytest.mark.usefixtures("same_worker")
@pytest.mark.parametrize("target", NO_ADDRESSES)
@pytest.mark.parametrize(
    "rest",
    [b"\r\n", b"Content-Length: 5\r\n\r\nhello", b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"],
    ids=["no body", "body", "chunks"],
)
def test_an_address_that_is_none_is_the_callers_mistake(target: bytes, rest: bytes, port: int) -> None:
    head = b"POST " + target + b" HTTP/1.1\r\nHost: here\r\n"
    assert sent(port, head + rest)[:2] == (400, "text/html; charset=utf-8")
    with socket.create_connection((HOST, port), timeout=20) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" + head + rest)
        both = said(connection)
    assert both.startswith(b"HTTP/1.1 200 ")
    assert b"HTTP/1.1 400 " in both


@pytest.mark.usefixtures("same_worker")
def test_others_are_served_on_their_connections_while_an_attacker_tries(port: int) -> None:
    with socket.create_connection((HOST, port), timeout=20) as bystander:
        bystander.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n")
        for target in NO_ADDRESSES:
            sent(port, b"GET " + target + b" HTTP/1.1\r\n\r\n")
        bystander.sendall(b"Connection: close\r\n\r\n")
        assert said(bystander).startswith(b"HTTP/1.1 200 ")


METHODS = [b"", b"get", b"G\xc3\x84T", b"G\tT", b"G\0T", b"X" * 40, b"PRI", b"CONNECT", b"OPTIONS"]
TARGETS = [
    *b"/ /healthz /sign-in/ /api/v1/tools/memory_search/ /memory/alice/export/memory.json /static/".split(b" "),
    *b" * ? # // //[ /[ /% /%zz%00%ff% /%2e%2e/%2f /\xff\xfe /\0 /\t here:443 [::1]:443 [ here \xff".split(b" "),
    *b":// ://[ \xff://[ 1://[ ws://[ file://[/etc javascript://[ a-longer-scheme://[/ http:[/ http://".split(b" "),
    *b"http://[ HTTP://[::1 http://] http://[v1.x]/ http://[1]:a/ http://a@[/ http://here?[/ http://%5b/".split(b" "),
    *b"http://[::1]/healthz http://here:99999/healthz http:///healthz http://h\xe9/ http://a/%ff\xff".split(b" "),
    *(b"/" + b"a" * 9000, b"http://" + b"[" * 9000, b"/ /"),
]
VERSIONS = [b"", b"\xff", b"HTTP/0.9", b"HTTP/1.0", b"HTTP/1.1 ", b"HTTP/2.0", b"HTTP/9.9", b"http/1.1"]
HEADERS = [
    *b"Host: 127.0.0.1|Host: [|Host: \xff|Host:|Connection: close|Connection: \xff|Cookie: \xff=[;;=|X: \0".split(b"|"),
    *b"Content-Length: 5|Content-Length: -1|Content-Length: +5|Content-Length: 5, 5|Content-Length: 0x5".split(b"|"),
    *b"Content-Length: \xb2|Content-Length:|content-length\t: 5|Transfer-Encoding: chunked".split(b"|"),
    *b"Transfer-Encoding: gzip, chunked|Transfer-Encoding: \xff|Transfer-Encoding:|Range: [|Upgrade: h2c".split(b"|"),
    *b"Expect: 100-continue|Expect: \xff|Content-Type: multipart/form-data; boundary=|Accept: \xff".split(b"|"),
    *b"Authorization: Bearer \xff|Content-Type: application/json|Content-Type: text/\xff; charset=\xff".split(b"|"),
    *b"no colon|: no name| folded||X-\xff: y|Forwarded: for=[|X-Forwarded-For: [|If-Modified-Since: [".split(b"|"),
    *(b"Content-Length: " + b"9" * 5000, b"Accept-Language: " + b"a-" * 4000, b"X" * 9000 + b": y"),
]
BODIES = [
    *(b"", b"hello", b"5\r\nhello\r\n0\r\n\r\n", b"0\r\n\r\n", b"0\r\nX: y\r\n\r\n", b"0\r\n\xff\r\n\r\n", b"-1\r\n"),
    *(b"ffffffffffff\r\n", b"5;" + b"x" * 9000, b"\xff" * 1000, b"5\r\nhelloo", b"\r\n" * 500),
    *(b"GET http://[ HTTP/1.1\r\n\r\n", b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"),
]
TYPING_ERRORS = [b"[", b"]", b"%", b"\xff", b"\0", b" ", b"\r\n", b"://"]


def hostile(chance: random.Random) -> bytes:
    """A request that is almost one."""
    method = chance.choice([b"GET", b"POST", b"HEAD"] * 9 + METHODS)
    line = b" ".join([method, chance.choice(TARGETS), chance.choice([b"HTTP/1.1"] * 8 + VERSIONS)])
    line_end = chance.choice([b"\r\n"] * 57 + [b"\n", b"\r", b"\n\r"])
    lines = [line, *chance.choices(HEADERS, k=chance.randrange(5)), b"", chance.choice(BODIES)]
    request = bytearray(line_end.join(lines))
    while chance.random() < 0.3:
        place = chance.randrange(min(len(request), 200))
        request[place : place + chance.randrange(2)] = chance.choice(TYPING_ERRORS)
    if chance.random() < 0.1:
        del request[chance.randrange(len(request)) :]
    return bytes(request)


def answer_to(port: int, request: bytes, pieces: int) -> bytes:
    """What is answered to these bytes, sent in so many pieces, until the server hangs up or resets."""
    with socket.create_connection((HOST, port), timeout=20) as connection, contextlib.suppress(ConnectionError):
        size = len(request) // pieces + 1
        for start in range(0, len(request), size):
            connection.sendall(request[start : start + size])
        with contextlib.suppress(OSError):  # the server has hung up already
            connection.shutdown(socket.SHUT_WR)
        return said(connection)
    return b""


@pytest.mark.usefixtures("same_worker")
def test_a_thousand_requests_that_make_no_sense_end_no_process(port: int) -> None:
    end = time.monotonic() + 20  # two seconds where little else runs

    def attack(seed: int) -> list[tuple[bytes, bytes]]:
        """Send some hundred; return what got a wrong answer, and that."""
        chance, wrong = random.Random(seed), []
        for _ in range(250):
            if time.monotonic() > end:
                break
            request = hostile(chance)
            answer = answer_to(port, request, chance.choice([1, 1, 1, 2, 5]))
            if answer and not re.match(rb"HTTP/1.[01] [1-4]", answer):
                wrong.append((request[:300], answer[:300]))
        return wrong

    with ThreadPoolExecutor(4) as attackers:
        assert [each for wrong in attackers.map(attack, range(4)) for each in wrong] == []
