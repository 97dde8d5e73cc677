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
from tests.support.pages import assert_says, form, has_form


def restore_url(commit: str) -> str:
    return reverse("block_restore", args=["alice", "goals", commit])


@pytest.fixture
def first(alice: User, goals: Block) -> str:
    """The commit of goals's first version; it says something else now."""
    edit(alice, "goals", "math", "art", title="New goals")
    return Change.objects.earliest("id").commit


def restore(client: Client, commit: str, **typed: str) -> Any:
    url = restore_url(commit)
    return client.post(url, form(client.get(url), url) | typed)


def set_rules(alice: User, **fields: Any) -> None:
    now = reads.block("alice", "goals")
    rules = services.BlockFields(**{"title": "x", "description": "", "body": now.body, "limit": now.limit} | fields)
    services.edit_block(actor=alice, owner="alice", label="goals", fields=rules, loaded_sha256=now.sha256)


def test_restoring_is_a_new_change_in_the_persons_name_shown_before_it_is_saved(
    as_alice: Client, goals: Block, first: str
) -> None:
    before = reads.block("alice", "goals")
    assert_says(as_alice.get(restore_url(first)), "removed: art", "added: math", "New goals")
    assert reads.block("alice", "goals") == before
    assert restore(as_alice, first, comment="It was right.").status_code == 302
    restored = reads.block("alice", "goals")
    assert (restored.body, restored.title) == (goals.body, goals.title)
    assert_ledger("goals", action="edited", actor="alice", comment="It was right.")
    assert Change.objects.filter(target="goals").count() == 3
    # What the block says already is not restored.
    page = as_alice.get(restore_url(first))
    assert_says(page, "There is nothing to restore.")
    assert not has_form(page, restore_url(first))


def test_staff_restore_in_their_own_name_under_the_rules_of_today(
    as_admin: Client, alice: User, goals: Block, first: str
) -> None:
    set_rules(alice, limit=9_000, read_only=True)
    assert restore(as_admin, first).status_code == 302
    restored = reads.block("alice", "goals")
    assert (restored.limit, restored.read_only) == (9_000, True)
    assert (restored.title, restored.body) == (goals.title, goals.body)
    assert_ledger("goals", action="edited", actor="admin")
    assert reads.history("alice", "block", "goals")[0].comment.startswith("Restored the version from ")


def test_a_tutor_is_told_why_not_and_nothing_changes(as_tim: Client, first: str) -> None:
    before = reads.block("alice", "goals")
    for response in (as_tim.get(restore_url(first)), as_tim.post(restore_url(first), {"loaded_sha256": before.sha256})):
        assert_says(response, "Only Alice Berg and admins can restore a version.", status=403)
        assert not has_form(response, restore_url(first))
    assert reads.block("alice", "goals") == before


def test_a_commit_of_another_block_or_another_owner_is_refused_in_words(
    as_alice: Client, alice: User, ben: User, goals: Block, make_block: MakeBlock
) -> None:
    make_block(alice, "profile", "Born in Lyon.")
    make_block(ben, "goals", "Ben likes music.")
    others = [Change.objects.get(target="profile").commit, Change.objects.get(owner="ben").commit]
    for commit in (*others, "f" * 40, "0" * 32, "now", "2026-01-01", "nonsense"):
        sent = as_alice.post(restore_url(commit), {"loaded_sha256": goals.sha256})
        for response in (as_alice.get(restore_url(commit)), sent):
            assert_says(response, "Version not found", status=404)
    assert reads.block("alice", "goals") == goals
    for commit in (Change.objects.earliest("id").commit, "0" * 40):  # there was no profile then
        filled = as_alice.get(reverse("block_edit", args=["alice", "profile"]), {"from": commit})
        assert_says(filled, "Version not found", status=404)


def test_a_deleted_block_comes_back_as_it_was(as_alice: Client, alice: User, goals: Block) -> None:
    services.delete_block(actor=alice, owner="alice", label="goals", loaded_sha256=goals.sha256)
    first, deleted = Change.objects.order_by("id").values_list("commit", flat=True)
    assert as_alice.get(restore_url(deleted)).status_code == 404  # it has no text
    assert_says(as_alice.get(restore_url(first)), "Restoring creates it again")
    assert restore(as_alice, first).status_code == 302
    restored = reads.block("alice", "goals")
    assert (restored.body, restored.title, restored.limit) == (goals.body, goals.title, goals.limit)
    assert_ledger("goals", action="created", actor="alice")


def test_a_text_over_the_limit_of_today_is_refused_in_words(as_alice: Client, alice: User, first: str) -> None:
    set_rules(alice, body="Short.", limit=10)
    before = reads.block("alice", "goals")
    response = restore(as_alice, first, comment="Mine.")
    assert response.status_code == 422
    assert form(response, restore_url(first))["comment"] == "Mine."
    assert reads.block("alice", "goals") == before
