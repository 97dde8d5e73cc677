"""Handing one message over: the only place that connects to an address somebody typed.

The name is resolved once, each address it has is checked, and the connection goes to an address that was checked: what
the name resolves to a moment later is of no interest. Redirects are answers like others, and proxies of the
environment are not used, since both would connect somewhere else. One deadline covers all of it, so that a receiver
that sends a byte a second is cut like one that sends none.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

import httpcore
import httpx
from django.utils import timezone

from agent_tools.webhooks import schedule
from agent_tools.webhooks.addresses import AddressInvalid, Network, check_url, may_connect

#: Seconds for a connection to one address, and for everything together. Finding the address of a name has the limits
#: of the system's resolver, and what is left is cut after that.
CONNECT, TOTAL = 5.0, 15.0
#: Bytes of an answer that are read; none of them are kept.
MOST_READ = 1024
#: Of the addresses of one name, as many are tried.
_ADDRESSES = 3
_ASKS_TO_WAIT = (429, 503)

Resolve = Callable[[str, int], Iterable[str]]


class AddressRefused(Exception):
    """Every address that the name has is one that no message goes to."""


class NameNotFound(Exception):
    """The name has no address, or the resolver does not say which."""


@dataclass(frozen=True)
class AttemptOutcome:
    """What became of one attempt.

    Args:
        status: of the answer; None without one.
        error: what went wrong, a key of `deliveries.ERRORS`; empty when it was accepted.
        retry_after: how long the receiver asks to be left alone.
    """

    status: int | None
    error: str
    milliseconds: int
    retry_after: timedelta | None = None

    @property
    def is_accepted(self) -> bool:
        return not self.error


def resolve(host: str, port: int) -> list[str]:
    """Return the addresses of a name, as the system knows them."""
    return [str(found[4][0]) for found in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


def post(
    url: str,
    headers: Mapping[str, str],
    body: str,
    *,
    allowed: Iterable[Network] = (),
    resolve: Resolve = resolve,
) -> AttemptOutcome:
    """Send a message and return what became of it. Nothing that goes wrong with the receiver is raised.

    Args:
        allowed: networks of the installation's own.
        resolve: host and port → addresses; for tests.
    """
    began = time.monotonic()

    def outcome(error: str, status: int | None = None, wait: timedelta | None = None) -> AttemptOutcome:
        return AttemptOutcome(status, error, round((time.monotonic() - began) * 1000), wait)

    try:
        status, asked = _exchange(url, headers, body, _Guard(began + TOTAL, tuple(allowed), resolve))
    except (AddressRefused, AddressInvalid):
        return outcome("address_refused")
    except NameNotFound:
        return outcome("name_not_found")
    except httpcore.TimeoutException:
        return outcome("timed_out")
    except httpcore.ConnectError as error:
        is_of_tls = any(isinstance(each, ssl.SSLError) for each in error.args)
        return outcome("tls_failed" if is_of_tls else "cannot_connect")
    except (httpcore.NetworkError, httpcore.ProtocolError, OSError):
        return outcome("broken_off")
    if 200 <= status < 300:
        return outcome("", status)
    wait = schedule.retry_after(asked, timezone.now()) if status in _ASKS_TO_WAIT else None
    return outcome("redirected" if 300 <= status < 400 else "refused", status, wait)


def _exchange(url: str, headers: Mapping[str, str], body: str, guard: _Guard) -> tuple[int, str]:
    """Return the status of the answer, and its Retry-After."""
    check_url(url, allowed=guard.allowed)
    guard.is_secure = urlsplit(url).scheme == "https"
    sent = {
        "Host": url.partition("://")[2].partition("/")[0].partition("?")[0],
        "Content-Type": "application/json",
        "User-Agent": "Assent-Webhooks/1",
        "Accept": "*/*",
        "Connection": "close",
    } | dict(headers)
    context = _trust() if guard.is_secure else None
    with httpcore.ConnectionPool(ssl_context=context, network_backend=guard, max_connections=1) as pool:
        encoded = [(name.encode(), value.encode()) for name, value in sent.items()]
        with pool.stream("POST", url, headers=encoded, content=body.encode()) as response:
            _read_some(response)
            found = {name.lower(): value for name, value in response.headers}
            return response.status, found.get(b"retry-after", b"").decode("latin-1")


def _read_some(response: httpcore.Response) -> None:
    """Read the beginning of the answer: a receiver whose connection ends while it still writes may log an error.

    Its status has come, so what goes wrong from here on changes nothing.
    """
    read = 0
    with contextlib.suppress(httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError):
        for part in response.iter_stream():
            read += len(part)
            if read >= MOST_READ:
                return


@cache
def _trust() -> ssl.SSLContext:
    """Return whom we believe who they are; reading the certificates takes 20 ms. SSL_CERT_FILE adds one's own."""
    return httpx.create_ssl_context()


class _Guard(httpcore.NetworkBackend):
    """Connects to checked addresses only, and until one deadline."""

    def __init__(self, deadline: float, allowed: tuple[Network, ...], resolve: Resolve) -> None:
        self.allowed = allowed
        self.is_secure = True
        self._deadline = deadline
        self._resolve = resolve
        self._network = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Any = None,
    ) -> httpcore.NetworkStream:
        failure: Exception = AddressRefused()
        for address in self._checked(host, port):
            try:
                within = min(CONNECT, _left(self._deadline))
                return _TimedStream(self._network.connect_tcp(address, port, within), self._deadline)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise failure

    def _checked(self, host: str, port: int) -> list[str]:
        try:
            found = dict.fromkeys(self._resolve(host, port))
        except (OSError, UnicodeError):
            found = {}
        if not found:
            raise NameNotFound
        checked = [each for each in found if may_connect(ip_address(each), secure=self.is_secure, allowed=self.allowed)]
        if not checked:
            raise AddressRefused
        return checked[:_ADDRESSES]


class _TimedStream(httpcore.NetworkStream):
    """A connection whose every step has what is left of the time."""

    def __init__(self, stream: httpcore.NetworkStream, deadline: float) -> None:
        self._stream = stream
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _left(self._deadline))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, _left(self._deadline))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        within = _left(self._deadline)
        return _TimedStream(self._stream.start_tls(ssl_context, server_hostname, within), self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise httpcore.ReadTimeout
    return left
