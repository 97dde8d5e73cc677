"""What a search finds: chunks of blocks, of notes and of conversations.

Belongs here: cutting a block by its sections and then by length, a note or message by length, and what of a chunk is
searched.
Not here: words (`text`), vectors (`dense`) and the table they are kept in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

#: Characters of a block's chunk: a section of a student's block is rarely longer, and a longer one says several things.
LONGEST_PASSAGE = 1_000
#: Characters of a note's or message's chunk. Notes of 2,000 characters (tools.md) stay whole.
LONGEST_STATEMENT = 2_000
#: Room for the chunks of one message between those of its neighbours in `Chunk.order`.
PARTS = 4_096

# What may close a header (blanks, signs, blanks) is cut off by plain code: in one pattern with a title of any length,
# 1,000 blanks inside a title took 2.5 s and 3,000 over a minute, with every other thread waiting.
_HEADER = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.*)")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
# Where a text may be cut, best first: paragraph, line, sentence (also Chinese and Japanese), word.
_CUTS = tuple(re.compile(p) for p in (r"\n\s*\n", r"\n", r"(?<=[.!?])\s+|(?<=[。！？])", r"\s+"))


class Source(StrEnum):
    """Where a chunk comes from, as the tools name it."""

    USER_MEMORY = "user_memory"
    MEMORY_BLOCK = "memory_block"
    CONVERSATION = "conversation"


@dataclass(frozen=True, slots=True)
class TextChunk:
    """One thing a search can find.

    Attributes:
        document_id: what it belongs with: the block's label, the note's id, the conversation's session id.
        item_id: what a hit is named by: label, note id, message id.
        order: its place in the document; neighbours in order are context for each other in conversations.
        section: the headers above a block's passage, outermost first.
        author: who said it, for a message; a query naming one author prefers what they said.
        at: when it was said or saved.
        keywords: searched by word but neither shown nor part of the vector: tags, category, a rationale.
    """

    source: Source
    document_id: str
    item_id: str
    order: int
    text: str
    title: str = ""
    section: str = ""
    type: str = ""
    tags: tuple[str, ...] = ()
    category: str = ""
    author: str = ""
    at: datetime | None = None
    session_id: str = ""
    superseded: bool = False
    keywords: str = ""

    @property
    def meaning(self) -> str:
        """What the vector is made of: the text under its headings or behind its author's name."""
        if self.author:
            return f"{self.author}: {self.text}"
        return "\n".join(part for part in (self.title, self.section, self.text) if part)

    @property
    def searched(self) -> str:
        """What the words are taken from."""
        return "\n".join(part for part in (self.meaning, " ".join(self.tags), self.category, self.keywords) if part)


@dataclass(frozen=True, slots=True)
class ConversationMessage:
    """One message of a conversation, as `chunks_of_conversation` takes it."""

    id: str
    content: str
    sequence: int
    author: str
    at: datetime | None = None


def chunks_of_block(
    *, label: str, title: str, body: str, description: str = "", at: datetime | None = None
) -> tuple[TextChunk, ...]:
    """A block's sections, cut further where they are long; the description is searched with the first."""
    passages = [
        (section, part) for section, text in sections(body) for part in cut(text, LONGEST_PASSAGE) if part.strip()
    ]
    if not passages:
        # An empty block is still found by its title.
        passages = [("", description or title)]
    return tuple(
        TextChunk(
            source=Source.MEMORY_BLOCK,
            document_id=label,
            item_id=label,
            order=order,
            text=text,
            title=title,
            section=section,
            at=at,
            keywords=f"{label}\n{description}" if order == 0 else label,
        )
        for order, (section, text) in enumerate(passages)
    )


def chunks_of_note(
    *,
    note_id: str,
    content: str,
    type: str = "note",
    tags: Iterable[str] = (),
    category: str = "",
    rationale: str = "",
    at: datetime | None = None,
    session_id: str = "",
    superseded: bool = False,
) -> tuple[TextChunk, ...]:
    """A note: one chunk, several when it is longer than notes may be (imported ones)."""
    return tuple(
        TextChunk(
            source=Source.USER_MEMORY,
            document_id=note_id,
            item_id=note_id,
            order=order,
            text=text,
            type=type,
            tags=tuple(tags),
            category=category,
            at=at,
            session_id=session_id,
            superseded=superseded,
            keywords=rationale,
        )
        for order, text in enumerate(cut(content, LONGEST_STATEMENT))
    )


def chunks_of_conversation(session_id: str, messages: Iterable[ConversationMessage]) -> tuple[TextChunk, ...]:
    """The messages of one session; empty ones are left out.

    May be called with the new messages only: `Message.sequence` places them among those indexed before.
    """
    return tuple(
        TextChunk(
            source=Source.CONVERSATION,
            document_id=session_id,
            item_id=message.id,
            order=message.sequence * PARTS + part,
            text=text,
            author=message.author,
            at=message.at,
            session_id=session_id,
        )
        for message in messages
        for part, text in enumerate(cut(message.content, LONGEST_STATEMENT))
        if text.strip()
    )


def sections(body: str) -> Iterator[tuple[str, str]]:
    """The sections of a Markdown text: (headers above it, text). A `#` line inside a code fence is no header."""
    path: list[tuple[int, str]] = []
    lines: list[str] = []
    fence = ""
    for line in body.splitlines():
        opened = _FENCE.match(line)
        if fence:
            if opened and opened[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        elif opened:
            fence = opened[1]
        elif header := _HEADER.match(line):
            yield _path(path), "\n".join(lines)
            lines = []
            level = len(header[1])
            path = [above for above in path if above[0] < level] + [
                (level, header[2].rstrip(" \t").rstrip("#").rstrip(" \t"))
            ]
            continue
        lines.append(line)
    yield _path(path), "\n".join(lines)


def cut(text: str, longest: int) -> list[str]:
    """`text` in parts of at most `longest` characters, cut at paragraphs, lines, sentences, words, in this order."""
    parts = []
    text = text.strip("\n")
    while len(text) > longest:
        end = _last_cut(text, longest)
        parts.append(text[:end].rstrip())
        text = text[end:].lstrip()
    return [*parts, text]


def _last_cut(text: str, longest: int) -> int:
    """The last good place to cut, not so early that slivers come of it; else the limit itself."""
    for pattern in _CUTS:
        places = [match.end() for match in pattern.finditer(text, 0, longest + 1) if longest // 3 < match.end()]
        if places:
            return min(places[-1], longest)
    return longest


def _path(path: list[tuple[int, str]]) -> str:
    return " › ".join(header for _, header in path)
