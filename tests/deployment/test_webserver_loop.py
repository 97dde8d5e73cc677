"""The loop that serves all clients: what goes wrong with one of them ends that one alone, and each is counted once."""

from __future__ import annotations

import contextlib
import os
import resource
import selectors
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from gunicorn.config import Config
from gunicorn.glogging import Logger
from structlog.testing import capture_logs

from memory_app.webserver.addresses import Lane
from memory_app.webserver.client import Client, Patience
from memory_app.webserver.framing import Incoming
from memory_app.webserver.waiting import IN_MEMORY, Room
from memory_app.webserver.worker import Worker

pytestmark = [pytest.mark.slow, pytest.mark.pure]

CONNECTIONS = 50
REQUEST = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"
#: Seconds in which a busy machine gets there if it gets there at all.
ENOUGH = 20


class Loop(Worker):
    """The worker without a process and an application of its own: the test makes each turn."""

    def __init__(self) -> None:
        config = Config()
        config.set("worker_connections", CONNECTIONS)
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=2 * CONNECTIONS)
        super().__init__(1, os.getppid(), [self.listener], None, 30, config, Logger(config))
        self.room, self.patience = Room(), Patience()
        self.waiting, self.looked_at = {}, 0.0
        self.tpool, self.poller = self.get_thread_pool(), selectors.DefaultSelector()
        self.method_queue.init()
        self.poller.register(self.method_queue.fileno(), selectors.EVENT_READ, self.method_queue.run_callbacks)
        self.set_accept_enabled(True)
        self.is_kept_without_parser = False

    def handle(self, conn: Any) -> bool:
        conn.sock.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")
        return self.is_kept_without_parser

    def turn(self) -> None:
        self.wait_for_and_dispatch_events(0.01)
        self.murder_pending()

    def turn_until(self, is_so: Callable[[], bool]) -> None:
        end = time.monotonic() + ENOUGH
        while not is_so():
            assert time.monotonic() < end
            self.turn()

    def knock(self) -> socket.socket:
        """A client that is not accepted yet."""
        return socket.create_connection(self.listener.getsockname(), timeout=ENOUGH)

    def client(self, sent: bytes = b"") -> socket.socket:
        count = self.nr_conns
        connection = self.knock()
        self.turn_until(lambda: self.nr_conns > count)
        connection.sendall(sent)
        return connection

    def close(self) -> None:
        self.close_lanes()
        for conn in list(self.waiting):
            self.drop(conn)
        self.poller.close()
        self.method_queue.close()
        self.tmp.close()
        self.listener.close()


@pytest.fixture
def loop() -> Iterator[Loop]:
    with contextlib.closing(Loop()) as made:
        yield made


def has_ended(connection: socket.socket) -> bool:
    """Whether the server has hung up."""
    connection.setblocking(False)
    try:
        while connection.recv(65536):
            pass
    except BlockingIOError:
        return False
    except ConnectionError:
        pass
    return True


# -- something goes wrong for one client ----------------------------------------------------------------


def accept_fails(loop: Loop) -> socket.socket:
    loop.lanes[Lane.PAGES].shutdown()  # RuntimeError, as when no thread can be started
    connection = loop.knock()
    connection.sendall(REQUEST)
    return connection


def receive_fails(loop: Loop) -> socket.socket:
    connection = loop.client(REQUEST[:5])
    loop.turn()
    loop.lanes[Lane.PAGES].shutdown()
    connection.sendall(REQUEST[5:])
    return connection


def finish_request_fails(loop: Loop) -> socket.socket:
    loop.is_kept_without_parser = True
    return loop.client(REQUEST)


def murder_pending_fails(loop: Loop) -> socket.socket:
    patience, loop.patience = loop.patience, Patience(rate=0)  # ZeroDivisionError
    connection = loop.client(REQUEST[:5])
    loop.patience = patience
    return connection


@pytest.mark.parametrize("fails", [accept_fails, receive_fails, finish_request_fails, murder_pending_fails])
def test_whatever_goes_wrong_for_a_client_is_logged_and_ends_that_one_alone(
    fails: Callable[[Loop], socket.socket], loop: Loop
) -> None:
    with loop.client() as bystander, capture_logs() as logs:
        with fails(loop) as failing:
            loop.turn_until(lambda: has_ended(failing))
        assert [(entry["event"], entry["ip"]) for entry in logs] == [("client_dropped", "127.0.0.1")]
        assert loop.nr_conns == len(loop.waiting) == 1
        loop.is_kept_without_parser = False
        bystander.sendall(REQUEST.replace(b"/", b"/healthz", 1))
        loop.turn_until(lambda: has_ended(bystander))


def test_a_full_disk_ends_the_upload_and_not_the_loop(loop: Loop) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (IN_MEMORY + 100_000, before[1]))
    try:
        with loop.client() as bystander, loop.client(b"POST / HTTP/1.1\r\nContent-Length: 2500000\r\n\r\n") as upload:
            upload.setblocking(False)
            while not has_ended(upload):
                with contextlib.suppress(BlockingIOError, ConnectionError):
                    upload.send(b"x" * 5000)
                loop.turn()
            assert loop.nr_conns == len(loop.waiting) == 1
            assert not has_ended(bystander)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


# -- many clients ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("sent", [b"", REQUEST[:5], REQUEST], ids=["silent", "half-way", "answered"])
def test_who_is_dropped_for_another_and_has_just_sent_something_is_counted_once(sent: bytes, loop: Loop) -> None:
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(loop.client(sent)) for _ in range(CONNECTIONS * 4 // 5 + 1)]
        # Whom a thread answers this moment is counted, and waits again only a turn after the answer.
        loop.turn_until(lambda: loop.nr_conns == len(loop.waiting) == len(clients))
        for oldest in clients[:20]:
            stack.enter_context(loop.knock())
            oldest.sendall(b"x")  # both events are in one batch, the listener's first
            loop.turn()
            loop.turn_until(lambda: loop.nr_conns == len(loop.waiting) == len(clients))


class Endless(socket.socket):
    """A client that has always sent more by the time it is looked at again."""

    looks = 0

    def recv(self, size: int, flags: int = 0) -> bytes:
        self.looks += 1
        assert self.looks < 10, "nobody else's turn comes"
        return b"x" * size


def test_a_client_that_sends_faster_than_it_is_read_gets_its_turns_and_no_more() -> None:
    with Endless() as sock:
        client = Client(sock, Room(), Patience())
        assert not client.ignore()
        request = Incoming(lambda target: 2_000_000_000)
        request.feed(b"POST / HTTP/1.1\r\nContent-Length: 1000000000\r\n\r\n")
        client.renew(request)
        assert not client.receive()
