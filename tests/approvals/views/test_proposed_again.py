"""The page of what is proposed again shows the rejection, and the agent's reasons then and now."""

from typing import Any

from django.test import Client

from approvals import services
from approvals.models import Proposal, User
from approvals.permissions import ReviewAction
from memory_app.reads import Block
from tests.support.fixtures import Propose


def rejected(tim: User, proposal: Proposal, reason: str = "wrong") -> Proposal:
    given: dict[str, Any] = {"reason": reason, "comment": "She told me it is physics."}
    return services.reject(actor=tim, proposal_id=proposal.pk, revision=1, **given)


def forced(propose: Propose, goals: Block) -> Proposal:
    return propose(goals, "math", "maths", reasoning="Her mother wrote it today.", force=True)


def page_of(client: Any, proposal: Proposal) -> str:
    text: str = client.get(proposal.get_absolute_url()).content.decode()
    return " ".join(text.split())


def test_the_rejection_stands_beside_both_reasons(as_alice: Client, goals: Block, tim: User, propose: Propose) -> None:
    first = rejected(tim, propose(goals, "math", "maths"))
    page = page_of(as_alice, forced(propose, goals))
    assert "Rejected before" in page
    assert f'href="/proposals/{first.pk}/"' in page
    for said in ("She told me it is physics.", ": wrong.", "Alice said so.", "Her mother wrote it today."):
        assert said in page
    assert "A person rejected or undid the same before." in page


def test_removed_texts_stay_removed_there(as_alice: Client, goals: Block, tim: User, propose: Propose) -> None:
    rejected(tim, propose(goals, "math", "maths"), "too_private")
    page = page_of(as_alice, forced(propose, goals))
    assert "Removed with the texts of that proposal." in page
    assert "Alice said so." not in page


def test_what_was_undone_is_called_that(
    as_alice: Client, goals: Block, alice: User, tim: User, propose: Propose
) -> None:
    first = propose(goals, "math", "maths")
    services.approve(actor=tim, proposal_id=first.pk, revision=1, seen_sha256=goals.sha256)
    services.undo(actor=alice, proposal_id=first.pk, comment="Not yet.")
    page = page_of(as_alice, propose(goals, "math", "maths"))
    assert "Undone before" in page
    assert "Not yet." in page
    assert "Rejected before" not in page


def test_in_the_list_it_says_so_and_is_opened_to_be_decided(
    as_alice: Client, goals: Block, alice: User, tim: User, propose: Propose
) -> None:
    rejected(tim, propose(goals, "math", "maths"))
    again = forced(propose, goals)
    page = as_alice.get("/").content.decode()
    assert "proposed again" in page
    assert f'action="/proposals/{again.pk}/approve/"' not in page
    items = [services.Item(again.pk, 1, goals.sha256)]
    done = services.decide_several(actor=alice, action=ReviewAction.APPROVE, items=items)
    assert [each.why for each in done.results] == ["It was rejected or undone before. Open it to decide."]
