"""One owner's chunks as arrays, and the search over them.

Belongs here: building from rows, adding and removing chunks, which chunks match a query, memory size.
Not here: keeping the indices of several owners within a bound on memory (`cache`), and the texts of hits (`service`).
"""

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import accumulate

import numpy as np

from memory_app.search.ranking import scoring, selection
from memory_app.search.ranking.chunking import IndexRow
from memory_app.search.ranking.dense import (
    Embedder,
    EmbedderUnavailable,
    Quantised,
    Vector,
    WordEmbedder,
    cosines,
    query_vector,
    unit,
)
from memory_app.search.ranking.packed import PackedRows, packed, parts
from memory_app.search.ranking.postings import (
    CONVERSATION,
    NOTE,
    ChunkFilters,
    Columns,
    Mask,
    Postings,
    Values,
    grown,
)
from memory_app.search.ranking.query import ExpressionKind, ParsedQuery, first_name, parse_query
from memory_app.search.ranking.selection import Scores, WordVectors, best_slots
from memory_app.search.ranking.vocabulary import LONGEST_QUERY
from memory_app.text import context_budget

#: A chunk that shares no word with the query is listed from this cosine on. One in 360 chunks about other people's
#: lives passes at .25 (1 in 84 at .2, 1 in 2,000 at .3), and so does "pass algebra" for "mathematics" (.256).
COSINE_FLOOR = 0.25
#: What the likeness of words in other alphabets counts: it orders the nearest notes, and matches nothing.
_FOREIGN = 0.2


@dataclass(frozen=True, slots=True)
class ChunkHit:
    """A chunk that was found.

    Attributes:
        score: how much of what the query asks for it says, 0 to 1 (`scoring.score_chunks`, evidence); at most that of
            the hit before it.
        words: words of the query that the chunk has; of a word the query misspelt, the chunk's spelling.
        same: ids of other notes that say the same, which are no hits.
        weak: it does not match; it is one of the nearest notes (`OwnerIndex.search`, `for_agents`).
    """

    chunk_id: int
    item_id: str
    score: float
    words: tuple[str, ...] = ()
    weak: bool = False
    same: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RankedChunks:
    """The hits, best first.

    Attributes:
        is_near: whether a weak hit is nearer than unrelated notes usually are.
        by_words_only: there is no embedder, or it did not answer, so meaning was left out.
    """

    hits: tuple[ChunkHit, ...]
    by_words_only: bool = False
    is_near: bool = False


@dataclass(frozen=True, slots=True)
class _Ranked:
    """The slots that answer a query, best first, and what their hits tell."""

    slots: Sequence[int]
    terms: Sequence[scoring.QueryTerm]
    matching: Mask
    evidence: Values
    by_words_only: bool
    is_near: bool


class OwnerIndex:
    """The index of one owner. All methods may be called from any thread.

    Arguments:
        rows: the owner's chunks, in any order.
        embedder: the one that made the rows' vectors; without one, search is by words alone.
        batches: more of the owner's chunks, packed.
    """

    def __init__(
        self, rows: Sequence[IndexRow] = (), embedder: Embedder | None = None, batches: Sequence[PackedRows] = ()
    ) -> None:
        self._lock = threading.RLock()
        self._embedder = embedder
        self._word_embedder = embedder if isinstance(embedder, WordEmbedder) else None
        self._postings = Postings()
        self._columns = Columns()
        self._vectors: Quantised = np.zeros((0, embedder.dimensions if embedder else 0), dtype=np.int8)
        self._scales: Values = np.zeros(0, dtype=np.float32)
        self._word_vectors = WordVectors(self._word_embedder, self._postings) if self._word_embedder else None
        self._authors: dict[int, str] = {}
        self._append([*batches, packed(rows, embedder)] if rows else batches)

    def __len__(self) -> int:
        return self._postings.live_count

    @property
    def nbytes(self) -> int:
        """Bytes of memory held, near enough to bound the sum over owners."""
        word_vectors = self._word_vectors.nbytes if self._word_vectors else 0
        vectors = self._vectors.nbytes + self._scales.nbytes + word_vectors
        return self._postings.nbytes + self._columns.nbytes + vectors

    @property
    def is_fragmented(self) -> bool:
        """Whether so many chunks were removed that building the arrays again from rows frees much memory."""
        return self._columns.size - len(self) > max(1_000, len(self))

    def add(self, rows: Sequence[IndexRow]) -> None:
        """Add chunks; one whose id is known already is replaced."""
        with self._lock:
            rows = list({row.chunk_id: row for row in rows}.values())
            self.remove(row.chunk_id for row in rows)
            if rows:
                self._append([packed(rows, self._embedder)])

    def _append(self, batches: Sequence[PackedRows]) -> None:
        """Add chunks that are not there yet."""
        if not batches:
            return
        first, columns, vocabulary = self._columns.size, self._columns, self._postings.vocabulary
        columns.extend(batches)
        said = []
        for batch in batches:
            known, arrays = len(vocabulary), batch.arrays
            terms, fresh = vocabulary.learn(batch.texts["words"], batch.texts["stems"])
            said.append(terms[arrays["words"]])
            if self._word_vectors and "pieces" in arrays:
                pieces = parts(arrays["pieces"], arrays["piece_sizes"], fresh)
                self._word_vectors.learn(known, pieces, arrays["piece_sizes"][fresh], arrays["lengths"][fresh])
        self._postings.extend(np.concatenate(said), np.concatenate([batch.arrays["sizes"] for batch in batches]))
        if columns.strings.is_to_pack or not first:
            columns.strings.pack()
        self._vectors, self._scales = (grown(each, columns.size) for each in (self._vectors, self._scales))
        for start, batch in zip(accumulate(map(len, batches), initial=first), batches, strict=False):
            vectors, some = batch.arrays.get("vectors"), slice(start, start + len(batch))
            if vectors is not None and vectors.shape[1] == self._vectors.shape[1]:  # others stay zeros
                self._vectors[some], self._scales[some] = vectors, batch.arrays["scales"]
        for author in np.unique(columns.authors[first:]).tolist():
            if name := columns.strings.text(author):
                self._authors[author] = first_name(name)

    def remove(self, chunk_ids: Iterable[int]) -> None:
        """Remove chunks; unknown ids are ignored."""
        with self._lock:
            columns = self._columns
            for slot in np.flatnonzero(columns.live & np.isin(columns.chunk_ids, list(chunk_ids))).tolist():
                self._postings.remove(slot)
                columns.remove(slot)

    def replace(self, chunk_ids: Iterable[int], rows: Sequence[IndexRow]) -> None:
        """Replace chunks by `rows` in one step: a search finds either the old or the new."""
        with self._lock:
            self.remove(chunk_ids)
            self.add(rows)

    def search(
        self,
        query: str,
        *,
        filters: ChunkFilters | None = None,
        top_k: int = 5,
        today: date | None = None,
        cosine_floor: float = COSINE_FLOOR,
        for_agents: bool = False,
        recalled: Mapping[str, int] | None = None,
    ) -> RankedChunks:
        """Return the best chunks for a query, best first; equal texts, and chunks of one note or message, only once.

        A chunk matches if it shares a word with the query, is named by it, or reaches `cosine_floor`: there may be
        none. Of a long query the beginning counts (`LONGEST_QUERY`).

        Arguments:
            today: what "last week" in the query is relative to; without it such words are no dates.
            for_agents: matching notes keep their places where passages of blocks score better, and where nothing
                matches, the nearest notes are weak hits (`selection.best_slots_for_agents`).
            recalled: for a question about everything, how often notes were recalled, by id: those that do not match
                follow, the most valuable first (`context_budget.worth`).
        """
        filters = filters or ChunkFilters()
        # Before the lock is taken: a service that hangs for 5 s would hold up the owner's other searches one by one.
        whole = self._whole_vector(query, filters)
        with self._lock:
            ranked = self._ranked(query, filters, max(top_k, 0), today, cosine_floor, whole, for_agents, recalled)
            if ranked is None:
                return RankedChunks(())
            return RankedChunks(tuple(self._hits(ranked)), ranked.by_words_only, ranked.is_near)

    def rank_items(
        self,
        query: str,
        *,
        filters: ChunkFilters | None = None,
        top_k: int | None = None,
        today: date | None = None,
        cosine_floor: float = COSINE_FLOOR,
    ) -> tuple[str, ...]:
        """Return the ids of the items that `search` finds, in its order, each once; without `top_k` all of them.

        Hits say which words they have, which takes long for 10,000 of them; their order alone takes 20 ms.
        """
        filters = filters or ChunkFilters()
        whole = self._whole_vector(query, filters)
        with self._lock:
            most = self._columns.size if top_k is None else top_k
            ranked = self._ranked(query, filters, most, today, cosine_floor, whole, folded=False)
            columns = self._columns
            slots = ranked.slots if ranked else ()
            return tuple(dict.fromkeys(columns.strings.text(int(columns.items[slot])) for slot in slots))

    def _eligible(self, filters: ChunkFilters) -> Mask:
        return self._columns.eligible(filters) if self._columns.size else np.zeros(0, dtype=bool)

    def _whole_vector(self, query: str, filters: ChunkFilters) -> Vector | None:
        """Return the vector of the query as a whole.

        None where it is made of its words' vectors, nothing is searched, or the embedder failed.
        """
        if self._embedder is None or self._word_embedder is not None:
            return None
        with self._lock:
            if not self._eligible(filters).any():
                return None
        try:
            whole: Vector = unit(self._embedder.embed([query[:LONGEST_QUERY]]))[0]
            return whole
        except EmbedderUnavailable:
            return None

    def _ranked(
        self,
        query: str,
        filters: ChunkFilters,
        top_k: int,
        today: date | None,
        cosine_floor: float,
        whole: Vector | None,
        for_agents: bool = False,
        recalled: Mapping[str, int] | None = None,
        folded: bool = True,
    ) -> _Ranked | None:
        """Return the best slots for a query; None where the filters leave no chunk."""
        eligible = self._eligible(filters)
        if not eligible.any():
            return None
        parsed = parse_query(query, self._authors, today)
        columns = self._columns
        message_mask = eligible & (columns.sources == CONVERSATION)
        statement_mask = eligible & ~message_mask
        has_statements, misspelt = bool(statement_mask.any()), self._unknown_words(parsed)
        terms = scoring.terms_of(
            parsed.words, self._postings, self._word_vectors, similar=has_statements, misspelt=misspelt
        )
        vector = self._vector_of_words(terms) if whole is None else whole
        cosines = self._cosines(vector)
        exact = self._named(parsed, eligible)
        days = scoring.days_of(parsed.days, columns, self._postings)
        terms = [term for term in terms if term.surface not in parsed.day_words] + days
        if any(cue.day for cue in parsed.days):
            # What names another day is not near that day, however alike: "2026-11-12" and "2026-11-20" have .9.
            other = np.setdiff1d(columns.named_days[:, 0], np.concatenate([day.slots for day in days]))
            cosines[other] = np.minimum(cosines[other], 0)

        matching = exact | (cosines >= cosine_floor)
        for term in terms:
            matching[term.slots] = True
        if message_mask.any():
            # "Yes, a spaniel!" is found by the question it answers, whose words it does not repeat.
            before = columns.before
            is_question = (columns.marks & ExpressionKind.QUESTION) != 0
            matching |= message_mask & (before >= 0) & matching[before] & is_question[before]
        matching &= eligible
        scores, evidence = scoring.score_chunks(
            parsed, terms, cosines, statement_mask, message_mask, columns, self._postings
        )
        scores[exact] += 1
        evidence[exact] = 1
        is_near = False
        if for_agents:
            notes = eligible & (columns.sources == NOTE)
            is_near = bool((evidence[notes] >= selection.near_from(notes)).any())
            worth = None if recalled is None else self._worth(recalled)
            matching = selection.answers_for_agents(columns, evidence, matching, notes)
            best = selection.best_slots_for_agents(columns, scores, evidence, matching, notes, worth, top_k)
        else:
            best = best_slots(columns, scores, matching, top_k, folded=folded)
        return _Ranked(best, terms, matching, evidence, vector is None, is_near)

    def _worth(self, recalled: Mapping[str, int]) -> Scores:
        """Return how much each chunk is worth by its age, and by how often its note was recalled."""
        strings = self._columns.strings
        more = np.zeros(len(strings) + 1)  # the last one is of unknown ids
        more[[strings.known(item) for item in recalled]] = [context_budget.bonus(each) for each in recalled.values()]
        worth: Scores = self._columns.seconds + more[self._columns.items]
        return worth

    def _vector_of_words(self, terms: Sequence[scoring.QueryTerm]) -> Vector | None:
        """Return the vector of a query made of its words; None without vectors of words.

        Where all are of another alphabet its length is `_FOREIGN`: at full length, 21 of 28 questions in Chinese,
        Japanese and Russian that no note answers matched notes about something else.
        """
        if self._word_embedder is None or self._word_vectors is None:
            return None
        meant = [term for term in terms if self._word_vectors.means(term.surface)]
        foreign = [] if meant else [term for term in terms if selection.is_foreign(term.surface)]
        words = meant or foreign
        vector = query_vector(self._word_embedder, [term.surface for term in words], [term.idf for term in words])
        return vector * np.float32(_FOREIGN) if foreign else vector

    def _cosines(self, vector: Vector | None) -> Values:
        """Return the cosine of each slot; 0 without a vector of the query."""
        if vector is None:
            return np.zeros(self._columns.size, dtype=np.float32)
        size = self._columns.size
        return cosines(self._vectors[:size], self._scales[:size], vector)

    def _unknown_words(self, parsed: ParsedQuery) -> list[str]:
        """Return words that may be misspelt: those that are no common words of the language, and name no day."""
        words = [word for word in parsed.words if word not in parsed.day_words]
        if self._word_vectors is None:
            return words
        return [word for word in words if not self._word_vectors.knows(word)]

    def _named(self, parsed: ParsedQuery, eligible: Mask) -> Mask:
        """Return the eligible chunks whose item the query names by its id."""
        named = [code for code in map(self._columns.strings.known, parsed.ids) if code >= 0]
        if not named:
            return np.zeros(self._columns.size, dtype=bool)
        return eligible & np.isin(self._columns.items, named)

    def _hits(self, ranked: _Ranked) -> Iterator[ChunkHit]:
        columns, slots = self._columns, np.array(ranked.slots, dtype=np.int32)
        ids, items, sources, texts = columns.chunk_ids, columns.items, columns.sources, columns.texts
        least = np.minimum.accumulate(ranked.evidence[slots])
        # The slots of a term ascend.
        sides = [[np.searchsorted(term.slots, slots, side) for side in ("left", "right")] for term in ranked.terms]
        said = [(term.surface, after > before) for term, (before, after) in zip(ranked.terms, sides, strict=True)]
        for place, slot in enumerate(slots.tolist()):
            is_doubled = sources[slot] == NOTE and np.count_nonzero(texts == texts[slot]) > 1
            same = columns.same(slot) if is_doubled else ()
            yield ChunkHit(
                chunk_id=int(ids[slot]),
                item_id=columns.strings.text(int(items[slot])),
                score=round(float(least[place]), 4),
                words=tuple(surface for surface, has in said if has[place]),
                weak=not ranked.matching[slot],
                same=tuple(columns.strings.text(int(items[each])) for each in same),
            )
