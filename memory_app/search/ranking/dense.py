"""Vectors of texts: the embedders' protocol, the default embedder, and how vectors are stored.

Belongs here: what an embedder must offer, `wordllama` (256 numbers, offline, no model of its own to fetch),
the query's vector, float16 storage.
Not here: embedders that need a service or an extra package, and what happens when one cannot be reached.

The query's vector is the mean of its words' vectors weighted by their IDF among the owner's own chunks, stop words
dropped: with a plain mean, vectors alone find .350 of LoCoMo's turns among the first ten, so .605.
"""

import importlib.util
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

#: Up to so many texts are read one by one: a batch goes to the tokenizer's threads, and on a busy machine waking them
#: costs a query 3 ms where its words cost .1.
_FEW = 64
#: Texts that are added up at once, so that the sums stay in the processor's cache.
_BATCH = 1_024
#: Words of queries whose vectors are kept.
_KEPT_WORDS = 4_096

Vectors = npt.NDArray[np.float32]
Vector = npt.NDArray[np.float32]
Quantised = npt.NDArray[np.int8]
#: What words are made of, by their numbers in the embedder's table, and how many of them.
Pieces = npt.NDArray[np.uint16]
Sizes = npt.NDArray[np.int32]

#: Vectors whose cosines are taken at once: as float32 they stay in the processor's cache.
_AT_ONCE = 1_024


class EmbedderUnavailable(Exception):
    """The embedder's model or service is not available; search goes on by words alone."""


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors. `name` changes whenever the vectors would: chunks of another name are made anew."""

    @property
    def name(self) -> str: ...
    @property
    def dimensions(self) -> int: ...
    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text; a zero vector for a text without content.

        Raises:
            EmbedderUnavailable: the model or service does not answer.
        """


@runtime_checkable
class WordEmbedder(Embedder, Protocol):
    """An embedder whose single words have vectors: it can weight a query's words and find similar ones."""

    def embed_words(self, words: Sequence[str]) -> Vectors:
        """One row per word, *not* of length 1: frequent words are shorter."""

    def pieces(self, words: Sequence[str]) -> tuple[Pieces, Sizes, Vector]:
        """Return the pieces that the words are made of, how many each has, and how long each word's vector is.

        A word's vector is the mean of those of its pieces.
        """

    def piece_vectors(self, pieces: Pieces) -> Vectors:
        """One row per piece."""

    def knows(self, word: str) -> bool:
        """Whether `word` is a common word to the model, and so not a misspelling of another."""


def unit(vectors: Vectors) -> Vectors:
    """Return each row at length 1; rows of zeros stay."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: Vectors = (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)
    return scaled


def stored(vector: Vector) -> bytes:
    """Return a chunk's vector as it is stored: float16, half the size, no measurable loss in ranking."""
    return bytes(vector.astype("<f2").tobytes())


def loaded(stored_vectors: Sequence[bytes], dimensions: int) -> Vectors:
    """Return stored vectors as rows. One of another embedder (or none, b"") becomes zeros and is never similar."""
    size = dimensions * 2
    blank = bytes(size)
    joined = b"".join([each if len(each) == size else blank for each in stored_vectors])
    return np.frombuffer(joined, dtype="<f2").reshape(len(stored_vectors), dimensions).astype(np.float32)


def quantised(vectors: Vectors) -> tuple[Quantised, Vector]:
    """Return vectors as int8, and what each is to be multiplied by: a quarter of the size, cosines within .002."""
    steps = np.abs(vectors).max(axis=1, initial=0) / 127
    rows = np.rint(vectors / np.where(steps > 0, steps, 1)[:, np.newaxis])
    return rows.astype(np.int8), steps.astype(np.float32)


def cosines(rows: Quantised, scales: Vector, vector: Vector) -> Vector:
    """Return the products of quantised vectors with `vector`; twice as fast as with 100,000 of float32."""
    found = np.empty(len(rows), dtype=np.float32)
    for start in range(0, len(rows), _AT_ONCE):
        some = slice(start, start + _AT_ONCE)
        np.dot(rows[some].astype(np.float32), vector, out=found[some])
    found *= scales
    return found


def query_vector(embedder: WordEmbedder, words: Sequence[str], idfs: Sequence[float]) -> Vector:
    """Return the vector of a query made of its words, length 1 (zeros when it has none).

    Arguments:
        words: the query's words that count.
        idfs: the IDF of each among the owner's chunks.
    """
    if not words:
        return np.zeros(embedder.dimensions, dtype=np.float32)
    mixed: Vector = np.asarray(idfs, dtype=np.float32) @ embedder.embed_words(words)
    return unit(mixed)


class WordLlama:
    """wordllama's vectors (MIT, 256 numbers, 16 MB, inside its package).

    Its files are read directly: importing the package configures logging for the whole process, brings an HTTP client
    and takes .5 s; reading weights and tokenizer takes .1 s. A test holds the vectors against the package's own.
    """

    name = "wordllama-l2-supercat-256"
    dimensions = 256

    def __init__(self) -> None:
        # Here, so that a deployment with another embedder needs neither package.
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        folder = _package_folder()
        weights = folder / "weights" / "l2_supercat_256.safetensors"
        tokenizer = folder / "tokenizers" / "l2_supercat_tokenizer_config.json"
        if not (weights.is_file() and tokenizer.is_file()):
            raise EmbedderUnavailable(f"wordllama is installed without {weights.name} or {tokenizer.name}")
        # The one table of vectors in the process; as float16, half the size, each search took 2 ms to convert some.
        self._table: Vectors = load_file(str(weights))["embedding.weight"].astype(np.float32)
        self._tokenizer = Tokenizer.from_file(str(tokenizer))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        # What people ask repeats its words; a vector takes 1 kB, and making one .1 ms.
        self._of_word = lru_cache(_KEPT_WORDS)(lambda word: self._means([word])[0])
        self.knows = lru_cache(_KEPT_WORDS)(self._knows)

    def embed(self, texts: Sequence[str]) -> Vectors:
        return unit(self._means(texts))

    def embed_words(self, words: Sequence[str]) -> Vectors:
        if len(words) > _FEW:
            return self._means(words)
        return np.stack([self._of_word(word) for word in words]) if words else self._means(words)

    def _knows(self, word: str) -> bool:
        return len(self._tokenizer.encode(word, add_special_tokens=False).ids) <= 1

    def pieces(self, words: Sequence[str]) -> tuple[Pieces, Sizes, Vector]:
        pieces, sizes = self._taken_apart(words)
        lengths = np.linalg.norm(self._mean_of(pieces, sizes), axis=1).astype(np.float32)
        return pieces.astype(np.uint16), sizes.astype(np.int32), lengths

    def piece_vectors(self, pieces: Pieces) -> Vectors:
        return self._table[pieces]

    def _means(self, texts: Sequence[str]) -> Vectors:
        """Return the mean vector of each text's tokens."""
        return self._mean_of(*self._taken_apart(texts))

    def _taken_apart(self, texts: Sequence[str]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the tokens of all texts, and how many each has."""
        if len(texts) <= _FEW:
            encoded = [self._tokenizer.encode(text, add_special_tokens=False) for text in texts]
        else:
            encoded = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        ids = [each.ids for each in encoded]
        sizes = np.fromiter(map(len, ids), dtype=np.int64, count=len(ids))
        return np.fromiter(chain.from_iterable(ids), dtype=np.int64, count=int(sizes.sum())), sizes

    def _mean_of(self, pieces: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64]) -> Vectors:
        means = np.zeros((len(sizes), self.dimensions), dtype=np.float32)
        starts = np.cumsum(sizes) - sizes
        # Longest first: the texts that have a j-th piece are then the first so many, and adding up is a sum of slices,
        # a third of the time of going text by text.
        order = np.argsort(-sizes, kind="stable")
        for first in range(0, len(order), _BATCH):
            batch = order[first : first + _BATCH]
            sums = np.zeros((len(batch), self.dimensions), dtype=np.float32)
            for j in range(int(sizes[batch[0]])):
                longer = int(np.count_nonzero(sizes[batch] > j))
                sums[:longer] += self._table[pieces[starts[batch[:longer]] + j]]
            means[batch] = sums / np.maximum(sizes[batch], 1)[:, np.newaxis]
        return means


@cache
def wordllama() -> WordLlama:
    """Return the default embedder, loaded once per process; `embedders` sees to it that no two threads load it.

    Raises:
        EmbedderUnavailable: the package is not installed.
    """
    return WordLlama()


def _package_folder() -> Path:
    found = importlib.util.find_spec("wordllama")
    if found is None or not found.submodule_search_locations:
        raise EmbedderUnavailable("the package wordllama is not installed")
    return Path(found.submodule_search_locations[0])
