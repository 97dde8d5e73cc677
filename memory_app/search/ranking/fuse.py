"""What each signal is worth.

Belongs here: weights, normalisation.
Not here: the signals themselves (`signals`) and their sum (`scoring`).

Each signal is brought to 0…1 over the chunks of one query (min-max) and summed; reciprocal ranks and z-scores were far
worse on the same questions. The weights are rounded from a fit on LoCoMo's five development conversations in which each
was ranked with weights fitted on the other four; no question was looked at alone. Half or one and a half times any one
of them moves MRR by at most .008: what is measured here is the signals, not the third digit of a weight.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from memory_app.search.ranking.columns import Mask
from memory_app.search.ranking.postings import Values


@dataclass(frozen=True)
class Weights:
    """What the signals of one kind of chunk are worth; those that a kind does not have are 0.

    Attributes:
        lexical: BM25. Of a message, over the message and its context.
        leading: the query names what the text opens with.
        cosine: similarity of the vectors.
        asked_cosine: that of the question which a message answers.
        document: BM25 of the whole session.
        author: the query names one author, and it is this one's.
        shape: the query asks for a time, a number or a name, and the text has one.
        question, brief: what a message loses for being a question, and for saying little ("Wow, great!").
        scale: brings the kinds to the same full score, so that they can be listed together.
    """

    lexical: float
    cosine: float
    leading: float = 0.0
    asked_cosine: float = 0.0
    document: float = 0.0
    author: float = 0.0
    shape: float = 0.3
    question: float = 0.0
    brief: float = 0.0
    scale: float = 1.0


#: Notes and passages of blocks: each stands for itself, and opens with what it is about ("Ann's exam …"): MRR on
#: LoCoMo's observations .543 → .552 undated, in four conversations of five; half the weight gives .546, one and a half
#: times .553.
STATEMENT = Weights(lexical=1.0, cosine=0.65, leading=0.35)
#: Messages: nobody says in one turn what it is about.
MESSAGE = Weights(
    lexical=1.0,
    cosine=0.3,
    asked_cosine=0.2,
    document=0.4,
    author=0.2,
    shape=0.4,
    question=0.1,
    brief=0.3,
    # Few statements open with all that is asked: half of it is their usual best.
    scale=(1.65 + 0.35 / 2) / 1.9,
)

#: Agreement with a date the query names, for every kind of chunk.
DATE = 1.0

#: A term of similar meaning counts by its cosine, a word one letter from a misspelt one by this.
RESPELT = 0.7

#: How much of a neighbour's words count as a message's own: all of a question just before it, less of others. The
#: answer to "Did you adopt that dog?" is found by "dog": MRR on LoCoMo's turns .606 → .658, and .668 when the words
#: are joined before BM25 saturates them instead of adding the neighbours' scores.
ASKED, BEFORE, AFTER = 1.0, (0.3, 0.3), (0.2, 0.2)

#: Words that count from which a message is as long as it need be.
SUBSTANTIAL = 40


def min_max_normalise(values: Values, among: Mask) -> Values:
    """`values` brought to 0…1 over the chunks in question; 0 elsewhere and when all are the same."""
    result = np.zeros_like(values)
    if not among.any():
        return result
    low, high = float(values[among].min()), float(values[among].max())
    if high > low:
        np.subtract(values, np.float32(low), out=result, where=among)
        result *= np.float32(1 / (high - low))
    return result


def max_score(weights: Weights, *, dated: bool, shaped: float) -> float:
    """The score of a chunk that is best in everything the query asks for."""
    plain = weights.lexical + weights.cosine + weights.leading + weights.asked_cosine + weights.document
    return weights.scale * (plain + DATE * dated + weights.shape * shaped)
