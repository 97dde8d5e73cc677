"""Proposing changes of memory blocks: the tools, in the order agents meet them, and what they have in common.

Every call is checked in the order of the contract: identical strings, empty old_string, reasoning, block, match;
`approvals.services` does the last two. What the edits are is `memory_app.text.edits`, what is answered
`answers.outcomes`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any

import structlog
from pydantic import Field

from agent_tools.answers import fields, outcomes, refusals
from agent_tools.answers.representations import Subject
from agent_tools.calls.arguments import Name, ProposeArguments, ReasonedArguments, Strict, invalid, required_names
from agent_tools.calls.registry import Answer, Call, endpoint, for_list, tool
from agent_tools.errors import ApiError, ErrorCode
from agent_tools.tools import block_reads
from agent_tools.tools.note_arguments import said_with
from approvals import services
from approvals.models import Kind, Revision
from approvals.review.targets import new_block_of
from approvals.services.proposing import own_proposal
from memory_app import reads
from memory_app.text import edits, sections

log = structlog.get_logger(__name__)

#: Characters of a line of the block in an answer, and lines that have the content already.
_LINE_SHOWN, _LINES_SHOWN = 80, 10
#: Headers of new content in a warning, and characters of a header.
_HEADERS_SHOWN, _HEADER_SHOWN = 5, 200

#: The tools that change only what is named.
_ATOMIC = (
    "propose_memory_edit propose_memory_edits propose_memory_append propose_memory_prepend propose_memory_insert "
    "propose_section_update"
)


# -- What all of them do.


def made(call: Call, label: str, changes: tuple[edits.Edit, ...], arguments: ProposeArguments) -> services.Proposed:
    """Propose the edits, or amend the proposal that is named. Raise ApiError for what is refused."""
    with refusals.explained(Subject.of_write(call, arguments, label=label, edits=changes)):
        edits.check(changes)
        _require_reasoning(arguments)
        if (waiting := _waiting_new(call, label, arguments)) and (new := new_block_of(waiting)):
            text = edits.apply(waiting.result_text, changes).text
            return made_block(call, arguments, label=label, title=new.title, body=text, description=new.description)
        kind = Kind.REWRITE if isinstance(changes[0], edits.Rewrite) else Kind.EDIT
        more = _said(call, arguments) | {"expected_sha256": arguments.expected_sha256}
        outcome = services.propose(label=label, edits=changes, kind=kind, **more)
    if outcome.created:
        log.info(
            "memory_edit_proposed",
            user_id=call.owner,
            block_label=label,
            branch_name=outcome.revision.branch,
            occurrences_replaced=outcome.occurrences,
        )
    return replace(outcome, asked=changes)


def made_block(
    call: Call, arguments: ReasonedArguments, *, label: str, title: str, body: str, description: str
) -> services.Proposed:
    """Propose a new block, or amend the proposal that is named. Raise ApiError for what is refused."""
    with refusals.explained(Subject.of_write(call, arguments, label=label, is_of_whole_block=True)):
        _require_reasoning(arguments)
        said = _said(call, arguments)
        outcome = services.propose_block(label=label, title=title, body=body, description=description, **said)
    if outcome.created:
        log.info("memory_block_proposed", user_id=call.owner, block_label=label)
    return outcome


def _waiting_new(call: Call, label: str, arguments: ProposeArguments) -> Revision | None:
    """Return the new block that the named proposal of the agent's makes and that waits; None for no such."""
    if arguments.proposal_id is None or reads.find_block(call.owner, label):
        return None
    proposal = own_proposal(call.caller.agent, call.owner, arguments.proposal_id)
    is_it = proposal.kind == Kind.CREATE_BLOCK and proposal.target == label and not proposal.is_decided
    return proposal.current_revision if is_it else None


def _said(call: Call, arguments: ReasonedArguments) -> dict[str, Any]:
    """Return what every service that proposes takes beside the change: who asks, and why."""
    who = {"agent": call.caller.agent, "owner": call.owner, "confidence": arguments.confidence}
    return who | said_with(call, arguments)


def _require_reasoning(arguments: ReasonedArguments) -> None:
    """Raise ApiError (missing_reasoning) where a tool needs one and there is none."""
    if not arguments.reasoning.strip() and "reasoning" in required_names(type(arguments)):
        message = "reasoning is required to explain the edit to the user."
        raise ApiError(ErrorCode.MISSING_REASONING, message, details={"fields": {"reasoning": "is required"}})


class BlockEditArguments(ProposeArguments):
    block_label: Name = Field(description='The label of the block to edit (e.g., "student", "goals").')


#: A tool that proposes edits of a block.
_tool = partial(tool, failing="Error creating edit proposal", returns=fields.PROPOSED)


# -- Replacing passages: propose_memory_edit and propose_memory_edits.


class EditItem(Strict):
    """One replacement, alone or of several."""

    old_string: str = Field(description="The exact text to find and replace. Must be unique unless replace_all=True.")
    new_string: str = Field(description="The text to replace it with. Must be different from old_string.")
    replace_all: bool = Field(
        default=False, description="If True, replace all occurrences. If False (default), old_string must be unique."
    )
    expected_replacements: int | None = Field(
        default=None,
        description="How many occurrences you expect; refused when there are more or fewer.",
        ge=1,
        le=100_000,
    )


class EditArguments(EditItem, BlockEditArguments):
    pass


EditItems = Annotated[
    list[EditItem],
    Field(
        description="Replacements, made in this order, each on what the one before left: all or none.",
        min_length=1,
        max_length=100,
    ),
]


def _replace(call: Call, arguments: BlockEditArguments, items: Sequence[EditItem]) -> Answer:
    asked = set(EditItem.model_fields)
    changes = tuple(edits.Replace(**item.model_dump(include=asked)) for item in items)
    return outcomes.of_block(made(call, arguments.block_label, changes, arguments), arguments)


@_tool()
def propose_memory_edit(call: Call, arguments: EditArguments) -> Answer:
    return _replace(call, arguments, [arguments])


class EditsArguments(BlockEditArguments):
    edits: EditItems


@_tool()
def propose_memory_edits(call: Call, arguments: EditsArguments) -> Answer:
    return _replace(call, arguments, arguments.edits)


# -- Adding without a need to read first: propose_memory_append, propose_memory_prepend, propose_memory_insert.


class AddArguments(BlockEditArguments):
    content: str = Field(
        description="The text to add, as lines of its own. An empty block is filled with it.", min_length=1
    )


class AppendArguments(AddArguments):
    title: str | None = Field(
        default=None,
        description="To begin a new block where none has this label: what people see it called.",
        max_length=200,
    )


@_tool()
def propose_memory_append(call: Call, arguments: AppendArguments) -> Answer:
    label, title = arguments.block_label, arguments.title
    if title is not None and not arguments.proposal_id and reads.find_block(call.owner, label) is None:
        given = arguments.model_dump(exclude={"block_label", "content", "title", "expected_sha256"})
        new = NewBlockArguments.model_validate(given | {"label": label, "title": title, "body": arguments.content})
        return propose_memory_block.run(call, new)
    return _add(call, arguments, edits.Append(arguments.content, own_line=True), "the block's last line", "content")


@_tool()
def propose_memory_prepend(call: Call, arguments: AddArguments) -> Answer:
    return _add(call, arguments, edits.Prepend(arguments.content, own_line=True), "content", "the block")


def _is_of_text(outcome: services.Proposed) -> bool:
    """Whether it is a new change of a block's text: neither an equal one, nor of a block that waits itself."""
    return outcome.created and outcome.proposal.kind != Kind.CREATE_BLOCK


def _add(
    call: Call, arguments: BlockEditArguments, edit: edits.Append | edits.Prepend, before: str, after: str
) -> Answer:
    """Propose to add text at one end.

    Args:
        before, after: what meets there, in words.
    """
    outcome = made(call, arguments.block_label, (edit,), arguments)
    if not _is_of_text(outcome):
        return outcomes.of_block(outcome, arguments)
    has_gap = edits.gap(outcome.revision.base_text, edit)
    placed = (f"A line end was put between {before} and {after}.",) if has_gap else ()
    return outcomes.of_block(outcome, arguments, placed=placed, warnings=_there_before(edit, outcome))


class InsertArguments(AddArguments):
    insert_line: int = Field(
        description="The line after which the content is put, as read_memory_block numbers them with line_numbers: "
        "0 = at the start, 1 = after the block's own first line.",
        # Not `ge`: which lines there are is said by the refusal.
        json_schema_extra={"minimum": 0},
    )


@_tool()
def propose_memory_insert(call: Call, arguments: InsertArguments) -> Answer:
    edit = edits.Insert(arguments.insert_line, arguments.content)
    outcome = made(call, arguments.block_label, (edit,), arguments)
    if not _is_of_text(outcome):
        return outcomes.of_block(outcome, arguments)
    warnings = list(_there_before(edit, outcome))
    if outcome.block and block_reads.is_read_as_it_is(call, arguments.session_id, outcome.block) is False:
        warnings.insert(0, "Warning: the block has changed since you read it, so its lines may have other numbers now.")
    return outcomes.of_block(outcome, arguments, placed=(_after(edit, outcome.revision.base_text),), warnings=warnings)


def _after(edit: edits.Insert, text: str) -> str:
    if not edit.line:
        return "It goes before the first line."
    line = edits.line_before(text, edit)
    if not line.strip():
        return f"It goes after line {edit.line}, which is empty."
    shown = line if len(line) <= _LINE_SHOWN else f"{line[:_LINE_SHOWN]}…"
    return f"It goes after line {edit.line}: {shown}"


def _there_before(edit: edits.Append | edits.Prepend | edits.Insert, outcome: services.Proposed) -> Sequence[str]:
    """Return a warning about lines that the block has already: the same call twice adds them twice."""
    lines = edits.occurs_as_lines(outcome.revision.base_text, edit.content)
    if not lines:
        return ()
    where = ("line " if len(lines) == 1 else "lines ") + ", ".join(map(str, lines[:_LINES_SHOWN]))
    number = outcome.proposal.pk
    return (
        for_list(
            f"Warning: the block has this text already ({where}). If it is to be there only once, take the proposal "
            f"back: withdraw_proposal with proposal_id={number}."
        ).rstrip(),
    )


# -- Updating a section: propose_section_update.


class SectionItem(Strict):
    """Which section, and what is to be in it."""

    section_header: str = Field(description='Its header (e.g., "## Goals").', min_length=1, max_length=2_000)
    new_content: str = Field(description="The new content without the header; may be empty.")
    section_line: int | None = Field(
        default=None, description="The line of the header, where several sections have the same.", ge=1
    )


def section_update(item: SectionItem) -> edits.SectionUpdate:
    """Return the edit that is asked for; a header at the beginning of the content is not put in twice."""
    content = sections.without_header(item.new_content, item.section_header)
    return edits.SectionUpdate(item.section_header, content, item.section_line)


class SectionArguments(SectionItem, BlockEditArguments):
    pass


@_tool()
def propose_section_update(call: Call, arguments: SectionArguments) -> Answer:
    edit = section_update(arguments)
    content = edit.content
    outcome = made(call, arguments.block_label, (edit,), arguments)
    if not _is_of_text(outcome):
        return outcomes.of_block(outcome, arguments)
    section = sections.find(outcome.revision.base_text, edit.header, line=edit.line)
    placed = [f"It is the section on line {section.line}: {section.header[:_HEADER_SHOWN]}"]
    if content != arguments.new_content:
        placed.append("Your new_content began with this header, which stays as it is and is not put in twice.")
    warnings = []
    kept = {each.header for each in sections.sections(content)}
    inner = [each for each in sections.sections(outcome.revision.base_text) if section.start < each.start < section.end]
    if gone := [each.header[:_HEADER_SHOWN] for each in inner if each.header not in kept]:
        named = "; ".join(gone[:_HEADERS_SHOWN])
        warnings.append(f"Warning: the subsections of it that new_content does not have are removed: {named}.")
    if beside := sections.headers_beside(content, section.level):
        named = "; ".join(header[:_HEADER_SHOWN] for header in beside[:_HEADERS_SHOWN])
        warnings.append(
            f"Warning: new_content has headers that begin sections beside this one, not in it: {named}. Give them "
            f"more than {section.level} # to make them its subsections."
        )
    return outcomes.of_block(outcome, arguments, placed=placed, warnings=warnings)


# -- Replacing a whole text: propose_memory_rewrite, and the endpoint that takes a body or a list of edits.


class RewriteArguments(BlockEditArguments):
    content: str = Field(description="The whole new text of the block. What is not in it is gone from the block.")


@_tool()
def propose_memory_rewrite(call: Call, arguments: RewriteArguments) -> Answer:
    return _rewrite(call, arguments, arguments.content)


class BlockProposeArguments(BlockEditArguments):
    body: str | None = Field(default=None, description="The whole new text of the block.")
    edits: EditItems | None = None


@endpoint(returns=fields.PROPOSED)
def block_propose(call: Call, arguments: BlockProposeArguments) -> Answer:
    if (arguments.body is None) == (arguments.edits is None):
        both = "takes either body or edits, not both" if arguments.body is not None else "or edits is required"
        raise invalid({"body": both}, called=call.called)
    if arguments.body is not None:
        return _rewrite(call, arguments, arguments.body)
    return _replace(call, arguments, arguments.edits or [])


def _rewrite(call: Call, arguments: BlockEditArguments, content: str) -> Answer:
    label = arguments.block_label
    block = reads.find_block(call.owner, label)
    body = _without_title(block, content) if block else content
    is_read = block_reads.is_read_as_it_is(call, arguments.session_id, block) if block else True
    outcome = made(call, label, (edits.Rewrite(body, is_of_older=is_read is False),), arguments)
    placed = (_TITLE_LEFT_OUT,) if body != content else ()
    if not (outcome.created or outcome.amended):
        return outcomes.of_block(outcome, arguments, placed=placed)
    warnings = block_reads.unread(outcome, is_read, arguments.session_id, named=f"block '{label}'", atomic=_ATOMIC)
    return outcomes.of_block(outcome, arguments, placed=placed, warnings=warnings)


_TITLE_LEFT_OUT = (
    "Your content began with the block's title, which is shown above the text and is no part of it: that heading was "
    "left out."
)


def _without_title(block: reads.Block, content: str) -> str:
    """Return the content without the heading that a block was read under, unless its own text begins with that."""
    first, _, rest = content.partition("\n")
    rest = rest.lstrip("\r\n")
    if first.rstrip() != f"# {block.display_title}":
        return content
    is_its_own = block.body.startswith(first) and not rest.startswith(first)
    return content if is_its_own else rest


# -- Whole blocks: propose_memory_block and propose_block_deletion.


class NewBlockArguments(ReasonedArguments):
    label: Name = Field(
        description="The name of the new block in every call: lower-case letters, digits, dash and underscore, at "
        'most 64 (e.g., "study_plan"). It never changes.'
    )
    title: str = Field(
        description="What people see it called, in one line; empty for the label itself.", max_length=200
    )
    body: str = Field(description="The text of the block, in Markdown. May be empty.")
    description: str = Field(
        default="", description="What belongs in this block, for people and for agents.", max_length=1_000
    )


@tool(returns=fields.PROPOSED)
def propose_memory_block(call: Call, arguments: NewBlockArguments) -> Answer:
    title, description = arguments.title.strip(), arguments.description.strip()
    outcome = made_block(
        call, arguments, label=arguments.label, title=title, body=arguments.body, description=description
    )
    return outcomes.of_block(outcome, arguments)


class BlockDeletionArguments(ProposeArguments):
    block_label: Name = Field(description="The label of the block to delete.")


@tool(returns=fields.PROPOSED)
def propose_block_deletion(call: Call, arguments: BlockDeletionArguments) -> Answer:
    label = arguments.block_label
    with refusals.explained(Subject.of_write(call, arguments, label=label, is_of_whole_block=True)):
        _require_reasoning(arguments)
        outcome = services.propose_deletion(
            label=label, expected_sha256=arguments.expected_sha256, **_said(call, arguments)
        )
    if outcome.created:
        log.info("block_deletion_proposed", user_id=call.owner, block_label=label)
    return outcomes.of_block(outcome, arguments)
