"""An edit that does not fit is repaired so that the caller's own change is made, and nothing else."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.repair_texts import TEXTS
from benchmarks.repairs import SLIPS, measured
from memory_app.text import edits, repairs
from memory_app.text.edits import Replace
from memory_app.text.merge.carry import carried
from memory_app.text.repairs import repair

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "result"),
    [
        (
            "    - a b\n        - page    12",
            "\t- a b\n\t\t- page\t12",
            "    - a x b\n        - page    12",
            "\t- a x b\n\t\t- page\t12",
        ),
        ("    - a\n        - b", "\t- a\n\t\t- b", "    - a\n    - x\n        - b", "\t- a\n\t- x\n\t\t- b"),
        ('says "yes" – I don\'t', "says “yes” – I don’t", 'says "no" – I won\'t', "says “no” – I won’t"),
        ("a\nb\nc", "a\r\nb\r\nc", "a\nb\nx\nc", "a\r\nb\r\nx\r\nc"),
        ("cafe\u0301 Zoe\u0308", "café Zoë", "cafe\u0301 Rene\u0301e", "café Renée"),
        ("１０ 12", "１０ 12", "１５ 12", "１５ 12"),
        ("page 12", "page １２", "page 15", "page １５"),
        ("Frau Keller teaches", "**Frau Keller** teaches", "Frau Meier teaches", "**Frau Meier** teaches"),
        ("the red ball", "the big red ball", "the blue ball", "the big blue ball"),
        ("the very red ball", "the red ball", "the very blue ball", "the blue ball"),
        ("holds ten", "Holds ten", "keeps ten", "Keeps ten"),
        ("* a\n* b", "- a\n- b", "* a\n* x\n* b", "- a\n- x\n- b"),
        ("50% of it", "50\u00a0% of it", "60% of it", "60\u00a0% of it"),
        ("one two\nthree four", "one two three\nfour", "one two\nthree five", "one two three\nfive"),
        # What only the old_string has is no change: the new_string quotes it as it is there.
        ("It helps Go,or us", "It helps Go, or us", "It helps Go, or me", "It helps Go, or me"),
        ("### Tea\n- black", "## Tea\n- black", "## Tea\n- green", "## Tea\n- green"),
        ("is\n## 7. End", "is\n\n## 7. End", "is\n\n## 8. End", "is\n\n## 8. End"),
        ("a  \nb", "a\nb", "a  \nx  \nb", "a\nx\nb"),
        ("\nis here\n\n", "is here\n", "\nis here\n\nHe says\n\n", "is here\n\nHe says\n"),
        ("To install Go,visit us", "To install Go, visit us", "To, visit us", None),
        # Not certain: the new line has other signs before or after it than those around it.
        ("Tim | 3\nAda | 4", "| Tim | 3 |\n| Ada | 4 |", "Tim | 3\nAda | 4\nBo | 5", None),
        ("--- a\n--- b", "-- a\n-- b", "--- a\n--- x\n--- b", None),
        # Not certain: what is replaced is not there, is there twice, or has something else beside it.
        ("black tea", "tea", "green tea", None),
        ("12 May", "13 May", "14 June", None),
        ("a c", "a x b x c", "a x c", None),
        ("the red ball", "the big red ball", "the new red ball", None),
        ("the red ball", "the big red ball", "the ball", None),
        ("the river is", "The river is", "so the river is", None),
        ("a x c", "a x b x c", "a y c", None),
    ],
)
def test_a_change_is_carried_over(base: str, ours: str, theirs: str, result: str | None) -> None:
    line_end = "\r\n" if "\r\n" in ours else "\n"
    assert carried(base, ours, theirs, line_end=line_end) == result


@pytest.mark.parametrize("name", SLIPS)
def test_an_offered_call_damages_nothing(name: str) -> None:
    counts, _ = measured(TEXTS, {name: SLIPS[name]}, seed=0, edits=2)
    count = counts[name]
    assert count.made > 1
    assert not count.damaged
    assert count.right >= 0.95 * count.offered
    assert count.offered >= (0 if name == "an elision" else 0.7 * count.made)


@pytest.mark.parametrize(
    ("text", "old", "new", "result"),
    [
        ('He said "yes".\nAda\n', '"He said \\"yes\\"."', '"He said \\"no\\"."', 'He said "no".\nAda\n'),
        ("Costs 3 €.\nAda\n", '"Costs 3 €."', '"Costs 3 \\u20ac.\\nOr 4."', "Costs 3 €.\nOr 4.\nAda\n"),
        ("Ada is here.\nBo\n", "[3] Ada is here.", "[3] Ada is here.\n[4] Tim too.", "Ada is here.\nTim too.\nBo\n"),
        ("Ada is here.\nBo\n", "> Ada is here.", "> Ada is here.\n> Tim too.", "Ada is here.\nTim too.\nBo\n"),
        ("> Ada is here.\nBo\n", "> > Ada is here.", "> Ada is there.", "> Ada is there.\nBo\n"),
        ("Ada's here.\nBo\n", "'Ada\\'s here.'", "'Ada\\'s there.'", "Ada's there.\nBo\n"),
        ('"Ada" is here.\nBo\n', '"\\"Ada\\" is here."', '"Ada" is in C:\\new.', None),
        (
            "\u0419  is here.\nBo\n",
            "\u0418\u0306 is here.",
            "\u0418\u0306\u0418\u0306 is here.",
            "\u0419\u0419  is here.\nBo\n",
        ),
        ("a\r\n| Ada | 16 |\r\n", "\n| Ada | 16 |\n", "\n| Ada | 17 |\n", "a\r\n| Ada | 17 |\r\n"),
        ("No green tea.\nEvergreen tea.\n", "green  tea.\n", "green  milk.\n", "No green milk.\nEvergreen tea.\n"),
        ("1. Ada is here today.\n", "3. Ada is here today.", "7. Ada is here today.", None),
        ("Ada is there now.\nBo\n", "Ada is  there now.\n", "Ada is  there then.", None),
        ("See [the long page](https://a.b) now.\n", "See the long page", "See the long page\n- Bo", None),
        ("See (https://a.bcd.org/f) now.\n", "See (https://a.", "See (https://a. He", None),
        ("He said “yes” twice.\n", 'He said "yes" twice.', 'He said "yes" twice.\\nTwice.', None),
    ],
)
def test_the_offered_call_makes_what_was_meant(text: str, old: str, new: str, result: str | None) -> None:
    found = repair(text, Replace(old, new))
    assert (found.edit and edits.apply(text, [found.edit]).text) == result


def test_a_change_of_what_is_written_otherwise_is_asked_about() -> None:
    """The text has a space where the caller's new words have none."""
    found = repair("It is 20 % off.\n", Replace("It is 20% off.", "It is 50% off."))
    assert found.edit == Replace("It is 20 % off.", "It is 50 % off.")
    assert not found.is_of_form


words = st.sampled_from(("read", "Read", "“more”", "café", "12", "**bold**", "–", "it's", "数学", "- item", "tea."))
gaps = st.sampled_from((" ", "  ", "\n", "\r\n", "\t", "\n\n", "\u00a0", ""))
passages = st.lists(st.tuples(words, gaps), min_size=2, max_size=12).map(lambda parts: "".join(map("".join, parts)))


@given(passages, passages, st.randoms(use_true_random=False))
def test_only_what_the_caller_changed_is_changed(ours: str, new: str, chance: random.Random) -> None:
    """Words of the passage that the caller did not touch are there in the same bytes, whatever was misquoted."""
    base = ours.translate({ord("“"): '"', ord("”"): '"', ord("–"): "-", 0xA0: " "}).replace("\r\n", "\n")
    at = chance.randrange(len(base) + 1)
    result = carried(base, ours, base[:at] + new + base[at:])
    if result is not None:
        same = next((n for n, pair in enumerate(zip(ours, result, strict=False)) if len({*pair}) > 1), len(ours))
        rest = ours[same:].rstrip()
        assert result.rstrip().endswith(rest) or len(ours) - same < len(result)


@given(passages, passages, passages)
def test_whatever_is_made_can_be_made_again(text: str, old: str, new: str) -> None:
    if old == new:
        return
    wanted = Replace(old, new)
    found = repair(text, wanted)
    if found.edit:
        assert text.count(found.edit.old_string) == 1
        assert edits.apply(text, [found.edit]).text != text
    try:
        made = repairs.apply(text, [wanted])
    except edits.EditError:
        return
    assert edits.reapply(text, made.edits) == made.text
    is_of_form = "".join(made.edits[0].old_string.split()) == "".join(old.split())
    assert is_of_form or "“" in text + old


def test_edits_are_repaired_one_after_the_other() -> None:
    made = repairs.apply("a  b\nc\n", [Replace("a b", "x  y"), Replace("x y", "z"), Replace("z", "q")])
    assert (made.text, made.replaced) == ("q\nc\n", 3)
