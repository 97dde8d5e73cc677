"""How a proposal stands: to a text that changed since, and to the others, of which it may make something when approved.

To the text: it fits, is merged, is there already, or is a conflict that says where.
"""

from datetime import UTC, datetime

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from approvals.models import Mergeability, Proposal, Revision, User
from approvals.review.collisions import (
    Collision,
    CollisionEffect,
    _ChangeToday,
    collisions_of,
    effect_of,
    others_on_target,
)
from approvals.review.targets import assess, block_after
from memory_app.reads import Block
from memory_app.text import edits
from memory_app.text.merge import Conflict
from tests.support.fixtures import MakeBlock, Propose

BODY = (
    "Ann drinks green tea in the morning. She reads on the train to work.\n\n"
    "- algebra\n- geometry\n\n"
    "She has an exam in June. Her sister helps her on Sundays.\n"
)


def block(body: str = BODY, *, limit: int = 1000) -> Block:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    return Block("ann", "goals", "Goals", "", body, limit, False, None, edits.sha256_of(body), now, now)


def revision(*wanted: edits.Edit, base: str = BODY) -> Revision:
    applied = edits.apply(base, wanted)
    return Revision(
        base_text=base,
        base_sha256=edits.sha256_of(base),
        result_text=applied.text,
        edits=edits.to_json(applied.edits),
    )


# -- on a text that changed since -----------------------------------------------------------------

FIRST = BODY.partition("\n")[0]


@pytest.mark.pure
@pytest.mark.parametrize(
    "wanted",
    [edits.Rewrite(BODY.replace("train", "bus")), edits.Replace(FIRST, FIRST.replace("train", "bus"))],
    ids=["a rewrite", "an edit around words that changed"],
)
def test_it_is_merged_with_what_was_changed_elsewhere(wanted: edits.Edit) -> None:
    found = assess(revision(wanted), block(BODY.replace("green", "black")))
    assert (found.state, found.is_stale) == (Mergeability.REBASABLE, True)
    assert found.result_text == BODY.replace("train", "bus").replace("green", "black")


@pytest.mark.pure
def test_what_cannot_be_merged_says_where() -> None:
    wanted = revision(edits.Replace("- geometry", "- topology"), edits.Replace("green tea", "coffee"))
    found = assess(wanted, block(BODY.replace("- geometry", "- analysis")))
    assert (found.state, found.result_text) == (Mergeability.CONFLICT, None)
    assert found.conflict.conflicts == (Conflict("geometry", "analysis", "topology"),)
    assert found.conflict.resolved(["topology"]) == wanted.result_text


@pytest.mark.pure
def test_what_is_asked_for_may_be_there_already_all_or_in_part() -> None:
    wanted = revision(edits.Rewrite(BODY.replace("train", "bus").replace("green", "black")))
    assert assess(wanted, block(wanted.result_text + "- analysis\n")).state == Mergeability.ALREADY_APPLIED
    found = assess(wanted, block(BODY.replace("train", "bus") + "- analysis\n"))
    assert (found.state, found.result_text) == (Mergeability.REBASABLE, wanted.result_text + "- analysis\n")


@pytest.mark.pure
def test_a_merged_text_longer_than_the_block_may_be_is_a_conflict() -> None:
    wanted = revision(edits.Rewrite(BODY.replace("train", "omnibus")))
    found = assess(wanted, block(BODY.replace("green", "black"), limit=len(BODY) + 1))
    assert (found.state, found.over_limit) == (Mergeability.CONFLICT, 1)


@pytest.mark.pure
def test_the_block_as_it_would_be_once_a_proposal_is_approved() -> None:
    one, other = revision(edits.Replace("green", "black")), revision(edits.Replace("train", "bus"))
    after = block_after(one, block())
    assert after is not None
    assert after.body == BODY.replace("green", "black")
    assert assess(other, after).state == Mergeability.REBASABLE
    assert block_after(one, block(BODY.replace("green tea", "coffee"))) is None, "it cannot be approved"


# -- with others that wait --------------------------------------------------------------------------


def effect(first: Revision, second: Revision, *, limit: int = 1000) -> CollisionEffect:
    after = block_after(first, block(limit=limit))
    assert after is not None
    return effect_of(assess(second, after))


@pytest.mark.pure
def test_what_approving_one_makes_of_another() -> None:
    black, red, bus = (
        revision(edits.Replace("green", "black")),
        revision(edits.Replace("green", "red")),
        revision(edits.Rewrite(BODY.replace("train", "bus"))),
    )
    both = revision(edits.Replace("green", "black"), edits.Replace("June", "July"))
    assert effect(black, red) == effect(red, black) == CollisionEffect.NO_LONGER_FITS
    assert effect(black, black) == CollisionEffect.SETTLED
    assert effect(black, bus) == effect(bus, black) == CollisionEffect.STILL_FITS
    assert effect(both, black) == CollisionEffect.SETTLED
    early, linear = revision(edits.Replace("June", "June, early")), revision(edits.Replace("algebra", "linear algebra"))
    assert effect(early, linear, limit=len(BODY) + 8) == CollisionEffect.TOO_LONG


LINES = st.sampled_from(["tea", "tea and bread", "Ann reads.", "- one", "- two", "1. one", "2. two", "", "# Work", "x"])


@pytest.mark.pure
@example(["tea"] * 4 + [""] + ["tea"] * 3, (0, "tea and bread"), (7, "tea and bread"), False)
@example(["tea", "- one", "tea", "tea", "tea", "", "tea", "tea", "tea"], (0, "tea"), (6, "tea"), True)
@settings(max_examples=300, deadline=None)
@given(
    st.lists(LINES, min_size=4, max_size=24),
    st.tuples(st.integers(0, 23), LINES),
    st.tuples(st.integers(0, 23), LINES),
    st.booleans(),
)
def test_what_is_taken_to_be_apart_does_not_collide(
    lines: list[str], first: tuple[int, str], second: tuple[int, str], puts_in: bool
) -> None:
    """The comparison that is left out would have said that both still fit."""
    base = "\n".join(lines)
    changed = []
    for at, line in (first, second):
        where = at % len(lines)
        changed.append("\n".join([*lines[:where], line, *lines[where + (not puts_in) :]]))
    one, other = (revision(edits.Rewrite(text), base=base) if text != base else None for text in changed)
    if one is None or other is None:
        return
    today = block(base)
    if _ChangeToday(one, today).is_apart_from(_ChangeToday(other, today)):
        after = block_after(one, today)
        assert after is not None
        assert assess(other, after).state == Mergeability.REBASABLE


@pytest.mark.pure
def test_changes_of_two_ends_of_a_long_text_are_not_compared() -> None:
    base = "\n\n".join(f"This is what was said on day {number}." for number in range(40))
    changes = [revision(edits.Replace(f"day {number}.", f"{number} May."), base=base) for number in (2, 35, 36)]
    first, last, beside = (_ChangeToday(each, block(base, limit=5000)) for each in changes)
    assert first.is_apart_from(last)
    assert last.is_apart_from(first)
    assert not last.is_apart_from(beside)
    grown = [revision(edits.Replace(f"day {number}.", "a Monday."), base=base) for number in (2, 35)]
    one, other = (_ChangeToday(each, block(base, limit=len(base) + 3)) for each in grown)
    assert not one.is_apart_from(other), "there may be no room for both"


def found(proposal: Proposal, today: Block | None) -> dict[int, tuple[CollisionEffect, CollisionEffect | None]]:
    others = list(others_on_target(proposal).order_by("created_at", "id"))
    collisions: tuple[Collision, ...] = collisions_of(proposal.current_revision, others, today)
    return {each.other.pk: (each.effect, each.back) for each in collisions}


def test_both_pages_are_told_and_what_is_elsewhere_is_not(alice: User, make_block: MakeBlock, propose: Propose) -> None:
    today = make_block(alice, "tea", BODY)
    black, red = propose(today, "green", "black"), propose(today, "green", "red")
    bus, july = propose(today, "on the train", "on the bus"), propose(today, "June", "July")
    same_sentence = propose(today, "reads", "sleeps")
    both = CollisionEffect.NO_LONGER_FITS, CollisionEffect.NO_LONGER_FITS
    assert found(black, today) == {red.pk: both}
    assert found(red, today) == {black.pk: both}
    assert found(bus, today) == found(july, today) == found(same_sentence, today) == {}
