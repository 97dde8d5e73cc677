"""Reading memory in the browser: whose, which blocks, one block now and earlier, its history.

The strip of its changes: which versions have a bar, how high each is, and where it leads.
"""

import re
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from approvals import services
from approvals.markdown.rendering import on_one_line
from approvals.models import Agent, Tutorship, User
from approvals.pages.versions import MOST_BARS, ChangeBy, strip_of
from approvals.services import notes
from approvals.services.imports import import_memories
from approvals.services.notes import ChangeContext
from assent_client.text import memories_md
from memory_app import reads
from memory_app.models import Change
from memory_app.reads import Block
from memory_app.reads.blame import BlockBlame, blame_of_block
from memory_app.text.blame import WordCount
from tests.support.acts import approve, edit, save
from tests.support.fixtures import MakeBlock, Propose
from tests.support.pages import has_form, words

MEMORIES, MEMORY = reverse("memories"), reverse("memory", args=["alice"])
GOALS, HISTORY = reverse("block", args=["alice", "goals"]), reverse("block_history", args=["alice", "goals"])


def content(client: Client, address: str, **query: str) -> str:
    return client.get(address, query).content.decode()


# -- whose ------------------------------------------------------------------------------------------


def test_an_owner_comes_straight_to_their_own_memory(as_alice: Client) -> None:
    response = as_alice.get(MEMORIES)
    assert (response.status_code, response.headers["Location"]) == (302, MEMORY)


def test_staff_find_anybody_by_any_part_of_a_name(as_admin: Client, alice: User, ben: User) -> None:
    found = as_admin.get(MEMORIES, {"q": "berg"}, headers={"HX-Request": "true"}).content.decode()
    assert "Alice Berg" in found
    assert "<html" not in found
    assert reverse("memory", args=["ben"]) not in found
    nobody = content(as_admin, MEMORIES, q="<b>zzz")
    assert "No one by that name" in nobody
    assert "<b>zzz" not in nobody


def test_many_owners_come_page_by_page(as_admin: Client) -> None:
    User.objects.bulk_create(User(username=f"student{number:03}", password="!") for number in range(140))
    first, second = content(as_admin, MEMORIES), content(as_admin, MEMORIES, page="2")
    assert "student099" in first
    assert "student100" not in first
    assert "student100" in second
    assert "student139" in second


def test_a_tutor_reads_their_own_memory_and_their_students(as_tim: Client, tim: User, ben: User) -> None:
    page = content(as_tim, MEMORIES)
    assert "Alice Berg" in page
    assert reverse("memory", args=["tim"]) in page
    of_ben = reverse("memory", args=["ben"])
    assert of_ben not in page
    assert as_tim.get(of_ben).status_code == 404
    Tutorship.objects.create(tutor=tim, owner=ben)
    assert as_tim.get(of_ben).status_code == 200


# -- the memory of an owner -------------------------------------------------------------------------


def test_an_empty_memory_says_so_offers_the_first_block_to_its_owner_only_and_nothing_to_export(
    as_alice: Client, as_tim: Client, alice: User
) -> None:
    own, students = content(as_alice, MEMORY), content(as_tim, MEMORY)
    new, export = reverse("block_new", args=["alice"]), reverse("export_json", args=["alice"])
    assert "Nothing is remembered about you yet" in own
    assert new in own
    assert export not in own
    assert "Nothing is remembered about Alice Berg yet" in students
    assert new not in students
    save(alice)
    assert export in content(as_alice, MEMORY)


def test_each_block_shows_its_beginning_its_length_who_changed_it_last_and_what_waits(
    as_alice: Client, scribe: Agent, goals: Block, propose: Propose
) -> None:
    propose(goals, "math", "mathematics")
    notes.save(by=ChangeContext(actor=scribe), owner="alice", content="Likes tea.")
    page = content(as_alice, MEMORY)
    length = f"{len(goals.body)} of 20,000 characters"
    for shown in ("Learning goals", "Alice likes math.", length, "Alice Berg created it", "1 waiting proposal"):
        assert shown in page
    assert '<a href="/?owner=alice">2 waiting proposals</a>' in page


def test_many_blocks_come_page_by_page_and_take_as_many_queries_as_one(
    as_alice: Client, alice: User, make_block: MakeBlock, django_assert_max_num_queries: Any
) -> None:
    labels = [f"log-{number:02}" for number in range(45)]
    for label in labels:
        make_block(alice, label, "Read a chapter.")
    as_alice.get(MEMORY)
    with django_assert_max_num_queries(12):
        first = as_alice.get(MEMORY)
    second = as_alice.get(f"{MEMORY}?page=2")
    assert [row["block"].label for page in (first, second) for row in page.context["rows"]] == labels
    assert "45 blocks" in first.content.decode()
    assert "?page=2" in first.content.decode()
    assert 'rel="next"' not in second.content.decode()


def test_what_came_before_a_large_import_is_among_the_last_changes(as_alice: Client, alice: User, goals: Block) -> None:
    text = "".join(f"### mem-{number}-aaaa\n> memory {number}\n" for number in range(100))
    import_memories(by=ChangeContext(actor=alice), owner="alice", parsed=memories_md.parse(text))
    page = content(as_alice, MEMORY)
    recent = page[page.index('id="recent-title"') :]
    assert recent.count("<li") == 2
    assert "Learning goals" in recent


def test_an_automatic_change_is_listed_once_labelled_and_can_be_reverted_there(
    as_alice: Client, scribe: Agent, goals: Block
) -> None:
    by = ChangeContext(actor=scribe, reasoning="She said so.", may_apply=True)
    saved = notes.save(by=by, owner="alice", content="Plays the oboe.").proposal
    assert saved
    page = as_alice.get(MEMORY)
    said = words(page)
    assert said.count("Plays the oboe.") == 2, "its link, and the name of its button"
    assert "Plays the oboe. automatic scribe changed it · just now Undo" in said
    assert has_form(page, reverse("undo", args=[saved.pk]))
    assert "All decisions and automatic changes" in said


def test_ones_own_memory_is_one_step_and_anothers_is_two(as_alice: Client, as_tim: Client, goals: Block) -> None:
    def steps(client: Client, address: str) -> list[str]:
        crumbs = re.search(r'<nav class="crumbs".*?</nav>', content(client, address), re.S)
        return re.findall(r'href="([^"]+)"', crumbs[0]) if crumbs else []

    assert steps(as_alice, MEMORY) == []
    for name in ("block_new", "note_new", "note_import"):
        found = steps(as_alice, reverse(name, args=["alice"]))
        assert found[:1] == [MEMORY], name
        assert MEMORIES not in found, name
    assert steps(as_alice, GOALS) == [MEMORY]
    assert steps(as_tim, GOALS) == [MEMORIES, MEMORY]


# -- one block --------------------------------------------------------------------------------------


def test_a_block_is_shown_rendered_and_as_source_with_what_waits_and_edited_by_its_owner(
    as_alice: Client, as_tim: Client, goals: Block, propose: Propose
) -> None:
    proposal = propose(goals, "math", "geometry", reasoning="She said so on Monday.")
    page, edit_url = content(as_alice, GOALS), reverse("block_edit", args=["alice", "goals"])
    title = '<h2 dir="auto" id="section-1">Goals</h2>'
    for shown in (title, "She said so on Monday.", "<ins>", "geometry", proposal.get_absolute_url(), edit_url):
        assert shown in page
    assert "# Goals" in content(as_alice, GOALS, view="source")
    assert edit_url not in content(as_tim, GOALS)


def test_markup_in_a_text_stays_text_and_hidden_characters_are_seen(
    as_alice: Client, alice: User, make_block: MakeBlock
) -> None:
    make_block(alice, "goals", "<script>alert(1)</script> zero\u200bwidth \u202eright to left")
    for page in (content(as_alice, GOALS), content(as_alice, GOALS, view="source"), content(as_alice, MEMORY)):
        assert "<script>alert(1)" not in page
        assert "&lt;script&gt;" in page
        assert not set(page) & {"\u200b", "\u202e"}


def test_a_list_runs_in_the_direction_of_its_words(as_alice: Client, alice: User, make_block: MakeBlock) -> None:
    make_block(alice, "goals", "- أولا: الحروف\n\n> said\n\n| a |\n|---|\n| b |\n")
    page = content(as_alice, GOALS)
    for tag in ("ul", "blockquote", "td"):
        assert f'<{tag} dir="auto">' in page
    assert "<li>أولا" in page  # or the list would not take its direction from it


def test_a_short_block_has_no_contents(as_alice: Client, alice: User, goals: Block) -> None:
    edit(alice, "goals", goals.body, "# a\n\n# b\n\n# c\n")
    assert "Contents," not in words(as_alice.get(GOALS))
    edit(alice, "goals", "# c\n", "# c\n" + "word " * 1_000)
    assert "Contents, 3 sections a b c" in words(as_alice.get(GOALS))
    assert "Contents," not in words(as_alice.get(GOALS, {"view": "source"}))


def test_of_many_proposals_a_block_shows_the_first_and_the_way_to_the_rest(
    as_alice: Client, alice: User, make_block: MakeBlock, propose: Propose
) -> None:
    block = make_block(alice, "goals", "".join(f"Goal {number}.\n" for number in range(7)))
    proposals = [propose(block, f"Goal {number}", f"Aim {number}", reasoning=f"Why {number}") for number in range(7)]
    for name in ("block", "block_edit", "block_delete"):
        page = content(as_alice, reverse(name, args=["alice", "goals"]))
        shown = [proposal for proposal in proposals if f'href="{proposal.get_absolute_url()}"' in page]
        assert shown == proposals[:5]
        assert "?owner=alice&amp;target=goals" in page
    everything = content(as_alice, reverse("inbox"), owner="alice", target="goals")
    assert all(f'href="{proposal.get_absolute_url()}?list=' in everything for proposal in proposals)


@pytest.mark.pure
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("## Goals\n\n- **Pass** the _exam_", "Goals Pass the exam"),
        ("| day | what |\n|---|---|\n| Monday | `sheet` |\n", "day · what · Monday · sheet ·"),
        ("5*3 is 15, a_b and P(A | B)\n---\nsee [here](https://example.org)", "5*3 is 15, a_b and P(A | B) see here"),
        ("```python\nx = 3 * 4\n```\n> said", "x = 3 * 4 said"),
    ],
)
def test_markdown_on_one_line_is_its_words(text: str, words: str) -> None:
    assert on_one_line(text) == words


# -- as of ------------------------------------------------------------------------------------------


def test_a_block_as_of_a_commit_shows_the_text_of_then_and_the_way_back(
    as_alice: Client, alice: User, goals: Block
) -> None:
    first = Change.objects.get()
    edit(alice, "goals", "math", "art")
    page = content(as_alice, GOALS, as_of=first.commit)
    assert "Alice likes art." not in page
    for shown in ("Alice likes math.", "agents read a newer one.", "Current version"):
        assert shown in page


def test_a_time_without_a_zone_is_meant_in_the_viewers_own(as_alice: Client, alice: User, goals: Block) -> None:
    alice.time_zone = "Asia/Tokyo"
    alice.save()
    change = Change.objects.get()
    local = (change.at + timedelta(minutes=1)).astimezone(ZoneInfo("Asia/Tokyo"))
    for told in (f"{local:%Y-%m-%dT%H:%M:%S}", f"{local:%Y-%m-%d}"):  # a day means its end
        assert as_alice.get(GOALS, {"as_of": told}).status_code == 200
    with_zone = as_alice.get(f"{GOALS}?as_of={local.isoformat()}")  # the plus sign arrives as a space
    assert with_zone.status_code == 200
    assert "Alice likes math." in with_zone.content.decode()


def test_the_page_names_the_time_that_was_asked_for_and_none_in_the_future(as_alice: Client, goals: Block) -> None:
    at = Change.objects.get().at
    Change.objects.update(at=at - timedelta(days=30))
    asked = at - timedelta(days=10)
    then = as_alice.get(GOALS, {"as_of": asked.isoformat()}).context["shown"]
    assert (then.at, then.body) == (asked, goals.body)
    later = as_alice.get(GOALS, {"as_of": (at + timedelta(days=400)).isoformat()}).context["shown"]
    assert at <= later.at < at + timedelta(days=1)


@pytest.mark.parametrize("moment", ["0" * 40, "0" * 32, "yesterday", "1999-01-01", "2026-13-45", "\u202ea", "waiting"])
def test_a_moment_that_is_none_gets_a_friendly_page(
    moment: str, as_alice: Client, goals: Block, propose: Propose
) -> None:
    if moment == "waiting":  # the commit of a proposal is no moment of the memory
        moment = propose(goals, "math", "geometry").current_revision.head_commit
    for address, query in ((GOALS, {"as_of": moment}), (HISTORY, {"a": moment, "b": "now"})):
        response = as_alice.get(address, query)
        assert response.status_code == 404
        assert b"Version not found" in response.content
        assert GOALS.encode() in response.content


def test_a_block_before_it_existed_says_so(as_alice: Client, alice: User, goals: Block, make_block: MakeBlock) -> None:
    before = Change.objects.get().commit
    profile = reverse("block", args=["alice", "profile"])
    assert as_alice.get(profile).status_code == 404
    assert as_alice.get(reverse("block_history", args=["alice", "profile"])).status_code == 404
    make_block(alice, "profile", "Born in Lyon.")
    response = as_alice.get(profile, {"as_of": before})
    assert response.status_code == 404
    assert b"did not exist then" in response.content


def test_a_deleted_block_says_who_deleted_it_and_keeps_its_history(as_alice: Client, alice: User, goals: Block) -> None:
    first = Change.objects.get().commit
    services.delete_block(actor=alice, owner="alice", label="goals", loaded_sha256=goals.sha256, comment="All reached.")
    gone = as_alice.get(GOALS)
    assert gone.status_code == 410
    assert "Alice Berg deleted it" in gone.content.decode()
    assert "All reached." in gone.content.decode()
    assert as_alice.get(HISTORY).status_code == 200
    assert "Alice likes math." in content(as_alice, GOALS, as_of=first)


# -- history ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("before", ["9" * 5_000, "9" * 30, "\N{ARABIC-INDIC DIGIT ONE}", "-1", "x"])
def test_a_place_in_the_history_that_no_change_has_is_its_beginning(
    before: str, as_alice: Client, goals: Block
) -> None:
    assert words(as_alice.get(HISTORY, {"before": before})) == words(as_alice.get(HISTORY))


def test_two_versions_are_compared_word_by_word_and_one_with_now_and_with_nothing(
    as_alice: Client, alice: User, goals: Block
) -> None:
    first = Change.objects.get().commit
    second = edit(alice, "goals", "math", "art", title="Goals of this year").commit
    page = content(as_alice, HISTORY, a=first, b=second)
    assert '<span class="visually-hidden" dir="auto">removed: </span>math' in page
    assert '<span class="visually-hidden" dir="auto">added: </span>art' in page
    assert "Goals of this year" in page
    assert "Title" in page
    with_now = content(as_alice, HISTORY, a=first, b="now")
    assert '<span class="visually-hidden" dir="auto">added: </span>art' in with_now
    assert with_now.count('<span class="bar-end"') == 2
    assert "The block did not exist before." in content(as_alice, HISTORY, a="", b=first)


def test_a_long_history_comes_page_by_page_without_loss(as_alice: Client, goals: Block) -> None:
    of: dict[str, Any] = {"owner": "alice", "target_kind": "block", "target": "goals", "at": timezone.now()}
    Change.objects.bulk_create(
        Change(commit=f"{number:040d}", action=Change.Action.EDITED, actor="alice", comment=f"edit {number}.", **of)
        for number in range(45)
    )
    seen, url = [], HISTORY
    for _page in range(4):
        response = as_alice.get(url)
        seen += [entry.change.comment for entry, _href in response.context["entries"]]
        if not response.context["older"]:
            break
        url = f"{HISTORY}?{response.context['older']}"
    assert len(seen) == len(set(seen)) == 46
    assert seen[0] == "edit 44."


# -- the strip of its changes -----------------------------------------------------------------------

START = datetime(2026, 1, 1, 12, tzinfo=UTC)


def history_of(words: list[int]) -> BlockBlame:
    """Versions that added so many words each, one a day."""
    changes = tuple(
        Change(commit=f"{number:040d}", owner="alice", target="goals", action="edited", at=START + timedelta(number))
        for number in range(len(words))
    )
    return BlockBlame("alice", "goals", changes, None, (), tuple(WordCount(number, 0) for number in words))


@pytest.mark.parametrize(
    ("versions", "looked_at", "numbers"),
    [
        (1, 1, (1, 1)),
        (MOST_BARS, 2, (1, MOST_BARS)),
        (500, 500, (461, 500)),
        (500, 300, (280, 319)),
        (500, 3, (1, MOST_BARS)),
    ],
)
def test_the_last_versions_have_bars_or_those_around_the_one_looked_at(
    versions: int, looked_at: int, numbers: tuple[int, int]
) -> None:
    bars = strip_of(history_of([3] * versions), shown=f"{looked_at - 1:040d}")
    assert (bars[0].number, bars[-1].number) == numbers
    assert [bar.number for bar in bars if bar.is_current] == [looked_at]
    assert bars[-1].entry.previous == (f"{numbers[1] - 2:040d}" if versions > 1 else "")


def test_a_bar_leads_to_its_version_or_to_the_comparison_whose_ends_are_marked() -> None:
    assert strip_of(history_of([1] * 3))[1].href == f"?v={1:040d}#version"
    picking = strip_of(history_of([1] * 3), picked=f"{1:040d}")
    assert picking[0].href == f"?a={0:040d}&b={1:040d}#comparison"
    assert picking[2].href == f"?a={1:040d}&b={2:040d}#comparison"
    assert [bar.end for bar in strip_of(history_of([1] * 4), ends=(f"{0:040d}", f"{2:040d}"))] == ["a", "", "b", ""]


def test_more_words_make_a_higher_bar_none_a_flat_one_and_no_version_has_none() -> None:
    heights = [bar.above for bar in strip_of(history_of([2_000, 2, 40, 0]))]
    assert heights[0] > heights[2] > heights[1] > 3
    assert heights[3] == 0
    assert [bar.above for bar in strip_of(history_of([0, 0]))] == [0, 0]
    assert strip_of(history_of([])) == []


def test_bars_tell_whose_a_change_is_and_count_its_words(
    alice: User, tim: User, goals: Block, propose: Propose
) -> None:
    approve(tim, propose(goals, "in June", "in July"))
    edit(alice, "goals", "one book", "two long books")
    services.delete_block(actor=alice, owner="alice", label="goals", loaded_sha256=reads.block("alice", "goals").sha256)
    bars = strip_of(blame_of_block("alice", "goals"))
    assert [bar.by for bar in bars] == [ChangeBy.PERSON, ChangeBy.AGENT, ChangeBy.PERSON, ChangeBy.PERSON]
    assert [(bar.words.added, bar.words.removed) for bar in bars[1:3]] == [(1, 1), (3, 2)]
    assert bars[3].words.added == 0
    assert bars[3].words.removed > 10


@pytest.mark.pure
@pytest.mark.parametrize(
    ("action", "by"),
    [
        ("approved", "agent"),
        ("applied", "automatic"),
        ("recovered", "unknown"),
        ("reverted", "person"),
        ("edited", "person"),
    ],
)
def test_a_change_is_a_persons_an_agents_automatic_or_unknown(action: str, by: str) -> None:
    assert ChangeBy.of(Change(action=action)) == by
    assert ChangeBy.of(None) == ChangeBy.UNKNOWN
