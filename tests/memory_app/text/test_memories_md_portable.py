"""A portable memories.md is read whole by a reader that knows only the plan's four sections and ids."""

import re
from dataclasses import replace
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent_client.text import memories_md
from assent_client.text.memories_md import SECTIONS, TYPES, Memory, parse, replaced_ids, section_of, write_portable

pytestmark = pytest.mark.pure

# The plan's own patterns.
SECTION_OR_ID = re.compile(r"^(?=## (?:Patterns|Decisions|Fixes|Context)|### mem-\d+-[0-9a-f]{4})", re.MULTILINE)
CONTENT = re.compile(r"^> (.+)$", re.MULTILINE)
METADATA = re.compile(r"<!-- tags: ([^|]*) \| created: (\d{4}-\d{2}-\d{2}) -->")

DAY = date(2026, 3, 1)
NOTES = [f"note-{number:08x}-0000-4000-8000-000000000000" for number in range(20)]


def read_as_the_plan_does(text: str) -> list[tuple[str, str, str, list[str], str]]:
    """Return the id, section, content, tags and day of each memory that the plan's reader finds."""
    found: list[tuple[str, str, str, list[str], str]] = []
    section = "Patterns"
    for part in SECTION_OR_ID.split(text):
        mark, name = part.split()[:2] if part.startswith("##") else ("", "")
        if mark == "##":
            section = name
        elif content := CONTENT.findall(part) if mark == "###" else []:
            tags, created = METADATA.findall(part)[-1]
            found.append((name, section, "\n".join(content), re.findall(r"[^\s,]+", tags), created))
    return found


def portable(memories: list[Memory]) -> str:
    return write_portable(memories, replaced_ids((each.id, each.created or DAY) for each in memories))


def test_the_plans_reader_takes_every_memory_of_every_type() -> None:
    ids = [*NOTES[:11], "mem-1737372000-a1b2", "mem-1737372000-zz99"]
    memories = [
        Memory(id, type, f"Content of {type}\nin two lines.", ("a", "b"), DAY)
        for id, type in zip(ids, TYPES, strict=True)
    ]
    found = read_as_the_plan_does(portable(memories))
    assert len(found) == len({id for id, *_ in found}) == len(TYPES)
    said = {content: (section, tags, created) for _, section, content, tags, created in found}
    for memory in memories:
        assert said[memory.content] == (SECTIONS[section_of(memory.type)], ["a", "b"], "2026-03-01")
    assert "mem-1737372000-a1b2" in {id for id, *_ in found}, "an id of the plan's stays"


def test_ids_are_the_same_each_time_whatever_else_there_is() -> None:
    few = replaced_ids((id, DAY) for id in NOTES[:3])
    assert {id: replaced_ids((each, DAY) for each in NOTES)[id] for id in few} == few
    assert all(memories_md.is_portable_id(id) for id in few.values())


def test_an_id_that_is_taken_is_not_given_again() -> None:
    first = replaced_ids([(NOTES[0], DAY)])[NOTES[0]]
    second = replaced_ids([(NOTES[0], DAY), (first, DAY)])[NOTES[0]]
    assert second != first
    assert memories_md.is_portable_id(second)
    known = [(f"note-{number:08x}-0000-4000-8000-000000000000", DAY) for number in range(100_000)]
    assert len(set(replaced_ids(known).values())) == len(known)


def test_an_id_tells_the_day() -> None:
    for days in (0, 1, 400):
        replaced = replaced_ids([(NOTES[0], DAY + timedelta(days=days))])[NOTES[0]]
        assert int(replaced.split("-")[1]) // 86_400 == (DAY - date(1970, 1, 1)).days + days


@given(st.lists(st.sampled_from(TYPES), max_size=20), st.text(alphabet="ab >#<!-&\r\n|,", min_size=1))
def test_it_is_read_back_exactly_and_known_as_portable(types: list[str], content: str) -> None:
    memories = [Memory(id, type, f"x{content}", (), DAY) for id, type in zip(NOTES, types, strict=False)]
    ids = replaced_ids((each.id, DAY) for each in memories)
    parsed = parse(portable(memories))
    assert parsed.is_portable
    assert not parsed.skipped
    expected = [replace(each, id=ids[each.id], type=section_of(each.type)) for each in memories]
    assert {each.id: each for each in parsed.memories} == {each.id: each for each in expected}


def test_an_ordinary_file_is_not_taken_for_one() -> None:
    text = memories_md.write([Memory(NOTES[0], "fact", "It says <!-- portable: --> in here.", (), DAY)])
    assert not parse(text).is_portable
