"""Rows are merged column by column, each as a whole."""

import pytest

from memory_app.text.merge import FieldConflict, merge_fields

pytestmark = pytest.mark.pure


def test_each_column_is_taken_from_the_side_that_changed_it() -> None:
    base = {"title": "Goals", "limit": 500, "tags": ["a"], "owner": "alice"}
    merged = merge_fields(base, {**base, "title": "Aims", "owner": "ben"}, {**base, "limit": 900, "owner": "ben"})
    assert merged.is_clean
    assert merged.values == {"title": "Aims", "limit": 900, "tags": ["a"], "owner": "ben"}


def test_a_column_both_changed_is_a_conflict_by_name() -> None:
    merged = merge_fields({"b": 1, "a": 1, "c": 0}, {"b": 2, "a": None, "c": 0}, {"b": 3, "a": 4, "c": 0})
    assert merged.conflicts == (FieldConflict("a", 1, None, 4), FieldConflict("b", 1, 2, 3))
    assert merged.values == {"c": 0}
    assert not merged.is_clean


def test_columns_come_and_go() -> None:
    assert merge_fields({"a": 1, "b": 2}, {"b": 2}, {"a": 1, "b": 2, "c": 3}).values == {"b": 2, "c": 3}
    assert merge_fields({"a": 1}, {}, {"a": 2}).conflicts == (FieldConflict("a", 1, None, 2),)
    assert merge_fields({"a": None}, {"a": None}, {"a": 0}).values == {"a": 0}
