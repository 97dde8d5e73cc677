"""Requests that never reach the application, over real sockets: the shape of the answer, and headers nobody obeys."""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from agent_tools.errors import ErrorCode
from tests import environment
from tests.services import HOST, Services, free_ports

ROOT = Path(__file__).resolve().parents[2]

pytestmark = [
    pytest.mark.pure,
    pytest.mark.skipif(not environment.is_embedded(), reason="needs databases of its own"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("malformed")


@pytest.fixture(scope="module")
def port(folder: Path) -> Iterator[int]:
    (free,) = free_ports(1)
    started = Services(folder)
    env = os.environ | {"ASSENT_DATA_DIR": str(folder / "data"), "ASSENT_DEBUG": "1"}
    env.pop("ASSENT_PUBLIC_URL", None)
    try:
        started.start(
            "serve",
            [sys.executable, "manage.py", "serve", "--demo", "--port", str(free)],
            ready=lambda: is_alive(free),
            env=env,
            cwd=ROOT,
        )
        yield free
        assert "Traceback" not in (folder / "serve.log").read_text()
    finally:
        started.stop()


def is_alive(port: int) -> bool:
    try:
        return httpx.get(f"http://{HOST}:{port}/healthz", timeout=5).status_code == 200
    except httpx.HTTPError:
        return False


def sent(port: int, request: bytes) -> tuple[int, str, bytes]:
    """Status, media type and body of the answer to these bytes."""
    with socket.create_connection((HOST, port), timeout=20) as connection:
        connection.sendall(request)
        answer = b""
        while data := connection.recv(65536):
            answer += data
    head, _, body = answer.partition(b"\r\n\r\n")
    headers = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
    return int(head.split()[1]), headers[b"content-type"].decode(), body


HOSTILE = [
    (b"GET {path}?q=" + b"x" * 9_000 + b" HTTP/1.1\r\nHost: here\r\n\r\n", "address_too_long"),
    (b"GET {path} HTTP/1.1\r\nHost: here\r\nX-Long: " + b"x" * 9_000 + b"\r\n\r\n", "headers_too_large"),
    (b"GET {path} HTTP/1.1\r\nHost: here\r\n" + b"X-Many: x\r\n" * 200 + b"\r\n", "headers_too_large"),
    (b"GET {path} HTTP/1.1\r\nHost: here\r\nno colon\r\n\r\n", "bad_request"),
    (b"GET {path} HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: nonsense\r\n\r\n0\r\n\r\n", "bad_request"),
    (b"GET {path} HTTP/1.1\r\nHost: here\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxy", "bad_request"),
    (b"GET {path} HTTP/9.9\r\nHost: here\r\n\r\n", "bad_request"),
]


@pytest.mark.parametrize(("request_", "code"), HOSTILE)
def test_what_gunicorn_refuses_has_the_shape_of_all_errors_under_api(port: int, request_: bytes, code: str) -> None:
    status, media_type, body = sent(port, request_.replace(b"{path}", b"/api/v1/tools/memory_search/"))
    error = next(each for each in ErrorCode if each.code == code)
    assert (status, media_type) == (error.status, "application/json")
    answer = json.loads(body)
    assert set(answer) == {"ok", "text", "error"}
    assert answer["error"]["code"] == code
    assert answer["text"].startswith("Error: ")


def test_chunks_that_are_none_are_the_callers_mistake(port: int, folder: Path) -> None:
    token = (folder / "data" / "demo_token").read_text().strip()
    head = (
        f"POST /api/v1/tools/memory_search/ HTTP/1.1\r\nHost: {HOST}\r\nAuthorization: Bearer {token}\r\n"
        "Transfer-Encoding: chunked\r\n\r\n"
    )
    status, media_type, body = sent(port, head.encode() + b"zz\r\n\r\n")
    assert (status, media_type) == (400, "application/json")
    assert json.loads(body)["error"]["code"] == "bad_request"


@pytest.mark.parametrize(("request_", "code"), HOSTILE)
def test_and_is_a_page_elsewhere(port: int, request_: bytes, code: str) -> None:
    _, media_type, body = sent(port, request_.replace(b"{path}", b"/sign-in/"))
    assert media_type == "text/html; charset=utf-8"
    assert body.startswith(b"<!doctype html>")


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
