"""Proposing: propose_memory_edit, and the endpoint that takes a whole body or a list of edits.

Checks run in the order of the agent contract: identical strings, empty old_string, reasoning, block, match; the last
two in `approvals.services.propose`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Literal

import structlog
from pydantic import Field

from agent_tools.answers import fields, refusals, representations, talk
from agent_tools.answers.subject import Subject
from agent_tools.auth import grants
from agent_tools.calls.api_operation import Answer, Call
from agent_tools.calls.arguments import ProposeArguments, Strict, given
from agent_tools.calls.parsing import invalid
from agent_tools.calls.registry import endpoint, tool
from agent_tools.errors import ApiError, ErrorCode
from agent_tools.models import Scope
from approvals import services
from approvals.models import Kind, Status
from approvals.review.turn.change_requests import change_request
from memory_app.text import edits

log = structlog.get_logger(__name__)

_BlockLabel = Annotated[
    str,
    Field(description='The label of the block to edit (e.g., "student", "goals").', min_length=1, max_length=200),
]
_OldString = Annotated[
    str, Field(description="The exact text to find and replace. Must be unique unless replace_all=True.")
]
_NewString = Annotated[str, Field(description="The text to replace it with. Must be different from old_string.")]
_ReplaceAll = Annotated[
    bool,
    Field(description="If True, replace all occurrences. If False (default), old_string must be unique."),
]
_ExpectedReplacements = Annotated[
    int | None,
    Field(
        description="How many occurrences you count on replacing; refused when there are more or fewer.",
        ge=1,
        le=100_000,
    ),
]


#: Not part of a corrected call: the key has its answer already, and the right old_string occurs once.
_OF_THE_FAILED_CALL = {"idempotency_key", "expected_replacements"}


class EditArguments(ProposeArguments):
    block_label: _BlockLabel
    old_string: _OldString
    new_string: _NewString
    replace_all: _ReplaceAll = False
    expected_replacements: _ExpectedReplacements = None


@tool(
    description=(
        "Propose an edit to a memory block using string replacement. "
        "The edit will be submitted as a proposal that requires user approval. "
        "The old_string must match exactly (including whitespace) and must be unique in the block unless "
        "replace_all is True. IMPORTANT: You must read the memory block first to see its exact content. "
        "The edit will FAIL if old_string is not found or is not unique."
    ),
    scope=Scope.MEMORY_PROPOSE,
    failing="Error creating edit proposal",
    returns=fields.PROPOSED,
    target="block_label",
)
def propose_memory_edit(call: Call, arguments: EditArguments) -> Answer:
    edit = _replace(arguments)

    def corrected(index: int, old_string: str, new_string: str) -> dict[str, Any]:
        return given(arguments, without=_OF_THE_FAILED_CALL) | {"old_string": old_string, "new_string": new_string}

    return _propose(call, arguments.block_label, (edit,), Kind.EDIT, arguments, corrected)


class EditItem(Strict):
    """One replacement of several."""

    old_string: _OldString
    new_string: _NewString
    replace_all: _ReplaceAll = False
    expected_replacements: _ExpectedReplacements = None


class BlockProposeArguments(ProposeArguments):
    block_label: _BlockLabel
    body: Annotated[str | None, Field(description="The whole new text of the block.")] = None
    edits: Annotated[
        list[EditItem] | None,
        Field(
            description="Replacements, made in order, all or none. Give either this or body.",
            min_length=1,
            max_length=100,
        ),
    ] = None


@endpoint(
    called="a proposal to a block",
    description="Propose a whole new text for a block (`body`), or several replacements in it (`edits`).",
    scope=Scope.MEMORY_PROPOSE,
    failing="Error creating edit proposal",
    returns=fields.PROPOSED,
    target="block_label",
)
def block_propose(call: Call, arguments: BlockProposeArguments) -> Answer:
    if (arguments.body is None) == (arguments.edits is None):
        both = "takes either body or edits, not both" if arguments.body is not None else "or edits is required"
        raise invalid({"body": both}, called=call.called)
    if arguments.body is not None:
        rewrite = edits.Rewrite(arguments.body)
        return _propose(call, arguments.block_label, (rewrite,), Kind.REWRITE, arguments)
    items = arguments.edits or []

    def corrected(index: int, old_string: str, new_string: str) -> dict[str, Any]:
        again = given(arguments, without={"block_label"} | _OF_THE_FAILED_CALL)
        again["edits"][index] |= {"old_string": old_string, "new_string": new_string}
        again["edits"][index].pop("expected_replacements", None)
        return again

    changes = tuple(_replace(item) for item in items)
    return _propose(call, arguments.block_label, changes, Kind.EDIT, arguments, corrected)


def _replace(item: EditArguments | EditItem) -> edits.Replace:
    return edits.Replace(
        old_string=item.old_string,
        new_string=item.new_string,
        replace_all=item.replace_all,
        expected_replacements=item.expected_replacements,
    )


def _propose(
    call: Call,
    label: str,
    changes: tuple[edits.Edit, ...],
    kind: Literal[Kind.EDIT, Kind.REWRITE],
    arguments: ProposeArguments,
    corrected: Callable[[int, str, str], dict[str, Any]] | None = None,
) -> Answer:
    """Check in the order of the contract, propose, and return what came of it.

    Args:
        corrected: the arguments of the call that would work, from an edit's index and its right
            old_string and new_string.
    """
    subject = Subject(
        call,
        label=label,
        edits=changes,
        corrected=corrected,
        proposal_id=arguments.proposal_id or 0,
        amends=arguments.proposal_id is not None,
    )
    with refusals.explained(subject):
        edits.check(changes)
        if not arguments.reasoning.strip():
            raise ApiError(
                ErrorCode.MISSING_REASONING,
                "reasoning is required to explain the edit to the user.",
                details={"fields": {"reasoning": "is required"}},
            )
        # What is amended was handed to a person before, and is decided by one.
        verb = partial(services.propose, may_apply=grants.has_scope(call.caller.token, Scope.NOTES_WRITE))
        if arguments.proposal_id is not None:
            verb = partial(services.amend, proposal_id=arguments.proposal_id)
        outcome = verb(
            agent=call.caller.agent,
            owner=call.owner,
            label=label,
            edits=changes,
            kind=kind,
            reasoning=arguments.reasoning.strip(),
            confidence=arguments.confidence,
            session_id=arguments.session_id,
            evidence=[turn.model_dump(exclude_none=True) for turn in arguments.evidence],
            expected_sha256=arguments.expected_sha256,
            operation=call.operation,
            may_read=call.may_read,
        )
    if outcome.created:
        log.info(
            "memory_edit_proposed",
            user_id=call.owner,
            block_label=label,
            branch_name=outcome.revision.branch,
            occurrences_replaced=outcome.occurrences,
        )
    text = _summary(outcome, label, arguments.reasoning, may_read=call.may_read)
    return Answer(text, representations.proposed(outcome, may_read=call.may_read))


def _summary(outcome: services.Proposed, label: str, reasoning: str, *, may_read: bool) -> str:
    number = outcome.proposal.pk
    if outcome.amended:
        first = (
            f"Your proposal {number} for block '{label}' is amended: this is its revision {outcome.revision.number}. "
            f"The user will be asked to approve this change. "
            f"Reasoning provided: {reasoning}"
        )
        then = "get_proposal tells what became of it."
    elif outcome.proposal.is_with_agent:
        asked = change_request(outcome.proposal)
        first = f"Your proposal {number} for block '{label}' asks for exactly this already; nothing new was made."
        then = representations.told(outcome.proposal, asked)
    elif outcome.proposal.status == Status.APPLIED and outcome.created:
        first = (
            f"Edit applied to block '{label}' at once: a rule of the user lets it through. "
            f"Reasoning provided: {reasoning}"
        )
        then = f"The user sees it as automatic, with proposal {number}, and can revert it."
    elif outcome.created:
        first = (
            f"Edit proposal created for block '{label}'. "
            f"The user will be asked to approve this change. "
            f"Reasoning provided: {reasoning}"
        )
        then = f"It is proposal {number}; get_proposal tells what became of it." + talk.why_it_waits(outcome.proposal)
    else:
        first = f"Your proposal {number} for block '{label}' asks for exactly this already; nothing new was made."
        then = "The user will be asked to approve it."
    return "\n".join([first, then, *(outcome.warnings if may_read else ())])
