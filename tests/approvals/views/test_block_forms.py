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
from tests.support.acts import approve, assert_ledger, edit
from tests.support.fixtures import MakeBlock, Propose
from tests.support.pages import assert_says, form, html, words

EDIT = reverse("block_edit", args=["alice", "goals"])
DELETE = reverse("block_delete", args=["alice", "goals"])
NEW = reverse("block_new", args=["alice"])
BLOCK = reverse("block", args=["alice", "goals"])


def form_of(block: Any, **changed: Any) -> dict[str, Any]:
    """What the browser sends: the form as it was loaded, with what was typed."""
    fields = {name: getattr(block, name) for name in ("title", "description", "body", "limit")}
    fields |= {"comment": "", "loaded_sha256": block.sha256}
    return {name: str(value).replace("\n", "\r\n") for name, value in (fields | changed).items()}


def goals_now() -> reads.Block:
    return reads.block("alice", "goals")


# -- edit -------------------------------------------------------------------------------------------


def test_an_owner_changes_a_block_and_the_history_names_them(as_alice: Client, goals: Block) -> None:
    body = goals.body.replace("math", "art")
    preview = as_alice.post(EDIT, form_of(goals, body=body, preview="1"))
    assert_says(preview, "added: art")
    assert goals_now() == goals
    response = as_alice.post(EDIT, form_of(goals, body=body, comment="Changed my mind."), follow=True)
    assert response.redirect_chain == [(BLOCK, 302)]
    assert_says(response, "Saved.")
    assert goals_now().body == body
    assert_ledger("goals", action="edited", actor="alice", comment="Changed my mind.")


@pytest.mark.parametrize("body", ["one\r\ntwo\r\n", "one\r\ntwo\nthree\r", "\n\nlead", "trail  \n\n"])
def test_white_space_nobody_touched_survives_an_edit_of_the_title(
    as_alice: Client, body: str, alice: User, make_block: MakeBlock
) -> None:
    block = make_block(alice, "goals", body)
    as_sent = body.replace("\r\n", "\n").replace("\r", "\n")
    as_alice.post(EDIT, form_of(block, body=as_sent, title="Other"))
    assert (goals_now().title, goals_now().body) == ("Other", body)


@pytest.mark.parametrize("body", ["", " \n\t\n"])
def test_emptying_a_block_is_asked_about_first(as_alice: Client, body: str, goals: Block) -> None:
    asked = as_alice.post(EDIT, form_of(goals, body=body, title="Aims", comment="Starting over."))
    assert_says(asked, "Save the block without any text?", "Nothing was saved yet.", status=422)
    kept = form(asked, EDIT)
    assert (kept["title"], kept["comment"]) == ("Aims", "Starting over.")
    again = form(as_alice.post(EDIT, kept | {"refill": "1"}), EDIT)
    assert (again["title"], again["body"].strip()) == ("Aims", goals.body.strip())
    assert goals_now() == goals
    assert as_alice.post(EDIT, kept | {"empty": "1"}).status_code == 302
    assert (goals_now().title, goals_now().body.strip()) == ("Aims", "")
    # Without a text there is nothing to ask about.
    assert as_alice.post(EDIT, form_of(goals_now(), title="Goals")).status_code == 302


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"body": "x" * 60, "limit": 50}, "60 characters, 10 over the limit of 50"),
        ({}, "Nothing was changed."),  # line breaks of the browser are not a change
        *(({"limit": limit}, "") for limit in ("0", "-1", "200001", "many")),
        ({"body": "one\x00two"}, ""),
    ],
    ids=str,
)
def test_what_cannot_be_saved_is_refused_with_the_text_kept(
    as_alice: Client, goals: Block, wrong: dict[str, Any], said: str
) -> None:
    response = as_alice.post(EDIT, form_of(goals, **wrong))
    assert_says(response, said, wrong.get("body", goals.body).split("\x00")[0].split("\n")[0], status=422)
    assert goals_now() == goals


def test_a_block_that_changed_meanwhile_shows_both_texts_and_who_changed_it(
    as_alice: Client, tim: User, goals: Block, propose: Propose
) -> None:
    approve(tim, propose(goals, "B2 exam", "C1 exam"))
    response = as_alice.post(EDIT, form_of(goals, body=goals.body.replace("math", "music")))
    assert_says(response, "Tim Okafor approved", "Alice likes music.", "C1 exam", status=409)
    assert "music" not in goals_now().body


def test_a_block_deleted_meanwhile_is_offered_as_a_new_one_with_the_typed_text(
    as_alice: Client, alice: User, goals: Block
) -> None:
    services.delete_block(actor=alice, owner="alice", label="goals", loaded_sha256=goals.sha256)
    for more in ({}, {"together": goals.sha256}):
        response = as_alice.post(EDIT, form_of(goals, body="Typed for an hour.") | more)
        assert response.status_code == 409
        offered = form(response, NEW)
        assert offered["body"].strip() == "Typed for an hour."
        assert (offered["label"], offered["title"]) == ("goals", "Learning goals")


def test_what_waits_is_warned_of_before_and_counted_after(as_alice: Client, goals: Block, propose: Propose) -> None:
    proposal = propose(goals, "math", "geometry")
    assert_says(as_alice.get(EDIT), "1 waiting proposal for this block.")
    assert proposal.get_absolute_url() in html(as_alice.get(EDIT))
    saved = as_alice.post(EDIT, form_of(goals, body="Nothing of the old text.\n"), follow=True)
    assert_says(saved, "This made 1 proposal outdated.")


def test_restoring_is_a_new_change_shown_before_it_is_saved(as_alice: Client, goals: Block) -> None:
    first = Change.objects.get().commit
    as_alice.post(EDIT, form_of(goals, body="Gone.\n", limit=5_000))
    page = as_alice.get(EDIT, {"from": first})
    assert_says(page, "Restore Learning goals")
    shown = form(page, EDIT)
    assert (shown["body"], shown["limit"]) == (goals.body, "5000")  # the content comes back, not the rules
    as_alice.post(EDIT, shown)
    assert goals_now().body == goals.body
    assert Change.objects.count() == 3


# -- both texts put together ------------------------------------------------------------------------


def offered(page: Any) -> str:
    """Return the version that the button names."""
    return html(page).partition('name="together" value="')[2].partition('"')[0]


def test_both_changes_are_put_together_and_saved(
    as_alice: Client, alice: User, tim: User, goals: Block, propose: Propose
) -> None:
    approve(tim, propose(goals, "in June", "in July"))
    edit(alice, "goals", "one book", "two books", title="Goals of the year")
    mine = goals.body.replace("likes math", "loves math")
    refused = as_alice.post(EDIT, form_of(goals, body=mine, comment="She told me."))
    assert_says(refused, "Put both together", status=409)
    before = goals_now()
    together = as_alice.post(EDIT, form(refused, EDIT) | {"together": offered(refused)})
    assert_says(together, "together in the form below")
    assert "both changed the same" not in words(together)
    assert goals_now() == before
    sent = form(together, EDIT)
    assert (sent["title"], sent["comment"]) == ("Goals of the year", "She told me.")
    assert as_alice.post(EDIT, sent).status_code == 302
    expected = mine.replace("in June", "in July").replace("one book", "two books")
    assert (goals_now().body, goals_now().title) == (expected, "Goals of the year")


def test_where_both_changed_the_same_what_was_typed_stays(as_alice: Client, alice: User, goals: Block) -> None:
    edit(alice, "goals", "in June", "in July", title="Goals of the year")
    mine = goals.body.replace("in June", "in May").replace("one", "two")
    refused = as_alice.post(EDIT, form_of(goals, body=mine, title="My goals"))
    together = as_alice.post(EDIT, form(refused, EDIT) | {"together": offered(refused)})
    assert_says(together, "In 2 places both changed the same: yours is kept there.")
    assert (form(together, EDIT)["body"], form(together, EDIT)["title"]) == (mine, "My goals")


def test_a_version_that_is_not_the_blocks_is_put_together_with_nothing(
    as_alice: Client, ben: User, goals: Block, make_block: MakeBlock
) -> None:
    other = make_block(ben, "goals", "Ben's.\n")
    for sha256 in (other.sha256, "", "x"):
        answer = as_alice.post(EDIT, form_of(goals, body="Mine.") | {"together": sha256})
        assert answer.status_code == 409
        assert form(answer, EDIT)["body"] == "Mine."
        assert "Ben" not in words(answer)
    assert goals_now() == goals


# -- create and delete ------------------------------------------------------------------------------


def new_form(**changed: str) -> dict[str, str]:
    fields = {"label": "study_log", "title": "Study log", "description": "", "body": "Day one.", "limit": "20000"}
    return fields | {"comment": ""} | changed


def test_an_owner_makes_a_block(as_alice: Client) -> None:
    response = as_alice.post(NEW, new_form(label=" study_log\n", read_only="on"))  # white space around it is no mistake
    assert response.headers["Location"] == reverse("block", args=["alice", "study_log"])
    made = reads.block("alice", "study_log")
    assert (made.title, made.body, made.limit, made.read_only) == ("Study log", "Day one.", 20_000, True)
    assert Change.objects.get().action == "created"


def test_a_label_that_is_none_or_taken_is_refused_with_the_text_kept(as_alice: Client, goals: Block) -> None:
    for label in ("", "Goals", "two words", "-dash", "ümlaut", "a" * 65, "../up"):
        assert_says(as_alice.post(NEW, new_form(label=label)), "Day one.", status=422)
    taken = as_alice.post(NEW, new_form(label="goals"))
    assert_says(taken, "Day one.", status=409)
    assert BLOCK in html(taken)
    assert reads.blocks("alice") == (goals,)


def test_deleting_asks_first_and_a_deleted_block_can_be_brought_back(
    as_alice: Client, goals: Block, propose: Propose
) -> None:
    first = Change.objects.get().commit
    propose(goals, "math", "geometry")
    page = as_alice.get(DELETE)
    assert_says(page, "This will make 1 proposal outdated.", "Its history is kept")
    as_alice.post(DELETE, form(page, DELETE) | {"comment": "All reached."})
    assert reads.find_block("alice", "goals") is None
    assert_ledger("goals", action="deleted", comment="All reached.")
    back = form(as_alice.get(NEW, {"label": "goals", "from": first}), NEW)
    assert (back["body"], back["title"]) == (goals.body, "Learning goals")
