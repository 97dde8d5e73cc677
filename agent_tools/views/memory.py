"""`/api/v1/users/…` and `/api/v1/proposals/…`: the same as tools, by address."""

from __future__ import annotations

from django.http import HttpResponse
from drf_spectacular.utils import OpenApiResponse
from rest_framework.request import Request

from agent_tools.calls import execution
from agent_tools.calls.arguments import LONGEST_ANSWER
from agent_tools.decisions import telling
from agent_tools.http import body
from agent_tools.http.exceptions import ApiResponse
from agent_tools.http.openapi import answers, describe, query
from agent_tools.http.openapi import body as body_of
from agent_tools.tools import context, conversations, files, proposals, propose, read, recall, search
from agent_tools.views.api import ApiView, from_path, from_query
from assent_client.text import memories_md

#: By address programs read, which have room for a whole block or proposal.
_WHOLE = {"max_characters": LONGEST_ANSWER}
#: In the OpenAPI document, the bytes of a file.
_FILE = {"type": "string", "format": "binary"}


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
        request=body_of(propose.BlockProposeArguments, leave_out={"block_label"}),
        responses=answers("data.proposal_id, data.branch, data.review_url and more.", 400, 404, 409, 413, 415, 422),
    )
    def post(self, request: Request, user_id: str, label: str) -> HttpResponse:
        return self.by_body(request, propose.block_propose, user_id=user_id, block_label=label)


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
        parameters=query(telling.DecisionListArguments, also={"user_id": "Only those for this owner."}),
        responses=answers("data.items: the decisions; data.next: where to go on; data.more.", 400),
    )
    def get(self, request: Request) -> HttpResponse:
        return self.by_query(request, telling.decision_list)


class ProposalWithdraw(ApiView):
    @describe(
        operation_id="proposal_withdraw",
        tags=["proposals"],
        summary="Withdraw one of the agent's own open proposals",
        request=body_of(proposals.WithdrawArguments, leave_out={"proposal_id"}),
        responses=answers("The proposal, withdrawn.", 400, 404, 409, 413, 415),
    )
    def post(self, request: Request, proposal_id: int) -> HttpResponse:
        return self.by_body(request, proposals.withdraw_proposal, proposal_id=proposal_id)


class NoteList(ApiView):
    @describe(
        operation_id="note_list",
        tags=["notes"],
        summary="An owner's notes, newest first; with q, best first",
        parameters=query(recall.NoteListArguments),
        responses=answers("data.items: the notes; data.next: cursor of the next page.", 400),
    )
    def get(self, request: Request, user_id: str) -> HttpResponse:
        return self.by_query(request, recall.note_list, user_id=user_id)


class NoteDetail(ApiView):
    @describe(
        operation_id="note_read",
        tags=["notes"],
        summary="One note, now or as of a commit or time",
        parameters=query(recall.NoteReadArguments, leave_out={"note_id"}),
        responses=answers("data.content, data.type, data.commit and more.", 400, 404),
    )
    def get(self, request: Request, user_id: str, note_id: str) -> HttpResponse:
        return self.by_query(request, recall.note_read, user_id=user_id, note_id=note_id)


class Search(ApiView):
    @describe(
        operation_id="search",
        tags=["notes"],
        summary="Search notes, blocks and, where asked for, conversations",
        parameters=query(search.SearchQuery),
        responses=answers("data.results: best first.", 400, 404),
    )
    def get(self, request: Request, user_id: str) -> HttpResponse:
        return self.by_query(request, search.search, user_id=user_id)


class ContextDetail(ApiView):
    @describe(
        operation_id="context_read",
        tags=["notes"],
        summary="The text for a system prompt: blocks, primed notes, instructions, receipt",
        parameters=query(context.ContextArguments),
        responses=answers("data.text: the whole; its parts and the receipt beside it.", 400),
    )
    def get(self, request: Request, user_id: str) -> HttpResponse:
        return self.by_query(request, context.context_read, user_id=user_id)


class MemoriesFile(ApiView):
    @describe(
        operation_id="memories_export",
        tags=["notes"],
        summary="All notes that hold, as a memories.md",
        parameters=query(files.ExportArguments, leave_out={"session_id"}),
        responses={status: answer for status, answer in answers("", 400).items() if status != 200}
        | {(200, "text/markdown"): OpenApiResponse(_FILE, "A memories.md.")},
    )
    def get(self, request: Request, user_id: str) -> HttpResponse:
        export = files.export_file
        self.begin(export)
        given = from_path(from_query(request, files.ExportArguments), user_id=user_id)
        kept = execution.execute(export, self.caller, given, key=None, audit=self.audit)
        response = ApiResponse(kept.payload["text"].encode(), content_type="text/markdown; charset=utf-8")
        response["Cache-Control"] = "no-store"
        response.outcome = "ok"
        return response

    @describe(
        operation_id="memories_import",
        tags=["notes"],
        summary="Import a memories.md (text/markdown, at most 32 MiB) as one change",
        parameters=query(files.ImportArguments, leave_out={"file", "evidence"}),
        request={"text/markdown": _FILE},
        responses=answers("data.created, data.updated, data.skipped and more.", 400, 409, 413, 415),
    )
    def post(self, request: Request, user_id: str) -> HttpResponse:
        self.begin(files.import_file)
        given = from_query(request, files.ImportArguments)
        file = body.read_markdown(request._request, memories_md.LARGEST_FILE)
        self.audit.request_bytes = len(file)
        given = from_path(given, user_id=user_id) | {"file": file}
        return self.run(request, files.import_file, given)


class Sessions(ApiView):
    @describe(
        operation_id="session_list",
        tags=["conversations"],
        summary="The conversations kept with an owner, the latest first",
        parameters=query(conversations.SessionListArguments, leave_out={"session_id"}),
        responses=answers("data.items, data.next.", 400),
    )
    def get(self, request: Request, user_id: str) -> HttpResponse:
        return self.by_query(request, conversations.memory_list_sessions, user_id=user_id)


class Messages(ApiView):
    @describe(
        operation_id="session_read",
        tags=["conversations"],
        summary="What was said in a conversation, page by page",
        parameters=query(conversations.SessionReadArguments, leave_out={"session_id"}),
        responses=answers("data.items, data.next.", 400, 404),
    )
    def get(self, request: Request, user_id: str, session_id: str) -> HttpResponse:
        return self.by_query(request, conversations.memory_read_session, user_id=user_id, session_id=session_id)

    @describe(
        operation_id="message_keep",
        tags=["conversations"],
        summary="Keep messages of a conversation; those with a known id stay as they are",
        request=body_of(conversations.KeepArguments, leave_out={"session_id"}),
        responses=answers("data.new and data.known: the messages' ids.", 400, 409, 413, 415),
    )
    def post(self, request: Request, user_id: str, session_id: str) -> HttpResponse:
        return self.by_body(request, conversations.message_keep, user_id=user_id, session_id=session_id)

    @describe(
        operation_id="conversation_delete",
        tags=["conversations"],
        summary="Delete the messages of a conversation that this agent handed in",
        responses=answers("data.deleted: how many there were; data.left: how many are another agent's.", 400),
    )
    def delete(self, request: Request, user_id: str, session_id: str) -> HttpResponse:
        return self.by_query(request, conversations.message_delete, user_id=user_id, session_id=session_id)


class MessageDetail(ApiView):
    @describe(
        operation_id="message_delete",
        tags=["conversations"],
        summary="Delete one message that this agent handed in",
        responses=answers("data.deleted: 1, or 0 when there is none of that id, or it is another agent's.", 400),
    )
    def delete(self, request: Request, user_id: str, session_id: str, message_id: str) -> HttpResponse:
        return self.by_query(
            request, conversations.message_delete, user_id=user_id, session_id=session_id, message_id=message_id
        )
