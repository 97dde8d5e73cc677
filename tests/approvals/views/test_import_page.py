"""The import page: what may be sent, and what became of it."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.staticfiles import finders
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from approvals.models import Agent, Policy, User
from approvals.services import imports
from approvals.services.notes import ChangeContext
from memory_app import reads

pytestmark = pytest.mark.slow

PAGE = reverse("note_import", args=["alice"])
MEMORIES = b"""# Memories

## Notes

### mem-1737372000-a1b2
> Reads a chapter on Mondays.
<!-- tags: reading | created: 2025-01-20 -->

### broken
> lost
"""


@pytest.fixture
def send(as_alice: Client) -> Callable[..., Any]:
    """`send(data)`: alice sends a file from the import page."""

    def post(data: bytes, name: str = "memories.md", **fields: str) -> Any:
        headers = {"HX-Request": "true"} if fields.pop("htmx", "") else {}
        return as_alice.post(PAGE, {"file": SimpleUploadedFile(name, data), **fields}, headers=headers)

    return post


def text_of(response: Any) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", response.content.decode()).split())


def test_the_limits_are_said_before_anything_is_sent(as_alice: Client) -> None:
    page = text_of(as_alice.get(PAGE))
    assert "at most 32 MiB and 100,000 memories of 2,000 characters each" in page


def test_what_happened_is_said_in_numbers_and_every_passage_left_out_is_named(send: Any) -> None:
    response = send(MEMORIES)
    said = text_of(response)
    assert response.status_code == 200
    assert "Imported memories.md New 1 note Changed 0 notes Unchanged 0 notes Left out 1 passage" in said
    assert "Line 9: “broken” is not an id such as note-0b5f6f0e-" in said
    assert [note.content for note in reads.notes("alice")] == ["Reads a chapter on Mondays."]


def test_one_mistake_made_many_times_is_told_once_with_its_lines(send: Any) -> None:
    page = send(b"".join(b"### idea-%d\n> x\n" % number for number in range(45)) + b"###\n")
    said = text_of(page)
    assert "Nothing was imported" in said
    assert "46 passages were left out" in said
    assert said.count("is not an id such as") == 1
    assert "45 passages, the first: “idea-0” is not an id such as" in said
    assert "Show the lines 1, 3, 5," in said
    assert "Line 91: no content" in said


def test_an_example_shows_the_format_and_is_taken_whole(as_alice: Client, send: Any) -> None:
    page = as_alice.get(reverse("note_import", args=["alice"])).content.decode()
    assert "memories-example.md" in page
    example = Path(str(finders.find("memories-example.md"))).read_bytes()
    assert "New 3 notes" in text_of(send(example))
    before, again = reads.head(), text_of(send(example))
    assert "Nothing new in this file" in again
    assert "Unchanged 3 notes Left out 0 passages" in again, "the same ids again"
    assert reads.head() == before


def test_proposals_that_the_file_overtook_are_counted(send: Any, scribe: Agent) -> None:
    send(MEMORIES)
    Policy.objects.create(owner="alice", notes=Policy.Notes.REVIEW)
    imports.import_file(by=ChangeContext(actor=scribe), owner="alice", data=MEMORIES.replace(b"Mondays", b"Fridays"))
    said = text_of(send(MEMORIES.replace(b"Mondays", b"Sundays")))
    assert "1 waiting proposal about these notes needs another look" in said


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
@pytest.mark.parametrize("htmx", ["", "1"])
def test_a_file_that_cannot_be_taken_is_explained_and_the_form_kept(
    send: Any, htmx: str, data: bytes, says: str
) -> None:
    response = send(data, comment="From my laptop.", htmx=htmx)
    page = response.content.decode()
    assert response.status_code == 422
    assert says in text_of(response)
    assert "From my laptop." in page
    assert ("<html" in page) is not bool(htmx)
    assert reads.notes("alice") == ()


def test_an_expired_session_takes_nothing_and_keeps_the_comment(client: Any, alice: User) -> None:
    fields = {"file": SimpleUploadedFile("m.md", MEMORIES), "comment": "From my laptop."}
    response = client.post(PAGE, fields, headers={"HX-Request": "true"})
    assert response.status_code == 401
    assert reads.notes("alice") == ()
