"""Owners write their own memory in the browser: edit, restore, create, delete."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from approvals import services
from approvals.models import User
from memory_app import reads
from memory_app.models import Change
from memory_app.reads import Block
from tests.support.acts import assert_ledger
from tests.support.fixtures import MakeBlock, Propose
from tests.support.pages import form, words

EDIT = reverse("block_edit", args=["alice", "goals"])
DELETE = reverse("block_delete", args=["alice", "goals"])
NEW = reverse("block_new", args=["alice"])
BLOCK = reverse("block", args=["alice", "goals"])


def form_of(block: Any, **changed: Any) -> dict[str, Any]:
    """What the browser sends: the form as it was loaded, with what was typed."""
    fields = {
        "title": block.title,
        "description": block.description,
        "body": block.body,
        "limit": block.limit,
        "comment": "",
        "loaded_sha256": block.sha256,
    }
    return {name: str(value).replace("\n", "\r\n") for name, value in (fields | changed).items()}


def goals_now() -> reads.Block:
    return reads.block("alice", "goals")


# -- edit -------------------------------------------------------------------------------------------


def test_an_owner_changes_a_block_and_the_history_names_them(as_alice: Client, goals: Block) -> None:
    body = goals.body.replace("math", "art")
    response = as_alice.post(EDIT, form_of(goals, body=body, comment="Changed my mind."), follow=True)
    assert response.redirect_chain == [(BLOCK, 302)]
    assert goals_now().body == body
    assert_ledger("goals", action="edited", actor="alice", comment="Changed my mind.")
    assert b"Saved." in response.content


def test_line_breaks_of_the_browser_are_not_a_change(as_alice: Client, goals: Block) -> None:
    response = as_alice.post(EDIT, form_of(goals))
    assert response.status_code == 422
    assert b"Nothing was changed." in response.content
    assert goals_now().sha256 == goals.sha256


@pytest.mark.parametrize("body", ["one\r\ntwo\r\n", "one\r\ntwo\nthree\r", "\n\nlead", "trail  \n\n"])
def test_white_space_nobody_touched_survives_an_edit_of_the_title(
    as_alice: Client, body: str, alice: User, make_block: MakeBlock
) -> None:
    block = make_block(alice, "goals", body)
    as_sent = body.replace("\r\n", "\n").replace("\r", "\n")
    as_alice.post(EDIT, form_of(block, body=as_sent, title="Other"))
    assert goals_now().title == "Other"
    assert goals_now().body == body


@pytest.mark.parametrize("body", ["", " \n\t\n"])
def test_emptying_a_block_is_asked_about_first(as_alice: Client, body: str, goals: Block) -> None:
    asked = as_alice.post(EDIT, form_of(goals, body=body, title="Aims", comment="Starting over."))
    assert asked.status_code == 422
    assert "Save the block without any text?" in words(asked)
    assert "Nothing was saved yet." in words(asked)
    assert goals_now().sha256 == goals.sha256
    kept = form(asked, EDIT)
    assert (kept["title"], kept["comment"]) == ("Aims", "Starting over.")

    again = as_alice.post(EDIT, kept | {"refill": "1"})
    assert form(again, EDIT)["body"].strip() == goals.body.strip()
    assert form(again, EDIT)["title"] == "Aims"
    assert goals_now().sha256 == goals.sha256

    assert as_alice.post(EDIT, kept | {"empty": "1"}).status_code == 302
    assert goals_now().body.strip() == ""
    assert goals_now().title == "Aims"


def test_a_block_that_had_no_text_is_not_asked_about(as_alice: Client, alice: User, make_block: MakeBlock) -> None:
    block = make_block(alice, "goals", "")
    assert as_alice.post(EDIT, form_of(block, title="Aims")).status_code == 302


def test_over_the_limit_says_by_how_much_and_keeps_the_text(as_alice: Client, goals: Block) -> None:
    response = as_alice.post(EDIT, form_of(goals, body="x" * 60, limit=50))
    assert response.status_code == 422
    assert "60 characters, 10 over the limit of 50" in response.content.decode()
    assert "x" * 60 in response.content.decode()
    assert goals_now().body == goals.body


def test_a_limit_out_of_bounds_and_a_nul_character_are_refused(as_alice: Client, goals: Block) -> None:
    for wrong in ({"limit": "0"}, {"limit": "-1"}, {"limit": "200001"}, {"limit": "many"}, {"body": "one\x00two"}):
        assert as_alice.post(EDIT, form_of(goals, **wrong)).status_code == 422, wrong
    assert goals_now().sha256 == goals.sha256


def test_a_block_that_changed_meanwhile_shows_both_texts_and_loses_nothing(
    as_alice: Client, tim: User, goals: Block, propose: Propose
) -> None:
    proposal = propose(goals, "B2 exam", "C1 exam")
    services.approve(actor=tim, proposal_id=proposal.pk, revision=1, seen_sha256=goals.sha256)

    mine = goals.body.replace("math", "music")
    response = as_alice.post(EDIT, form_of(goals, body=mine, comment="In my words."))
    page = response.content.decode()
    assert response.status_code == 409
    assert "The block changed while you were editing" in page
    assert "Tim Okafor approved" in page
    assert "Alice likes music." in page
    assert "C1 exam" in page
    assert "In my words." in page
    assert "music" not in goals_now().body

    again = response.context["form"]
    saved = as_alice.post(EDIT, form_of(goals, body=mine, loaded_sha256=again["loaded_sha256"].value()))
    assert saved.status_code == 302
    assert goals_now().body == mine


def test_a_block_deleted_meanwhile_is_offered_as_a_new_one_with_the_typed_text(
    as_alice: Client, alice: User, goals: Block
) -> None:
    services.delete_block(actor=alice, owner="alice", label="goals", loaded_sha256=goals.sha256)
    response = as_alice.post(EDIT, form_of(goals, body="Typed for an hour."))
    assert response.status_code == 409
    offered = form(response, NEW)
    assert offered["body"].strip() == "Typed for an hour."
    assert (offered["label"], offered["title"]) == ("goals", "Learning goals")


def test_the_preview_shows_the_change_and_saves_nothing(as_alice: Client, goals: Block) -> None:
    response = as_alice.post(EDIT, form_of(goals, body=goals.body.replace("math", "art"), preview="1"))
    assert response.status_code == 200
    assert '<span class="visually-hidden">added: </span>art' in response.content.decode()
    assert goals_now().sha256 == goals.sha256


def test_a_waiting_proposal_is_warned_of_before_and_counted_after(
    as_alice: Client, goals: Block, propose: Propose
) -> None:
    proposal = propose(goals, "math", "geometry")
    page = as_alice.get(EDIT).content.decode()
    assert "1 waiting proposal for this block." in page
    assert proposal.get_absolute_url() in page
    saved = as_alice.post(EDIT, form_of(goals, body="Nothing of the old text.\n"), follow=True)
    assert "This made 1 proposal outdated." in saved.content.decode()


# -- restore ----------------------------------------------------------------------------------------


def test_restoring_is_a_new_change_shown_before_it_is_saved(as_alice: Client, goals: Block) -> None:
    first = Change.objects.get().commit
    as_alice.post(EDIT, form_of(goals, body="Gone.\n", limit=5_000))
    page = as_alice.get(EDIT, {"from": first})
    assert "Restore Learning goals" in page.content.decode()
    form = page.context["form"]
    assert form["body"].value() == goals.body
    assert form["limit"].value() == 5_000  # the content comes back, not the rules
    as_alice.post(EDIT, form_of(goals_now(), body=form["body"].value()))
    assert goals_now().body == goals.body
    assert Change.objects.count() == 3


# -- create -----------------------------------------------------------------------------------------


def new_form(**changed: str) -> dict[str, str]:
    return {
        "label": "study_log",
        "title": "Study log",
        "description": "",
        "body": "Day one.",
        "limit": "20000",
        "comment": "",
    } | changed


def test_an_owner_makes_a_block(as_alice: Client) -> None:
    response = as_alice.post(NEW, new_form(read_only="on"))
    assert response.headers["Location"] == reverse("block", args=["alice", "study_log"])
    made = reads.block("alice", "study_log")
    assert (made.title, made.body, made.limit, made.read_only) == ("Study log", "Day one.", 20_000, True)
    assert Change.objects.get().action == "created"


def test_a_label_that_is_none_is_refused_with_the_text_kept(as_alice: Client) -> None:
    for label in ("", "Goals", "two words", "-dash", "ümlaut", "a" * 65, "../up"):
        response = as_alice.post(NEW, new_form(label=label))
        assert response.status_code == 422, label
        assert "Day one." in response.content.decode()
    assert reads.blocks("alice") == ()
    assert as_alice.post(NEW, new_form(label="goals\n")).status_code == 302  # white space around it is no mistake


def test_a_taken_label_is_refused_and_leads_to_the_block(as_alice: Client, goals: Block) -> None:
    response = as_alice.post(NEW, new_form(label="goals"))
    assert response.status_code == 409
    assert BLOCK in response.content.decode()
    assert "Day one." in response.content.decode()
    assert goals_now().sha256 == goals.sha256


# -- delete -----------------------------------------------------------------------------------------


def test_deleting_asks_first_and_says_what_will_no_longer_fit(as_alice: Client, goals: Block, propose: Propose) -> None:
    propose(goals, "math", "geometry")
    page = as_alice.get(DELETE)
    assert "This will make 1 proposal outdated." in page.content.decode()
    assert "Its history is kept" in page.content.decode()
    as_alice.post(DELETE, {"loaded_sha256": goals.sha256, "comment": "All reached."})
    assert reads.find_block("alice", "goals") is None
    assert_ledger("goals", action="deleted", comment="All reached.")


def test_deleting_twice_is_no_error_and_a_deleted_block_can_be_brought_back(as_alice: Client, goals: Block) -> None:
    first = Change.objects.get().commit
    assert as_alice.post(DELETE, {"loaded_sha256": goals.sha256}).status_code == 302
    assert as_alice.post(DELETE, {"loaded_sha256": goals.sha256}).status_code == 302
    form = as_alice.get(NEW, {"label": "goals", "from": first}).context["form"]
    assert form["body"].value() == goals.body
    assert form["title"].value() == "Learning goals"
