"""What goes into an agent's system prompt: the student's blocks, primed notes, and how to use both.

The texts are part of the agent contract, word for word; how much of the notes goes in is set by `MEMORIES_*`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings
from django.utils import timezone

from approvals.models import User
from assent_client.text import memories_md
from memory_app import reads, recall_counts
from memory_app.reads import Block
from memory_app.reads.catalogue import catalogue
from memory_app.text import context_budget
from memory_app.text.context_budget import BYTES_PER_TOKEN, ContextFilters, Format, Primed

#: Left-out blocks named in the text; the rest are counted.
_NAMED = 20

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


_NOTES_GUIDE = """
- **Short statements** (a fact, a preference, a decision): notes. `memory_search` or `recall` finds them,
  `memory_save` or `remember` keeps one. Both pairs work on the same notes; `remember` also takes a type, a reason and
  how sure you are, `recall` filters by them and lists without a query. `memory_update` corrects a note, `forget`
  marks it as outdated and names what took its place, `memory_delete` removes it: use these when the user asks, or
  when it is wrong."""

#: Which tool changes a block in which case.
BLOCK_TOOLS = """\
### Changing a Memory Block

| Scenario | Tool |
|----------|------|
| Change a specific value | `propose_memory_edit`; several that belong together: `propose_memory_edits` |
| Add a new entry or section | `propose_memory_append`, `propose_memory_prepend` (no need to read first) |
| Add a line in the middle | `propose_memory_insert` |
| Update a Markdown section | `propose_section_update` |
| Create a new block | `propose_memory_block`, when no block is about it yet |
| Replace the full text (rare) | Read first with `read_memory_block`, then `propose_memory_rewrite` |
| Delete a whole block (rare) | `propose_block_deletion`; a person always decides |

Prefer these atomic edits over full rewrites: they change only what you name, and what people changed since stays. An
empty block is filled by `propose_memory_append`. When a reviewer asks for changes, call the same tool again with that
proposal's number as `proposal_id`."""

#: Which tools to use for what: for agents.
WHICH_TOOLS = f"""\
## Which Tool for What

- **At the start** of a conversation: the context (`GET /api/v1/users/{{user_id}}/context/`) has blocks, notes and
  these words. Without it, `list_memory_blocks` and `prime_memories` give the same. Look further only for what is
  missing.{_NOTES_GUIDE}
- **Longer texts** about the user that belong together: a memory block. Update it with `propose_memory_edit` or
  `propose_memory_append` to persist important information; a person decides about each change.
- **What was said**, word for word: `memory_search` with `include_conversation` finds passages, `memory_list_sessions`
  names conversations and `memory_read_session` reads one. What is worth keeping from them belongs in a note.
- **What became of your changes**: `list_proposals`, `get_proposal`; `withdraw_proposal` takes one back.

{BLOCK_TOOLS}"""


@dataclass(frozen=True)
class Context:
    """The parts of a context and the whole.

    Args:
        blocks: those that fit, by label.
        left_out: labels of those that do not fit, the last changed first.
        tokens: of these blocks, estimated.
        budget: tokens that they may have; 0 for no limit.
        primed: None where the settings keep notes out (`MEMORIES_INJECT` is manual or none).
        skill: how to use notes, or empty.
        commit: of main; nothing in here is older.
    """

    blocks: list[Block]
    left_out: list[str]
    tokens: int
    budget: int
    primed: Primed | None
    skill: str
    commit: str

    @property
    def text(self) -> str:
        parts = [_student_context(self.blocks, self.left_out)] if self.blocks or self.left_out else []
        parts += [INSTRUCTIONS, which_tools()]
        if self.primed is not None and self.primed.included:
            parts.append(self.primed.text.strip())
        if self.skill:
            parts.append(self.skill.strip())
        return "\n\n".join(parts) + "\n"


def which_tools() -> str:
    """Return `WHICH_TOOLS`, without what this installation has switched off."""
    if settings.MEMORIES_ENABLED:
        return WHICH_TOOLS
    without = WHICH_TOOLS.replace(_NOTES_GUIDE, "")
    gone = {" and `prime_memories` give": " gives", "blocks, notes and": "blocks and"}
    gone |= {"`memory_search` with `include_conversation` finds passages, ": ""}
    gone |= {" What is worth keeping from them belongs in a note.": ""}
    for said, instead in gone.items():
        without = without.replace(said, instead)
    return without


def build_memory_context(user: User) -> str:
    """Return the text for the system prompt of an agent that talks with `user`."""
    return context_of(user.username).text


def context_of(owner: str, *, budget: int | None = None) -> Context:
    """Return the context of an owner's agent, as the settings have it.

    Args:
        budget: tokens for blocks and notes together, of which blocks come first; 0 for no limit. By default
            `settings.MEMORIES_BLOCKS_BUDGET` for blocks and `settings.MEMORIES_BUDGET` for notes.
    """
    commit = reads.head()
    for_blocks = settings.MEMORIES_BLOCKS_BUDGET if budget is None else budget
    blocks, left_out, tokens = _that_fit(reads.blocks(owner), for_blocks)
    primed = None
    if settings.MEMORIES_ENABLED and settings.MEMORIES_INJECT == "auto":
        filters = ContextFilters(
            types=settings.MEMORIES_FILTER_TYPES,
            tags=settings.MEMORIES_FILTER_TAGS,
            recent=settings.MEMORIES_FILTER_RECENT,
        )
        # At least one token, since 0 stands for no limit; one note is there in any case.
        left = max(1, budget - tokens) if budget else budget
        primed = prime(owner, budget=left, filters=filters)
    explains = settings.MEMORIES_ENABLED and settings.MEMORIES_INJECT != "none" and settings.MEMORIES_SKILL_INJECTION
    is_manual = settings.MEMORIES_INJECT == "manual"
    skill = memories_md.skill(included=bool(primed and primed.included), on_request=is_manual) if explains else ""
    return Context(blocks, left_out, tokens, for_blocks, primed, skill, commit)


def prime(owner: str, *, budget: int | None, filters: ContextFilters, format: Format = "markdown") -> Primed:
    """Return an owner's notes within a budget; see `memory_app.text.context_budget`."""

    def read(ids: Sequence[str]) -> dict[str, str]:
        found = reads.find_notes(owner, ids)
        return {note.id: note.content for note in found.values() if not note.is_superseded}

    return context_budget.prime(
        catalogue(owner).entries,
        read=read,
        recalled=recall_counts.counts(owner),
        budget=settings.MEMORIES_BUDGET if budget is None else budget,
        filters=filters,
        now=timezone.now(),
        format=format,
    )


def _that_fit(blocks: Sequence[Block], budget: int) -> tuple[list[Block], list[str], int]:
    """Return the blocks that fit, by label, the labels of the others, the last changed first, and the tokens.

    A block that does not fit is left out whole: half of it could be taken for all of it. Smaller ones after it may
    still fit.
    """
    taken: list[Block] = []
    left_out: list[str] = []
    size = 0
    for block in sorted(blocks, key=lambda block: block.updated_at, reverse=True):
        more = len(_shown(block).encode()) + 2
        if budget and size + more > budget * BYTES_PER_TOKEN:
            left_out.append(block.label)
            continue
        size += more
        taken.append(block)
    return sorted(taken, key=lambda block: block.label), left_out, -(-size // BYTES_PER_TOKEN)


def _student_context(blocks: Sequence[Block], left_out: Sequence[str]) -> str:
    parts = ["## Student Context", *map(_shown, blocks)]
    if left_out:
        named = ", ".join(f"`{label}`" for label in left_out[:_NAMED])
        more = len(left_out) - _NAMED
        others = f" and {more} more, which `list_memory_blocks` names" if more > 0 else ""
        parts.append(f"There was no room here for these blocks: {named}{others}. Read them with `read_memory_block`.")
    return "\n\n".join(parts)


def _shown(block: Block) -> str:
    return f"### {block.display_title} (`{block.label}`)\n\n{block.body.strip() or '(empty)'}"
