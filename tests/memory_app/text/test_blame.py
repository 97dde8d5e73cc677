"""Which version each sentence comes from."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_app.text import sentences as cutting
from memory_app.text.blame import BlameState, SentenceOrigin
from memory_app.text.sentences import sentences

pytestmark = pytest.mark.pure

#: Few words and every kind of line, so that sentences come back, move, are joined and split.
TEXTS = st.lists(
    st.sampled_from(
        [
            "Mia likes maths.", "Mia likes art. ", "She reads every evening before school.", "She reads.",
            "No!", "日本語です。次の文。", "- one item", "1. one item", "# Goals", "| a | b |", "|---|---|", "```",
            "> quoted. More.",
            "e.g. this", "\n", "\n\n", "  ", "\r\n", "é́", "🎉", "\ud800",
        ]
    ),
    max_size=12,
).map(lambda parts: " ".join(parts).replace(" \n", "\n"))  # fmt: skip
HISTORIES = st.lists(TEXTS, min_size=1, max_size=7)


def blame(texts: list[str]) -> tuple[SentenceOrigin, ...]:
    """The sentences of the last of these versions and where each comes from."""
    state = BlameState()
    state.follow("", texts)
    return state.origins


def said(texts: list[str]) -> dict[str, int]:
    """Each sentence of the last text and the version it comes from."""
    return {texts[-1][each.start : each.end].strip(): each.said.version for each in blame(texts)}


def before(texts: list[str], sentence: str) -> list[str]:
    """What a sentence of the last text said before, the latest first."""
    [found] = [each for each in blame(texts) if texts[-1][each.start : each.end].strip() == sentence]
    return [texts[place.version][place.start : place.end].strip() for place in found.earlier]


# -- cutting ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("One. Two! Three? Four", ["One. ", "Two! ", "Three? ", "Four"]),
        ("Dr. Weber said, e.g. on the 3. Mai, no. 5. J. Smith too.", None),
        (
            "He got a 4. She is glad of a 2. The exam is on the 4. Juni.",
            ["He got a 4. ", "She is glad of a 2. ", "The exam is on the 4. Juni."],
        ),
        ("- one\n4. She swims.\n> 12. He rows.\n", ["- one\n", "4. She swims.\n", "> 12. He rows.\n"]),
        ("She said “Yes.” Then she left.", ["She said “Yes.” ", "Then she left."]),
        ("A sentence that\nis wrapped. Another\none.\n", ["A sentence that\nis wrapped. ", "Another\none.\n"]),
        ("# Head\nText.\n- one\n- two\n", ["# Head\n", "Text.\n", "- one\n", "- two\n"]),
        ("今日は。明日も。", ["今日は。", "明日も。"]),
        ("هل تقرأ؟ نعم.", ["هل تقرأ؟ ", "نعم."]),
        ("3.5 is more than 3.4 here.", ["3.5 is more than 3.4 here."]),
        ("\n\nFirst.", ["\n\nFirst."]),
        ("First.\n\n  ", ["First.\n\n  "]),
        ("", []),
    ],
)
def test_a_text_is_cut_at_its_sentences(text: str, pieces: list[str] | None) -> None:
    assert list(sentences(text)) == ([text] if pieces is None else pieces)


@given(TEXTS | st.text())
def test_the_sentences_joined_are_the_text(text: str) -> None:
    assert "".join(sentences(text)) == text
    known: dict[str, tuple[str, ...]] = {}
    assert sentences(text, known) == sentences(text, known) == sentences(text)
    assert not [piece for piece in sentences(text)[1:] if not piece.strip()]


def test_a_marker_or_a_wrapped_line_is_not_what_a_sentence_says() -> None:
    assert cutting.key("- one\n  two\n") == cutting.key("12. one two") == cutting.key("> ## one   two") == "one two"
    assert cutting.key("| a   |b|\n") == cutting.key("|a | b |")
    assert cutting.key("- [ ] read") != cutting.key("- [x] read")


# -- where sentences come from ------------------------------------------------------------------------


def test_each_sentence_comes_from_the_version_that_made_it_say_so() -> None:
    first = "She reads. He lives in Kiel."
    texts = [first, f"{first} They met.", "She reads. He lives in Bonn. They met."]
    assert said(texts) == {"She reads.": 0, "He lives in Bonn.": 2, "They met.": 1}
    assert before(texts, "He lives in Bonn.") == ["He lives in Kiel."]
    # A word left out makes it say something else.
    texts = ["She does not like maths.", "She does like maths."]
    assert (said(texts), before(texts, texts[1])) == ({texts[1]: 1}, texts[:1])


def test_text_that_moved_or_was_laid_out_anew_keeps_its_origin() -> None:
    first = "One paragraph here.\n\nAnother one here.\n"
    texts = [first, first + "\nA third.\n", "A third.\n\nAnother one here.\n\nOne paragraph here.\n"]
    assert said(texts) == {"A third.": 1, "Another one here.": 0, "One paragraph here.": 0}
    numbered = ["1. read\n2. write\n", "1. sleep\n2. read\n3. write\n"]
    assert said(numbered) == {"1. sleep": 1, "2. read": 0, "3. write": 0}
    wrapped = "She reads every day\nbefore school."
    assert said([wrapped.replace("\n", " "), wrapped]) == {wrapped: 0}


def test_what_was_split_or_joined_lists_what_it_was() -> None:
    first = ["She reads every evening and she writes long letters to her sister."]
    split = "She reads every evening. She writes long letters to her sister."
    assert before([*first, split], "She reads every evening.") == first
    assert before([*first, split], "She writes long letters to her sister.") == first
    joined = before([split, *first], first[0])
    assert sorted(joined) == ["She reads every evening.", "She writes long letters to her sister."]


def test_what_comes_back_comes_from_who_brought_it_back_and_lists_where_it_was() -> None:
    texts = ["Keep. She likes chess a lot.", "Keep.", "Keep. She likes chess a lot."]
    assert said(texts) == {"Keep.": 0, "She likes chess a lot.": 2}
    assert before(texts, "She likes chess a lot.") == ["She likes chess a lot."]
    assert said(["Keep this one.", "", "Keep this one."]) == {"Keep this one.": 2}


def test_of_sentences_that_say_the_same_those_beside_what_stayed_are_the_old_ones() -> None:
    texts = ["A.\n\nNone.\n\nB.\n\nNone.\n", "A.\n\nNew.\n\nNone.\n\nB.\n\nNone.\n\nC.\n\nNone.\n"]
    state = BlameState()
    state.follow("", texts)
    assert [each.said.version for each in state.origins] == [0, 1, 0, 0, 0, 1, 1]


def test_the_words_of_each_version_are_counted() -> None:
    state = BlameState()
    state.follow("", ["One two three.", "One two three. Four five.", "Four five. One two.", "Four five. One two."])
    assert [(each.added, each.removed) for each in state.counts] == [(3, 0), (2, 0), (0, 1), (0, 0)]
    assert "three" not in json.dumps(vars(state)), "it contains no text"


# -- whatever the history ---------------------------------------------------------------------------


@given(HISTORIES)
def test_the_pieces_joined_are_the_last_text(texts: list[str]) -> None:
    origins = blame(texts)
    assert "".join(texts[-1][each.start : each.end] for each in origins) == texts[-1]
    for each in origins:
        place = each.said
        now, then = texts[-1][each.start : each.end], texts[place.version][place.start : place.end]
        assert cutting.key(now) == cutting.key(then)
        assert all(wording.version < place.version for wording in each.earlier)
        assert all(newer.version >= older.version for newer, older in pairwise(each.earlier))


@given(HISTORIES)
def test_a_version_that_changed_nothing_owns_nothing(texts: list[str]) -> None:
    repeated = [text for text in texts for _ in range(2)]
    owners = {each.said.version for each in blame(repeated)}
    assert not {owner for owner in owners if owner % 2}
    assert [owner // 2 for owner in sorted(owners)] == sorted({each.said.version for each in blame(texts)})


@given(HISTORIES, st.data())
def test_followed_bit_by_bit_through_a_cache_it_is_the_same(texts: list[str], data: st.DataObject) -> None:
    at_once = BlameState()
    at_once.follow("", texts)
    state, last = BlameState(), ""
    cuts = sorted(data.draw(st.lists(st.integers(0, len(texts)), max_size=3)))
    for start, end in pairwise([0, *cuts, len(texts)]):
        state = BlameState.of_json(json.loads(json.dumps(vars(state))))
        state.follow(last, texts[start:end])
        last = texts[end - 1] if end else ""
        assert state.is_at(last)
    assert state == at_once
