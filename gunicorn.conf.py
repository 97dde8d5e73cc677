"""gunicorn's settings, for `make run` and for the containers alike.

One process with threads is the right shape here: DoltLite has one writer per file, and requests wait
for databases rather than for the processor. The worker imports the settings before anything imports
sqlite3, which is what DoltLite needs; so the application is not preloaded by the arbiter.
"""

import errno
import os
import selectors
import signal
import socket
import struct
import time
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

from gunicorn.workers.gthread import DEFAULT_WORKER_DATA_TIMEOUT, TConn, ThreadWorker

#: Seconds a client may keep a thread waiting for more of its request, or to read more of its answer.
_READ_TIMEOUT = int(os.environ.get("ASSENT_READ_TIMEOUT", "20"))
#: Bytes a second that every request has to come with; single bytes, now and then, never reach the timeout.
_SLOWEST = 500


class _Connection(socket.socket):
    """A client's socket that gives up: eight silent clients would otherwise hold all threads for ever."""

    waited = received = 0.0

    def begin_request(self) -> None:
        self.waited = self.received = 0.0

    def limit_waiting(self) -> None:
        # In the kernel: the worker sets Python's own timeout anew whenever a thread takes the socket over.
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            self.setsockopt(socket.SOL_SOCKET, option, struct.pack("ll", _READ_TIMEOUT, 0))

    def recv(self, *args: Any) -> bytes:
        began = time.monotonic()
        try:
            data = super().recv(*args)
        except BlockingIOError as error:
            raise ConnectionResetError(errno.ECONNRESET, "The client sent nothing more in time") from error
        self.waited += time.monotonic() - began
        self.received += len(data)
        if self.waited > _READ_TIMEOUT + self.received / _SLOWEST:
            raise ConnectionResetError(errno.ECONNRESET, "The client sends too slowly")
        return data

    def sendall(self, *args: Any) -> None:
        try:
            super().sendall(*args)
        except BlockingIOError as error:
            raise ConnectionResetError(errno.ECONNRESET, "The client does not read its answer") from error


class Worker(ThreadWorker):
    def init_process(self) -> None:
        self.closers = ThreadPoolExecutor(max_workers=self.cfg.threads)
        super().init_process()

    def enqueue_req(self, conn: TConn) -> None:
        """Give a thread only to a client that has sent something, and see that it does not keep it."""
        if not isinstance(conn.sock, _Connection):
            conn.sock = _Connection(fileno=conn.sock.detach())
            conn.sock.limit_waiting()
        conn.sock.begin_request()
        if conn.initialized or conn.data_ready:
            super().enqueue_req(conn)
            return
        # gunicorn does this after a thread has waited those five seconds.
        conn.sock.setblocking(False)
        conn.timeout = time.monotonic() + DEFAULT_WORKER_DATA_TIMEOUT
        self.pending_conns.append(conn)
        self.poller.register(conn.sock, selectors.EVENT_READ, partial(self.on_pending_socket_readable, conn))

    def finish_request(self, conn: TConn, fs: "Future[Any]") -> None:
        """Close connections beside the loop that accepts them: closing waits two seconds for the client to."""
        if fs.cancelled() or fs.exception() or fs.result() is not False:
            super().finish_request(conn, fs)
            return
        closing = self.closers.submit(conn.close, graceful=True)
        closing.add_done_callback(lambda _: self.method_queue.defer(self.forget_connection))

    def forget_connection(self) -> None:
        self.nr_conns -= 1

    def init_signals(self) -> None:
        """Leave Ctrl-C, which a terminal sends to every process, to the arbiter.

        It passes SIGQUIT on; arriving inside the handler of SIGINT, that took the thread pool's lock twice:
        one stop in 25 hung for the half minute until the arbiter killed the worker.
        """
        super().init_signals()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        # In this process only: ready before the arbiter, which kills what is left when its own time is up
        # and reports a kill as "Perhaps out of memory?".
        self.cfg.set("graceful_timeout", graceful_timeout - 2)

    def run(self) -> None:
        """End in time although somebody's request never arrives in full.

        The threads that read from such clients wait for ever, and Python would wait for its threads.
        """
        super().run()
        if self.nr_conns > 0:
            self.log.info("Leaving %s unfinished connections", self.nr_conns)
            os._exit(0)


wsgi_app = "memory_app.wsgi"
bind = os.environ.get("ASSENT_BIND", "127.0.0.1:8000")
worker_class = Worker
workers = int(os.environ.get("ASSENT_WORKERS", "1"))
threads = int(os.environ.get("ASSENT_THREADS", "8"))
# The longest gunicorn allows: a search by GET carries its query here.
limit_request_line = 8190
# Requests take milliseconds; a container is given ten seconds to stop.
graceful_timeout = 9
loglevel = os.environ.get("ASSENT_LOG_LEVEL", "info").lower()
# Heartbeats go through a file; on a disk they can stall for longer than the timeout.
worker_tmp_dir = "/dev/shm" if os.path.isdir("/dev/shm") else None  # noqa: S108
control_socket_disable = True
