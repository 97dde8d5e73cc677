"""The row an index is loaded from: what is kept of a chunk so that a cold owner is there at once.

Belongs here: the row's shape and how a chunk becomes one. The table of chunks has a column for each field.
Not here: the chunk's own text, which no index holds: hits name chunks, and their texts are read for the few shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from memory_app.search.ranking.chunking import TextChunk
from memory_app.search.ranking.shape import marks
from memory_app.search.ranking.words import words


@dataclass(frozen=True, slots=True)
class IndexRow:
    """One chunk as it is indexed.

    Attributes:
        chunk_id: the key of the chunk in its table.
        terms: the words of the chunk in order, folded, stop words included, separated by single spaces. Words and not
            hashes of stems: similar and misspelt words are found through them, a changed stemmer or stop list needs no
            new index, and loading is as fast (one dictionary look-up per word).
        marks: `shape.Mark`, as a number.
        vector: float16, little-endian (`dense.stored`); b"" when there is none.
    """

    chunk_id: int
    source: str
    document_id: str
    item_id: str
    order: int
    terms: str
    marks: int
    vector: bytes = b""
    type: str = ""
    tags: tuple[str, ...] = ()
    category: str = ""
    author: str = ""
    at: datetime | None = None
    session_id: str = ""
    superseded: bool = False


def row_of(chunk_id: int, chunk: TextChunk, vector: bytes = b"") -> IndexRow:
    """The row of a chunk whose vector has been made (of `chunk.meaning`)."""
    return IndexRow(
        chunk_id=chunk_id,
        source=chunk.source.value,
        document_id=chunk.document_id,
        item_id=chunk.item_id,
        order=chunk.order,
        terms=" ".join(words(chunk.searched)),
        marks=int(marks(chunk.text)),
        vector=vector,
        type=chunk.type,
        tags=chunk.tags,
        category=chunk.category,
        author=chunk.author,
        at=chunk.at,
        session_id=chunk.session_id,
        superseded=chunk.superseded,
    )
