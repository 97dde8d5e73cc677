"""Words of texts and queries."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_app.search.ranking import vocabulary
from memory_app.search.ranking.vocabulary import Codes, Vocabulary, content_stems, query_words, words
from memory_app.text.stems import stems

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Alice's Goals", ["alice", "goals"]),
        ("don’t", ["don", "t"]),
        ("Ünïcode ＦＵＬＬ", ["unicode", "full"]),
        ("see PROJ-12 v1.2", ["see", "proj", "12", "v1", "2", "proj-12", "v1.2"]),
        ("well-known", ["well", "known"]),
        ("read_file", ["read", "file", "read_file"]),
        ("C++17 or C#", ["c", "17", "or", "c", "c++", "c#"]),
        ("a .NET tool...and #c", ["a", "net", "tool", "and", "c", ".net"]),
        ("東京", ["東", "京", "東京"]),
        ("iPhone15を買う", ["iphone15", "を", "買", "う", "を買", "買う"]),
        ("😀 …", []),
    ],
)
def test_a_text_is_these_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_a_query_is_pairs_without_spaces_and_has_no_stop_words_unless_it_has_no_others() -> None:
    assert words("東京都", query=True) == ["東京", "京都"]
    assert query_words("What did Alice do in the garden?") == ["alice", "garden"]
    assert query_words("What is it?") == ["what", "is", "it"]
    # A long one is cut.
    assert len(query_words(" ".join(f"word{i}" for i in range(1_000)))) == vocabulary.MOST_QUERY_WORDS
    assert query_words("a " * vocabulary.LONGEST_QUERY + "algebra") == ["a"]


@given(st.text())
def test_no_word_has_a_space_or_is_empty(text: str) -> None:
    assert all(word and word.split() == [word] for word in words(text))


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("algebra", "algbra", True),
        ("algebra", "algebraa", True),
        ("algebra", "aglebra", True),
        ("algebra", "algebro", True),
        ("algebra", "algebra", False),
        ("algebra", "algbr", False),
        ("algebra", "aglebro", False),
    ],
)
def test_words_one_letter_apart(a: str, b: str, expected: bool) -> None:
    for known, word in ((a, b), (b, a)):
        vocabulary = Vocabulary()
        vocabulary.learn([known, "algae", "tea"], content_stems([known, "algae", "tea"]))
        assert vocabulary.one_letter_away(word) == [known] * expected
        vocabulary.pack()
        assert vocabulary.one_letter_away(word) == [known] * expected


def test_stems_bring_forms_together_but_no_stop_word_and_a_word_that_counts() -> None:
    assert len(set(stems(["running", "runs", "run", "ran"]))) == len(set(stems(["child", "children"]))) == 1
    known = Vocabulary()
    some = ["will", "willing", "willingness"]
    will, willing, willingness = known.learn(some, content_stems(some))[0].tolist()
    assert will not in (willing, willingness)
    assert known.stop[will]
    assert not known.stop[willing]


@given(st.lists(st.text(max_size=5), max_size=30), st.integers(1, 10))
def test_texts_keep_their_numbers_however_often_they_are_packed(texts: list[str], every: int) -> None:
    codes = Codes([""])
    for at, text in enumerate(texts):
        codes.numbers([text])
        if at % every == 0:
            codes.pack()
    expected = list(dict.fromkeys(["", *texts]))
    assert [codes.text(number) for number in range(len(codes))] == expected
    assert [codes.known(text) for text in expected] == [*range(len(expected))]
    assert codes.known("none of them") == -1
