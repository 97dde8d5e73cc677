"""What a search finds: chunks of blocks, of notes and of conversations, and the row an index stores of each.

Belongs here: cutting a block by its sections and then by length, a note or message by length, and what of a chunk is
searched.
Not here: words (`vocabulary`), vectors (`dense`) and the table of chunks.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from memory_app.search.ranking.dates import named_days
from memory_app.search.ranking.query import marks
from memory_app.search.ranking.vocabulary import words
from memory_app.text.stems import folded

#: Characters of a block's chunk: a section of a student's block is rarely longer, and a longer one says several things.
LONGEST_PASSAGE = 1_000
#: Characters of a note's or message's chunk. Notes of agents, at most 2,000 characters, stay whole.
LONGEST_STATEMENT = 2_000
#: Room for the chunks of one message between those of its neighbours in `Chunk.order`.
PARTS = 4_096

# What may close a header (blanks, signs, blanks) is cut off by plain code. As part of this pattern, 1,000 blanks inside
# a title took 2.5 s and 3,000 over a minute, with every other thread waiting.
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
        """Return the text to embed."""
        return meaning(self.text, self.title, self.section, self.author)

    @property
    def searched(self) -> str:
        """What the words are taken from."""
        return "\n".join(part for part in (self.meaning, " ".join(self.tags), self.category, self.keywords) if part)


def meaning(text: str, title: str, section: str, author: str) -> str:
    """Return what is embedded of a chunk: its text under its headings, or behind its author's name."""
    return f"{author}: {text}" if author else "\n".join(part for part in (title, section, text) if part)


class IndexRow(NamedTuple):
    """One chunk as the index stores it: enough to load the arrays of an owner again.

    Attributes:
        text: only for telling which say the same; those of the few that are shown are read again.
        chunk_id: the key of the chunk in its table.
        terms: the words of the chunk in order, folded, stop words included, separated by single spaces. Words and not
            hashes of stems: similar and misspelt words are found through them, a changed stemmer or stop list needs no
            new index, and loading is as fast (one dictionary look-up per word). The days that the text names follow,
            each behind `_DAY`: reading them takes 20 µs, so loading does not.
        marks: `ExpressionKind`, as a number.
        vector: float16, little-endian (`dense.stored`); b"" where there is none.
    """

    chunk_id: int
    source: str
    document_id: str
    item_id: str
    order: int
    terms: str
    marks: int
    vector: bytes = b""
    text: str = ""
    type: str = ""
    tags: Sequence[str] = ()
    category: str = ""
    author: str = ""
    at: datetime | None = None
    session_id: str = ""
    superseded: bool = False

    @property
    def words(self) -> str:
        """Return `terms` without the days."""
        return self.terms.partition(_DAY)[0]

    @property
    def named_days(self) -> list[list[int]]:
        """Return year, month and day of each day that the text names, 0 for what it does not name."""
        return [[int(part) for part in day.split("-")] for day in self.terms.split(_DAY)[1:]]


#: No word begins with it.
_DAY = " @"


#: What a row, and the table of chunks, take from a chunk as it is.
_COPIED = tuple(name for name in IndexRow._fields if name in TextChunk.__dataclass_fields__)


def row_of(chunk_id: int, chunk: TextChunk, vector: bytes = b"") -> IndexRow:
    """Return the row of a chunk.

    Arguments:
        vector: made of `chunk.meaning`.
    """
    cues = dict.fromkeys(day.cue for day in named_days(folded(chunk.searched)))
    days = [f"{cue.year or 0}-{cue.month or 0}-{cue.day or 0}" for cue in cues]
    return IndexRow(
        chunk_id=chunk_id,
        terms=" ".join(words(chunk.searched)) + "".join(f"{_DAY}{day}" for day in days),
        marks=int(marks(chunk.text)),
        vector=vector,
        **{name: getattr(chunk, name) for name in _COPIED},
    )


def chunks_of_block(
    *, label: str, title: str, body: str, description: str = "", at: datetime | None = None
) -> tuple[TextChunk, ...]:
    """Return the sections of a block, cut where they are long; the description is searched with the first."""
    passages = [
        (section, part) for section, text in sections(body) for part in cut(text, LONGEST_PASSAGE) if part.strip()
    ]
    if not passages:
        # An empty block is still found by its title.
        passages = [("", description or title)]
    first = f"{label}\n{description}"
    return tuple(
        TextChunk(
            Source.MEMORY_BLOCK, label, label, order, text, title, section, at=at, keywords=label if order else first
        )
        for order, (section, text) in enumerate(passages)
    )


def chunks_of_note(
    *, note_id: str, content: str, type: str = "note", tags: Iterable[str] = (), rationale: str = "", **more: Any
) -> tuple[TextChunk, ...]:
    """Return the chunks of a note: one, or several where it is longer than `LONGEST_STATEMENT` (imported ones).

    Args:
        more: `category`, `at`, `session_id` and `superseded` of each `TextChunk`.
    """
    said: dict[str, Any] = {"type": type, "tags": tuple(tags), "keywords": rationale, **more}
    return tuple(
        TextChunk(Source.USER_MEMORY, note_id, note_id, order, text, **said)
        for order, text in enumerate(cut(content, LONGEST_STATEMENT))
    )


def chunks_of_message(
    session_id: str, id_: str, content: str, *, sequence: int, author: str, at: datetime | None = None
) -> tuple[TextChunk, ...]:
    """Return the chunks of a message, none of an empty one. `sequence` places it among the others of its session."""
    said: dict[str, Any] = {"author": author, "at": at, "session_id": session_id}
    return tuple(
        TextChunk(Source.CONVERSATION, session_id, id_, order, text, **said)
        for order, text in enumerate(cut(content, LONGEST_STATEMENT), sequence * PARTS)
        if text.strip()
    )


def sections(body: str) -> Iterator[tuple[str, str]]:
    """Yield the sections of a Markdown text: (headers above it, text). A `#` line inside a code fence is no header."""
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
    """Return `text` in parts of at most `longest` characters, cut at paragraphs, lines, sentences or words, in this
    order of preference."""
    parts = []
    text = text.strip("\n")
    while len(text) > longest:
        end = _last_cut(text, longest)
        parts.append(text[:end].rstrip())
        text = text[end:].lstrip()
    return [*parts, text]


def _last_cut(text: str, longest: int) -> int:
    """Return the last good place to cut, not before a third of the limit; else the limit itself."""
    for pattern in _CUTS:
        places = [match.end() for match in pattern.finditer(text, 0, longest + 1) if longest // 3 < match.end()]
        if places:
            return min(places[-1], longest)
    return longest


def _path(path: list[tuple[int, str]]) -> str:
    return " › ".join(header for _, header in path)
