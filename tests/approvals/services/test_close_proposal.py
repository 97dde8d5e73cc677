"""Saying no: by a person, by the agent itself, by time; and what can no longer be approved, on its page."""

import re
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from agent_tools.answers import representations
from approvals import services
from approvals.models import Agent, Event, Proposal, RejectReason, Status, User
from memory_app import reads
from memory_app.dolt.connections import head_of_main
from memory_app.reads import Block
from tests.approvals.views.test_proposal_page import HTMX, approve_url, reject_url, url
from tests.support.acts import approve, as_seen, edit, reject
from tests.support.fixtures import ClientOf, MakeBlock, Propose
from tests.support.pages import form, has_form, words
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


def test_what_is_in_memory_already_has_one_button_and_no_change(
    client_of: ClientOf, tim: User, already_applied: Proposal
) -> None:
    page = client_of(tim).get(url(already_applied))
    assert "Close: already in the memory" in words(page)
    assert not re.search("<(ins|del)>", page.content.decode())
    assert "Reject…" not in words(page)
    assert not has_form(page, approve_url(already_applied))


@pytest.mark.parametrize("headers", [{}, HTMX], ids=["a form", "htmx"])
def test_closing_it_finds_no_fault_and_tells_its_agent(
    client_of: ClientOf, tim: User, already_applied: Proposal, headers: dict[str, str]
) -> None:
    client = client_of(tim)
    fields = form(client.get(url(already_applied)), reject_url(already_applied))
    answer = client.post(reject_url(already_applied), fields, headers=headers, follow=True)
    assert answer.status_code == 200
    assert "Closed by Tim Okafor: already in the memory" in words(answer)
    assert not re.search("Rejected|Duplicate", words(answer))
    already_applied.refresh_from_db()
    assert (already_applied.status, already_applied.decision_reason) == (Status.REJECTED, RejectReason.DUPLICATE)
    assert "This is already in the memory; nothing was left to change." in representations.told(already_applied)


def test_what_went_from_memory_meanwhile_is_not_closed(
    client_of: ClientOf, goals: Block, alice: User, tim: User, already_applied: Proposal
) -> None:
    client = client_of(tim)
    fields = form(client.get(url(already_applied)), reject_url(already_applied))
    edit(alice, "goals", "maths", "math")
    answer = client.post(reject_url(already_applied), fields, headers=HTMX)
    assert answer.status_code == 409
    assert "Your decision was not saved." in words(answer)
    assert has_form(answer, approve_url(already_applied))
    with refusing("target_changed"):  # it is not there, as it was not before
        services.close_already_applied(actor=tim, **as_seen(already_applied))
    already_applied.refresh_from_db()
    assert already_applied.status == Status.OPEN


def test_the_owner_may_write_a_change_that_no_longer_fits_with_its_text_beside_it(
    client_of: ClientOf, alice: User, tim: User, goals: Block, propose: Propose
) -> None:
    proposal = propose(goals, "in June", "in July")
    edit(alice, "goals", "in June", "in May")
    address = f"{reverse('block_edit', args=['alice', 'goals'])}?beside={proposal.pk}"
    assert f'href="{address}"' in client_of(alice).get(url(proposal)).content.decode()
    assert address not in client_of(tim).get(url(proposal)).content.decode()  # who may not edit
    client = client_of(alice)
    page = client.get(address)
    assert "What scribe proposed" in words(page)
    assert "added: July" in words(page)
    fields = form(page, address) | {"body": goals.body.replace("in June", "in July"), "preview": "1"}
    assert "What scribe proposed" in words(client.post(address, fields))
    del fields["preview"]
    client.post(address, fields)
    assert "in July" in reads.block("alice", "goals").body


def test_only_an_open_proposal_for_that_block_stands_beside_it(
    client_of: ClientOf, alice: User, ben: User, make_block: MakeBlock, goals: Block, propose: Propose
) -> None:
    theirs = propose(make_block(ben, "goals", "Secret plans.\n"), "plans", "hopes")
    client = client_of(alice)
    for wanted in (theirs.pk, "x", 10**12):
        page = client.get(f"{reverse('block_edit', args=['alice', 'goals'])}?beside={wanted}")
        assert page.status_code == 200
        assert "What scribe proposed" not in words(page)
        assert "Secret" not in words(page)
