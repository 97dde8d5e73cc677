"""`client.notes`, as the server's registry describes it. Written by `manage.py client_code`: not edited by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import httpx2

from assent_client._generated import answers, operations, params
from assent_client.paging import AsyncPager, Page
from assent_client.resource import AsyncResource, Resource

__all__ = ["AsyncNotes", "Notes"]

#: Types that a resource may need or not.
_USED: tuple[object, ...] = (Any, Literal, Mapping, Sequence, params, AsyncPager, Page)


class Notes(Resource):
    def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        q: str | None = None,
        type: Literal["note", "fact", "assumption", "hypothesis", "discovery", "risk", "unknown", "decision", "convention", "lesson_learned", "pattern", "fix", "context"] | None = None,
        tag: Sequence[str] | None = None,
        source: Literal["agent", "user", "import"] | None = None,
        include_superseded: bool | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> Page[answers.NoteItem]:
        """The notes of an owner, newest first (with q: best first), page by page.

        Args:
            limit: How many at most.
            cursor: `next` of the page before.
            q: Search query or keywords; without it the newest come first.
            type: Only notes of this type.
            tag: Only notes with this tag; given several times, with any of them.
            source: Only notes that came this way.
            include_superseded: Also notes that were superseded.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        arguments: dict[str, Any] = {
            "limit": limit,
            "cursor": cursor,
            "q": q,
            "type": type,
            "tag": tag,
            "source": source,
            "include_superseded": include_superseded,
            "session_id": session_id,
        }
        return self._page(operations.NOTES_LIST, arguments, user_id, timeout)

    def get(
        self,
        note_id: str,
        *,
        as_of: str | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.Note:
        """One note, now or as of a commit or time.

        Args:
            note_id: ID of the note (from memory_search, memory_save or recall results).
            as_of: Read the note as it was: a commit hash, or a date or time (ISO 8601, UTC). What was deleted
                since is not found without the scope memory:history.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        arguments: dict[str, Any] = {
            "note_id": note_id,
            "as_of": as_of,
            "session_id": session_id,
        }
        return self._run(operations.NOTES_GET, arguments, user_id, timeout)

    def search(
        self,
        query: str,
        *,
        top_k: int | None = None,
        include_conversation: bool | None = None,
        sources: Sequence[Literal["user_memory", "memory_block", "conversation"]] | None = None,
        category: str | None = None,
        type: Literal["note", "fact", "assumption", "hypothesis", "discovery", "risk", "unknown", "decision", "convention", "lesson_learned", "pattern", "fix", "context"] | None = None,
        tags: Sequence[str] | None = None,
        as_of: str | None = None,
        max_characters: int | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.SearchResults:
        """Search your persistent memory for relevant information. Use this when you need to recall user preferences,
        past decisions, stored facts, or anything previously saved. Results are ranked by relevance using semantic
        similarity and keyword matching. By default searches only your saved notes; set include_conversation to true
        to also search the current conversation history. Memory blocks are searched too. That is, a default search
        covers notes and blocks (`sources` narrows it), notes first where places are few; hits marked weak do not
        match, they are merely the nearest notes.

        Args:
            query: Natural language search query.
            top_k: Max results to return.
            include_conversation: Also search what was said: in the conversation session_id, or in all of the
                user's without it.
            sources: Where to search; overrides include_conversation.
            category: Only notes of this category.
            type: Only notes of this type.
            tags: Only notes with one of these tags.
            as_of: Search the memory as it was: a commit hash, or a date or time (ISO 8601, UTC). What was
                deleted since is not found without the scope memory:history.
            max_characters: Characters the answer may have, about: what does not fit is left out whole, and said.
                The installation's default is 20000.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        arguments: dict[str, Any] = {
            "query": query,
            "top_k": top_k,
            "include_conversation": include_conversation,
            "sources": sources,
            "category": category,
            "type": type,
            "tags": tags,
            "as_of": as_of,
            "max_characters": max_characters,
            "session_id": session_id,
        }
        return self._run(operations.NOTES_SEARCH, arguments, user_id, timeout)

    def save(
        self,
        content: str,
        *,
        category: str | None = None,
        tags: Sequence[str] | None = None,
        reasoning: str | None = None,
        evidence: Sequence[params.EvidenceParam] | None = None,
        proposal_id: int | None = None,
        force: bool | None = None,
        idempotency_key: str | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
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
            "content": content,
            "category": category,
            "tags": tags,
            "reasoning": reasoning,
            "evidence": evidence,
            "proposal_id": proposal_id,
            "force": force,
            "idempotency_key": idempotency_key,
            "session_id": session_id,
        }
        return self._run(operations.NOTES_SAVE, arguments, user_id, timeout)

    def update(
        self,
        note_id: str,
        *,
        content: str,
        reasoning: str | None = None,
        evidence: Sequence[params.EvidenceParam] | None = None,
        proposal_id: int | None = None,
        force: bool | None = None,
        idempotency_key: str | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.ChangedNote:
        """Update a previously saved note with new content. Use this when the user corrects or changes previously stored
        information (e.g., a new preferred name, an updated preference). First use memory_search to find the note and
        its note_id, then call this with the note_id and the new content.

        Args:
            note_id: ID of the note (from memory_search, memory_save or recall results).
            content: Natural language text: one concise statement, at most 2,000 characters.
            reasoning: Why, in a sentence the user can read beside the change.
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
            "note_id": note_id,
            "content": content,
            "reasoning": reasoning,
            "evidence": evidence,
            "proposal_id": proposal_id,
            "force": force,
            "idempotency_key": idempotency_key,
            "session_id": session_id,
        }
        return self._run(operations.NOTES_UPDATE, arguments, user_id, timeout)

    def delete(
        self,
        note_id: str,
        *,
        reasoning: str | None = None,
        evidence: Sequence[params.EvidenceParam] | None = None,
        proposal_id: int | None = None,
        force: bool | None = None,
        idempotency_key: str | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.ChangedNote:
        """Delete a previously saved note from memory. Use this when the user asks you to forget specific information.
        First use memory_search to find the note and its note_id, then call this with the note_id to remove it.

        Args:
            note_id: ID of the note (from memory_search, memory_save or recall results).
            reasoning: Why, in a sentence the user can read beside the change.
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
            "note_id": note_id,
            "reasoning": reasoning,
            "evidence": evidence,
            "proposal_id": proposal_id,
            "force": force,
            "idempotency_key": idempotency_key,
            "session_id": session_id,
        }
        return self._run(operations.NOTES_DELETE, arguments, user_id, timeout)

    def remember(
        self,
        content: str,
        *,
        type: Literal["note", "fact", "assumption", "hypothesis", "discovery", "risk", "unknown", "decision", "convention", "lesson_learned", "pattern", "fix", "context"] | None = None,
        confidence: float | None = None,
        rationale: str | None = None,
        tags: Sequence[str] | None = None,
        memory_id: str | None = None,
        reasoning: str | None = None,
        evidence: Sequence[params.EvidenceParam] | None = None,
        proposal_id: int | None = None,
        force: bool | None = None,
        idempotency_key: str | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.RememberedNote:
        """Persist important information to long-term memory. Use when you discover something valuable for future
        sessions.

        Args:
            content: Natural language text: one concise statement, at most 2,000 characters.
            type: Type of memory.
            confidence: Confidence level, 0.0 to 1.0; what lies outside is brought to the nearer end.
            rationale: Why this is worth remembering.
            tags: Words to find the note by.
            memory_id: An id of your own, as in memories.md: mem-{unix time}-{4 of 0-9a-z}. One is made
                otherwise.
            reasoning: Why, in a sentence the user can read beside the change.
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
            "content": content,
            "type": type,
            "confidence": confidence,
            "rationale": rationale,
            "tags": tags,
            "memory_id": memory_id,
            "reasoning": reasoning,
            "evidence": evidence,
            "proposal_id": proposal_id,
            "force": force,
            "idempotency_key": idempotency_key,
            "session_id": session_id,
        }
        return self._run(operations.NOTES_REMEMBER, arguments, user_id, timeout)

    def recall(
        self,
        *,
        query: str | None = None,
        type: Literal["all", "note", "fact", "assumption", "hypothesis", "discovery", "risk", "unknown", "decision", "convention", "lesson_learned", "pattern", "fix", "context"] | None = None,
        min_confidence: float | None = None,
        limit: int | None = None,
        include_superseded: bool | None = None,
        scope: Literal["user", "session"] | None = None,
        match: Literal["hybrid", "text"] | None = None,
        max_characters: int | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.RecalledNotes:
        """Search long-term memory for relevant information. Use to retrieve previously learned facts, decisions,
        patterns, or lessons.

        Args:
            query: Search query or keywords; without it the newest come first.
            type: Filter by memory type.
            min_confidence: Minimum confidence threshold.
            limit: Maximum memories to return.
            include_superseded: Also memories that were forgotten.
            scope: user: everything about the user; session: only what this session_id stored.
            match: hybrid: by meaning and keywords; text: those containing the query, case aside.
            max_characters: Characters the answer may have, about: what does not fit is left out whole, and said.
                The installation's default is 20000.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        arguments: dict[str, Any] = {
            "query": query,
            "type": type,
            "min_confidence": min_confidence,
            "limit": limit,
            "include_superseded": include_superseded,
            "scope": scope,
            "match": match,
            "max_characters": max_characters,
            "session_id": session_id,
        }
        return self._run(operations.NOTES_RECALL, arguments, user_id, timeout)

    def forget(
        self,
        memory_id: str,
        *,
        reason: str | None = None,
        replacement_id: str | None = None,
        reasoning: str | None = None,
        evidence: Sequence[params.EvidenceParam] | None = None,
        proposal_id: int | None = None,
        force: bool | None = None,
        idempotency_key: str | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.ForgottenNote:
        """Mark a memory as superseded (soft delete). The memory remains for provenance but won't be retrieved in normal
        queries.

        Args:
            memory_id: ID of memory to supersede.
            reason: Why this memory is being superseded.
            replacement_id: ID of memory that supersedes this one (optional).
            reasoning: Why, in a sentence the user can read beside the change.
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
            "memory_id": memory_id,
            "reason": reason,
            "replacement_id": replacement_id,
            "reasoning": reasoning,
            "evidence": evidence,
            "proposal_id": proposal_id,
            "force": force,
            "idempotency_key": idempotency_key,
            "session_id": session_id,
        }
        return self._run(operations.NOTES_FORGET, arguments, user_id, timeout)

    def prime(
        self,
        *,
        budget: int | None = None,
        types: Sequence[Literal["note", "fact", "assumption", "hypothesis", "discovery", "risk", "unknown", "decision", "convention", "lesson_learned", "pattern", "fix", "context"]] | None = None,
        tags: Sequence[str] | None = None,
        recent: int | None = None,
        format: Literal["markdown", "json"] | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
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
        arguments: dict[str, Any] = {
            "budget": budget,
            "types": types,
            "tags": tags,
            "recent": recent,
            "format": format,
            "session_id": session_id,
        }
        return self._run(operations.NOTES_PRIME, arguments, user_id, timeout)



class AsyncNotes(AsyncResource):
    def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        q: str | None = None,
        type: Literal["note", "fact", "assumption", "hypothesis", "discovery", "risk", "unknown", "decision", "convention", "lesson_learned", "pattern", "fix", "context"] | None = None,
        tag: Sequence[str] | None = None,
        source: Literal["agent", "user", "import"] | None = None,
        include_superseded: bool | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> AsyncPager[answers.NoteItem]:
        """The notes of an owner, newest first (with q: best first), page by page.

        Args:
            limit: How many at most.
            cursor: `next` of the page before.
            q: Search query or keywords; without it the newest come first.
            type: Only notes of this type.
            tag: Only notes with this tag; given several times, with any of them.
            source: Only notes that came this way.
            include_superseded: Also notes that were superseded.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        arguments: dict[str, Any] = {
            "limit": limit,
            "cursor": cursor,
            "q": q,
            "type": type,
            "tag": tag,
            "source": source,
            "include_superseded": include_superseded,
            "session_id": session_id,
        }
        return self._page(operations.NOTES_LIST, arguments, user_id, timeout)

    async def get(
        self,
        note_id: str,
        *,
        as_of: str | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.Note:
        """One note, now or as of a commit or time.

        Args:
            note_id: ID of the note (from memory_search, memory_save or recall results).
            as_of: Read the note as it was: a commit hash, or a date or time (ISO 8601, UTC). What was deleted
                since is not found without the scope memory:history.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        arguments: dict[str, Any] = {
            "note_id": note_id,
            "as_of": as_of,
            "session_id": session_id,
        }
        return await self._run(operations.NOTES_GET, arguments, user_id, timeout)

    async def search(
        self,
        query: str,
        *,
        top_k: int | None = None,
        include_conversation: bool | None = None,
        sources: Sequence[Literal["user_memory", "memory_block", "conversation"]] | None = None,
        category: str | None = None,
        type: Literal["note", "fact", "assumption", "hypothesis", "discovery", "risk", "unknown", "decision", "convention", "lesson_learned", "pattern", "fix", "context"] | None = None,
        tags: Sequence[str] | None = None,
        as_of: str | None = None,
        max_characters: int | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.SearchResults:
        """Search your persistent memory for relevant information. Use this when you need to recall user preferences,
        past decisions, stored facts, or anything previously saved. Results are ranked by relevance using semantic
        similarity and keyword matching. By default searches only your saved notes; set include_conversation to true
        to also search the current conversation history. Memory blocks are searched too. That is, a default search
        covers notes and blocks (`sources` narrows it), notes first where places are few; hits marked weak do not
        match, they are merely the nearest notes.

        Args:
            query: Natural language search query.
            top_k: Max results to return.
            include_conversation: Also search what was said: in the conversation session_id, or in all of the
                user's without it.
            sources: Where to search; overrides include_conversation.
            category: Only notes of this category.
            type: Only notes of this type.
            tags: Only notes with one of these tags.
            as_of: Search the memory as it was: a commit hash, or a date or time (ISO 8601, UTC). What was
                deleted since is not found without the scope memory:history.
            max_characters: Characters the answer may have, about: what does not fit is left out whole, and said.
                The installation's default is 20000.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        arguments: dict[str, Any] = {
            "query": query,
            "top_k": top_k,
            "include_conversation": include_conversation,
            "sources": sources,
            "category": category,
            "type": type,
            "tags": tags,
            "as_of": as_of,
            "max_characters": max_characters,
            "session_id": session_id,
        }
        return await self._run(operations.NOTES_SEARCH, arguments, user_id, timeout)

    async def save(
        self,
        content: str,
        *,
        category: str | None = None,
        tags: Sequence[str] | None = None,
        reasoning: str | None = None,
        evidence: Sequence[params.EvidenceParam] | None = None,
        proposal_id: int | None = None,
        force: bool | None = None,
        idempotency_key: str | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
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
            "content": content,
            "category": category,
            "tags": tags,
            "reasoning": reasoning,
            "evidence": evidence,
            "proposal_id": proposal_id,
            "force": force,
            "idempotency_key": idempotency_key,
            "session_id": session_id,
        }
        return await self._run(operations.NOTES_SAVE, arguments, user_id, timeout)

    async def update(
        self,
        note_id: str,
        *,
        content: str,
        reasoning: str | None = None,
        evidence: Sequence[params.EvidenceParam] | None = None,
        proposal_id: int | None = None,
        force: bool | None = None,
        idempotency_key: str | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.ChangedNote:
        """Update a previously saved note with new content. Use this when the user corrects or changes previously stored
        information (e.g., a new preferred name, an updated preference). First use memory_search to find the note and
        its note_id, then call this with the note_id and the new content.

        Args:
            note_id: ID of the note (from memory_search, memory_save or recall results).
            content: Natural language text: one concise statement, at most 2,000 characters.
            reasoning: Why, in a sentence the user can read beside the change.
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
            "note_id": note_id,
            "content": content,
            "reasoning": reasoning,
            "evidence": evidence,
            "proposal_id": proposal_id,
            "force": force,
            "idempotency_key": idempotency_key,
            "session_id": session_id,
        }
        return await self._run(operations.NOTES_UPDATE, arguments, user_id, timeout)

    async def delete(
        self,
        note_id: str,
        *,
        reasoning: str | None = None,
        evidence: Sequence[params.EvidenceParam] | None = None,
        proposal_id: int | None = None,
        force: bool | None = None,
        idempotency_key: str | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.ChangedNote:
        """Delete a previously saved note from memory. Use this when the user asks you to forget specific information.
        First use memory_search to find the note and its note_id, then call this with the note_id to remove it.

        Args:
            note_id: ID of the note (from memory_search, memory_save or recall results).
            reasoning: Why, in a sentence the user can read beside the change.
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
            "note_id": note_id,
            "reasoning": reasoning,
            "evidence": evidence,
            "proposal_id": proposal_id,
            "force": force,
            "idempotency_key": idempotency_key,
            "session_id": session_id,
        }
        return await self._run(operations.NOTES_DELETE, arguments, user_id, timeout)

    async def remember(
        self,
        content: str,
        *,
        type: Literal["note", "fact", "assumption", "hypothesis", "discovery", "risk", "unknown", "decision", "convention", "lesson_learned", "pattern", "fix", "context"] | None = None,
        confidence: float | None = None,
        rationale: str | None = None,
        tags: Sequence[str] | None = None,
        memory_id: str | None = None,
        reasoning: str | None = None,
        evidence: Sequence[params.EvidenceParam] | None = None,
        proposal_id: int | None = None,
        force: bool | None = None,
        idempotency_key: str | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.RememberedNote:
        """Persist important information to long-term memory. Use when you discover something valuable for future
        sessions.

        Args:
            content: Natural language text: one concise statement, at most 2,000 characters.
            type: Type of memory.
            confidence: Confidence level, 0.0 to 1.0; what lies outside is brought to the nearer end.
            rationale: Why this is worth remembering.
            tags: Words to find the note by.
            memory_id: An id of your own, as in memories.md: mem-{unix time}-{4 of 0-9a-z}. One is made
                otherwise.
            reasoning: Why, in a sentence the user can read beside the change.
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
            "content": content,
            "type": type,
            "confidence": confidence,
            "rationale": rationale,
            "tags": tags,
            "memory_id": memory_id,
            "reasoning": reasoning,
            "evidence": evidence,
            "proposal_id": proposal_id,
            "force": force,
            "idempotency_key": idempotency_key,
            "session_id": session_id,
        }
        return await self._run(operations.NOTES_REMEMBER, arguments, user_id, timeout)

    async def recall(
        self,
        *,
        query: str | None = None,
        type: Literal["all", "note", "fact", "assumption", "hypothesis", "discovery", "risk", "unknown", "decision", "convention", "lesson_learned", "pattern", "fix", "context"] | None = None,
        min_confidence: float | None = None,
        limit: int | None = None,
        include_superseded: bool | None = None,
        scope: Literal["user", "session"] | None = None,
        match: Literal["hybrid", "text"] | None = None,
        max_characters: int | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.RecalledNotes:
        """Search long-term memory for relevant information. Use to retrieve previously learned facts, decisions,
        patterns, or lessons.

        Args:
            query: Search query or keywords; without it the newest come first.
            type: Filter by memory type.
            min_confidence: Minimum confidence threshold.
            limit: Maximum memories to return.
            include_superseded: Also memories that were forgotten.
            scope: user: everything about the user; session: only what this session_id stored.
            match: hybrid: by meaning and keywords; text: those containing the query, case aside.
            max_characters: Characters the answer may have, about: what does not fit is left out whole, and said.
                The installation's default is 20000.
            session_id: The conversation this call belongs to, as provenance.
            user_id: Whose memory; the client's `user` otherwise.
            timeout: Seconds; the client's otherwise.
        """
        arguments: dict[str, Any] = {
            "query": query,
            "type": type,
            "min_confidence": min_confidence,
            "limit": limit,
            "include_superseded": include_superseded,
            "scope": scope,
            "match": match,
            "max_characters": max_characters,
            "session_id": session_id,
        }
        return await self._run(operations.NOTES_RECALL, arguments, user_id, timeout)

    async def forget(
        self,
        memory_id: str,
        *,
        reason: str | None = None,
        replacement_id: str | None = None,
        reasoning: str | None = None,
        evidence: Sequence[params.EvidenceParam] | None = None,
        proposal_id: int | None = None,
        force: bool | None = None,
        idempotency_key: str | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
    ) -> answers.ForgottenNote:
        """Mark a memory as superseded (soft delete). The memory remains for provenance but won't be retrieved in normal
        queries.

        Args:
            memory_id: ID of memory to supersede.
            reason: Why this memory is being superseded.
            replacement_id: ID of memory that supersedes this one (optional).
            reasoning: Why, in a sentence the user can read beside the change.
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
            "memory_id": memory_id,
            "reason": reason,
            "replacement_id": replacement_id,
            "reasoning": reasoning,
            "evidence": evidence,
            "proposal_id": proposal_id,
            "force": force,
            "idempotency_key": idempotency_key,
            "session_id": session_id,
        }
        return await self._run(operations.NOTES_FORGET, arguments, user_id, timeout)

    async def prime(
        self,
        *,
        budget: int | None = None,
        types: Sequence[Literal["note", "fact", "assumption", "hypothesis", "discovery", "risk", "unknown", "decision", "convention", "lesson_learned", "pattern", "fix", "context"]] | None = None,
        tags: Sequence[str] | None = None,
        recent: int | None = None,
        format: Literal["markdown", "json"] | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        timeout: float | httpx2.Timeout | None = None,
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
        arguments: dict[str, Any] = {
            "budget": budget,
            "types": types,
            "tags": tags,
            "recent": recent,
            "format": format,
            "session_id": session_id,
        }
        return await self._run(operations.NOTES_PRIME, arguments, user_id, timeout)

