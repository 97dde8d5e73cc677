"""What all proposing tools do: check in the order of the contract, propose or amend, and say what came of it.

The order is: identical strings, empty old_string, reasoning, block, match; `approvals.services.propose` does the last
two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import structlog

from agent_tools.answers import outcomes, refusals
from agent_tools.answers.representations import Subject
from agent_tools.calls.api_operation import Answer, Call
from agent_tools.calls.arguments import ProposeArguments, ReasonedArguments, given
from agent_tools.errors import ApiError, ErrorCode
from approvals import services
from approvals.models import Kind
from memory_app.text import edits

log = structlog.get_logger(__name__)

#: Not part of a corrected call: the key has its answer already, and the right old_string occurs once.
OF_THE_FAILED_CALL = {"idempotency_key", "expected_replacements"}

#: The arguments of a call that would work, from an edit's index and what is other than in the failed one.
Corrected = Callable[[int, dict[str, Any]], dict[str, Any]]
#: Returns sentences for the agent about what was proposed: what to look out for, and where it stands.
Remark = Callable[[services.Proposed], Sequence[str]]
EditKind = Literal[Kind.EDIT, Kind.REWRITE]


def correcting(arguments: ProposeArguments) -> Corrected:
    """Return how a call with a single edit is corrected."""

    def corrected(index: int, changed: dict[str, Any]) -> dict[str, Any]:
        return given(arguments, without=OF_THE_FAILED_CALL) | changed

    return corrected


def correcting_one_of(arguments: ProposeArguments, without: frozenset[str] = frozenset()) -> Corrected:
    """Return how a call with a list of edits is corrected, in one of them.

    Args:
        without: arguments that are not part of the call, since the address has them.
    """

    def corrected(index: int, changed: dict[str, Any]) -> dict[str, Any]:
        again = given(arguments, without=OF_THE_FAILED_CALL | without)
        again["edits"][index] |= changed
        again["edits"][index].pop("expected_replacements", None)
        return again

    return corrected


def propose(
    call: Call,
    label: str,
    changes: tuple[edits.Edit, ...],
    arguments: ProposeArguments,
    *,
    kind: EditKind = Kind.EDIT,
    corrected: Corrected | None = None,
    warn: Remark | None = None,
    place: Remark | None = None,
) -> Answer:
    """Propose the edits, and return what came of it.

    Args:
        corrected: see `Corrected`; None where there is no such call.
        warn: what to look out for; asked only for a proposal that was made.
        place: where the change stands, in words; asked like `warn`.
    """
    outcome = made(call, label, changes, arguments, kind=kind, corrected=corrected)
    words = outcomes.words_of_block(
        outcome,
        made=f"Edit proposal created for block '{label}'.",
        applied=f"Edit applied to block '{label}'",
        reasoning=arguments.reasoning,
    )
    if not outcome.created:
        return outcomes.answer(outcome, words)
    return outcomes.answer(
        outcome, words, placed=place(outcome) if place else (), warnings=warn(outcome) if warn else ()
    )


def made(
    call: Call,
    label: str,
    changes: tuple[edits.Edit, ...],
    arguments: ProposeArguments,
    *,
    kind: EditKind = Kind.EDIT,
    corrected: Corrected | None = None,
) -> services.Proposed:
    """Propose the edits, or amend the proposal that is named. Raise ApiError for what is refused."""
    with refusals.explained(Subject.of_write(call, arguments, label=label, edits=changes, corrected=corrected)):
        edits.check(changes)
        require_reasoning(arguments)
        outcome = sent(call, label, changes, arguments, kind=kind)
    if outcome.created:
        log.info(
            "memory_edit_proposed",
            user_id=call.owner,
            block_label=label,
            branch_name=outcome.revision.branch,
            occurrences_replaced=outcome.occurrences,
        )
    return outcome


def sent(
    call: Call, label: str, changes: tuple[edits.Edit, ...], arguments: ProposeArguments, *, kind: EditKind
) -> services.Proposed:
    """Propose the edits, or amend the proposal that is named. Raise what the services raise."""
    return services.propose(
        label=label,
        edits=changes,
        kind=kind,
        expected_sha256=arguments.expected_sha256,
        **said(call, arguments),
    )


def said(call: Call, arguments: ReasonedArguments) -> dict[str, Any]:
    """Return what every service that proposes takes beside the change: who asks, and why."""
    return {
        "agent": call.caller.agent,
        "owner": call.owner,
        "reasoning": arguments.reasoning.strip(),
        "confidence": arguments.confidence,
        "session_id": arguments.session_id,
        "evidence": [turn.model_dump(exclude_none=True) for turn in arguments.evidence],
        "operation": call.operation,
        "proposal_id": arguments.proposal_id,
        "may_apply": call.may_apply,
        "force": arguments.force,
    }


def require_reasoning(arguments: ReasonedArguments) -> None:
    """Raise ApiError (missing_reasoning) where there is none."""
    if not arguments.reasoning.strip():
        raise ApiError(
            ErrorCode.MISSING_REASONING,
            "reasoning is required to explain the edit to the user.",
            details={"fields": {"reasoning": "is required"}},
        )
