"""Reading blocks: list_memory_blocks, read_memory_block, and a block's history.

The texts of reading and listing are those of the agent contract; new blocks that wait are listed below them.
"""

from typing import Annotated, Any

from pydantic import Field

from agent_tools.answers import bounds, fields, paging, refusals, representations
from agent_tools.calls.arguments import BoundedArguments, Name
from agent_tools.calls.registry import Answer, Call, endpoint, tool
from agent_tools.tools import block_reads
from agent_tools.tools.note_arguments import version_field
from approvals.models import Kind, Proposal, ProposalQuerySet
from memory_app import reads
from memory_app.databases.prepared import Prepared
from memory_app.models import Change, TargetKind

#: Beside a list of blocks, whose text says only what is in the memory.
WAITING = fields.listed("waiting", fields.OPEN_PROPOSAL)


class BlockListArguments(paging.PagedArguments, BoundedArguments):
    limit: int = Field(default=paging.MOST, description="How many at most.", ge=1, le=paging.MOST)


@tool(returns=fields.paged(fields.BLOCK) | WAITING)
def list_memory_blocks(call: Call, arguments: BlockListArguments) -> Answer:
    return _blocks_after(call, arguments)


@endpoint(returns=fields.paged(fields.BLOCK) | WAITING)
def block_list(call: Call, arguments: paging.PagedArguments) -> Answer:
    return _blocks_after(call, arguments)


READ = {
    **fields.BLOCK,
    "body": "string: the text, or the lines asked for",
    **fields.PART,
    "commit": "string: the commit it was read at",
    "as_of": "string | null: as given, or null",
    **fields.listed("open_proposals", fields.OPEN_PROPOSAL),
    "open_proposals_left_out": "integer: how many more there are, which list_proposals names",
}


class ReadArguments(BoundedArguments):
    block_label: Name = Field(description='The label/identifier of the block to read (e.g., "student", "goals").')
    as_of: Annotated[str | None, version_field("Read the block")] = None
    view_range: bounds.ViewRange = None
    line_numbers: bool = Field(default=False, description="Show the number of each line, as view_range counts them.")


@tool(returns=READ, is_exact=True)
def read_memory_block(call: Call, arguments: ReadArguments) -> Answer:
    with refusals.explained(representations.Subject(call, label=arguments.block_label, as_of=arguments.as_of)):
        commit, block = _at(call, arguments.block_label, arguments.as_of)
    most = bounds.characters(arguments)
    part = bounds.cut(call, block.body, arguments.view_range, most)
    if arguments.as_of is None:
        block_reads.note_part(call, arguments.session_id, block.label, block.body_sha256, part)
    waiting = representations.open_proposals(
        _OWN_OPEN.all(agent=call.caller.agent.pk, owner=call.owner, label=block.label)
    )
    told = bounds.that_fit(waiting, most)
    data = representations.block(block) | {
        "body": part.text,
        **part.fields,
        "commit": commit,
        "as_of": arguments.as_of,
        "open_proposals": waiting[:told],
        "open_proposals_left_out": len(waiting) - told,
    }
    shown = part.numbered if arguments.line_numbers else part.text
    heading = "" if arguments.line_numbers or arguments.view_range else f"# {block.display_title}\n\n"
    return Answer(f"{heading}{shown or '(empty)'}{part.rest('read_memory_block')}", data)


class HistoryArguments(paging.PagedArguments):
    block_label: Name = Field(description="The block.")


@endpoint(returns=fields.paged(fields.CHANGE))
def block_history(call: Call, arguments: HistoryArguments) -> Answer:
    label = arguments.block_label
    before = paging.after(call, arguments, int)
    found = reads.history(call.owner, TargetKind.BLOCK, label, limit=arguments.limit + 1, before=before)
    block = reads.find_block(call.owner, label)
    if not call.may_read_deleted:
        # The reasons and comments before tell of another block, which was deleted.
        found = tuple(change for change in found if block and _is_of(change, block))
    if block is None and not found and (before is None or not call.may_read_deleted):
        raise refusals.explain(reads.BlockNotFound(label), representations.Subject(call, label=label))
    changes, cursor = paging.page(call, found, arguments, lambda change: change.pk)
    reasons = dict(
        Proposal.objects.of_owner(call.owner)
        .filter(pk__in=[change.proposal_id for change in changes if change.proposal_id])
        .values_list("pk", "reasoning")
    )
    items = [representations.change(change, reasons) for change in changes]
    text = "\n".join(map(_happened, items)) or "Nothing has happened to this block yet."
    return Answer(text + paging.more(cursor), {"items": items, "next": cursor})


def _happened(item: dict[str, Any]) -> str:
    """Return a line about an entry of the history: who decided, who proposed, and why."""
    proposed = f", proposed by {item['agent']} (proposal {item['proposal_id']})" if item["proposal_id"] else ""
    said = "".join(f" {words}" for words in (item["reasoning"], item["comment"]) if words)
    return f"- {item['at']} {item['action']} by {item['actor'] or 'nobody'}{proposed}{':' if said else ''}{said}"


def _is_of(change: Change, block: reads.Block) -> bool:
    """Whether a change is one of this block, and not of one of the same label that was deleted before."""
    # A commit that `recover` found in the log has whole seconds.
    began = block.created_at if change.at.microsecond else block.created_at.replace(microsecond=0)
    return change.at >= began


def _blocks_after(call: Call, arguments: paging.PagedArguments) -> Answer:
    """Return a page of the blocks."""
    last = paging.after(call, arguments, str)
    blocks = [block for block in reads.blocks(call.owner) if last is None or block.label > last]
    found = blocks[: arguments.limit + 1]
    every = [representations.block(block) for block in found]
    items, cursor = paging.page_that_fits(call, found, every, arguments, lambda block: block.label)
    text = "No memory blocks exist for this student yet."
    if items:
        text = "\n".join(["Available memory blocks:", "", *(f"- {each['label']}: {each['title']}" for each in items)])
    text += paging.more(cursor)
    waiting = [] if last else _OWN_NEW.all(agent=call.caller.agent.pk, owner=call.owner)
    told = representations.open_proposals(waiting)
    if told:
        lines = [f"- {each.target}: {each.target_title} (proposal {each.pk}, {each.status})" for each in waiting]
        text = "\n".join([text, "", "Proposed by you, and not in the memory yet:", "", *lines])
    return Answer(text, {"items": items, "next": cursor, "waiting": told})


def _at(call: Call, label: str, as_of: str | None) -> tuple[str, reads.Block]:
    if as_of is None:
        return reads.snapshot(call.owner, label)
    commit = reads.resolve_revision(call.owner, as_of)
    return commit, reads.block_at(call.owner, label, commit, with_deleted=call.may_read_deleted)


#: What `representations.open_proposals` shows; a proposal has thirty columns, some of them long.
_SHOWN = ("id", "target_kind", "target", "target_title", "status", "mergeability", "reasoning", "created_at")


def _own(agent: int, owner: str, **about: str) -> ProposalQuerySet:
    of_blocks = Proposal.objects.filter(agent=agent, target_kind=TargetKind.BLOCK, **about)
    return of_blocks.of_owner(owner).pending().only(*_SHOWN).order_by("created_at", "id")


_OWN_NEW = Prepared(lambda agent, owner: _own(agent, owner, kind=Kind.CREATE_BLOCK), agent=int, owner=str)
_OWN_OPEN = Prepared(lambda agent, owner, label: _own(agent, owner, target=label), agent=int, owner=str, label=str)
