"""Clients that are slow, silent or never read: the server outlives them, and serves those who are alive."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests import environment
from tests.services import HOST, Services, free_ports

ROOT = Path(__file__).resolve().parents[2]
THREADS = 2
READ_TIMEOUT = 2

pytestmark = [
    pytest.mark.pure,
    pytest.mark.skipif(not environment.is_embedded(), reason="needs databases of its own"),
]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("slow")
    (port,) = free_ports(1)
    url = f"http://{HOST}:{port}"
    env = os.environ | {
        "ASSENT_DATA_DIR": str(folder / "data"),
        "ASSENT_DEBUG": "1",
        "ASSENT_THREADS": str(THREADS),
        "ASSENT_READ_TIMEOUT": str(READ_TIMEOUT),
    }
    env.pop("ASSENT_PUBLIC_URL", None)
    started = Services(folder)
    try:
        started.start(
            "serve",
            [sys.executable, "manage.py", "serve", "--port", str(port)],
            ready=lambda: seconds_to_answer(url) is not None,
            env=env,
            cwd=ROOT,
        )
        yield url
        assert "Traceback" not in (folder / "serve.log").read_text()
    finally:
        started.stop()


def seconds_to_answer(address: str, timeout: float = 20) -> float | None:
    began = time.monotonic()
    try:
        answer = httpx.get(f"{address}/healthz", timeout=timeout)
    except httpx.HTTPError:
        return None
    return time.monotonic() - began if answer.status_code == 200 else None


@contextlib.contextmanager
def clients(address: str, sent: bytes, count: int = THREADS * 2) -> Iterator[list[socket.socket]]:
    host, port = address.removeprefix("http://").split(":")
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_connection((host, int(port)))) for _ in range(count)]
        for each in sockets:
            each.sendall(sent)
        time.sleep(0.3)  # until the threads have them
        yield sockets


def is_closed(connection: socket.socket) -> bool:
    connection.settimeout(10)
    try:
        while connection.recv(65536):
            pass
    except ConnectionError:
        pass
    except TimeoutError:
        return False
    return True


POST = b"POST /sign-in/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-www-form-urlencoded\r\n"


@pytest.mark.parametrize(
    "sent",
    [b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Half", POST + b"Content-Length: 1000\r\n\r\na="],
    ids=["half a header", "half a body"],
)
def test_clients_that_stop_half_way_hold_no_thread_for_longer_than_the_timeout(sent: bytes, address: str) -> None:
    with clients(address, sent, count=THREADS) as stalled:
        waited = seconds_to_answer(address)
        assert waited is not None
        assert waited < READ_TIMEOUT + 2
        assert all(is_closed(each) for each in stalled)


def test_clients_that_say_nothing_hold_no_thread_at_all(address: str) -> None:
    with clients(address, b""):
        waited = seconds_to_answer(address)
    assert waited is not None
    assert waited < 1


def test_clients_that_do_not_hang_up_do_not_stop_the_accepting(address: str) -> None:
    with clients(address, b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n", count=1):
        waited = seconds_to_answer(address)
    assert waited is not None
    assert waited < 1


def test_a_byte_now_and_then_is_not_enough(address: str) -> None:
    with clients(address, POST + b"Content-Length: 1000\r\n\r\na=", count=1) as (dribbler,):
        end = time.monotonic() + 4 * READ_TIMEOUT
        with pytest.raises(ConnectionError):
            while time.monotonic() < end:
                dribbler.sendall(b"a")
                time.sleep(READ_TIMEOUT / 4)


def test_a_slow_upload_that_goes_on_is_served_and_so_is_the_next_request_on_its_connection(address: str) -> None:
    piece = b"a" * 1000
    pieces = 2 * READ_TIMEOUT
    with clients(address, POST + b"Content-Length: %d\r\n\r\n" % (len(piece) * pieces), count=1) as (uploader,):
        for _ in range(pieces):
            uploader.sendall(piece)
            time.sleep(1)
        uploader.settimeout(10)
        assert uploader.recv(65536).startswith(b"HTTP/1.1 403")  # whole, but without the form's secret
    with httpx.Client(base_url=address) as kept_alive:
        for _ in range(3):
            assert kept_alive.get("/healthz").status_code == 200
