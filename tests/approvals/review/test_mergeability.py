"""A proposal on a text that changed since: it fits, is merged, is there already, or is a conflict that says where."""

from __future__ import annotations

import pytest

from approvals.models import Mergeability, Revision
from approvals.review.mergeability import Assessment, assess, block_after
from memory_app.reads import Block
from memory_app.text import edits
from memory_app.text.merge import Conflict
from tests.support.standing import block_with, revision_of

pytestmark = pytest.mark.pure

BODY = "Ann drinks green tea in the morning. She reads on the train to work.\n\n- algebra\n- geometry\n"


def block(body: str = BODY, *, limit: int = 1000) -> Block:
    return block_with(body, limit=limit)


def revision(*wanted: edits.Edit, base: str = BODY) -> Revision:
    return revision_of(*wanted, base=base)


def standing(wanted: Revision, body: str, *, limit: int = 1000) -> Assessment:
    return assess(wanted, block(body, limit=limit))


def test_a_rewrite_is_merged_with_what_was_changed_elsewhere() -> None:
    wanted = revision(edits.Rewrite(BODY.replace("train", "bus")))
    found = standing(wanted, BODY.replace("green", "black"))
    assert found.state == Mergeability.REBASABLE
    assert found.result_text == BODY.replace("train", "bus").replace("green", "black")
    assert found.is_stale


def test_an_edit_around_words_that_changed_is_merged() -> None:
    first = "Ann drinks green tea in the morning. She reads on the train to work."
    wanted = revision(edits.Replace(first, first.replace("train", "bus")))
    found = standing(wanted, BODY.replace("green", "black"))
    assert found.result_text == BODY.replace("train", "bus").replace("green", "black")


def test_what_cannot_be_merged_says_where() -> None:
    wanted = revision(edits.Replace("- geometry", "- topology"), edits.Replace("green tea", "coffee"))
    found = standing(wanted, BODY.replace("- geometry", "- analysis"))
    assert (found.state, found.result_text, found.failing_edit) == (Mergeability.CONFLICT, None, 0)
    assert found.conflict.conflicts == (Conflict("geometry", "analysis", "topology"),)
    assert found.conflict.resolved(["topology"]) == wanted.result_text


def test_everything_asked_for_is_there_already() -> None:
    wanted = revision(edits.Rewrite(BODY.replace("train", "bus").replace("green", "black")))
    body = BODY.replace("train", "bus").replace("green", "black") + "- analysis\n"
    assert standing(wanted, body).state == Mergeability.ALREADY_APPLIED


def test_what_is_there_only_in_part_is_still_to_be_approved() -> None:
    wanted = revision(edits.Rewrite(BODY.replace("train", "bus").replace("green", "black")))
    found = standing(wanted, BODY.replace("train", "bus") + "- analysis\n")
    assert found.state == Mergeability.REBASABLE
    assert found.result_text == wanted.result_text + "- analysis\n"


def test_a_merged_text_longer_than_the_block_may_be_is_a_conflict() -> None:
    wanted = revision(edits.Rewrite(BODY.replace("train", "omnibus")))
    found = standing(wanted, BODY.replace("green", "black"), limit=len(BODY) + 1)
    assert (found.state, found.over_limit) == (Mergeability.CONFLICT, 1)


def test_the_block_as_it_would_be_once_a_proposal_is_approved() -> None:
    one, other = revision(edits.Replace("green", "black")), revision(edits.Replace("train", "bus"))
    after = block_after(one, block())
    assert after is not None
    assert after.body == BODY.replace("green", "black")
    assert assess(other, after).state == Mergeability.REBASABLE


def test_one_that_cannot_be_approved_changes_nothing() -> None:
    one = revision(edits.Replace("green", "black"))
    assert block_after(one, block(BODY.replace("green tea", "coffee"))) is None
