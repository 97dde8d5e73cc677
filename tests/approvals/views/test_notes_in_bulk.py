"""The list of notes: counts that narrow it, its order and pages, and several notes changed at once."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.urls import reverse

from approvals.models import Agent, User
from approvals.services import notes
from approvals.services.imports import import_memories
from approvals.services.notes import ChangeContext
from assent_client.text import memories_md
from memory_app import reads, recall_counts
from tests.support.fixtures import ClientOf
from tests.support.pages import form, words

LIST = "/memory/alice/notes/"
CHANGE = "/memory/alice/notes/change/"


@pytest.fixture
def many(alice: User) -> list[str]:
    """Ids of sixty notes, oldest first: thirty decisions and thirty patterns, tagged by threes."""
    text = ""
    for number in range(60):
        text += "## Decisions\n\n" if number == 0 else "## Patterns\n\n" if number == 30 else ""
        tag = "third" if number % 3 == 0 else "other"
        day = f"2026-{number // 20 + 1:02}-{number % 20 + 1:02}"
        text += f"### mem-{number}-{number:04x}\n> Statement {number}.\n<!-- tags: {tag} | created: {day} -->\n\n"
    by = ChangeContext(actor=alice)
    outcome = import_memories(by=by, owner="alice", parsed=memories_md.parse(text)).outcome
    assert outcome
    return [f"mem-{number}-{number:04x}" for number in range(60)]


def facets(page: Any, name: str) -> dict[str, str]:
    nav = page.content.decode().split(f'aria-label="{name}"')[1].split("</nav>")[0]
    return dict(re.findall(r'">\s*([^<]+?)\s*<span class="facet-count">([\d,]+)<', nav))


def shown(page: Any) -> list[str]:
    return re.findall(r'name="note" value="([^"]+)"', page.content.decode())


def test_types_and_tags_are_counted_and_narrow_each_other(client_of: ClientOf, alice: User, many: list[str]) -> None:
    client = client_of(alice)
    page = client.get(LIST)
    assert facets(page, "By type") == {"decision": "30", "pattern": "30"}
    assert facets(page, "By tag") == {"other": "40", "third": "20"}
    page = client.get(LIST, {"type": "decision"})
    assert facets(page, "By type") == {"decision": "30", "pattern": "30"}  # what each would show instead
    assert facets(page, "By tag") == {"other": "20", "third": "10"}
    assert "30 matches" in words(page)


def test_pages_say_where_they_are(client_of: ClientOf, alice: User, many: list[str]) -> None:
    client = client_of(alice)
    assert "1–50 of 60" in words(client.get(LIST))
    assert "51–60 of 60" in words(client.get(LIST, {"page": 2, "sort": "changed"}))
    assert "sort=changed" in client.get(LIST, {"page": 2, "sort": "changed"}).content.decode()


def test_the_order_is_as_asked_for(client_of: ClientOf, alice: User, scribe: Agent, many: list[str]) -> None:
    client = client_of(alice)
    notes.update(by=ChangeContext(actor=alice), owner="alice", note_id=many[7], content="Changed last.")
    recall_counts.record("alice", [many[9]])
    assert shown(client.get(LIST, {"sort": "changed"}))[0] == many[7]
    assert shown(client.get(LIST, {"sort": "used"}))[0] == many[9]
    by_type = [reads.note("alice", id_).type for id_ in shown(client.get(LIST, {"sort": "type"}))]
    assert by_type == sorted(by_type)
    assert shown(client.get(LIST, {"sort": "nonsense"})) == shown(client.get(LIST))


def test_several_are_deleted_after_a_page_that_shows_them_and_put_back(
    client_of: ClientOf, alice: User, many: list[str]
) -> None:
    client = client_of(alice)
    page = client.get(CHANGE, {"note": many[:3], "do": "delete"})
    said = words(page)
    assert "Delete 3 notes?" in said
    assert "Statement 1." in said
    done = client.post(CHANGE, form(page, CHANGE) | {"comment": "Old."}, follow=True)
    assert "3 notes deleted" in words(done)
    assert reads.find_notes("alice", many[:3]) == {}
    back = client.post(done.request["PATH_INFO"], follow=True)
    assert "Undone: 3 notes are as they were before" in words(back)
    assert len(reads.find_notes("alice", many[:3])) == 3
    assert "This was undone." in words(client.get(done.request["PATH_INFO"]))


def test_all_that_match_are_changed_not_only_those_of_the_page(
    client_of: ClientOf, alice: User, many: list[str]
) -> None:
    client = client_of(alice)
    page = client.get(CHANGE, {"all": "1", "tag": "other", "do": "retag"})
    assert "Change the tags of 40 notes" in words(page)
    client.post(CHANGE, form(page, CHANGE) | {"add_tags": "exams, maths", "remove_tags": "other"})
    tagged = [note for note in reads.notes("alice") if note.tags == ("exams", "maths")]
    assert len(tagged) == 40


def test_what_changed_meanwhile_is_left_out_and_named(client_of: ClientOf, alice: User, many: list[str]) -> None:
    client = client_of(alice)
    page = client.get(CHANGE, {"note": many[:3], "do": "outdate"})
    notes.update(by=ChangeContext(actor=alice), owner="alice", note_id=many[0], content="Changed meanwhile.")
    done = client.post(CHANGE, form(page, CHANGE), follow=True)
    assert f"1 note was left out, because it has changed or gone since: {many[0]}." in words(done)
    assert "2 notes marked as outdated" in words(done)
    assert not reads.note("alice", many[0]).is_superseded


def test_when_all_changed_meanwhile_they_are_shown_as_they_are(
    client_of: ClientOf, alice: User, many: list[str]
) -> None:
    client = client_of(alice)
    page = client.get(CHANGE, {"note": many[:1], "do": "delete"})
    notes.update(by=ChangeContext(actor=alice), owner="alice", note_id=many[0], content="Changed meanwhile.")
    again = client.post(CHANGE, form(page, CHANGE) | {"comment": "Old."})
    assert again.status_code == 409
    assert "Changed meanwhile." in words(again)
    assert form(again, CHANGE)["comment"] == "Old."
    client.post(CHANGE, form(again, CHANGE))
    assert reads.find_note("alice", many[0]) is None


@pytest.mark.parametrize(
    "query", [{}, {"do": "delete"}, {"do": "explode", "all": "1"}, {"note": "gone", "do": "delete"}]
)
def test_without_notes_or_a_verb_one_is_asked_to_select(
    client_of: ClientOf, alice: User, many: list[str], query: dict[str, str]
) -> None:
    assert "Select the notes first." in words(client_of(alice).get(CHANGE, query, follow=True))


@pytest.mark.parametrize(
    "sent",
    [{"action": "explode"}, {"seen": ""}, {"seen": "nonsense"}, {"action": "retag", "add_tags": ""}],
)
def test_a_form_that_cannot_be_done_changes_nothing(
    client_of: ClientOf, alice: User, many: list[str], sent: dict[str, str]
) -> None:
    client = client_of(alice)
    before = reads.head()
    page = client.get(CHANGE, {"note": many[:2], "do": "delete"})
    assert client.post(CHANGE, form(page, CHANGE) | sent).status_code == 422
    assert reads.head() == before


def test_an_expired_session_keeps_the_selection_and_what_was_typed(client: Any, alice: User, many: list[str]) -> None:
    client.force_login(alice)
    page = client.get(CHANGE, {"note": many[:2], "do": "retag"})
    client.logout()
    asked = client.post(CHANGE, form(page, CHANGE) | {"add_tags": "exams"})
    assert asked.status_code == 401
    alice.set_password("a long enough passphrase")
    alice.save()
    fields = {
        "username": "alice",
        "password": "a long enough passphrase",
        "next": CHANGE,
        "kept": asked.context["kept"],
    }
    back = client.post(reverse("sign_in_and_go_on"), fields, follow=True)
    kept = form(back, CHANGE)
    assert kept["add_tags"] == "exams"
    client.post(CHANGE, kept)
    assert all("exams" in reads.note("alice", id_).tags for id_ in many[:2])


def test_a_tutor_reads_the_list_and_selects_nothing(client_of: ClientOf, tim: User, many: list[str]) -> None:
    client = client_of(tim)
    page = client.get(LIST)
    assert facets(page, "By type")
    assert shown(page) == []
    assert client.get(CHANGE, {"all": "1", "do": "delete"}).status_code == 404
    assert client.post(CHANGE, {"action": "delete", "seen": f"{many[0]} x"}).status_code == 404


def test_a_commit_that_is_none_of_these_has_no_page(client_of: ClientOf, alice: User, many: list[str]) -> None:
    client = client_of(alice)
    assert client.get(f"{LIST}changes/{'0' * 40}/").status_code == 404
    assert client.post(f"{LIST}changes/nonsense/").status_code == 404
