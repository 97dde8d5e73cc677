"""An agent's own proposals: what became of them, talking about one, and taking one back."""

from functools import partial
from typing import Annotated, Any

from pydantic import Field

from agent_tools import auth
from agent_tools.answers import asked as asking
from agent_tools.answers import bounds, fields, outcomes, paging, refusals, representations, withholding
from agent_tools.calls.arguments import LONGEST_ANSWER, Arguments, BoundedArguments, ProposalId, WriteArguments, invalid
from agent_tools.calls.registry import Answer, ApiOperation, Call, endpoint, for_list, tool
from agent_tools.decisions import telling
from agent_tools.models import Scope
from approvals import services
from approvals.models import DECIDABLE, Proposal, Status
from approvals.review import turn
from approvals.review.targets import agents_revision
from approvals.services.errors import ProposalNotFound
from memory_app import reads
from memory_app.models import TargetKind

_Id = Annotated[ProposalId, Field(description="The number a proposing tool returned.")]
_WAIT = "Seconds to wait for a decision while there is none."
_Wait = Annotated[int, Field(description=_WAIT, ge=0, le=telling.LONGEST_OF_TOOL)]


class ProposalListArguments(paging.PagedArguments, BoundedArguments):
    status: str | None = Field(
        default=None, description="Only proposals in this state.", json_schema_extra={"enum": list(Status.values)}
    )
    block_label: str | None = Field(default=None, description="Only proposals to this block.", max_length=200)
    proposal_id: ProposalId | None = Field(default=None, description="Only this one, with all of its texts.")
    decided_since: str | None = Field(
        default=None,
        description="Instead list what people decided: since this time (ISO 8601), from the start (empty), or "
        "after what an answer gave to go on from.",
        max_length=200,
    )
    wait: _Wait = 0


@tool(returns=fields.paged(fields.PROPOSAL), or_returns=fields.DECISIONS, owner_optional=True)
def list_proposals(call: Call, arguments: ProposalListArguments) -> Answer:
    if arguments.proposal_id is not None and arguments.decided_since is None:
        asked_for = arguments.model_dump(include=set(ProposalReadArguments.model_fields))
        whole = get_proposal.run(call, ProposalReadArguments(**asked_for))
        items = [refusals.shown(call, _own(call, arguments.proposal_id))]
        data = {"items": items, "next": None}
        return Answer(whole.text, data, retry_after=whole.retry_after, tells_decisions=True)
    if arguments.decided_since is not None or arguments.wait:
        return _decided_since(call, arguments)
    if arguments.status is not None and arguments.status not in Status.values:
        raise invalid({"status": f"must be one of {', '.join(Status.values)}"}, called=call.called)
    items, lines, cursor = _entries(call, arguments)
    text = "\n".join(["Your proposals:", "", *lines]) if lines else "You have no such proposals."
    how = for_list("get_proposal with proposal_id has all of one. ", or_nearest=True) if lines else ""
    if any(item["status"] in DECIDABLE and not item["changes_requested"] for item in items):
        how += for_list(_UNDECIDED)
    text = f"{text}\n\n{how}".rstrip() + paging.more(cursor)
    return Answer(text, {"items": items, "next": cursor}, tells_decisions=True)


def _entries(call: Call, arguments: ProposalListArguments) -> tuple[list[dict[str, Any]], list[str], str | None]:
    """Return a page of the caller's proposals as data and as lines, and the cursor of the next page."""
    last = paging.after(call, arguments, int)
    telling.expire_overdue()
    # Their agent is not joined: SQLite then reads all of its proposals in the order of their ids, whatever the status.
    proposals = auth.visible_proposals(call.caller.token, call.owner or None).select_related("decided_by")
    of_block = arguments.block_label and TargetKind.BLOCK
    wanted = {"status": arguments.status, "target": arguments.block_label, "target_kind": of_block, "pk__lt": last}
    proposals = proposals.filter(**{name: value for name, value in wanted.items() if value is not None})
    found = list(turn.with_threads(proposals).order_by("-pk")[: arguments.limit + 1])
    for each in found:
        each.agent = call.caller.agent
    gone = withholding.about_deleted(call, found)
    asked = turn.change_requests(found)
    every = [representations.proposal(each, is_gone=each.pk in gone, asked=asked.get(each.pk)) for each in found]
    items, cursor = paging.page_that_fits(call, found, every, arguments, lambda proposal: proposal.pk)
    of_owner = representations.of_several(call)
    lines = [
        representations.listed(each, asked.get(each.pk), is_gone=each.pk in gone, of_owner=of_owner)
        for each in found[: len(items)]
    ]
    return items, lines, cursor


# -- What became of them, and what has to be done: the prompt of MCP.


#: What became of a proposal without its agent: one that it withdrew itself is no news to it.
_BY_PEOPLE = (Status.APPROVED, Status.REJECTED, Status.EXPIRED)
#: Proposals that are listed, of those to be changed and of those that were decided.
_REVIEWED = 20
_ACT = """\
Go through them one by one:
- Changes are requested: answer with the same tool as before and its number as `proposal_id`.
- Approved: the memory says so now. Where a person used other words than yours, keep to theirs.
- Rejected: do not propose it again. Read the reason, and take it into account in what you propose next.
- Expired or a conflict: read the block again, and propose the change anew only if it is still right."""


def review_my_proposals(call: Call, arguments: Arguments) -> Answer:
    """Answer with the agent's proposals that want something of it, and what to do about each."""

    def listed(status: Status) -> list[tuple[dict[str, Any], str]]:
        items, lines, _cursor = _entries(call, ProposalListArguments(status=status.value, limit=_REVIEWED))
        return list(zip(items, lines, strict=True))

    asked = [line for _item, line in listed(Status.CHANGES_REQUESTED)]
    # A status at a time: proposals that wait, however many, do not hide those that were decided.
    decided = [each for status in _BY_PEOPLE for each in listed(status)]
    decided.sort(key=lambda each: (each[0]["decision"] or {}).get("at") or "", reverse=True)
    parts = ["These of your proposals wait for changes of yours:", *asked, ""] if asked else []
    if decided:
        parts += ["These were decided:", *(line for _item, line in decided[:_REVIEWED]), ""]
    nothing = "No person has decided about your proposals or asked you for changes. There is nothing to do."
    return Answer("\n".join([*parts, _ACT] if parts else [nothing]) + "\n", {}, tells_decisions=True)


#: Run for the prompt alone: it has no address and is no tool.
REVIEW = ApiOperation(
    run=review_my_proposals,
    called="the prompt review_my_proposals",
    description="What people decided about your proposals, and what they ask you to change.",
    arguments=Arguments,
    scope=Scope.MEMORY_READ,
    failing="Error listing proposals",
    returns={},
    owner_optional=True,
)


def _decided_since(call: Call, arguments: ProposalListArguments) -> Answer:
    """Return the list of decisions, for the tool."""
    if arguments.decided_since is None:
        raise invalid({"wait": "goes with proposal_id or decided_since"}, called=call.called)
    beside = arguments.model_dump(include={"status", "block_label", "cursor", "proposal_id"})
    if given := [name for name, value in beside.items() if value is not None]:
        raise invalid(dict.fromkeys(given, "cannot be given with decided_since"), called=call.called)
    how = arguments.model_dump(include={"limit", "wait", "max_characters"})
    asked = telling.DecisionListArguments(since=arguments.decided_since, **how)
    return telling.decisions(call, asked, argument="decided_since")


class ProposalReadArguments(BoundedArguments):
    proposal_id: _Id
    wait: _Wait = 0


_READ = (
    fields.PROPOSAL_IN_FULL
    | fields.COMMENTS
    | fields.COLLISIONS
    | {"left_out": "integer{}: what was left out of these for its length, by field", "retry_after": fields.RETRY_AFTER}
)


@tool(returns=_READ, owner_optional=True)
def get_proposal(call: Call, arguments: ProposalReadArguments) -> Answer:
    proposal_id, seconds = arguments.proposal_id, arguments.wait
    proposal = _own(call, proposal_id)
    is_over = partial(_is_settled, proposal_id=proposal_id)
    call, retry_after = telling.until(is_over, call, seconds, work=get_proposal.time_limit)
    if seconds:
        proposal = _own(call, proposal_id)
    gone = withholding.deleted_since(call, proposal)
    asked = turn.change_request(proposal)
    data = representations.proposal_in_full(proposal, gone, asked=asked)
    data["comments"] = representations.comments(proposal)
    data["collides_with"] = _collisions(proposal)
    left_out, needed = _left_out(data, bounds.characters(arguments))
    asked_for = asking.in_full(agents_revision(proposal), data, arguments.max_characters or _ASKED)
    if proposal.reasoning:
        asked_for.append(f"Your reason: {proposal.reasoning}")
    text = representations.told(proposal, asked, of_owner=representations.of_several(call))
    text += representations.on_approval(proposal, data)
    if undone := data["undone"]:
        text += f"\nIt was {undone['what']} by {undone['by']}: {undone['comment'] or 'no reason was given'}"
    text += "".join(f"\n{line}" for line in asked_for) + representations.thread(data["comments"])
    if against := [each["proposal_id"] for each in data["collides_with"] if each["effect"] == "no_longer_fits"]:
        named = ", ".join(map(str, against))
        text += f"\n(Once it is approved, these of yours no longer fit: {named}. Amend or withdraw what is not needed.)"
    if what := ", ".join(f"{left_out[name]:,} {said}" for name, said in _LEFT_OUT.items() if name in left_out):
        text += f"\n(Left out for their length: {what}. max_characters={needed} brings all.)"
    more = {"left_out": left_out, "retry_after": retry_after}
    return Answer(text, data | more, retry_after=retry_after)


class ProposalAwaitArguments(ProposalReadArguments):
    wait: int = Field(default=0, description=_WAIT, ge=0, le=telling.LONGEST)


@endpoint(returns=_READ, owner_optional=True)
def proposal_read(call: Call, arguments: ProposalAwaitArguments) -> Answer:
    return get_proposal.run(call, arguments)


def _is_settled(call: Call, proposal_id: int) -> bool:
    """Whether nothing is left to wait for: it is decided, its agent's turn, or no longer the caller's to see."""
    proposal = auth.visible_proposal(call.caller.token, proposal_id)
    return proposal is None or proposal.is_decided or proposal.is_with_agent


def _collisions(proposal: Proposal) -> list[dict[str, Any]]:
    """Return the caller's own undecided proposals that change the same: those of other agents it is not told of."""
    if proposal.status not in DECIDABLE:
        return []
    is_of_block = proposal.target_kind == TargetKind.BLOCK
    return [
        {"proposal_id": each.other.pk, "effect": each.effect, "other_first": each.back}
        for each in outcomes.own_collisions(
            proposal, lambda: reads.find_block(proposal.owner, proposal.target) if is_of_block else None
        )
    ]


#: What is counted of the fields that may be long and are in the text, in the order in which they get the room; then
#: those that are data alone.
_LEFT_OUT = {
    "comments": "of the comments",
    "difference": "of the differences",
    "not_accepted": "of what was not accepted",
    "notes": "of the notes",
    "edits": "of the edits",
}
_TEXTS = ("final_text", "result")
#: Characters of each text that was asked for.
_ASKED = 1_000

_UNDECIDED = (
    "An undecided one is amended by asking again with its number as proposal_id. withdraw_proposal takes it back."
)


def _left_out(data: dict[str, Any], most: int) -> tuple[dict[str, int], int]:
    """Cut the long fields of a proposal to what fits, and return what is missing of each and what all would take."""
    left_out: dict[str, int] = {}
    needed = 0
    for name in (*_LEFT_OUT, *_TEXTS):
        whole = bounds.size_of(data[name])
        needed += whole
        if not data[name] or whole <= most:
            most -= whole
            continue
        if name in _TEXTS:
            lines = data[name].split("\n")
            count = bounds.lines_that_fit(lines, most)
            data[name], left_out[name] = "\n".join(lines[:count]), len(lines) - count
        else:
            count = bounds.that_fit(data[name], most)
            data[name], left_out[name] = data[name][:count], len(data[name]) - count
        most = 0
    return {name: count for name, count in left_out.items() if count}, min(needed, LONGEST_ANSWER)


class WithdrawArguments(WriteArguments):
    proposal_id: _Id
    reasoning: str = Field(default="", description="Why you take it back.", max_length=4_000)


@tool(returns=fields.PROPOSAL, owner_optional=True, is_repeatable=True)
def withdraw_proposal(call: Call, arguments: WithdrawArguments) -> Answer:
    proposal = _own(call, arguments.proposal_id)
    with refusals.explained(representations.Subject(call, proposal_id=proposal.pk)):
        proposal = services.withdraw(
            agent=call.caller.agent, proposal_id=proposal.pk, comment=arguments.reasoning, operation=call.operation
        )
    shown = refusals.shown(call, proposal)
    asked = asking.in_short(proposal, is_gone=shown["title"] is None)
    again = f"\n{asked} Propose it again if that was the wrong one." if asked else ""
    return Answer(f"Proposal {proposal.pk} withdrawn.{again}", shown)


class CommentArguments(WriteArguments):
    proposal_id: _Id
    comment: str = Field(
        description="What you say: an answer to a person, or a question.", min_length=1, max_length=2_000
    )
    change: str | None = Field(
        default=None,
        description="The id of the change it is about, as comments have it; left out for the whole proposal.",
        pattern=r"^[0-9A-Za-z_.:-]{1,64}$",
    )


@tool(returns=fields.COMMENT, owner_optional=True)
def comment_on_proposal(call: Call, arguments: CommentArguments) -> Answer:
    proposal = _own(call, arguments.proposal_id)
    with refusals.explained(representations.Subject(call, proposal_id=proposal.pk)):
        made = services.comment(
            actor=call.caller.agent,
            proposal_id=proposal.pk,
            text=arguments.comment,
            change=arguments.change or "",
            operation=call.operation,
        )
    data = {"proposal_id": proposal.pk, "user_id": proposal.owner} | representations.comment(made)
    return Answer(f"Comment on proposal {proposal.pk} saved. The reviewer sees it with the proposal.", data)


def _own(call: Call, proposal_id: int) -> Proposal:
    telling.expire_overdue()
    proposal = auth.visible_proposal(call.caller.token, proposal_id)
    if proposal is None or (call.owner and proposal.owner != call.owner):
        raise refusals.explain(ProposalNotFound(), representations.Subject(call, proposal_id=proposal_id))
    return proposal
