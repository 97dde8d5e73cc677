"""What goes into an agent's system prompt: the student's blocks, primed notes, and how to use both.

The texts are part of the agent contract, word for word; how much of the notes goes in is set by `MEMORIES_*`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

from django.conf import settings
from django.utils import timezone

from agent_tools.calls.registry import for_list, is_listed
from approvals.models import User
from assent_client.text import memories_md
from memory_app import reads, recall_counts
from memory_app.reads import Block
from memory_app.reads.catalogue import catalogue
from memory_app.text import context_budget
from memory_app.text.context_budget import BYTES_PER_TOKEN, ContextFilters, Format, Primed, tokens_of

#: Left-out blocks named in the text; the rest are counted.
_NAMED = 20
#: Bytes of the heading of a note's section in a memories.md, about; and around the named blocks that are left out.
_HEADING = 20
_AROUND_LEFT_OUT = 130


def _guide(name: str) -> str:
    return Path(__file__).with_name("guides").joinpath(f"{name}.md").read_text(encoding="utf-8").removesuffix("\n")


#: How to change blocks, which tool changes one in which case, and which tools to use for what. Each sentence of the
#: last two stands without the others: see `registry.for_list`.
INSTRUCTIONS, BLOCK_TOOLS, WHICH_TOOLS = map(_guide, ("instructions", "block_tools", "which_tools"))
#: What is not so where no blocks are above.
SHOWN_ABOVE = 'These blocks are shown above in "Student Context" when available.\n'

#: The skill is about a command, which not every agent can run.
_ON_A_COMMAND_LINE = "The following holds where you can run commands in a shell.\n\n"


@dataclass(frozen=True)
class Context:
    """The parts of a context and the whole.

    Args:
        blocks: those that fit, by label.
        left_out: labels of those that do not fit, the last changed first.
        tokens: of these blocks, estimated.
        budget: tokens that they may have; 0 for no limit.
        primed: None where the settings keep notes out (`MEMORIES_INJECT` is manual or none).
        guides: how to use blocks, and which tool does what.
        skill: how to use notes, or empty.
        commit: of main; nothing in here is older.
    """

    blocks: list[Block]
    left_out: list[str]
    tokens: int
    budget: int
    primed: Primed | None
    guides: list[str]
    skill: str
    commit: str

    @property
    def text(self) -> str:
        parts = [_student_context(self.blocks, self.left_out)] if self.blocks or self.left_out else []
        parts += self.guides
        if self.primed is not None and self.primed.included:
            parts.append(self.primed.text.strip())
        if self.skill:
            parts.append(self.skill)
        return "\n\n".join(parts) + "\n"


def which_tools() -> str:
    """Return which tool does what, for the caller of this call: of the tools in the caller's list."""
    parts = [WHICH_TOOLS, BLOCK_TOOLS] if is_listed("propose_memory_edit") else [WHICH_TOOLS]
    return "\n\n".join(for_list(part).rstrip() for part in parts)


def instructions() -> str:
    """Return `INSTRUCTIONS` where the caller of this call sees the tools that they are about, else ""."""
    return INSTRUCTIONS if is_listed("read_memory_block") and is_listed("propose_memory_edit") else ""


def skill(*, included: bool, on_request: bool = False) -> str:
    """Return the skill of the `memory` command for the caller of this call; see `memories_md.skill`."""
    return _ON_A_COMMAND_LINE + for_list(memories_md.skill(included=included, on_request=on_request)).strip()


def build_memory_context(user: User) -> str:
    """Return the text for the system prompt of an agent that talks with `user`."""
    return context_of(user.username).text


def context_of(owner: str, *, budget: int | None = None) -> Context:
    """Return the context of an owner's agent, as the settings have it.

    Args:
        budget: tokens of the whole text, about; 0 for no limit. The guides have up to half of it, of which the first
            is always there, and one note is. Of the rest, blocks leave a third to notes where there are as many. By
            default `settings.MEMORIES_BLOCKS_BUDGET` for blocks and `settings.MEMORIES_BUDGET` for notes.
    """
    commit = reads.head(owner)
    primes = settings.MEMORIES_ENABLED and settings.MEMORIES_INJECT == "auto"
    explains = settings.MEMORIES_ENABLED and settings.MEMORIES_INJECT != "none" and settings.MEMORIES_SKILL_INJECTION
    guides = [instructions(), which_tools(), skill(included=True) if explains else ""]
    left = None
    if budget:
        left, guides = _after_guides(budget, guides)
    for_blocks = settings.MEMORIES_BLOCKS_BUDGET if budget is None else 0
    if left is not None:
        newest = catalogue(owner).newest() if primes else ()
        sizes = (max(note.sizes) + _HEADING for note in newest if not note.is_superseded)
        of_notes = sum(islice(sizes, 1 + left // 50))  # as many fill a third: none takes less than 17 tokens with these
        for_blocks = max(1, left - min(left // 3, -(-of_notes // BYTES_PER_TOKEN)))
    blocks, left_out, tokens = _that_fit(reads.blocks(owner), for_blocks, counts_names=left is not None)
    primed = None
    if primes:
        filters = ContextFilters(
            types=settings.MEMORIES_FILTER_TYPES,
            tags=settings.MEMORIES_FILTER_TAGS,
            recent=settings.MEMORIES_FILTER_RECENT,
        )
        # At least one token, since 0 stands for no limit; one note is there in any case.
        primed = prime(owner, budget=budget if left is None else max(1, left - tokens), filters=filters)
    is_manual = settings.MEMORIES_INJECT == "manual"
    has_notes = bool(primed and primed.included)
    last = skill(included=has_notes, on_request=is_manual) if guides[2] else ""
    return Context(blocks, left_out, tokens, for_blocks, primed, [each for each in guides[:2] if each], last, commit)


def _after_guides(budget: int, guides: list[str]) -> tuple[int, list[str]]:
    """Return the tokens that are left beside the guides, and those of them that fit; "" for one that does not."""
    left, kept = budget, list[str]()
    for guide in guides:
        cost = tokens_of(guide) + 1
        is_kept = not kept or budget - left + cost <= budget / 2
        kept.append(guide if is_kept else "")
        left -= cost if is_kept else 0
    return max(1, left), kept


def prime(owner: str, *, budget: int | None, filters: ContextFilters, format: Format = "markdown") -> Primed:
    """Return an owner's notes within a budget; see `memory_app.text.context_budget`."""

    def read(ids: Sequence[str]) -> dict[str, str]:
        rows = reads.rows_of_notes(owner, ids, None, "content", "superseded_at").items()
        return {id_: row["content"] for id_, row in rows if not row["superseded_at"]}

    every, now = catalogue(owner), timezone.now()
    if filters.recent or len(filters.tags) > 1:
        matching = sum(context_budget.no_match(each, filters, now) is None for each in every.newest())
    else:
        tag, types = next(iter(filters.tags), None), set[str | None](filters.types) or {None}
        matching = sum(every.facets[type, tag] for type in types)
    return context_budget.prime(
        partial(every.by_worth, recall_counts.counts(owner)),
        total=every.current + every.superseded,
        matching=matching,
        saying=every.saying,
        read=read,
        budget=settings.MEMORIES_BUDGET if budget is None else budget,
        filters=filters,
        now=now,
        format=format,
    )


def _that_fit(blocks: Sequence[Block], budget: int, *, counts_names: bool) -> tuple[list[Block], list[str], int]:
    """Return the blocks that fit, by label, the labels of the others, the last changed first, and the tokens.

    A block that does not fit is left out whole: half of it could be taken for all of it. Smaller ones after it may
    still fit.

    Args:
        counts_names: whether the sentence that names the left-out ones is part of the budget.
    """
    taken: list[Block] = []
    left_out: list[str] = []
    costs = {block.label: len(_shown(block).encode()) + 2 for block in blocks}
    room, size = budget * BYTES_PER_TOKEN, len("## Student Context\n\n")
    if counts_names and size + sum(costs.values()) > room:
        size += _AROUND_LEFT_OUT + sum(len(label) + 4 for label in list(costs)[:_NAMED])
    for block in sorted(blocks, key=lambda block: block.updated_at, reverse=True):
        if budget and size + costs[block.label] > room:
            left_out.append(block.label)
            continue
        size += costs[block.label]
        taken.append(block)
    return sorted(taken, key=lambda block: block.label), left_out, -(-size // BYTES_PER_TOKEN)


def _student_context(blocks: Sequence[Block], left_out: Sequence[str]) -> str:
    parts = ["## Student Context", *map(_shown, blocks)]
    if left_out:
        named = ", ".join(f"`{label}`" for label in left_out[:_NAMED])
        more = len(left_out) - _NAMED
        lists = for_list(", which `list_memory_blocks` names", or_nearest=True)
        others = f" and {more} more{lists}" if more > 0 else ""
        read = for_list(" Read them with `read_memory_block`.", or_nearest=True)
        parts.append(f"There was no room here for these blocks: {named}{others}.{read}")
    return "\n\n".join(parts)


def _shown(block: Block) -> str:
    return f"### {block.display_title} (`{block.label}`)\n\n{block.body.strip() or '(empty)'}"
