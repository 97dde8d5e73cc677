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
from tests.support.acts import edit
from tests.support.pages import form, words


@pytest.fixture
def conflict(alice: User, proposal: Proposal) -> Proposal:
    """A change of what alice has changed herself since."""
    edit(alice, "goals", "in June", "in August")
    return proposal


def url(name: str, proposal: Proposal) -> str:
    return reverse(name, args=[proposal.pk])


def fields_of(client: Client, proposal: Proposal, name: str) -> dict[str, str]:
    return form(client.get(proposal.get_absolute_url()), url(name, proposal))


def test_another_reason_is_not_taken_for_the_first(proposal: Proposal, as_tim: Client) -> None:
    fields = fields_of(as_tim, proposal, "reject")
    assert as_tim.post(url("reject", proposal), fields | {"reason": "wrong"}).status_code == 302
    again = as_tim.post(url("reject", proposal), fields | {"reason": "too_private"})
    assert again.status_code == 409
    assert "You rejected this already, in another window. Nothing more was saved." in words(again)
    assert as_tim.post(url("reject", proposal), fields | {"reason": "wrong"}).status_code == 302


def test_a_part_is_not_taken_for_the_whole_nor_for_another_part(as_tim: Client, three_changes: Proposal) -> None:
    fields = fields_of(as_tim, three_changes, "approve")
    first, second, third = ids_of_changes(three_changes)
    rest = {"rest": "reject", "rest_reason": "wrong", "shown": f"{first} {second} {third}"}
    assert as_tim.post(url("approve", three_changes), fields | rest | {"accepted": first}).status_code == 302
    assert as_tim.post(url("approve", three_changes), fields | rest | {"accepted": first}).status_code == 302
    assert as_tim.post(url("approve", three_changes), fields | rest | {"accepted": second}).status_code == 409
    everything = {name: value for name, value in fields.items() if name not in ("shown", "accepted")}
    assert as_tim.post(url("approve", three_changes), everything).status_code == 409
    three_changes.refresh_from_db()
    assert three_changes.approval == Approval.PART


@pytest.mark.parametrize("sent", [{}, {"choice_1": "own", "own_1": ""}, {"text": "   "}])
def test_no_form_empties_a_block(proposal: Proposal, as_tim: Client, alice: User, sent: dict[str, str]) -> None:
    edit(alice, "goals", "in June", "in July")  # so that there is nothing left to settle
    now = reads.block("alice", "goals")
    for name in ("resolve", "edit"):
        answer = as_tim.post(url(name, proposal), {"revision": "1", "seen_sha256": now.sha256} | sent)
        assert answer.status_code in (409, 422), name
        assert reads.block("alice", "goals").body == now.body


def test_what_was_typed_into_a_conflict_comes_back_after_a_decision_elsewhere(
    as_tim: Client, conflict: Proposal
) -> None:
    address = url("resolve", conflict)
    fields = form(as_tim.get(address), address)
    services.reject(actor=User.objects.get(username="tim"), proposal_id=conflict.pk, revision=1, reason="wrong")
    own = {"choice_1": "own", "own_1": "She wants to pass it in September."}
    answer = as_tim.post(address, fields | own)
    assert answer.status_code == 409
    assert "She wants to pass it in September." in answer.content.decode()


def test_words_beside_another_choice_are_not_passed_over(as_tim: Client, conflict: Proposal) -> None:
    address = url("resolve", conflict)
    fields = form(as_tim.get(address), address)
    typed = {"own_1": "She wants to pass it in September."}
    answer = as_tim.post(address, fields | typed | {"choice_1": "proposed"})
    assert answer.status_code == 422
    assert "You wrote a text of your own and chose another one." in words(answer)
    assert typed["own_1"] in answer.content.decode()
    cleared = fields | {"choice_1": "proposed", "own_1": ""}
    assert as_tim.post(address, cleared).status_code == 302
    assert "in July" in reads.block("alice", "goals").body


def test_a_comment_from_a_page_gone_back_to_is_another_one(proposal: Proposal, as_tim: Client) -> None:
    fields = fields_of(as_tim, proposal, "comment")
    for said in ("Since when?", "Since when?", "And who said so?"):
        assert as_tim.post(url("comment", proposal), fields | {"said": said}).status_code == 302
    comments = Event.objects.filter(what=Event.What.COMMENTED).order_by("pk")
    assert [each.text for each in comments] == ["Since when?", "And who said so?"]


def test_a_batch_sent_again_with_another_action_says_what_is(proposal: Proposal, as_tim: Client, goals: Block) -> None:
    several = reverse("several")
    fields = form(as_tim.get("/"), several) | {f"item-{proposal.pk}": f"{proposal.pk}:1:{goals.sha256}"}
    assert "1 approved" in words(as_tim.post(several, fields | {"action": "approve"}))
    assert "1 approved" in words(as_tim.post(several, fields | {"action": "approve"}))
    again = words(as_tim.post(several, fields | {"action": "reject", "reason": "too_private"}))
    assert "1 left as it was" in again
    proposal.refresh_from_db()
    assert (proposal.status, proposal.redacted_at) == (Status.APPROVED, None)


@pytest.mark.parametrize("batch", ["a" * 32 + "/x" + "b" * 32, "a" * 33, "A" * 32])
def test_a_made_up_batch_decides_nothing(proposal: Proposal, as_tim: Client, goals: Block, batch: str) -> None:
    ticked = {f"item-{proposal.pk}": f"{proposal.pk}:1:{goals.sha256}"}
    answer = as_tim.post(reverse("several"), ticked | {"action": "approve", "batch": batch})
    assert answer.status_code < 500
    proposal.refresh_from_db()
    assert (proposal.status, proposal.decision_batch) == (Status.OPEN, "")


def test_undoing_a_batch_again_leaves_alone_what_was_closed_otherwise_since(
    proposal: Proposal, tim: User, scribe: Agent, goals: Block
) -> None:
    items = [services.Item(proposal.pk, 1, goals.sha256)]
    batch = services.decide_several(actor=tim, items=items, action=ReviewAction.REJECT, reason="wrong").batch
    services.undo_several(actor=tim, batch=batch)
    services.withdraw(agent=scribe, proposal_id=proposal.pk)
    services.undo_several(actor=tim, batch=batch)
    proposal.refresh_from_db()
    assert proposal.status == Status.WITHDRAWN


@pytest.mark.parametrize("zone", ["Europe/Berlin", "Asia/Tokyo", "America/New_York"])
@pytest.mark.parametrize("day", ["0001-01-01", "9999-12-31", "1899-12-31"])
def test_a_list_since_a_day_at_the_ends_of_the_calendar_is_empty(
    as_tim: Client, tim: User, proposal: Proposal, zone: str, day: str
) -> None:
    User.objects.filter(pk=tim.pk).update(time_zone=zone)
    for query in (f"age={day}", f"tab=decided&decided={day}"):
        assert as_tim.get(f"/?{query}").status_code == 200


@pytest.mark.parametrize("sent", [{}, {"to": "x" * 65}, {"to": "tim\0"}])
def test_a_form_without_a_person_takes_nobody_off(
    proposal: Proposal, as_tim: Client, tim: User, sent: dict[str, str]
) -> None:
    services.assign(actor=tim, proposal_id=proposal.pk, to="alice")
    assert "Not assigned" in words(as_tim.post(url("assign", proposal), sent, follow=True))
    proposal.refresh_from_db()
    assert proposal.assigned_to is not None


def test_a_rule_deleted_while_it_is_changed_is_gone(alice: User, goals: Block) -> None:
    rule = services.create_rule(actor=alice, owner="alice", block="goals", needs="small")
    TrustRule.objects.filter(pk=rule.pk).delete()
    with pytest.raises(Refusal):
        services.change_rule(actor=alice, owner="alice", rule_id=rule.pk, needs="ask")
