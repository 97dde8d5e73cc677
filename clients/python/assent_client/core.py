"""What a client knows: where the server is, the token, and for whom it asks. No connection.

`Assent` and `AsyncAssent` share it, and so do the copies `with_options` makes of them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import httpx2

from assent_client import errors, exchange
from assent_client.answers import Answer, RawResponse
from assent_client.exchange import Operation, Request, Steps

A = TypeVar("A", bound=Answer)

TIMEOUT, CONNECT_TIMEOUT = 30.0, 5.0
MAX_RETRIES = 2

#: What people copy along with the address of a site.
_PART_OF_THE_SITE = re.compile(r"(/mcp|/api(/.*)?)/?$")


class OwnerNotKnown(errors.AssentError):
    """A call did not say whose memory, and the token serves several people or nobody.

    Attributes:
        served: whom it serves, as the beginning of a sentence.
    """

    def __init__(self, served: str) -> None:
        super().__init__(f"{served}: say whose memory with user or user_id.")
        self.served = served


class Token(Answer):
    """What the token may do, and for whom.

    Attributes:
        owners: empty when it serves everyone (`all_owners`).
    """

    agent: str = ""
    scopes: list[str] = []
    toolset: str = ""
    all_owners: bool = False
    owners: list[str] = []


TOKEN = Operation("token", Token, method="GET", path="/api/v1/token/", is_about_someone=False)


@dataclass(frozen=True)
class ClientCore:
    """The settings of a client, and the steps of its calls."""

    base_url: str
    token: str | None = field(repr=False)
    user: str | None
    timeout: float | httpx2.Timeout | None
    max_retries: int
    #: The one person the token serves, once that was asked; shared by the copies of a client.
    served: list[str] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        if self.max_retries < 0:
            raise ValueError("max_retries cannot be less than 0")

    def steps(
        self,
        operation: Operation[A],
        arguments: Mapping[str, Any],
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> Steps[RawResponse[A]]:
        """Run an operation. Where its address names a person and the client knows none, the token tells whom."""
        whose = user_id or self.user
        if whose is None and "{user_id}" in operation.address:
            whose = yield from self.only_owner()
        request = exchange.build(operation, arguments, user_id=whose, timeout=timeout or self.timeout)
        return (yield from exchange.call(request, operation.answer, max_retries=self.max_retries))

    def only_owner(self) -> Steps[str]:
        """Return the one person the token serves, asking once. Raise OwnerNotKnown for several or none."""
        if not self.served:
            served = (yield from self.steps(TOKEN, {})).answer
            if served.all_owners or len(served.owners) != 1:
                whom = "several owners" if served.all_owners or served.owners else "nobody"
                raise OwnerNotKnown(f"This token serves {whom}")
            self.served.append(served.owners[0])
        return self.served[0]

    def address_of(self, name: str, user_id: str | None) -> Steps[str]:
        """Return the path of something of a person's."""
        whose = user_id or self.user or (yield from self.only_owner())
        return f"/api/v1/users/{exchange.segment('user_id', whose)}/{name}"

    def headers(self) -> dict[str, str]:
        """Return what every request of this client carries."""
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}

    def plain(self, method: str, path: str, **more: Any) -> Request:
        """Return a request for what has no operation."""
        return Request(method, path, **{"timeout": self.timeout, **more})

    def changed(self, **options: Any) -> ClientCore:
        """Return the same with other options; what is None stays."""
        given = {name: value for name, value in options.items() if value is not None}
        if "token" in given:
            given["served"] = []
        return replace(self, **given)


def settle(
    base_url: str | None, token: str | None, given: httpx2.Client | httpx2.AsyncClient | None
) -> tuple[str, str | None]:
    """Return the address and the token of a new client, from its arguments, the HTTP client given and the environment.

    Raise AssentError where one is missing or cannot be one.
    """
    url = base_url or (str(given.base_url) if given else "") or os.environ.get("MEMORY_URL", "").strip()
    if not url:
        raise errors.AssentError("No server: give base_url, or set MEMORY_URL, such as http://127.0.0.1:8000.")
    if not url.startswith(("http://", "https://")):
        raise errors.AssentError("base_url (or MEMORY_URL) has to begin with http:// or https://.")
    if _PART_OF_THE_SITE.search(url):
        raise errors.AssentError("base_url (or MEMORY_URL) is the address of the site: leave out /mcp and /api/….")
    secret = token
    if secret is None and not (given and "Authorization" in given.headers):
        secret = os.environ.get("MEMORY_TOKEN", "").strip() or None
        if secret is None:
            raise errors.AssentError(
                "No token: give token, or set MEMORY_TOKEN. The site makes one at /settings/agents/."
            )
    if secret is not None and (not secret or not secret.isascii() or not secret.isprintable() or " " in secret):
        raise errors.AssentError("token (or MEMORY_TOKEN) is no token.")
    return url.rstrip("/"), secret


def default_timeout(timeout: float | httpx2.Timeout | None) -> httpx2.Timeout:
    """Return the timeout of a connection pool of our own."""
    if isinstance(timeout, httpx2.Timeout):
        return timeout
    connect = min(CONNECT_TIMEOUT, timeout or CONNECT_TIMEOUT)
    return httpx2.Timeout(TIMEOUT if timeout is None else timeout, connect=connect)


def require_httpx2(http_client: object, wanted: type[httpx2.Client] | type[httpx2.AsyncClient]) -> None:
    """Raise TypeError for an HTTP client of another library, or of the other kind."""
    if http_client is None or isinstance(http_client, wanted):
        return
    library, name = type(http_client).__module__.split(".")[0], type(http_client).__name__
    advice = " httpx and httpx2 are two libraries, and their objects do not mix." if library == "httpx" else ""
    raise TypeError(f"http_client has to be an httpx2.{wanted.__name__}, not {library}.{name}.{advice}")
