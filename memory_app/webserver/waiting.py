"""Bytes that wait: of requests that have not arrived in full, of answers that have not been read yet.

A little is kept in memory, more in a file without a name, and all of it together within a bound.
"""

from __future__ import annotations

import contextlib
import tempfile
import threading
from collections.abc import Callable
from typing import IO

#: Bytes of one request or answer that are kept in memory, and count for nothing up to the second number.
IN_MEMORY = 1024 * 1024
FREE = 64 * 1024
#: Bytes that may wait in all beyond what is free.
ROOM = 256 * 1024 * 1024

_PIECE = 256 * 1024


class NoRoom(ConnectionResetError):
    """No more bytes may wait."""


class Room:
    """How much may still wait; for all threads."""

    def __init__(self, size: int = ROOM) -> None:
        self._left = size
        self._lock = threading.Lock()

    def take(self, size: int) -> None:
        """Raises NoRoom."""
        with self._lock:
            if size > self._left:
                raise NoRoom("as much waits for slow clients as may")
            self._left -= size

    def give_back(self, size: int) -> None:
        with self._lock:
            self._left += size


class Waiting:
    """A queue of bytes, written at its end and read from its front."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._memory = bytearray()
        self._file: IO[bytes] | None = None
        self._written = self._read = self._taken = 0

    def __len__(self) -> int:
        return self._written - self._read

    def write(self, data: bytes | memoryview) -> None:
        """Raises NoRoom."""
        if (beyond := self._written + len(data) - FREE - self._taken) > 0:
            self._room.take(beyond)
            self._taken += beyond
        if self._file is None and self._written + len(data) > IN_MEMORY:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - `clear` closes it
            self._file.write(self._memory)
            self._memory.clear()
        if self._file is None:
            self._memory += data
        else:
            self._file.seek(self._written)
            self._file.write(data)
        self._written += len(data)

    def peek(self, size: int = _PIECE) -> bytes:
        """Return the next bytes, at most `size`, without removing them."""
        if self._file is None:
            return bytes(self._memory[self._read : self._read + size])
        self._file.seek(self._read)
        return self._file.read(min(size, len(self)))

    def skip(self, size: int) -> None:
        self._read += size
        if not len(self):
            self.clear()

    def read(self, size: int) -> bytes:
        data = self.peek(size)
        self.skip(len(data))
        return data

    def send(self, send: Callable[[bytes], int]) -> None:
        """Pass bytes to a socket's `send` until it raises BlockingIOError or nothing is left."""
        while len(self):
            self.skip(send(self.peek()))

    def clear(self) -> None:
        self._room.give_back(self._taken)
        if self._file is not None:
            with contextlib.suppress(OSError):  # on a full disk, closing tries once more to write what is buffered
                self._file.close()
            self._file = None
        self._memory.clear()
        self._written = self._read = self._taken = 0
