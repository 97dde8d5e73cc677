"""Search over one owner's memory: what the chunks are, how they are ranked, and the arrays that make it fast.

Belongs here: cutting texts into chunks, words, vectors, date cues, ranking, and `OwnerIndex`, which holds one owner's
chunks as arrays. Pure values and numpy; no Django, no database.
Not here: the table of chunks, when to index again, which owner may ask, and the wording of answers.

How good and how fast it is: `python -m benchmarks.retrieval`.
"""

from memory_app.search.chunking import Chunk, Message, Source, chunks_of_block, chunks_of_conversation, chunks_of_note
from memory_app.search.columns import Filters
from memory_app.search.dense import Embedder, EmbedderUnavailable, WordEmbedder, stored, wordllama
from memory_app.search.index import Found, Hit, OwnerIndex, Reasons, estimated_bytes
from memory_app.search.rows import Row, row_of

__all__ = [
    "Chunk",
    "Embedder",
    "EmbedderUnavailable",
    "Filters",
    "Found",
    "Hit",
    "Message",
    "OwnerIndex",
    "Reasons",
    "Row",
    "Source",
    "WordEmbedder",
    "chunks_of_block",
    "chunks_of_conversation",
    "chunks_of_note",
    "estimated_bytes",
    "row_of",
    "stored",
    "wordllama",
]
