"""What all resources share: running an operation, once or page by page, and with the raw response.

A resource is a part of the client such as `client.blocks`. Its methods are generated (`_generated`) or, where they are
more than one call, written by hand (`resources`). Each is written once, for `Assent`: it hands steps to its client,
whose `drive` returns what comes of them, or, of `AsyncAssent`, an awaitable of it. So the resources of `AsyncAssent`
have the very same functions, and `awaited` and `paged` say what they return there.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator, Iterator, Mapping
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, cast

from assent_client.answers import Answer, ListAnswer, RawResponse
from assent_client.exchange import Operation, Steps

A = TypeVar("A", bound=Answer)
P = ParamSpec("P")
T = TypeVar("T")

#: Asks for the page at a cursor, or the first one.
Ask = Callable[[str | None], Steps[RawResponse[ListAnswer[Any]]]]


class _OnePage(Generic[T]):
    def __init__(self, answer: ListAnswer[T]) -> None:
        #: The answer this page came with; it may say more than the items.
        self.answer = answer
        #: The items of this page alone.
        self.items = answer.items
        #: The cursor of the next page; None on the last.
        self.next = answer.next
        #: The page as a text for a model.
        self.text = answer.text
        self.data = answer.data
        self.request_id = answer.request_id

    def has_next_page(self) -> bool:
        return self.next is not None

    def _cursor(self) -> str:
        if self.next is None:
            raise ValueError("This is the last page: ask has_next_page() first.")
        return self.next


class Page(_OnePage[T]):
    """One page; iterating yields its items and those of all pages after it."""

    def __init__(self, answer: ListAnswer[T], follow: Callable[[str], ListAnswer[T]]) -> None:
        super().__init__(answer)
        self._follow = follow

    def get_next_page(self) -> Page[T]:
        """Return the page after this one. Raise ValueError on the last."""
        return Page(self._follow(self._cursor()), self._follow)

    def pages(self) -> Iterator[Page[T]]:
        """Yield this page and those after it."""
        page = self
        yield page
        while page.next is not None:
            page = page.get_next_page()
            yield page

    def __iter__(self) -> Iterator[T]:
        for page in self.pages():
            yield from page.items


class AsyncPage(_OnePage[T]):
    """One page; `async for` yields its items and those of all pages after it."""

    def __init__(self, answer: ListAnswer[T], follow: Callable[[str], Awaitable[ListAnswer[T]]]) -> None:
        super().__init__(answer)
        self._follow = follow

    async def get_next_page(self) -> AsyncPage[T]:
        """Return the page after this one. Raise ValueError on the last."""
        return AsyncPage(await self._follow(self._cursor()), self._follow)

    async def pages(self) -> AsyncIterator[AsyncPage[T]]:
        """Yield this page and those after it."""
        page = self
        yield page
        while page.next is not None:
            page = await page.get_next_page()
            yield page

    async def __aiter__(self) -> AsyncIterator[T]:
        async for page in self.pages():
            for item in page.items:
                yield item


class AsyncPager(Generic[T]):
    """A list to come: `await` gives its first page, `async for` all items."""

    def __init__(self, first: Callable[[], Awaitable[AsyncPage[T]]]) -> None:
        self._first = first

    def __await__(self) -> Generator[Any, None, AsyncPage[T]]:
        return self._first().__await__()

    async def __aiter__(self) -> AsyncIterator[T]:
        async for item in await self:
            yield item


class Resource:
    """Base of the resources of both clients.

    Args:
        client: an `Assent` or an `AsyncAssent`.
        raw: whether methods return a `RawResponse`.
    """

    def __init__(self, client: Any, *, raw: bool = False) -> None:
        self._client = client
        self._raw = raw

    @property
    def with_raw_response(self) -> Any:
        """The same methods, which return a `RawResponse`: status, headers, bytes, and `parse()`."""
        return type(self)(self._client, raw=True)

    def _run(self, operation: Operation[A], given: Mapping[str, Any]) -> A:
        """Run an operation.

        Args:
            given: what a method was given, itself included: its own arguments, `user_id` and `timeout`.
        """
        return self._answer(self._ask(operation, given))

    def _page(self, operation: Operation[Any], given: Mapping[str, Any]) -> Page[Any]:
        def ask(cursor: str | None) -> Steps[RawResponse[ListAnswer[Any]]]:
            return self._ask(operation, given if cursor is None else {**given, "cursor": cursor})

        return cast(Page[Any], self._client.page(ask, raw=self._raw))

    def _ask(self, operation: Operation[A], given: Mapping[str, Any]) -> Steps[RawResponse[A]]:
        arguments = {name: value for name, value in given.items() if name != "self"}
        user_id, timeout = arguments.pop("user_id", None), arguments.pop("timeout", None)
        steps: Steps[RawResponse[A]] = self._client.core.steps(operation, arguments, user_id, timeout)
        return steps

    def _answer(self, steps: Steps[RawResponse[A]]) -> A:
        """Take the steps of a call; return its answer, or the raw response where that was asked for."""

        def answer() -> Steps[A]:
            came = yield from steps
            return cast(A, came) if self._raw else came.answer

        return self._drive(answer())

    def _drive(self, steps: Steps[T]) -> T:
        return cast(T, self._client.drive(steps))


def awaited(method: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """Return the method as `AsyncAssent` has it."""
    return cast(Callable[Concatenate[Any, P], Coroutine[Any, Any, T]], method)


def paged(method: Callable[Concatenate[Any, P], Page[T]]) -> Callable[Concatenate[Any, P], AsyncPager[T]]:
    """Return the list as `AsyncAssent` has it."""
    return cast(Callable[Concatenate[Any, P], AsyncPager[T]], method)
