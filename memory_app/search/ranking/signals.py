"""The signals a ranking is made of, each an array over all slots of an owner.

Belongs here: BM25 of statements (with similar terms), of messages in their context and of sessions; what
statements open with.
Not here: postings (`lexical`), what signals are worth (`fuse`), and who gets listed (`index`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from memory_app.search.ranking.columns import Columns, Mask
from memory_app.search.ranking.fuse import AFTER, ASKED, BEFORE, RESPELT
from memory_app.search.ranking.postings import LEADING, Postings, Slots, Values
from memory_app.search.ranking.shape import ExpressionKind
from memory_app.search.ranking.similar import WordVectors

#: Sessions are long, so repetition says more and length misleads more than within a chunk.
_DOCUMENT_K1, _DOCUMENT_B = 1.2, 0.4


@dataclass(frozen=True)
class Term:
    """One word of a query: its rarity, the chunks that hold it, and terms of similar meaning by their cosine.

    Attributes:
        word: as the query has it; `held` the known word, when the query's is a misspelling.
        term: of the held word; None when no chunk ever had it.
    """

    word: str
    held: str
    term: int | None
    rarity: float
    slots: Slots
    counts: Values
    similar: tuple[tuple[int, float], ...] = ()


def terms_of(
    words: Sequence[str], postings: Postings, vectors: WordVectors | None, *, similar: bool, misspelt: Sequence[str]
) -> list[Term]:
    """The query's words with their postings.

    Arguments:
        similar: whether similar terms are wanted too.
        misspelt: words that may be misspellings of known ones, when no chunk holds them.
    """
    near = vectors.nearest(words) if vectors is not None and similar else [[] for _ in words]
    found = []
    seen: set[int] = set()
    for word, close in zip(words, near, strict=True):
        term = postings.vocabulary.term(word)
        if term in seen:
            continue
        held, weight = word, 1.0
        slots, counts = (np.zeros(0, np.int32), np.zeros(0, np.float32)) if term is None else postings.holding(term)
        if not len(slots) and word in misspelt:
            for other in postings.vocabulary.respelt(word):
                candidate = postings.vocabulary.term(other)
                if candidate is not None and len(postings.holding(candidate)[0]) > len(slots):
                    term, held, weight = candidate, other, RESPELT
                    slots, counts = postings.holding(candidate)
        if term is not None:
            seen.add(term)
        found.append(
            Term(
                word=word,
                held=held,
                term=term,
                rarity=weight * postings.rarity(term),
                slots=slots,
                counts=counts,
                similar=tuple((other, cosine) for other, cosine in close if other != term),
            )
        )
    return found


def statements(terms: Sequence[Term], postings: Postings) -> Values:
    """BM25 of each chunk by itself. A term of similar meaning counts by its cosine where the word is not."""
    norms = postings.norms
    total = np.zeros(postings.slots, dtype=np.float32)
    best = np.zeros(postings.slots, dtype=np.float32)
    for term in terms:
        best[term.slots] = term.counts / (term.counts + norms[term.slots])
        touched = [term.slots]
        for other, cosine in term.similar:
            slots, counts = postings.holding(other)
            best[slots] = np.maximum(best[slots], np.float32(cosine) * counts / (counts + norms[slots]))
            touched.append(slots)
        for slots in touched:
            # Emptied as it is added, so that a slot touched twice counts once.
            total[slots] += np.float32(term.rarity) * best[slots]
            best[slots] = 0
    return total


def leading(terms: Sequence[Term], postings: Postings) -> Values:
    """How much of what each chunk opens with the query names, 0 to 1."""
    shares = 1 / np.arange(1, LEADING + 1, dtype=np.float32)
    total = np.zeros(postings.slots, dtype=np.float32)
    for term in terms:
        if term.term is not None:
            total[term.slots] += ((postings.leads[term.slots] == term.term) * shares).max(axis=1, initial=0)
    total /= shares.sum()
    return total


def messages(terms: Sequence[Term], postings: Postings, columns: Columns) -> Values:
    """BM25 of each chunk over its own words and, by share, those of its neighbours."""
    norms, before, after = postings.norms, columns.before, columns.after
    asks = (columns.marks & ExpressionKind.QUESTION) != 0
    total = np.zeros(postings.slots, dtype=np.float32)
    count = np.zeros(postings.slots, dtype=np.float32)
    for term in terms:
        touched = [term.slots]
        count[term.slots] = term.counts
        for links, shares in ((after, BEFORE), (before, AFTER)):
            slots, counts = term.slots, term.counts
            for step, share in enumerate(shares):
                reached = links[slots]
                linked = reached >= 0
                slots, counts = reached[linked], counts[linked]
                weight = np.full(len(slots), share, dtype=np.float32)
                if links is after and step == 0:
                    weight[asks[term.slots[linked]]] = ASKED
                # Each chunk is the neighbour of one: no slot comes twice in `slots`.
                count[slots] += weight * counts
                touched.append(slots)
        for slots in touched:
            counts = count[slots]
            total[slots] += np.float32(term.rarity) * counts / (counts + norms[slots])
            count[slots] = 0
    return total


def sessions(terms: Sequence[Term], postings: Postings, columns: Columns, among: Mask) -> Values:
    """BM25 of whole documents, given to each of their chunks in `among`."""
    documents = columns.documents
    chosen = documents[among]
    size = len(columns.document_keys.texts)
    lengths = np.bincount(chosen, weights=postings.lengths[among], minlength=size)
    there = np.bincount(chosen, minlength=size) > 0
    norms = _DOCUMENT_K1 * (1 - _DOCUMENT_B + _DOCUMENT_B * lengths / max(float(lengths[there].mean()), 1e-9))
    total = np.zeros(size)
    for term in terms:
        kept = among[term.slots]
        counts = np.bincount(documents[term.slots[kept]], weights=term.counts[kept], minlength=size)
        held = int(np.count_nonzero(counts))
        rarity = np.log(1 + (there.sum() - held + 0.5) / (held + 0.5))
        total += rarity * counts / (counts + norms)
    low, high = float(total[there].min()), float(total[there].max())
    result = np.zeros(postings.slots, dtype=np.float32)
    if high > low:
        result[among] = ((total - low) / (high - low))[chosen]
    return result
