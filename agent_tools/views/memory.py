"""`/api/v1/users/…` and `/api/v1/proposals/…`: the same as tools, by address.

What the OpenAPI document says of each is what the tool or endpoint says of itself.
"""

from collections.abc import Callable, Collection
from typing import Any

from django.http import HttpRequest, HttpResponse
from drf_spectacular.utils import OpenApiResponse

from agent_tools.calls import execution
from agent_tools.calls.arguments import LONGEST_ANSWER
from agent_tools.calls.registry import ApiOperation
from agent_tools.decisions import telling
from agent_tools.http import messages
from agent_tools.http.messages import ApiResponse
from agent_tools.http.openapi import answers, answers_of, describe, query
from agent_tools.http.openapi import body as body_of
from agent_tools.tools import context, conversations, files, proposals, propose, read, recall, search
from agent_tools.views.api import ApiView, from_path, from_query
from assent_client.text import memories_md

#: By address programs read, which have room for a whole block or proposal.
_WHOLE = {"max_characters": LONGEST_ANSWER}
#: What the address calls otherwise than the tools.
_CALLED = {"label": "block_label"}
#: In the OpenAPI document, the bytes of a file.
_FILE = {"type": "string", "format": "binary"}

Handler = Callable[..., HttpResponse]


def by_query(
    asked: ApiOperation[Any],
    tag: str,
    operation_id: str = "",
    *,
    leave_out: Collection[str] = (),
    also: dict[str, str] | None = None,
    defaults: dict[str, Any] | None = None,
) -> Handler:
    """Return the method of a view that runs a tool or endpoint with the arguments in the address and its query.

    Args:
        operation_id: in the OpenAPI document, where it is not the name.
        leave_out: arguments that are not in the query.
        also: parameters of the query that are no arguments, with their meaning.
        defaults: arguments that are other by address than by the tool's name.
    """

    # No docstring, which would be the description in the OpenAPI document.
    def handle(view: ApiView, request: HttpRequest, **address: str | int) -> HttpResponse:
        given = (defaults or {}) | from_query(request, asked.arguments)
        return view.run(request, asked, from_path(given, **_arguments_of(address)))

    parameters = query(asked.arguments, leave_out=leave_out, also=also)
    return _described(asked, tag, operation_id, 404, parameters=parameters)(handle)


def by_body(asked: ApiOperation[Any], tag: str, operation_id: str = "", *, leave_out: Collection[str] = ()) -> Handler:
    """Return the method of a view that runs a tool or endpoint with the arguments in the body; see `by_query`."""

    def handle(view: ApiView, request: HttpRequest, **address: str | int) -> HttpResponse:
        return view.by_body(request, asked, **_arguments_of(address))

    taken = body_of(asked.arguments, leave_out=leave_out)
    return _described(asked, tag, operation_id, 404, 409, 411, 413, 415, 422, request=taken)(handle)


def _arguments_of(address: dict[str, str | int]) -> dict[str, str | int]:
    return {_CALLED.get(name, name): value for name, value in address.items()}


def _described(
    asked: ApiOperation[Any], tag: str, operation_id: str, *statuses: int, **more: Any
) -> Callable[[Handler], Handler]:
    return describe(
        operation_id=operation_id or asked.name,
        tags=[tag],
        summary=asked.first_sentence.rstrip("."),
        description=asked.description,
        responses=answers_of(asked, *statuses),
        **more,
    )


class BlockList(ApiView):
    get = by_query(read.block_list, "blocks")


class BlockDetail(ApiView):
    get = by_query(
        read.read_memory_block, "blocks", "block_read", leave_out={"block_label", "view_range"}, defaults=_WHOLE
    )


class BlockHistory(ApiView):
    get = by_query(read.block_history, "blocks", leave_out={"block_label"})


class BlockPropose(ApiView):
    post = by_body(propose.block_propose, "blocks", leave_out={"block_label"})


class ProposalList(ApiView):
    get = by_query(
        proposals.list_proposals, "proposals", "proposal_list", also={"user_id": "Only those for this owner."}
    )


class ProposalDetail(ApiView):
    get = by_query(proposals.proposal_read, "proposals", leave_out={"proposal_id"}, defaults=_WHOLE)


class DecisionList(ApiView):
    get = by_query(telling.decision_list, "proposals", also={"user_id": "Only those for this owner."})


class ProposalWithdraw(ApiView):
    post = by_body(proposals.withdraw_proposal, "proposals", "proposal_withdraw", leave_out={"proposal_id"})


class NoteList(ApiView):
    get = by_query(recall.note_list, "notes")


class NoteDetail(ApiView):
    get = by_query(recall.note_read, "notes", leave_out={"note_id"})


class Search(ApiView):
    get = by_query(search.search, "notes")


class ContextDetail(ApiView):
    get = by_query(context.context_read, "notes")


class MemoriesFile(ApiView):
    kinds = ApiView.kinds | {"text/*", "text/markdown"}

    @describe(
        operation_id="memories_export",
        tags=["notes"],
        summary="All notes that hold, as a memories.md",
        parameters=query(files.ExportArguments, leave_out={"session_id"}),
        responses={status: answer for status, answer in answers({}, 400).items() if status != 200}
        | {(200, "text/markdown"): OpenApiResponse(_FILE, "A memories.md.")},
    )
    def get(self, request: HttpRequest, user_id: str) -> HttpResponse:
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
        responses=answers_of(files.import_file, 400, 409, 411, 413, 415, 422),
    )
    def post(self, request: HttpRequest, user_id: str) -> HttpResponse:
        self.begin(files.import_file)
        given = from_query(request, files.ImportArguments)
        file = messages.read_markdown(request, memories_md.LARGEST_FILE)
        self.audit.request_bytes = len(file)
        given = from_path(given, user_id=user_id) | {"file": file}
        return self.run(request, files.import_file, given)


class Sessions(ApiView):
    get = by_query(conversations.memory_list_sessions, "conversations", "session_list", leave_out={"session_id"})


class Messages(ApiView):
    get = by_query(conversations.memory_read_session, "conversations", "session_read", leave_out={"session_id"})
    post = by_body(conversations.message_keep, "conversations", leave_out={"session_id"})
    delete = by_query(
        conversations.message_delete,
        "conversations",
        "conversation_delete",
        leave_out={"session_id", "message_id", "idempotency_key"},
    )


class MessageDetail(ApiView):
    delete = by_query(
        conversations.message_delete, "conversations", leave_out={"session_id", "message_id", "idempotency_key"}
    )
