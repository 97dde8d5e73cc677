"""`/api/v1/users/…` and `/api/v1/proposals/…`: the same as tools, by address."""

from __future__ import annotations

from django.http import HttpResponse
from rest_framework.request import Request

from agent_tools.calls.arguments import LONGEST_ANSWER
from agent_tools.decisions import listing
from agent_tools.http.openapi import answers, body, describe, query
from agent_tools.tools import proposals, read
from agent_tools.tools.propose import rewriting
from agent_tools.views.api import ApiView

#: By address programs read, which have room for a whole block or proposal.
_WHOLE = {"max_characters": LONGEST_ANSWER}


class BlockList(ApiView):
    @describe(
        operation_id="block_list",
        tags=["blocks"],
        summary="An owner's memory blocks",
        parameters=query(read.BlockPageArguments),
        responses=answers("data.items: the blocks without their texts; data.next: cursor of the next page.", 400),
    )
    def get(self, request: Request, user_id: str) -> HttpResponse:
        return self.by_query(request, read.block_list, user_id=user_id)


class BlockDetail(ApiView):
    @describe(
        operation_id="block_read",
        tags=["blocks"],
        summary="One block, now or as of a commit or time",
        parameters=query(read.ReadArguments, leave_out={"block_label", "view_range"}),
        responses=answers("data.body, data.sha256, data.commit and more.", 400, 404),
    )
    def get(self, request: Request, user_id: str, label: str) -> HttpResponse:
        return self.by_query(request, read.read_memory_block, defaults=_WHOLE, user_id=user_id, block_label=label)


class BlockHistory(ApiView):
    @describe(
        operation_id="block_history",
        tags=["blocks"],
        summary="What happened to a block, newest first",
        parameters=query(read.HistoryArguments, leave_out={"block_label"}),
        responses=answers("data.items: the changes; data.next: cursor of the next page.", 400, 404),
    )
    def get(self, request: Request, user_id: str, label: str) -> HttpResponse:
        return self.by_query(request, read.block_history, user_id=user_id, block_label=label)


class BlockPropose(ApiView):
    @describe(
        operation_id="block_propose",
        tags=["blocks"],
        summary="Propose a whole text, or several replacements",
        request=body(rewriting.BlockProposeArguments, leave_out={"block_label"}),
        responses=answers("data.proposal_id, data.branch, data.review_url and more.", 400, 404, 409, 413, 415, 422),
    )
    def post(self, request: Request, user_id: str, label: str) -> HttpResponse:
        return self.by_body(request, rewriting.block_propose, user_id=user_id, block_label=label)


class ProposalList(ApiView):
    @describe(
        operation_id="proposal_list",
        tags=["proposals"],
        summary="The agent's own proposals, newest first",
        parameters=query(proposals.ProposalListArguments, also={"user_id": "Only those for this owner."}),
        responses=answers("data.items: the proposals; data.next: cursor of the next page.", 400),
    )
    def get(self, request: Request) -> HttpResponse:
        return self.by_query(request, proposals.list_proposals)


class ProposalDetail(ApiView):
    @describe(
        operation_id="proposal_read",
        tags=["proposals"],
        summary="One of the agent's own proposals, in full; with wait, once it is decided",
        parameters=query(proposals.ProposalAwaitArguments, leave_out={"proposal_id"}),
        responses=answers("data.status, data.decision, data.mergeability and more.", 400, 404),
    )
    def get(self, request: Request, proposal_id: int) -> HttpResponse:
        return self.by_query(request, proposals.proposal_read, defaults=_WHOLE, proposal_id=proposal_id)


class DecisionList(ApiView):
    @describe(
        operation_id="decision_list",
        tags=["proposals"],
        summary="What people decided about the agent's own proposals, in the order it happened",
        parameters=query(listing.DecisionListArguments, also={"user_id": "Only those for this owner."}),
        responses=answers("data.items: the decisions; data.next: where to go on; data.more.", 400),
    )
    def get(self, request: Request) -> HttpResponse:
        return self.by_query(request, listing.decision_list)


class ProposalWithdraw(ApiView):
    @describe(
        operation_id="proposal_withdraw",
        tags=["proposals"],
        summary="Withdraw one of the agent's own open proposals",
        request=body(proposals.WithdrawArguments, leave_out={"proposal_id"}),
        responses=answers("The proposal, withdrawn.", 400, 404, 409, 413, 415),
    )
    def post(self, request: Request, proposal_id: int) -> HttpResponse:
        return self.by_body(request, proposals.withdraw_proposal, proposal_id=proposal_id)
