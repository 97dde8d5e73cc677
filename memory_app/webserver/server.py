"""waitress, in as many processes as ASSENT_WORKERS says, on one listening socket.

The process that starts the others imports no application: each of them reads the settings itself, before anything
imports sqlite3, which is what DoltLite needs. One that is killed is replaced. One that ends by itself, as with a wrong
setting, ends the server.
"""

import contextlib
import html
import json
import os
import signal
import socket
import sys
import threading
import time
import tomllib
from argparse import ArgumentParser
from functools import partial
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any, ClassVar, NoReturn

from waitress import wasyncore
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser, ParsingError
from waitress.server import create_server
from waitress.task import ErrorTask, ThreadedTaskDispatcher
from waitress.utilities import BadRequest, Error, RequestEntityTooLarge

from memory_app.configuration.environment import BadSetting, Environment
from memory_app.runtime import waits
from memory_app.webserver import options, requests

#: Seconds after which a thread that computes lets another have the processor. Each answer of a database waits for
#: that; with Python's own 5 ms, eight clients that propose got half as many answers.
_SWITCH = 0.0005
#: Connections of a process. Each is a file handle, and so is each large body; a process often may have 1,024.
_CONNECTIONS = 500
#: Connections from which the one that is open longest is closed for each that comes.
_MOST_OPEN = 400
#: Bytes of the address and all headers together.
_LONGEST_HEAD = 64 * 1024
#: Bytes of a body in chunks that are not the body: of at most 26,000 chunks, and of what is written beside their sizes.
#: waitress reads them in the loop that serves all clients, a line without an end once more for each 8 kB.
_MOST_AROUND_CHUNKS = 128 * 1024
#: Bytes of an answer its thread may leave to the loop. From one megabyte on they are kept in a file, so that a thread
#: never waits for a client that reads slowly.
_LONGEST_ANSWER = 1024 * 1024 * 1024
#: Seconds after which a call is counted to its agent's limit alone: an import must not hold up its other calls.
_LONG = 5.0
#: Seconds to finish what is being answered. A container is given ten seconds to stop.
_FINISH = 8.0

#: The code of JSON-RPC for what is refused below the protocol.
_RPC_REFUSED = -32010
_REFUSALS = tomllib.loads(Path(__file__).with_name("refusals.toml").read_text(encoding="utf-8"))


class _Refusal(ErrorTask):  # type: ignore[misc] # waitress has no types
    """The answer to what waitress could not read, in the shape of the address it was for; its own is bare text."""

    def execute(self) -> None:
        self.status, code, message = _REFUSALS.get(str(self.request.error.code), _REFUSALS["400"])
        media_type, body = _refusal(_path_asked(self.request), code, message)
        self.response_headers += [("Content-Type", media_type), ("Cache-Control", "no-store")]
        self.set_close_on_finish()
        self.content_length = len(body)
        self.write(body)


class _Request(HTTPRequestParser):  # type: ignore[misc]
    """A request, of which waitress asks `path` also when there is none."""

    first_line = b""
    path = ""
    error: Error | None = None
    #: Arguments of `largest_body`.
    limits: ClassVar[dict[str, int]]

    def received(self, data: bytes) -> int:
        used = int(super().received(data))
        body = self.body_rcv
        if body is not None and not self.error:
            coming = body.__len__() + body.chunk_remainder if self.chunked else self.content_length
            if coming > requests.largest_body(requests.path_of(self.request_uri), **self.limits):
                self.error = RequestEntityTooLarge("more than the address takes")
            elif self.chunked and self.body_bytes_received - body.__len__() > _MOST_AROUND_CHUNKS:
                self.error = BadRequest("more around the chunks than in them")
        if self.error:
            self.completed = True
            self.expect_continue = False  # or waitress would ask for the body
        return used

    def parse_header(self, header_plus: bytes) -> None:
        try:
            super().parse_header(header_plus)
        except ValueError as error:  # of `http://[`, and of a length with 5,000 digits: waitress would just hang up
            raise ParsingError(str(error)) from error
        # A proxy before us may have read the other of two framings. waitress knows chunks in HTTP/1.1 alone.
        if (self.chunked and "CONTENT_LENGTH" in self.headers) or "TRANSFER_ENCODING" in self.headers:
            raise ParsingError("two framings, or chunks in HTTP/1.0")
        if self.version not in ("1.0", "1.1"):
            raise ParsingError("another version of HTTP")


class _Channel(HTTPChannel):  # type: ignore[misc]
    """A connection. Beside waitress's own, it ends when its time is up although its client reads nothing."""

    parser_class = _Request
    error_task_class = _Refusal
    #: Whether requests are taken: not when the process ends.
    reads = True
    #: Whose request is answered, and since when (`_Queue`).
    turn: tuple[str, float]

    def __init__(self, server: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(server, *args, **kwargs)
        if len(server.active_channels) > _MOST_OPEN:
            idle = (channel for channel in server.active_channels.values() if not channel.requests)
            next(idle).will_close = True  # the one that is open longest: a client may send a byte now and then for ever

    def service(self) -> None:
        with waits.counted(partial(self.server.task_dispatcher.queue.end, self.turn)):
            super().service()

    def readable(self) -> bool:
        return self.reads and bool(super().readable())

    def writable(self) -> bool:
        if self.will_close:
            self.handle_close()  # waitress would wait until the socket takes more
            return False
        return bool(super().writable())


class _Queue:
    """The requests that wait for a thread: the next one is the first whose agent has few under way.

    An agent gets another thread while it has fewer than are free. So many connections of one fill half of the threads,
    and one of them beside many other agents. Requests without a token are counted for nobody.
    """

    def __init__(self, threads: ThreadedTaskDispatcher, most: int) -> None:
        self._threads, self._most = threads, most
        self._waiting: list[tuple[str, _Channel]] = []
        #: The tokens of the requests under way, and when each began.
        self._under_way: list[tuple[str, float]] = []

    def append(self, channel: _Channel) -> None:
        self._waiting.append((channel.requests[0].headers.get("AUTHORIZATION", ""), channel))

    def __len__(self) -> int:
        return len(self._waiting)

    def __bool__(self) -> bool:
        return any(self._may_begin(token) for token, _ in self._waiting)

    def _may_begin(self, token: str) -> bool:
        began = [at for of, at in self._under_way if of == token]
        free = len(self._threads.threads) - self._threads.active_count + 1  # with the one that asks
        lately = time.monotonic() - _LONG
        return not token or (len(began) < self._most and sum(at > lately for at in began) < max(1, free))

    def popleft(self) -> _Channel:
        place = next((place for place, (token, _) in enumerate(self._waiting) if self._may_begin(token)), 0)
        token, channel = self._waiting.pop(place)
        channel.turn = token, time.monotonic()
        self._under_way.append(channel.turn)
        if self._waiting:
            self._threads.queue_cv.notify()  # what ended before may let in more than one
        return channel

    def end(self, turn: tuple[str, float]) -> None:
        """Count a request no more: it is answered, or waits for a decision."""
        with self._threads.lock:
            self._under_way.remove(turn)
            self._threads.queue_cv.notify()


def _path_asked(request: Any) -> str:
    line: bytes = request.header_plus or request.first_line
    words = line.lstrip().split(b"\r\n")[0].split(b" ")
    return requests.path_of(words[1].decode("latin-1")) if len(words) > 1 else ""


def _refusal(path: str, code: str, message: str) -> tuple[str, bytes]:
    """Return media type and body."""
    if path.startswith("/api/"):
        error = {"code": code, "message": message, "details": {}}
        return "application/json", json.dumps({"ok": False, "text": f"Error: {message}", "error": error}).encode()
    if requests.is_mcp(path):
        refused = {"code": _RPC_REFUSED, "message": message, "data": {"code": code, "details": {}}}
        return "application/json", json.dumps({"jsonrpc": "2.0", "id": None, "error": refused}).encode()
    page = f"<!doctype html><title>Assent</title><p>{html.escape(message)}</p>"
    page = _REFUSALS["pages"].get(code, page)
    return "text/html; charset=utf-8", page.encode()


def main() -> NoReturn:
    """Serve until a signal ends it."""
    parser = ArgumentParser(prog="python -m memory_app.webserver")
    parser.add_argument("application", nargs="?", default="memory_app.wsgi", help="a module with a WSGI `application`")
    parser.add_argument("--bind", help="host:port, unix:/path or fd://3 (default: ASSENT_BIND)")
    given = parser.parse_args()
    try:
        chosen = options.read(Environment())
    except BadSetting as error:
        sys.exit(f"\n{error}")  # it says what to do
    listener = _listen(given.bind or chosen.bind)
    of_metrics = _listen(chosen.metrics_bind) if chosen.metrics_bind else None
    alive, held = os.pipe()  # ends in the others when this process does, however that ends
    _keep_serving(chosen.workers)
    os.close(held)
    _serve(given.application, listener, of_metrics, chosen, alive)


def _keep_serving(workers: int) -> None:
    """Start so many processes and return in each of them; the one that started them stays here until it ends."""
    children: set[int] = set()
    for name in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(name, _end)
    code = 0
    with contextlib.suppress(SystemExit):
        while True:
            while len(children) < workers:
                if not (pid := os.fork()):
                    return
                children.add(pid)
            pid, status = os.wait()
            children.discard(pid)
            code = os.waitstatus_to_exitcode(status)
            if code >= 0:
                break
            sys.stderr.write(f"A process of the web server was ended by signal {-code}. It is replaced.\n")
    _stop(children)
    sys.exit(max(code, 0))


def _end(number: int, frame: FrameType | None) -> NoReturn:
    raise SystemExit


def _stop(children: set[int]) -> None:
    """End the processes that serve, at last by force."""
    for name in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(name, signal.SIG_IGN)
    for pid in children:
        os.kill(pid, signal.SIGTERM)
    until = time.monotonic() + _FINISH + 1
    while children and time.monotonic() < until:
        children = {pid for pid in children if os.waitpid(pid, os.WNOHANG) == (0, 0)}
        time.sleep(0.02)
    for pid in children:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _listen(bind: str) -> socket.socket:
    if bind.startswith("fd://"):
        return socket.socket(fileno=int(bind.removeprefix("fd://")))
    if bind.startswith("unix:"):
        path = bind.removeprefix("unix:")
        listener = socket.socket(socket.AF_UNIX)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        mask = os.umask(0)  # for the proxy, which has a user of its own
        listener.bind(path)
        os.umask(mask)
        return listener
    host, _, port = bind.rpartition(":")
    host = host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, int(port)), family=family, backlog=1024)
    except OSError as error:
        sys.exit(f"{bind} cannot be listened on: {error.strerror}")


def _serve(
    application: str, listener: socket.socket, of_metrics: socket.socket | None, chosen: options.Options, alive: int
) -> NoReturn:
    """Answer requests in this process until SIGTERM.

    Args:
        of_metrics: a second listening socket, where `/metrics` alone is answered, by a thread of its own.
    """
    for name in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(name, signal.SIG_IGN)  # a terminal sends them to every process; the first passes them on
    sys.setswitchinterval(_SWITCH)
    module = import_module(application)
    served = module.application
    getattr(module, "begin", lambda: None)()
    threads = ThreadedTaskDispatcher()
    threads.queue = _Queue(threads, chosen.calls_under_way)
    threads.set_thread_count(chosen.threads)
    server = create_server(
        served,
        sockets=[listener],
        _dispatcher=threads,
        connection_limit=_CONNECTIONS,
        channel_timeout=chosen.silence,
        cleanup_interval=1,
        asyncore_use_poll=True,
        channel_request_lookahead=1,  # or a client that hangs up while it waits for a decision would not be noticed
        max_request_header_size=_LONGEST_HEAD,
        max_request_body_size=requests.LARGEST_BODY,
        outbuf_high_watermark=_LONGEST_ANSWER,
        # Django decides whom to believe (ASSENT_TRUSTED_PROXIES).
        clear_untrusted_proxy_headers=False,
        log_socket_errors=False,
        ident=None,
    )
    server.channel_class = _Channel
    if of_metrics:
        figures = import_module("agent_tools.views.metrics").application
        create_server(
            figures, map=server._map, sockets=[of_metrics], threads=1, clear_untrusted_proxy_headers=False, ident=None
        )
    _Request.limits = {"api": chosen.largest_call, "form": chosen.largest_form}

    def end(number: int, frame: FrameType | None) -> NoReturn:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a supervisor may send it to all, and the first process again
        waits.close()  # clients that wait for a decision are answered now, and come back
        raise SystemExit

    signal.signal(signal.SIGTERM, end)
    threading.Thread(target=_end_with_parent, args=[alive], name="parent", daemon=True).start()
    with contextlib.suppress(SystemExit):
        wasyncore.loop(timeout=1, use_poll=True, map=server._map)
    _finish(server)
    sys.exit()


def _finish(server: Any) -> None:
    """Answer the requests that are here and send the answers; waitress would cut what the sockets do not take at once.

    Its loop reads nothing more meanwhile.
    """
    server.accepting = False
    _Channel.reads = False
    until = time.monotonic() + _FINISH
    while time.monotonic() < until and any(
        channel.requests or channel.total_outbufs_len for channel in list(server.active_channels.values())
    ):
        wasyncore.loop(timeout=0.1, use_poll=True, map=server._map, count=1)


def _end_with_parent(alive: int) -> None:
    os.read(alive, 1)
    os.kill(os.getpid(), signal.SIGTERM)
