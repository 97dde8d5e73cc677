"""`memory mcp`: what a client writes to standard input goes to the server's `/mcp`, its answers to standard output.

For clients that start a program and speak to it by lines of JSON (Claude Desktop, and any other). The embedded edition
has one writer for each database file, so this is never a second server: it opens no database.

"""

from __future__ import annotations

import base64
import json
import logging
import re
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import httpx2

log = logging.getLogger("memory.mcp")

#: Calls under way at once: a search that takes long does not hold up the others. Fewer than the server has threads.
_AT_ONCE = 4
#: Seconds for one answer: longer than any tool may take, shorter than most clients wait.
_TIMEOUT = httpx2.Timeout(60, connect=10)
#: Bytes of the longest line that is read, the server's own limit and some room.
_LONGEST_LINE = 8 * 1024 * 1024

#: What a client begins with. It gives a server up that refuses it, so one that is being started is waited for: seconds,
#: less than the minute after which clients end the wait, and those between two attempts.
_BEGINNINGS = ("initialize", "server/discover")
_PATIENCE, _PAUSE = 45.0, 0.5
#: The version in which a line may have several messages.
_WITH_BATCHES = "2025-03-26"

_PARSE_ERROR, _INVALID_REQUEST = -32700, -32600
#: The server cannot be reached, or answers otherwise than by JSON-RPC.
_UNREACHABLE = -32010

_META_VERSION = "io.modelcontextprotocol/protocolVersion"
#: The parameter that the header Mcp-Name repeats.
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_PLAIN = re.compile(r"[!-~]([ -~]*[!-~])?")


class Unanswered(Exception):
    """The server gave no answer that a client could read; the message says what to do."""


@dataclass
class Bridge:
    """Two streams and a server.

    Args:
        url: of the server, with or without a path below which it is served.
        token: of an agent.
        query: of the address `/mcp`: `user`, `readonly`, `tools`, `toolset`, `data`.
        source, sink: binary streams; each message is a line.
        transport: instead of the network, for tests.
    """

    url: str
    token: str
    source: BinaryIO
    sink: BinaryIO
    query: Mapping[str, str] = field(default_factory=dict)
    transport: httpx2.BaseTransport | None = None

    def __post_init__(self) -> None:
        self._address = f"{self.url.rstrip('/')}/mcp"
        self._writing = threading.Lock()
        # The version of the handshake, which the older clients do not repeat in their messages.
        self._agreed = ""
        # Ids of requests, as JSON: 1 is not "1".
        self._under_way: set[str] = set()
        self._cancelled: set[str] = set()
        self._is_broken = False

    def run(self) -> None:
        """Answer every message until the input ends, and then what is still under way."""
        # A connection that cannot be made is tried again at once; a request that was sent never is.
        transport = self.transport or httpx2.HTTPTransport(retries=1)
        headers = {"Authorization": f"Bearer {self.token}", "Accept": "application/json, text/event-stream"}
        with (
            # Redirects are not followed: the token is for this address.
            httpx2.Client(headers=headers, timeout=_TIMEOUT, transport=transport) as self._http,
            ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="mcp") as pool,
        ):
            while not self._is_broken and (line := self.source.readline(_LONGEST_LINE)):
                if len(line) == _LONGEST_LINE and not line.endswith(b"\n"):
                    self._skip_line()
                    self._refuse(None, _INVALID_REQUEST, f"A message has at most {_LONGEST_LINE:,} bytes.")
                elif line.strip():
                    self._take(line, pool)

    def _skip_line(self) -> None:
        while (rest := self.source.readline(_LONGEST_LINE)) and not rest.endswith(b"\n"):
            pass

    def _take(self, line: bytes, pool: ThreadPoolExecutor) -> None:
        """Have a line answered: a handshake before anything after it, all else at once."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            self._refuse(None, _PARSE_ERROR, "The line is not JSON.")
            return
        is_batch = isinstance(message, list) and message and all(isinstance(each, dict) for each in message)
        if is_batch and self._agreed == _WITH_BATCHES:
            for each in message:  # each is answered on its own id, the next not held up by the one before
                self._take(json.dumps(each).encode(), pool)
            return
        if not isinstance(message, dict):
            self._refuse(None, _INVALID_REQUEST, "Each line has to be one JSON-RPC message.")
            return
        if "id" not in message:
            self._note(message)
            return
        self._under_way.add(json.dumps(message["id"]))
        if message.get("method") == "initialize":
            self._answer(message, line)
        else:
            pool.submit(self._answer, message, line)

    def _note(self, message: dict[str, Any]) -> None:
        """Take a notification. The server keeps nothing between requests, so none is sent on."""
        params = message.get("params")
        if message.get("method") == "notifications/cancelled" and isinstance(params, dict):
            id = json.dumps(params.get("requestId"))
            with self._writing:
                if id in self._under_way:
                    self._cancelled.add(id)

    def _answer(self, message: dict[str, Any], line: bytes) -> None:
        """Write the server's answer to a request, or an error with its id."""
        id = message.get("id")
        try:
            answer = self._asked(message, line) | {"id": id}
        except Unanswered as error:
            log.warning("%s", error)
            self._refuse(id, _UNREACHABLE, str(error))
            return
        except Exception as error:  # the client waits for this id
            log.exception("unexpected")
            self._refuse(id, _UNREACHABLE, f"The bridge failed ({type(error).__name__}).")
            return
        if message.get("method") == "initialize" and isinstance(answer.get("result"), dict):
            self._agreed = str(answer["result"].get("protocolVersion", ""))
        self._write(answer)

    def _asked(self, message: dict[str, Any], line: bytes) -> dict[str, Any]:
        """Return the server's JSON-RPC answer. Raise Unanswered where there is none."""
        until = time.monotonic() + (_PATIENCE if message.get("method") in _BEGINNINGS else 0)
        while True:
            try:
                response = self._http.post(
                    self._address, content=line, params=dict(self.query), headers=self._headers(message)
                )
                break
            except httpx2.TimeoutException as error:
                raise Unanswered(f"{self.url} did not answer in time; what was asked may still be done.") from error
            except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
                if not isinstance(error, httpx2.ConnectError) or time.monotonic() > until:
                    raise Unanswered(f"{self.url} cannot be reached ({error}). Is the server running?") from error
                time.sleep(_PAUSE)
        if response.is_redirect:
            raise Unanswered(f"{self.url} has moved to {response.headers.get('Location')}: change MEMORY_URL.")
        try:
            answer = response.json()
        except ValueError:
            answer = None
        if not isinstance(answer, dict) or not ("result" in answer or isinstance(answer.get("error"), dict)):
            raise Unanswered(f"{self._address} answered {response.status_code}, but not as Assent: check MEMORY_URL.")
        if response.status_code == 401:
            raise Unanswered(f"{self.url} does not know the token: check MEMORY_TOKEN.")
        return answer

    def _headers(self, message: dict[str, Any]) -> dict[str, str]:
        """Return the headers of a request: over HTTP they repeat parts of the message."""
        headers = {"Content-Type": "application/json"}
        given = message.get("params")
        params: dict[str, Any] = given if isinstance(given, dict) else {}
        meta = params.get("_meta")
        version = meta.get(_META_VERSION) if isinstance(meta, dict) else None
        method = message.get("method")
        if isinstance(version, str):
            headers["MCP-Protocol-Version"] = _encoded(version)
            headers["Mcp-Method"] = _encoded(method) if isinstance(method, str) else ""
            named = params.get(_NAMED.get(str(method), ""))
            if isinstance(named, str):
                headers["Mcp-Name"] = _encoded(named)
        elif self._agreed and method != "initialize":
            headers["MCP-Protocol-Version"] = self._agreed
        return headers

    def _refuse(self, id: Any, code: int, message: str) -> None:
        self._write({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})

    def _write(self, answer: dict[str, Any]) -> None:
        """Write a message as a line, unless its request was cancelled."""
        key = json.dumps(answer["id"])
        with self._writing:
            self._under_way.discard(key)
            if key in self._cancelled:
                self._cancelled.discard(key)
                return
            try:
                # ASCII alone: a line separator of Unicode would end the line for some readers.
                self.sink.write(json.dumps(answer, separators=(",", ":")).encode() + b"\n")
                self.sink.flush()
            except (OSError, ValueError):  # the client is gone
                self._is_broken = True


def _encoded(value: str) -> str:
    """Return a value as a header can have it: other than visible ASCII in base64."""
    if _PLAIN.fullmatch(value) and not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    packed = base64.b64encode(value.encode("utf-8", "replace")).decode()
    return f"=?base64?{packed}?="
