"""`client.files`, as the server's registry describes it. Written by `manage.py client_code`: not edited by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import httpx2

from assent_client._generated import answers, operations, params
from assent_client.paging import AsyncPager, Page
from assent_client.resource import AsyncResource, Resource

__all__ = ["AsyncFiles", "Files"]

#: Types that a resource may need or not.
_USED: tuple[object, ...] = (Any, Literal, Mapping, Sequence, params, AsyncPager, Page)


class Files(Resource):
    def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        path: str | None = None,
        max_characters: int | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> Page[answers.ListFilesAnswerItem]:
        """List the files of the memory: blocks are longer texts under /memories/blocks, notes short statements under
        /memories/notes. Use this before view_file to see what is there.

        Args:
            limit: How many at most.
            cursor: `next` of the page before.
            path: /memories, /memories/blocks or /memories/notes.
            max_characters: Characters the answer may have, about: what does not fit is left out whole, and said.
                The installation's default is 20000.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        arguments: dict[str, Any] = {
            "limit": limit,
            "cursor": cursor,
            "path": path,
            "max_characters": max_characters,
            "session_id": session_id,
        }
        return self._page(operations.FILES_LIST, arguments, user_id, timeout)

    def view(
        self,
        path: str,
        *,
        view_range: Sequence[int] | None = None,
        max_characters: int | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.ViewFileAnswer:
        """Read a file of the memory, exactly as edit_file has to quote it. Use this before edit_file or write_file to
        see the current content.

        Args:
            path: /memories/blocks/{label}.md for a memory block, /memories/notes/{id}.md for a note.
            view_range: Only these lines: [first, last], 1-based and inclusive; last = -1 means to the end.
            max_characters: Characters the answer may have, about: what does not fit is left out whole, and said.
                The installation's default is 20000.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        arguments: dict[str, Any] = {
            "path": path,
            "view_range": view_range,
            "max_characters": max_characters,
            "session_id": session_id,
        }
        return self._run(operations.FILES_VIEW, arguments, user_id, timeout)

    def edit(
        self,
        path: str,
        *,
        old_string: str,
        new_string: str,
        reasoning: str | None = None,
        confidence: Literal["low", "medium", "high"] | None = None,
        evidence: Sequence[params.EvidenceParam] | None = None,
        proposal_id: int | None = None,
        force: bool | None = None,
        expected_sha256: str | None = None,
        idempotency_key: str | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.EditFileAnswer:
        """Replace old_string with new_string in a file of the memory. The old_string must be unique in the file. This
        is safer than write_file because it only changes what you specify. Requires user approval.

        Args:
            path: /memories/blocks/{label}.md for a memory block, /memories/notes/{id}.md for a note.
            old_string: The exact text to find. It has to be unique in the file.
            new_string: The text to replace it with.
            reasoning: Why, in a sentence the user can read beside the change.
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
            "path": path,
            "old_string": old_string,
            "new_string": new_string,
            "reasoning": reasoning,
            "confidence": confidence,
            "evidence": evidence,
            "proposal_id": proposal_id,
            "force": force,
            "expected_sha256": expected_sha256,
            "idempotency_key": idempotency_key,
            "session_id": session_id,
        }
        return self._run(operations.FILES_EDIT, arguments, user_id, timeout)

    def append(
        self,
        path: str,
        *,
        content: str,
        reasoning: str | None = None,
        confidence: Literal["low", "medium", "high"] | None = None,
        evidence: Sequence[params.EvidenceParam] | None = None,
        proposal_id: int | None = None,
        force: bool | None = None,
        expected_sha256: str | None = None,
        idempotency_key: str | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.EditFileAnswer:
        """Append content to the end of a file of the memory, without reading it first. The content is added exactly:
        begin it with a line end for a new line. A file that is not there is proposed as a new one. Requires user
        approval.

        Args:
            path: /memories/blocks/{label}.md for a memory block, /memories/notes/{id}.md for a note.
            content: The text to put at the end, exactly as given.
            reasoning: Why, in a sentence the user can read beside the change.
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
            "path": path,
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
        return self._run(operations.FILES_APPEND, arguments, user_id, timeout)

    def prepend(
        self,
        path: str,
        *,
        content: str,
        reasoning: str | None = None,
        confidence: Literal["low", "medium", "high"] | None = None,
        evidence: Sequence[params.EvidenceParam] | None = None,
        proposal_id: int | None = None,
        force: bool | None = None,
        expected_sha256: str | None = None,
        idempotency_key: str | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.EditFileAnswer:
        """Prepend content to the beginning of a file of the memory, without reading it first. The content is added
        exactly: end it with a line end. A file that is not there is proposed as a new one. Requires user approval.

        Args:
            path: /memories/blocks/{label}.md for a memory block, /memories/notes/{id}.md for a note.
            content: The text to put at the beginning, exactly as given.
            reasoning: Why, in a sentence the user can read beside the change.
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
            "path": path,
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
        return self._run(operations.FILES_PREPEND, arguments, user_id, timeout)

    def update_section(
        self,
        path: str,
        *,
        section_header: str,
        new_content: str,
        section_line: int | None = None,
        reasoning: str | None = None,
        confidence: Literal["low", "medium", "high"] | None = None,
        evidence: Sequence[params.EvidenceParam] | None = None,
        proposal_id: int | None = None,
        force: bool | None = None,
        expected_sha256: str | None = None,
        idempotency_key: str | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.EditFileAnswer:
        """Update a specific section in a Markdown file of the memory. Finds the section by header and replaces its
        content (everything until the next header of same or higher level). Requires user approval.

        Args:
            path: /memories/blocks/{label}.md for a memory block, /memories/notes/{id}.md for a note.
            section_header: Header text (e.g., "## Current State").
            new_content: New content for the section (without header).
            section_line: The line of the header, where several sections have the same.
            reasoning: Why, in a sentence the user can read beside the change.
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
            "path": path,
            "section_header": section_header,
            "new_content": new_content,
            "section_line": section_line,
            "reasoning": reasoning,
            "confidence": confidence,
            "evidence": evidence,
            "proposal_id": proposal_id,
            "force": force,
            "expected_sha256": expected_sha256,
            "idempotency_key": idempotency_key,
            "session_id": session_id,
        }
        return self._run(operations.FILES_UPDATE_SECTION, arguments, user_id, timeout)

    def write(
        self,
        path: str,
        *,
        content: str,
        reasoning: str | None = None,
        confidence: Literal["low", "medium", "high"] | None = None,
        evidence: Sequence[params.EvidenceParam] | None = None,
        proposal_id: int | None = None,
        force: bool | None = None,
        expected_sha256: str | None = None,
        idempotency_key: str | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.EditFileAnswer:
        """Write a whole file of the memory: a new one, or, for the rare case, all of an existing one. Read it with
        view_file first: what your content leaves out is removed. For anything smaller use edit_file, append_to_file
        or update_section. Requires user approval.

        Args:
            path: /memories/blocks/{label}.md for a memory block, /memories/notes/{id}.md for a note.
            content: The whole text. What is not in it is gone from the file.
            reasoning: Why, in a sentence the user can read beside the change.
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
            "path": path,
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
        return self._run(operations.FILES_WRITE, arguments, user_id, timeout)



class AsyncFiles(AsyncResource):
    def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        path: str | None = None,
        max_characters: int | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> AsyncPager[answers.ListFilesAnswerItem]:
        """List the files of the memory: blocks are longer texts under /memories/blocks, notes short statements under
        /memories/notes. Use this before view_file to see what is there.

        Args:
            limit: How many at most.
            cursor: `next` of the page before.
            path: /memories, /memories/blocks or /memories/notes.
            max_characters: Characters the answer may have, about: what does not fit is left out whole, and said.
                The installation's default is 20000.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        arguments: dict[str, Any] = {
            "limit": limit,
            "cursor": cursor,
            "path": path,
            "max_characters": max_characters,
            "session_id": session_id,
        }
        return self._page(operations.FILES_LIST, arguments, user_id, timeout)

    async def view(
        self,
        path: str,
        *,
        view_range: Sequence[int] | None = None,
        max_characters: int | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.ViewFileAnswer:
        """Read a file of the memory, exactly as edit_file has to quote it. Use this before edit_file or write_file to
        see the current content.

        Args:
            path: /memories/blocks/{label}.md for a memory block, /memories/notes/{id}.md for a note.
            view_range: Only these lines: [first, last], 1-based and inclusive; last = -1 means to the end.
            max_characters: Characters the answer may have, about: what does not fit is left out whole, and said.
                The installation's default is 20000.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        arguments: dict[str, Any] = {
            "path": path,
            "view_range": view_range,
            "max_characters": max_characters,
            "session_id": session_id,
        }
        return await self._run(operations.FILES_VIEW, arguments, user_id, timeout)

    async def edit(
        self,
        path: str,
        *,
        old_string: str,
        new_string: str,
        reasoning: str | None = None,
        confidence: Literal["low", "medium", "high"] | None = None,
        evidence: Sequence[params.EvidenceParam] | None = None,
        proposal_id: int | None = None,
        force: bool | None = None,
        expected_sha256: str | None = None,
        idempotency_key: str | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.EditFileAnswer:
        """Replace old_string with new_string in a file of the memory. The old_string must be unique in the file. This
        is safer than write_file because it only changes what you specify. Requires user approval.

        Args:
            path: /memories/blocks/{label}.md for a memory block, /memories/notes/{id}.md for a note.
            old_string: The exact text to find. It has to be unique in the file.
            new_string: The text to replace it with.
            reasoning: Why, in a sentence the user can read beside the change.
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
            "path": path,
            "old_string": old_string,
            "new_string": new_string,
            "reasoning": reasoning,
            "confidence": confidence,
            "evidence": evidence,
            "proposal_id": proposal_id,
            "force": force,
            "expected_sha256": expected_sha256,
            "idempotency_key": idempotency_key,
            "session_id": session_id,
        }
        return await self._run(operations.FILES_EDIT, arguments, user_id, timeout)

    async def append(
        self,
        path: str,
        *,
        content: str,
        reasoning: str | None = None,
        confidence: Literal["low", "medium", "high"] | None = None,
        evidence: Sequence[params.EvidenceParam] | None = None,
        proposal_id: int | None = None,
        force: bool | None = None,
        expected_sha256: str | None = None,
        idempotency_key: str | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.EditFileAnswer:
        """Append content to the end of a file of the memory, without reading it first. The content is added exactly:
        begin it with a line end for a new line. A file that is not there is proposed as a new one. Requires user
        approval.

        Args:
            path: /memories/blocks/{label}.md for a memory block, /memories/notes/{id}.md for a note.
            content: The text to put at the end, exactly as given.
            reasoning: Why, in a sentence the user can read beside the change.
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
            "path": path,
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
        return await self._run(operations.FILES_APPEND, arguments, user_id, timeout)

    async def prepend(
        self,
        path: str,
        *,
        content: str,
        reasoning: str | None = None,
        confidence: Literal["low", "medium", "high"] | None = None,
        evidence: Sequence[params.EvidenceParam] | None = None,
        proposal_id: int | None = None,
        force: bool | None = None,
        expected_sha256: str | None = None,
        idempotency_key: str | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.EditFileAnswer:
        """Prepend content to the beginning of a file of the memory, without reading it first. The content is added
        exactly: end it with a line end. A file that is not there is proposed as a new one. Requires user approval.

        Args:
            path: /memories/blocks/{label}.md for a memory block, /memories/notes/{id}.md for a note.
            content: The text to put at the beginning, exactly as given.
            reasoning: Why, in a sentence the user can read beside the change.
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
            "path": path,
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
        return await self._run(operations.FILES_PREPEND, arguments, user_id, timeout)

    async def update_section(
        self,
        path: str,
        *,
        section_header: str,
        new_content: str,
        section_line: int | None = None,
        reasoning: str | None = None,
        confidence: Literal["low", "medium", "high"] | None = None,
        evidence: Sequence[params.EvidenceParam] | None = None,
        proposal_id: int | None = None,
        force: bool | None = None,
        expected_sha256: str | None = None,
        idempotency_key: str | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.EditFileAnswer:
        """Update a specific section in a Markdown file of the memory. Finds the section by header and replaces its
        content (everything until the next header of same or higher level). Requires user approval.

        Args:
            path: /memories/blocks/{label}.md for a memory block, /memories/notes/{id}.md for a note.
            section_header: Header text (e.g., "## Current State").
            new_content: New content for the section (without header).
            section_line: The line of the header, where several sections have the same.
            reasoning: Why, in a sentence the user can read beside the change.
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
            "path": path,
            "section_header": section_header,
            "new_content": new_content,
            "section_line": section_line,
            "reasoning": reasoning,
            "confidence": confidence,
            "evidence": evidence,
            "proposal_id": proposal_id,
            "force": force,
            "expected_sha256": expected_sha256,
            "idempotency_key": idempotency_key,
            "session_id": session_id,
        }
        return await self._run(operations.FILES_UPDATE_SECTION, arguments, user_id, timeout)

    async def write(
        self,
        path: str,
        *,
        content: str,
        reasoning: str | None = None,
        confidence: Literal["low", "medium", "high"] | None = None,
        evidence: Sequence[params.EvidenceParam] | None = None,
        proposal_id: int | None = None,
        force: bool | None = None,
        expected_sha256: str | None = None,
        idempotency_key: str | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.EditFileAnswer:
        """Write a whole file of the memory: a new one, or, for the rare case, all of an existing one. Read it with
        view_file first: what your content leaves out is removed. For anything smaller use edit_file, append_to_file
        or update_section. Requires user approval.

        Args:
            path: /memories/blocks/{label}.md for a memory block, /memories/notes/{id}.md for a note.
            content: The whole text. What is not in it is gone from the file.
            reasoning: Why, in a sentence the user can read beside the change.
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
            "path": path,
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
        return await self._run(operations.FILES_WRITE, arguments, user_id, timeout)

