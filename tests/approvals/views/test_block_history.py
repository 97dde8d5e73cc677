"""A block's history: the strip, a version chosen on it, and two compared."""

import re
from itertools import product
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from approvals import services
from approvals.models import User
from memory_app.models import Change
from memory_app.reads import Block
from tests.support.acts import approve, edit
from tests.support.fixtures import MakeBlock, Propose
from tests.support.pages import assert_says, html, htmx

HISTORY = reverse("block_history", args=["alice", "goals"])


def restore_url(commit: str) -> str:
    return reverse("block_restore", args=["alice", "goals", commit])


def commits() -> list[str]:
    return list(Change.objects.filter(target="goals").order_by("id").values_list("commit", flat=True))


@pytest.fixture
def three(alice: User, tim: User, goals: Block, propose: Propose) -> list[str]:
    """goals in three versions: created, approved, edited."""
    approve(tim, propose(goals, "in June", "in July", reasoning="The exam was moved."), comment="Heard it too.")
    edit(alice, "goals", "one book", "two books")
    return commits()


def strip_of(page: Any) -> str:
    return html(page).partition('id="strip"')[2].partition("</section>")[0]


def bars(page: Any) -> list[str]:
    return re.findall(r'<a href="([^"]+)" class="strip-bar[^"]*"', html(page))


def test_every_version_is_a_bar_and_a_row_of_a_table(as_alice: Client, as_tim: Client, three: list[str]) -> None:
    page = as_alice.get(HISTORY)
    assert [href.partition("=")[2].partition("#")[0] for href in bars(page)] == three
    assert strip_of(page).count('title="Version ') == 3
    assert strip_of(page).partition("<tbody>")[2].count("<tr>") == 3
    assert_says(page, "Tim Okafor approved proposal")
    for client, version, said in (
        (as_alice, three[2], "The block says the same today."),
        (as_tim, three[0], "Only Alice Berg and admins can restore a version."),
    ):
        page = client.get(HISTORY, {"v": version})
        assert_says(page, said)
        assert "/restore/" not in html(page)


def test_a_bar_shows_what_its_version_changed_and_why(as_alice: Client, three: list[str]) -> None:
    page = as_alice.get(HISTORY, {"v": three[1]})
    assert_says(page, "Version 2 of 3", "The exam was moved.", "Heard it too.")
    shown = html(page).partition('id="shown"')[2]
    july = '<span class="visually-hidden">added: </span>July'
    for part in (july, f"?v={three[0]}", f"?v={three[2]}", restore_url(three[1])):
        assert part in shown
    # Of a question of the script only the part is answered.
    answer = as_alice.get(HISTORY, {"v": three[1]}, headers=htmx("shown"))
    assert_says(answer, "Version 2 of 3")
    assert html(answer).lstrip().startswith('<div id="shown">')
    assert "<html" not in html(answer)


def test_a_version_picked_leads_to_comparisons(as_alice: Client, three: list[str]) -> None:
    page = as_alice.get(HISTORY, {"from": three[1]})
    assert_says(page, "Choose the version to compare")
    assert bars(page)[0] == f"?a={three[0]}&amp;b={three[1]}#comparison"
    compared = as_alice.get(HISTORY, {"a": three[0], "b": three[2]})
    assert '<span class="bar-end"' in html(compared)
    assert_says(compared, "What changed")


def test_a_commit_that_is_none_of_this_block_is_told(
    as_alice: Client, alice: User, three: list[str], make_block: MakeBlock
) -> None:
    make_block(alice, "profile", "Born in Lyon.")
    other = Change.objects.get(target="profile").commit
    for asked, commit in [*product(("v", "from", "a"), ("f" * 40, "nonsense", "0" * 32)), ("v", other)]:
        assert_says(as_alice.get(HISTORY, {asked: commit}), "Version not found", status=404)


def test_a_block_with_one_version_has_nothing_to_compare_and_deleted_it_is_restored_from_its_strip(
    as_alice: Client, alice: User, goals: Block
) -> None:
    only = as_alice.get(HISTORY, {"v": commits()[0]})
    assert len(bars(only)) == 1
    assert "Compare with …" not in html(only)
    services.delete_block(actor=alice, owner="alice", label="goals", loaded_sha256=goals.sha256)
    created, deleted = commits()
    assert len(bars(as_alice.get(HISTORY))) == 2
    assert_says(as_alice.get(HISTORY, {"v": deleted}), "The block was deleted.")
    assert restore_url(created) in html(as_alice.get(HISTORY, {"v": created}))


def test_a_long_history_stays_small(as_alice: Client, goals: Block) -> None:
    last = Change.objects.get()
    of_goals = {"owner": "alice", "target_kind": "block", "target": "goals", "action": "edited", "actor": "alice"}
    Change.objects.bulk_create(Change(commit=f"{number:040d}", at=last.at, **of_goals) for number in range(600))
    page = as_alice.get(HISTORY)
    assert len(bars(page)) == 40
    assert len(strip_of(page)) < 60_000
