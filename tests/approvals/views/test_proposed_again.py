"""The page of what is proposed again shows the rejection, and the agent's reasons then and now."""

import pytest
from django.test import Client

from approvals import services
from approvals.models import Proposal, User
from approvals.permissions import ReviewAction
from memory_app.reads import Block
from tests.support.acts import approve
from tests.support.fixtures import Propose
from tests.support.pages import assert_says, html, words


def rejected(tim: User, proposal: Proposal, reason: str = "wrong") -> Proposal:
    said = "She told me it is physics."
    return services.reject(actor=tim, proposal_id=proposal.pk, revision=1, reason=reason, comment=said)


def forced(propose: Propose, goals: Block) -> Proposal:
    return propose(goals, "math", "maths", reasoning="Her mother wrote it today.", force=True)


@pytest.mark.parametrize("reason", ["wrong", "too_private"])
def test_the_rejection_stands_beside_both_reasons_unless_its_texts_were_removed(
    as_alice: Client, goals: Block, tim: User, propose: Propose, reason: str
) -> None:
    first = rejected(tim, propose(goals, "math", "maths"), reason)
    again = forced(propose, goals)
    page = as_alice.get(again.get_absolute_url())
    assert_says(page, "Rejected before", "Her mother wrote it today.")
    assert f'href="/proposals/{first.pk}/"' in html(page)
    if reason == "too_private":
        assert_says(page, "Removed with the texts of that proposal.")
        assert "Alice said so." not in words(page)
        return
    assert_says(page, "She told me it is physics.", ": wrong.", "Alice said so.")
    assert_says(page, "A person rejected or undid the same before.")
    # In the list it says so, and it is opened to be decided.
    rows = as_alice.get("/")
    assert_says(rows, "proposed again")
    assert f'action="/proposals/{again.pk}/approve/"' not in html(rows)
    items = [services.Item(again.pk, 1, goals.sha256)]
    done = services.decide_several(actor=tim, action=ReviewAction.APPROVE, items=items)
    assert [each.why for each in done.results] == ["It was rejected or undone before. Open it to decide."]


def test_what_was_undone_is_called_that(
    as_alice: Client, goals: Block, alice: User, tim: User, propose: Propose
) -> None:
    first = approve(tim, propose(goals, "math", "maths"))
    services.undo(actor=alice, proposal_id=first.pk, comment="Not yet.")
    page = as_alice.get(propose(goals, "math", "maths").get_absolute_url())
    assert_says(page, "Undone before", "Not yet.")
    assert "Rejected before" not in words(page)
