"""What an agent begins with: prime_memories, and the endpoint with everything for a system prompt."""

from collections.abc import Sequence
from typing import Annotated, Any

from django.conf import settings
from pydantic import Field

from agent_tools.answers import representations
from agent_tools.calls.arguments import Arguments
from agent_tools.calls.registry import Answer, Call, endpoint, in_list, is_listed, tool
from agent_tools.tools import block_reads, guidance
from agent_tools.tools.note_arguments import Type
from assent_client.text import invisible
from memory_app import reads
from memory_app.reads.catalogue import catalogue
from memory_app.text import context_budget

_Tokens = Annotated[int, Field(ge=0, le=1_000_000)]


class PrimeArguments(Arguments):
    budget: _Tokens | None = Field(
        default=None,
        description="Tokens the text may have, about; 0 = no limit. The installation's default is 2000.",
    )
    types: list[Type] | None = Field(default=None, description="Only these types.", max_length=50)
    tags: list[str] | None = Field(default=None, description="Only notes with one of these tags.", max_length=50)
    recent: int | None = Field(
        default=None, description="Only notes of the last so many days; 0 = all.", ge=0, le=36_500
    )
    format: context_budget.Format = Field(default="markdown", description="markdown: as a memories.md; json: a list.")


@tool()
def prime_memories(call: Call, arguments: PrimeArguments) -> Answer:
    commit = reads.head(call.owner)
    filters = context_budget.ContextFilters(
        types=arguments.types or (), tags=arguments.tags or (), recent=arguments.recent or 0
    )
    primed = guidance.prime(call.owner, budget=arguments.budget, filters=filters, format=arguments.format)
    folded = catalogue(call.owner).fold(primed.included, str)
    told = [f"{id_}{representations.said_too(same)}" for id_, same in folded if same] + _cut(primed)
    text = "\n".join(
        [primed.text or "There are no memories to show.", *(told if arguments.format == "markdown" else ())]
    )
    return Answer(text, {"text": invisible.escaped(primed.text), "receipt": _receipt(primed, commit)})


def _cut(primed: context_budget.Primed) -> list[str]:
    """Return the sentence about what the budget kept out; nothing where it kept out none."""
    out = primed.over
    over = f" Already the first is more than the budget of {primed.budget} tokens." if primed.is_over_budget else ""
    finds = f", {finder} finds single ones" if is_listed(finder := in_list("recall")) else ""
    how = f"({out} more are left out for the budget: budget=0 brings all{finds}.{over})"
    return [how] if out or over else []


class ContextArguments(Arguments):
    budget: _Tokens | None = Field(
        default=None,
        description="Tokens the whole text may have, about, guides included; 0 = no limit. Notes have up to a third of "
        "what the guides leave. By default MEMORIES_BLOCKS_BUDGET for blocks and MEMORIES_BUDGET for notes.",
    )


@endpoint()
def context_read(call: Call, arguments: ContextArguments) -> Answer:
    context = guidance.context_of(call.owner, budget=arguments.budget)
    block_reads.note(call, arguments.session_id, {block.label: block.body_sha256 for block in context.blocks})
    data: dict[str, Any] = {
        "blocks": [
            {"label": block.label, "title": block.display_title, "sha256": block.body_sha256}
            for block in context.blocks
        ],
        "blocks_receipt": _counted([block.label for block in context.blocks], context.left_out, context),
        "inject": settings.MEMORIES_INJECT if settings.MEMORIES_ENABLED else "none",
        "receipt": _receipt(context.primed, context.commit) if context.primed else None,
    }
    return Answer(context.text, data)


def _receipt(primed: context_budget.Primed, commit: str) -> dict[str, Any]:
    left_out = [{"note_id": id_, "why": why} for id_, why in primed.left_out]
    counted = {"left_out_count": primed.left_out_count, "over_budget": primed.is_over_budget, "commit": commit}
    return _counted(primed.included, left_out, primed) | counted


def _counted(
    included: Sequence[str], left_out: Sequence[Any], of: guidance.Context | context_budget.Primed
) -> dict[str, Any]:
    named = left_out[: context_budget.MOST_NAMED]
    shown = {"included": list(included), "left_out": named, "left_out_count": len(left_out)}
    return shown | {"tokens": of.tokens, "budget": of.budget}
