"""A block's history: the strip, a version chosen on it, and two compared."""

import re
from itertools import product

import pytest
from django.test import Client
from django.urls import reverse

from approvals import services
from approvals.models import User
from memory_app.models import Change
from memory_app.reads import Block
from tests.support.acts import approve, edit
from tests.support.fixtures import MakeBlock, Propose
from tests.support.pages import words


def history_url(label: str = "goals", owner: str = "alice") -> str:
    return reverse("block_history", args=[owner, label])


def commits() -> list[str]:
    return list(Change.objects.filter(target="goals").order_by("id").values_list("commit", flat=True))


@pytest.fixture
def three(alice: User, tim: User, goals: Block, propose: Propose) -> list[str]:
    """goals in three versions: created, approved, edited."""
    approve(tim, propose(goals, "in June", "in July", reasoning="The exam was moved."), comment="Heard it too.")
    edit(alice, "goals", "one book", "two books")
    return commits()


def bars(page: str) -> list[str]:
    return re.findall(r'<a href="([^"]+)" class="strip-bar[^"]*"', page)


def test_every_version_is_a_bar_and_a_row_of_a_table(as_alice: Client, as_tim: Client, three: list[str]) -> None:
    response = as_alice.get(history_url())
    page = response.content.decode()
    assert [href.partition("=")[2].partition("#")[0] for href in bars(page)] == three
    strip = page.partition('id="strip"')[2].partition("</section>")[0]
    assert strip.count('title="Version ') == 3
    assert strip.partition("<tbody>")[2].count("<tr>") == 3
    assert "Tim Okafor approved proposal" in words(response)
    for client, version, said in (
        (as_alice, three[2], "The block says the same today."),
        (as_tim, three[0], "Only Alice Berg and admins can restore a version."),
    ):
        page = client.get(history_url(), {"v": version}).content.decode()
        assert said in page
        assert "/restore/" not in page


def test_a_bar_shows_what_its_version_changed_and_why(as_alice: Client, three: list[str]) -> None:
    response = as_alice.get(history_url(), {"v": three[1]})
    assert response.status_code == 200
    shown = words(response)
    assert "Version 2 of 3" in shown
    assert "The exam was moved." in shown
    assert "Heard it too." in shown
    part = response.content.decode().partition('id="shown"')[2]
    assert '<span class="visually-hidden">added: </span>July' in part
    assert f"?v={three[0]}" in part
    assert f"?v={three[2]}" in part
    assert reverse("block_restore", args=["alice", "goals", three[1]]) in part


def test_of_the_script_s_questions_only_the_part_is_answered(as_alice: Client, three: list[str]) -> None:
    asked = {"HX-Request": "true", "HX-Target": "shown"}
    part = as_alice.get(history_url(), {"v": three[1]}, headers=asked).content.decode()
    assert part.lstrip().startswith('<div id="shown">')
    assert "Version 2 of 3" in part
    assert "<html" not in part


def test_a_version_picked_leads_to_comparisons(as_alice: Client, three: list[str]) -> None:
    page = as_alice.get(history_url(), {"from": three[1]}).content.decode()
    assert "Choose the version to compare" in page
    assert bars(page)[0] == f"?a={three[0]}&amp;b={three[1]}#comparison"
    compared = as_alice.get(history_url(), {"a": three[0], "b": three[2]})
    assert '<span class="bar-end"' in compared.content.decode()
    assert "What changed" in words(compared)


def test_a_commit_that_is_none_of_this_block_is_told(
    as_alice: Client, alice: User, three: list[str], make_block: MakeBlock
) -> None:
    for asked, commit in product(("v", "from", "a"), ("f" * 40, "nonsense", "0" * 32)):
        response = as_alice.get(history_url(), {asked: commit})
        assert response.status_code == 404
        assert "Version not found" in words(response)
    make_block(alice, "profile", "Born in Lyon.")
    other = Change.objects.get(target="profile").commit
    assert as_alice.get(history_url(), {"v": other}).status_code == 404


def test_a_deleted_block_keeps_its_strip_and_is_restored_from_it(as_alice: Client, alice: User, goals: Block) -> None:
    services.delete_block(actor=alice, owner="alice", label="goals", loaded_sha256=goals.sha256)
    created, deleted = commits()
    assert len(bars(as_alice.get(history_url()).content.decode())) == 2
    assert "The block was deleted." in words(as_alice.get(history_url(), {"v": deleted}))
    first = as_alice.get(history_url(), {"v": created}).content.decode()
    assert reverse("block_restore", args=["alice", "goals", created]) in first


def test_a_block_with_one_version_has_one_bar_and_nothing_to_compare(as_alice: Client, goals: Block) -> None:
    page = as_alice.get(history_url(), {"v": commits()[0]}).content.decode()
    assert len(bars(page)) == 1
    assert "Compare with …" not in page


def test_a_long_history_stays_small(as_alice: Client, goals: Block) -> None:
    last = Change.objects.get()
    of_goals = {"owner": "alice", "target_kind": "block", "target": "goals", "action": "edited", "actor": "alice"}
    Change.objects.bulk_create(Change(commit=f"{number:040d}", at=last.at, **of_goals) for number in range(600))
    page = as_alice.get(history_url()).content.decode()
    strip = page.partition('id="strip"')[2].partition("</section>")[0]
    assert len(bars(page)) == 40
    assert len(strip) < 60_000
