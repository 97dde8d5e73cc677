"""What goes into an agent's system prompt: the student's blocks, primed notes, and how to use both.

The texts are those of the plans (tools.md, "Guidance texts"); how much of the notes goes in is set by
`MEMORIES_*` (README).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings
from django.utils import timezone

from approvals.models import User
from memory_app import accesses, memories_md, priming, recall
from memory_app.priming import Candidate, Filters, Format, Primed
from memory_app.recall import Block

INSTRUCTIONS = """\
## Memory Blocks

You have access to memory blocks that contain persistent information about the student.
These blocks are shown above in "Student Context" when available.

To update memory blocks, use the memory block tools:
1. First, use `read_memory_block` to see the exact current content
2. Then, use `propose_memory_edit` with exact string matching to suggest changes
3. Your edits will be submitted as proposals that require user approval

Important: The `old_string` in your edit must match the block content exactly,
including whitespace and newlines. If the string appears multiple times,
provide more surrounding context to make it unique, or use `replace_all=True`."""


@dataclass(frozen=True)
class Context:
    """The parts of a context and the whole.

    Args:
        primed: None where the settings keep notes out (`MEMORIES_INJECT` is manual or none).
        skill: how to use notes, or empty.
        commit: of main; nothing in here is older.
    """

    blocks: tuple[Block, ...]
    primed: Primed | None
    skill: str
    commit: str

    @property
    def text(self) -> str:
        parts = [_student_context(self.blocks)] if self.blocks else []
        parts.append(INSTRUCTIONS)
        if self.primed is not None and self.primed.included:
            parts.append(self.primed.text.strip())
        if self.skill:
            parts.append(self.skill.strip())
        return "\n\n".join(parts) + "\n"


def build_memory_context(user: User) -> str:
    """The text for the system prompt of an agent that talks with `user`."""
    return context_of(user.username).text


def context_of(owner: str, *, budget: int | None = None) -> Context:
    """The context of an owner's agent, as the settings have it.

    Args:
        budget: tokens for the notes; `settings.MEMORIES_BUDGET` by default, 0 for no limit.
    """
    commit = recall.head()
    primed = None
    if settings.MEMORIES_ENABLED and settings.MEMORIES_INJECT == "auto":
        filters = Filters(
            types=settings.MEMORIES_FILTER_TYPES,
            tags=settings.MEMORIES_FILTER_TAGS,
            recent=settings.MEMORIES_FILTER_RECENT,
        )
        primed = prime(owner, budget=budget, filters=filters)
    explains = settings.MEMORIES_ENABLED and settings.MEMORIES_INJECT != "none" and settings.MEMORIES_SKILL_INJECTION
    return Context(recall.blocks(owner), primed, memories_md.SKILL if explains else "", commit)


def prime(owner: str, *, budget: int | None, filters: Filters, format: Format = "markdown") -> Primed:
    """An owner's notes within a budget; see `memory_app.priming`."""
    recalls = accesses.of(owner)
    candidates = [
        Candidate(
            id=note.id,
            type=note.type,
            content=note.content,
            tags=note.tags,
            created_at=note.created_at,
            recalled=recalls[note.id].count if note.id in recalls else 0,
            is_superseded=note.is_superseded,
        )
        for note in recall.notes(owner)
    ]
    limit = settings.MEMORIES_BUDGET if budget is None else budget
    return priming.prime(candidates, budget=limit, filters=filters, now=timezone.now(), format=format)


def _student_context(blocks: Sequence[Block]) -> str:
    shown = [f"### {block.display_title} (`{block.label}`)\n\n{block.body.strip() or '(empty)'}" for block in blocks]
    return "\n\n".join(["## Student Context", *shown])
