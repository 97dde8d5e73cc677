"""Undoing on pages: from the outcome, from its own page, from a row, and what it answers when it cannot."""

import pytest
from django.test import Client
from django.urls import reverse

from approvals import services
from approvals.models import Agent, Policy, Proposal, User
from approvals.services import notes
from approvals.services.notes import ChangeContext
from memory_app import reads
from memory_app.models import Change
from memory_app.reads import Block
from tests import environment
from tests.support.acts import address, approve, as_seen, edit, fresh, look, reject, send
from tests.support.background import wait_for_threads
from tests.support.fixtures import Propose
from tests.support.pages import assert_says, form, has_form, html, htmx, words

HISTORY = reverse("block_history", args=["alice", "goals"])


def url(proposal: Proposal) -> str:
    return address("undo", proposal)


@pytest.fixture
def approved(goals: Block, tim: User, propose: Propose) -> Proposal:
    return approve(tim, propose(goals, "math", "maths"))


def test_outcome_and_history_offer_undo_and_it_waits_as_before(
    as_tim: Client, as_alice: Client, goals: Block, approved: Proposal
) -> None:
    for client in (as_alice, as_tim):
        assert url(approved) in html(client.get(HISTORY, {"v": approved.merge_commit}))
    answer = send(as_tim, "undo", approved)
    assert_says(answer, "is back in Your turn. The memory is as it was before.")
    assert has_form(answer, address("approve", approved))
    assert reads.block("alice", "goals").body == goals.body
    history = as_tim.get(HISTORY, {"v": approved.merge_commit})
    assert_says(history, f"Tim Okafor undid an approval of proposal {approved.pk}")
    for page in (answer, history):
        assert url(approved) not in html(page)
    assert_says(as_tim.post(url(approved), follow=True), "is back in Your turn.")  # pressed twice: the same answer
    assert Change.objects.filter(action="reverted").count() == 1
    again = send(as_tim, "approve", approved)
    assert_says(again, "Approved by Tim Okafor")
    assert "Undone by" not in words(again)
    versions = approved.merge_commit, fresh(approved).merge_commit
    assert [url(approved) in html(as_tim.get(HISTORY, {"v": commit})) for commit in versions] == [False, True]


def test_what_was_reworded_and_undone_waits_as_proposed_and_its_wording_is_in_the_history(
    as_tim: Client, goals: Block, tim: User, propose: Propose
) -> None:
    proposal = propose(goals, "math", "maths")
    text = goals.body.replace("math", "algebra")
    services.approve_edited(actor=tim, text=text, **as_seen(proposal))
    page = send(as_tim, "undo", proposal)
    assert "algebra" not in words(page)
    assert "?revision=2" in html(page)
    assert_says(look(as_tim, proposal, revision=2), "algebra")
    assert has_form(page, address("reject", proposal))


def test_what_was_approved_for_a_while_is_said_before_its_texts_are_removed(
    as_alice: Client, tim: User, approved: Proposal
) -> None:
    reject(tim, services.undo(actor=tim, proposal_id=approved.pk))
    assert_says(as_alice.get(address("redact", approved)), "the history of the memory keeps what it said then")
    services.redact(actor=User.objects.get(username="alice"), proposal_id=approved.pk)
    wait_for_threads()
    # With servers a worker collects, and none takes it here.
    assert services.recover().texts_collected == (0 if environment.is_embedded() else 1)
    approved.refresh_from_db()
    assert not approved.is_garbage_left


def test_after_a_later_change_a_page_shows_first_what_undoing_would_do(
    as_tim: Client, goals: Block, approved: Proposal, alice: User
) -> None:
    edit(alice, "goals", "one book", "two books")
    assert not has_form(look(as_tim, approved), url(approved))
    pressed = as_tim.post(url(approved), {"row": "/?q=x"}, headers=htmx())  # on a row that is older
    assert pressed["HX-Redirect"] == f"{url(approved)}?list=q%3Dx"
    shown = as_tim.get(url(approved))
    assert_says(shown, "Later changes stay; only what is marked below is undone.", "Alice Berg edited it")
    for part, is_drawn in (("redline rendered", True), ("redline source", False), ('href="?view=source"', True)):
        assert (part in html(shown)) is is_drawn
    assert "redline source" in html(as_tim.get(url(approved), {"view": "source"}))
    sent = form(shown, url(approved)) | {"comment": "Not about Alice."}
    assert_says(as_tim.post(url(approved), sent, follow=True), "Not about Alice.")
    assert reads.block("alice", "goals").body == goals.body.replace("one book", "two books")


def test_a_later_change_of_the_same_words_is_named_with_a_way_by_hand(
    as_alice: Client, as_tim: Client, approved: Proposal, alice: User
) -> None:
    edit(alice, "goals", "maths", "music")
    told = as_tim.get(url(approved))
    assert_says(told, "A later change touches the same text", "Alice Berg edited it")
    assert "Edit by hand" not in words(told)  # a tutor may not
    page = as_alice.get(url(approved))
    assert f"{reverse('block_edit', args=['alice', 'goals'])}?beside={approved.pk}" in html(page)
    assert not has_form(page, url(approved))
    answer = as_alice.post(url(approved), {"comment": "Typed."})
    assert answer.status_code == 409
    assert "Typed." in html(answer)


def test_a_rejection_undone_on_its_row_is_a_row_to_decide_again(as_tim: Client, proposal: Proposal) -> None:
    row = as_tim.post(address("reject", proposal), {"revision": "1", "reason": "wrong", "row": "/"}, headers=htmx())
    again = as_tim.post(url(proposal), form(row, url(proposal)), headers=htmx())
    assert has_form(again, address("approve", proposal))
    assert_says(again, "Back in Your turn.")
    assert 'id="count-yours" hx-swap-oob="true">1<' in html(again)


def test_a_row_beside_one_that_is_undone_is_shown_against_the_text_as_it_is_then(
    as_tim: Client, goals: Block, approved: Proposal, propose: Propose
) -> None:
    other = propose(goals, "one book", "two books")
    answer = as_tim.post(url(approved), {"row": "/", "beside": f"{approved.pk},{other.pk}"}, headers=htmx())
    beside = form(answer, address("approve", other))
    assert beside["seen_sha256"] == reads.block("alice", "goals").sha256


def test_an_approved_note_is_undone_from_its_history(as_tim: Client, tim: User, scribe: Agent) -> None:
    Policy.objects.create(owner="alice", notes=Policy.Notes.REVIEW)
    made = notes.save(by=ChangeContext(actor=scribe), owner="alice", content="She sails.").proposal
    approve(tim, made)
    assert url(made) in html(as_tim.get(reverse("note", args=["alice", made.target])))
    shown = as_tim.get(url(made))
    assert_says(shown, "Nothing changed since")
    as_tim.post(url(made), form(shown, url(made)))
    assert reads.notes("alice") == ()


@pytest.mark.parametrize("state", ["open", "withdrawn", "texts removed"])
def test_what_cannot_be_undone_says_why(
    as_tim: Client, state: str, tim: User, scribe: Agent, proposal: Proposal
) -> None:
    if state == "withdrawn":
        services.withdraw(agent=scribe, proposal_id=proposal.pk)
    if state == "texts removed":
        services.reject(actor=tim, proposal_id=proposal.pk, revision=1, reason="too_private")
    before = Proposal.objects.get().status
    assert_says(as_tim.post(url(proposal)), "Not undone.", status=409)
    assert as_tim.get(url(proposal)).status_code == 302
    assert Proposal.objects.get().status == before
