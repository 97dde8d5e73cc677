"""The one number that orders the chunks: the signals, each times its worth, summed.

Belongs here: which signal counts for which kind of chunk.
Not here: the signals (`signals`), their worth (`fuse`), and who gets listed (`index`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from memory_app.search.ranking import dates, fuse, signals
from memory_app.search.ranking.columns import Columns, Mask
from memory_app.search.ranking.postings import Postings, Values
from memory_app.search.ranking.query import Asked
from memory_app.search.ranking.shape import ExpressionKind


def fused(
    asked: Asked,
    terms: Sequence[signals.Term],
    cosines: Values,
    stated: Mask,
    spoken: Mask,
    columns: Columns,
    postings: Postings,
) -> Values:
    """The score of each slot, as a share of the highest there could be.

    Arguments:
        stated, spoken: the slots of statements (notes, passages of blocks) and of messages that may be found.
    """
    meant = fuse.min_max_normalise(cosines, stated | spoken)
    scores = np.zeros(columns.size, dtype=np.float32)
    if asked.cues:
        scores += np.float32(fuse.DATE) * dates.agreement(asked.cues, columns.days)
    if asked.shape:
        fits = (columns.marks & asked.shape) != 0
        shapes = np.where(spoken, np.float32(fuse.MESSAGE.shape), np.float32(fuse.STATEMENT.shape))
        scores += shapes * np.float32(asked.shape_sure) * fits
    alone = signals.statements(terms, postings) if stated.any() else np.zeros_like(scores)
    joined = signals.messages(terms, postings, columns) if spoken.any() else np.zeros_like(scores)
    # One yardstick for both, or the best of the messages would equal the best of the notes however poor it is.
    lexical = np.where(spoken, joined, alone)
    most = float(lexical[stated | spoken].max(initial=0.0))
    if most > 0:
        lexical /= np.float32(most)
    scores += lexical
    weights = fuse.STATEMENT
    if stated.any():
        said = np.float32(weights.cosine) * meant + np.float32(weights.leading) * signals.leading(terms, postings)
        scores[stated] += said[stated]
    if spoken.any():
        scores[spoken] += _spoken(asked, terms, meant, spoken, columns, postings)[spoken]
        scores[spoken] *= np.float32(fuse.MESSAGE.scale)
    scores /= np.float32(fuse.max_score(weights, dated=bool(asked.cues), shaped=asked.shape_sure))
    return scores


def _spoken(
    asked: Asked, terms: Sequence[signals.Term], meant: Values, spoken: Mask, columns: Columns, postings: Postings
) -> Values:
    """The signals that only messages have."""
    weights, before = fuse.MESSAGE, columns.before
    asks = (columns.marks & ExpressionKind.QUESTION) != 0
    answers = (before >= 0) & asks[before]
    length = np.minimum(1, np.log1p(postings.lengths) / np.log1p(fuse.SUBSTANTIAL)).astype(np.float32)
    total = np.float32(weights.cosine) * meant
    total += np.float32(weights.asked_cosine) * np.where(answers, meant[before], np.float32(0))
    total += np.float32(weights.document) * signals.sessions(terms, postings, columns, spoken)
    total -= np.float32(weights.question) * asks + np.float32(weights.brief) * (1 - length)
    if asked.author is not None:
        total += np.float32(weights.author) * (columns.authors == asked.author)
    return total
