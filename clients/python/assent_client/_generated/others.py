"""The resources that are as generated. Written by `manage.py client_code`: not edited by hand."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from assent_client._generated import blocks, context, conversations, files


class SyncOthers:
    @cached_property
    def blocks(self) -> blocks.Blocks:
        client: Any = self
        return blocks.Blocks(client)

    @cached_property
    def context(self) -> context.Context:
        client: Any = self
        return context.Context(client)

    @cached_property
    def conversations(self) -> conversations.Conversations:
        client: Any = self
        return conversations.Conversations(client)

    @cached_property
    def files(self) -> files.Files:
        client: Any = self
        return files.Files(client)


class AsyncOthers:
    @cached_property
    def blocks(self) -> blocks.AsyncBlocks:
        client: Any = self
        return blocks.AsyncBlocks(client)

    @cached_property
    def context(self) -> context.AsyncContext:
        client: Any = self
        return context.AsyncContext(client)

    @cached_property
    def conversations(self) -> conversations.AsyncConversations:
        client: Any = self
        return conversations.AsyncConversations(client)

    @cached_property
    def files(self) -> files.AsyncFiles:
        client: Any = self
        return files.AsyncFiles(client)
