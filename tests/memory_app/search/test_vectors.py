"""The default embedder and how vectors are kept."""

from pathlib import Path

import numpy as np
import pytest

from memory_app.search.ranking.dense import loaded, query_vector, stored, wordllama
from memory_app.search.ranking.postings import Postings
from memory_app.search.ranking.selection import WordVectors

pytestmark = pytest.mark.pure


def test_vectors_are_those_of_the_package_itself() -> None:
    package = pytest.importorskip("wordllama")
    folder = Path(package.__file__).parent
    theirs = package.WordLlama.load(cache_dir=folder, disable_download=True)
    texts = ["The cat sat on the mat.", "東京 café 😀", "x" * 300, *(f"sentence number {i}" for i in range(100))]

    assert np.allclose(wordllama().embed(texts), theirs.embed(texts, norm=True), atol=1e-3)


def test_few_texts_and_many_have_the_same_vectors_and_an_empty_one_has_no_direction() -> None:
    texts = ["", *(f"note number {i} about algebra" for i in range(130))]
    many = wordllama().embed(texts)
    assert np.allclose(many[:3], wordllama().embed(texts[:3]), atol=1e-6)
    assert not many[0].any()


def test_a_vector_survives_storage() -> None:
    (vector,) = wordllama().embed(["Alice wants to pass algebra"])
    (back,) = loaded([stored(vector)], wordllama().dimensions)

    assert len(stored(vector)) == 512
    assert float(back @ vector) == pytest.approx(1, abs=1e-3)
    assert not loaded([b"", b"\x01\x02"], 4).any()


def test_rare_words_turn_the_query() -> None:
    ours, words = wordllama(), ["dog", "algebra"]
    dog, algebra = ours.embed(words)
    turned = query_vector(ours, words, [0.1, 5.0])

    assert float(turned @ algebra) > 0.99 > float(turned @ dog)
    assert not query_vector(ours, [], []).any()


def test_what_is_near_a_word_is_kept_as_the_vocabulary_grows_and_shrinks() -> None:
    postings = Postings()
    kept = WordVectors(wordllama(), postings)
    words = ["dog", "algebra", "tea", "dog"]

    def near(vectors: WordVectors, words: list[str]) -> list[list[tuple[int, float]]]:
        return [[(term, round(cosine, 5)) for term, cosine in found] for found in vectors.nearest(words)]

    def assert_as_if_new(words: list[str]) -> None:
        assert near(kept, words) == near(WordVectors(wordllama(), postings), words)

    texts = ["puppy hound walk", "maths exam geometry", "coffee", "dogs animal cat kitten", "sums"]
    for slot, text in enumerate(texts):
        postings.extend([text])
        assert_as_if_new(words)
        assert_as_if_new(words[slot % 3 :])
    dogs = postings.vocabulary.term("dogs")
    assert kept.nearest(["dog"])[0][0][0] == dogs
    postings.remove(3)
    assert dogs not in dict(kept.nearest(["dog"])[0])
    assert_as_if_new(words)


def test_what_is_kept_of_words_is_bounded() -> None:
    postings = Postings()
    postings.extend([" ".join(f"word{number}" for number in range(100))])
    kept = WordVectors(wordllama(), postings)
    counted = kept.nbytes
    for number in range(1_000):
        assert len(kept.nearest([f"word{number}"])[0]) == 10
    assert kept.nbytes == counted
    assert 0 < kept._near_bytes <= counted / 16
