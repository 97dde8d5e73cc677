"""Why does it say that: each sentence of a block by who proposed it, who approved it, when and why."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connections
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from approvals import services
from approvals.models import User
from approvals.recovery.ledger import commit_stray_rows
from memory_app import reads
from memory_app.models import Change, MemoryBlock
from memory_app.reads import Block
from tests.support.acts import approve, edit
from tests.support.fixtures import ClientOf, MakeBlock, Propose
from tests.support.pages import words


def blame_url(label: str = "goals", owner: str = "alice") -> str:
    return reverse("block_blame", args=[owner, label])


def sentence(page: Any, text: str) -> tuple[str, str]:
    """The number and the classes of the link of a sentence."""
    found = re.search(rf'<a href="\?s=(\d+)[^"]*" class="([^"]*)"[^>]*>(?:<[a-z]+>)?{re.escape(text)}', page)
    assert found, text
    return found[1], found[2]


def test_a_sentence_says_who_proposed_who_approved_when_and_why(
    as_alice: Client, tim: User, goals: Block, propose: Propose
) -> None:
    proposal = propose(goals, "in June", "in July", reasoning="The exam was moved.")
    approve(tim, proposal, comment="Heard it too.")
    page = as_alice.get(blame_url()).content.decode()
    number, css = sentence(page, "She wants to pass the B2 exam in July.")
    assert "by-agent" in css
    assert "by-person" in sentence(page, "Alice likes math.")[1]
    chosen = as_alice.get(blame_url(), {"s": number})
    shown = words(chosen)
    assert f"Tim Okafor approved proposal {proposal.pk} by scribe" in shown
    assert "The exam was moved." in shown
    assert "Heard it too." in shown
    why = chosen.content.decode().partition('id="why"')[2].partition("</aside>")[0]
    assert proposal.get_absolute_url() in why
    assert '<span class="visually-hidden">removed: </span>June' in why
    assert "Alice Berg created it" in why.partition("Earlier")[2]
    approved, created, *_ = page.partition("<tbody>")[2].partition("</tbody>")[0].split("</tr>")
    for row, said in ((approved, "Tim Okafor approved"), (created, "Alice Berg created it")):
        assert said in row
    assert "She wants to pass the B2 exam in July." in approved
    assert "Alice likes math." in created


@pytest.mark.parametrize("who", ["alice", "tim", "admin"])
def test_who_may_read_the_memory_is_led_there(
    who: str, tim: User, admin: User, alice: User, goals: Block, client_of: ClientOf
) -> None:
    client = client_of({"alice": alice, "tim": tim, "admin": admin}[who])
    assert blame_url() in client.get(reverse("block", args=["alice", "goals"])).content.decode()
    assert client.get(blame_url()).status_code == 200


def test_a_block_that_never_was_is_not_found_and_a_deleted_one_says_so(
    as_alice: Client, alice: User, goals: Block, make_block: MakeBlock
) -> None:
    assert as_alice.get(blame_url("nothing")).status_code == 404
    services.delete_block(actor=alice, owner="alice", label="goals", loaded_sha256=goals.sha256, comment="Done.")
    gone = as_alice.get(blame_url())
    assert gone.status_code == 410
    assert "Alice Berg deleted it" in words(gone)
    make_block(alice, "empty", "")
    assert "This block is empty" in words(as_alice.get(blame_url("empty")))


def test_a_block_that_was_deleted_and_made_again_comes_from_who_made_it_again(
    as_alice: Client, alice: User, goals: Block, make_block: MakeBlock
) -> None:
    services.delete_block(actor=alice, owner="alice", label="goals", loaded_sha256=goals.sha256)
    make_block(alice, "goals", "Alice likes math.")
    number, _ = sentence(as_alice.get(blame_url()).content.decode(), "Alice likes math.")
    assert words(as_alice.get(blame_url(), {"s": number})).count("Alice Berg created it") >= 2


def test_what_nobody_is_known_to_have_written_is_told(as_alice: Client, goals: Block) -> None:
    with connections["memory"].cursor() as cursor:
        cursor.execute(f"UPDATE {MemoryBlock._meta.db_table} SET body = %s", ["Alice likes math.\n\nA stray line.\n"])
    commit_stray_rows()
    page = as_alice.get(blame_url())
    number, css = sentence(page.content.decode(), "A stray line.")
    assert "by-unknown" in css
    assert "Author unknown" in words(page)
    assert "written outside Assent" in words(as_alice.get(blame_url(), {"s": number}))
    Change.objects.filter(action="recovered").delete()
    unrecorded = as_alice.get(blame_url(), {"s": number})
    assert "written outside Assent" in words(unrecorded)


def test_what_was_undone_comes_from_who_undid_it_and_lists_what_it_was(
    as_alice: Client, alice: User, tim: User, goals: Block, propose: Propose
) -> None:
    proposal = approve(tim, propose(goals, "in June", "in July", reasoning="The exam was moved."))
    services.undo(actor=alice, proposal_id=proposal.pk, comment="It was not.")
    number, css = sentence(as_alice.get(blame_url()).content.decode(), "She wants to pass the B2 exam in June.")
    assert "by-person" in css
    why = words(as_alice.get(blame_url(), {"s": number})).partition("Close")[0]
    assert "Alice Berg undid what scribe did" in why
    assert "It was not." in why
    assert "The exam was moved." not in why  # the reason of what was undone, not of undoing it
    earlier = why.partition("Earlier")[2]
    assert earlier.index("Tim Okafor approved") < earlier.index("Alice Berg created it")


def test_automatic_changes_are_told_apart_without_colour_too(
    as_alice: Client, tim: User, goals: Block, propose: Propose
) -> None:
    approve(tim, propose(goals, "in June", "in July"))
    Change.objects.filter(action="approved").update(action="applied", actor="")
    page = as_alice.get(blame_url())
    number, css = sentence(page.content.decode(), "She wants to pass the B2 exam in July.")
    assert "by-automatic" in css
    assert "Automatic" in words(page)
    assert "scribe changed it automatically" in words(as_alice.get(blame_url(), {"s": number}))
    history = as_alice.get(reverse("block_history", args=["alice", "goals"])).content.decode()
    assert 'class="head by-automatic"' in history  # a shape of its own


def test_the_ages_of_sentences_are_told_by_a_legend(as_alice: Client, alice: User, goals: Block) -> None:
    first = Change.objects.get()
    Change.objects.update(at=first.at - timedelta(days=400))
    edit(alice, "goals", "math", "art")
    response = as_alice.get(blame_url(), {"by": "age"})
    page = response.content.decode()
    assert "age-0" in sentence(page, "Alice likes art.")[1]
    assert "age-3" in sentence(page, "She reads one book a month.")[1]
    assert "Last 7 days" in words(response)
    assert "Older" in words(response)


def test_a_sentence_that_is_not_there_chooses_none(as_alice: Client, goals: Block) -> None:
    for number in ("99", "-1", "x", "9" * 40, "\N{ARABIC-INDIC DIGIT ONE}"):
        response = as_alice.get(blame_url(), {"s": number})
        assert response.status_code == 200
        assert "Point at a sentence" in words(response)


def test_a_page_costs_few_queries_however_many_changes_there_were(
    as_alice: Client, tim: User, goals: Block, propose: Propose
) -> None:
    for number in range(6):
        approve(tim, propose(reads.block("alice", "goals"), "math", f"math {number}"))
    as_alice.get(blame_url())
    with CaptureQueriesContext(connections["default"]) as asked, CaptureQueriesContext(connections["memory"]) as read:
        as_alice.get(blame_url())
    assert len(asked) <= 12
    assert len(read) <= 4


def test_of_very_many_changes_the_table_has_the_newest_and_the_way_to_all(
    as_alice: Client, alice: User, make_block: MakeBlock
) -> None:
    make_block(alice, "goals", "".join(f"Number {number} stands here.\n\n" for number in range(30)))
    for number in range(30):
        edit(alice, "goals", f"Number {number} stands", f"Number {number} moved")
    few, every = as_alice.get(blame_url()).content.decode(), as_alice.get(blame_url(), {"all": "1"}).content.decode()
    assert (few.count("data-change-of="), every.count("data-change-of=")) == (25, 30)
    assert "Show all 30 changes" in few
    assert "Show all" not in every
