"""A proposal that can no longer be approved: closed where its change is there, else written by hand from its text."""

import pytest
from django.urls import reverse

from agent_tools.answers import representations
from approvals import services
from approvals.models import Proposal, RejectReason, Status, User
from approvals.services.errors import TargetChanged
from memory_app import reads
from memory_app.reads import Block
from tests.approvals.views.test_proposal_page import HTMX, approve_url, reject_url, url
from tests.support.acts import edit
from tests.support.fixtures import ClientOf, MakeBlock, Propose
from tests.support.pages import form, has_form, words


@pytest.fixture
def already_applied(alice: User, goals: Block, propose: Propose) -> Proposal:
    """A proposal of scribe's whose change alice made by hand."""
    proposal: Proposal = propose(goals, "in June", "in July")
    edit(alice, "goals", "in June", "in July")
    return proposal


def test_what_is_in_memory_already_has_one_button_and_no_change(
    client_of: ClientOf, tim: User, already_applied: Proposal
) -> None:
    page = client_of(tim).get(url(already_applied))
    content = page.content.decode()
    assert "Close: already in the memory" in words(page)
    assert "<ins>" not in content
    assert "<del>" not in content
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
    said = words(answer)
    assert "Closed by Tim Okafor: already in the memory" in said
    assert "Rejected" not in said
    assert "Duplicate" not in said
    already_applied.refresh_from_db()
    assert (already_applied.status, already_applied.decision_reason) == (Status.REJECTED, RejectReason.DUPLICATE)
    assert "This is already in the memory; nothing was left to change." in representations.told(already_applied)


def test_what_went_from_memory_meanwhile_is_not_closed(
    client_of: ClientOf, alice: User, tim: User, goals: Block, already_applied: Proposal
) -> None:
    client = client_of(tim)
    fields = form(client.get(url(already_applied)), reject_url(already_applied))
    edit(alice, "goals", "in July", "in June")
    answer = client.post(reject_url(already_applied), fields, headers=HTMX)
    assert answer.status_code == 409
    assert "Your decision was not saved." in words(answer)
    assert has_form(answer, approve_url(already_applied))
    already_applied.refresh_from_db()
    assert already_applied.status == Status.OPEN


def test_a_change_that_is_not_there_cannot_be_closed_as_if_it_were(tim: User, goals: Block, propose: Propose) -> None:
    proposal = propose(goals, "in June", "in July")
    with pytest.raises(TargetChanged):
        services.close_already_applied(actor=tim, proposal_id=proposal.pk, revision=1, seen_sha256=goals.sha256)


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
