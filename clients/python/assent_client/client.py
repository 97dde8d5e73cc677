"""`Assent` and `AsyncAssent`: the two ways to send and sleep, and nothing else.

What a call sends, when it is sent again and how its answer is read is shared (`exchange`, `core`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar

import httpx2

from assent_client import core, exchange, webhooks
from assent_client._version import __version__
from assent_client.core import MAX_RETRIES, ClientCore
from assent_client.exchange import Request, Sleep, Steps
from assent_client.resource import Ask, AsyncPage, AsyncPager, Page
from assent_client.resources import AsyncResources, Resources

T = TypeVar("T")
Http = TypeVar("Http", httpx2.Client, httpx2.AsyncClient)

USER_AGENT = f"assent-python/{__version__}"


class _Client(Generic[Http]):
    """What both clients are: their settings, and whose connections they use."""

    webhooks = webhooks
    core: ClientCore
    _wanted: type[Any]
    _settle_resources: Callable[[], None]
    _sleep: Callable[[float], Any]
    _http: Any

    def __init__(
        self,
        base_url: str | None = None,
        token: str | None = None,
        user: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
        max_retries: int = MAX_RETRIES,
        http_client: Http | None = None,
    ) -> None:
        core.require_httpx2(http_client, self._wanted)
        self.core = ClientCore(*core.settle(base_url, token, http_client), user, timeout, max_retries)
        headers = {"User-Agent": USER_AGENT}
        self._http = http_client or self._wanted(timeout=core.default_timeout(timeout), headers=headers)
        self._owns_http = http_client is None
        self._settle_resources()

    def with_options(
        self,
        *,
        user: str | None = None,
        token: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
        max_retries: int | None = None,
    ) -> Self:
        """Return a client with other options on the same connections."""
        copy = type(self).__new__(type(self))
        copy.core = self.core.changed(user=user, token=token, timeout=timeout, max_retries=max_retries)
        copy._http, copy._owns_http = self._http, False
        copy._settle_resources()
        return copy

    def for_user(self, user: str) -> Self:
        """Return a client that asks about this person, on the same connections."""
        return self.with_options(user=user)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(base_url={self.core.base_url!r}, user={self.core.user!r})"

    def _request(self, method: str, path: str, more: dict[str, Any]) -> Steps[httpx2.Response]:
        steps = exchange.exchange(self.core.plain(method, path, **more), max_retries=self.core.max_retries)
        return (yield from steps)[0]

    def _done(self, step: Request | Sleep) -> Any:
        """Return what comes of a step, or an awaitable of it: the response of a request."""
        if isinstance(step, Sleep):
            return self._sleep(step.seconds)
        return self._http.request(
            step.method,
            self.core.base_url + step.address,
            content=step.content,
            headers={**self.core.headers(), **step.headers},
            timeout=httpx2.USE_CLIENT_DEFAULT if step.timeout is None else step.timeout,
            follow_redirects=False,
        )


class Assent(Resources, _Client[httpx2.Client]):
    """A client of Assent. It may be shared by threads.

    Example:
        with Assent() as memory:
            print(memory.blocks.get("goals").body)

    Args:
        base_url: of the server; else MEMORY_URL.
        token: an agent's token; else MEMORY_TOKEN.
        user: whose memory, where a call does not say; may be left out when the token serves one person.
        timeout: seconds for one attempt (30, of which 5 to connect).
        max_retries: how often a call is sent again that was not answered, or may succeed later.
        http_client: an `httpx2.Client` to send with; its base URL, headers and timeout are kept, and you close it.

    Raises:
        AssentError: the address or the token is missing.
        TypeError: `http_client` is another library's.
    """

    _wanted = httpx2.Client

    def _sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def request(self, method: str, path: str, **more: Any) -> httpx2.Response:
        """Send a request to an address that has no method here; retries and errors are as ever.

        Args:
            more: query (pairs), content (bytes), headers, timeout.
        """
        return self.drive(self._request(method, path, more))

    def drive(self, steps: Steps[T]) -> T:
        """Do what a call's steps ask for; return what comes of them."""
        return exchange.at_once(exchange.driven(steps, self._done, httpx2.RequestError))

    def page(self, ask: Ask, *, raw: bool) -> Any:
        """Return the first page of a list, which asks for those after it."""
        came = self.drive(ask(None))
        page: Page[Any] = Page(came.answer, lambda cursor: self.drive(ask(cursor)).answer)
        return came.of(page) if raw else page

    def close(self) -> None:
        """Close the connections, unless they are those of an `http_client` that was given."""
        if self._owns_http:
            self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncAssent(AsyncResources, _Client[httpx2.AsyncClient]):
    """The same client for asyncio; one for each event loop.

    Example:
        async with AsyncAssent() as memory:
            print((await memory.blocks.get("goals")).body)

    Args and Raises are those of `Assent`; `http_client` is an `httpx2.AsyncClient`.
    """

    _wanted = httpx2.AsyncClient

    async def _sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def request(self, method: str, path: str, **more: Any) -> httpx2.Response:
        """Send a request to an address that has no method here; retries and errors are as ever.

        Args:
            more: query (pairs), content (bytes), headers, timeout.
        """
        return await self.drive(self._request(method, path, more))

    async def drive(self, steps: Steps[T]) -> T:
        """Do what a call's steps ask for; return what comes of them."""
        return await exchange.driven(steps, self._done, httpx2.RequestError)

    def page(self, ask: Ask, *, raw: bool) -> Any:
        """Return a list to come."""

        async def follow(cursor: str) -> Any:
            return (await self.drive(ask(cursor))).answer

        async def first() -> Any:
            came = await self.drive(ask(None))
            page: AsyncPage[Any] = AsyncPage(came.answer, follow)
            return came.of(page) if raw else page

        return first() if raw else AsyncPager(first)

    async def close(self) -> None:
        """Close the connections, unless they are those of an `http_client` that was given."""
        if self._owns_http:
            await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
