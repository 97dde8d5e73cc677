"""`client.conversations`, as the server's registry describes it. Written by `manage.py client_code`: not edited by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import httpx2

from assent_client._generated import answers, operations, params
from assent_client.paging import AsyncPager, Page
from assent_client.resource import AsyncResource, Resource

__all__ = ["AsyncConversations", "Conversations"]

#: Types that a resource may need or not.
_USED: tuple[object, ...] = (Any, Literal, Mapping, Sequence, params, AsyncPager, Page)


class Conversations(Resource):
    def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        max_characters: int | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> Page[answers.Conversation]:
        """List the conversations kept with the user, the latest first: when they were and what they began with. Use
        this to find an earlier conversation, then memory_read_session to read it; to look for words, use
        memory_search with include_conversation.

        Args:
            limit: How many at most.
            cursor: `next` of the page before.
            max_characters: Characters the answer may have, about: what does not fit is left out whole, and said.
                The installation's default is 20000.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        arguments: dict[str, Any] = {
            "limit": limit,
            "cursor": cursor,
            "max_characters": max_characters,
            "session_id": session_id,
        }
        return self._page(operations.CONVERSATIONS_LIST, arguments, user_id, timeout)

    def messages(
        self,
        session_id: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        max_characters: int | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> Page[answers.Message]:
        """Read what was said in a conversation, from its beginning. Long ones come in parts: call again with cursor set
        to `next` to go on.

        Args:
            session_id: Which conversation (from memory_list_sessions).
            limit: How many at most.
            cursor: `next` of the page before.
            max_characters: Characters the answer may have, about: what does not fit is left out whole, and said.
                The installation's default is 20000.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        arguments: dict[str, Any] = {
            "session_id": session_id,
            "limit": limit,
            "cursor": cursor,
            "max_characters": max_characters,
        }
        return self._page(operations.CONVERSATIONS_MESSAGES, arguments, user_id, timeout)

    def keep(
        self,
        session_id: str,
        *,
        messages: Sequence[params.MessageParam],
        idempotency_key: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.KeptMessages:
        """Keep the messages of a conversation, for search (include_conversation) and as evidence.

        Args:
            session_id: The conversation this call belongs to, as provenance.
            messages: In the order they were said.
            idempotency_key: Any text of your own: the same key with the same arguments gives the first answer
                again.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        arguments: dict[str, Any] = {
            "session_id": session_id,
            "messages": messages,
            "idempotency_key": idempotency_key,
        }
        return self._run(operations.CONVERSATIONS_KEEP, arguments, user_id, timeout)

    def delete(
        self,
        session_id: str,
        *,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.DeletedMessages:
        """Delete the messages of a conversation, or one of them. An agent deletes what it handed in itself; the rest
        stays, since it may be evidence for another's change.

        Args:
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        arguments: dict[str, Any] = {
            "session_id": session_id,
        }
        return self._run(operations.CONVERSATIONS_DELETE, arguments, user_id, timeout)

    def delete_message(
        self,
        session_id: str,
        message_id: str,
        *,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.DeletedMessages:
        """Delete the messages of a conversation, or one of them. An agent deletes what it handed in itself; the rest
        stays, since it may be evidence for another's change.

        Args:
            session_id: The conversation this call belongs to, as provenance.
            message_id: Only this message; otherwise the whole session.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        arguments: dict[str, Any] = {
            "session_id": session_id,
            "message_id": message_id,
        }
        return self._run(operations.CONVERSATIONS_DELETE_MESSAGE, arguments, user_id, timeout)



class AsyncConversations(AsyncResource):
    def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        max_characters: int | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> AsyncPager[answers.Conversation]:
        """List the conversations kept with the user, the latest first: when they were and what they began with. Use
        this to find an earlier conversation, then memory_read_session to read it; to look for words, use
        memory_search with include_conversation.

        Args:
            limit: How many at most.
            cursor: `next` of the page before.
            max_characters: Characters the answer may have, about: what does not fit is left out whole, and said.
                The installation's default is 20000.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        arguments: dict[str, Any] = {
            "limit": limit,
            "cursor": cursor,
            "max_characters": max_characters,
            "session_id": session_id,
        }
        return self._page(operations.CONVERSATIONS_LIST, arguments, user_id, timeout)

    def messages(
        self,
        session_id: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        max_characters: int | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> AsyncPager[answers.Message]:
        """Read what was said in a conversation, from its beginning. Long ones come in parts: call again with cursor set
        to `next` to go on.

        Args:
            session_id: Which conversation (from memory_list_sessions).
            limit: How many at most.
            cursor: `next` of the page before.
            max_characters: Characters the answer may have, about: what does not fit is left out whole, and said.
                The installation's default is 20000.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        arguments: dict[str, Any] = {
            "session_id": session_id,
            "limit": limit,
            "cursor": cursor,
            "max_characters": max_characters,
        }
        return self._page(operations.CONVERSATIONS_MESSAGES, arguments, user_id, timeout)

    async def keep(
        self,
        session_id: str,
        *,
        messages: Sequence[params.MessageParam],
        idempotency_key: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.KeptMessages:
        """Keep the messages of a conversation, for search (include_conversation) and as evidence.

        Args:
            session_id: The conversation this call belongs to, as provenance.
            messages: In the order they were said.
            idempotency_key: Any text of your own: the same key with the same arguments gives the first answer
                again.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        arguments: dict[str, Any] = {
            "session_id": session_id,
            "messages": messages,
            "idempotency_key": idempotency_key,
        }
        return await self._run(operations.CONVERSATIONS_KEEP, arguments, user_id, timeout)

    async def delete(
        self,
        session_id: str,
        *,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.DeletedMessages:
        """Delete the messages of a conversation, or one of them. An agent deletes what it handed in itself; the rest
        stays, since it may be evidence for another's change.

        Args:
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        arguments: dict[str, Any] = {
            "session_id": session_id,
        }
        return await self._run(operations.CONVERSATIONS_DELETE, arguments, user_id, timeout)

    async def delete_message(
        self,
        session_id: str,
        message_id: str,
        *,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.DeletedMessages:
        """Delete the messages of a conversation, or one of them. An agent deletes what it handed in itself; the rest
        stays, since it may be evidence for another's change.

        Args:
            session_id: The conversation this call belongs to, as provenance.
            message_id: Only this message; otherwise the whole session.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        arguments: dict[str, Any] = {
            "session_id": session_id,
            "message_id": message_id,
        }
        return await self._run(operations.CONVERSATIONS_DELETE_MESSAGE, arguments, user_id, timeout)

