"""The default embedder and how vectors are kept."""

from __future__ import annotations

import numpy as np
import pytest

from memory_app.search.dense import Embedder, WordEmbedder, loaded, query_vector, stored, wordllama

pytestmark = pytest.mark.pure


def test_wordllama_is_an_embedder_with_words() -> None:
    assert isinstance(wordllama(), Embedder)
    assert isinstance(wordllama(), WordEmbedder)
    assert wordllama() is wordllama()


def test_vectors_are_those_of_the_package_itself() -> None:
    package = pytest.importorskip("wordllama")
    from pathlib import Path

    theirs = package.WordLlama.load(cache_dir=Path(package.__file__).parent, disable_download=True)
    texts = ["The cat sat on the mat.", "東京 café 😀", "x" * 300, *(f"sentence number {i}" for i in range(100))]

    assert np.allclose(wordllama().embed(texts), theirs.embed(texts, norm=True), atol=1e-3)


def test_few_texts_and_many_have_the_same_vectors() -> None:
    texts = [f"note number {i} about algebra" for i in range(130)]

    assert np.allclose(wordllama().embed(texts)[:3], wordllama().embed(texts[:3]), atol=1e-6)


def test_a_text_without_content_has_no_direction() -> None:
    assert not wordllama().embed(["", "dog"])[0].any()


def test_a_vector_survives_storage() -> None:
    (vector,) = wordllama().embed(["Alice wants to pass algebra"])
    (back,) = loaded([stored(vector)], wordllama().dimensions)

    assert len(stored(vector)) == 512
    assert float(back @ vector) == pytest.approx(1, abs=1e-3)


def test_vectors_of_another_size_are_zero() -> None:
    assert not loaded([b"", b"\x01\x02"], 4).any()


def test_rare_words_turn_the_query() -> None:
    ours, words = wordllama(), ["dog", "algebra"]
    dog, algebra = ours.embed(words)
    turned = query_vector(ours, words, [0.1, 5.0])

    assert float(turned @ algebra) > 0.99 > float(turned @ dog)
    assert not query_vector(ours, [], []).any()
