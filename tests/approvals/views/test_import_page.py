"""The import page: a file is checked first, what it would do and did is said, and nothing of it is lost."""

import time
from pathlib import Path
from typing import Any

import pytest
from django.contrib.staticfiles import finders
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from approvals.forms import memory
from approvals.forms.memory import MOST_CARRIED, packed, unpacked
from approvals.models import Agent, Policy, User
from approvals.services import imports
from approvals.services.notes import ChangeContext
from assent_client.text import list_items
from assent_client.text.memories_md import LARGEST_FILE
from memory_app import reads
from tests.support.acts import save, sign_in_again
from tests.support.pages import assert_says, form, html, htmx, words

pytestmark = pytest.mark.slow

PAGE = "/memory/alice/notes/import/"
FILE = b"""# Memories
## Decisions
### mem-1-aaaa
> Takes the exam in January.
<!-- tags: exams -->
### mem-2-bbbb
> Reads on Mondays.
## Patterns
### mem-3-cccc
> Likes examples.
### wrong-1
> lost
### wrong-2
> lost too
"""
COMMENT = "From my laptop."


def send(client: Client, data: bytes = FILE, headers: dict[str, str] | None = None, **fields: str) -> Any:
    file = SimpleUploadedFile("notes.md", data)
    return client.post(PAGE, {"file": file, "comment": COMMENT} | fields, headers=headers)


def check(client: Client, data: bytes = FILE) -> Any:
    return send(client, data, check="1")


def import_as(by: User | Agent, data: bytes) -> None:
    imports.import_file(by=ChangeContext(actor=by), owner="alice", data=data)


def contents() -> set[str]:
    return {note.content for note in reads.notes("alice")}


# -- sent at once ---------------------------------------------------------------------------------


def test_what_happened_is_said_in_numbers_and_every_passage_left_out_is_named(as_alice: Client) -> None:
    limits = "at most 32 MiB and 100,000 memories of 2,000 characters each"
    assert_says(as_alice.get(PAGE), limits)
    assert_says(
        send(as_alice),
        "Imported notes.md New 3 notes Changed 0 notes Unchanged 0 notes Left out 2 passages",
        "2 passages, the first: “wrong-1” is not an id such as note-0b5f6f0e-",
        "11, 13",
    )
    assert contents() == {"Takes the exam in January.", "Reads on Mondays.", "Likes examples."}


def test_one_mistake_made_many_times_is_told_once_with_its_lines(as_alice: Client) -> None:
    page = send(as_alice, b"".join(b"### idea-%d\n> x\n" % number for number in range(45)) + b"###\n")
    assert_says(
        page,
        "Nothing was imported",
        "46 passages were left out",
        "45 passages, the first: “idea-0” is not an id such as",
        "Show the lines 1, 3, 5,",
        "Line 91: no content",
    )
    assert words(page).count("is not an id such as") == 1


def test_an_example_shows_the_format_and_is_taken_whole(as_alice: Client) -> None:
    assert "memories-example.md" in html(as_alice.get(PAGE))
    example = Path(str(finders.find("memories-example.md"))).read_bytes()
    assert_says(send(as_alice, example), "New 3 notes")
    before = reads.head("alice")
    # The same ids again.
    assert_says(send(as_alice, example), "Nothing new in this file", "Unchanged 3 notes Left out 0 passages")
    assert reads.head("alice") == before


#: Of another program, with a note that alice has already.
OTHER = b"# Likes\n- Tea\n- [2026-03-01] - Takes the exam  in January.\n- " + b"x" * 2_001 + b"\n## Work\n- Rows\n"


def test_list_items_of_another_file_are_offered_and_what_is_ticked_becomes_notes(as_alice: Client) -> None:
    send(as_alice)
    before = contents()
    for page in (check(as_alice, OTHER), send(as_alice, OTHER)):
        assert_says(page, "notes.md has 3 list items under 2 headings", "Already in the memory", "Tea", "Likes", "Rows")
        assert_says(page, "Line 4: the item has 2,001 characters", "Import all 2")
    assert contents() == before
    offered = form(page, PAGE)
    ids = {item.content: item.id for item in list_items.find(OTHER.decode()).memories}
    assert html(page).count('name="item"') == 2
    refused = as_alice.post(PAGE, offered | {"items": "ticked"})
    assert_says(refused, "Nothing is ticked.", status=422)
    assert contents() == before
    known = ids["Takes the exam  in January."]
    assert_says(as_alice.post(PAGE, offered | {"items": "ticked", "item": [ids["Rows"], known]}), "New 1 note ")
    assert contents() == before | {"Rows"}
    assert_says(as_alice.post(PAGE, offered | {"items": "all"}), "New 1 note ")
    (tea,) = [note for note in reads.notes("alice") if note.content == "Tea"]
    assert (tea.tags, tea.type) == (("Likes",), "note")
    assert_says(check(as_alice, OTHER), "All of it is in the memory already.")
    assert contents() == before | {"Rows", "Tea"}


def test_more_list_items_than_a_form_takes_are_imported_together(as_alice: Client) -> None:
    many = "".join(f"- Likes number {number}.\n" for number in range(1_100)).encode()
    page = check(as_alice, many)
    assert_says(page, "1,100 list items", "The first 500 of 1,100.")
    assert_says(as_alice.post(PAGE, form(page, PAGE) | {"items": "all"}), "New 1,100 notes")


def test_proposals_that_the_file_overtook_are_counted(as_alice: Client, scribe: Agent) -> None:
    send(as_alice)
    Policy.objects.create(owner="alice", notes=Policy.Notes.REVIEW)
    import_as(scribe, FILE.replace(b"Mondays", b"Fridays"))
    page = send(as_alice, FILE.replace(b"Mondays", b"Sundays"))
    assert_says(page, "1 waiting proposal about these notes needs another look")


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "The submitted file is empty."),
        (b"\x00\xff\xfe", "The file is not text in UTF-8 (line 1): save it as UTF-8."),
        ("### mem-1-aaaa\n> x\n".encode("utf-16"), "The file is in UTF-16: save it as UTF-8."),
        (b"### mem-1-aaaa\n> x\n### mem-1-aaaa\n> y\n", "Lines 1 and 3 have the same id mem-1-aaaa"),
        (b"%PDF-ish words\n\nBut no memories.\n", "There are no memories in this file"),
        (b"x" * (33 * 1024 * 1024), "The file is larger than 32 MiB."),
    ],
    ids=["empty", "binary", "utf-16", "one id twice", "another file", "33 MiB"],
)
def test_a_file_that_cannot_be_taken_is_explained_and_the_form_kept(as_alice: Client, data: bytes, says: str) -> None:
    checked, sent, part = check(as_alice, data), send(as_alice, data), send(as_alice, data, htmx())
    for response in (checked, sent, part):
        assert_says(response, says, status=422)
        assert form(response, PAGE)["comment"] == COMMENT
    assert ("<html" in html(sent), "<html" in html(part)) == (True, False)
    assert reads.notes("alice") == ()


# -- checked first --------------------------------------------------------------------------------


def test_what_a_file_would_do_is_said_and_nothing_is_written(as_alice: Client, alice: User) -> None:
    import_as(alice, b"\n".join(FILE.splitlines()[:5]))
    import_as(alice, b"## Decisions\n### mem-2-bbbb\n> Reads on Fridays.\n")
    before = reads.head("alice")
    page = check(as_alice)
    assert reads.head("alice") == before
    assert_says(
        page,
        "What notes.md would do",
        "New 1 note Changed 1 note Already in the memory 1 note Left out 2 passages",
        "decision 0 1",
        "pattern 1 0",
        "2 passages, the first: “wrong-1” is not an id",
        "Fridays",
        "Import these 2 notes",
    )
    assert "<del>" in html(page)


def test_what_other_notes_say_is_named_and_not_imported_again(as_alice: Client, alice: User) -> None:
    save(alice, "likes **examples**")
    page = check(as_alice)
    assert_says(page, "New 2 notes", "Already in the memory 1 note", "Already in the memory Likes examples.")
    as_alice.post(PAGE, form(page, PAGE))
    assert contents() == {"Takes the exam in January.", "Reads on Mondays.", "likes **examples**"}


def test_what_was_checked_outlives_an_expired_session_and_is_imported_and_undone(as_alice: Client, alice: User) -> None:
    sent = form(check(as_alice), PAGE)
    assert sent["comment"] == COMMENT
    as_alice.logout()
    back = sign_in_again(as_alice, alice, as_alice.post(PAGE, sent | {"comment": "Typed after the check."}))
    assert_says(back, "Your file is still here.")
    kept = form(back, PAGE)
    assert kept["comment"] == "Typed after the check."
    done = as_alice.post(PAGE, kept)
    assert_says(done, "Imported notes.md New 3 notes")
    assert contents() == {"Takes the exam in January.", "Reads on Mondays.", "Likes examples."}
    again = check(as_alice)
    assert_says(again, "Nothing new in this file")
    assert "Import these" not in words(again)
    as_alice.post(next(url for url in html(done).split('"') if "/notes/changes/" in url))
    assert contents() == set()


def test_a_file_that_came_back_broken_is_refused(as_alice: Client) -> None:
    sent = form(check(as_alice), PAGE)
    for carried in ("", "no base64!", "AAAA", packed(b"x" * 100)[:-8]):
        page = as_alice.post(PAGE, sent | {"carried": carried})
        assert_says(page, "Nothing was imported.", status=422)
        assert form(page, PAGE)["comment"] == COMMENT
    assert reads.notes("alice") == ()


def test_a_carried_file_is_no_larger_than_one_that_is_sent() -> None:
    data = bytes(range(256)) * 100
    assert unpacked(packed(data)) == data
    with pytest.raises(ValueError, match="whole"):
        unpacked(packed(b"x" * (LARGEST_FILE + 1)))


def test_a_file_too_large_for_the_form_has_to_be_chosen_again(
    as_alice: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "MOST_CARRIED", 50)
    page = check(as_alice)
    assert_says(page, "choose it again")
    assert "carried" not in html(page)


def test_two_thousand_notes_and_as_many_mistakes_are_checked_soon(as_alice: Client) -> None:
    notes = "".join(f"### mem-{number}-aaaa\n> Statement {number} about something.\n" for number in range(2_000))
    wrong = "".join(f"### idea-{number}\n> x\n" for number in range(2_000))
    start = time.thread_time()
    page = check(as_alice, (notes + wrong).encode())
    assert time.thread_time() - start < 5  # 0.5 measured
    assert_says(page, "Import these 2,000 notes", "2,000 passages, the first: “idea-0”")
    assert len(form(page, PAGE)["carried"]) < MOST_CARRIED / 10
    assert_says(as_alice.post(PAGE, form(page, PAGE)), "Imported notes.md New 2,000 notes")
