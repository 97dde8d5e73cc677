"""What a form says of ticks, on the page it shows and on others."""

import pytest

from approvals.forms.proposal import Ticks

IDS = ("a", "b", "c", "d")


@pytest.mark.parametrize(
    ("fields", "accepted"),
    [
        ({}, "abcd"),
        ({"shown": "a b", "accepted": "a b"}, "abcd"),
        ({"shown": "a b", "accepted": "a"}, "acd"),
        ({"shown": "a b", "accepted": ""}, "cd"),
        ({"shown": "a b", "accepted": "a", "exceptions": "c"}, "ad"),
        ({"shown": "a b", "accepted": "a b", "exceptions": "a c"}, "abd"),
        ({"ticked": "none"}, ""),
        ({"ticked": "none", "exceptions": "a c"}, "ac"),
        ({"ticked": "none", "exceptions": "a c", "shown": "a b", "accepted": "b"}, "bc"),
        ({"accepted": "a d"}, "ad"),
        ({"shown": "a b", "accepted": "a x"}, "acdx"),
        ({"exceptions": "x"}, "abcdx"),
    ],
)
def test_what_is_accepted(fields: dict[str, str], accepted: str) -> None:
    ticks = Ticks.of(fields)
    assert ticks.accepted(IDS) == frozenset(accepted)
    assert ticks.is_everything == (accepted == "abcd" and not fields.get("exceptions", "").strip("a"))


@pytest.mark.parametrize(
    ("fields", "was", "now", "ticked"),
    [
        ({"exceptions": "b"}, "abc", "abc", "ac"),
        ({"exceptions": "b"}, "abc", "axc", "ac"),
        ({"exceptions": "b"}, "abc", "axcd", "ac"),
        ({"exceptions": "b"}, "", "axc", ""),
        ({}, "abc", "xyz", "xyz"),
        ({"ticked": "none", "exceptions": "b"}, "abc", "axc", "x"),
    ],
)
def test_on_a_text_that_changed_nothing_left_out_is_ticked_again(
    fields: dict[str, str], was: str, now: str, ticked: str
) -> None:
    moved = Ticks.of(fields).moved(tuple(was), tuple(now))
    assert "".join(filter(moved.is_on, now)) == ticked
