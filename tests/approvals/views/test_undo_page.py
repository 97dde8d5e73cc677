"""Undoing on pages: from the outcome, from its own page, from a row, and what it answers when it cannot."""

import pytest
from django.test import Client
from django.urls import reverse

from approvals.models import Agent, Policy, Proposal, User
from approvals.services import notes
from approvals.services.notes import ChangeContext
from memory_app import reads
from memory_app.models import Change
from memory_app.reads import Block
from tests.support.acts import approve, edit
from tests.support.fixtures import ClientOf, Propose
from tests.support.pages import form, has_form, words

HTMX = {"HX-Request": "true"}


def url(proposal: Proposal) -> str:
    return reverse("undo", args=[proposal.pk])


@pytest.fixture
def approved(goals: Block, tim: User, propose: Propose) -> Proposal:
    return approve(tim, propose(goals, "math", "maths"))


def test_its_outcome_offers_undo_and_says_who_undid_it(as_tim: Client, goals: Block, approved: Proposal) -> None:
    page = as_tim.get(approved.get_absolute_url())
    answer = as_tim.post(url(approved), form(page, url(approved)), follow=True)
    assert "Undone by Tim Okafor" in words(answer)
    assert reads.block("alice", "goals").body == goals.body
    assert url(approved) not in answer.content.decode()
    again = as_tim.post(url(approved), follow=True)  # pressed twice: the same answer
    assert "Undone by Tim Okafor" in words(again)
    assert Change.objects.filter(action="reverted").count() == 1


def test_after_a_later_change_a_page_shows_first_what_undoing_would_do(
    as_tim: Client, goals: Block, approved: Proposal, alice: User
) -> None:
    edit(alice, "goals", "one book", "two books")
    page = as_tim.get(approved.get_absolute_url())
    assert not has_form(page, url(approved))
    pressed = as_tim.post(url(approved), {"row": "/?q=x"}, headers=HTMX)  # on a row that is older
    assert pressed["HX-Redirect"] == f"{url(approved)}?list=q%3Dx"
    shown = as_tim.get(url(approved))
    assert "Later changes stay; only what is marked below is undone." in words(shown)
    assert "Alice Berg edited it" in words(shown)
    sent = form(shown, url(approved)) | {"comment": "Not about Alice."}
    laid_out, source = shown.content.decode(), as_tim.get(f"{url(approved)}?view=source").content.decode()
    assert "redline rendered" in laid_out
    assert "redline source" not in laid_out
    assert 'href="?view=source"' in laid_out
    assert "redline source" in source
    answer = as_tim.post(url(approved), sent, follow=True)
    assert "Not about Alice." in words(answer)
    assert reads.block("alice", "goals").body == goals.body.replace("one book", "two books")


def test_a_later_change_of_the_same_words_is_named_with_a_way_by_hand(
    as_alice: Client, as_tim: Client, goals: Block, approved: Proposal, alice: User
) -> None:
    edit(alice, "goals", "maths", "music")
    said = words(as_tim.get(url(approved)))
    assert "A later change touches the same text" in said
    assert "Alice Berg edited it" in said
    assert "Edit by hand" not in said  # a tutor may not
    page = as_alice.get(url(approved)).content.decode()
    assert reverse("block_edit", args=["alice", "goals"]) + f"?beside={approved.pk}" in page
    assert not has_form(as_alice.get(url(approved)), url(approved))
    answer = as_alice.post(url(approved), {"comment": "Typed."})
    assert answer.status_code == 409
    assert "Typed." in answer.content.decode()


def test_a_rejection_undone_on_its_row_is_a_row_to_decide_again(as_tim: Client, goals: Block, propose: Propose) -> None:
    proposal = propose(goals, "math", "maths")
    fields = {"revision": "1", "reason": "wrong", "row": "/"}
    row = as_tim.post(reverse("reject", args=[proposal.pk]), fields, headers=HTMX)
    assert has_form(row, url(proposal))
    again = as_tim.post(url(proposal), form(row, url(proposal)), headers=HTMX)
    assert has_form(again, reverse("approve", args=[proposal.pk]))
    assert "this waits for a decision again" in words(again)
    assert 'id="count-yours" hx-swap-oob="true">1<' in again.content.decode()


def test_a_row_beside_one_that_is_undone_is_shown_against_the_text_as_it_is_then(
    as_tim: Client, goals: Block, tim: User, propose: Propose
) -> None:
    other = propose(goals, "one book", "two books")
    done = approve(tim, propose(goals, "math", "maths"))
    answer = as_tim.post(url(done), {"row": "/", "beside": f"{done.pk},{other.pk}"}, headers=HTMX)
    beside = form(answer, reverse("approve", args=[other.pk]))
    assert beside["seen_sha256"] == reads.block("alice", "goals").sha256


def test_history_offers_undo_to_who_may_decide(
    as_tim: Client, goals: Block, approved: Proposal, alice: User, tim: User, client_of: ClientOf
) -> None:
    history = reverse("block_history", args=["alice", "goals"])
    for person in (alice, tim):
        assert url(approved) in client_of(person).get(history).content.decode()
    as_tim.post(url(approved))
    assert url(approved) not in as_tim.get(history).content.decode()


def test_an_approved_note_is_undone_from_its_history(as_tim: Client, tim: User, scribe: Agent) -> None:
    Policy.objects.create(owner="alice", notes=Policy.Notes.REVIEW)
    made = notes.save(by=ChangeContext(actor=scribe), owner="alice", content="She sails.").proposal
    assert made is not None
    approve(tim, made)
    assert url(made) in as_tim.get(reverse("note", args=["alice", made.target])).content.decode()
    shown = as_tim.get(url(made))
    assert "Nothing changed since" in words(shown)
    as_tim.post(url(made), form(shown, url(made)))
    assert reads.notes("alice") == ()


@pytest.mark.parametrize("state", ["open", "withdrawn", "texts removed"])
def test_what_cannot_be_undone_says_why(
    as_tim: Client, state: str, goals: Block, tim: User, scribe: Agent, propose: Propose
) -> None:
    from approvals import services

    proposal = propose(goals, "math", "maths")
    if state == "withdrawn":
        services.withdraw(agent=scribe, proposal_id=proposal.pk)
    if state == "texts removed":
        services.reject(actor=tim, proposal_id=proposal.pk, revision=1, reason="too_private")
    before = Proposal.objects.get(pk=proposal.pk).status
    answer = as_tim.post(url(proposal))
    assert answer.status_code == 409
    assert "Not undone." in words(answer)
    assert as_tim.get(url(proposal)).status_code == 302
    assert Proposal.objects.get(pk=proposal.pk).status == before
