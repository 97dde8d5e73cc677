"""gunicorn's threaded worker, with clients kept outside its threads.

gunicorn gives a thread to a client that has sent a byte, and the thread waits for the rest: eight clients that stop
half-way hold eight threads. Here one loop receives requests and sends what a client does not take at once. A thread
gets a request only when all of it is there, and is free when the answer is written.
"""

from __future__ import annotations

import errno
import os
import selectors
import signal
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import structlog
from gunicorn.http.errors import LimitRequestHeaders, ParseException
from gunicorn.workers.gthread import STOP_KEEPALIVE_LINGER, TConn, ThreadWorker

from memory_app.configuration.environment import Environment
from memory_app.runtime import waits
from memory_app.webserver import addresses, options, refusals
from memory_app.webserver.addresses import Lane
from memory_app.webserver.client import Client, Patience
from memory_app.webserver.framing import Incoming
from memory_app.webserver.waiting import NoRoom, Room

log = structlog.get_logger(__name__)

#: Threads of each lane, beside the pages' (`threads`). Imports and exports keep the processor for seconds.
LANES = {Lane.ALIVE: 1, Lane.READY: 1, Lane.IMPORTS: 2, Lane.EXPORTS: 2}
#: Seconds to wait for the first byte of a client.
_FIRST_BYTE = 5.0
#: Seconds for a client to close after an answer that ends the connection, and to stop sending what is not read.
_LINGER = 2.0
_LINGER_AFTER_REFUSAL = 10.0
#: Seconds between two looks for clients whose time is up.
_LOOK = 0.25
#: Part of all connections that may wait; then the one that waits longest is dropped for each that comes.
_MOST_WAITING = 0.8
#: Seconds after which a thread that computes lets another have the processor. Each answer of a database waits for
#: that; with Python's own 5 ms, eight clients that propose got half as many answers.
_SWITCH = 0.0005
#: What `accept` raises for one connection, or for want of file handles and memory: the next look at the listener
#: comes at once, and may find others. accept(2): Linux reports what happened to the network of the new connection.
_PASSING = {errno.EAGAIN, errno.EWOULDBLOCK, errno.ECONNABORTED, errno.EPERM, errno.EPROTO, errno.ENOPROTOOPT}
_PASSING |= {errno.ENETDOWN, errno.ENETUNREACH, errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.EOPNOTSUPP}
_PASSING |= {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}


class Worker(ThreadWorker):  # type: ignore[misc] # gunicorn has no types
    def init_process(self) -> None:
        self.room = Room()
        said = options.read(Environment())
        self.patience = Patience(silence=said.silence, request=said.request)
        #: Whom the loop waits for, longest first: until when, and whether for a request.
        self.waiting: dict[TConn, float | None] = {}
        self.looked_at = 0.0
        sys.setswitchinterval(_SWITCH)
        super().init_process()  # returns when the process is to end

    def get_thread_pool(self) -> ThreadPoolExecutor:
        counts = LANES | {Lane.PAGES: self.cfg.threads}
        self.lanes = {lane: ThreadPoolExecutor(count, thread_name_prefix=lane) for lane, count in counts.items()}
        return self.lanes[Lane.PAGES]

    # -- from the listener to a thread -----------------------------------------------------------------

    def accept(self, listener: Any) -> None:
        try:
            sock, address = listener.accept()
        except OSError as error:
            if error.errno not in _PASSING:
                raise
            return
        conn = TConn(self.cfg, Client(sock, self.room, self.patience), address, listener.getsockname())
        self.nr_conns += 1
        if len(self.waiting) > _MOST_WAITING * self.worker_connections:
            self.drop(next(iter(self.waiting)))
        self.step_or_drop(conn, partial(self.wait_for_request, conn, at_most=_FIRST_BYTE))

    def wait_for_request(self, conn: TConn, *, at_most: float) -> None:
        """Wait for a request, at most so long for its first byte."""
        conn.sock.renew(Incoming(self.largest_body))
        self.receive(conn, until=time.monotonic() + at_most)

    def receive(self, conn: TConn, *, until: float | None = None) -> None:
        """Receive what is there. The request goes to a thread when it is whole."""
        client: Client = conn.sock
        try:
            is_whole = client.receive()
        except NoRoom:
            self.refuse(conn, refusals.busy)
        except OSError:
            self.drop(conn)
        else:
            if is_whole:
                self.stop_waiting(conn)
                self.enqueue_req(conn)
            elif conn not in self.waiting:
                self.wait(
                    conn, selectors.EVENT_READ, partial(self.receive, conn), until=None if client.has_begun else until
                )
            elif client.has_begun:
                self.waiting[conn] = None  # from now on the client's own patience counts

    def largest_body(self, target: str) -> int:
        from django.conf import settings  # read by the time a request comes, and not before

        return addresses.largest_body(
            addresses.path_of(target), api=settings.REQUEST_LIMIT, form=settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        )

    def enqueue_req(self, conn: TConn) -> None:
        request: Incoming = conn.sock.request
        lane = addresses.lane_of(request.method, addresses.path_of(request.target))
        conn.data_ready = True  # or gunicorn waits for it

        def when_done(done: Future[Any]) -> None:
            self.method_queue.defer(self.step_or_drop, conn, partial(self.finish_request, conn, done))

        self.lanes[lane].submit(self.handle, conn).add_done_callback(when_done)

    def handle(self, conn: TConn) -> Any:
        if conn.sock.request.head_is_too_long:
            self.handle_error(None, conn.sock, conn.client, LimitRequestHeaders("the head of the request is too long"))
            return False
        return super().handle(conn)

    def handle_request(self, req: Any, conn: TConn) -> Any:
        if conn.sock.request.body_is_too_large:
            req.force_close()  # the answer comes before the body, of which nobody looks for the end
        return super().handle_request(req, conn)

    def handle_error(self, req: Any, client: Any, addr: Any, exc: BaseException) -> None:
        """Answer what gunicorn could not read, in the shape of the address it was for; gunicorn's own is bare HTML."""
        if isinstance(exc, ParseException):
            self.log.warning("Invalid request from ip=%s: %s", addr[0] if addr else "", exc)
        else:
            self.log.exception("Error handling request")
        path = addresses.path_of(client.request.target)
        client.sendall(refusals.unreadable(path, exc))

    # -- from a thread to the client -------------------------------------------------------------------

    def finish_request(self, conn: TConn, fs: Future[Any]) -> None:
        client: Client = conn.sock
        is_kept = not fs.cancelled() and fs.exception() is None and fs.result() is True
        # What gunicorn did not read, it does not take for the end of this request: it read otherwise than we did.
        is_kept = is_kept and not client.request.body_is_too_large and not conn.parser.unreader.take_buffered()
        client.begin_answer()
        self.send_answer(conn, is_kept)

    def send_answer(self, conn: TConn, is_kept: bool) -> None:
        client: Client = conn.sock
        try:
            is_sent = client.flush()
        except OSError:
            self.drop(conn)
            return
        if client.is_broken:
            self.drop(conn)
        elif not is_sent:
            if conn not in self.waiting:
                self.wait(conn, selectors.EVENT_WRITE, partial(self.send_answer, conn, is_kept))
        else:
            self.stop_waiting(conn)
            if is_kept:
                self.wait_for_request(conn, at_most=self.cfg.keepalive if self.alive else STOP_KEEPALIVE_LINGER)
            else:
                self.linger(conn, _LINGER_AFTER_REFUSAL if client.request.body_is_too_large else _LINGER)

    def linger(self, conn: TConn, seconds: float) -> None:
        """Let the client close: closing while it still sends would lose it the answer."""
        conn.sock.end_answer()
        if not self.ignore(conn):
            until = time.monotonic() + seconds
            self.wait(conn, selectors.EVENT_READ, partial(self.ignore, conn), until=until)

    def ignore(self, conn: TConn) -> bool:
        is_closed: bool = conn.sock.ignore()
        if is_closed:
            self.drop(conn)
        return is_closed

    # -- the loop's own ----------------------------------------------------------------------------------

    def step_or_drop(self, conn: TConn, step: Callable[[], Any], _file: Any = None) -> None:
        """Take the next step with a client. A failure drops that client alone, and the loop goes on for the others.

        All that a client's bytes make the loop do happens below this. A step whose client was dropped since it became
        due is not taken: `accept` drops clients whose events come next in the same batch.
        """
        if conn.sock.is_closed:
            return
        try:
            step()
        except Exception:
            log.exception("client_dropped", ip=conn.client[0] if conn.client else "")
            self.drop(conn)

    def wait(self, conn: TConn, event: int, then: Callable[[], Any], *, until: float | None = None) -> None:
        """Call `then` when the socket is ready.

        Args:
            until: a moment that counts whatever the client does.
        """
        self.poller.register(conn.sock, event, partial(self.step_or_drop, conn, then))
        self.waiting[conn] = until

    def stop_waiting(self, conn: TConn) -> None:
        if conn in self.waiting:
            del self.waiting[conn]
            self.poller.unregister(conn.sock)

    def refuse(self, conn: TConn, answer: Callable[[str], bytes]) -> None:
        self.stop_waiting(conn)
        conn.sock.say(answer(addresses.path_of(conn.sock.request.target)))
        self.linger(conn, _LINGER)

    def drop(self, conn: TConn) -> None:
        if conn.sock.is_closed:
            return  # it was counted once
        self.nr_conns -= 1
        self.stop_waiting(conn)
        conn.sock.hang_up()

    def murder_pending(self) -> None:
        """Drop clients whose time is up; the loop calls this on each turn."""
        now = time.monotonic()
        if now - self.looked_at < _LOOK:
            return
        self.looked_at = now
        for conn in list(self.waiting):
            self.step_or_drop(conn, partial(self.end_if_late, conn, now))

    def end_if_late(self, conn: TConn, now: float) -> None:
        client: Client = conn.sock
        until = self.waiting[conn]
        if until is None and now >= client.patience_ends:
            is_half_way = client.has_begun and not client.request.is_whole
            if is_half_way:
                self.refuse(conn, refusals.too_slow)
            else:
                self.drop(conn)
        elif until is not None and now >= until:
            self.drop(conn)

    # -- starting and stopping ---------------------------------------------------------------------------

    def init_signals(self) -> None:
        """Leave Ctrl-C, which a terminal sends to every process, to the arbiter.

        It passes SIGQUIT on; arriving inside the handler of SIGINT, that took the thread pool's lock twice:
        one stop in 25 hung for the half minute until the arbiter killed the worker.
        """
        super().init_signals()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        # In this process only: ready before the arbiter, which kills what is left when its own time is up
        # and reports a kill as "Perhaps out of memory?".
        self.cfg.set("graceful_timeout", max(1, self.cfg.graceful_timeout - 2))

    def handle_exit(self, sig: int, frame: Any) -> None:
        waits.close()  # who waits for a decision is answered now, and comes back
        super().handle_exit(sig, frame)

    def handle_quit(self, sig: int, frame: Any) -> None:
        waits.close()
        self.close_lanes()
        super().handle_quit(sig, frame)

    def run(self) -> None:
        """End in time although a call takes longer: Python would wait for its threads."""
        super().run()
        self.close_lanes()
        if self.nr_conns > 0:
            self.log.info("Leaving %s unfinished connections", self.nr_conns)
            os._exit(0)

    def close_lanes(self) -> None:
        for threads in self.lanes.values():
            threads.shutdown(wait=False)
