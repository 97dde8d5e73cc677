"""`client.blocks`, as the server's registry describes it. Written by `manage.py client_code`: not edited by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import httpx2

from assent_client._generated import answers, operations, params
from assent_client.paging import AsyncPager, Page
from assent_client.resource import AsyncResource, Resource

__all__ = ["AsyncBlocks", "Blocks"]

#: Types that a resource may need or not.
_USED: tuple[object, ...] = (Any, Literal, Mapping, Sequence, params, AsyncPager, Page)


class Blocks(Resource):
    def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        max_characters: int | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> Page[answers.BlockSummary]:
        """List all available memory blocks for the current student. Memory blocks contain persistent information about
        the student that helps personalize tutoring.

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
        return self._page(operations.BLOCKS_LIST, arguments, user_id, timeout)

    def get(
        self,
        block_label: str,
        *,
        as_of: str | None = None,
        view_range: Sequence[int] | None = None,
        max_characters: int | None = 1000000,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.Block:
        """Read the current content of a memory block. Use this before proposing edits to see the exact current content.

        Args:
            block_label: The label/identifier of the block to read (e.g., "student", "goals").
            as_of: Read the block as it was: a commit hash, or a date or time (ISO 8601, UTC). What was deleted
                since is not found without the scope memory:history.
            view_range: Only these lines: [first, last], 1-based and inclusive; last = -1 means to the end.
            max_characters: Characters the answer may have, about: what does not fit is left out whole, and said.
                The installation's default is 20000.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        arguments: dict[str, Any] = {
            "block_label": block_label,
            "as_of": as_of,
            "view_range": view_range,
            "max_characters": max_characters,
            "session_id": session_id,
        }
        return self._run(operations.BLOCKS_GET, arguments, user_id, timeout)

    def history(
        self,
        block_label: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> Page[answers.BlockChange]:
        """What happened to a block, newest first: who proposed, who approved, why.

        Args:
            block_label: The block.
            limit: How many at most.
            cursor: `next` of the page before.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        arguments: dict[str, Any] = {
            "block_label": block_label,
            "limit": limit,
            "cursor": cursor,
            "session_id": session_id,
        }
        return self._page(operations.BLOCKS_HISTORY, arguments, user_id, timeout)

    def propose_edit(
        self,
        block_label: str,
        *,
        old_string: str,
        new_string: str,
        reasoning: str,
        replace_all: bool | None = None,
        expected_replacements: int | None = None,
        confidence: Literal["low", "medium", "high"] | None = None,
        evidence: Sequence[params.EvidenceParam] | None = None,
        proposal_id: int | None = None,
        force: bool | None = None,
        expected_sha256: str | None = None,
        idempotency_key: str | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.ProposedEdit:
        """Propose an edit to a memory block using string replacement. The edit will be submitted as a proposal that
        requires user approval. The old_string must match exactly (including whitespace) and must be unique in the
        block unless replace_all is True. IMPORTANT: You must read the memory block first to see its exact content.
        The edit will FAIL if old_string is not found or is not unique.

        Args:
            block_label: The label of the block to edit (e.g., "student", "goals").
            old_string: The exact text to find and replace. Must be unique unless replace_all=True.
            new_string: The text to replace it with. Must be different from old_string.
            reasoning: Brief explanation of why this edit is needed (shown to user for approval).
            replace_all: If True, replace all occurrences. If False (default), old_string must be unique.
            expected_replacements: How many occurrences you count on replacing; refused when there are more or
                fewer.
            confidence: How sure you are that the user will agree.
            evidence: The conversation turns this change rests on, shown beside it.
            proposal_id: Amend this undecided proposal of yours, about the same block or note, instead of making
                another: its next revision, made on the text as it is now. So you answer a reviewer who asks for
                changes.
            force: Ask the user again about what was rejected before (rejected_before), with new reasoning. Only
                where something has changed since.
            expected_sha256: The sha256 that read_memory_block returned; refused when the block has changed
                since.
            idempotency_key: Any text of your own: the same key with the same arguments gives the first answer
                again.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        arguments: dict[str, Any] = {
            "block_label": block_label,
            "old_string": old_string,
            "new_string": new_string,
            "reasoning": reasoning,
            "replace_all": replace_all,
            "expected_replacements": expected_replacements,
            "confidence": confidence,
            "evidence": evidence,
            "proposal_id": proposal_id,
            "force": force,
            "expected_sha256": expected_sha256,
            "idempotency_key": idempotency_key,
            "session_id": session_id,
        }
        return self._run(operations.BLOCKS_PROPOSE_EDIT, arguments, user_id, timeout)

    def propose_edits(
        self,
        block_label: str,
        *,
        edits: Sequence[params.EditParam],
        reasoning: str,
        confidence: Literal["low", "medium", "high"] | None = None,
        evidence: Sequence[params.EvidenceParam] | None = None,
        proposal_id: int | None = None,
        force: bool | None = None,
        expected_sha256: str | None = None,
        idempotency_key: str | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.ProposedEdit:
        """Propose several replacements in one memory block at once, as one proposal: use this instead of calling
        propose_memory_edit repeatedly when changes belong together. They are made in order, each on what the one
        before left, all of them or none. Each old_string must match exactly and be unique, as for
        propose_memory_edit. Requires user approval.

        Args:
            block_label: The label of the block to edit (e.g., "student", "goals").
            edits: Replacements, made in this order, each on what the one before left: all or none.
            reasoning: Brief explanation of why this edit is needed (shown to user for approval).
            confidence: How sure you are that the user will agree.
            evidence: The conversation turns this change rests on, shown beside it.
            proposal_id: Amend this undecided proposal of yours, about the same block or note, instead of making
                another: its next revision, made on the text as it is now. So you answer a reviewer who asks for
                changes.
            force: Ask the user again about what was rejected before (rejected_before), with new reasoning. Only
                where something has changed since.
            expected_sha256: The sha256 that read_memory_block returned; refused when the block has changed
                since.
            idempotency_key: Any text of your own: the same key with the same arguments gives the first answer
                again.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        arguments: dict[str, Any] = {
            "block_label": block_label,
            "edits": edits,
            "reasoning": reasoning,
            "confidence": confidence,
            "evidence": evidence,
            "proposal_id": proposal_id,
            "force": force,
            "expected_sha256": expected_sha256,
            "idempotency_key": idempotency_key,
            "session_id": session_id,
        }
        return self._run(operations.BLOCKS_PROPOSE_EDITS, arguments, user_id, timeout)

    def propose_append(
        self,
        block_label: str,
        *,
        content: str,
        reasoning: str,
        confidence: Literal["low", "medium", "high"] | None = None,
        evidence: Sequence[params.EvidenceParam] | None = None,
        proposal_id: int | None = None,
        force: bool | None = None,
        expected_sha256: str | None = None,
        idempotency_key: str | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.ProposedEdit:
        """Add new text at the end of a memory block, such as a new entry, item or section, without reading it first.
        Nothing that is there is changed; the content begins on a new line. Requires user approval.

        Args:
            block_label: The label of the block to edit (e.g., "student", "goals").
            content: The text to add at the end of the block, as new lines. An empty block is filled with it.
            reasoning: Brief explanation of why this edit is needed (shown to user for approval).
            confidence: How sure you are that the user will agree.
            evidence: The conversation turns this change rests on, shown beside it.
            proposal_id: Amend this undecided proposal of yours, about the same block or note, instead of making
                another: its next revision, made on the text as it is now. So you answer a reviewer who asks for
                changes.
            force: Ask the user again about what was rejected before (rejected_before), with new reasoning. Only
                where something has changed since.
            expected_sha256: The sha256 that read_memory_block returned; refused when the block has changed
                since.
            idempotency_key: Any text of your own: the same key with the same arguments gives the first answer
                again.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        arguments: dict[str, Any] = {
            "block_label": block_label,
            "content": content,
            "reasoning": reasoning,
            "confidence": confidence,
            "evidence": evidence,
            "proposal_id": proposal_id,
            "force": force,
            "expected_sha256": expected_sha256,
            "idempotency_key": idempotency_key,
            "session_id": session_id,
        }
        return self._run(operations.BLOCKS_PROPOSE_APPEND, arguments, user_id, timeout)

    def propose_prepend(
        self,
        block_label: str,
        *,
        content: str,
        reasoning: str,
        confidence: Literal["low", "medium", "high"] | None = None,
        evidence: Sequence[params.EvidenceParam] | None = None,
        proposal_id: int | None = None,
        force: bool | None = None,
        expected_sha256: str | None = None,
        idempotency_key: str | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.ProposedEdit:
        """Add new text at the start of a memory block, such as the newest entry of a log, without reading it first.
        Nothing that is there is changed; it begins on a new line after the content. Requires user approval.

        Args:
            block_label: The label of the block to edit (e.g., "student", "goals").
            content: The text to add at the start of the block, as lines before the first one. An empty block is
                filled with it.
            reasoning: Brief explanation of why this edit is needed (shown to user for approval).
            confidence: How sure you are that the user will agree.
            evidence: The conversation turns this change rests on, shown beside it.
            proposal_id: Amend this undecided proposal of yours, about the same block or note, instead of making
                another: its next revision, made on the text as it is now. So you answer a reviewer who asks for
                changes.
            force: Ask the user again about what was rejected before (rejected_before), with new reasoning. Only
                where something has changed since.
            expected_sha256: The sha256 that read_memory_block returned; refused when the block has changed
                since.
            idempotency_key: Any text of your own: the same key with the same arguments gives the first answer
                again.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        arguments: dict[str, Any] = {
            "block_label": block_label,
            "content": content,
            "reasoning": reasoning,
            "confidence": confidence,
            "evidence": evidence,
            "proposal_id": proposal_id,
            "force": force,
            "expected_sha256": expected_sha256,
            "idempotency_key": idempotency_key,
            "session_id": session_id,
        }
        return self._run(operations.BLOCKS_PROPOSE_PREPEND, arguments, user_id, timeout)

    def propose_insert(
        self,
        block_label: str,
        *,
        insert_line: int,
        content: str,
        reasoning: str,
        confidence: Literal["low", "medium", "high"] | None = None,
        evidence: Sequence[params.EvidenceParam] | None = None,
        proposal_id: int | None = None,
        force: bool | None = None,
        expected_sha256: str | None = None,
        idempotency_key: str | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.ProposedEdit:
        """Insert new lines into a memory block after a given line number, such as an item in the middle of a list.
        Nothing that is there is changed. Read the block first and give its sha256 as expected_sha256, so that the
        number counts lines you have seen. Requires user approval.

        Args:
            block_label: The label of the block to edit (e.g., "student", "goals").
            insert_line: The line after which the content is put, as read_memory_block counts them: 0 = at the
                start, 1 = after the first line.
            content: The text to put there, as lines of its own between the two.
            reasoning: Brief explanation of why this edit is needed (shown to user for approval).
            confidence: How sure you are that the user will agree.
            evidence: The conversation turns this change rests on, shown beside it.
            proposal_id: Amend this undecided proposal of yours, about the same block or note, instead of making
                another: its next revision, made on the text as it is now. So you answer a reviewer who asks for
                changes.
            force: Ask the user again about what was rejected before (rejected_before), with new reasoning. Only
                where something has changed since.
            expected_sha256: The sha256 that read_memory_block returned; refused when the block has changed
                since.
            idempotency_key: Any text of your own: the same key with the same arguments gives the first answer
                again.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        arguments: dict[str, Any] = {
            "block_label": block_label,
            "insert_line": insert_line,
            "content": content,
            "reasoning": reasoning,
            "confidence": confidence,
            "evidence": evidence,
            "proposal_id": proposal_id,
            "force": force,
            "expected_sha256": expected_sha256,
            "idempotency_key": idempotency_key,
            "session_id": session_id,
        }
        return self._run(operations.BLOCKS_PROPOSE_INSERT, arguments, user_id, timeout)

    def propose_section(
        self,
        block_label: str,
        *,
        section_header: str,
        new_content: str,
        reasoning: str,
        section_line: int | None = None,
        confidence: Literal["low", "medium", "high"] | None = None,
        evidence: Sequence[params.EvidenceParam] | None = None,
        proposal_id: int | None = None,
        force: bool | None = None,
        expected_sha256: str | None = None,
        idempotency_key: str | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.ProposedEdit:
        """Replace what a Markdown section of a memory block contains, found by its header, and leave the rest alone.
        The section goes up to the next header of the same or a higher level, so its subsections are replaced too;
        the header itself stays. Headers inside code fences are not headers. Requires user approval.

        Args:
            block_label: The label of the block to edit (e.g., "student", "goals").
            section_header: The header of the section, as in the block (e.g., "## Goals").
            new_content: The new content of the section, without its header. Empty text empties the section.
            reasoning: Brief explanation of why this edit is needed (shown to user for approval).
            section_line: The line of the header, where several sections have the same: the refusal names them.
            confidence: How sure you are that the user will agree.
            evidence: The conversation turns this change rests on, shown beside it.
            proposal_id: Amend this undecided proposal of yours, about the same block or note, instead of making
                another: its next revision, made on the text as it is now. So you answer a reviewer who asks for
                changes.
            force: Ask the user again about what was rejected before (rejected_before), with new reasoning. Only
                where something has changed since.
            expected_sha256: The sha256 that read_memory_block returned; refused when the block has changed
                since.
            idempotency_key: Any text of your own: the same key with the same arguments gives the first answer
                again.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        arguments: dict[str, Any] = {
            "block_label": block_label,
            "section_header": section_header,
            "new_content": new_content,
            "reasoning": reasoning,
            "section_line": section_line,
            "confidence": confidence,
            "evidence": evidence,
            "proposal_id": proposal_id,
            "force": force,
            "expected_sha256": expected_sha256,
            "idempotency_key": idempotency_key,
            "session_id": session_id,
        }
        return self._run(operations.BLOCKS_PROPOSE_SECTION, arguments, user_id, timeout)

    def propose_rewrite(
        self,
        block_label: str,
        *,
        content: str,
        reasoning: str,
        confidence: Literal["low", "medium", "high"] | None = None,
        evidence: Sequence[params.EvidenceParam] | None = None,
        proposal_id: int | None = None,
        force: bool | None = None,
        expected_sha256: str | None = None,
        idempotency_key: str | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.ProposedEdit:
        """Replace the whole text of a memory block, for the rare case that all of it is to be written anew. Read it
        with read_memory_block first: what your content leaves out is removed. For anything smaller use
        propose_memory_edit, propose_memory_append or propose_section_update. Requires user approval.

        Args:
            block_label: The label of the block to edit (e.g., "student", "goals").
            content: The whole new text of the block. What is not in it is gone from the block.
            reasoning: Brief explanation of why this edit is needed (shown to user for approval).
            confidence: How sure you are that the user will agree.
            evidence: The conversation turns this change rests on, shown beside it.
            proposal_id: Amend this undecided proposal of yours, about the same block or note, instead of making
                another: its next revision, made on the text as it is now. So you answer a reviewer who asks for
                changes.
            force: Ask the user again about what was rejected before (rejected_before), with new reasoning. Only
                where something has changed since.
            expected_sha256: The sha256 that read_memory_block returned; refused when the block has changed
                since.
            idempotency_key: Any text of your own: the same key with the same arguments gives the first answer
                again.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        arguments: dict[str, Any] = {
            "block_label": block_label,
            "content": content,
            "reasoning": reasoning,
            "confidence": confidence,
            "evidence": evidence,
            "proposal_id": proposal_id,
            "force": force,
            "expected_sha256": expected_sha256,
            "idempotency_key": idempotency_key,
            "session_id": session_id,
        }
        return self._run(operations.BLOCKS_PROPOSE_REWRITE, arguments, user_id, timeout)

    def propose(
        self,
        block_label: str,
        *,
        reasoning: str,
        body: str | None = None,
        edits: Sequence[params.EditParam] | None = None,
        confidence: Literal["low", "medium", "high"] | None = None,
        evidence: Sequence[params.EvidenceParam] | None = None,
        proposal_id: int | None = None,
        force: bool | None = None,
        expected_sha256: str | None = None,
        idempotency_key: str | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.ProposedEdit:
        """Propose a whole new text for a block (`body`), or several replacements in it (`edits`).

        Args:
            block_label: The label of the block to edit (e.g., "student", "goals").
            reasoning: Brief explanation of why this edit is needed (shown to user for approval).
            body: The whole new text of the block.
            edits: Replacements, made in this order, each on what the one before left: all or none.
            confidence: How sure you are that the user will agree.
            evidence: The conversation turns this change rests on, shown beside it.
            proposal_id: Amend this undecided proposal of yours, about the same block or note, instead of making
                another: its next revision, made on the text as it is now. So you answer a reviewer who asks for
                changes.
            force: Ask the user again about what was rejected before (rejected_before), with new reasoning. Only
                where something has changed since.
            expected_sha256: The sha256 that read_memory_block returned; refused when the block has changed
                since.
            idempotency_key: Any text of your own: the same key with the same arguments gives the first answer
                again.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        arguments: dict[str, Any] = {
            "block_label": block_label,
            "reasoning": reasoning,
            "body": body,
            "edits": edits,
            "confidence": confidence,
            "evidence": evidence,
            "proposal_id": proposal_id,
            "force": force,
            "expected_sha256": expected_sha256,
            "idempotency_key": idempotency_key,
            "session_id": session_id,
        }
        return self._run(operations.BLOCKS_PROPOSE, arguments, user_id, timeout)

    def create(
        self,
        label: str,
        *,
        title: str,
        body: str,
        reasoning: str,
        description: str | None = None,
        confidence: Literal["low", "medium", "high"] | None = None,
        evidence: Sequence[params.EvidenceParam] | None = None,
        proposal_id: int | None = None,
        force: bool | None = None,
        idempotency_key: str | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.ProposedEdit:
        """Propose a new memory block for longer text about the user that has no block yet. The block will be submitted
        as a proposal that requires user approval; until then it cannot be read. Call list_memory_blocks first: text
        that belongs in an existing block is proposed as an edit of that block.

        Args:
            label: The name of the new block in every call: lower-case letters, digits, dash and underscore, at
                most 64 (e.g., "study_plan"). It never changes.
            title: What people see it called, in one line; empty for the label itself.
            body: The text of the block, in Markdown. May be empty.
            reasoning: Brief explanation of why this edit is needed (shown to user for approval).
            description: What belongs in this block, for people and for agents.
            confidence: How sure you are that the user will agree.
            evidence: The conversation turns this change rests on, shown beside it.
            proposal_id: Amend this undecided proposal of yours, about the same block or note, instead of making
                another: its next revision, made on the text as it is now. So you answer a reviewer who asks for
                changes.
            force: Ask the user again about what was rejected before (rejected_before), with new reasoning. Only
                where something has changed since.
            idempotency_key: Any text of your own: the same key with the same arguments gives the first answer
                again.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        arguments: dict[str, Any] = {
            "label": label,
            "title": title,
            "body": body,
            "reasoning": reasoning,
            "description": description,
            "confidence": confidence,
            "evidence": evidence,
            "proposal_id": proposal_id,
            "force": force,
            "idempotency_key": idempotency_key,
            "session_id": session_id,
        }
        return self._run(operations.BLOCKS_CREATE, arguments, user_id, timeout)

    def propose_deletion(
        self,
        block_label: str,
        *,
        reasoning: str,
        confidence: Literal["low", "medium", "high"] | None = None,
        evidence: Sequence[params.EvidenceParam] | None = None,
        proposal_id: int | None = None,
        force: bool | None = None,
        expected_sha256: str | None = None,
        idempotency_key: str | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.ProposedEdit:
        """Propose to delete a whole memory block, with all of its text. The deletion will be submitted as a proposal
        that always requires user approval. To remove a part of the text, propose an edit instead.

        Args:
            block_label: The label of the block to delete.
            reasoning: Brief explanation of why this edit is needed (shown to user for approval).
            confidence: How sure you are that the user will agree.
            evidence: The conversation turns this change rests on, shown beside it.
            proposal_id: Amend this undecided proposal of yours, about the same block or note, instead of making
                another: its next revision, made on the text as it is now. So you answer a reviewer who asks for
                changes.
            force: Ask the user again about what was rejected before (rejected_before), with new reasoning. Only
                where something has changed since.
            expected_sha256: The sha256 that read_memory_block returned; refused when the block has changed
                since.
            idempotency_key: Any text of your own: the same key with the same arguments gives the first answer
                again.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        arguments: dict[str, Any] = {
            "block_label": block_label,
            "reasoning": reasoning,
            "confidence": confidence,
            "evidence": evidence,
            "proposal_id": proposal_id,
            "force": force,
            "expected_sha256": expected_sha256,
            "idempotency_key": idempotency_key,
            "session_id": session_id,
        }
        return self._run(operations.BLOCKS_PROPOSE_DELETION, arguments, user_id, timeout)



class AsyncBlocks(AsyncResource):
    def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        max_characters: int | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> AsyncPager[answers.BlockSummary]:
        """List all available memory blocks for the current student. Memory blocks contain persistent information about
        the student that helps personalize tutoring.

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
        return self._page(operations.BLOCKS_LIST, arguments, user_id, timeout)

    async def get(
        self,
        block_label: str,
        *,
        as_of: str | None = None,
        view_range: Sequence[int] | None = None,
        max_characters: int | None = 1000000,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.Block:
        """Read the current content of a memory block. Use this before proposing edits to see the exact current content.

        Args:
            block_label: The label/identifier of the block to read (e.g., "student", "goals").
            as_of: Read the block as it was: a commit hash, or a date or time (ISO 8601, UTC). What was deleted
                since is not found without the scope memory:history.
            view_range: Only these lines: [first, last], 1-based and inclusive; last = -1 means to the end.
            max_characters: Characters the answer may have, about: what does not fit is left out whole, and said.
                The installation's default is 20000.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        arguments: dict[str, Any] = {
            "block_label": block_label,
            "as_of": as_of,
            "view_range": view_range,
            "max_characters": max_characters,
            "session_id": session_id,
        }
        return await self._run(operations.BLOCKS_GET, arguments, user_id, timeout)

    def history(
        self,
        block_label: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> AsyncPager[answers.BlockChange]:
        """What happened to a block, newest first: who proposed, who approved, why.

        Args:
            block_label: The block.
            limit: How many at most.
            cursor: `next` of the page before.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        arguments: dict[str, Any] = {
            "block_label": block_label,
            "limit": limit,
            "cursor": cursor,
            "session_id": session_id,
        }
        return self._page(operations.BLOCKS_HISTORY, arguments, user_id, timeout)

    async def propose_edit(
        self,
        block_label: str,
        *,
        old_string: str,
        new_string: str,
        reasoning: str,
        replace_all: bool | None = None,
        expected_replacements: int | None = None,
        confidence: Literal["low", "medium", "high"] | None = None,
        evidence: Sequence[params.EvidenceParam] | None = None,
        proposal_id: int | None = None,
        force: bool | None = None,
        expected_sha256: str | None = None,
        idempotency_key: str | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.ProposedEdit:
        """Propose an edit to a memory block using string replacement. The edit will be submitted as a proposal that
        requires user approval. The old_string must match exactly (including whitespace) and must be unique in the
        block unless replace_all is True. IMPORTANT: You must read the memory block first to see its exact content.
        The edit will FAIL if old_string is not found or is not unique.

        Args:
            block_label: The label of the block to edit (e.g., "student", "goals").
            old_string: The exact text to find and replace. Must be unique unless replace_all=True.
            new_string: The text to replace it with. Must be different from old_string.
            reasoning: Brief explanation of why this edit is needed (shown to user for approval).
            replace_all: If True, replace all occurrences. If False (default), old_string must be unique.
            expected_replacements: How many occurrences you count on replacing; refused when there are more or
                fewer.
            confidence: How sure you are that the user will agree.
            evidence: The conversation turns this change rests on, shown beside it.
            proposal_id: Amend this undecided proposal of yours, about the same block or note, instead of making
                another: its next revision, made on the text as it is now. So you answer a reviewer who asks for
                changes.
            force: Ask the user again about what was rejected before (rejected_before), with new reasoning. Only
                where something has changed since.
            expected_sha256: The sha256 that read_memory_block returned; refused when the block has changed
                since.
            idempotency_key: Any text of your own: the same key with the same arguments gives the first answer
                again.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        arguments: dict[str, Any] = {
            "block_label": block_label,
            "old_string": old_string,
            "new_string": new_string,
            "reasoning": reasoning,
            "replace_all": replace_all,
            "expected_replacements": expected_replacements,
            "confidence": confidence,
            "evidence": evidence,
            "proposal_id": proposal_id,
            "force": force,
            "expected_sha256": expected_sha256,
            "idempotency_key": idempotency_key,
            "session_id": session_id,
        }
        return await self._run(operations.BLOCKS_PROPOSE_EDIT, arguments, user_id, timeout)

    async def propose_edits(
        self,
        block_label: str,
        *,
        edits: Sequence[params.EditParam],
        reasoning: str,
        confidence: Literal["low", "medium", "high"] | None = None,
        evidence: Sequence[params.EvidenceParam] | None = None,
        proposal_id: int | None = None,
        force: bool | None = None,
        expected_sha256: str | None = None,
        idempotency_key: str | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.ProposedEdit:
        """Propose several replacements in one memory block at once, as one proposal: use this instead of calling
        propose_memory_edit repeatedly when changes belong together. They are made in order, each on what the one
        before left, all of them or none. Each old_string must match exactly and be unique, as for
        propose_memory_edit. Requires user approval.

        Args:
            block_label: The label of the block to edit (e.g., "student", "goals").
            edits: Replacements, made in this order, each on what the one before left: all or none.
            reasoning: Brief explanation of why this edit is needed (shown to user for approval).
            confidence: How sure you are that the user will agree.
            evidence: The conversation turns this change rests on, shown beside it.
            proposal_id: Amend this undecided proposal of yours, about the same block or note, instead of making
                another: its next revision, made on the text as it is now. So you answer a reviewer who asks for
                changes.
            force: Ask the user again about what was rejected before (rejected_before), with new reasoning. Only
                where something has changed since.
            expected_sha256: The sha256 that read_memory_block returned; refused when the block has changed
                since.
            idempotency_key: Any text of your own: the same key with the same arguments gives the first answer
                again.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        arguments: dict[str, Any] = {
            "block_label": block_label,
            "edits": edits,
            "reasoning": reasoning,
            "confidence": confidence,
            "evidence": evidence,
            "proposal_id": proposal_id,
            "force": force,
            "expected_sha256": expected_sha256,
            "idempotency_key": idempotency_key,
            "session_id": session_id,
        }
        return await self._run(operations.BLOCKS_PROPOSE_EDITS, arguments, user_id, timeout)

    async def propose_append(
        self,
        block_label: str,
        *,
        content: str,
        reasoning: str,
        confidence: Literal["low", "medium", "high"] | None = None,
        evidence: Sequence[params.EvidenceParam] | None = None,
        proposal_id: int | None = None,
        force: bool | None = None,
        expected_sha256: str | None = None,
        idempotency_key: str | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.ProposedEdit:
        """Add new text at the end of a memory block, such as a new entry, item or section, without reading it first.
        Nothing that is there is changed; the content begins on a new line. Requires user approval.

        Args:
            block_label: The label of the block to edit (e.g., "student", "goals").
            content: The text to add at the end of the block, as new lines. An empty block is filled with it.
            reasoning: Brief explanation of why this edit is needed (shown to user for approval).
            confidence: How sure you are that the user will agree.
            evidence: The conversation turns this change rests on, shown beside it.
            proposal_id: Amend this undecided proposal of yours, about the same block or note, instead of making
                another: its next revision, made on the text as it is now. So you answer a reviewer who asks for
                changes.
            force: Ask the user again about what was rejected before (rejected_before), with new reasoning. Only
                where something has changed since.
            expected_sha256: The sha256 that read_memory_block returned; refused when the block has changed
                since.
            idempotency_key: Any text of your own: the same key with the same arguments gives the first answer
                again.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        arguments: dict[str, Any] = {
            "block_label": block_label,
            "content": content,
            "reasoning": reasoning,
            "confidence": confidence,
            "evidence": evidence,
            "proposal_id": proposal_id,
            "force": force,
            "expected_sha256": expected_sha256,
            "idempotency_key": idempotency_key,
            "session_id": session_id,
        }
        return await self._run(operations.BLOCKS_PROPOSE_APPEND, arguments, user_id, timeout)

    async def propose_prepend(
        self,
        block_label: str,
        *,
        content: str,
        reasoning: str,
        confidence: Literal["low", "medium", "high"] | None = None,
        evidence: Sequence[params.EvidenceParam] | None = None,
        proposal_id: int | None = None,
        force: bool | None = None,
        expected_sha256: str | None = None,
        idempotency_key: str | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.ProposedEdit:
        """Add new text at the start of a memory block, such as the newest entry of a log, without reading it first.
        Nothing that is there is changed; it begins on a new line after the content. Requires user approval.

        Args:
            block_label: The label of the block to edit (e.g., "student", "goals").
            content: The text to add at the start of the block, as lines before the first one. An empty block is
                filled with it.
            reasoning: Brief explanation of why this edit is needed (shown to user for approval).
            confidence: How sure you are that the user will agree.
            evidence: The conversation turns this change rests on, shown beside it.
            proposal_id: Amend this undecided proposal of yours, about the same block or note, instead of making
                another: its next revision, made on the text as it is now. So you answer a reviewer who asks for
                changes.
            force: Ask the user again about what was rejected before (rejected_before), with new reasoning. Only
                where something has changed since.
            expected_sha256: The sha256 that read_memory_block returned; refused when the block has changed
                since.
            idempotency_key: Any text of your own: the same key with the same arguments gives the first answer
                again.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        arguments: dict[str, Any] = {
            "block_label": block_label,
            "content": content,
            "reasoning": reasoning,
            "confidence": confidence,
            "evidence": evidence,
            "proposal_id": proposal_id,
            "force": force,
            "expected_sha256": expected_sha256,
            "idempotency_key": idempotency_key,
            "session_id": session_id,
        }
        return await self._run(operations.BLOCKS_PROPOSE_PREPEND, arguments, user_id, timeout)

    async def propose_insert(
        self,
        block_label: str,
        *,
        insert_line: int,
        content: str,
        reasoning: str,
        confidence: Literal["low", "medium", "high"] | None = None,
        evidence: Sequence[params.EvidenceParam] | None = None,
        proposal_id: int | None = None,
        force: bool | None = None,
        expected_sha256: str | None = None,
        idempotency_key: str | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.ProposedEdit:
        """Insert new lines into a memory block after a given line number, such as an item in the middle of a list.
        Nothing that is there is changed. Read the block first and give its sha256 as expected_sha256, so that the
        number counts lines you have seen. Requires user approval.

        Args:
            block_label: The label of the block to edit (e.g., "student", "goals").
            insert_line: The line after which the content is put, as read_memory_block counts them: 0 = at the
                start, 1 = after the first line.
            content: The text to put there, as lines of its own between the two.
            reasoning: Brief explanation of why this edit is needed (shown to user for approval).
            confidence: How sure you are that the user will agree.
            evidence: The conversation turns this change rests on, shown beside it.
            proposal_id: Amend this undecided proposal of yours, about the same block or note, instead of making
                another: its next revision, made on the text as it is now. So you answer a reviewer who asks for
                changes.
            force: Ask the user again about what was rejected before (rejected_before), with new reasoning. Only
                where something has changed since.
            expected_sha256: The sha256 that read_memory_block returned; refused when the block has changed
                since.
            idempotency_key: Any text of your own: the same key with the same arguments gives the first answer
                again.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        arguments: dict[str, Any] = {
            "block_label": block_label,
            "insert_line": insert_line,
            "content": content,
            "reasoning": reasoning,
            "confidence": confidence,
            "evidence": evidence,
            "proposal_id": proposal_id,
            "force": force,
            "expected_sha256": expected_sha256,
            "idempotency_key": idempotency_key,
            "session_id": session_id,
        }
        return await self._run(operations.BLOCKS_PROPOSE_INSERT, arguments, user_id, timeout)

    async def propose_section(
        self,
        block_label: str,
        *,
        section_header: str,
        new_content: str,
        reasoning: str,
        section_line: int | None = None,
        confidence: Literal["low", "medium", "high"] | None = None,
        evidence: Sequence[params.EvidenceParam] | None = None,
        proposal_id: int | None = None,
        force: bool | None = None,
        expected_sha256: str | None = None,
        idempotency_key: str | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.ProposedEdit:
        """Replace what a Markdown section of a memory block contains, found by its header, and leave the rest alone.
        The section goes up to the next header of the same or a higher level, so its subsections are replaced too;
        the header itself stays. Headers inside code fences are not headers. Requires user approval.

        Args:
            block_label: The label of the block to edit (e.g., "student", "goals").
            section_header: The header of the section, as in the block (e.g., "## Goals").
            new_content: The new content of the section, without its header. Empty text empties the section.
            reasoning: Brief explanation of why this edit is needed (shown to user for approval).
            section_line: The line of the header, where several sections have the same: the refusal names them.
            confidence: How sure you are that the user will agree.
            evidence: The conversation turns this change rests on, shown beside it.
            proposal_id: Amend this undecided proposal of yours, about the same block or note, instead of making
                another: its next revision, made on the text as it is now. So you answer a reviewer who asks for
                changes.
            force: Ask the user again about what was rejected before (rejected_before), with new reasoning. Only
                where something has changed since.
            expected_sha256: The sha256 that read_memory_block returned; refused when the block has changed
                since.
            idempotency_key: Any text of your own: the same key with the same arguments gives the first answer
                again.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        arguments: dict[str, Any] = {
            "block_label": block_label,
            "section_header": section_header,
            "new_content": new_content,
            "reasoning": reasoning,
            "section_line": section_line,
            "confidence": confidence,
            "evidence": evidence,
            "proposal_id": proposal_id,
            "force": force,
            "expected_sha256": expected_sha256,
            "idempotency_key": idempotency_key,
            "session_id": session_id,
        }
        return await self._run(operations.BLOCKS_PROPOSE_SECTION, arguments, user_id, timeout)

    async def propose_rewrite(
        self,
        block_label: str,
        *,
        content: str,
        reasoning: str,
        confidence: Literal["low", "medium", "high"] | None = None,
        evidence: Sequence[params.EvidenceParam] | None = None,
        proposal_id: int | None = None,
        force: bool | None = None,
        expected_sha256: str | None = None,
        idempotency_key: str | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.ProposedEdit:
        """Replace the whole text of a memory block, for the rare case that all of it is to be written anew. Read it
        with read_memory_block first: what your content leaves out is removed. For anything smaller use
        propose_memory_edit, propose_memory_append or propose_section_update. Requires user approval.

        Args:
            block_label: The label of the block to edit (e.g., "student", "goals").
            content: The whole new text of the block. What is not in it is gone from the block.
            reasoning: Brief explanation of why this edit is needed (shown to user for approval).
            confidence: How sure you are that the user will agree.
            evidence: The conversation turns this change rests on, shown beside it.
            proposal_id: Amend this undecided proposal of yours, about the same block or note, instead of making
                another: its next revision, made on the text as it is now. So you answer a reviewer who asks for
                changes.
            force: Ask the user again about what was rejected before (rejected_before), with new reasoning. Only
                where something has changed since.
            expected_sha256: The sha256 that read_memory_block returned; refused when the block has changed
                since.
            idempotency_key: Any text of your own: the same key with the same arguments gives the first answer
                again.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        arguments: dict[str, Any] = {
            "block_label": block_label,
            "content": content,
            "reasoning": reasoning,
            "confidence": confidence,
            "evidence": evidence,
            "proposal_id": proposal_id,
            "force": force,
            "expected_sha256": expected_sha256,
            "idempotency_key": idempotency_key,
            "session_id": session_id,
        }
        return await self._run(operations.BLOCKS_PROPOSE_REWRITE, arguments, user_id, timeout)

    async def propose(
        self,
        block_label: str,
        *,
        reasoning: str,
        body: str | None = None,
        edits: Sequence[params.EditParam] | None = None,
        confidence: Literal["low", "medium", "high"] | None = None,
        evidence: Sequence[params.EvidenceParam] | None = None,
        proposal_id: int | None = None,
        force: bool | None = None,
        expected_sha256: str | None = None,
        idempotency_key: str | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.ProposedEdit:
        """Propose a whole new text for a block (`body`), or several replacements in it (`edits`).

        Args:
            block_label: The label of the block to edit (e.g., "student", "goals").
            reasoning: Brief explanation of why this edit is needed (shown to user for approval).
            body: The whole new text of the block.
            edits: Replacements, made in this order, each on what the one before left: all or none.
            confidence: How sure you are that the user will agree.
            evidence: The conversation turns this change rests on, shown beside it.
            proposal_id: Amend this undecided proposal of yours, about the same block or note, instead of making
                another: its next revision, made on the text as it is now. So you answer a reviewer who asks for
                changes.
            force: Ask the user again about what was rejected before (rejected_before), with new reasoning. Only
                where something has changed since.
            expected_sha256: The sha256 that read_memory_block returned; refused when the block has changed
                since.
            idempotency_key: Any text of your own: the same key with the same arguments gives the first answer
                again.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        arguments: dict[str, Any] = {
            "block_label": block_label,
            "reasoning": reasoning,
            "body": body,
            "edits": edits,
            "confidence": confidence,
            "evidence": evidence,
            "proposal_id": proposal_id,
            "force": force,
            "expected_sha256": expected_sha256,
            "idempotency_key": idempotency_key,
            "session_id": session_id,
        }
        return await self._run(operations.BLOCKS_PROPOSE, arguments, user_id, timeout)

    async def create(
        self,
        label: str,
        *,
        title: str,
        body: str,
        reasoning: str,
        description: str | None = None,
        confidence: Literal["low", "medium", "high"] | None = None,
        evidence: Sequence[params.EvidenceParam] | None = None,
        proposal_id: int | None = None,
        force: bool | None = None,
        idempotency_key: str | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.ProposedEdit:
        """Propose a new memory block for longer text about the user that has no block yet. The block will be submitted
        as a proposal that requires user approval; until then it cannot be read. Call list_memory_blocks first: text
        that belongs in an existing block is proposed as an edit of that block.

        Args:
            label: The name of the new block in every call: lower-case letters, digits, dash and underscore, at
                most 64 (e.g., "study_plan"). It never changes.
            title: What people see it called, in one line; empty for the label itself.
            body: The text of the block, in Markdown. May be empty.
            reasoning: Brief explanation of why this edit is needed (shown to user for approval).
            description: What belongs in this block, for people and for agents.
            confidence: How sure you are that the user will agree.
            evidence: The conversation turns this change rests on, shown beside it.
            proposal_id: Amend this undecided proposal of yours, about the same block or note, instead of making
                another: its next revision, made on the text as it is now. So you answer a reviewer who asks for
                changes.
            force: Ask the user again about what was rejected before (rejected_before), with new reasoning. Only
                where something has changed since.
            idempotency_key: Any text of your own: the same key with the same arguments gives the first answer
                again.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        arguments: dict[str, Any] = {
            "label": label,
            "title": title,
            "body": body,
            "reasoning": reasoning,
            "description": description,
            "confidence": confidence,
            "evidence": evidence,
            "proposal_id": proposal_id,
            "force": force,
            "idempotency_key": idempotency_key,
            "session_id": session_id,
        }
        return await self._run(operations.BLOCKS_CREATE, arguments, user_id, timeout)

    async def propose_deletion(
        self,
        block_label: str,
        *,
        reasoning: str,
        confidence: Literal["low", "medium", "high"] | None = None,
        evidence: Sequence[params.EvidenceParam] | None = None,
        proposal_id: int | None = None,
        force: bool | None = None,
        expected_sha256: str | None = None,
        idempotency_key: str | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.ProposedEdit:
        """Propose to delete a whole memory block, with all of its text. The deletion will be submitted as a proposal
        that always requires user approval. To remove a part of the text, propose an edit instead.

        Args:
            block_label: The label of the block to delete.
            reasoning: Brief explanation of why this edit is needed (shown to user for approval).
            confidence: How sure you are that the user will agree.
            evidence: The conversation turns this change rests on, shown beside it.
            proposal_id: Amend this undecided proposal of yours, about the same block or note, instead of making
                another: its next revision, made on the text as it is now. So you answer a reviewer who asks for
                changes.
            force: Ask the user again about what was rejected before (rejected_before), with new reasoning. Only
                where something has changed since.
            expected_sha256: The sha256 that read_memory_block returned; refused when the block has changed
                since.
            idempotency_key: Any text of your own: the same key with the same arguments gives the first answer
                again.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        arguments: dict[str, Any] = {
            "block_label": block_label,
            "reasoning": reasoning,
            "confidence": confidence,
            "evidence": evidence,
            "proposal_id": proposal_id,
            "force": force,
            "expected_sha256": expected_sha256,
            "idempotency_key": idempotency_key,
            "session_id": session_id,
        }
        return await self._run(operations.BLOCKS_PROPOSE_DELETION, arguments, user_id, timeout)

