"""An agent's own proposals: what became of them, and taking one back."""

from __future__ import annotations

from typing import Annotated, Any

from django.conf import settings
from django.utils import timezone
from pydantic import Field

from agent_tools import grants, paging, representations, withholding
from agent_tools.arguments import Arguments, WriteArguments, invalid
from agent_tools.errors import ApiError, ErrorCode
from agent_tools.models import Scope
from agent_tools.registry import Answer, Call, Effect, tool
from approvals import services
from approvals.models import Proposal, ProposalQuerySet, Status
from approvals.services.errors import AlreadyDecided, BeingDecided, ProposalNotFound

_LARGEST_ID = 2**63 - 1

_Id = Annotated[int, Field(description="The number a proposing tool returned.", ge=1, le=_LARGEST_ID)]


class ListArguments(paging.PagedArguments):
    status: Annotated[
        str | None,
        Field(
            description=f"Only proposals in this state: {', '.join(Status.values)}.",
            json_schema_extra={"enum": list(Status.values)},
        ),
    ] = None
    block_label: Annotated[str | None, Field(description="Only proposals to this block.", max_length=200)] = None


@tool(
    description=(
        "List your own proposals, newest first: their status, what the reviewer said, "
        "and whether those still open apply to the block as it is now."
    ),
    arguments=ListArguments,
    scope=Scope.MEMORY_READ,
    effect=Effect.READ_ONLY,
    failing="Error listing proposals",
    returns=representations.paged(representations.PROPOSAL),
    owner_optional=True,
)
def list_proposals(call: Call, arguments: ListArguments) -> Answer:
    if arguments.status is not None and arguments.status not in Status.values:
        raise invalid({"status": f"must be one of {', '.join(Status.values)}"}, tool="list_proposals")
    last = paging.after(arguments, int, tool="list_proposals")
    proposals = _visible(call)
    if arguments.status is not None:
        proposals = proposals.filter(status=arguments.status)
    if arguments.block_label is not None:
        proposals = proposals.filter(target_kind="block", target=arguments.block_label)
    if last is not None:
        proposals = proposals.filter(pk__lt=last)
    found = list(proposals.order_by("-pk")[: arguments.limit + 1])
    shown, cursor = paging.page(found, arguments, lambda proposal: proposal.pk, tool="list_proposals")
    lines = [f"- {proposal.pk}: {representations.target(proposal)}, {proposal.status}" for proposal in shown]
    text = "\n".join(["Your proposals:", "", *lines]) if shown else "You have no such proposals."
    gone = withholding.about_deleted(call, shown)
    items = [representations.proposal(proposal, is_gone=proposal.pk in gone) for proposal in shown]
    return Answer(text, {"items": items, "next": cursor})


class GetArguments(Arguments):
    proposal_id: _Id


@tool(
    description=(
        "See what became of one of your proposals: its status, the reviewer's reason, "
        "and whether it still applies to the block as it is now."
    ),
    arguments=GetArguments,
    scope=Scope.MEMORY_READ,
    effect=Effect.READ_ONLY,
    failing="Error reading proposal",
    returns=representations.PROPOSAL_IN_FULL,
    owner_optional=True,
    target="proposal_id",
)
def get_proposal(call: Call, arguments: GetArguments) -> Answer:
    proposal = _own(call, arguments.proposal_id)
    gone = withholding.deleted_since(call, proposal)
    return Answer(representations.told(proposal), representations.proposal_in_full(proposal, proposal.current, gone))


class WithdrawArguments(WriteArguments):
    proposal_id: _Id
    reasoning: Annotated[str, Field(description="Why you take it back.", max_length=4_000)] = ""


@tool(
    description="Take back one of your open proposals, so that nobody has to decide about it.",
    arguments=WithdrawArguments,
    scope=Scope.MEMORY_PROPOSE,
    effect=Effect.SIDE_EFFECTING,
    failing="Error withdrawing proposal",
    returns=representations.PROPOSAL,
    owner_optional=True,
    target="proposal_id",
)
def withdraw_proposal(call: Call, arguments: WithdrawArguments) -> Answer:
    proposal = _own(call, arguments.proposal_id)
    try:
        proposal = services.withdraw(agent=call.caller.agent, proposal_id=proposal.pk, comment=arguments.reasoning)
    except ProposalNotFound as error:
        raise _not_found(arguments.proposal_id) from error
    except AlreadyDecided as error:
        raise ApiError(
            ErrorCode.ALREADY_DECIDED,
            representations.told(error.proposal),
            details={"proposal": _shown(call, error.proposal)},
        ) from error
    except BeingDecided as error:
        raise ApiError(
            ErrorCode.BEING_DECIDED,
            f"Proposal {proposal.pk} is being decided this moment.",
            details={"proposal": _shown(call, error.proposal)},
            retry_after=2,
        ) from error
    return Answer(f"Proposal {proposal.pk} withdrawn.", _shown(call, proposal))


def _shown(call: Call, proposal: Proposal) -> dict[str, Any]:
    is_gone = proposal.pk in withholding.about_deleted(call, [proposal])
    return representations.proposal(proposal, may_read=call.may_read, is_gone=is_gone)


def _visible(call: Call) -> ProposalQuerySet:
    visible = grants.visible_proposals(call.caller.token, call.owner or None)
    # Without a worker nobody else looks at the calendar (design.md §6): who reads, does.
    if settings.CELERY_TASK_ALWAYS_EAGER and visible.open().filter(expires_at__lte=timezone.now()).exists():
        services.expire()
    return visible.select_related("decided_by", "agent")


def _own(call: Call, proposal_id: int) -> Proposal:
    proposal = _visible(call).filter(pk=proposal_id).first()
    if proposal is None:
        raise _not_found(proposal_id)
    return proposal


def _not_found(proposal_id: int) -> ApiError:
    details: dict[str, Any] = {"proposal_id": proposal_id}
    return ApiError(ErrorCode.PROPOSAL_NOT_FOUND, f"Proposal {proposal_id} not found.", details=details)
