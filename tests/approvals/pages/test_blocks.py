"""Reading memory in the browser: whose, which blocks, one block now and earlier, its history."""

import re
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.urls import reverse
from django.utils import timezone

from approvals import services
from approvals.markdown.rendering import on_one_line
from approvals.models import Agent, Tutorship, User
from approvals.services import notes
from approvals.services.imports import import_memories
from approvals.services.notes import ChangeContext
from assent_client.text import memories_md
from memory_app import reads
from memory_app.models import Change
from memory_app.reads import Block
from tests.support.acts import approve
from tests.support.fixtures import ClientOf, MakeBlock, Propose
from tests.support.pages import has_form, words


def block_url(label: str = "goals", owner: str = "alice") -> str:
    return reverse("block", args=[owner, label])


def history_url(label: str = "goals", owner: str = "alice") -> str:
    return reverse("block_history", args=[owner, label])


def edit(person: Any, label: str, body: str, comment: str = "", **changed: Any) -> Change:
    """`person` changes a block of their own."""
    block = reads.block(person.username, label)
    values = {"title": block.title, "description": "", "limit": block.limit, "read_only": block.read_only} | changed
    return services.edit_block(
        actor=person,
        owner=person.username,
        label=label,
        fields=services.BlockFields(body=body, **values),
        loaded_sha256=block.sha256,
        comment=comment,
    )


# -- whose ------------------------------------------------------------------------------------------


def test_an_owner_comes_straight_to_their_own_memory(alice: User, client_of: ClientOf) -> None:
    response = client_of(alice).get(reverse("memories"))
    assert response.status_code == 302
    assert response.headers["Location"] == reverse("memory", args=["alice"])


def test_staff_find_anybody_by_any_part_of_a_name(admin: User, alice: User, ben: User, client_of: ClientOf) -> None:
    client = client_of(admin)
    found = client.get(reverse("memories"), {"q": "berg"}, headers={"HX-Request": "true"}).content.decode()
    assert "Alice Berg" in found
    assert "<html" not in found
    assert reverse("memory", args=["ben"]) not in found
    nobody = client.get(reverse("memories"), {"q": "<b>zzz"}).content.decode()
    assert "No one by that name" in nobody
    assert "<b>zzz" not in nobody


def test_many_owners_come_page_by_page(admin: User, client_of: ClientOf, monkeypatch: pytest.MonkeyPatch) -> None:
    from approvals.models import User

    User.objects.bulk_create(User(username=f"student{number:03}", password="!") for number in range(240))
    client = client_of(admin)
    first = client.get(reverse("memories"))
    assert b"student199" in first.content
    assert b"student200" not in first.content
    second = client.get(reverse("memories"), {"page": "2"})
    assert b"student200" in second.content
    assert b"student239" in second.content


@pytest.mark.parametrize(
    "page", ["memory/alice/", "memory/alice/blocks/goals/", "memory/alice/blocks/goals/history/", "memory/nobody/"]
)
def test_a_stranger_is_told_there_is_nothing(page: str, goals: Block, mallory: User, client_of: ClientOf) -> None:
    assert client_of(mallory).get(f"/{page}").status_code == 404


def test_a_tutor_reads_their_own_memory_and_their_students(tim: User, ben: User, client_of: ClientOf) -> None:
    page = client_of(tim).get(reverse("memories")).content.decode()
    assert "Alice Berg" in page
    assert reverse("memory", args=["tim"]) in page
    of_ben = reverse("memory", args=["ben"])
    assert of_ben not in page
    assert client_of(tim).get(of_ben).status_code == 404
    Tutorship.objects.create(tutor=tim, owner=ben)
    assert client_of(tim).get(of_ben).status_code == 200


# -- the blocks of an owner -------------------------------------------------------------------------


def test_an_empty_memory_says_so_and_offers_the_first_block_to_its_owner_only(
    alice: User, tim: User, client_of: ClientOf
) -> None:
    own = client_of(alice).get(reverse("memory", args=["alice"])).content.decode()
    assert "Nothing is remembered about you yet" in own
    assert reverse("block_new", args=["alice"]) in own
    students = client_of(tim).get(reverse("memory", args=["alice"])).content.decode()
    assert "Nothing is remembered about Alice Berg yet" in students
    assert reverse("block_new", args=["alice"]) not in students


def test_each_block_shows_its_beginning_its_length_who_changed_it_last_and_what_waits(
    alice: User, scribe: Agent, goals: Block, propose: Propose, client_of: ClientOf
) -> None:
    proposal = propose(goals, "math", "mathematics")
    services.notes.save(by=ChangeContext(actor=scribe, may_apply=False), owner="alice", content="Likes tea.")
    page = client_of(alice).get(reverse("memory", args=["alice"])).content.decode()
    length = f"{len(goals.body)} of 20,000 characters"
    for shown in ("Learning goals", "Alice likes math.", length, "Alice Berg created it", "1 waiting proposal"):
        assert shown in page
    assert proposal.get_absolute_url() in page
    assert '<a href="/?owner=alice">2 waiting proposals</a>' in page


def test_the_list_takes_as_many_queries_for_many_blocks_as_for_one(
    alice: User, goals: Block, make_block: MakeBlock, client_of: ClientOf, django_assert_max_num_queries: Any
) -> None:
    for number in range(8):
        make_block(alice, f"block_{number}", f"Text {number}.")
    client = client_of(alice)
    client.get(reverse("memory", args=["alice"]))
    with django_assert_max_num_queries(12):
        client.get(reverse("memory", args=["alice"]))


# -- one block --------------------------------------------------------------------------------------


def test_a_block_is_shown_rendered_and_as_source_with_what_waits_and_edited_by_its_owner(
    alice: User, tim: User, goals: Block, propose: Propose, client_of: ClientOf
) -> None:
    proposal = propose(goals, "math", "geometry", reasoning="She said so on Monday.")
    page = client_of(alice).get(block_url()).content.decode()
    edit_url = reverse("block_edit", args=["alice", "goals"])
    title = '<h2 dir="auto" id="section-1">Goals</h2>'
    for shown in (title, "She said so on Monday.", "<ins>", "geometry", proposal.get_absolute_url(), edit_url):
        assert shown in page
    assert b"# Goals" in client_of(alice).get(block_url(), {"view": "source"}).content
    assert edit_url not in client_of(tim).get(block_url()).content.decode()


def test_markup_in_a_text_stays_text_and_hidden_characters_are_seen(
    alice: User, make_block: MakeBlock, client_of: ClientOf
) -> None:
    make_block(alice, "notes", "<script>alert(1)</script> zero\u200bwidth \u202eright to left")
    client = client_of(alice)
    for view in ("text", "source"):
        page = client.get(block_url("notes"), {"view": view}).content.decode()
        assert "<script>alert(1)</script>" not in page
        assert "&lt;script&gt;" in page
        assert "\u200b" not in page
        assert "\u202e" not in page
    listed = client.get(reverse("memory", args=["alice"])).content.decode()
    assert "<script>alert(1)" not in listed
    assert "\u202e" not in listed


# -- as of ------------------------------------------------------------------------------------------


def test_a_block_as_of_a_commit_shows_the_text_of_then_and_the_way_back(
    alice: User, goals: Block, client_of: ClientOf
) -> None:
    first = Change.objects.get()
    edit(alice, "goals", "Alice likes art.\n")
    response = client_of(alice).get(block_url(), {"as_of": first.commit})
    page = response.content.decode()
    assert "Alice likes math." in page
    assert "Alice likes art." not in page
    assert "agents read a newer one." in page
    assert "Current version" in page


def test_a_time_without_a_zone_is_meant_in_the_viewers_own(alice: User, goals: Block, client_of: ClientOf) -> None:
    alice.time_zone = "Asia/Tokyo"
    alice.save()
    change = Change.objects.get()
    local = (change.at + timedelta(minutes=1)).astimezone(ZoneInfo("Asia/Tokyo"))
    assert client_of(alice).get(block_url(), {"as_of": f"{local:%Y-%m-%dT%H:%M:%S}"}).status_code == 200
    with_zone = client_of(alice).get(f"{block_url()}?as_of={local.isoformat()}")  # the plus sign arrives as a space
    assert with_zone.status_code == 200
    assert "Alice likes math." in with_zone.content.decode()


def test_the_page_names_the_time_that_was_asked_for_and_none_in_the_future(
    alice: User, goals: Block, client_of: ClientOf
) -> None:
    at = Change.objects.get().at
    Change.objects.update(at=at - timedelta(days=30))
    asked = at - timedelta(days=10)
    then = client_of(alice).get(block_url(), {"as_of": asked.isoformat()}).context["shown"]
    assert (then.at, then.body) == (asked, goals.body)
    later = client_of(alice).get(block_url(), {"as_of": (at + timedelta(days=400)).isoformat()}).context["shown"]
    assert at <= later.at < at + timedelta(days=1)


@pytest.mark.parametrize("moment", ["0" * 40, "0" * 32, "yesterday", "1999-01-01", "2026-13-45", "\u202ea", "waiting"])
def test_a_moment_that_is_none_gets_a_friendly_page(
    moment: str, alice: User, goals: Block, propose: Propose, client_of: ClientOf
) -> None:
    if moment == "waiting":  # the commit of a proposal is no moment of the memory
        moment = propose(goals, "math", "geometry").current_revision.head_commit
    for address, query in ((block_url(), {"as_of": moment}), (history_url(), {"a": moment, "b": "now"})):
        response = client_of(alice).get(address, query)
        assert response.status_code == 404
        assert b"Version not found" in response.content
        assert block_url().encode() in response.content


def test_a_block_before_it_existed_says_so(
    alice: User, goals: Block, make_block: MakeBlock, client_of: ClientOf
) -> None:
    before = Change.objects.get().commit
    assert client_of(alice).get(block_url("profile")).status_code == 404
    assert client_of(alice).get(history_url("profile")).status_code == 404
    make_block(alice, "profile", "Born in Lyon.")
    response = client_of(alice).get(block_url("profile"), {"as_of": before})
    assert response.status_code == 404
    assert b"did not exist then" in response.content


def test_a_deleted_block_says_who_deleted_it_and_keeps_its_history(
    alice: User, goals: Block, client_of: ClientOf
) -> None:
    first = Change.objects.get().commit
    services.delete_block(actor=alice, owner="alice", label="goals", loaded_sha256=goals.sha256, comment="All reached.")
    client = client_of(alice)
    gone = client.get(block_url())
    assert gone.status_code == 410
    assert "Alice Berg deleted it" in gone.content.decode()
    assert "All reached." in gone.content.decode()
    assert client.get(history_url()).status_code == 200
    assert b"Alice likes math." in client.get(block_url(), {"as_of": first}).content


# -- history ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("before", ["9" * 5_000, "9" * 30, "\N{ARABIC-INDIC DIGIT ONE}", "-1", "x"])
def test_a_place_in_the_history_that_no_change_has_is_its_beginning(
    before: str, alice: User, goals: Block, client_of: ClientOf
) -> None:
    client = client_of(alice)
    assert words(client.get(history_url(), {"before": before})) == words(client.get(history_url()))


def test_history_says_who_proposed_who_approved_and_why(
    alice: User, tim: User, goals: Block, propose: Propose, client_of: ClientOf
) -> None:
    approved = approve(tim, propose(goals, "math", "geometry", reasoning="She said so."), comment="Heard it too.")
    page = client_of(alice).get(history_url()).content.decode()
    for shown in ("Tim Okafor approved", "by scribe", "She said so.", "Heard it too.", approved.merge_commit[:10]):
        assert shown in page


def test_two_versions_are_compared_word_by_word(alice: User, goals: Block, client_of: ClientOf) -> None:
    first = Change.objects.get().commit
    second = edit(alice, "goals", goals.body.replace("math", "art"), title="Goals of this year").commit
    page = client_of(alice).get(history_url(), {"a": first, "b": second}).content.decode()
    assert '<span class="visually-hidden">removed: </span>math' in page
    assert '<span class="visually-hidden">added: </span>art' in page
    assert "Goals of this year" in page
    assert "Title" in page


def test_a_version_is_compared_with_now_and_with_nothing(alice: User, goals: Block, client_of: ClientOf) -> None:
    first = Change.objects.get().commit
    edit(alice, "goals", goals.body.replace("math", "art"))
    client = client_of(alice)
    with_now = client.get(history_url(), {"a": first, "b": "now"}).content.decode()
    assert "art" in with_now
    assert with_now.count(" checked>") == 2
    assert b"The block did not exist before." in client.get(history_url(), {"a": "", "b": first}).content


def test_a_long_history_comes_page_by_page_without_loss(alice: User, goals: Block, client_of: ClientOf) -> None:

    Change.objects.bulk_create(
        Change(
            commit=f"{number:040d}",
            owner="alice",
            target_kind="block",
            target="goals",
            action=Change.Action.EDITED,
            actor="alice",
            comment=f"edit number {number}.",
            at=timezone.now(),
        )
        for number in range(45)
    )
    client, seen, url = client_of(alice), [], history_url()
    for _page in range(4):
        response = client.get(url)
        seen += [entry.change.comment for entry in response.context["entries"]]
        if not response.context["older"]:
            break
        url = f"{history_url()}?{response.context['older']}"
    assert len(seen) == len(set(seen)) == 46
    assert seen[0] == "edit number 44."


def test_what_came_before_a_large_import_is_among_the_last_changes(
    alice: User, goals: Block, client_of: ClientOf
) -> None:
    text = "".join(f"### mem-{number}-aaaa\n> memory {number}\n" for number in range(100))
    import_memories(by=ChangeContext(actor=alice), owner="alice", parsed=memories_md.parse(text))
    page = client_of(alice).get(reverse("memory", args=["alice"])).content.decode()
    recent = page[page.index('id="recent-title"') :]
    assert recent.count("<li") == 2
    assert "Learning goals" in recent


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


def test_a_list_runs_in_the_direction_of_its_words(alice: User, make_block: MakeBlock, client_of: ClientOf) -> None:
    make_block(alice, "goals", "- أولا: الحروف\n\n> said\n\n| a |\n|---|\n| b |\n")
    page = client_of(alice).get(block_url()).content.decode()
    for tag in ("ul", "blockquote", "td"):
        assert f'<{tag} dir="auto">' in page
    assert "<li>أولا" in page  # or the list would not take its direction from it


def test_of_many_proposals_a_block_shows_the_first_and_the_way_to_the_rest(
    alice: User, make_block: MakeBlock, propose: Propose, client_of: ClientOf
) -> None:
    block = make_block(alice, "goals", "".join(f"Goal {number}.\n" for number in range(7)))
    proposals = [propose(block, f"Goal {number}", f"Aim {number}", reasoning=f"Why {number}") for number in range(7)]
    client = client_of(alice)
    for name in ("block", "block_edit", "block_delete"):
        page = client.get(reverse(name, args=["alice", "goals"])).content.decode()
        shown = [proposal for proposal in proposals if f'href="{proposal.get_absolute_url()}"' in page]
        assert shown == proposals[:5]
        assert "?owner=alice&amp;target=goals" in page
    everything = client.get(f"{reverse('inbox')}?owner=alice&target=goals").content.decode()
    assert all(f'href="{proposal.get_absolute_url()}?list=' in everything for proposal in proposals)


def test_many_blocks_come_page_by_page(alice: User, make_block: MakeBlock, client_of: ClientOf) -> None:
    labels = [f"log-{number:02}" for number in range(45)]
    for label in labels:
        make_block(alice, label, "Read a chapter.")
    first, second = (client_of(alice).get(f"/memory/alice/?page={number}") for number in (1, 2))
    shown = [[row["block"].label for row in page.context["rows"]] for page in (first, second)]
    assert [*shown[0], *shown[1]] == labels
    assert "45 blocks" in first.content.decode()
    assert "?page=2" in first.content.decode()
    assert 'rel="next"' not in second.content.decode()


# -- finding one's way ------------------------------------------------------------------------------


def test_ones_own_memory_is_one_step_and_anothers_is_two(
    alice: User, tim: User, goals: Block, client_of: ClientOf
) -> None:
    def steps(person: Any, address: str) -> list[str]:
        html = client_of(person).get(address).content.decode()
        crumbs = re.search(r'<nav class="crumbs".*?</nav>', html, re.S)
        return re.findall(r'href="([^"]+)"', crumbs[0]) if crumbs else []

    own = reverse("memory", args=["alice"])
    assert steps(alice, own) == []
    for name in ("notes", "conversations", "automatic", "memory_search", "block_new", "note_new", "note_import"):
        assert steps(alice, reverse(name, args=["alice"]))[:1] == [own], name
        assert reverse("memories") not in steps(alice, reverse(name, args=["alice"])), name
    assert steps(alice, block_url()) == [own]
    assert steps(tim, block_url()) == [reverse("memories"), own]


def test_only_a_memory_that_says_something_is_offered_for_export(alice: User, client_of: ClientOf) -> None:
    export = reverse("export_json", args=["alice"])
    client = client_of(alice)
    assert export not in client.get(reverse("memory", args=["alice"])).content.decode()
    notes.save(by=ChangeContext(actor=alice), owner="alice", content="Plays the oboe.")
    assert export in client.get(reverse("memory", args=["alice"])).content.decode()


def test_a_short_block_has_no_contents(alice: User, goals: Block, client_of: ClientOf) -> None:
    edit(alice, "goals", "# a\n\n# b\n\n# c\n")
    assert "Contents," not in words(client_of(alice).get(block_url()))
    edit(alice, "goals", "# a\n\n# b\n\n# c\n" + "word " * 1_000)
    assert "Contents, 3 sections a b c" in words(client_of(alice).get(block_url()))
    assert "Contents," not in words(client_of(alice).get(block_url(), {"view": "source"}))


def test_an_automatic_change_is_listed_once_labelled_and_can_be_reverted_there(
    alice: User, scribe: Agent, goals: Block, client_of: ClientOf
) -> None:
    by = ChangeContext(actor=scribe, reasoning="She said so.", may_apply=True)
    saved = notes.save(by=by, owner="alice", content="Plays the oboe.")
    client = client_of(alice)
    page = client.get(reverse("memory", args=["alice"]))
    said = words(page)
    assert said.count("Plays the oboe.") == 2, "its link, and the name of its button"
    assert "Plays the oboe. automatic scribe changed it · just now Undo" in said
    assert has_form(page, reverse("undo", args=[saved.proposal.pk]))
    assert "All automatic changes" in said
