"""Search over one owner's memory: what the chunks are, how they are ranked, and the arrays that make it fast.

A pure core (values and numpy; lint keeps Django out): cutting texts into chunks, words, vectors, date cues, ranking,
and `OwnerIndex`, which holds one owner's chunks as arrays. It is what this package exports. Around it, with Django:
`store` (the table of chunks), `cache` (the indices in memory), `embedders` (which one the settings name), `service`
(what pages and tools call).
Not here: which owner may ask, and the wording of answers.

How good and how fast it is: `python -m benchmarks.retrieval`.
"""

from memory_app.search.ranking.chunking import (
    ConversationMessage,
    IndexRow,
    Source,
    TextChunk,
    chunks_of_block,
    chunks_of_conversation,
    chunks_of_note,
    row_of,
)
from memory_app.search.ranking.dense import Embedder, EmbedderUnavailable, WordEmbedder, stored, wordllama
from memory_app.search.ranking.index import ChunkHit, OwnerIndex, RankedChunks, Reasons
from memory_app.search.ranking.postings import ChunkFilters

__all__ = [
    "ChunkFilters",
    "ChunkHit",
    "ConversationMessage",
    "Embedder",
    "EmbedderUnavailable",
    "IndexRow",
    "OwnerIndex",
    "RankedChunks",
    "Reasons",
    "Source",
    "TextChunk",
    "WordEmbedder",
    "chunks_of_block",
    "chunks_of_conversation",
    "chunks_of_note",
    "row_of",
    "stored",
    "wordllama",
]
