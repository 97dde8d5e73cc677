"""A store for LangGraph that reads a memory: `create_agent(…, store=AssentStore(Assent()))`.

A search needs words, and finds 20 passages at most. There is nothing to write to: a person decides first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from langgraph.store.base import BaseStore, GetOp, Item, Op, PutOp, SearchItem, SearchOp

from assent_client import Assent, NotFoundError


class AssentStore(BaseStore):
    """A memory, to read. Namespaces are ("alice", "blocks") and ("alice", "notes"), keys are labels and ids."""

    def __init__(self, client: Assent) -> None:
        self.client = client

    def batch(self, ops: Iterable[Op]) -> list[Any]:
        return [self._answer(op) for op in ops]

    async def abatch(self, ops: Iterable[Op]) -> list[Any]:
        return await asyncio.to_thread(self.batch, list(ops))

    def _answer(self, op: Op) -> Any:
        if isinstance(op, GetOp):
            return self._get(*op.namespace, op.key)
        if isinstance(op, SearchOp) and not op.filter:
            return self._search(*op.namespace_prefix, op.query or "", op.limit, op.offset)
        if isinstance(op, PutOp):
            raise PermissionError("People decide about changes: use propose_memory_edit, or memory_save for a note.")
        raise NotImplementedError("This store gets one item, and searches notes or blocks by words.")

    def _get(self, user: str, kind: str, key: str) -> Item | None:
        read = self.client.blocks.get if kind == "blocks" else self.client.notes.get
        try:
            found: Any = read(key, user_id=user)
        except NotFoundError:
            return None
        text = found.body if kind == "blocks" else found.content
        times = (datetime.fromisoformat(found.created_at), datetime.fromisoformat(found.updated_at))
        return Item(value={"text": text}, key=key, namespace=(user, kind), created_at=times[0], updated_at=times[1])

    def _search(self, user: str, kind: str, query: str, limit: int, offset: int) -> list[SearchItem]:
        source = "memory_block" if kind == "blocks" else "user_memory"
        found = self.client.notes.search(query, top_k=min(limit + offset, 20), sources=[source], user_id=user)
        items = []
        for hit in found.results[offset : offset + limit]:
            key, made = hit.block_label or hit.note_id, datetime.fromisoformat(hit.created_at)
            items.append(SearchItem((user, kind), key, {"text": hit.text}, made, made, hit.score))
        return items
