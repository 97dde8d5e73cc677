"""A proposal on a text that changed since: it fits, is merged, is there already, or is a conflict that says where."""

import pytest

from approvals.models import Mergeability, Revision
from approvals.review.targets import Assessment, assess, block_after
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


FIRST = BODY.partition("\n")[0]


@pytest.mark.parametrize(
    "wanted",
    [edits.Rewrite(BODY.replace("train", "bus")), edits.Replace(FIRST, FIRST.replace("train", "bus"))],
    ids=["a rewrite", "an edit around words that changed"],
)
def test_it_is_merged_with_what_was_changed_elsewhere(wanted: edits.Edit) -> None:
    found = standing(revision(wanted), BODY.replace("green", "black"))
    assert (found.state, found.is_stale) == (Mergeability.REBASABLE, True)
    assert found.result_text == BODY.replace("train", "bus").replace("green", "black")


def test_what_cannot_be_merged_says_where() -> None:
    wanted = revision(edits.Replace("- geometry", "- topology"), edits.Replace("green tea", "coffee"))
    found = standing(wanted, BODY.replace("- geometry", "- analysis"))
    assert (found.state, found.result_text, found.failing_edit) == (Mergeability.CONFLICT, None, 0)
    assert found.conflict.conflicts == (Conflict("geometry", "analysis", "topology"),)
    assert found.conflict.resolved(["topology"]) == wanted.result_text


def test_what_is_asked_for_may_be_there_already_all_or_in_part() -> None:
    wanted = revision(edits.Rewrite(BODY.replace("train", "bus").replace("green", "black")))
    assert standing(wanted, wanted.result_text + "- analysis\n").state == Mergeability.ALREADY_APPLIED
    found = standing(wanted, BODY.replace("train", "bus") + "- analysis\n")
    assert (found.state, found.result_text) == (Mergeability.REBASABLE, wanted.result_text + "- analysis\n")


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
    assert block_after(one, block(BODY.replace("green tea", "coffee"))) is None, "it cannot be approved"
