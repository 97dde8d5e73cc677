"""The import page: what may be sent, what became of it, how far it has come."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.staticfiles import finders
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import InterfaceError
from django.urls import reverse

from approvals.models import Agent, Policy, User
from approvals.pages import import_progress
from approvals.pages.import_progress import ImportState
from approvals.services import imports
from approvals.services.errors import Refused
from approvals.services.notes import ChangeContext
from assent_client.text import memories_md
from memory_app import reads
from memory_app.runtime import progress
from memory_app.runtime.deadlines import DeadlineExceeded
from memory_app.runtime.progress import Stage
from tests.support.fixtures import ClientOf

pytestmark = pytest.mark.slow

PAGE = reverse("note_import", args=["alice"])
PROGRESS = reverse("note_import_progress", args=["alice"])
KEY = "k" * 22
MEMORIES = b"""# Memories

## Notes

### mem-1737372000-a1b2
> Reads a chapter on Mondays.
<!-- tags: reading | created: 2025-01-20 -->

### broken
> lost
"""
MANY = "".join(f"### mem-{number}-aaaa\n> memory {number}\n" for number in range(1_200)).encode()


@pytest.fixture
def send(alice: User, client_of: Callable[[Any], Any]) -> Callable[..., Any]:
    """`send(data)`: alice sends a file from the import page."""
    client = client_of(alice)

    def post(data: bytes, name: str = "memories.md", **fields: str) -> Any:
        headers = {"HX-Request": "true"} if fields.pop("htmx", "") else {}
        return client.post(PAGE, {"file": SimpleUploadedFile(name, data), "key": KEY, **fields}, headers=headers)

    return post


def text_of(response: Any) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", response.content.decode()).split())


def look(client: Any, key: str = KEY, said: str = "") -> str:
    return str(client.get(PROGRESS, {"key": key, "said": said}, headers={"HX-Request": "true"}).content.decode())


# -- the page ---------------------------------------------------------------------------------------


def test_the_limits_are_said_before_anything_is_sent(alice: User, client_of: ClientOf) -> None:
    page = text_of(client_of(alice).get(PAGE))
    assert "at most 32 MiB and 100,000 memories of 2,000 characters each" in page


def test_each_form_has_a_key_of_its_own(alice: User, client_of: ClientOf) -> None:
    client = client_of(alice)
    keys = [re.search(r'name="key" value="([^"]+)"', client.get(PAGE).content.decode()) for _ in range(2)]
    assert all(key and import_progress.KEY.fullmatch(key[1]) for key in keys)
    assert len({key[1] for key in keys if key}) == 2


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


def test_an_example_shows_the_format_and_is_taken_whole(alice: User, client_of: ClientOf, send: Any) -> None:
    page = client_of(alice).get(reverse("note_import", args=["alice"])).content.decode()
    assert "memories-example.md" in page
    example = Path(str(finders.find("memories-example.md"))).read_bytes()
    assert "New 3 notes" in text_of(send(example))
    assert "Unchanged 3 notes Left out 0 passages" in text_of(send(example)), "the same ids again"


def test_the_same_file_again_changes_nothing_and_says_so(send: Any) -> None:
    send(MEMORIES)
    before = reads.head()
    assert "Nothing new in this file" in text_of(send(MEMORIES, key="l" * 22))
    assert reads.head() == before


def test_proposals_that_the_file_overtook_are_counted(send: Any, scribe: Agent) -> None:
    send(MEMORIES)
    Policy.objects.create(owner="alice", notes=Policy.Notes.REVIEW)
    imports.import_file(by=ChangeContext(actor=scribe), owner="alice", data=MEMORIES.replace(b"Mondays", b"Fridays"))
    said = text_of(send(MEMORIES.replace(b"Mondays", b"Sundays"), key="l" * 22))
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
    assert f'value="{KEY}"' not in page  # the failed one's
    assert ("<html" in page) is not bool(htmx)
    assert reads.notes("alice") == ()


def test_only_the_owner_imports_and_asks_how_far_it_is(
    alice: User, tim: User, mallory: User, client_of: ClientOf
) -> None:
    for person in (tim, mallory):
        client = client_of(person)
        assert client.post(PAGE, {"file": SimpleUploadedFile("m.md", MEMORIES)}).status_code == 404
        assert client.get(PROGRESS, {"key": KEY}).status_code == 404
    assert reads.notes("alice") == ()


def test_an_expired_session_takes_nothing_and_keeps_the_comment(client: Any, alice: User) -> None:
    fields = {"file": SimpleUploadedFile("m.md", MEMORIES), "comment": "From my laptop.", "key": KEY}
    response = client.post(PAGE, fields, headers={"HX-Request": "true"})
    assert response.status_code == 401
    assert reads.notes("alice") == ()
    asked = client.get(PROGRESS, {"key": KEY}, headers={"HX-Request": "true"})
    assert asked.status_code == 401


# -- how far it has come ----------------------------------------------------------------------------


def test_an_import_tells_its_stages_in_order_and_counts_its_notes(alice: User) -> None:
    told: list[tuple[Stage, int, int]] = []
    with progress.reported_to(lambda *report: told.append(report)):
        imports.import_file(by=ChangeContext(actor=alice), owner="alice", data=MANY)
    assert list(dict.fromkeys(stage for stage, _, _ in told)) == [
        Stage.READING,
        Stage.COMPARING,
        Stage.WEIGHING,
        Stage.WRITING,
        Stage.RECORDING,
    ]
    assert [done for stage, done, _ in told if stage is Stage.WRITING] == [0, 500, 1000, 1200]
    percents = [progress.percent(*report) for report in told]
    assert percents == sorted(percents)


def test_the_page_is_told_while_it_runs_and_when_it_is_done(alice: User, client_of: ClientOf) -> None:
    client = client_of(alice)
    assert "Sending the file" in look(client)
    with import_progress.watched(import_progress.of_person(alice.pk), KEY):
        progress.report(Stage.WRITING, 500, 1_200)
        seen = look(client)
    assert "Writing the notes" in seen
    assert "500 of 1,200" in seen
    assert re.search(r'<progress id="import-bar" max="100" value="\d+"', seen)
    assert "The import is done." in look(client)
    assert "hx-get" not in look(client)  # and asks no more


def test_a_stage_is_said_aloud_once(alice: User, client_of: ClientOf) -> None:
    client = client_of(alice)
    with import_progress.watched(import_progress.of_person(alice.pk), KEY):
        assert "data-announce" in look(client)
        assert "data-announce" not in look(client, said="reading")


def test_a_failure_is_told_and_nothing_was_taken(alice: User, client_of: ClientOf, send: Any) -> None:
    assert send(b"\x00").status_code == 422
    assert "The import failed." in look(client_of(alice))
    assert reads.notes("alice") == ()


def test_a_process_that_is_gone_is_not_waited_for(
    alice: User, client_of: ClientOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    viewer = import_progress.of_person(alice.pk)
    with import_progress.watched(viewer, KEY):
        monkeypatch.setattr(import_progress, "SILENCE", -1)
        found = import_progress.look(viewer, KEY)
        assert found is not None
        assert found.state is ImportState.LOST
        assert "We lost track of this import" in look(client_of(alice))


def test_nobody_else_is_told(alice: User, ben: User, client_of: ClientOf) -> None:
    with import_progress.watched(import_progress.of_person(alice.pk), KEY):
        assert import_progress.look(import_progress.of_person(ben.pk), KEY) is None
        assert import_progress.look(import_progress.of_token(alice.pk), KEY) is None


def test_a_key_that_could_be_guessed_tells_nobody(alice: User, client_of: ClientOf) -> None:
    with import_progress.watched(import_progress.of_person(alice.pk), "short"):
        assert import_progress.look(import_progress.of_person(alice.pk), "short") is None
    assert client_of(alice).get(PROGRESS, {"key": "short"}).status_code == 404


def test_the_same_form_sent_twice_runs_once(alice: User, client_of: ClientOf, send: Any) -> None:
    with import_progress.claimed(import_progress.of_person(alice.pk), KEY):
        second = send(MEMORIES)
    assert second.status_code == 409
    assert "import-progress" in second.content.decode()
    assert reads.notes("alice") == ()


def test_a_claim_is_over_with_its_import_and_lost_by_one_that_is_gone(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def begin() -> Any:
        return import_progress.claimed(import_progress.of_person(alice.pk), KEY)

    with begin():
        pass
    monkeypatch.setattr(import_progress, "SILENCE", 1)
    with begin():
        with pytest.raises(import_progress.UnderWay), begin():
            pass
        time.sleep(1.3)
        with begin():
            pass


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (Refused("Too many wait."), ImportState.FAILED),
        (memories_md.Unreadable("binary"), ImportState.FAILED),
        (reads.EngineUnavailable(), ImportState.LOST),
        (reads.OutcomeUnknown(), ImportState.LOST),
        (DeadlineExceeded(), ImportState.LOST),
        (InterfaceError(), ImportState.LOST),
        (KeyError(), ImportState.LOST),
    ],
    ids=lambda given: type(given).__name__ if isinstance(given, Exception) else str(given),
)
def test_only_a_refusal_says_that_nothing_was_taken(alice: User, error: Exception, told: ImportState) -> None:
    viewer = import_progress.of_person(alice.pk)
    with pytest.raises(type(error)), import_progress.watched(viewer, KEY):
        raise error
    found = import_progress.look(viewer, KEY)
    assert found is not None
    assert found.state is told


def test_a_page_loaded_meanwhile_shows_the_import_that_runs(alice: User, client_of: ClientOf) -> None:
    client = client_of(alice)
    with import_progress.watched(import_progress.of_person(alice.pk), KEY):
        assert "An import of yours is still running." in client.get(PAGE).content.decode()
    assert "still under way" not in client.get(PAGE).content.decode()


def test_reports_go_to_whoever_set_the_reporter_and_to_no_other_thread(alice: User) -> None:
    told: list[Stage] = []
    with progress.reported_to(lambda stage, done, of: told.append(stage)):
        other = threading.Thread(target=progress.report, args=(Stage.WRITING, 1, 2))
        other.start()
        other.join()
    assert told == []


def test_parsing_needs_no_reporter() -> None:
    progress.report(Stage.READING, 0, 1)
    assert memories_md.read(MEMORIES).skipped
