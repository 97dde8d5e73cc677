"""A block that changed while its owner edited it: both texts are put together, looked at, and saved."""

from typing import Any

from django.test import Client
from django.urls import reverse

from approvals.models import User
from memory_app import reads
from memory_app.reads import Block
from tests.approvals.views.test_block_forms import EDIT, form_of, goals_now
from tests.support.acts import approve, edit
from tests.support.fixtures import Propose
from tests.support.pages import form, words


def offered(page: Any) -> str:
    """Return the version that the button names."""
    after: str = page.content.decode().partition('name="together" value="')[2]
    return after.partition('"')[0]


def test_both_changes_are_put_together_and_saved(
    as_alice: Client, alice: User, tim: User, goals: Block, propose: Propose
) -> None:
    approve(tim, propose(goals, "in June", "in July"))
    edit(alice, "goals", "one book", "two books", title="Goals of the year")
    mine = goals.body.replace("likes math", "loves math")
    refused = as_alice.post(EDIT, form_of(goals, body=mine, comment="She told me."))
    assert refused.status_code == 409
    assert "Put both together" in words(refused)
    sent = form(refused, EDIT)
    together = as_alice.post(EDIT, sent | {"together": offered(refused)})
    assert together.status_code == 200
    assert "together in the form below" in words(together)
    assert "both changed the same" not in words(together)
    assert goals_now().body == goals.body.replace("in June", "in July").replace("one book", "two books")
    sent = form(together, EDIT)
    assert (sent["title"], sent["comment"]) == ("Goals of the year", "She told me.")
    assert as_alice.post(EDIT, sent).status_code == 302
    expected = mine.replace("in June", "in July").replace("one book", "two books")
    assert (goals_now().body, goals_now().title) == (expected, "Goals of the year")


def test_where_both_changed_the_same_what_was_typed_stays(as_alice: Client, alice: User, goals: Block) -> None:
    edit(alice, "goals", "in June", "in July")
    refused = as_alice.post(EDIT, form_of(goals, body=goals.body.replace("in June", "in May").replace("one", "two")))
    together = as_alice.post(EDIT, form(refused, EDIT) | {"together": offered(refused)})
    assert "In 1 place both changed the same: yours is kept there." in words(together)
    assert form(together, EDIT)["body"] == goals.body.replace("in June", "in May").replace("one", "two")
    assert "in July" in goals_now().body


def test_a_version_that_is_not_the_blocks_changes_nothing(
    as_alice: Client, ben: User, goals: Block, make_block: Any
) -> None:
    other = make_block(ben, "goals", "Ben's.\n")
    for sha256 in (other.sha256, "", "x"):
        answer = as_alice.post(EDIT, form_of(goals, body="Mine.") | {"together": sha256})
        assert answer.status_code == 409
        assert form(answer, EDIT)["body"] == "Mine."
        assert "Ben" not in words(answer)
    assert goals_now() == goals
    assert as_alice.post(reverse("block_edit", args=["ben", "goals"]), form_of(other)).status_code == 404
    assert reads.block("ben", "goals") == other


def test_a_block_deleted_since_is_offered_again(as_alice: Client, goals: Block) -> None:
    delete = reverse("block_delete", args=["alice", "goals"])
    as_alice.post(delete, form(as_alice.get(delete), delete))
    answer = as_alice.post(EDIT, form_of(goals, body="Mine.") | {"together": goals.sha256})
    assert answer.status_code == 409
    assert "Mine." in answer.content.decode()
