"""Proposing whole blocks: propose_memory_block and propose_block_deletion.

Checks run in the order of the agent contract: what was given, reasoning, block. What a block may be is checked in
`approvals.services.whole_blocks`.
"""

from __future__ import annotations

from typing import Annotated

import structlog
from pydantic import Field

from agent_tools.answers import fields, outcomes, refusals
from agent_tools.answers.representations import Subject
from agent_tools.calls.api_operation import Answer, Call
from agent_tools.calls.arguments import ProposeArguments, ReasonedArguments
from agent_tools.calls.registry import tool
from agent_tools.models import Scope
from agent_tools.tools.propose.proposing import require_reasoning, said
from approvals import services

log = structlog.get_logger(__name__)


class NewBlockArguments(ReasonedArguments):
    label: Annotated[
        str,
        Field(
            description="The name of the new block in every call: lower-case letters, digits, dash and underscore, at "
            'most 64 (e.g., "study_plan"). It never changes.',
            min_length=1,
            max_length=200,
        ),
    ]
    title: Annotated[
        str, Field(description="What people see it called, in one line; empty for the label itself.", max_length=200)
    ]
    body: Annotated[str, Field(description="The text of the block, in Markdown. May be empty.")]
    description: Annotated[
        str, Field(description="What belongs in this block, for people and for agents.", max_length=1_000)
    ] = ""


@tool(
    description=(
        "Propose a new memory block for longer text about the user that has no block yet. "
        "The block will be submitted as a proposal that requires user approval; until then it cannot be read. "
        "Call list_memory_blocks first: text that belongs in an existing block is proposed as an edit of that block."
    ),
    scope=Scope.MEMORY_PROPOSE,
    failing="Error creating block proposal",
    returns=fields.PROPOSED,
    target="label",
)
def propose_memory_block(call: Call, arguments: NewBlockArguments) -> Answer:
    with refusals.explained(Subject.of_write(call, arguments, label=arguments.label, is_of_whole_block=True)):
        require_reasoning(arguments)
        outcome = services.propose_block(
            label=arguments.label,
            title=arguments.title.strip(),
            body=arguments.body,
            description=arguments.description.strip(),
            **said(call, arguments),
        )
    first = f"Block proposal created for block '{arguments.label}'."
    if outcome.created:
        log.info("memory_block_proposed", user_id=call.owner, block_label=arguments.label)
    return _answer(call, outcome, first, arguments)


class BlockDeletionArguments(ProposeArguments):
    block_label: Annotated[str, Field(description="The label of the block to delete.", min_length=1, max_length=200)]


@tool(
    description=(
        "Propose to delete a whole memory block, with all of its text. "
        "The deletion will be submitted as a proposal that always requires user approval. "
        "To remove a part of the text, propose an edit instead."
    ),
    scope=Scope.MEMORY_PROPOSE,
    failing="Error creating deletion proposal",
    returns=fields.PROPOSED,
    target="block_label",
)
def propose_block_deletion(call: Call, arguments: BlockDeletionArguments) -> Answer:
    with refusals.explained(Subject.of_write(call, arguments, label=arguments.block_label, is_of_whole_block=True)):
        require_reasoning(arguments)
        outcome = services.propose_deletion(
            label=arguments.block_label,
            expected_sha256=arguments.expected_sha256,
            **said(call, arguments),
        )
    first = f"Deletion proposal created for block '{arguments.block_label}'."
    if outcome.created:
        log.info("block_deletion_proposed", user_id=call.owner, block_label=arguments.block_label)
    return _answer(call, outcome, first, arguments)


def _answer(call: Call, outcome: services.Proposed, made: str, arguments: ReasonedArguments) -> Answer:
    applied = f"Block '{outcome.proposal.target}' created"
    return outcomes.answer(
        outcome, outcomes.words_of_block(outcome, made=made, applied=applied, reasoning=arguments.reasoning)
    )
