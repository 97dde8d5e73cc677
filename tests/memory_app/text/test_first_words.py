"""The beginning of a text: on one line, whole words, never longer than asked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_app.text.lines import first_words

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("short  and\nsweet", "short and sweet"),
        ("exactly twenty chars", "exactly twenty chars"),
        ("a text of more than twenty", "a text of more than…"),
        ("a text that goes on for longer", "a text that goes on…"),
        ("Donaudampfschifffahrtsgesellschaft", "Donaudampfschifffah…"),
        ("a Donaudampfschifffahrtsgesellschaft", "a Donaudampfschifff…"),
    ],
)
def test_a_text_is_cut_after_a_whole_word_where_one_ends_late_enough(text: str, shown: str) -> None:
    assert first_words(text, 20) == shown


@given(st.text(), st.integers(2, 60))
def test_it_is_never_longer_than_asked(text: str, most: int) -> None:
    assert len(first_words(text, most)) <= most
