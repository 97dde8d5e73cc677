"""Owners write their own memory in the browser: edit, restore, create, delete."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import reverse

from approvals import services
from approvals.models import User
from memory_app import reads
from memory_app.models import Change
from memory_app.reads import Block
from tests.support.acts import assert_ledger
from tests.support.fixtures import ClientOf, MakeBlock, Propose
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


def test_an_owner_changes_a_block_and_the_history_names_them(alice: User, goals: Block, client_of: ClientOf) -> None:
    body = goals.body.replace("math", "art")
    response = client_of(alice).post(EDIT, form_of(goals, body=body, comment="Changed my mind."), follow=True)
    assert response.redirect_chain == [(BLOCK, 302)]
    assert goals_now().body == body
    assert_ledger("goals", action="edited", actor="alice", comment="Changed my mind.")
    assert b"Saved." in response.content


def test_line_breaks_of_the_browser_are_not_a_change(alice: User, goals: Block, client_of: ClientOf) -> None:
    response = client_of(alice).post(EDIT, form_of(goals))
    assert response.status_code == 422
    assert b"Nothing was changed." in response.content
    assert goals_now().sha256 == goals.sha256


@pytest.mark.parametrize("body", ["one\r\ntwo\r\n", "one\r\ntwo\nthree\r", "\n\nlead", "trail  \n\n"])
def test_white_space_nobody_touched_survives_an_edit_of_the_title(
    body: str, alice: User, make_block: MakeBlock, client_of: ClientOf
) -> None:
    block = make_block(alice, "goals", body)
    as_sent = body.replace("\r\n", "\n").replace("\r", "\n")
    client_of(alice).post(EDIT, form_of(block, body=as_sent, title="Other"))
    assert goals_now().title == "Other"
    assert goals_now().body == body


@pytest.mark.parametrize("body", ["", " \n\t\n"])
def test_emptying_a_block_is_asked_about_first(body: str, alice: User, goals: Block, client_of: ClientOf) -> None:
    client = client_of(alice)
    asked = client.post(EDIT, form_of(goals, body=body, title="Aims", comment="Starting over."))
    assert asked.status_code == 422
    assert "Save the block without any text?" in words(asked)
    assert "Nothing was saved yet." in words(asked)
    assert goals_now().sha256 == goals.sha256
    kept = form(asked, EDIT)
    assert (kept["title"], kept["comment"]) == ("Aims", "Starting over.")

    again = client.post(EDIT, kept | {"refill": "1"})
    assert form(again, EDIT)["body"].strip() == goals.body.strip()
    assert form(again, EDIT)["title"] == "Aims"
    assert goals_now().sha256 == goals.sha256

    assert client.post(EDIT, kept | {"empty": "1"}).status_code == 302
    assert goals_now().body.strip() == ""
    assert goals_now().title == "Aims"


def test_a_block_that_had_no_text_is_not_asked_about(alice: User, make_block: MakeBlock, client_of: ClientOf) -> None:
    block = make_block(alice, "goals", "")
    assert client_of(alice).post(EDIT, form_of(block, title="Aims")).status_code == 302


def test_over_the_limit_says_by_how_much_and_keeps_the_text(alice: User, goals: Block, client_of: ClientOf) -> None:
    response = client_of(alice).post(EDIT, form_of(goals, body="x" * 60, limit=50))
    assert response.status_code == 422
    assert "60 characters, 10 over the limit of 50" in response.content.decode()
    assert "x" * 60 in response.content.decode()
    assert goals_now().body == goals.body


@pytest.mark.parametrize("limit", ["0", "-1", "200001", "many"])
def test_a_limit_out_of_bounds_is_refused(limit: str, alice: User, goals: Block, client_of: ClientOf) -> None:
    assert client_of(alice).post(EDIT, form_of(goals, limit=limit)).status_code == 422
    assert goals_now().limit == goals.limit


def test_a_nul_character_is_refused_and_nothing_changes(alice: User, goals: Block, client_of: ClientOf) -> None:
    assert client_of(alice).post(EDIT, form_of(goals, body="one\x00two")).status_code == 422
    assert goals_now().sha256 == goals.sha256


def test_a_block_that_changed_meanwhile_shows_both_texts_and_loses_nothing(
    alice: User, tim: User, goals: Block, propose: Propose, client_of: ClientOf
) -> None:
    client = client_of(alice)
    proposal = propose(goals, "B2 exam", "C1 exam")
    services.approve(actor=tim, proposal_id=proposal.pk, revision=1, seen_sha256=goals.sha256)

    mine = goals.body.replace("math", "music")
    response = client.post(EDIT, form_of(goals, body=mine, comment="In my words."))
    page = response.content.decode()
    assert response.status_code == 409
    assert "The block changed while you were editing" in page
    assert "Tim Okafor approved" in page
    assert "Alice likes music." in page
    assert "C1 exam" in page
    assert "In my words." in page
    assert "music" not in goals_now().body

    again = response.context["form"]
    saved = client.post(EDIT, form_of(goals, body=mine, loaded_sha256=again["loaded_sha256"].value()))
    assert saved.status_code == 302
    assert goals_now().body == mine


def test_the_same_form_sent_twice_is_saved_once(alice: User, goals: Block, client_of: ClientOf) -> None:
    client, form = client_of(alice), form_of(goals, body="Other.\n")
    assert client.post(EDIT, form).status_code == 302
    assert client.post(EDIT, form).status_code == 302
    assert Change.objects.filter(action="edited").count() == 1


def test_a_block_deleted_meanwhile_is_offered_as_a_new_one_with_the_typed_text(
    alice: User, goals: Block, client_of: ClientOf
) -> None:
    services.delete_block(actor=alice, owner="alice", label="goals", loaded_sha256=goals.sha256)
    response = client_of(alice).post(EDIT, form_of(goals, body="Typed for an hour."))
    assert response.status_code == 409
    offered = form(response, NEW)
    assert offered["body"].strip() == "Typed for an hour."
    assert (offered["label"], offered["title"]) == ("goals", "Learning goals")


def test_the_preview_shows_the_change_and_saves_nothing(alice: User, goals: Block, client_of: ClientOf) -> None:
    response = client_of(alice).post(EDIT, form_of(goals, body=goals.body.replace("math", "art"), preview="1"))
    assert response.status_code == 200
    assert '<span class="visually-hidden">added: </span>art' in response.content.decode()
    assert goals_now().sha256 == goals.sha256


def test_a_waiting_proposal_is_warned_of_before_and_counted_after(
    alice: User, goals: Block, propose: Propose, client_of: ClientOf
) -> None:
    proposal = propose(goals, "math", "geometry")
    client = client_of(alice)
    page = client.get(EDIT).content.decode()
    assert "1 waiting proposal for this block." in page
    assert proposal.get_absolute_url() in page
    saved = client.post(EDIT, form_of(goals, body="Nothing of the old text.\n"), follow=True)
    assert "This made 1 proposal outdated." in saved.content.decode()


@pytest.mark.parametrize("url", [EDIT, DELETE, NEW])
def test_nobody_but_the_owner_writes_here(
    url: str, goals: Block, tim: User, mallory: User, admin: User, client_of: ClientOf
) -> None:
    for person in (tim, mallory, admin):
        client = client_of(person)
        assert client.get(url).status_code == 404
        assert client.post(url, form_of(goals, body="Mine now.", label="stolen")).status_code == 404
    assert goals_now().sha256 == goals.sha256
    assert len(reads.blocks("alice")) == 1


def test_what_was_typed_survives_a_session_that_ran_out(alice: User, goals: Block, client: Any) -> None:
    alice.set_password("correct horse battery")
    alice.save()
    asked = client.post(EDIT, form_of(goals, body="Typed for an hour.\n"))
    assert asked.status_code == 401
    signed_in = client.post(
        reverse("sign_in"),
        {
            "username": "alice",
            "password": "correct horse battery",
            "next": EDIT,
            "kept": asked.context["kept"],
        },
        follow=True,
    )
    page = signed_in.content.decode()
    assert "Typed for an hour." in page
    assert "Nothing was saved while you were signed out." in page
    assert goals_now().sha256 == goals.sha256


# -- restore ----------------------------------------------------------------------------------------


def test_restoring_is_a_new_change_shown_before_it_is_saved(alice: User, goals: Block, client_of: ClientOf) -> None:
    client = client_of(alice)
    first = Change.objects.get().commit
    client.post(EDIT, form_of(goals, body="Gone.\n", limit=5_000))
    page = client.get(EDIT, {"from": first})
    assert "Restore Learning goals" in page.content.decode()
    form = page.context["form"]
    assert form["body"].value() == goals.body
    assert form["limit"].value() == 5_000  # the content comes back, not the rules
    client.post(EDIT, form_of(goals_now(), body=form["body"].value()))
    assert goals_now().body == goals.body
    assert Change.objects.count() == 3


def test_restoring_an_unknown_commit_is_a_friendly_error(alice: User, goals: Block, client_of: ClientOf) -> None:
    assert client_of(alice).get(EDIT, {"from": "0" * 40}).status_code == 404


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


def test_an_owner_makes_a_block(alice: User, client_of: ClientOf) -> None:
    response = client_of(alice).post(NEW, new_form(read_only="on"))
    assert response.headers["Location"] == reverse("block", args=["alice", "study_log"])
    made = reads.block("alice", "study_log")
    assert (made.title, made.body, made.limit, made.read_only) == ("Study log", "Day one.", 20_000, True)
    assert Change.objects.get().action == "created"


@pytest.mark.parametrize("label", ["", "Goals", "two words", "-dash", "ümlaut", "a" * 65, "goals\n", "../up"])
def test_a_label_that_is_none_is_refused_with_the_text_kept(label: str, alice: User, client_of: ClientOf) -> None:
    response = client_of(alice).post(NEW, new_form(label=label))
    if label.strip() == "goals":  # white space around it is no mistake worth an error
        assert response.status_code == 302
        return
    assert response.status_code == 422
    assert "Day one." in response.content.decode()
    assert reads.blocks("alice") == ()


def test_a_taken_label_is_refused_and_leads_to_the_block(alice: User, goals: Block, client_of: ClientOf) -> None:
    response = client_of(alice).post(NEW, new_form(label="goals"))
    assert response.status_code == 409
    assert BLOCK in response.content.decode()
    assert "Day one." in response.content.decode()
    assert goals_now().sha256 == goals.sha256


def test_a_new_block_sent_twice_is_made_once(alice: User, client_of: ClientOf) -> None:
    client = client_of(alice)
    assert client.post(NEW, new_form()).status_code == 302
    assert client.post(NEW, new_form()).status_code == 302
    assert Change.objects.count() == 1


# -- delete -----------------------------------------------------------------------------------------


def test_deleting_asks_first_and_says_what_will_no_longer_fit(
    alice: User, goals: Block, propose: Propose, client_of: ClientOf
) -> None:
    propose(goals, "math", "geometry")
    client = client_of(alice)
    page = client.get(DELETE)
    assert "This will make 1 proposal outdated." in page.content.decode()
    assert "Its history is kept" in page.content.decode()
    client.post(DELETE, {"loaded_sha256": goals.sha256, "comment": "All reached."})
    assert reads.find_block("alice", "goals") is None
    assert_ledger("goals", action="deleted", comment="All reached.")


def test_a_block_that_changed_after_the_question_is_not_deleted(alice: User, goals: Block, client_of: ClientOf) -> None:
    client = client_of(alice)
    client.post(EDIT, form_of(goals, body="Newer.\n"))
    response = client.post(DELETE, {"loaded_sha256": goals.sha256})
    assert response.status_code == 409
    assert "Newer." in response.content.decode()
    assert goals_now().body == "Newer.\n"


def test_deleting_twice_is_no_error_and_a_deleted_block_can_be_brought_back(
    alice: User, goals: Block, client_of: ClientOf
) -> None:
    client = client_of(alice)
    first = Change.objects.get().commit
    assert client.post(DELETE, {"loaded_sha256": goals.sha256}).status_code == 302
    assert client.post(DELETE, {"loaded_sha256": goals.sha256}).status_code == 302
    form = client.get(NEW, {"label": "goals", "from": first}).context["form"]
    assert form["body"].value() == goals.body
    assert form["title"].value() == "Learning goals"
