"""Saying no: by a person, by the agent itself, by time; and what can no longer be approved, on its page."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from agent_tools.answers import representations
from approvals import services
from approvals.models import Agent, Event, Proposal, RejectReason, Status, User
from memory_app import reads
from memory_app.reads import Block
from tests.support.acts import address, approve, as_seen, edit, filled, fresh, look, reject, send
from tests.support.first import head_of_main
from tests.support.fixtures import MakeBlock, Propose
from tests.support.pages import assert_says, form, has_form, html, htmx, words
from tests.support.refusals import refusing


def test_rejecting_keeps_who_why_and_the_hash_and_leaves_memory(goals: Block, tim: User, proposal: Proposal) -> None:
    before, hash_ = head_of_main(), proposal.current_revision.head_commit
    with pytest.raises(ValueError, match="unknown reject reason"):
        reject(tim, proposal, "because")
    decided = reject(tim, proposal, "badly_worded", comment=" Say it in German. ")
    assert (decided.status, decided.decided_by) == (Status.REJECTED, tim)
    assert (decided.decision_reason, decided.decision_comment) == ("badly_worded", "Say it in German.")
    assert decided.decided_at is not None
    assert decided.current_revision.head_commit == hash_
    assert (head_of_main(), reads.block("alice", "goals")) == (before, goals)
    event = decided.events.last()
    assert (event.what, event.actor, event.data) == ("rejected", "tim", {"reason": "badly_worded"})


def test_an_agent_withdraws_its_own_proposal_only(proposal: Proposal, scribe: Agent) -> None:
    with refusing("proposal_not_found"):
        services.withdraw(agent=Agent.objects.create(name="other"), proposal_id=proposal.pk)
    withdrawn = services.withdraw(agent=scribe, proposal_id=proposal.pk, comment="I misheard.")
    assert (withdrawn.status, withdrawn.decided_by) == (Status.WITHDRAWN, None)
    with refusing("already_decided", match="scribe was first"):
        services.withdraw(agent=scribe, proposal_id=proposal.pk)


def test_what_nobody_decided_about_expires(goals: Block, tim: User, proposal: Proposal, propose: Propose) -> None:
    young = propose(goals, "June", "July")
    Proposal.objects.filter(pk=proposal.pk).update(expires_at=timezone.now() - timedelta(minutes=1))
    assert services.expire() == 1
    assert Proposal.objects.open().get() == young
    proposal.refresh_from_db()
    assert proposal.status == Status.EXPIRED
    event = proposal.events.last()
    assert (event.what, event.actor_kind) == (Event.What.EXPIRED, "assent")
    with refusing("already_decided", match="expired"):
        approve(tim, proposal)
    assert services.expire() == 0


# -- on its page: closed where its change is there, else written by hand from its text ------------


@pytest.fixture
def already_applied(alice: User, proposal: Proposal) -> Proposal:
    """A proposal of scribe's whose change alice made by hand."""
    edit(alice, "goals", "math", "maths")
    return proposal


def test_what_is_in_memory_already_has_one_button_and_no_change(as_tim: Client, already_applied: Proposal) -> None:
    page = look(as_tim, already_applied)
    assert_says(page, "Close: already in the memory")
    assert not re.search("<(ins|del)>", html(page))
    assert "Reject…" not in words(page)
    assert not has_form(page, address("approve", already_applied))


@pytest.mark.parametrize("headers", [{}, htmx("proposal")], ids=["a form", "htmx"])
def test_closing_it_finds_no_fault_and_tells_its_agent(
    as_tim: Client, already_applied: Proposal, headers: dict[str, str]
) -> None:
    answer = send(as_tim, "reject", already_applied, headers)
    assert_says(answer, "Closed by Tim Okafor: already in the memory")
    assert not re.search("Rejected|Duplicate", words(answer))
    already_applied.refresh_from_db()
    assert (already_applied.status, already_applied.decision_reason) == (Status.REJECTED, RejectReason.DUPLICATE)
    assert "This is already in the memory; nothing was left to change." in representations.told(already_applied)


def test_what_went_from_memory_meanwhile_is_not_closed(
    as_tim: Client, alice: User, tim: User, already_applied: Proposal
) -> None:
    fields = filled(as_tim, "reject", already_applied)
    edit(alice, "goals", "maths", "math")
    answer = as_tim.post(address("reject", already_applied), fields, headers=htmx("proposal"))
    assert_says(answer, "Your decision was not saved.", status=409)
    assert has_form(answer, address("approve", already_applied))
    with refusing("target_changed"):  # it is not there, as it was not before
        services.close_already_applied(actor=tim, **as_seen(already_applied))
    assert fresh(already_applied).status == Status.OPEN


def test_the_owner_may_write_a_change_that_no_longer_fits_with_its_text_beside_it(
    as_alice: Client, as_tim: Client, alice: User, goals: Block, propose: Propose
) -> None:
    proposal = propose(goals, "in June", "in July")
    edit(alice, "goals", "in June", "in May")
    beside = f"{reverse('block_edit', args=['alice', 'goals'])}?beside={proposal.pk}"
    assert f'href="{beside}"' in html(look(as_alice, proposal))
    assert beside not in html(look(as_tim, proposal))  # who may not edit
    page = as_alice.get(beside)
    assert_says(page, "What scribe proposed", "added: July")
    fields = form(page, beside) | {"body": goals.body.replace("in June", "in July")}
    assert_says(as_alice.post(beside, fields | {"preview": "1"}), "What scribe proposed")
    as_alice.post(beside, fields)
    assert "in July" in reads.block("alice", "goals").body


def test_only_an_open_proposal_for_that_block_stands_beside_it(
    as_alice: Client, ben: User, make_block: MakeBlock, goals: Block, propose: Propose
) -> None:
    theirs = propose(make_block(ben, "goals", "Secret plans.\n"), "plans", "hopes")
    for wanted in (theirs.pk, "x", 10**12):
        page = as_alice.get(f"{reverse('block_edit', args=['alice', 'goals'])}?beside={wanted}")
        assert page.status_code == 200
        assert "What scribe proposed" not in words(page)
        assert "Secret" not in words(page)
