"""Why does it say that: each sentence of a block by who proposed it, who approved it, when and why."""

import re
from datetime import timedelta
from typing import Any

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
from tests.support.fixtures import MakeBlock, Propose
from tests.support.pages import assert_says, html, words

BLAME = reverse("block_blame", args=["alice", "goals"])
JULY = "She wants to pass the B2 exam in July."


def sentence(page: Any, text: str) -> tuple[str, str]:
    """The number and the classes of the link of a sentence."""
    found = re.search(rf'<a href="\?s=(\d+)[^"]*" class="([^"]*)"[^>]*>(?:<[a-z]+>)?{re.escape(text)}', html(page))
    assert found, text
    return found[1], found[2]


def why(client: Client, text: str, css: str) -> Any:
    """The page on which this sentence is chosen, which is drawn as `css`."""
    number, drawn = sentence(client.get(BLAME), text)
    assert css in drawn
    return client.get(BLAME, {"s": number})


def test_a_sentence_says_who_proposed_who_approved_when_and_why(
    as_alice: Client, tim: User, goals: Block, propose: Propose
) -> None:
    proposal = propose(goals, "in June", "in July", reasoning="The exam was moved.")
    approve(tim, proposal, comment="Heard it too.")
    assert BLAME in html(as_alice.get(reverse("block", args=["alice", "goals"])))
    page = as_alice.get(BLAME)
    assert "by-person" in sentence(page, "Alice likes math.")[1]
    chosen = why(as_alice, JULY, "by-agent")
    approved_by = f"Tim Okafor approved proposal {proposal.pk} by scribe"
    assert_says(chosen, approved_by, "The exam was moved.", "Heard it too.")
    told = html(chosen).partition('id="why"')[2].partition("</aside>")[0]
    assert proposal.get_absolute_url() in told
    assert '<span class="visually-hidden">removed: </span>June' in told
    assert "Alice Berg created it" in told.partition("Earlier")[2]
    approved, created, *_ = html(page).partition("<tbody>")[2].partition("</tbody>")[0].split("</tr>")
    for row, said, text in (
        (approved, "Tim Okafor approved", JULY),
        (created, "Alice Berg created it", "Alice likes math."),
    ):
        assert said in row
        assert text in row


def test_a_block_that_never_was_is_not_found_and_a_deleted_one_says_so_until_it_is_made_again(
    as_alice: Client, alice: User, goals: Block, make_block: MakeBlock
) -> None:
    assert as_alice.get(reverse("block_blame", args=["alice", "nothing"])).status_code == 404
    services.delete_block(actor=alice, owner="alice", label="goals", loaded_sha256=goals.sha256, comment="Done.")
    assert_says(as_alice.get(BLAME), "Alice Berg deleted it", status=410)
    again = make_block(alice, "goals", "")
    assert_says(as_alice.get(BLAME), "This block is empty")
    services.delete_block(actor=alice, owner="alice", label="goals", loaded_sha256=again.sha256)
    make_block(alice, "goals", "Alice likes math.")
    assert words(why(as_alice, "Alice likes math.", "by-person")).count("Alice Berg created it") >= 2


def test_what_nobody_is_known_to_have_written_is_told(as_alice: Client, goals: Block) -> None:
    with connections["memory"].cursor() as cursor:
        cursor.execute(f"UPDATE {MemoryBlock._meta.db_table} SET body = %s", ["Alice likes math.\n\nA stray line.\n"])
    commit_stray_rows()
    assert_says(why(as_alice, "A stray line.", "by-unknown"), "Author unknown", "written outside Assent")
    Change.objects.filter(action="recovered").delete()
    assert_says(why(as_alice, "A stray line.", "by-unknown"), "written outside Assent")


def test_what_was_undone_comes_from_who_undid_it_and_lists_what_it_was(
    as_alice: Client, alice: User, tim: User, goals: Block, propose: Propose
) -> None:
    proposal = approve(tim, propose(goals, "in June", "in July", reasoning="The exam was moved."))
    services.undo(actor=alice, proposal_id=proposal.pk, comment="It was not.")
    chosen = why(as_alice, "She wants to pass the B2 exam in June.", "by-person")
    assert_says(chosen, "Alice Berg undid what scribe did", "It was not.")
    told = words(chosen).partition("Close")[0]
    assert "The exam was moved." not in told  # the reason of what was undone, not of undoing it
    earlier = told.partition("Earlier")[2]
    assert earlier.index("Tim Okafor approved") < earlier.index("Alice Berg created it")


def test_automatic_changes_are_told_apart_without_colour_too(
    as_alice: Client, tim: User, goals: Block, propose: Propose
) -> None:
    approve(tim, propose(goals, "in June", "in July"))
    Change.objects.filter(action="approved").update(action="applied", actor="")
    assert_says(why(as_alice, JULY, "by-automatic"), "Automatic", "scribe changed it automatically")
    history = html(as_alice.get(reverse("block_history", args=["alice", "goals"])))
    assert 'class="head by-automatic"' in history  # a shape of its own


def test_the_ages_of_sentences_are_told_by_a_legend(as_alice: Client, alice: User, goals: Block) -> None:
    Change.objects.update(at=Change.objects.get().at - timedelta(days=400))
    edit(alice, "goals", "math", "art")
    page = as_alice.get(BLAME, {"by": "age"})
    assert "age-0" in sentence(page, "Alice likes art.")[1]
    assert "age-3" in sentence(page, "She reads one book a month.")[1]
    assert_says(page, "Last 7 days", "Older")
    for number in ("99", "-1", "x", "9" * 40, "\N{ARABIC-INDIC DIGIT ONE}"):  # no such sentence
        assert_says(as_alice.get(BLAME, {"s": number}), "Point at a sentence")


def test_a_page_costs_few_queries_however_many_changes_there_were(
    as_alice: Client, tim: User, goals: Block, propose: Propose
) -> None:
    for number in range(6):
        approve(tim, propose(reads.block("alice", "goals"), "math", f"math {number}"))
    as_alice.get(BLAME)
    with CaptureQueriesContext(connections["default"]) as asked, CaptureQueriesContext(connections["memory"]) as read:
        as_alice.get(BLAME)
    assert len(asked) <= 12
    assert len(read) <= 4


def test_of_very_many_changes_the_table_has_the_newest_and_the_way_to_all(
    as_alice: Client, alice: User, make_block: MakeBlock
) -> None:
    make_block(alice, "goals", "".join(f"Number {number} stands here.\n\n" for number in range(30)))
    for number in range(30):
        edit(alice, "goals", f"Number {number} stands", f"Number {number} moved")
    few, every = html(as_alice.get(BLAME)), html(as_alice.get(BLAME, {"all": "1"}))
    assert (few.count("data-change-of="), every.count("data-change-of=")) == (25, 30)
    assert "Show all 30 changes" in few
    assert "Show all" not in every
