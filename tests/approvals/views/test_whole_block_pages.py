"""The pages of new blocks and of deletions: what a person reads, decides and undoes."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from approvals import services
from approvals.models import Agent, Proposal, Status, User
from approvals.notifications.mail import words_of
from approvals.notifications.news import NewsItem
from memory_app import reads
from memory_app.reads import Block
from tests.approvals.views.test_proposal_page import url
from tests.support.acts import approve, edit
from tests.support.fixtures import MakeBlock, Propose
from tests.support.pages import form, words

BODY = "# Monday\nShe read Noether.\n"


@pytest.fixture
def new(tim: User, scribe: Agent) -> Proposal:
    return propose_block(scribe)


@pytest.fixture
def deletion(goals: Block, tim: User, scribe: Agent) -> Proposal:
    return services.propose_deletion(
        agent=scribe, owner="alice", label="goals", reasoning="All of it is outdated."
    ).proposal


def propose_block(agent: Agent, **changes: Any) -> Proposal:
    given = {"title": "Her diary", "body": BODY, "description": "Day by day.", "reasoning": "She tells me."}
    return services.propose_block(agent=agent, owner="alice", label="diary", **(given | changes)).proposal


def decide(client: Client, verb: str, proposal: Proposal, **more: str) -> Any:
    page = client.get(url(proposal))
    address = reverse(verb, args=[proposal.pk])
    return client.post(address, form(page, address) | more, follow=True)


# -- new blocks -----------------------------------------------------------------------------------


def test_a_new_block_shows_all_it_would_have_and_is_approved(as_tim: Client, new: Proposal) -> None:
    said = words(as_tim.get(url(new)))
    assert "scribe wants to add a new block to Alice Berg’s memory" in said
    assert "Title Her diary Label diary Description Day by day." in said
    assert "added: She read Noether." in said
    assert "The new block" in said
    decide(as_tim, "approve", new)
    assert reads.block("alice", "diary").body == BODY
    said = words(as_tim.get(url(new)))
    assert "scribe wanted to add a new block" in said
    assert as_tim.get("/memory/alice/blocks/diary/").status_code == 200


def test_a_list_says_that_it_is_a_new_block_and_leads_to_it(as_tim: Client, new: Proposal) -> None:
    page = as_tim.get("/")
    assert "Her diary" in words(page)
    assert "new block" in words(page)
    for query, count in (("kind=create_block", 1), ("kind=delete_block", 0), ("q=noether", 1), ("q=day+by", 1)):
        assert (url(new) in as_tim.get(f"/?{query}").content.decode()) is bool(count), query
    assert 'href="/memory/alice/blocks/diary/"' not in page.content.decode()  # which is not there yet


def test_the_memory_names_new_blocks_that_wait(as_alice: Client, as_tim: Client, new: Proposal) -> None:
    for who in (as_tim, as_alice):
        page = who.get("/memory/alice/")
        assert "1 new block proposed Her diary" in words(page)
        assert f'href="{url(new)}"' in page.content.decode()


def test_title_and_text_are_edited_and_approved(as_tim: Client, new: Proposal) -> None:
    address = reverse("edit", args=[new.pk])
    fields = form(as_tim.get(address), address)
    assert (fields["title"], fields["text"].replace("\r\n", "\n")) == ("Her diary", BODY)
    preview = as_tim.post(address, fields | {"text": "# Tuesday\n", "preview": "1"})
    assert "added: # Tuesday" in words(preview)
    long = as_tim.post(address, fields | {"title": "x" * 201, "text": "Typed words."})
    assert long.status_code == 422
    assert "Typed words." in long.content.decode()
    assert "200" in words(long)
    page = as_tim.post(address, fields | {"title": "Days", "text": "# Tuesday\n"}, follow=True)
    block = reads.block("alice", "diary")
    assert (block.title, block.body) == ("Days", "# Tuesday\n")
    said = words(page)
    assert "Approved with changes by" in said
    assert "Title: Days" in said


def test_nothing_typed_is_lost_when_the_label_is_taken_meanwhile(
    as_tim: Client, alice: User, new: Proposal, make_block: MakeBlock
) -> None:
    address = reverse("edit", args=[new.pk])
    fields = form(as_tim.get(address), address)
    make_block(alice, "diary", "My own.")
    page = as_tim.post(address, fields | {"text": "Typed words."})
    assert page.status_code == 409
    assert "A block with this label was created since you opened this page." in words(page)
    assert "Typed words." in page.content.decode()
    assert reads.block("alice", "diary").body == "My own."


def test_a_label_taken_is_a_conflict_that_leads_to_the_block(
    as_tim: Client, alice: User, new: Proposal, make_block: MakeBlock
) -> None:
    make_block(alice, "diary", "My own.")
    page = as_tim.get(url(new))
    assert "There is a block “diary” now, and two cannot have one label." in words(page)
    assert 'href="/memory/alice/blocks/diary/"' in page.content.decode()
    assert "My own." in words(page)
    assert "data-approve" not in page.content.decode()
    address = reverse("edit", args=[new.pk])
    assert as_tim.get(address).status_code == 302


def test_there_is_nothing_to_resolve_in_a_new_block(as_tim: Client, new: Proposal) -> None:
    address = reverse("resolve", args=[new.pk])
    for answer in (as_tim.get(address), as_tim.post(address, {"text": "x"}), as_tim.post(address, {})):
        assert (answer.status_code, answer.headers["Location"]) == (302, reverse("edit", args=[new.pk]))


def test_two_with_one_label_name_each_other(as_tim: Client, new: Proposal) -> None:
    other = propose_block(Agent.objects.create(name="mentor"), body="Other words.")
    said = words(as_tim.get(url(new)))
    assert f"Conflicts with proposal #{other.pk}" in said


def test_undoing_a_new_block_that_changed_warns_first(as_tim: Client, alice: User, new: Proposal) -> None:
    approve(alice, new)
    edit(alice, "diary", "Noether", "Emmy Noether")
    address = reverse("undo", args=[new.pk])
    page = as_tim.get(address)
    assert "This block was changed after it was approved. Undoing deletes it with those changes." in words(page)
    assert "Emmy Noether" in words(page)
    assert reads.find_block("alice", "diary")
    as_tim.post(address, form(page, address), follow=True)
    assert reads.find_block("alice", "diary") is None


# -- deletions ------------------------------------------------------------------------------------


def test_a_deletion_shows_what_is_lost_and_that_it_can_be_undone(as_tim: Client, deletion: Proposal) -> None:
    page = as_tim.get(url(deletion))
    said = words(page)
    assert "scribe wants to delete this block of Alice Berg’s memory" in said
    assert "Approving deletes the whole block. Agents no longer see its text, its title or its description." in said
    assert "Its history is kept: undoing the decision, or restoring a version, brings the block back." in said
    assert "removed: Alice likes math." in said
    assert "Approve deletion" in said
    assert "Deleting a block always needs approval, whatever a rule says." in said
    assert "data-edit" not in page.content.decode()
    assert "view=result" not in page.content.decode()
    assert "removed: Alice likes math." in words(as_tim.get(f"{url(deletion)}?view=result"))  # chosen before


def test_a_deletion_is_approved_and_undone(as_tim: Client, goals: Block, deletion: Proposal) -> None:
    page = decide(as_tim, "approve", deletion)
    assert "The whole block was deleted, with all of the text below." in words(page)
    assert reads.find_block("alice", "goals") is None
    assert "approved proposal" in words(as_tim.get("/memory/alice/blocks/goals/history/"))
    assert "which deleted it" in words(as_tim.get("/memory/alice/blocks/goals/history/"))
    address = reverse("undo", args=[deletion.pk])
    as_tim.post(address, form(as_tim.get(address), address), follow=True)
    assert reads.block("alice", "goals").sha256 == goals.sha256


def test_a_deletion_of_a_text_that_changed_is_looked_at_again(
    as_tim: Client, alice: User, goals: Block, deletion: Proposal
) -> None:
    page, address = as_tim.get(url(deletion)), reverse("approve", args=[deletion.pk])
    fields = form(page, address)
    edit(alice, "goals", "likes math", "loves poetry")
    answer = as_tim.post(address, fields)
    assert answer.status_code == 409
    said = words(answer)
    assert "The block changed since you opened this page." in said
    assert "removed: Alice loves poetry." in said
    assert reads.find_block("alice", "goals")
    said = words(as_tim.get(url(deletion)))
    assert "The block changed since its deletion was proposed." in said
    as_tim.post(address, form(as_tim.get(url(deletion)), address))
    assert reads.find_block("alice", "goals") is None


def test_what_its_owner_deleted_first_is_closed(as_tim: Client, alice: User, goals: Block, deletion: Proposal) -> None:
    page, address = as_tim.get(url(deletion)), reverse("approve", args=[deletion.pk])
    services.delete_block(actor=alice, owner="alice", label="goals", loaded_sha256=goals.sha256)
    answer = as_tim.post(address, form(page, address))
    assert answer.status_code == 409
    assert "The block was deleted already. Nothing is left to delete." in words(answer)
    page = as_tim.get(url(deletion))
    assert "The block is deleted already." in words(page)
    close = reverse("reject", args=[deletion.pk])
    as_tim.post(close, form(page, close))
    deletion.refresh_from_db()
    assert deletion.was_already_applied


def test_an_edit_beside_a_deletion_says_so_and_goes_back_with_it(
    as_tim: Client, goals: Block, deletion: Proposal, propose: Propose
) -> None:
    change = propose(goals, "likes math", "loves math")
    assert f"Conflicts with proposal #{deletion.pk}" in words(as_tim.get(url(change)))
    assert f"Conflicts with proposal #{change.pk}" in words(as_tim.get(url(deletion)))
    decide(as_tim, "approve", deletion)
    change.refresh_from_db()
    assert change.status == Status.CHANGES_REQUESTED
    assert "The block was deleted, so there is nothing left to change." in words(as_tim.get(url(change)))


def test_it_is_not_among_what_is_approved_at_once(as_tim: Client, deletion: Proposal) -> None:
    page = as_tim.get("/")
    assert "deletes block" in words(page)
    assert "small and clean" not in words(page)


def test_mails_keep_a_secret_title_back(scribe: Agent, alice: User) -> None:
    secret = propose_block(scribe, title="Password is 'swordfish-77'", body="x")
    said = words_of(NewsItem(secret, since=secret.created_at, is_reminder=False))
    assert "swordfish" not in f"{said}"
    assert said["kind"] == "New block"
