"""Lists that come in pages: iterating one asks for the next page when it is reached."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from typing import Any, Generic, TypeVar

from assent_client.answers import ListAnswer

T = TypeVar("T")


class _OnePage(Generic[T]):
    def __init__(self, answer: ListAnswer[T]) -> None:
        #: The answer this page came with; it may say more than the items.
        self.answer = answer

    @property
    def items(self) -> list[T]:
        """The items of this page alone."""
        return self.answer.items

    @property
    def next(self) -> str | None:
        """The cursor of the next page; None on the last."""
        return self.answer.next

    @property
    def text(self) -> str:
        """The page as a text for a model."""
        return self.answer.text

    @property
    def data(self) -> dict[str, Any]:
        return self.answer.data

    @property
    def request_id(self) -> str | None:
        return self.answer.request_id

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
