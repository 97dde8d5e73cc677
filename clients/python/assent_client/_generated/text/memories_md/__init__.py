"""memories.md: notes as one Markdown file that people edit by hand and agents read as it is.

Belongs here: reading such a file, writing one, its sections and ids, the empty template and the skill
text that explains it to an agent. Pure functions, no Django.
Not here: storing what was read (`approvals.services`) and the `memory` command (`agent_tools.cli`).

    # Memories

    ## Patterns

    ### mem-1737372000-a1b2
    > Barrel exports for all module boundaries.
    >
    > Each directory has an index.ts.
    <!-- tags: imports, structure | created: 2025-01-20 -->

What the format cannot express is written as numeric character references, which Markdown shows as
the character meant and which other readers of the format pass through (`escapes`). So every note comes back
exactly, and export → import → export gives the same bytes.
"""

from __future__ import annotations

from assent_client._generated.text.memories_md.ids import is_id, new_id
from assent_client._generated.text.memories_md.memory import SECTIONS, TYPES, Memory, Parsed, Skipped, sorted_for_file
from assent_client._generated.text.memories_md.portable import (
    PORTABLE_EXPLAINED,
    is_portable_id,
    replaced_ids,
    section_of,
    write_portable,
)
from assent_client._generated.text.memories_md.reading import (
    LARGEST_FILE,
    MOST_MEMORIES,
    DuplicateId,
    FileTooLarge,
    NotText,
    TooManyMemories,
    Unreadable,
    parse,
    read,
)
from assent_client._generated.text.memories_md.skill import SKILL, skill
from assent_client._generated.text.memories_md.writing import TEMPLATE, Unwritable, write, write_block

__all__ = [
    "LARGEST_FILE",
    "MOST_MEMORIES",
    "PORTABLE_EXPLAINED",
    "SECTIONS",
    "SKILL",
    "TEMPLATE",
    "TYPES",
    "DuplicateId",
    "FileTooLarge",
    "Memory",
    "NotText",
    "Parsed",
    "Skipped",
    "TooManyMemories",
    "Unreadable",
    "Unwritable",
    "is_id",
    "is_portable_id",
    "new_id",
    "parse",
    "read",
    "replaced_ids",
    "section_of",
    "skill",
    "sorted_for_file",
    "write",
    "write_block",
    "write_portable",
]
