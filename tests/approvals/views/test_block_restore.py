"""Making an earlier version of a block the current one."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from approvals import services
from approvals.models import User
from memory_app import reads
from memory_app.models import Change
from memory_app.reads import Block
from tests.support.acts import assert_ledger, edit
from tests.support.fixtures import MakeBlock
from tests.support.pages import form, has_form, words


def restore_url(commit: str, label: str = "goals", owner: str = "alice") -> str:
    return reverse("block_restore", args=[owner, label, commit])


@pytest.fixture
def first(alice: User, goals: Block) -> str:
    """The commit of goals's first version; it says something else now."""
    edit(alice, "goals", "math", "art", title="New goals")
    return Change.objects.earliest("id").commit


def send(client: Any, url: str, **typed: str) -> Any:
    return client.post(url, form(client.get(url), url) | typed)


def unchanged(before: Block) -> bool:
    return reads.find_block("alice", "goals") == before


def test_restoring_is_a_new_change_in_the_persons_name_shown_before_it_is_saved(
    as_alice: Client, goals: Block, first: str
) -> None:
    before = reads.block("alice", "goals")
    page = as_alice.get(restore_url(first)).content.decode()
    assert '<span class="visually-hidden">removed: </span>art' in page
    assert '<span class="visually-hidden">added: </span>math' in page
    assert "New goals" in page
    assert unchanged(before)
    assert send(as_alice, restore_url(first), comment="It was right.").status_code == 302
    restored = reads.block("alice", "goals")
    assert (restored.body, restored.title) == (goals.body, goals.title)
    assert_ledger("goals", action="edited", actor="alice", comment="It was right.")
    assert Change.objects.filter(target="goals").count() == 3


def test_the_rules_of_today_stay_and_the_comment_says_which_version(
    as_alice: Client, alice: User, goals: Block, first: str
) -> None:
    now = reads.block("alice", "goals")
    fields = services.BlockFields(title="x", description="", body=now.body, limit=9_000, read_only=True)
    services.edit_block(actor=alice, owner="alice", label="goals", fields=fields, loaded_sha256=now.sha256)
    send(as_alice, restore_url(first))
    restored = reads.block("alice", "goals")
    assert (restored.limit, restored.read_only, restored.title) == (9_000, True, goals.title)
    assert reads.history("alice", "block", "goals")[0].comment.startswith("Restored the version from ")


def test_staff_restore_in_their_own_name(as_admin: Client, goals: Block, first: str) -> None:
    assert send(as_admin, restore_url(first)).status_code == 302
    assert reads.block("alice", "goals").body == goals.body
    assert_ledger("goals", action="edited", actor="admin")


def test_a_tutor_is_told_why_not_and_nothing_changes(as_tim: Client, first: str) -> None:
    before = reads.block("alice", "goals")
    for response in (as_tim.get(restore_url(first)), as_tim.post(restore_url(first), {"loaded_sha256": before.sha256})):
        assert response.status_code == 403
        assert "Only Alice Berg and admins can restore a version." in words(response)
        assert not has_form(response, restore_url(first))
    assert unchanged(before)


def test_a_commit_of_another_block_or_another_owner_is_refused_in_words(
    as_alice: Client, alice: User, ben: User, goals: Block, make_block: MakeBlock
) -> None:
    make_block(alice, "profile", "Born in Lyon.")
    make_block(ben, "goals", "Ben likes music.")
    others = [Change.objects.get(target="profile").commit, Change.objects.get(owner="ben").commit]
    for commit in (*others, "f" * 40, "0" * 32, "now", "2026-01-01", "nonsense"):
        sent = as_alice.post(restore_url(commit), {"loaded_sha256": goals.sha256})
        for response in (as_alice.get(restore_url(commit)), sent):
            assert response.status_code == 404
            assert "Version not found" in words(response)
    assert unchanged(goals)
    for commit in (Change.objects.earliest("id").commit, "0" * 40):  # there was no profile then
        filled = as_alice.get(reverse("block_edit", args=["alice", "profile"]), {"from": commit})
        assert filled.status_code == 404
        assert "Version not found" in words(filled)


def test_the_commit_that_deleted_it_has_no_text_to_restore(as_alice: Client, alice: User, goals: Block) -> None:
    services.delete_block(actor=alice, owner="alice", label="goals", loaded_sha256=goals.sha256)
    deleted = reads.history("alice", "block", "goals")[0].commit
    assert as_alice.get(restore_url(deleted)).status_code == 404


def test_a_deleted_block_comes_back_as_it_was(as_alice: Client, alice: User, goals: Block) -> None:
    services.delete_block(actor=alice, owner="alice", label="goals", loaded_sha256=goals.sha256)
    first = Change.objects.earliest("id").commit
    assert "Restoring creates it again" in words(as_alice.get(restore_url(first)))
    assert send(as_alice, restore_url(first)).status_code == 302
    restored = reads.block("alice", "goals")
    assert (restored.body, restored.title, restored.limit) == (goals.body, goals.title, goals.limit)
    assert_ledger("goals", action="created", actor="alice")


def test_what_the_block_says_already_is_not_restored(as_alice: Client, goals: Block) -> None:
    only = Change.objects.get().commit
    response = as_alice.get(restore_url(only))
    assert "There is nothing to restore." in words(response)
    assert not has_form(response, restore_url(only))


def test_a_text_over_the_limit_of_today_is_refused_in_words(as_alice: Client, alice: User, first: str) -> None:
    now = reads.block("alice", "goals")
    fields = services.BlockFields(title="", description="", body="Short.", limit=10)
    services.edit_block(actor=alice, owner="alice", label="goals", fields=fields, loaded_sha256=now.sha256)
    before = reads.block("alice", "goals")
    response = send(as_alice, restore_url(first), comment="Mine.")
    assert response.status_code == 422
    assert form(response, restore_url(first))["comment"] == "Mine."
    assert unchanged(before)
