"""The default embedder and how vectors are kept."""

from pathlib import Path

import numpy as np
import pytest

from memory_app.search.ranking.dense import cosines, loaded, quantised, query_vector, stored, unit, wordllama
from memory_app.search.ranking.postings import Postings
from memory_app.search.ranking.selection import WordVectors
from memory_app.search.ranking.vocabulary import content_stems

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


def test_a_vector_in_bytes_has_the_same_cosines() -> None:
    texts = ["Alice wants to pass algebra", "", *(f"sentence number {number} about tea" for number in range(1_500))]
    vectors = wordllama().embed(texts)
    asked = wordllama().embed(["Who drinks tea?"])[0]
    rows, scales = quantised(vectors)
    assert rows.nbytes == len(texts) * wordllama().dimensions
    assert np.allclose(cosines(rows, scales, asked), vectors @ asked, atol=2e-3)
    assert np.array_equal(quantised(vectors[:0])[0], rows[:0])


def test_a_term_is_as_near_as_the_vector_of_its_word() -> None:
    """Terms have no vectors of their own, but what these are made of."""
    postings = Postings()
    words = [
        f"{word}{ending}" for word in ("algebra", "tea", "xyzzy", "東", "résumé", "😀") for ending in ("", "s", "42")
    ]
    extend(postings, " ".join(words))
    surfaces = postings.vocabulary.surfaces(0)
    near = WordVectors(wordllama(), postings)
    near._catch_up()
    asked = ["maths", "drink", "tea"]
    expected = unit(wordllama().embed_words(asked)) @ unit(wordllama().embed_words(surfaces)).T
    assert np.allclose(near._cosines(asked, 0), expected, atol=1e-5)
    assert np.allclose(near._cosines(asked, 4), expected[:, 4:], atol=1e-5)


def test_rare_words_turn_the_query() -> None:
    ours, words = wordllama(), ["dog", "algebra"]
    dog, algebra = ours.embed(words)
    turned = query_vector(ours, words, [0.1, 5.0])

    assert float(turned @ algebra) > 0.99 > float(turned @ dog)
    assert not query_vector(ours, [], []).any()


def extend(postings: Postings, text: str) -> None:
    """Add a chunk."""
    said = text.split()
    distinct = list(dict.fromkeys(said))
    terms, _ = postings.vocabulary.learn(distinct, content_stems(distinct))
    postings.extend(terms[[distinct.index(word) for word in said]], np.array([len(said)], dtype=np.int32))


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
        extend(postings, text)
        assert_as_if_new(words)
        assert_as_if_new(words[slot % 3 :])
    dogs = postings.vocabulary.term("dogs")
    assert kept.nearest(["dog"])[0][0][0] == dogs
    postings.remove(3)
    assert dogs not in dict(kept.nearest(["dog"])[0])
    assert_as_if_new(words)


def test_what_is_kept_of_words_is_bounded() -> None:
    postings = Postings()
    extend(postings, " ".join(f"word{number}" for number in range(100)))
    kept = WordVectors(wordllama(), postings)
    counted = kept.nbytes
    for number in range(1_000):
        assert len(kept.nearest([f"word{number}"])[0]) == 10
    assert kept.nbytes == counted
    assert 0 < kept._near_bytes < counted <= 100 * 64, "1,024 bytes a word for its vector alone"
