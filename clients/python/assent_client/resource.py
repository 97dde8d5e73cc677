"""What all resources share: running an operation, once or page by page, and with the raw response.

A resource is a part of the client such as `client.blocks`. Its methods are generated (`_generated`) or, where they are
more than one call, written by hand (`resources`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

import httpx2

from assent_client.answers import Answer, ListAnswer, RawResponse
from assent_client.exchange import Operation
from assent_client.paging import AsyncPage, AsyncPager, Page

if TYPE_CHECKING:
    from assent_client.client import Assent, AsyncAssent

A = TypeVar("A", bound=Answer)
T = TypeVar("T")
Timeout = float | httpx2.Timeout | None


class Resource:
    """Base of the resources of `Assent`."""

    def __init__(self, client: Assent, *, raw: bool = False) -> None:
        self._client = client
        self._raw = raw

    @property
    def with_raw_response(self) -> RawMethods:
        """The same methods, which return a `RawResponse`: status, headers, bytes, and `parse()`."""
        return RawMethods(type(self)(self._client, raw=True))

    def _run(self, operation: Operation[A], arguments: Mapping[str, Any], user_id: str | None, timeout: Timeout) -> A:
        came = self._client.drive(self._client.core.steps(operation, arguments, user_id, timeout))
        return cast(A, came) if self._raw else came.answer

    def _page(
        self,
        operation: Operation[Any],
        arguments: Mapping[str, Any],
        user_id: str | None,
        timeout: Timeout,
    ) -> Page[Any]:
        def follow(cursor: str | None) -> RawResponse[ListAnswer[Any]]:
            given = arguments if cursor is None else {**arguments, "cursor": cursor}
            return self._client.drive(self._client.core.steps(operation, given, user_id, timeout))

        came = follow(None)
        page: Page[Any] = Page(came.answer, lambda cursor: follow(cursor).answer)
        return cast(Page[Any], RawResponse(came.http_response, page, came.retries_taken)) if self._raw else page


class AsyncResource:
    """Base of the resources of `AsyncAssent`."""

    def __init__(self, client: AsyncAssent, *, raw: bool = False) -> None:
        self._client = client
        self._raw = raw

    @property
    def with_raw_response(self) -> RawMethods:
        """The same methods, which return a `RawResponse`: status, headers, bytes, and `parse()`."""
        return RawMethods(type(self)(self._client, raw=True))

    async def _run(
        self, operation: Operation[A], arguments: Mapping[str, Any], user_id: str | None, timeout: Timeout
    ) -> A:
        came = await self._client.drive(self._client.core.steps(operation, arguments, user_id, timeout))
        return cast(A, came) if self._raw else came.answer

    def _page(
        self,
        operation: Operation[Any],
        arguments: Mapping[str, Any],
        user_id: str | None,
        timeout: Timeout,
    ) -> AsyncPager[Any]:
        async def follow(cursor: str | None) -> RawResponse[ListAnswer[Any]]:
            given = arguments if cursor is None else {**arguments, "cursor": cursor}
            return await self._client.drive(self._client.core.steps(operation, given, user_id, timeout))

        async def next_page(cursor: str) -> ListAnswer[Any]:
            return (await follow(cursor)).answer

        async def raw() -> RawResponse[AsyncPage[Any]]:
            came = await follow(None)
            return RawResponse(came.http_response, AsyncPage(came.answer, next_page), came.retries_taken)

        async def first() -> AsyncPage[Any]:
            return (await raw()).answer

        return cast(AsyncPager[Any], raw()) if self._raw else AsyncPager(first)


class RawMethods:
    """The methods of a resource, returning a `RawResponse` (those of `AsyncAssent`: an awaitable of one)."""

    def __init__(self, resource: Resource | AsyncResource) -> None:
        self._resource = resource

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        method: Callable[..., Any] = getattr(self._resource, name)
        return method
