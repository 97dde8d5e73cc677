"""A receiver of webhooks on loopback: a real HTTP server that answers as it is told, and checks signatures itself."""

import base64
import hashlib
import hmac
import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import BaseServer
from typing import Any

Answer = Callable[[BaseHTTPRequestHandler], None]


@dataclass(frozen=True)
class Received:
    """One request as it came."""

    path: str
    headers: dict[str, str]
    body: str

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def message(self) -> dict[str, Any]:
        return dict(json.loads(self.body))

    def is_signed_with(self, secret: str) -> bool:
        """Checked as the specification says it, by none of our code."""
        stamp = self.headers["webhook-timestamp"]
        assert abs(time.time() - int(stamp)) < 300
        key = base64.b64decode(secret.split("_", 1)[1])
        digest = hmac.new(key, f"{self.id}.{stamp}.{self.body}".encode(), hashlib.sha256).digest()
        given = [each.split(",", 1)[1] for each in self.headers["webhook-signature"].split(" ")]
        return base64.b64encode(digest).decode() in given


class Receiver(ThreadingHTTPServer):
    """What came is in `received`; it is answered with `status`, `headers` and `body`, or as `answer` does it.

    Attributes:
        answer: writes to the handler's connection itself.
        most_at_once: how many requests were being answered at the same time.
    """

    daemon_threads = True

    def __init__(self) -> None:
        self.received: list[Received] = []
        self.status = 204
        self.headers: dict[str, str] = {}
        self.body = b""
        self.answer: Answer | None = None
        self.stopping = threading.Event()
        self.at_once = self.most_at_once = 0
        self.counting = threading.Lock()
        super().__init__(("127.0.0.1", 0), _Answering)

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    def shutdown(self) -> None:
        self.stopping.set()
        super().shutdown()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients that hang up are what is tested."""


class _Answering(BaseHTTPRequestHandler):
    server: Receiver
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        receiver = self.server
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        with receiver.counting:
            receiver.at_once += 1
            receiver.most_at_once = max(receiver.most_at_once, receiver.at_once)
            headers = {name.lower(): value for name, value in self.headers.items()}
            receiver.received.append(Received(self.path, headers, body))
        try:
            if receiver.answer is not None:
                receiver.answer(self)
                return
            self.send_response(receiver.status)
            for name, value in receiver.headers.items():
                self.send_header(name, value)
            if receiver.status != 204:
                self.send_header("Content-Length", str(len(receiver.body)))
            self.end_headers()
            self.wfile.write(receiver.body)
        finally:
            with receiver.counting:
                receiver.at_once -= 1

    do_GET = do_POST  # noqa: N815 - what the server looks for

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def at_work(server: BaseServer) -> Iterator[None]:
    """The server answers, in a thread of this process, until the end of the block."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join(5)


@contextmanager
def receiver(certificate: str = "") -> Iterator[Receiver]:
    """A receiver at work; with the file of a certificate and its key, over TLS."""
    server = Receiver()
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    with server, at_work(server):
        yield server


def hang(handler: BaseHTTPRequestHandler) -> None:
    """Take the request and never answer."""
    handler.server.stopping.wait(60)  # type: ignore[attr-defined]


def drip(handler: BaseHTTPRequestHandler) -> None:
    """Answer a byte at a time, for ever."""
    beginning = b"HTTP/1.1 200 OK\r\nX-Long: "
    handler.wfile.write(beginning)
    while not handler.server.stopping.wait(0.05):  # type: ignore[attr-defined]
        handler.wfile.write(b"x")
        handler.wfile.flush()


def flood(handler: BaseHTTPRequestHandler) -> None:
    """Accept, with an answer that has no end."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
    while not handler.server.stopping.is_set():  # type: ignore[attr-defined]
        handler.wfile.write(b"x" * 65536)


def hang_up(handler: BaseHTTPRequestHandler) -> None:
    """Close the connection without a word."""
    handler.close_connection = True
