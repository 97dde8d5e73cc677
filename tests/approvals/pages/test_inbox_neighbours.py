"""Several proposals for one block in the review queue: deciding about one leaves the others ready to be decided."""

from typing import Any

import pytest
from django.db import connections
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from approvals.models import Agent, Mergeability, Proposal, User
from approvals.services import notes
from approvals.services.notes import ChangeContext
from approvals.services.recheck import recheck
from memory_app import reads
from memory_app.reads import Block
from tests import environment
from tests.approvals.recovery.test_faults import nobody_listens
from tests.conftest import make_user
from tests.support import acts
from tests.support.fixtures import ClientOf, MakeBlock, Propose
from tests.support.pages import form, has_form, words

pytestmark = pytest.mark.slow

HTMX = {"HX-Request": "true"}

STILL_FITS = "You approved another change to this block a moment ago; this one still fits."


@pytest.fixture
def three(goals: Block, propose: Propose) -> list[Proposal]:
    return [propose(goals, "in June", "in July"), propose(goals, "one book", "two books"), propose(goals, "B2", "C1")]


def approve(client: Any, proposal: Proposal, page: Any, beside: Any = ()) -> Any:
    url = reverse("approve", args=[proposal.pk])
    fields = form(page, url) | {"beside": ",".join(str(each.pk) for each in beside)}
    return client.post(url, fields, headers=HTMX)


def edit(owner: User, label: str, old: str, new: str) -> None:
    acts.edit(owner, label, old, new)
    recheck(owner.username, [["block", label]])


def test_the_rows_beside_an_approved_one_are_renewed_and_keep_their_buttons(
    client_of: ClientOf, tim: User, three: list[Proposal]
) -> None:
    client = client_of(tim)
    first = approve(client, three[0], client.get("/"), three)
    assert words(first).count(STILL_FITS) == 2
    assert f'id="row-{three[0].pk}" data-row="{three[0].pk}">' in first.content.decode()
    for other in three[1:]:
        assert f'id="row-{other.pk}" data-row="{other.pk}" hx-swap-oob="true"' in first.content.decode()
    second = approve(client, three[1], first, three)
    assert second.status_code == 200
    assert words(second).count(STILL_FITS) == 1
    assert approve(client, three[2], second, three).status_code == 200
    body = reads.block("alice", "goals").body
    assert "in July" in body
    assert "two books" in body
    assert "C1" in body


def test_a_row_beside_an_approved_one_that_no_longer_fits_loses_its_buttons(
    client_of: ClientOf, tim: User, goals: Block, propose: Propose
) -> None:
    taken, left = propose(goals, "in June", "in July"), propose(goals, "in June", "in May")
    client = client_of(tim)
    answer = approve(client, taken, client.get("/"), [taken, left])
    assert STILL_FITS not in words(answer)
    assert "no longer fits" in words(answer)
    assert not has_form(answer, reverse("approve", args=[left.pk]))


def test_only_rows_of_the_same_block_that_may_be_seen_are_renewed(
    client_of: ClientOf, tim: User, goals: Block, propose: Propose, make_block: MakeBlock
) -> None:
    proposal = propose(goals, "in June", "in July")
    stranger = make_user("stranger")
    hidden = propose(make_block(stranger, "goals", "Wants to pass in June.\n"), "in June", "in July")
    client = client_of(tim)
    url = reverse("approve", args=[proposal.pk])
    fields = form(client.get("/"), url) | {"beside": f"{hidden.pk},x,-1,{'9' * 400}"}
    answer = client.post(url, fields, headers=HTMX)
    assert answer.status_code == 200
    assert "hx-swap-oob" not in answer.content.decode().split('id="waiting"')[0].replace(f'id="row-{proposal.pk}"', "")
    assert f"row-{hidden.pk}" not in answer.content.decode()


@pytest.mark.parametrize("is_checked", [True, False], ids=["checked again", "a worker that is slow"])
def test_of_a_block_that_changes_once_more_nothing_unseen_is_approved(
    is_checked: bool, client_of: ClientOf, alice: User, tim: User, goals: Block, propose: Propose
) -> None:
    proposal = propose(goals, "in June", "in July")
    edit(alice, "goals", "one book", "no books")
    client = client_of(tim)
    page = client.get("/")
    assert "block changed, still fits" in words(page)
    edit(alice, "goals", "no books", "some books")
    if not is_checked:
        Proposal.objects.filter(pk=proposal.pk).update(mergeability=Mergeability.CLEAN)
    answer = approve(client, proposal, page)
    assert answer.status_code == 409
    assert "The block changed since you opened this page." in words(answer)
    assert "in June" in reads.block("alice", "goals").body
    # The row that comes back is the one on the text as it is now.
    assert approve(client, proposal, answer).status_code == 200
    body = reads.block("alice", "goals").body
    assert "in July" in body
    assert "some books" in body


def test_what_one_changed_oneself_is_not_told_as_somebody_elses(
    client_of: ClientOf, tim: User, three: list[Proposal]
) -> None:
    client = client_of(tim)
    page = client.get("/")
    assert approve(client, three[0], page).status_code == 200  # and in another window:
    answer = approve(client, three[1], page, three)
    assert answer.status_code == 409
    assert STILL_FITS in words(answer)
    assert f'id="row-{three[2].pk}" data-row="{three[2].pk}" hx-swap-oob="true"' in answer.content.decode()
    assert approve(client, three[1], answer).status_code == 200


def test_what_somebody_else_changed_too_is_told_as_theirs(
    client_of: ClientOf, alice: User, tim: User, goals: Block, three: list[Proposal]
) -> None:
    client = client_of(tim)
    page = client.get("/")
    edit(alice, "goals", "likes math", "loves math")
    assert approve(client, three[0], client.get("/")).status_code == 200
    answer = approve(client, three[1], page)
    assert answer.status_code == 409
    assert STILL_FITS not in words(answer)
    assert "The block changed since you opened this page." in words(answer)


def test_proposals_about_one_note_are_checked_against_the_note_as_it_is(
    client_of: ClientOf, alice: User, scribe: Agent
) -> None:
    made = notes.save(by=ChangeContext(actor=alice), owner="alice", content="The exam is on 12 December.")
    by = ChangeContext(actor=scribe)
    reworded = notes.update(by=by, owner="alice", note_id=made.note_id, content="The exam is on 14 December.")
    deleted = notes.delete(by=by, owner="alice", note_id=made.note_id)
    client = client_of(alice)
    answer = approve(client, reworded.proposal, client.get("/"), [deleted.proposal])
    assert "no longer fits" in words(answer)
    assert not has_form(answer, reverse("approve", args=[deleted.proposal.pk]))


def test_a_list_of_changed_blocks_asks_the_memory_once(
    client_of: ClientOf, alice: User, make_block: MakeBlock, propose: Propose
) -> None:
    client = client_of(alice)
    for number in range(4):
        block = make_block(alice, f"block_{number}", "One two three four.\n")
        propose(block, "two", "2")
        edit(alice, block.label, "four", "4")
    client.get("/")
    with (
        CaptureQueriesContext(connections["default"]) as default,
        CaptureQueriesContext(connections["memory"]) as memory,
    ):
        page = client.get("/")
    assert words(page).count("block changed, still fits") == 4
    assert len(memory) == 1
    assert len(default) <= 12


def test_a_memory_that_is_away_takes_the_buttons_and_not_the_list(
    client_of: ClientOf, alice: User, goals: Block, propose: Propose, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposal = propose(goals, "in June", "in July", reasoning="The exam was moved.")
    edit(alice, "goals", "one book", "no books")
    client = client_of(alice)
    assert has_form(client.get("/"), reverse("approve", args=[proposal.pk]))
    connections["memory"].close()
    away = ("NAME", "/nonexistent/x") if environment.is_embedded() else ("PORT", nobody_listens())
    monkeypatch.setitem(connections["memory"].settings_dict, *away)
    page = client.get("/")
    connections["memory"].close()
    assert "The exam was moved." in words(page)
    assert not has_form(page, reverse("approve", args=[proposal.pk]))
