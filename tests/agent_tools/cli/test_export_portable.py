"""Exporting for programs that know four sections, and importing that again: nothing is doubled and no type lost."""

from collections.abc import Callable
from typing import Any

import pytest

from approvals.models import Proposal, User
from approvals.services import notes
from assent_client.text import memories_md
from memory_app import reads
from tests.agent_tools.checks import answered
from tests.agent_tools.conftest import Machine
from tests.memory_app.text.test_memories_md_portable import read_as_the_plan_does

FILE = "/api/v1/users/alice/memories.md"


@pytest.fixture
def kept(alice: User) -> dict[str, str]:
    """A note of each type, by its id."""
    by = notes.ChangeContext(actor=alice)
    ids = {
        notes.save(by=by, owner="alice", content=f"A {type}.\nTwo lines.", type=type, tags=["x"]).note_id: type
        for type in memories_md.TYPES
    }
    named = notes.save(by=by, owner="alice", content="By the command.", type="fact", note_id="mem-1737372000-a1b2")
    return ids | {named.note_id: "fact"}


def put(api: Machine, text: str) -> Any:
    return answered(api.http.post(FILE, text, content_type="text/markdown"))["data"]


def test_the_plans_reader_finds_every_note(api: Machine, kept: dict[str, str]) -> None:
    exported = api.get(f"{FILE}?portable=true")
    assert exported["Content-Type"].startswith("text/markdown")
    found = read_as_the_plan_does(exported.content.decode())
    assert sorted(content for _, _, content, *_ in found) == sorted(each.content for each in reads.notes("alice"))
    assert len(read_as_the_plan_does(api.get(FILE).content.decode())) < len(kept), "which the other form does not give"


def test_importing_it_again_changes_what_was_changed_there_and_no_type(api: Machine, kept: dict[str, str]) -> None:
    before = reads.head("alice")
    text = api.get(f"{FILE}?portable=true").content.decode()
    came = put(api, text)
    assert (came["status"], came["created"], came["updated"], came["unchanged"]) == ("unchanged", 0, 0, len(kept))
    assert reads.head("alice") == before
    came = put(api, text.replace("A lesson_learned.", "Another lesson."))
    assert (came["created"], came["updated"]) == (0, 1)
    (changed,) = [each for each in reads.notes("alice") if each.content.startswith("Another lesson.")]
    assert changed.type == kept[changed.id] == "lesson_learned"


def test_moving_a_memory_to_another_section_is_a_change_of_type(api: Machine, kept: dict[str, str]) -> None:
    text = api.get(f"{FILE}?portable=true").content.decode()
    day = reads.note("alice", "mem-1737372000-a1b2").created_at.date()
    block = f"### mem-1737372000-a1b2\n> By the command.\n<!-- tags:  | created: {day} -->\n"
    assert block in text
    came = put(api, text.replace(block, "").replace("## Decisions\n", f"## Decisions\n\n{block}"))
    assert (came["created"], came["updated"]) == (0, 1)
    assert reads.note("alice", "mem-1737372000-a1b2").type == "decision"


def test_a_note_superseded_since_is_not_made_again(api: Machine, alice: User, kept: dict[str, str]) -> None:
    text = api.get(f"{FILE}?portable=true").content.decode()
    gone = next(id for id, type in kept.items() if type == "note")
    notes.supersede(by=notes.ChangeContext(actor=alice), owner="alice", note_id=gone)
    came = put(api, text)
    assert (came["created"], came["updated"]) == (0, 0)
    assert not Proposal.objects.open().exists()


def test_people_get_it_from_the_page(alice: User, kept: dict[str, str], client_of: Callable[[Any], Any]) -> None:
    client = client_of(alice)
    assert "/memory/alice/export/memories.md?portable=1" in client.get("/memory/alice/notes/").content.decode()
    text = client.get("/memory/alice/export/memories.md?portable=1").content.decode()
    assert len(read_as_the_plan_does(text)) == len(kept)
