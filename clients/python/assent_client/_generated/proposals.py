"""`client.proposals`, as the server's registry describes it. Written by `manage.py client_code`: not edited by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import httpx2

from assent_client._generated import answers, operations, params
from assent_client.paging import AsyncPager, Page
from assent_client.resource import AsyncResource, Resource

__all__ = ["AsyncProposals", "Proposals"]

#: Types that a resource may need or not.
_USED: tuple[object, ...] = (Any, Literal, Mapping, Sequence, params, AsyncPager, Page)


class Proposals(Resource):
    def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        status: Literal["preparing", "open", "changes_requested", "merging", "approved", "rejected", "withdrawn", "expired", "applied"] | None = None,
        block_label: str | None = None,
        max_characters: int | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> Page[answers.ProposalSummary]:
        """List your own proposals, newest first: their status, what the reviewer said, and whether those still open
        apply to the block as it is now. With status changes_requested: those you are asked to change. With
        decided_since: what was decided since.

        Args:
            limit: How many at most.
            cursor: `next` of the page before.
            status: Only proposals in this state: preparing, open, changes_requested, merging, approved,
                rejected, withdrawn, expired, applied.
            block_label: Only proposals to this block.
            max_characters: Characters the answer may have, about: what does not fit is left out whole, and said.
                The installation's default is 20000.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        arguments: dict[str, Any] = {
            "limit": limit,
            "cursor": cursor,
            "status": status,
            "block_label": block_label,
            "max_characters": max_characters,
            "session_id": session_id,
        }
        return self._page(operations.PROPOSALS_LIST, arguments, user_id, timeout)

    def get(
        self,
        proposal_id: int,
        *,
        wait: int | None = None,
        max_characters: int | None = 1000000,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.Proposal:
        """See what became of one of your proposals: its status, the reviewer's reason, the changes asked of you,
        comments, what of it was approved in which words, and whether it still applies.

        Args:
            proposal_id: The number a proposing tool returned.
            wait: Seconds to wait while a person has it to decide; then you get it as it is.
            max_characters: Characters the answer may have, about: what does not fit is left out whole, and said.
                The installation's default is 20000.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        arguments: dict[str, Any] = {
            "proposal_id": proposal_id,
            "wait": wait,
            "max_characters": max_characters,
            "session_id": session_id,
        }
        return self._run(operations.PROPOSALS_GET, arguments, user_id, timeout)

    def withdraw(
        self,
        proposal_id: int,
        *,
        reasoning: str | None = None,
        idempotency_key: str | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.WithdrawnProposal:
        """Take back one of your undecided proposals, so that nobody has to decide about it.

        Args:
            proposal_id: The number a proposing tool returned.
            reasoning: Why you take it back.
            idempotency_key: Any text of your own: the same key with the same arguments gives the first answer
                again.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        arguments: dict[str, Any] = {
            "proposal_id": proposal_id,
            "reasoning": reasoning,
            "idempotency_key": idempotency_key,
            "session_id": session_id,
        }
        return self._run(operations.PROPOSALS_WITHDRAW, arguments, user_id, timeout)

    def comment(
        self,
        proposal_id: int,
        *,
        comment: str,
        change: str | None = None,
        idempotency_key: str | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.PostedComment:
        """Comment on one of your proposals: answer a question that a person asked in its thread, or ask one. Nothing is
        decided by it.

        Args:
            proposal_id: The number a proposing tool returned.
            comment: What you say: an answer to a person, or a question.
            change: The id of the change it is about, as comments have it; left out for the whole proposal.
            idempotency_key: Any text of your own: the same key with the same arguments gives the first answer
                again.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        arguments: dict[str, Any] = {
            "proposal_id": proposal_id,
            "comment": comment,
            "change": change,
            "idempotency_key": idempotency_key,
            "session_id": session_id,
        }
        return self._run(operations.PROPOSALS_COMMENT, arguments, user_id, timeout)



class AsyncProposals(AsyncResource):
    def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        status: Literal["preparing", "open", "changes_requested", "merging", "approved", "rejected", "withdrawn", "expired", "applied"] | None = None,
        block_label: str | None = None,
        max_characters: int | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> AsyncPager[answers.ProposalSummary]:
        """List your own proposals, newest first: their status, what the reviewer said, and whether those still open
        apply to the block as it is now. With status changes_requested: those you are asked to change. With
        decided_since: what was decided since.

        Args:
            limit: How many at most.
            cursor: `next` of the page before.
            status: Only proposals in this state: preparing, open, changes_requested, merging, approved,
                rejected, withdrawn, expired, applied.
            block_label: Only proposals to this block.
            max_characters: Characters the answer may have, about: what does not fit is left out whole, and said.
                The installation's default is 20000.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        arguments: dict[str, Any] = {
            "limit": limit,
            "cursor": cursor,
            "status": status,
            "block_label": block_label,
            "max_characters": max_characters,
            "session_id": session_id,
        }
        return self._page(operations.PROPOSALS_LIST, arguments, user_id, timeout)

    async def get(
        self,
        proposal_id: int,
        *,
        wait: int | None = None,
        max_characters: int | None = 1000000,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.Proposal:
        """See what became of one of your proposals: its status, the reviewer's reason, the changes asked of you,
        comments, what of it was approved in which words, and whether it still applies.

        Args:
            proposal_id: The number a proposing tool returned.
            wait: Seconds to wait while a person has it to decide; then you get it as it is.
            max_characters: Characters the answer may have, about: what does not fit is left out whole, and said.
                The installation's default is 20000.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        arguments: dict[str, Any] = {
            "proposal_id": proposal_id,
            "wait": wait,
            "max_characters": max_characters,
            "session_id": session_id,
        }
        return await self._run(operations.PROPOSALS_GET, arguments, user_id, timeout)

    async def withdraw(
        self,
        proposal_id: int,
        *,
        reasoning: str | None = None,
        idempotency_key: str | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.WithdrawnProposal:
        """Take back one of your undecided proposals, so that nobody has to decide about it.

        Args:
            proposal_id: The number a proposing tool returned.
            reasoning: Why you take it back.
            idempotency_key: Any text of your own: the same key with the same arguments gives the first answer
                again.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        arguments: dict[str, Any] = {
            "proposal_id": proposal_id,
            "reasoning": reasoning,
            "idempotency_key": idempotency_key,
            "session_id": session_id,
        }
        return await self._run(operations.PROPOSALS_WITHDRAW, arguments, user_id, timeout)

    async def comment(
        self,
        proposal_id: int,
        *,
        comment: str,
        change: str | None = None,
        idempotency_key: str | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.PostedComment:
        """Comment on one of your proposals: answer a question that a person asked in its thread, or ask one. Nothing is
        decided by it.

        Args:
            proposal_id: The number a proposing tool returned.
            comment: What you say: an answer to a person, or a question.
            change: The id of the change it is about, as comments have it; left out for the whole proposal.
            idempotency_key: Any text of your own: the same key with the same arguments gives the first answer
                again.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        arguments: dict[str, Any] = {
            "proposal_id": proposal_id,
            "comment": comment,
            "change": change,
            "idempotency_key": idempotency_key,
            "session_id": session_id,
        }
        return await self._run(operations.PROPOSALS_COMMENT, arguments, user_id, timeout)

