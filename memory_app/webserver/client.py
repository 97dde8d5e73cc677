"""A client, as gunicorn's threads and the loop that serves all clients see it."""

from __future__ import annotations

import contextlib
import socket
import time
from dataclasses import dataclass

from memory_app.webserver.framing import Incoming
from memory_app.webserver.waiting import Room, Waiting

#: Bytes of one look at a socket. There is one look in a turn of the loop: each takes 5 ms beside a busy thread, for
#: the GIL, and a client that sends 50 MB/s has sent more by then. Until none was left, it kept the loop for 6.6 s.
_PIECE = 256 * 1024


@dataclass(frozen=True)
class Patience:
    """How long a client may take.

    Args:
        silence: seconds without a byte.
        request: seconds for a request, and again for reading its answer, beside what `rate` allows.
        rate: bytes a second.
    """

    silence: float = 20
    request: float = 60
    rate: float = 50_000


class Client:
    """Replaces the socket in gunicorn's connection.

    A thread reads what was received before it was given the client. What it writes waits here if the client does not
    take it at once, so no thread ever waits. Either the loop or one thread has the client, never both: no locks.
    """

    def __init__(self, sock: socket.socket, room: Room, patience: Patience) -> None:
        sock.setblocking(False)
        self._sock = sock
        self._patience = patience
        self._received, self._answer = Waiting(room), Waiting(room)
        self._beyond = b""  # the beginning of the next request
        self._may_take = True
        self.is_broken = False
        self.renew(Incoming(lambda target: 0))

    # -- what gunicorn calls, in its threads --------------------------------------------------------

    def recv(self, size: int) -> bytes:
        return self._received.read(size)

    def sendall(self, data: bytes) -> None:
        if self.is_broken:
            raise BrokenPipeError
        waiting = memoryview(data)
        try:
            while waiting and not self._answer:
                waiting = waiting[self._sock.send(waiting) :]
        except BlockingIOError:
            pass
        if waiting:
            self._answer.write(waiting)

    def send(self, data: bytes) -> int:
        """gunicorn's only use of it is `100 Continue`, which came from the loop when it was of use."""
        return len(data)

    def close(self) -> None:
        """Called when gunicorn abandons an answer half-way; the loop closes the socket."""
        self.is_broken = True

    def shutdown(self, how: int) -> None:
        """Called by gunicorn before `close`."""

    def setblocking(self, flag: bool) -> None:
        """It never blocks."""

    settimeout = setblocking

    def gettimeout(self) -> float:
        return 0.0

    def fileno(self) -> int:
        return self._sock.fileno()

    # -- what a thread asks that keeps its client waiting ---------------------------------------------

    def is_gone(self) -> bool:
        """Whether the client has hung up, as far as can be known; called by the thread that has the client."""
        try:
            return not self._sock.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True

    # -- what the loop calls -------------------------------------------------------------------------

    def renew(self, incoming: Incoming) -> None:
        """Begin to wait for a request."""
        self._received.clear()
        self.request = incoming
        self._began = self._moved = time.monotonic()
        self._size = 0
        self.has_begun = False

    def receive(self) -> bool:
        """Receive a piece of the request. Return whether it is whole, or no more of it will come.

        Raises:
            NoRoom: there is no room to store it.
            OSError: the client is gone.
        """
        data, self._beyond = self._beyond, b""
        if data and self._take(data):
            return True
        try:
            data = self._sock.recv(_PIECE)
        except BlockingIOError:
            return False
        if not data:
            raise ConnectionResetError("the client hung up")
        return self._take(data)

    def _take(self, data: bytes) -> bool:
        if not self.has_begun:
            self.has_begun, self._began = True, time.monotonic()
        self._moves(len(data))
        used = self.request.feed(data)
        self._received.write(memoryview(data)[:used])
        self._beyond = data[used:]
        if self.request.expects_continue and not self.request.is_whole:
            self.request.expects_continue = False
            self._sock.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        return self.request.is_whole

    def begin_answer(self) -> None:
        """Begin to wait for the client to read the answer."""
        self._began = self._moved = time.monotonic()
        self._size = 0

    def flush(self) -> bool:
        """Send what waits of the answer. Return whether that was all. Raises OSError when the client is gone."""
        before = len(self._answer)
        try:
            self._answer.send(self._sock.send)
        except BlockingIOError:
            return False
        finally:
            self._moves(before - len(self._answer))
        return True

    def say(self, data: bytes) -> None:
        """Send what fits."""
        with contextlib.suppress(OSError):
            self._sock.send(data)

    def end_answer(self) -> None:
        """Signal the client that the answer ends."""
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_WR)

    def ignore(self) -> bool:
        """Receive and discard a piece of what is there. Return whether the client has closed."""
        self._received.clear()
        self._beyond = b""
        try:
            return not self._sock.recv(_PIECE)
        except BlockingIOError:
            return False
        except OSError:
            return True

    @property
    def is_closed(self) -> bool:
        return self._sock.fileno() < 0

    def hang_up(self) -> None:
        self._received.clear()
        self._answer.clear()
        self._sock.close()

    @property
    def patience_ends(self) -> float:
        """Return the moment, by the monotonic clock, when this has taken too long."""
        allowed = self._began + self._patience.request + self._size / self._patience.rate
        return min(allowed, self._moved + self._patience.silence)

    def _moves(self, size: int) -> None:
        if size:
            self._moved = time.monotonic()
            self._size += size
