"""A block's past: its history with the strip, what each sentence comes from, and earlier versions restored."""

import re
from datetime import timedelta
from itertools import product
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
from memory_app.dolt.types import FIRST
from memory_app.models import Change, MemoryBlock
from memory_app.reads import Block
from tests.support.acts import approve, assert_ledger, edit
from tests.support.fixtures import MakeBlock, Propose
from tests.support.pages import assert_says, form, has_form, html, htmx, words

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


@pytest.mark.parametrize("chosen", ["", "?v={1}", "?a={0}&b={1}", "?from={1}"])
def test_a_block_of_more_versions_takes_no_more_statements(
    as_alice: Client, alice: User, goals: Block, chosen: str
) -> None:
    def statements() -> int:
        url = HISTORY + chosen.format(*commits()[-2:])
        as_alice.get(url)
        with (
            CaptureQueriesContext(connections["default"]) as default,
            CaptureQueriesContext(connections["memory"]) as memory,
        ):
            assert as_alice.get(url).status_code == 200
        return len(default) + len(memory)

    before, counted = "one book", []
    for number in range(1, 9):
        edit(alice, "goals", before, before := f"{number} good books")
        counted += [statements()] if number in (3, 8) else []
    assert counted[0] == counted[1] <= 20, counted


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
    july = '<span class="visually-hidden" dir="auto">added: </span>July'
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


# -- restoring -------------------------------------------------------------------------------------


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


# -- why it says that ------------------------------------------------------------------------------


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
    assert '<span class="visually-hidden" dir="auto">removed: </span>June' in told
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
    commit_stray_rows(FIRST)
    assert_says(why(as_alice, "A stray line.", "by-unknown"), "Author unknown", "written outside Assent")
    Change.objects.filter(action="recovered").delete()
    assert_says(why(as_alice, "A stray line.", "by-unknown"), "written outside Assent")


def test_what_was_undone_comes_from_who_undid_it_and_lists_what_it_was(
    as_alice: Client, alice: User, tim: User, goals: Block, propose: Propose
) -> None:
    proposal = approve(tim, propose(goals, "in June", "in July", reasoning="The exam was moved."))
    services.undo(actor=alice, proposal_id=proposal.pk, comment="It was not.")
    chosen = why(as_alice, "She wants to pass the B2 exam in June.", "by-person")
    assert_says(chosen, f"Alice Berg undid an approval of proposal {proposal.pk}", "It was not.")
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
