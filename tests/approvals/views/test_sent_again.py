"""A form that comes again, from a page that was gone back to or another window, with something else in it: it is never
taken for what was decided before, and what was typed is given back."""

import pytest
from django.test import Client
from django.urls import reverse

from approvals import services
from approvals.models import Agent, Approval, Event, Proposal, Status, TrustRule, User
from approvals.permissions import ReviewAction
from approvals.review.reworded import ids_of_changes
from approvals.services.errors import Refusal
from memory_app import reads
from memory_app.reads import Block
from tests.support.acts import address, edit, filled, fresh
from tests.support.pages import assert_says, form, html

SEVERAL = reverse("several")


def test_another_reason_is_not_taken_for_the_first(proposal: Proposal, as_tim: Client) -> None:
    url, fields = address("reject", proposal), filled(as_tim, "reject", proposal)
    assert as_tim.post(url, fields | {"reason": "wrong"}).status_code == 302
    again = as_tim.post(url, fields | {"reason": "too_private"})
    assert_says(again, "You rejected this already, in another window. Nothing more was saved.", status=409)
    assert as_tim.post(url, fields | {"reason": "wrong"}).status_code == 302


def test_a_part_is_not_taken_for_the_whole_nor_for_another_part(as_tim: Client, three_changes: Proposal) -> None:
    url, fields = address("approve", three_changes), filled(as_tim, "approve", three_changes)
    first, second, third = ids_of_changes(three_changes)
    everything = {name: value for name, value in fields.items() if name not in ("shown", "accepted")}
    part = fields | {"rest": "reject", "rest_reason": "wrong", "shown": f"{first} {second} {third}"}
    for sent, status in (
        (part | {"accepted": first}, 302),
        (part | {"accepted": first}, 302),
        (part | {"accepted": second}, 409),
        (everything, 409),
    ):
        assert as_tim.post(url, sent).status_code == status
    assert fresh(three_changes).approval == Approval.PART


@pytest.mark.parametrize("sent", [{}, {"choice_1": "own", "own_1": ""}, {"text": "   "}])
def test_no_form_empties_a_block(proposal: Proposal, as_tim: Client, alice: User, sent: dict[str, str]) -> None:
    edit(alice, "goals", "in June", "in July")  # so that there is nothing left to settle
    now = reads.block("alice", "goals")
    for name in ("resolve", "edit"):
        answer = as_tim.post(address(name, proposal), {"revision": "1", "seen_sha256": now.sha256} | sent)
        assert answer.status_code in (409, 422), name
        assert reads.block("alice", "goals").body == now.body


def test_what_was_typed_into_a_conflict_comes_back_after_a_decision_elsewhere(
    proposal: Proposal, as_tim: Client, alice: User, tim: User
) -> None:
    edit(alice, "goals", "in June", "in August")
    own = {"choice_1": "own", "own_1": "She wants to pass it in September."}
    sent = filled(as_tim, "resolve", proposal, **own)
    services.reject(actor=tim, proposal_id=proposal.pk, revision=1, reason="wrong")
    answer = as_tim.post(address("resolve", proposal), sent)
    assert answer.status_code == 409
    assert own["own_1"] in html(answer)


def test_a_comment_from_a_page_gone_back_to_is_another_one(proposal: Proposal, as_tim: Client) -> None:
    fields = filled(as_tim, "comment", proposal)
    for said in ("Since when?", "Since when?", "And who said so?"):
        assert as_tim.post(address("comment", proposal), fields | {"said": said}).status_code == 302
    comments = Event.objects.filter(what=Event.What.COMMENTED).order_by("pk")
    assert [each.text for each in comments] == ["Since when?", "And who said so?"]


def test_a_batch_sent_again_with_another_action_says_what_is(proposal: Proposal, as_tim: Client, goals: Block) -> None:
    fields = form(as_tim.get("/"), SEVERAL) | {f"item-{proposal.pk}": f"{proposal.pk}:1:{goals.sha256}"}
    for _ in range(2):
        assert_says(as_tim.post(SEVERAL, fields | {"action": "approve"}, follow=True), "1 approved")
    again = as_tim.post(SEVERAL, fields | {"action": "reject", "reason": "too_private"}, follow=True)
    assert_says(again, "0 rejected, 1 needs a closer look")
    proposal.refresh_from_db()
    assert (proposal.status, proposal.redacted_at) == (Status.APPROVED, None)


@pytest.mark.parametrize("batch", ["a" * 32 + "/x" + "b" * 32, "a" * 33, "A" * 32])
def test_a_made_up_batch_decides_nothing(proposal: Proposal, as_tim: Client, goals: Block, batch: str) -> None:
    ticked = {f"item-{proposal.pk}": f"{proposal.pk}:1:{goals.sha256}"}
    answer = as_tim.post(SEVERAL, ticked | {"action": "approve", "batch": batch})
    assert answer.status_code < 500
    proposal.refresh_from_db()
    assert (proposal.status, proposal.decision_batch) == (Status.OPEN, "")


def test_undoing_a_batch_again_leaves_alone_what_was_closed_otherwise_since(
    proposal: Proposal, tim: User, scribe: Agent, goals: Block
) -> None:
    items = [services.Item(proposal.pk, 1, goals.sha256)]
    batch = services.decide_several(actor=tim, items=items, action=ReviewAction.REJECT, reason="wrong").kept.pk
    services.undo_several(actor=tim, batch=batch)
    services.withdraw(agent=scribe, proposal_id=proposal.pk)
    services.undo_several(actor=tim, batch=batch)
    assert fresh(proposal).status == Status.WITHDRAWN


@pytest.mark.parametrize("zone", ["Europe/Berlin", "Asia/Tokyo", "America/New_York"])
def test_a_list_since_a_day_at_the_ends_of_the_calendar_is_empty(as_tim: Client, tim: User, zone: str) -> None:
    User.objects.filter(pk=tim.pk).update(time_zone=zone)
    for day in ("0001-01-01", "9999-12-31", "1899-12-31"):
        for query in (f"age={day}", f"tab=decided&decided={day}"):
            assert as_tim.get(f"/?{query}").status_code == 200


def test_a_rule_deleted_while_it_is_changed_is_gone(alice: User, goals: Block) -> None:
    rule = services.create_rule(actor=alice, owner="alice", block="goals", needs="small")
    TrustRule.objects.filter(pk=rule.pk).delete()
    with pytest.raises(Refusal):
        services.change_rule(actor=alice, owner="alice", rule_id=rule.pk, needs="ask")
