"""`client.context`, as the server's registry describes it. Written by `manage.py client_code`: not edited by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import httpx2

from assent_client._generated import answers, operations, params
from assent_client.paging import AsyncPager, Page
from assent_client.resource import AsyncResource, Resource

__all__ = ["AsyncContext", "Context"]

#: Types that a resource may need or not.
_USED: tuple[object, ...] = (Any, Literal, Mapping, Sequence, params, AsyncPager, Page)


class Context(Resource):
    def get(
        self,
        *,
        budget: int | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.ContextText:
        """The text to put in a system prompt: the owner's blocks, primed notes, and instructions for the tools. What
        goes in is set by MEMORIES_*; blocks that do not fit are named, for read_memory_block.

        Args:
            budget: Tokens that blocks and notes may have together, about: blocks first, the last changed of
                them; 0 = no limit. By default the installation's MEMORIES_BLOCKS_BUDGET and MEMORIES_BUDGET.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        arguments: dict[str, Any] = {
            "budget": budget,
            "session_id": session_id,
        }
        return self._run(operations.CONTEXT_GET, arguments, user_id, timeout)



class AsyncContext(AsyncResource):
    async def get(
        self,
        *,
        budget: int | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.ContextText:
        """The text to put in a system prompt: the owner's blocks, primed notes, and instructions for the tools. What
        goes in is set by MEMORIES_*; blocks that do not fit are named, for read_memory_block.

        Args:
            budget: Tokens that blocks and notes may have together, about: blocks first, the last changed of
                them; 0 = no limit. By default the installation's MEMORIES_BLOCKS_BUDGET and MEMORIES_BUDGET.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        arguments: dict[str, Any] = {
            "budget": budget,
            "session_id": session_id,
        }
        return await self._run(operations.CONTEXT_GET, arguments, user_id, timeout)

