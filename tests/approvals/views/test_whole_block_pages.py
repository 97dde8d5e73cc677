"""The pages of new blocks and of deletions: what a person reads, decides and undoes."""

from typing import Any

import pytest
from django.test import Client

from approvals import services
from approvals.models import Agent, Proposal, Status, User
from approvals.notifications.mail import words_of
from approvals.notifications.news import NewsItem
from memory_app import reads
from memory_app.reads import Block
from tests.support.acts import address, approve, edit, filled, fresh, look, send
from tests.support.fixtures import MakeBlock, Propose
from tests.support.pages import assert_says, form, html, words

BODY = "# Monday\nShe read Noether.\n"
DIARY = "/memory/alice/blocks/diary/"


@pytest.fixture
def new(tim: User, scribe: Agent) -> Proposal:
    return propose_block(scribe)


@pytest.fixture
def deletion(goals: Block, tim: User, scribe: Agent) -> Proposal:
    why = "All of it is outdated."
    return services.propose_deletion(agent=scribe, owner="alice", label="goals", reasoning=why).proposal


def propose_block(agent: Agent, **changes: Any) -> Proposal:
    given = {"title": "Her diary", "body": BODY, "description": "Day by day.", "reasoning": "She tells me."}
    return services.propose_block(agent=agent, owner="alice", label="diary", **(given | changes)).proposal


def undo(client: Client, proposal: Proposal) -> None:
    client.post(address("undo", proposal), form(client.get(address("undo", proposal)), address("undo", proposal)))


# -- new blocks -----------------------------------------------------------------------------------


def test_a_new_block_shows_all_it_would_have_and_is_approved(as_tim: Client, new: Proposal) -> None:
    assert_says(
        look(as_tim, new),
        "scribe wants to add a new block to Alice Berg’s memory",
        "Title Her diary Label diary Description Day by day.",
        "added: She read Noether.",
        "The new block",
    )
    assert_says(send(as_tim, "approve", new), "scribe wanted to add a new block")
    assert reads.block("alice", "diary").body == BODY
    assert as_tim.get(DIARY).status_code == 200


def test_lists_say_that_it_is_a_new_block_and_lead_to_it(as_alice: Client, as_tim: Client, new: Proposal) -> None:
    page = as_tim.get("/")
    assert_says(page, "Her diary", "new block")
    assert f'href="{DIARY}"' not in html(page)  # which is not there yet
    for query, is_listed in (("kind=create_block", True), ("kind=delete_block", False), ("q=noether+day", True)):
        assert (new.get_absolute_url() in html(as_tim.get(f"/?{query}"))) is is_listed, query
    for who in (as_tim, as_alice):
        page = who.get("/memory/alice/")
        assert_says(page, "1 new block proposed Her diary")
        assert f'href="{new.get_absolute_url()}"' in html(page)


def test_title_and_text_are_edited_and_approved(as_tim: Client, new: Proposal) -> None:
    fields = filled(as_tim, "edit", new)
    assert (fields["title"], fields["text"].replace("\r\n", "\n")) == ("Her diary", BODY)
    assert_says(send(as_tim, "edit", new, text="# Tuesday\n", preview="1"), "added: Tuesday")
    assert_says(send(as_tim, "edit", new, title="x" * 201, text="Typed words."), "Typed words.", "200", status=422)
    page = send(as_tim, "edit", new, title="Days", text="# Tuesday\n")
    assert_says(page, "Approved with changes by", "Title: Days")
    block = reads.block("alice", "diary")
    assert (block.title, block.body) == ("Days", "# Tuesday\n")


def test_a_label_taken_meanwhile_is_a_conflict_that_leads_to_the_block_and_loses_nothing_typed(
    as_tim: Client, alice: User, new: Proposal, make_block: MakeBlock
) -> None:
    fields = filled(as_tim, "edit", new, text="Typed words.")
    make_block(alice, "diary", "My own.")
    refused = as_tim.post(address("edit", new), fields)
    said = "A block with this label was created since you opened this page."
    assert_says(refused, said, "Typed words.", status=409)
    assert reads.block("alice", "diary").body == "My own."
    page = look(as_tim, new)
    assert_says(page, "There is a block “diary” now, and two cannot have one label.", "My own.")
    assert f'href="{DIARY}"' in html(page)
    assert "data-approve" not in html(page)
    assert as_tim.get(address("edit", new)).status_code == 302


def test_there_is_nothing_to_resolve_in_a_new_block(as_tim: Client, new: Proposal) -> None:
    url = address("resolve", new)
    for answer in (as_tim.get(url), as_tim.post(url, {"text": "x"}), as_tim.post(url, {})):
        assert (answer.status_code, answer.headers["Location"]) == (302, address("edit", new))


def test_undoing_a_new_block_that_changed_warns_first(as_tim: Client, alice: User, new: Proposal) -> None:
    approve(alice, new)
    edit(alice, "diary", "Noether", "Emmy Noether")
    warning = "This block was changed after it was approved. Undoing deletes it with those changes."
    assert_says(as_tim.get(address("undo", new)), warning, "Emmy Noether")
    assert reads.find_block("alice", "diary")
    undo(as_tim, new)
    assert reads.find_block("alice", "diary") is None


# -- deletions ------------------------------------------------------------------------------------


def test_a_deletion_shows_what_is_lost_and_is_approved_and_undone(
    as_tim: Client, goals: Block, deletion: Proposal
) -> None:
    page = look(as_tim, deletion)
    assert_says(
        page,
        "scribe wants to delete this block of Alice Berg’s memory",
        "Approving deletes the whole block. Agents no longer see it.",
        "Its history is kept: undoing the decision, or restoring a version, brings it back.",
        "removed: Alice likes math.",
        "Approve deletion",
        "Deleting a block always needs approval, whatever a rule says.",
    )
    for absent in ("data-edit", "view=result"):
        assert absent not in html(page)
    chosen_before = as_tim.get(deletion.get_absolute_url(), {"view": "result"})
    assert_says(chosen_before, "removed: Alice likes math.")
    rows = as_tim.get("/")  # it is not among what is approved at once
    assert_says(rows, "deletes block")
    assert "small, safe" not in words(rows)

    page = send(as_tim, "approve", deletion)
    assert_says(page, "The whole block was deleted, with all of the text below.")
    assert reads.find_block("alice", "goals") is None
    assert_says(as_tim.get("/memory/alice/blocks/goals/history/"), "approved proposal", "which deleted it")
    undo(as_tim, deletion)
    assert reads.block("alice", "goals").sha256 == goals.sha256


def test_a_deletion_of_a_text_that_changed_is_looked_at_again(as_tim: Client, alice: User, deletion: Proposal) -> None:
    fields = filled(as_tim, "approve", deletion)
    edit(alice, "goals", "likes math", "loves poetry")
    answer = as_tim.post(address("approve", deletion), fields)
    changed = "The block changed since you opened this page."
    assert_says(answer, changed, "removed: Alice loves poetry.", status=409)
    assert reads.find_block("alice", "goals")
    assert_says(look(as_tim, deletion), "The block changed since its deletion was proposed.")
    send(as_tim, "approve", deletion)
    assert reads.find_block("alice", "goals") is None


def test_what_its_owner_deleted_first_is_closed(as_tim: Client, alice: User, goals: Block, deletion: Proposal) -> None:
    fields = filled(as_tim, "approve", deletion)
    services.delete_block(actor=alice, owner="alice", label="goals", loaded_sha256=goals.sha256)
    answer = as_tim.post(address("approve", deletion), fields)
    assert_says(answer, "The block was deleted already. Nothing is left to delete.", status=409)
    assert_says(look(as_tim, deletion), "The block is deleted already.")
    send(as_tim, "reject", deletion)
    assert fresh(deletion).was_already_applied


def test_an_edit_beside_a_deletion_says_so_and_goes_back_with_it(
    as_tim: Client, goals: Block, deletion: Proposal, propose: Propose
) -> None:
    change = propose(goals, "likes math", "loves math")
    assert_says(look(as_tim, change), f"Conflicts with proposal #{deletion.pk}")
    assert_says(look(as_tim, deletion), f"Conflicts with proposal #{change.pk}")
    send(as_tim, "approve", deletion)
    assert fresh(change).status == Status.CHANGES_REQUESTED
    assert_says(look(as_tim, change), "The block was deleted, so there is nothing left to change.")


def test_mails_keep_a_secret_title_back(scribe: Agent, alice: User) -> None:
    secret = propose_block(scribe, title="Password is 'swordfish-77'", body="x")
    said = words_of(NewsItem(secret, since=secret.created_at, is_reminder=False))
    assert "swordfish" not in f"{said}"
    assert said["kind"] == "New block"
