"""Writing memories.md."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from assent_client._generated.text.memories_md.escapes import escape_line, escape_tag
from assent_client._generated.text.memories_md.ids import is_id
from assent_client._generated.text.memories_md.memory import SECTIONS, Memory, sorted_for_file

#: Sections that every whole file has, so that people see where to write.
_ALWAYS = ("pattern", "decision", "fix", "context")


class Unwritable(ValueError):
    """A memory that no reader could read again."""

    def __init__(self, memory: Memory, reason: str) -> None:
        self.memory = memory
        super().__init__(f"{memory.id}: {reason}")


def write(memories: Iterable[Memory], *, empty_sections: bool = True) -> str:
    """Return the file of `memories`, the same for the same memories in any order. Empty tags are left out.

    Args:
        empty_sections: with the headings every file has; without them it is for reading only.

    Raises Unwritable for a memory without a date or content, with an unknown type or a malformed id, and for
    the second one of an id.
    """
    wanted = list(memories)
    _check(wanted)
    written = {kind: [write_block(memory) for memory in group] for kind, group in _by_type(wanted)}
    parts = ["# Memories\n"]
    for kind, heading in SECTIONS.items():
        if kind in written or (empty_sections and kind in _ALWAYS):
            parts += [f"## {heading}\n", *written.get(kind, ())]
    return "\n".join(parts)


def write_block(memory: Memory) -> str:
    """Return one memory as a file has it: heading, quoted content, comment."""
    # A bare `>` for an empty line: editors that strip white space at the end of lines change nothing.
    quoted = [f"> {escape_line(line)}" if line else ">" for line in memory.content.split("\n")]
    tags = ", ".join(escape_tag(tag) for tag in memory.tags if tag)
    return "\n".join([f"### {memory.id}", *quoted, f"<!-- tags: {tags} | created: {memory.created} -->\n"])


def _check(memories: list[Memory]) -> None:
    seen: set[str] = set()
    for memory in memories:
        if memory.type not in SECTIONS:
            raise Unwritable(memory, f"there is no section for the type {memory.type!r}")
        if not is_id(memory.id):
            raise Unwritable(memory, "is not an id of a memory")
        if memory.id in seen:
            raise Unwritable(memory, "there are two memories with this id")
        if not memory.content.strip():
            raise Unwritable(memory, "has no content")
        if memory.created is None:
            raise Unwritable(memory, "has no date")
        seen.add(memory.id)


def _by_type(memories: list[Memory]) -> Iterable[tuple[str, Iterable[Memory]]]:
    return groupby(sorted_for_file(memories), key=lambda memory: memory.type)


TEMPLATE = write(())
