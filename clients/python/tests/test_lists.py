"""Lists: one page at a time, or all by iterating."""

import asyncio

import httpx2
import pytest
from conftest import Script, refusal, success

from assent_client import Assent, AsyncAssent, RateLimitError


def pages() -> list[httpx2.Response | Exception]:
    return [
        success(items=[{"label": "goals"}, {"label": "style"}], next="2"),
        success(items=[], next="3"),
        success(items=[{"label": "student"}], next=None),
    ]


def test_iterating_follows_the_pages(memory: Assent, script: Script) -> None:
    script.answers = pages()
    assert [block.label for block in memory.blocks.list(limit=2)] == ["goals", "style", "student"]
    asked = [(script.body(number).get("cursor"), script.body(number)["limit"]) for number in range(3)]
    assert asked == [(None, 2), ("2", 2), ("3", 2)]


def test_one_page_is_asked_for_and_no_more(memory: Assent, script: Script) -> None:
    script.answers = pages()
    page = memory.blocks.list()
    assert [block.label for block in page.items] == ["goals", "style"]
    assert (page.next, page.has_next_page(), len(script.requests)) == ("2", True, 1)
    last = page.get_next_page().get_next_page()
    assert not last.has_next_page()
    with pytest.raises(ValueError, match="last page"):
        last.get_next_page()


def test_an_error_on_the_way_is_raised_where_it_happens(memory: Assent, script: Script) -> None:
    script.answers = [pages()[0], refusal(429, "rate_limited", {"Retry-After": "90"})]
    seen = []
    with pytest.raises(RateLimitError):
        for block in memory.blocks.list():
            seen.append(block.label)
    assert seen == ["goals", "style"]


def test_the_asynchronous_list_is_awaited_for_a_page_or_iterated_for_all(
    async_memory: AsyncAssent, script: Script
) -> None:
    async def all_of_it() -> None:
        script.answers = pages()
        assert [block.label async for block in async_memory.blocks.list()] == ["goals", "style", "student"]
        script.answers = pages()
        assert [block.label for block in (await async_memory.blocks.list()).items] == ["goals", "style"]

    asyncio.run(all_of_it())
