"""A file is checked before it is imported: what it would do is said, nothing is written, nothing of it is lost."""

import time
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from approvals.forms import memory
from approvals.forms.memory import MOST_CARRIED, packed, unpacked
from approvals.models import User
from approvals.services import imports
from approvals.services.notes import ChangeContext
from assent_client.text.memories_md import LARGEST_FILE
from memory_app import reads
from tests.support.acts import sign_in_again
from tests.support.pages import form, words

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


def check(client: Any, data: bytes = FILE, *, name: str = "notes.md", **more: str) -> Any:
    return client.post(
        PAGE, {"file": SimpleUploadedFile(name, data), "comment": "From my laptop.", "check": "1"} | more
    )


def test_what_a_file_would_do_is_said_and_nothing_is_written(as_alice: Client, alice: User) -> None:
    imports.import_file(by=ChangeContext(actor=alice), owner="alice", data=b"\n".join(FILE.splitlines()[:9]))
    imports.import_file(
        by=ChangeContext(actor=alice), owner="alice", data=b"## Decisions\n### mem-2-bbbb\n> Reads on Fridays.\n"
    )
    before = reads.head()
    page = check(as_alice)
    said = words(page)
    assert reads.head() == before
    assert "What notes.md would do" in said
    assert "New 1 note Changed 1 note Already in the memory 1 note Left out 2 passages" in said
    assert "decision 0 1" in said
    assert "pattern 1 0" in said
    assert "2 passages, the first: “wrong-1” is not an id" in said
    assert "<del>" in page.content.decode()
    assert "Fridays" in said
    assert "Import these 2 notes" in said


def test_what_was_checked_is_imported_without_choosing_the_file_again(as_alice: Client) -> None:
    sent = form(check(as_alice), PAGE)
    assert sent["comment"] == "From my laptop."
    done = as_alice.post(PAGE, sent)
    assert "Imported notes.md New 3 notes" in words(done)
    assert {note.content for note in reads.notes("alice")} == {
        "Takes the exam in January.",
        "Reads on Mondays.",
        "Likes examples.",
    }
    undo = next(url for url in done.content.decode().split('"') if "/notes/changes/" in url)
    as_alice.post(undo)
    assert reads.notes("alice") == ()


def test_a_file_that_says_nothing_new_offers_no_import(as_alice: Client) -> None:
    as_alice.post(PAGE, form(check(as_alice), PAGE))
    said = words(check(as_alice))
    assert "Nothing new in this file" in said
    assert "Import these" not in said


def test_a_file_that_cannot_be_read_is_refused_with_the_comment_kept(as_alice: Client) -> None:
    for data, says in ((b"no memories", "There are no memories in this file"), (b"\xff\xfe", "The file is in UTF-16")):
        page = check(as_alice, data)
        assert page.status_code == 422
        assert says in words(page)
        assert form(page, PAGE)["comment"] == "From my laptop."


def test_a_file_that_came_back_broken_is_refused(as_alice: Client) -> None:
    sent = form(check(as_alice), PAGE)
    for carried in ("", "no base64!", "AAAA", packed(b"x" * 100)[:-8]):
        page = as_alice.post(PAGE, sent | {"carried": carried})
        assert page.status_code == 422
        assert "Nothing was imported." in words(page)
        assert form(page, PAGE)["comment"] == "From my laptop."
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
    assert "choose it again" in words(page)
    assert "carried" not in page.content.decode()


def test_an_expired_session_keeps_the_file_and_the_comment(as_alice: Client, alice: User) -> None:
    sent = form(check(as_alice), PAGE) | {"comment": "Typed after the check."}
    as_alice.logout()
    back = sign_in_again(as_alice, alice, as_alice.post(PAGE, sent))
    assert "Your file is still here." in words(back)
    kept = form(back, PAGE)
    assert kept["comment"] == "Typed after the check."
    as_alice.post(PAGE, kept)
    assert len(reads.notes("alice")) == 3


def test_two_thousand_notes_and_as_many_mistakes_are_checked_soon(as_alice: Client) -> None:
    notes = "".join(f"### mem-{number}-aaaa\n> Statement {number} about something.\n" for number in range(2_000))
    wrong = "".join(f"### idea-{number}\n> x\n" for number in range(2_000))
    start = time.thread_time()
    page = check(as_alice, (notes + wrong).encode())
    assert time.thread_time() - start < 5  # 0.5 measured
    said = words(page)
    assert "Import these 2,000 notes" in said
    assert "2,000 passages, the first: “idea-0”" in said
    assert len(form(page, PAGE)["carried"]) < MOST_CARRIED / 10
    assert "Imported notes.md New 2,000 notes" in words(as_alice.post(PAGE, form(page, PAGE)))
