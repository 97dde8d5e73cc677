"""`Assent` and `AsyncAssent`: the two ways to send and sleep, and nothing else.

What a call sends, when it is sent again and how its answer is read is shared (`exchange`, `core`).
"""

from __future__ import annotations

import asyncio
import time
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx2

from assent_client import __version__, core, exchange, webhooks
from assent_client.core import MAX_RETRIES, ClientCore
from assent_client.exchange import Sleep, Steps
from assent_client.resources import AsyncResources, SyncResources

T = TypeVar("T")

USER_AGENT = f"assent-python/{__version__}"


class Assent(SyncResources):
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

    webhooks = webhooks

    def __init__(
        self,
        base_url: str | None = None,
        token: str | None = None,
        user: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
        max_retries: int = MAX_RETRIES,
        http_client: httpx2.Client | None = None,
    ) -> None:
        self.core = core.settle(base_url, token, user, timeout, max_retries, http_client, httpx2.Client)
        self._http = http_client or httpx2.Client(
            timeout=core.default_timeout(timeout), headers={"User-Agent": USER_AGENT}
        )
        self._owns_http = http_client is None

    def with_options(
        self,
        *,
        user: str | None = None,
        token: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
        max_retries: int | None = None,
    ) -> Self:
        """Return a client with other options on the same connections."""
        return self._on(self.core.changed(user=user, token=token, timeout=timeout, max_retries=max_retries))

    def for_user(self, user: str) -> Self:
        """Return a client that asks about this person, on the same connections."""
        return self.with_options(user=user)

    def request(self, method: str, path: str, **more: Any) -> httpx2.Response:
        """Send a request to an address that has no method here; retries and errors are as ever.

        Args:
            more: query (pairs), content (bytes), headers, timeout.
        """
        steps = exchange.exchange(self.core.plain(method, path, **more), max_retries=self.core.max_retries)
        return self.drive(steps)[0]

    def drive(self, steps: Steps[T]) -> T:
        """Do what a call's steps ask for; return what comes of them."""
        try:
            step = next(steps)
            while True:
                if isinstance(step, Sleep):
                    time.sleep(step.seconds)
                    step = steps.send(None)
                    continue
                try:
                    response = self._http.request(
                        step.method,
                        self.core.base_url + step.path,
                        content=step.content,
                        headers={**self.core.headers(), **step.headers},
                        timeout=httpx2.USE_CLIENT_DEFAULT if step.timeout is None else step.timeout,
                        follow_redirects=False,
                    )
                except httpx2.RequestError as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(response)
        except StopIteration as done:
            result: T = done.value
            return result

    def close(self) -> None:
        """Close the connections, unless they are those of an `http_client` that was given."""
        if self._owns_http:
            self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(base_url={self.core.base_url!r}, user={self.core.user!r})"

    def _on(self, changed: ClientCore) -> Self:
        copy = type(self).__new__(type(self))
        copy.core, copy._http, copy._owns_http = changed, self._http, False
        return copy


class AsyncAssent(AsyncResources):
    """The same client for asyncio; arguments and methods are those of `Assent`.

    Example:
        async with AsyncAssent() as memory:
            print((await memory.blocks.get("goals")).body)
    """

    webhooks = webhooks

    def __init__(
        self,
        base_url: str | None = None,
        token: str | None = None,
        user: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
        max_retries: int = MAX_RETRIES,
        http_client: httpx2.AsyncClient | None = None,
    ) -> None:
        self.core = core.settle(base_url, token, user, timeout, max_retries, http_client, httpx2.AsyncClient)
        self._http = http_client or httpx2.AsyncClient(
            timeout=core.default_timeout(timeout), headers={"User-Agent": USER_AGENT}
        )
        self._owns_http = http_client is None

    def with_options(
        self,
        *,
        user: str | None = None,
        token: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
        max_retries: int | None = None,
    ) -> Self:
        """Return a client with other options on the same connections."""
        return self._on(self.core.changed(user=user, token=token, timeout=timeout, max_retries=max_retries))

    def for_user(self, user: str) -> Self:
        """Return a client that asks about this person, on the same connections."""
        return self.with_options(user=user)

    async def request(self, method: str, path: str, **more: Any) -> httpx2.Response:
        """Send a request to an address that has no method here; retries and errors are as ever.

        Args:
            more: query (pairs), content (bytes), headers, timeout.
        """
        steps = exchange.exchange(self.core.plain(method, path, **more), max_retries=self.core.max_retries)
        return (await self.drive(steps))[0]

    async def drive(self, steps: Steps[T]) -> T:
        """Do what a call's steps ask for; return what comes of them."""
        try:
            step = next(steps)
            while True:
                if isinstance(step, Sleep):
                    await asyncio.sleep(step.seconds)
                    step = steps.send(None)
                    continue
                try:
                    response = await self._http.request(
                        step.method,
                        self.core.base_url + step.path,
                        content=step.content,
                        headers={**self.core.headers(), **step.headers},
                        timeout=httpx2.USE_CLIENT_DEFAULT if step.timeout is None else step.timeout,
                        follow_redirects=False,
                    )
                except httpx2.RequestError as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(response)
        except StopIteration as done:
            result: T = done.value
            return result

    async def close(self) -> None:
        """Close the connections, unless they are those of an `http_client` that was given."""
        if self._owns_http:
            await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(base_url={self.core.base_url!r}, user={self.core.user!r})"

    def _on(self, changed: ClientCore) -> Self:
        copy = type(self).__new__(type(self))
        copy.core, copy._http, copy._owns_http = changed, self._http, False
        return copy
