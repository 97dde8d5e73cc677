"""Telling when a request has arrived in full: pure, without sockets.

It decides only *when* a thread is given the bytes; gunicorn's parser alone decides what they mean. Where the two
disagree, the thread reaches the end of the bytes and closes the connection: no thread waits, and nothing is read twice.
"""

from __future__ import annotations

import re
from collections.abc import Callable

#: Bytes of request line and headers. gunicorn would take 100 headers of 8 kB each.
LARGEST_HEAD = 64 * 1024
#: Bytes of the line before a chunk, and of all trailers.
_LONGEST_LINE = 8 * 1024
#: Of 8 kB, they are five times the largest body. Each costs 3 µs in the thread that serves all clients.
_MOST_CHUNKS = 20_000

_BARE_LF = re.compile(rb"(?<!\r)\n")
_LENGTH = re.compile(rb"\r\ncontent-length[ \t]*:[ \t]*([0-9]+)[ \t]*(?=\r\n)", re.IGNORECASE)
_CODING = re.compile(rb"\r\ntransfer-encoding[ \t]*:", re.IGNORECASE)
_EXPECTS = re.compile(rb"\r\nexpect[ \t]*:[ \t]*100-continue[ \t]*\r\n", re.IGNORECASE)
_CHUNK_SIZE = re.compile(rb"([0-9a-f]{1,12})[ \t]*(;.*)?\r\n", re.IGNORECASE | re.DOTALL)


class Incoming:
    """One request on its way.

    Args:
        largest_body: how many bytes the body of a request to this target may have.
    """

    def __init__(self, largest_body: Callable[[str], int]) -> None:
        self.method = self.target = ""
        #: Whether there is nothing more to wait for: all is here, or the rest is of no use.
        self.is_whole = False
        self.head_is_too_long = False
        self.body_is_too_large = False
        #: Whether the client waits for `100 Continue` before it sends the body.
        self.expects_continue = False
        self._largest_body = largest_body
        self._limit = 0
        self._head = bytearray()
        self._take: Callable[[bytes, int], int] = self._take_head
        self._left = 0  # of the body, or of a chunk with its line end
        self._line = bytearray()
        self._in_chunks = self._chunks = 0
        self._trailers = -1  # bytes of them; -1 before the last chunk

    def feed(self, data: bytes) -> int:
        """Read what has arrived. Return how many bytes of it belong to this request."""
        used = 0
        while used < len(data) and not self.is_whole:
            used += self._take(data, used)
        return used

    def _take_head(self, data: bytes, start: int) -> int:
        before = len(self._head)
        self._head += data
        # A line end may be split across two pieces; what was searched is not searched again.
        begin = max(0, before - 3)
        end = self._head.find(b"\r\n\r\n", begin)
        if _BARE_LF.search(self._head, before, end if end >= 0 else len(self._head)):
            self.is_whole = True  # never a head that gunicorn would take
            return len(data)
        if end < 0:
            self.head_is_too_long = self.is_whole = len(self._head) > LARGEST_HEAD
            return len(data)
        del self._head[end + 4 :]
        self._begin_body(bytes(self._head))
        return end + 4 - before

    def _begin_body(self, head: bytes) -> None:
        if len(head) > LARGEST_HEAD:
            self.head_is_too_long = self.is_whole = True
            return
        line = head.lstrip(b"\r\n").partition(b"\r\n")[0].decode("latin-1")
        self.method, _, rest = line.partition(" ")
        self.target = rest.rpartition(" ")[0]
        lengths = _LENGTH.findall(head)
        is_chunked = _CODING.search(head) is not None
        if len(lengths) + is_chunked != 1:
            self.is_whole = True  # no body, or two lengths, which gunicorn refuses
            return
        self._limit = self._largest_body(self.target)
        if is_chunked:
            self._take = self._take_chunks
        else:
            self._left = int(lengths[0]) if len(lengths[0]) < 16 else self._limit + 1
            self._take = self._take_body
            self.body_is_too_large = self._left > self._limit
            self.is_whole = self.body_is_too_large or self._left == 0
        self.expects_continue = not self.is_whole and _EXPECTS.search(head) is not None

    def _take_body(self, data: bytes, start: int) -> int:
        used = min(self._left, len(data) - start)
        self._left -= used
        self.is_whole = self._left == 0
        return used

    def _take_chunks(self, data: bytes, start: int) -> int:
        if self._left:
            used = min(self._left, len(data) - start)
            self._left -= used
            return used
        end = (data.find(b"\n", start) + 1) or len(data)
        self._line += data[start:end]
        if len(self._line) > _LONGEST_LINE:
            self.is_whole = True
        elif self._line.endswith(b"\n"):
            self._end_line(bytes(self._line))
            self._line.clear()
        return end - start

    def _end_line(self, line: bytes) -> None:
        if self._trailers >= 0:
            self._trailers += len(line)
            self.is_whole = line == b"\r\n" or self._trailers > _LONGEST_LINE
            return
        found = _CHUNK_SIZE.fullmatch(line)
        if found is None:
            self.is_whole = True
            return
        size = int(found[1], 16)
        if size == 0:
            self._trailers = 0
            return
        self._in_chunks += size
        self._chunks += 1
        self._left = size + 2
        self.body_is_too_large = self.is_whole = self._in_chunks > self._limit or self._chunks > _MOST_CHUNKS
