"""The resources of both clients, as the server's registry describes them. Written by `manage.py client_code`: not edited by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import httpx2

from assent_client._generated import answers
from assent_client._generated.arguments import (
    EvidenceParam, EditParam, TypeChoice, TypeChoice2, StatusChoice, MessageParam,
)
from assent_client.exchange import Operation
from assent_client.resource import Page, Resource, awaited, paged

#: Tools that change nothing, and so need no idempotency key.
READ_ONLY_TOOLS = frozenset((
    "list_memory_blocks", "read_memory_block", "list_files", "view_file", "list_proposals", "get_proposal",
    "memory_search", "recall", "prime_memories", "memory_list_sessions", "memory_read_session",
))


class Blocks(Resource):
    """`client.blocks`."""

    def list(
        self, *, limit: int | None = None, cursor: str | None = None, max_characters: int | None = None,
        session_id: str | None = None, user_id: str | None = None, timeout: float | httpx2.Timeout | None = None,
    ) -> Page[answers.BlockSummary]:
        """List all available memory blocks for the current student. Memory blocks contain persistent information about
        the student that helps personalize tutoring.

        Args:
            limit: How many at most.
            cursor: Given by the page before.
            max_characters: Characters the answer may have, about: what does not fit is left out whole, and said. The
                installation's default is 20000.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        return self._page(Operation("list_memory_blocks", answers.BlockList), locals())

    def get(
        self, block_label: str, *, as_of: str | None = None, view_range: Sequence[int] | None = None,
        line_numbers: bool | None = None, max_characters: int | None = None, session_id: str | None = None,
        user_id: str | None = None, timeout: float | httpx2.Timeout | None = None,
    ) -> answers.Block:
        """Read the current content of a memory block. Use this before proposing edits to see the exact current content.
        The title and the empty line at the beginning are no part of the block: its own first line is line 1, and with
        line_numbers or view_range only its lines are shown.

        Args:
            block_label: The label/identifier of the block to read (e.g., "student", "goals").
            as_of: Read the block as it was then: a date or time (ISO 8601, UTC), or a commit hash.
            view_range: Only these lines: [first, last], 1-based and inclusive; last = -1 means to the end.
            line_numbers: Show the number of each line, as view_range counts them.
            max_characters: Characters the answer may have, about: what does not fit is left out whole, and said. The
                installation's default is 20000.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        return self._run(Operation("read_memory_block", answers.Block, defaults={"max_characters": 1000000}), locals())

    def history(
        self, block_label: str, *, limit: int | None = None, cursor: str | None = None, session_id: str | None = None,
        user_id: str | None = None, timeout: float | httpx2.Timeout | None = None,
    ) -> Page[answers.BlockChange]:
        """What happened to a block, newest first: who proposed, who approved, why.

        Args:
            block_label: The block.
            limit: How many at most.
            cursor: Given by the page before.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        return self._page(Operation("block_history", answers.BlockHistory, "GET", "/api/v1/users/{user_id}/blocks/{block_label}/history/"), locals())

    def propose_edit(
        self, block_label: str, *, old_string: str, new_string: str, reasoning: str, replace_all: bool | None = None,
        expected_replacements: int | None = None, confidence: float | Literal["low", "medium", "high"] | None = None,
        evidence: str | Sequence[EvidenceParam] | None = None, proposal_id: int | None = None,
        force: bool | None = None, expected_sha256: str | None = None, idempotency_key: str | None = None,
        session_id: str | None = None, user_id: str | None = None, timeout: float | httpx2.Timeout | None = None,
    ) -> answers.ProposedEdit:
        """Propose an edit to a memory block using string replacement. The edit will be submitted as a proposal that
        requires user approval. The old_string must match exactly (including whitespace) and must be unique in the block
        unless replace_all is True. IMPORTANT: You must read the memory block first to see its exact content. The edit
        will FAIL if old_string is not found or is not unique.

        Args:
            block_label: The label of the block to edit (e.g., "student", "goals").
            old_string: The exact text to find and replace. Must be unique unless replace_all=True.
            new_string: The text to replace it with. Must be different from old_string.
            reasoning: Brief explanation of why this edit is needed (shown to user for approval).
            replace_all: If True, replace all occurrences. If False (default), old_string must be unique.
            expected_replacements: How many occurrences you expect; refused when there are more or fewer.
            confidence: How sure you are that the user will agree, from 0 to 1.
            evidence: What the user said, word for word.
            proposal_id: Amend this undecided proposal of yours, about the same block or note: this takes its place.
            force: Ask the user again about what was rejected before (rejected_before), with new reasoning. Only where
                something has changed since.
            expected_sha256: The sha256 that read_memory_block returned; refused when the block has changed since.
            idempotency_key: Any text of your own: the same key with the same arguments gives the first answer again.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        return self._run(Operation("propose_memory_edit", answers.ProposedEdit, writes=True), locals())

    def propose_edits(
        self, block_label: str, *, edits: Sequence[EditParam], reasoning: str,
        confidence: float | Literal["low", "medium", "high"] | None = None,
        evidence: str | Sequence[EvidenceParam] | None = None, proposal_id: int | None = None,
        force: bool | None = None, expected_sha256: str | None = None, idempotency_key: str | None = None,
        session_id: str | None = None, user_id: str | None = None, timeout: float | httpx2.Timeout | None = None,
    ) -> answers.ProposedEdit:
        """Propose several replacements in one memory block at once, as one proposal: use this instead of calling
        propose_memory_edit repeatedly when changes belong together. They are made in order, each on what the one before
        left, all of them or none. Each old_string must match exactly and be unique, as for propose_memory_edit.
        Requires user approval.

        Args:
            block_label: The label of the block to edit (e.g., "student", "goals").
            edits: Replacements, made in this order, each on what the one before left: all or none.
            reasoning: Brief explanation of why this edit is needed (shown to user for approval).
            confidence: How sure you are that the user will agree, from 0 to 1.
            evidence: What the user said, word for word.
            proposal_id: Amend this undecided proposal of yours, about the same block or note: this takes its place.
            force: Ask the user again about what was rejected before (rejected_before), with new reasoning. Only where
                something has changed since.
            expected_sha256: The sha256 that read_memory_block returned; refused when the block has changed since.
            idempotency_key: Any text of your own: the same key with the same arguments gives the first answer again.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        return self._run(Operation("propose_memory_edits", answers.ProposedEdit, writes=True), locals())

    def propose_append(
        self, block_label: str, *, content: str, reasoning: str, title: str | None = None,
        confidence: float | Literal["low", "medium", "high"] | None = None,
        evidence: str | Sequence[EvidenceParam] | None = None, proposal_id: int | None = None,
        force: bool | None = None, expected_sha256: str | None = None, idempotency_key: str | None = None,
        session_id: str | None = None, user_id: str | None = None, timeout: float | httpx2.Timeout | None = None,
    ) -> answers.ProposedEdit:
        """Add new text at the end of a memory block, such as a new entry, item or section, without reading it first.
        Nothing that is there is changed; the content begins on a new line. With title, a block that is not there yet is
        proposed as a new one. Requires user approval.

        Args:
            block_label: The label of the block to edit (e.g., "student", "goals").
            content: The text to add, as lines of its own. An empty block is filled with it.
            reasoning: Brief explanation of why this edit is needed (shown to user for approval).
            title: To begin a new block where none has this label: what people see it called.
            confidence: How sure you are that the user will agree, from 0 to 1.
            evidence: What the user said, word for word.
            proposal_id: Amend this undecided proposal of yours, about the same block or note: this takes its place.
            force: Ask the user again about what was rejected before (rejected_before), with new reasoning. Only where
                something has changed since.
            expected_sha256: The sha256 that read_memory_block returned; refused when the block has changed since.
            idempotency_key: Any text of your own: the same key with the same arguments gives the first answer again.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        return self._run(Operation("propose_memory_append", answers.ProposedEdit, writes=True), locals())

    def propose_prepend(
        self, block_label: str, *, content: str, reasoning: str,
        confidence: float | Literal["low", "medium", "high"] | None = None,
        evidence: str | Sequence[EvidenceParam] | None = None, proposal_id: int | None = None,
        force: bool | None = None, expected_sha256: str | None = None, idempotency_key: str | None = None,
        session_id: str | None = None, user_id: str | None = None, timeout: float | httpx2.Timeout | None = None,
    ) -> answers.ProposedEdit:
        """Add new text at the start of a memory block, such as the newest entry of a log, without reading it first.
        Nothing that is there is changed; it begins on a new line after the content. Requires user approval.

        Args:
            block_label: The label of the block to edit (e.g., "student", "goals").
            content: The text to add, as lines of its own. An empty block is filled with it.
            reasoning: Brief explanation of why this edit is needed (shown to user for approval).
            confidence: How sure you are that the user will agree, from 0 to 1.
            evidence: What the user said, word for word.
            proposal_id: Amend this undecided proposal of yours, about the same block or note: this takes its place.
            force: Ask the user again about what was rejected before (rejected_before), with new reasoning. Only where
                something has changed since.
            expected_sha256: The sha256 that read_memory_block returned; refused when the block has changed since.
            idempotency_key: Any text of your own: the same key with the same arguments gives the first answer again.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        return self._run(Operation("propose_memory_prepend", answers.ProposedEdit, writes=True), locals())

    def propose_insert(
        self, block_label: str, *, content: str, insert_line: int, reasoning: str,
        confidence: float | Literal["low", "medium", "high"] | None = None,
        evidence: str | Sequence[EvidenceParam] | None = None, proposal_id: int | None = None,
        force: bool | None = None, expected_sha256: str | None = None, idempotency_key: str | None = None,
        session_id: str | None = None, user_id: str | None = None, timeout: float | httpx2.Timeout | None = None,
    ) -> answers.ProposedEdit:
        """Insert new lines into a memory block after a given line number, such as an item in the middle of a list.
        Nothing that is there is changed. Read the block with line_numbers first, so that the number counts lines you
        have seen. Requires user approval.

        Args:
            block_label: The label of the block to edit (e.g., "student", "goals").
            content: The text to add, as lines of its own. An empty block is filled with it.
            insert_line: The line after which the content is put, as read_memory_block numbers them with line_numbers: 0
                = at the start, 1 = after the block's own first line.
            reasoning: Brief explanation of why this edit is needed (shown to user for approval).
            confidence: How sure you are that the user will agree, from 0 to 1.
            evidence: What the user said, word for word.
            proposal_id: Amend this undecided proposal of yours, about the same block or note: this takes its place.
            force: Ask the user again about what was rejected before (rejected_before), with new reasoning. Only where
                something has changed since.
            expected_sha256: The sha256 that read_memory_block returned; refused when the block has changed since.
            idempotency_key: Any text of your own: the same key with the same arguments gives the first answer again.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        return self._run(Operation("propose_memory_insert", answers.ProposedEdit, writes=True), locals())

    def propose_section(
        self, block_label: str, *, section_header: str, new_content: str, reasoning: str,
        section_line: int | None = None, confidence: float | Literal["low", "medium", "high"] | None = None,
        evidence: str | Sequence[EvidenceParam] | None = None, proposal_id: int | None = None,
        force: bool | None = None, expected_sha256: str | None = None, idempotency_key: str | None = None,
        session_id: str | None = None, user_id: str | None = None, timeout: float | httpx2.Timeout | None = None,
    ) -> answers.ProposedEdit:
        """Replace what a Markdown section of a memory block contains, found by its header, and leave the rest alone.
        The section goes up to the next header of the same or a higher level, so its subsections are replaced too; the
        header itself stays. Headers inside code fences are not headers. Requires user approval.

        Args:
            block_label: The label of the block to edit (e.g., "student", "goals").
            section_header: Its header (e.g., "## Goals").
            new_content: The new content without the header; may be empty.
            reasoning: Brief explanation of why this edit is needed (shown to user for approval).
            section_line: The line of the header, where several sections have the same.
            confidence: How sure you are that the user will agree, from 0 to 1.
            evidence: What the user said, word for word.
            proposal_id: Amend this undecided proposal of yours, about the same block or note: this takes its place.
            force: Ask the user again about what was rejected before (rejected_before), with new reasoning. Only where
                something has changed since.
            expected_sha256: The sha256 that read_memory_block returned; refused when the block has changed since.
            idempotency_key: Any text of your own: the same key with the same arguments gives the first answer again.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        return self._run(Operation("propose_section_update", answers.ProposedEdit, writes=True), locals())

    def propose_rewrite(
        self, block_label: str, *, content: str, reasoning: str,
        confidence: float | Literal["low", "medium", "high"] | None = None,
        evidence: str | Sequence[EvidenceParam] | None = None, proposal_id: int | None = None,
        force: bool | None = None, expected_sha256: str | None = None, idempotency_key: str | None = None,
        session_id: str | None = None, user_id: str | None = None, timeout: float | httpx2.Timeout | None = None,
    ) -> answers.ProposedEdit:
        """Replace the whole text of a memory block, for the rare case that all of it is to be written anew. What your
        content leaves out is removed. Read it with read_memory_block first. For anything smaller use
        propose_memory_edit, propose_memory_append or propose_section_update. Requires user approval.

        Args:
            block_label: The label of the block to edit (e.g., "student", "goals").
            content: The whole new text of the block. What is not in it is gone from the block.
            reasoning: Brief explanation of why this edit is needed (shown to user for approval).
            confidence: How sure you are that the user will agree, from 0 to 1.
            evidence: What the user said, word for word.
            proposal_id: Amend this undecided proposal of yours, about the same block or note: this takes its place.
            force: Ask the user again about what was rejected before (rejected_before), with new reasoning. Only where
                something has changed since.
            expected_sha256: The sha256 that read_memory_block returned; refused when the block has changed since.
            idempotency_key: Any text of your own: the same key with the same arguments gives the first answer again.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        return self._run(Operation("propose_memory_rewrite", answers.ProposedEdit, writes=True), locals())

    def propose(
        self, block_label: str, *, reasoning: str, body: str | None = None, edits: Sequence[EditParam] | None = None,
        confidence: float | Literal["low", "medium", "high"] | None = None,
        evidence: str | Sequence[EvidenceParam] | None = None, proposal_id: int | None = None,
        force: bool | None = None, expected_sha256: str | None = None, idempotency_key: str | None = None,
        session_id: str | None = None, user_id: str | None = None, timeout: float | httpx2.Timeout | None = None,
    ) -> answers.ProposedEdit:
        """Propose a whole new text for a block (`body`), or several replacements in it (`edits`).

        Args:
            block_label: The label of the block to edit (e.g., "student", "goals").
            reasoning: Brief explanation of why this edit is needed (shown to user for approval).
            body: The whole new text of the block.
            edits: Replacements, made in this order, each on what the one before left: all or none.
            confidence: How sure you are that the user will agree, from 0 to 1.
            evidence: What the user said, word for word.
            proposal_id: Amend this undecided proposal of yours, about the same block or note: this takes its place.
            force: Ask the user again about what was rejected before (rejected_before), with new reasoning. Only where
                something has changed since.
            expected_sha256: The sha256 that read_memory_block returned; refused when the block has changed since.
            idempotency_key: Any text of your own: the same key with the same arguments gives the first answer again.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        return self._run(Operation("block_propose", answers.ProposedEdit, "POST", "/api/v1/users/{user_id}/blocks/{block_label}/propose/", writes=True), locals())

    def create(
        self, label: str, *, title: str, body: str, reasoning: str, description: str | None = None,
        confidence: float | Literal["low", "medium", "high"] | None = None,
        evidence: str | Sequence[EvidenceParam] | None = None, proposal_id: int | None = None,
        force: bool | None = None, idempotency_key: str | None = None, session_id: str | None = None,
        user_id: str | None = None, timeout: float | httpx2.Timeout | None = None,
    ) -> answers.ProposedEdit:
        """Propose a new memory block for longer text about the user that has no block yet. The block will be submitted
        as a proposal that requires user approval; until then it cannot be read. Call list_memory_blocks first: text
        that belongs in an existing block is proposed as an edit of that block.

        Args:
            label: The name of the new block in every call: lower-case letters, digits, dash and underscore, at most 64
                (e.g., "study_plan"). It never changes.
            title: What people see it called, in one line; empty for the label itself.
            body: The text of the block, in Markdown. May be empty.
            reasoning: Brief explanation of why this edit is needed (shown to user for approval).
            description: What belongs in this block, for people and for agents.
            confidence: How sure you are that the user will agree, from 0 to 1.
            evidence: What the user said, word for word.
            proposal_id: Amend this undecided proposal of yours, about the same block or note: this takes its place.
            force: Ask the user again about what was rejected before (rejected_before), with new reasoning. Only where
                something has changed since.
            idempotency_key: Any text of your own: the same key with the same arguments gives the first answer again.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        return self._run(Operation("propose_memory_block", answers.ProposedEdit, writes=True), locals())

    def propose_deletion(
        self, block_label: str, *, reasoning: str, confidence: float | Literal["low", "medium", "high"] | None = None,
        evidence: str | Sequence[EvidenceParam] | None = None, proposal_id: int | None = None,
        force: bool | None = None, expected_sha256: str | None = None, idempotency_key: str | None = None,
        session_id: str | None = None, user_id: str | None = None, timeout: float | httpx2.Timeout | None = None,
    ) -> answers.ProposedEdit:
        """Propose to delete a whole memory block, with all of its text. The deletion will be submitted as a proposal
        that always requires user approval. To remove a part of the text, propose an edit instead.

        Args:
            block_label: The label of the block to delete.
            reasoning: Brief explanation of why this edit is needed (shown to user for approval).
            confidence: How sure you are that the user will agree, from 0 to 1.
            evidence: What the user said, word for word.
            proposal_id: Amend this undecided proposal of yours, about the same block or note: this takes its place.
            force: Ask the user again about what was rejected before (rejected_before), with new reasoning. Only where
                something has changed since.
            expected_sha256: The sha256 that read_memory_block returned; refused when the block has changed since.
            idempotency_key: Any text of your own: the same key with the same arguments gives the first answer again.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        return self._run(Operation("propose_block_deletion", answers.ProposedEdit, writes=True), locals())


class AsyncBlocks(Resource):
    """`client.blocks` of `AsyncAssent`."""

    list = paged(Blocks.list)
    get = awaited(Blocks.get)
    history = paged(Blocks.history)
    propose_edit = awaited(Blocks.propose_edit)
    propose_edits = awaited(Blocks.propose_edits)
    propose_append = awaited(Blocks.propose_append)
    propose_prepend = awaited(Blocks.propose_prepend)
    propose_insert = awaited(Blocks.propose_insert)
    propose_section = awaited(Blocks.propose_section)
    propose_rewrite = awaited(Blocks.propose_rewrite)
    propose = awaited(Blocks.propose)
    create = awaited(Blocks.create)
    propose_deletion = awaited(Blocks.propose_deletion)


class Notes(Resource):
    """`client.notes`."""

    def list(
        self, *, limit: int | None = None, cursor: str | None = None, q: str | None = None,
        type: TypeChoice | None = None, tag: Sequence[str] | None = None,
        source: Literal["agent", "user", "import"] | None = None, include_superseded: bool | None = None,
        session_id: str | None = None, user_id: str | None = None, timeout: float | httpx2.Timeout | None = None,
    ) -> Page[answers.NoteItem]:
        """The notes of an owner, newest first (with q: best first), page by page.

        Args:
            limit: How many at most.
            cursor: Given by the page before.
            q: Search query or keywords; without it the newest come first.
            type: Only notes of this type.
            tag: Only notes with this tag; given several times, with any of them.
            source: Only notes that came this way.
            include_superseded: Also notes that were superseded.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        return self._page(Operation("note_list", answers.NoteList, "GET", "/api/v1/users/{user_id}/notes/"), locals())

    def get(
        self, note_id: str, *, as_of: str | None = None, session_id: str | None = None, user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.Note:
        """One note, now or as of a commit or time.

        Args:
            note_id: ID of the note, as answers name it.
            as_of: Read the note as it was then: a date or time (ISO 8601, UTC), or a commit hash.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        return self._run(Operation("note_read", answers.Note, "GET", "/api/v1/users/{user_id}/notes/{note_id}/"), locals())

    def search(
        self, query: str, *, top_k: int | None = None, include_conversation: bool | None = None,
        sources: Sequence[Literal["user_memory", "memory_block", "conversation"]] | None = None,
        category: str | None = None, type: TypeChoice | None = None, as_of: str | None = None,
        tags: Sequence[str] | None = None, max_characters: int | None = None, session_id: str | None = None,
        user_id: str | None = None, timeout: float | httpx2.Timeout | None = None,
    ) -> answers.SearchResults:
        """Search your persistent memory for relevant information. Use this when you need to recall user preferences,
        past decisions, stored facts, or anything previously saved. Results are ranked by relevance using semantic
        similarity and keyword matching. By default searches your saved notes and memory blocks, notes first; set
        include_conversation to true to also search the current conversation history. Where nothing matches, at most
        three nearest notes are given, and said to be so.

        Args:
            query: Natural language search query.
            top_k: Max results to return.
            include_conversation: Also search what was said in conversations.
            sources: Where to search; overrides include_conversation.
            category: Only notes of a category.
            type: Only notes of this type.
            as_of: Search the memory as it was then: a date or time (ISO 8601, UTC), or a commit hash.
            tags: Only notes with one of these tags.
            max_characters: Characters the answer may have, about: what does not fit is left out whole, and said. The
                installation's default is 20000.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        return self._run(Operation("memory_search", answers.SearchResults), locals())

    def save(
        self, content: str | Sequence[str], *, category: str | None = None, tags: Sequence[str] | None = None,
        reasoning: str | None = None, evidence: str | Sequence[EvidenceParam] | None = None,
        proposal_id: int | None = None, force: bool | None = None, idempotency_key: str | None = None,
        session_id: str | None = None, user_id: str | None = None, timeout: float | httpx2.Timeout | None = None,
    ) -> answers.ChangedNote:
        """Save an important piece of information to your persistent memory as a natural language note. Use this
        proactively whenever the user shares preferences, makes decisions, states facts, or tells you something worth
        remembering across conversations. Saved notes persist across all sessions and channels. Returns a note_id for
        future reference.

        Args:
            content: Natural language text: one concise statement, at most 2,000 characters.
            category: One word to organise notes by.
            tags: Words to find the note by.
            reasoning: Why, in a sentence the user can read beside the change.
            evidence: What the user said, word for word.
            proposal_id: Amend this undecided proposal of yours, about the same block or note: this takes its place.
            force: Ask the user again about what was rejected before (rejected_before), with new reasoning. Only where
                something has changed since.
            idempotency_key: Any text of your own: the same key with the same arguments gives the first answer again.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        return self._run(Operation("memory_save", answers.ChangedNote, writes=True), locals())

    def update(
        self, note_id: str, *, content: str, reasoning: str | None = None,
        evidence: str | Sequence[EvidenceParam] | None = None, proposal_id: int | None = None,
        force: bool | None = None, idempotency_key: str | None = None, session_id: str | None = None,
        user_id: str | None = None, timeout: float | httpx2.Timeout | None = None,
    ) -> answers.ChangedNote:
        """Update a previously saved note with new content. Use this when the user corrects or changes previously stored
        information (e.g., a new preferred name, an updated preference). First use memory_search to find the note and
        its note_id, then call this with the note_id and the new content.

        Args:
            note_id: ID of the note, as answers name it.
            content: Natural language text: one concise statement, at most 2,000 characters.
            reasoning: Why, in a sentence the user can read beside the change.
            evidence: What the user said, word for word.
            proposal_id: Amend this undecided proposal of yours, about the same block or note: this takes its place.
            force: Ask the user again about what was rejected before (rejected_before), with new reasoning. Only where
                something has changed since.
            idempotency_key: Any text of your own: the same key with the same arguments gives the first answer again.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        return self._run(Operation("memory_update", answers.ChangedNote, writes=True), locals())

    def delete(
        self, note_id: str, *, reasoning: str | None = None, evidence: str | Sequence[EvidenceParam] | None = None,
        proposal_id: int | None = None, force: bool | None = None, idempotency_key: str | None = None,
        session_id: str | None = None, user_id: str | None = None, timeout: float | httpx2.Timeout | None = None,
    ) -> answers.ChangedNote:
        """Delete a previously saved note from memory. Use this when the user asks you to forget specific information.
        First use memory_search to find the note and its note_id, then call this with the note_id to remove it.

        Args:
            note_id: ID of the note, as answers name it.
            reasoning: Why, in a sentence the user can read beside the change.
            evidence: What the user said, word for word.
            proposal_id: Amend this undecided proposal of yours, about the same block or note: this takes its place.
            force: Ask the user again about what was rejected before (rejected_before), with new reasoning. Only where
                something has changed since.
            idempotency_key: Any text of your own: the same key with the same arguments gives the first answer again.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        return self._run(Operation("memory_delete", answers.ChangedNote, writes=True), locals())

    def remember(
        self, content: str, *, type: TypeChoice | None = None,
        confidence: float | Literal["low", "medium", "high"] | None = None, rationale: str | None = None,
        tags: Sequence[str] | None = None, memory_id: str | None = None, reasoning: str | None = None,
        evidence: str | Sequence[EvidenceParam] | None = None, proposal_id: int | None = None,
        force: bool | None = None, idempotency_key: str | None = None, session_id: str | None = None,
        user_id: str | None = None, timeout: float | httpx2.Timeout | None = None,
    ) -> answers.RememberedNote:
        """Persist important information to long-term memory. Use when you discover something valuable for future
        sessions.

        Args:
            content: Natural language text: one concise statement, at most 2,000 characters.
            type: Type of memory.
            confidence: How sure you are, from 0 to 1; 0.8 if you do not say.
            rationale: Why this is worth remembering.
            tags: Words to find the note by.
            memory_id: An id of your own, as in memories.md: mem-{unix time}-{4 of 0-9a-z}. One is made otherwise.
            reasoning: Why, in a sentence the user can read beside the change.
            evidence: What the user said, word for word.
            proposal_id: Amend this undecided proposal of yours, about the same block or note: this takes its place.
            force: Ask the user again about what was rejected before (rejected_before), with new reasoning. Only where
                something has changed since.
            idempotency_key: Any text of your own: the same key with the same arguments gives the first answer again.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        return self._run(Operation("remember", answers.RememberedNote, writes=True), locals())

    def recall(
        self, *, query: str | None = None, type: TypeChoice2 | None = None,
        min_confidence: float | Literal["low", "medium", "high"] | None = None, limit: int | None = None,
        include_superseded: bool | None = None, scope: Literal["user", "session"] | None = None,
        match: Literal["hybrid", "text"] | None = None, max_characters: int | None = None,
        session_id: str | None = None, user_id: str | None = None, timeout: float | httpx2.Timeout | None = None,
    ) -> answers.RecalledNotes:
        """Search long-term memory for relevant information. Use to retrieve previously learned facts, decisions,
        patterns, or lessons.

        Args:
            query: Search query or keywords; without it the newest come first.
            type: Filter by memory type.
            min_confidence: Minimum confidence threshold, from 0 to 1.
            limit: Maximum memories to return.
            include_superseded: Also memories that were forgotten.
            scope: user: everything about the user; session: only what this session_id stored.
            match: hybrid: by meaning and keywords; text: those containing the query, case aside.
            max_characters: Characters the answer may have, about: what does not fit is left out whole, and said. The
                installation's default is 20000.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        return self._run(Operation("recall", answers.RecalledNotes), locals())

    def forget(
        self, memory_id: str, *, reason: str | None = None, replacement_id: str | None = None,
        reasoning: str | None = None, evidence: str | Sequence[EvidenceParam] | None = None,
        proposal_id: int | None = None, force: bool | None = None, idempotency_key: str | None = None,
        session_id: str | None = None, user_id: str | None = None, timeout: float | httpx2.Timeout | None = None,
    ) -> answers.ForgottenNote:
        """Mark a memory as superseded (soft delete), as outdated or replaced by another; memory_delete removes one,
        which is what users mean who ask you to forget something. The memory remains for provenance but won't be
        retrieved in normal queries.

        Args:
            memory_id: ID of the note to supersede.
            reason: Why this memory is being superseded.
            replacement_id: ID of the note that takes its place (optional).
            reasoning: Why, in a sentence the user can read beside the change.
            evidence: What the user said, word for word.
            proposal_id: Amend this undecided proposal of yours, about the same block or note: this takes its place.
            force: Ask the user again about what was rejected before (rejected_before), with new reasoning. Only where
                something has changed since.
            idempotency_key: Any text of your own: the same key with the same arguments gives the first answer again.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        return self._run(Operation("forget", answers.ForgottenNote, writes=True), locals())

    def prime(
        self, *, budget: int | None = None, types: Sequence[TypeChoice] | None = None,
        tags: Sequence[str] | None = None, recent: int | None = None, format: Literal["markdown", "json"] | None = None,
        session_id: str | None = None, user_id: str | None = None, timeout: float | httpx2.Timeout | None = None,
    ) -> answers.PrimedNotes:
        """Get the user's memories for your context, newest and most used first, within a budget of tokens. Use this at
        the start of a conversation, unless they are in your context already.

        Args:
            budget: Tokens the text may have, about; 0 = no limit. The installation's default is 2000.
            types: Only these types.
            tags: Only notes with one of these tags.
            recent: Only notes of the last so many days; 0 = all.
            format: markdown: as a memories.md; json: a list.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        return self._run(Operation("prime_memories", answers.PrimedNotes), locals())


class AsyncNotes(Resource):
    """`client.notes` of `AsyncAssent`."""

    list = paged(Notes.list)
    get = awaited(Notes.get)
    search = awaited(Notes.search)
    save = awaited(Notes.save)
    update = awaited(Notes.update)
    delete = awaited(Notes.delete)
    remember = awaited(Notes.remember)
    recall = awaited(Notes.recall)
    forget = awaited(Notes.forget)
    prime = awaited(Notes.prime)


class Proposals(Resource):
    """`client.proposals`."""

    def list(
        self, *, limit: int | None = None, cursor: str | None = None, status: StatusChoice | None = None,
        block_label: str | None = None, proposal_id: int | None = None, max_characters: int | None = None,
        session_id: str | None = None, user_id: str | None = None, timeout: float | httpx2.Timeout | None = None,
    ) -> Page[answers.ProposalSummary]:
        """List your own proposals, newest first: their status, what the reviewer said, and whether those still open
        apply to the block as it is now. With status changes_requested: those you are asked to change. With
        decided_since: what was decided since.

        Args:
            limit: How many at most.
            cursor: Given by the page before.
            status: Only proposals in this state.
            block_label: Only proposals to this block.
            proposal_id: Only this one, with all of its texts.
            max_characters: Characters the answer may have, about: what does not fit is left out whole, and said. The
                installation's default is 20000.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        return self._page(Operation("list_proposals", answers.ProposalList), locals())

    def get(
        self, proposal_id: int, *, wait: int | None = None, max_characters: int | None = None,
        session_id: str | None = None, user_id: str | None = None, timeout: float | httpx2.Timeout | None = None,
    ) -> answers.Proposal:
        """See what became of one of your proposals: its status, the reviewer's reason, the changes asked of you,
        comments, what of it was approved in which words, and whether it still applies.

        Args:
            proposal_id: The number a proposing tool returned.
            wait: Seconds to wait for a decision while there is none.
            max_characters: Characters the answer may have, about: what does not fit is left out whole, and said. The
                installation's default is 20000.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        return self._run(Operation("get_proposal", answers.Proposal, defaults={"max_characters": 1000000}), locals())

    def withdraw(
        self, proposal_id: int, *, reasoning: str | None = None, idempotency_key: str | None = None,
        session_id: str | None = None, user_id: str | None = None, timeout: float | httpx2.Timeout | None = None,
    ) -> answers.WithdrawnProposal:
        """Take back one of your undecided proposals, so that nobody has to decide about it.

        Args:
            proposal_id: The number a proposing tool returned.
            reasoning: Why you take it back.
            idempotency_key: Any text of your own: the same key with the same arguments gives the first answer again.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        return self._run(Operation("withdraw_proposal", answers.WithdrawnProposal, writes=True), locals())

    def comment(
        self, proposal_id: int, *, comment: str, change: str | None = None, idempotency_key: str | None = None,
        session_id: str | None = None, user_id: str | None = None, timeout: float | httpx2.Timeout | None = None,
    ) -> answers.PostedComment:
        """Comment on one of your proposals: answer a question that a person asked in its thread, or ask one. This
        doesn't approve or reject it.

        Args:
            proposal_id: The number a proposing tool returned.
            comment: What you say: an answer to a person, or a question.
            change: The id of the change it is about, as comments have it; left out for the whole proposal.
            idempotency_key: Any text of your own: the same key with the same arguments gives the first answer again.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        return self._run(Operation("comment_on_proposal", answers.PostedComment, writes=True), locals())


class AsyncProposals(Resource):
    """`client.proposals` of `AsyncAssent`."""

    list = paged(Proposals.list)
    get = awaited(Proposals.get)
    withdraw = awaited(Proposals.withdraw)
    comment = awaited(Proposals.comment)


class Context(Resource):
    """`client.context`."""

    def get(
        self, *, budget: int | None = None, session_id: str | None = None, user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.ContextText:
        """The text to put in a system prompt: the owner's blocks, primed notes, and instructions for the tools. What
        goes in is set by MEMORIES_*; blocks that do not fit are named, for read_memory_block. The whole is in `text`,
        and nothing of it in `data` once more.

        Args:
            budget: Tokens the whole text may have, about, guides included; 0 = no limit. Notes have up to a third of
                what the guides leave. By default MEMORIES_BLOCKS_BUDGET for blocks and MEMORIES_BUDGET for notes.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        return self._run(Operation("context_read", answers.ContextText, "GET", "/api/v1/users/{user_id}/context/"), locals())


class AsyncContext(Resource):
    """`client.context` of `AsyncAssent`."""

    get = awaited(Context.get)


class Conversations(Resource):
    """`client.conversations`."""

    def list(
        self, *, limit: int | None = None, cursor: str | None = None, max_characters: int | None = None,
        session_id: str | None = None, user_id: str | None = None, timeout: float | httpx2.Timeout | None = None,
    ) -> Page[answers.Conversation]:
        """List the conversations kept with the user, the latest first: when they were and what they began with. Use
        this to find an earlier conversation, then memory_read_session to read it. To look for words, use memory_search
        with include_conversation.

        Args:
            limit: How many at most.
            cursor: Given by the page before.
            max_characters: Characters the answer may have, about: what does not fit is left out whole, and said. The
                installation's default is 20000.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        return self._page(Operation("memory_list_sessions", answers.ConversationList), locals())

    def messages(
        self, session_id: str, *, limit: int | None = None, cursor: str | None = None,
        max_characters: int | None = None, user_id: str | None = None, timeout: float | httpx2.Timeout | None = None,
    ) -> Page[answers.Message]:
        """Read what was said in a conversation, from its beginning; a long one in parts.

        Args:
            session_id: Which conversation (from memory_list_sessions).
            limit: How many at most.
            cursor: Given by the page before.
            max_characters: Characters the answer may have, about: what does not fit is left out whole, and said. The
                installation's default is 20000.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        return self._page(Operation("memory_read_session", answers.MessageList), locals())

    def keep(
        self, session_id: str, *, messages: Sequence[MessageParam], idempotency_key: str | None = None,
        user_id: str | None = None, timeout: float | httpx2.Timeout | None = None,
    ) -> answers.KeptMessages:
        """Keep the messages of a conversation, for search (include_conversation) and as evidence.

        Args:
            session_id: The conversation this call belongs to, as provenance.
            messages: In the order they were said.
            idempotency_key: Any text of your own: the same key with the same arguments gives the first answer again.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        return self._run(Operation("message_keep", answers.KeptMessages, "POST", "/api/v1/users/{user_id}/conversations/{session_id}/messages/", writes=True), locals())

    def delete(
        self, session_id: str, *, user_id: str | None = None, timeout: float | httpx2.Timeout | None = None,
    ) -> answers.DeletedMessages:
        """Delete the messages of a conversation, or one of them. An agent deletes what it handed in itself; the rest
        stays, since it may be evidence for another's change.

        Args:
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        return self._run(Operation("message_delete", answers.DeletedMessages, "DELETE", "/api/v1/users/{user_id}/conversations/{session_id}/messages/"), locals())

    def delete_message(
        self, session_id: str, message_id: str, *, user_id: str | None = None,
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
        return self._run(Operation("message_delete", answers.DeletedMessages, "DELETE", "/api/v1/users/{user_id}/conversations/{session_id}/messages/{message_id}/"), locals())


class AsyncConversations(Resource):
    """`client.conversations` of `AsyncAssent`."""

    list = paged(Conversations.list)
    messages = paged(Conversations.messages)
    keep = awaited(Conversations.keep)
    delete = awaited(Conversations.delete)
    delete_message = awaited(Conversations.delete_message)


class Files(Resource):
    """`client.files`."""

    def list(
        self, *, limit: int | None = None, cursor: str | None = None, path: str | None = None,
        max_characters: int | None = None, session_id: str | None = None, user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> Page[answers.ListFilesAnswerItem]:
        """List the files of the memory: blocks are longer texts under /memories/blocks, notes short statements under
        /memories/notes. Use this before view_file to see what is there.

        Args:
            limit: How many at most.
            cursor: Given by the page before.
            path: /memories, /memories/blocks or /memories/notes.
            max_characters: Characters the answer may have, about: what does not fit is left out whole, and said. The
                installation's default is 20000.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        return self._page(Operation("list_files", answers.ListFilesAnswer), locals())

    def view(
        self, path: str, *, view_range: Sequence[int] | None = None, max_characters: int | None = None,
        session_id: str | None = None, user_id: str | None = None, timeout: float | httpx2.Timeout | None = None,
    ) -> answers.ViewFileAnswer:
        """Read a file of the memory, exactly as edit_file has to quote it. Use this before edit_file or write_file to
        see the current content.

        Args:
            path: /memories/blocks/{label}.md for a memory block, /memories/notes/{id}.md for a note.
            view_range: Only these lines: [first, last], 1-based and inclusive; last = -1 means to the end.
            max_characters: Characters the answer may have, about: what does not fit is left out whole, and said. The
                installation's default is 20000.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        return self._run(Operation("view_file", answers.ViewFileAnswer), locals())

    def edit(
        self, path: str, *, old_string: str, new_string: str, reasoning: str | None = None,
        confidence: float | Literal["low", "medium", "high"] | None = None,
        evidence: str | Sequence[EvidenceParam] | None = None, proposal_id: int | None = None,
        force: bool | None = None, expected_sha256: str | None = None, idempotency_key: str | None = None,
        session_id: str | None = None, user_id: str | None = None, timeout: float | httpx2.Timeout | None = None,
    ) -> answers.EditFileAnswer:
        """Replace old_string with new_string in a file of the memory. The old_string must be unique in the file. This
        is safer than write_file because it only changes what you specify. Requires user approval.

        Args:
            path: /memories/blocks/{label}.md for a memory block, /memories/notes/{id}.md for a note.
            old_string: The exact text to find. It has to be unique in the file.
            new_string: The text to replace it with.
            reasoning: Why, in a sentence the user can read beside the change.
            confidence: How sure you are that the user will agree, from 0 to 1.
            evidence: What the user said, word for word.
            proposal_id: Amend this undecided proposal of yours, about the same block or note: this takes its place.
            force: Ask the user again about what was rejected before (rejected_before), with new reasoning. Only where
                something has changed since.
            expected_sha256: The sha256 that read_memory_block returned; refused when the block has changed since.
            idempotency_key: Any text of your own: the same key with the same arguments gives the first answer again.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        return self._run(Operation("edit_file", answers.EditFileAnswer, writes=True), locals())

    def append(
        self, path: str, *, content: str, reasoning: str | None = None,
        confidence: float | Literal["low", "medium", "high"] | None = None,
        evidence: str | Sequence[EvidenceParam] | None = None, proposal_id: int | None = None,
        force: bool | None = None, expected_sha256: str | None = None, idempotency_key: str | None = None,
        session_id: str | None = None, user_id: str | None = None, timeout: float | httpx2.Timeout | None = None,
    ) -> answers.EditFileAnswer:
        """Append content to the end of a file of the memory, without reading it first. The content is added exactly:
        begin it with a line end for a new line. A file that is not there is proposed as a new one. Requires user
        approval.

        Args:
            path: /memories/blocks/{label}.md for a memory block, /memories/notes/{id}.md for a note.
            content: The text to add, exactly as given.
            reasoning: Why, in a sentence the user can read beside the change.
            confidence: How sure you are that the user will agree, from 0 to 1.
            evidence: What the user said, word for word.
            proposal_id: Amend this undecided proposal of yours, about the same block or note: this takes its place.
            force: Ask the user again about what was rejected before (rejected_before), with new reasoning. Only where
                something has changed since.
            expected_sha256: The sha256 that read_memory_block returned; refused when the block has changed since.
            idempotency_key: Any text of your own: the same key with the same arguments gives the first answer again.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        return self._run(Operation("append_to_file", answers.EditFileAnswer, writes=True), locals())

    def prepend(
        self, path: str, *, content: str, reasoning: str | None = None,
        confidence: float | Literal["low", "medium", "high"] | None = None,
        evidence: str | Sequence[EvidenceParam] | None = None, proposal_id: int | None = None,
        force: bool | None = None, expected_sha256: str | None = None, idempotency_key: str | None = None,
        session_id: str | None = None, user_id: str | None = None, timeout: float | httpx2.Timeout | None = None,
    ) -> answers.EditFileAnswer:
        """Prepend content to the beginning of a file of the memory, without reading it first. The content is added
        exactly: end it with a line end. A file that is not there is proposed as a new one. Requires user approval.

        Args:
            path: /memories/blocks/{label}.md for a memory block, /memories/notes/{id}.md for a note.
            content: The text to add, exactly as given.
            reasoning: Why, in a sentence the user can read beside the change.
            confidence: How sure you are that the user will agree, from 0 to 1.
            evidence: What the user said, word for word.
            proposal_id: Amend this undecided proposal of yours, about the same block or note: this takes its place.
            force: Ask the user again about what was rejected before (rejected_before), with new reasoning. Only where
                something has changed since.
            expected_sha256: The sha256 that read_memory_block returned; refused when the block has changed since.
            idempotency_key: Any text of your own: the same key with the same arguments gives the first answer again.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        return self._run(Operation("prepend_to_file", answers.EditFileAnswer, writes=True), locals())

    def update_section(
        self, path: str, *, section_header: str, new_content: str, section_line: int | None = None,
        reasoning: str | None = None, confidence: float | Literal["low", "medium", "high"] | None = None,
        evidence: str | Sequence[EvidenceParam] | None = None, proposal_id: int | None = None,
        force: bool | None = None, expected_sha256: str | None = None, idempotency_key: str | None = None,
        session_id: str | None = None, user_id: str | None = None, timeout: float | httpx2.Timeout | None = None,
    ) -> answers.EditFileAnswer:
        """Update a specific section in a Markdown file of the memory. Finds the section by header and replaces its
        content (everything until the next header of same or higher level). Requires user approval.

        Args:
            path: /memories/blocks/{label}.md for a memory block, /memories/notes/{id}.md for a note.
            section_header: Its header (e.g., "## Goals").
            new_content: The new content without the header; may be empty.
            section_line: The line of the header, where several sections have the same.
            reasoning: Why, in a sentence the user can read beside the change.
            confidence: How sure you are that the user will agree, from 0 to 1.
            evidence: What the user said, word for word.
            proposal_id: Amend this undecided proposal of yours, about the same block or note: this takes its place.
            force: Ask the user again about what was rejected before (rejected_before), with new reasoning. Only where
                something has changed since.
            expected_sha256: The sha256 that read_memory_block returned; refused when the block has changed since.
            idempotency_key: Any text of your own: the same key with the same arguments gives the first answer again.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        return self._run(Operation("update_section", answers.EditFileAnswer, writes=True), locals())

    def write(
        self, path: str, *, content: str, reasoning: str | None = None,
        confidence: float | Literal["low", "medium", "high"] | None = None,
        evidence: str | Sequence[EvidenceParam] | None = None, proposal_id: int | None = None,
        force: bool | None = None, expected_sha256: str | None = None, idempotency_key: str | None = None,
        session_id: str | None = None, user_id: str | None = None, timeout: float | httpx2.Timeout | None = None,
    ) -> answers.EditFileAnswer:
        """Write a whole file of the memory: a new one, or, for the rare case, all of an existing one. What your content
        leaves out is removed. Read it with view_file first. For anything smaller use edit_file, append_to_file or
        update_section. Requires user approval.

        Args:
            path: /memories/blocks/{label}.md for a memory block, /memories/notes/{id}.md for a note.
            content: The whole text. What is not in it is gone from the file.
            reasoning: Why, in a sentence the user can read beside the change.
            confidence: How sure you are that the user will agree, from 0 to 1.
            evidence: What the user said, word for word.
            proposal_id: Amend this undecided proposal of yours, about the same block or note: this takes its place.
            force: Ask the user again about what was rejected before (rejected_before), with new reasoning. Only where
                something has changed since.
            expected_sha256: The sha256 that read_memory_block returned; refused when the block has changed since.
            idempotency_key: Any text of your own: the same key with the same arguments gives the first answer again.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        return self._run(Operation("write_file", answers.EditFileAnswer, writes=True), locals())


class AsyncFiles(Resource):
    """`client.files` of `AsyncAssent`."""

    list = paged(Files.list)
    view = awaited(Files.view)
    edit = awaited(Files.edit)
    append = awaited(Files.append)
    prepend = awaited(Files.prepend)
    update_section = awaited(Files.update_section)
    write = awaited(Files.write)


class Tools(Resource):
    """`client.tools`."""


class AsyncTools(Resource):
    """`client.tools` of `AsyncAssent`."""
