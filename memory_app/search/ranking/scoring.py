"""The score of every chunk for a query: the signals, each min-max normalised, times its weight, summed.

Belongs here: BM25 of statements (with similar terms), of messages in their context and of sessions; what a statement
opens with; the weights; the sum.
Not here: postings (`postings`), which chunks match (`index`) and which of them are answered (`selection`).

Reciprocal ranks and z-scores instead of min-max were far worse on the same questions. The weights are rounded from a
fit on LoCoMo's five development conversations, in which each was ranked with weights fitted on the other four; no
question was looked at alone. Half or one and a half times any one weight moves MRR by at most .008: the signals are
what was measured, not the third digit of a weight.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from memory_app.search.ranking import dates
from memory_app.search.ranking.postings import BLOCK, K1, LEADING, Columns, Mask, Postings, Slots, Values
from memory_app.search.ranking.query import ExpressionKind, ParsedQuery
from memory_app.search.ranking.selection import WordVectors

# The weights of the signals. That of BM25 is 1: of a message, over the message and its context.

#: Statements: notes and passages of blocks. Each is understood alone and opens with its subject ("Ann's exam …"):
#: similarity of the vectors, and the query naming what the text opens with. The second brings MRR on LoCoMo's
#: observations from .543 to .552 undated, in four conversations of five; half the weight gives .546, one and a half
#: times .553.
STATEMENT_COSINE, LEADING_NAMED = 0.65, 0.35
#: The score of a statement that is best in everything, where a query asks for no day and no kind of expression.
_BEST = 1 + STATEMENT_COSINE + LEADING_NAMED
#: The query asks for a time, a number or a name, and the text contains one.
STATEMENT_KIND, MESSAGE_KIND = 0.3, 0.4
#: Messages, since a single turn seldom names its subject: similarity of its vector and that of the question it answers,
#: BM25 of the whole session, and the query naming its author.
MESSAGE_COSINE, QUESTION_COSINE, SESSION, AUTHOR = 0.3, 0.2, 0.4, 0.2
#: What a message loses for being a question, and for saying little ("Wow, great!").
QUESTION, BRIEF = 0.1, 0.3
#: Brings messages to the same full score, to be ranked together with statements. Few of those open with all that is
#: asked: half of it is their usual best.
MESSAGE_SCALE = (1.65 + 0.35 / 2) / 1.9

#: Agreement with a date the query names, for every kind of chunk.
DATE = 1.0

#: A term of similar meaning counts by its cosine, a word one letter from a misspelt one by this.
TYPO_WEIGHT = 0.7

#: How much of a neighbour's words count as a message's own: all of a question just before it, less of others. The
#: answer to "Did you adopt that dog?" is found by "dog": MRR on LoCoMo's turns .606 → .658, and .668 when the words
#: are joined before BM25 saturates them instead of adding the neighbours' scores.
QUESTION_BEFORE, BEFORE, AFTER = 1.0, (0.3, 0.3), (0.2, 0.2)

#: Words that count of a note: one of at most so many that has every word of the query once says all that is asked.
USUAL_LENGTH = 15

#: Words that count from which a message loses nothing for being brief.
SUBSTANTIAL = 40

#: Sessions are long, so repetition says more and length misleads more than within a chunk.
_DOCUMENT_K1, _DOCUMENT_B = 1.2, 0.4


@dataclass(frozen=True)
class QueryTerm:
    """One word of a query with its IDF, its postings, and terms of similar meaning by their cosine.

    Attributes:
        surface: the word as the chunks have it, which is another one where the query misspelt it.
        term: its number; None where no chunk ever had it, and for a day.
        is_day: it is a day or month; `counts` say how well those that the chunks name agree with it.
    """

    surface: str
    term: int | None
    idf: float
    slots: Slots
    counts: Values
    similar: tuple[tuple[int, float], ...] = ()
    is_day: bool = False


def days_of(cues: Sequence[dates.Cue], columns: Columns, postings: Postings) -> list[QueryTerm]:
    """Return the days of a query with the chunks that name them, in whatever notation.

    Months only find and agree: weighted as a word, they cost LoCoMo's observations .002 of R@1.
    """
    found = []
    for cue in cues:
        degrees = np.zeros(columns.size, dtype=np.float32)
        np.maximum.at(degrees, columns.named_days[:, 0], dates.named_agreement(cue, columns.named_days[:, 1:]))
        slots = np.flatnonzero(degrees * columns.live).astype(np.int32)
        idf = postings.idf_of(len(slots)) if cue.day else 0.0
        found.append(QueryTerm(str(cue), None, idf, slots, degrees[slots], is_day=True))
    return found


def terms_of(
    words: Sequence[str], postings: Postings, vectors: WordVectors | None, *, similar: bool, misspelt: Sequence[str]
) -> list[QueryTerm]:
    """Return the query's words with their postings.

    Arguments:
        similar: whether similar terms are wanted too.
        misspelt: words that may be misspellings of known ones, where no chunk has them.
    """
    near = vectors.nearest(words) if vectors is not None and similar else [[] for _ in words]
    found = []
    seen: set[int] = set()
    for word, close in zip(words, near, strict=True):
        term = postings.vocabulary.term(word)
        if term in seen:
            continue
        surface, weight = word, 1.0
        slots, counts = (np.zeros(0, np.int32), np.zeros(0, np.float32)) if term is None else postings.of(term)
        if not len(slots) and word in misspelt:
            for other in postings.vocabulary.one_letter_away(word):
                candidate = postings.vocabulary.term(other)
                if candidate is not None and len(postings.of(candidate)[0]) > len(slots):
                    term, surface, weight = candidate, other, TYPO_WEIGHT
                    slots, counts = postings.of(candidate)
        if term is not None:
            seen.add(term)
        found.append(
            QueryTerm(
                surface=surface,
                term=term,
                idf=weight * postings.idf(term),
                slots=slots,
                counts=counts,
                similar=tuple((other, cosine) for other, cosine in close if other != term),
            )
        )
    return found


def score_chunks(
    parsed: ParsedQuery,
    terms: Sequence[QueryTerm],
    cosines: Values,
    statement_mask: Mask,
    message_mask: Mask,
    columns: Columns,
    postings: Postings,
) -> tuple[Values, Values]:
    """Return the score of each slot, which orders the hits of this query, and its evidence.

    The evidence, 0 to 1, can be compared between queries: the share of the query's words that the chunk has, rare words
    counting more and similar ones by their likeness, and the likeness of the whole; either is enough. As the order it
    was worse: MRR .671 → .658 on LoCoMo's turns, since min-max makes the best of a weak signal count.

    Arguments:
        statement_mask, message_mask: the eligible slots of statements and of messages.
    """
    eligible = statement_mask | message_mask
    similarity = min_max_normalise(cosines, eligible)
    scores = np.zeros(columns.size, dtype=np.float32)
    if parsed.cues:
        agreement = dates.agreement(parsed.cues, columns.days)
        for term in terms:
            if term.is_day:
                agreement[term.slots] = np.maximum(agreement[term.slots], term.counts)
        scores += np.float32(DATE) * agreement
    if parsed.kind:
        fits = (columns.marks & parsed.kind) != 0
        weights = np.where(message_mask, np.float32(MESSAGE_KIND), np.float32(STATEMENT_KIND))
        scores += weights * np.float32(parsed.kind_certainty) * fits
    norms = postings.norms
    lexical = _statement_bm25(terms, postings, norms) if statement_mask.any() else np.zeros_like(scores)
    if message_mask.any():
        lexical[message_mask] = _message_bm25(terms, norms, columns)[message_mask]
    # BM25 hardly falls with the length (b = .2): a word in passing would make a passage of 150 words be about it.
    brevity = (1 + norms) / (1 + K1 * np.maximum(postings.lengths / USUAL_LENGTH, 1))
    possible = max(sum(term.idf for term in terms), 1e-9) / (1 + K1)
    said = np.minimum(lexical * brevity / np.float32(possible), 1)
    lexical = np.where(columns.sources == BLOCK, lexical * brevity, lexical)
    evidence = 1 - (1 - said) * (1 - np.clip(cosines, 0, 1))
    # One maximum for both, or the best of the messages would equal the best of the notes however poor it is.
    most = float(lexical[eligible].max(initial=0.0))
    if most > 0:
        lexical /= np.float32(most)
    scores += lexical
    if statement_mask.any():
        own = np.float32(STATEMENT_COSINE) * similarity + np.float32(LEADING_NAMED) * _leading(terms, postings)
        scores[statement_mask] += own[statement_mask]
    if message_mask.any():
        own = _message_signals(parsed, terms, similarity, message_mask, columns, postings)
        scores[message_mask] += own[message_mask]
        scores[message_mask] *= np.float32(MESSAGE_SCALE)
    scores /= np.float32(_BEST + DATE * bool(parsed.cues) + STATEMENT_KIND * parsed.kind_certainty)
    return scores, evidence


def _message_signals(
    parsed: ParsedQuery,
    terms: Sequence[QueryTerm],
    similarity: Values,
    message_mask: Mask,
    columns: Columns,
    postings: Postings,
) -> Values:
    """Return the weighted sum of the signals that only messages have."""
    before = columns.before
    questions = (columns.marks & ExpressionKind.QUESTION) != 0
    answers = (before >= 0) & questions[before]
    length = np.minimum(1, np.log1p(postings.lengths) / np.log1p(SUBSTANTIAL)).astype(np.float32)
    total = np.float32(MESSAGE_COSINE) * similarity
    total += np.float32(QUESTION_COSINE) * np.where(answers, similarity[before], np.float32(0))
    total += np.float32(SESSION) * _session_bm25(terms, postings, columns, message_mask)
    total -= np.float32(QUESTION) * questions + np.float32(BRIEF) * (1 - length)
    if parsed.author is not None:
        total += np.float32(AUTHOR) * (columns.authors == parsed.author)
    return total


def _statement_bm25(terms: Sequence[QueryTerm], postings: Postings, norms: Values) -> Values:
    """Return the BM25 of each chunk by itself. Where a chunk lacks a word, a similar term counts by its cosine."""
    total = np.zeros(postings.slots, dtype=np.float32)
    best = np.zeros(postings.slots, dtype=np.float32)
    for term in terms:
        best[:] = 0
        best[term.slots] = term.counts / (term.counts + norms[term.slots])
        for other, cosine in term.similar:
            slots, counts = postings.of(other)
            best[slots] = np.maximum(best[slots], np.float32(cosine) * counts / (counts + norms[slots]))
        # Of all slots at once: of those touched, it took four times as long at 2,000 notes.
        total += np.float32(term.idf) * best
    return total


def _leading(terms: Sequence[QueryTerm], postings: Postings) -> Values:
    """Return how much of what each chunk opens with the query names, 0 to 1."""
    shares = 1 / np.arange(1, LEADING + 1, dtype=np.float32)
    total = np.zeros(postings.slots, dtype=np.float32)
    for term in terms:
        if term.term is not None:
            total[term.slots] += ((postings.lead_terms[term.slots] == term.term) * shares).max(axis=1, initial=0)
    total /= shares.sum()
    return total


def _message_bm25(terms: Sequence[QueryTerm], norms: Values, columns: Columns) -> Values:
    """Return the BM25 of each chunk over its own words and, by share, those of its neighbours."""
    before, after = columns.before, columns.after
    questions = (columns.marks & ExpressionKind.QUESTION) != 0
    total = np.zeros(columns.size, dtype=np.float32)
    count = np.zeros(columns.size, dtype=np.float32)
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
                    weight[questions[term.slots[linked]]] = QUESTION_BEFORE
                # Each chunk is the neighbour of one: no slot comes twice in `slots`.
                count[slots] += weight * counts
                touched.append(slots)
        for slots in touched:
            counts = count[slots]
            total[slots] += np.float32(term.idf) * counts / (counts + norms[slots])
            count[slots] = 0
    return total


def _session_bm25(terms: Sequence[QueryTerm], postings: Postings, columns: Columns, eligible: Mask) -> Values:
    """Return the BM25 of whole documents, given to each of their eligible chunks and normalised."""
    documents = columns.documents
    chosen = documents[eligible]
    size = int(documents.max(initial=0)) + 1
    lengths = np.bincount(chosen, weights=postings.lengths[eligible], minlength=size)
    present = np.bincount(chosen, minlength=size) > 0
    norms = _DOCUMENT_K1 * (1 - _DOCUMENT_B + _DOCUMENT_B * lengths / max(float(lengths[present].mean()), 1e-9))
    total = np.zeros(size)
    for term in terms:
        kept = eligible[term.slots]
        counts = np.bincount(documents[term.slots[kept]], weights=term.counts[kept], minlength=size)
        frequency = int(np.count_nonzero(counts))
        idf = np.log(1 + (present.sum() - frequency + 0.5) / (frequency + 0.5))
        total += idf * counts / (counts + norms)
    return min_max_normalise(total[documents].astype(np.float32), eligible)


def min_max_normalise(values: Values, eligible: Mask) -> Values:
    """Return `values` brought to 0…1 over the eligible chunks; 0 elsewhere and where all are the same."""
    result = np.zeros_like(values)
    chosen = values[eligible]
    if not len(chosen):
        return result
    low, high = float(chosen.min()), float(chosen.max())
    if high > low:
        np.subtract(values, np.float32(low), out=result, where=eligible)
        result *= np.float32(1 / (high - low))
    return result
