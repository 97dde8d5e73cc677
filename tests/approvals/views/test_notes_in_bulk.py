"""The list of notes: counts that narrow it, its order and pages, and several notes changed at once."""

import re
from typing import Any

import pytest
from django.test import Client

from approvals.models import Agent, User
from approvals.services import notes
from approvals.services.imports import import_memories
from approvals.services.notes import ChangeContext
from assent_client.text import memories_md
from memory_app import reads, recall_counts
from tests.support.acts import imported, save
from tests.support.pages import assert_says, form, html

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
    assert import_memories(by=by, owner="alice", parsed=memories_md.parse(text)).outcome
    return [f"mem-{number}-{number:04x}" for number in range(60)]


def choice_of(page: Any, name: str) -> dict[str, str]:
    """What the filter offers, and how many notes each would show."""
    options = html(page).split(f'id="notes-{name}"')[1].split("</select>")[0]
    return dict(re.findall(r">([^<(]+) \(([\d,]+)\)</option>", options))


def shown(page: Any) -> list[str]:
    """The notes that can be ticked."""
    return re.findall(r'name="note" value="([^"]+)"', html(page))


def listed(client: Client, **query: str) -> list[str]:
    """The notes of the list, which have no ticks until they are asked for."""
    assert shown(client.get(LIST, query)) == []
    return shown(client.get(LIST, query | {"select": "1"}))


def change_first(alice: User, ids: list[str], content: str = "Changed meanwhile.") -> None:
    notes.update(by=ChangeContext(actor=alice), owner="alice", note_id=ids[0], content=content)


def test_types_and_tags_are_counted_and_narrow_each_other_and_pages_say_where_they_are(
    as_alice: Client, as_tim: Client, many: list[str]
) -> None:
    by_type = {"decision": "30", "pattern": "30"}  # what each would show instead
    for query, tags in (({}, {"other": "40", "third": "20"}), ({"type": "decision"}, {"other": "20", "third": "10"})):
        page = as_alice.get(LIST, query)
        assert (choice_of(page, "type"), choice_of(page, "tag")) == (by_type, tags)
    assert_says(page, "30 matches")
    first = as_alice.get(LIST)
    assert_says(first, "1–50 of 60")
    second = as_alice.get(LIST, {"page": 2, "sort": "changed"})
    assert_says(second, "51–60 of 60")
    assert "sort=changed" in html(second)
    assert ('rel="prev"' in html(first), 'rel="next"' in html(first)) == (False, True)
    assert ('rel="prev"' in html(second), 'rel="next"' in html(second)) == (True, False)
    of_tutor = as_tim.get(LIST)
    assert (choice_of(of_tutor, "type"), shown(of_tutor)) == (by_type, [])  # reads the list and selects nothing


def test_the_order_is_as_asked_for(as_alice: Client, alice: User, scribe: Agent, many: list[str]) -> None:
    change_first(alice, many[7:])
    recall_counts.record("alice", [many[9]])
    for sort, first in (("changed", many[7]), ("used", many[9])):
        assert listed(as_alice, sort=sort)[0] == first
    by_type = [reads.note("alice", id_).type for id_ in listed(as_alice, sort="type")]
    assert by_type == sorted(by_type)
    assert listed(as_alice, sort="nonsense") == listed(as_alice)


def test_several_are_deleted_after_a_page_that_shows_them_and_put_back(as_alice: Client, many: list[str]) -> None:
    page = as_alice.get(CHANGE, {"note": many[:3], "do": "delete"})
    assert_says(page, "Delete 3 notes?", "Statement 1.")
    done = as_alice.post(CHANGE, form(page, CHANGE) | {"comment": "Old."}, follow=True)
    assert_says(done, "3 notes deleted")
    assert reads.find_notes("alice", many[:3]) == {}
    back = as_alice.post(done.request["PATH_INFO"], follow=True)
    assert_says(back, "Undone: 3 notes are as they were before")
    assert len(reads.find_notes("alice", many[:3])) == 3
    assert_says(as_alice.get(done.request["PATH_INFO"]), "This was undone.")


def test_all_that_match_are_changed_not_only_those_of_the_page(as_alice: Client, many: list[str]) -> None:
    page = as_alice.get(CHANGE, {"all": "1", "tag": "other", "do": "retag"})
    assert_says(page, "Change the tags of 40 notes")
    as_alice.post(CHANGE, form(page, CHANGE) | {"add_tags": "exams, maths", "remove_tags": "other"})
    tagged = [note for note in reads.notes("alice") if note.tags == ("exams", "maths")]
    assert len(tagged) == 40


def test_what_changed_meanwhile_is_left_out_and_named(as_alice: Client, alice: User, many: list[str]) -> None:
    page = as_alice.get(CHANGE, {"note": many[:3], "do": "outdate"})
    change_first(alice, many)
    done = as_alice.post(CHANGE, form(page, CHANGE), follow=True)
    left_out = f"1 note was left out, because it has changed or gone since: {many[0]}."
    assert_says(done, left_out, "2 notes marked as outdated")
    assert not reads.note("alice", many[0]).is_superseded


def test_what_cannot_be_done_changes_nothing(as_alice: Client, many: list[str]) -> None:
    before = reads.head("alice")
    for query in ({}, {"do": "delete"}, {"do": "explode", "all": "1"}, {"note": "gone", "do": "delete"}):
        assert_says(as_alice.get(CHANGE, query, follow=True), "Select the notes first.")
    fields = form(as_alice.get(CHANGE, {"note": many[:2], "do": "delete"}), CHANGE)
    for sent in ({"action": "explode"}, {"seen": ""}, {"seen": "nonsense"}, {"action": "retag", "add_tags": ""}):
        assert as_alice.post(CHANGE, fields | sent).status_code == 422
    for commit in ("0" * 40, "nonsense"):
        assert as_alice.get(f"{LIST}changes/{commit}/").status_code == 404
        assert as_alice.post(f"{LIST}changes/{commit}/").status_code == 404
    assert reads.head("alice") == before


def test_what_is_said_more_than_once_is_listed_together_folded_and_put_back(
    as_alice: Client, as_tim: Client, alice: User, many: list[str]
) -> None:
    assert_says(as_alice.get(LIST, {"doubled": "same"}), "No note is said more than once")
    imported(alice, 3, "Drinks tea in the morning.", first=100)
    imported(alice, 1, "Drinks tea in the evening.", first=200)
    assert_says(as_alice.get(LIST), "2 notes say what another says")
    same = [f"mem-{number}-aaaa" for number in (102, 101, 100)]
    page = as_alice.get(LIST, {"doubled": "same"})
    assert_says(page, "3 notes say the same", "Keep one of each…")
    assert shown(page) == same
    near = as_alice.get(LIST, {"doubled": "near"})
    assert_says(near, "4 notes differ in a word")
    assert "Keep one of each" not in html(near)
    assert shown(near) == ["mem-200-aaaa", *same]
    of_tutor = as_tim.get(LIST, {"doubled": "same"})
    assert_says(of_tutor, "3 notes say the same")
    assert shown(of_tutor) == []
    asked = as_alice.get(CHANGE, {"do": "fold", "doubled": "same", "all": "1"})
    assert_says(asked, "Delete 2 notes that say what another says?", "will be deleted")
    done = as_alice.post(CHANGE, form(asked, CHANGE), follow=True)
    assert [note.id for note in reads.notes("alice") if "morning" in note.content] == same[-1:]
    as_alice.post(done.redirect_chain[-1][0], follow=True)
    assert shown(as_alice.get(LIST, {"doubled": "same"})) == same


def test_a_person_is_told_what_is_known_already(as_alice: Client, alice: User) -> None:
    known = save(alice, "Drinks tea.")
    asked = as_alice.get(f"{LIST}new/")
    done = as_alice.post(f"{LIST}new/", form(asked, f"{LIST}new/") | {"content": "drinks tea"}, follow=True)
    assert_says(done, "Nothing was created: this note says so already.")
    assert done.redirect_chain[-1][0].endswith(f"{known}/")
    assert len(reads.notes("alice")) == 1
