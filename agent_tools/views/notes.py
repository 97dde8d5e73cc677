"""`/api/v1/users/{user_id}/notes/…`, search, context and memories.md: the same as tools, by address."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework.request import Request

from agent_tools.auth import grants
from agent_tools.calls import execution
from agent_tools.calls.api_operation import Answer
from agent_tools.calls.arguments import Arguments
from agent_tools.calls.parsing import parse
from agent_tools.errors import ApiError, ErrorCode
from agent_tools.http import body, responses
from agent_tools.http.openapi import answers, describe, query
from agent_tools.http.responses import ApiResponse
from agent_tools.models import Scope
from agent_tools.tools import context, files, recall, search
from agent_tools.views.api import ApiView, from_path, from_query
from approvals.pages import import_progress
from memory_app.text import memories_md

#: In the OpenAPI document, the bytes of a file.
_FILE = {"type": "string", "format": "binary"}
#: Seconds after which to ask for an import again that is under way.
_RETRY_AFTER = 2


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
        parameters=[
            *query(files.ImportArguments, leave_out={"file", "evidence", "progress_key"}),
            OpenApiParameter(
                "Progress-Key",
                str,
                OpenApiParameter.HEADER,
                description="16 to 64 of A-Z, a-z, 0-9, _ and - that nobody can guess: names the import for "
                "GET …/imports/{key}/, which tells how far it has come.",
            ),
        ],
        request={"text/markdown": _FILE},
        responses=answers("data.created, data.updated, data.skipped and more.", 400, 409, 413, 415),
    )
    def post(self, request: Request, user_id: str) -> HttpResponse:
        self.begin(files.import_file)
        given = from_query(request, files.ImportArguments)
        file = body.read_markdown(request._request, memories_md.LARGEST_FILE)
        self.audit.request_bytes = len(file)
        key = request.headers.get("Progress-Key", "")
        given = from_path(given, user_id=user_id) | {"file": file, "progress_key": key}
        try:
            with import_progress.claimed(import_progress.of_token(self.caller.token.original_id), key):
                return self.run(request, files.import_file, given)
        except import_progress.UnderWay as error:
            raise ApiError(
                ErrorCode.IDEMPOTENCY_IN_PROGRESS,
                "The import sent with this Progress-Key is not done yet.",
                help=[f"GET /api/v1/users/{user_id}/imports/{key}/ tells how far it has come."],
                details={"progress_key": key, "retry_after": _RETRY_AFTER},
                retry_after=_RETRY_AFTER,
            ) from error


class ImportProgress(ApiView):
    # A waiting client asks twice a second, which must not use up the calls of its token. It is one read of the cache.
    throttle_classes = []

    @describe(
        operation_id="import_progress",
        tags=["notes"],
        summary="How far this token's import sent with the header `Progress-Key` has come",
        responses=answers(
            "data.state: running, done, failed (refused; nothing was taken), lost (its time was up, or its process or "
            "a database is gone; it is all in the memory or not at all) or unknown (not begun, or long over); "
            "data.stage: reading, comparing, weighing, writing or recording; "
            "data.done of data.of (0 without memory:read); data.percent of the whole.",
            400,
        ),
    )
    def get(self, request: Request, user_id: str, key: str) -> HttpResponse:
        parse(Arguments, from_query(request, Arguments), called="this endpoint")
        grants.owner_for(self.caller.token, user_id)
        found = import_progress.look(import_progress.of_token(self.caller.token.original_id), key)
        data: dict[str, Any] = {
            "state": found.state if found else "unknown",
            "stage": found.stage if found else None,
            "done": found.done if found else 0,
            "of": found.of if found else 0,
            "percent": found.percent if found else 0,
        }
        if not grants.has_scope(self.caller.token, Scope.MEMORY_READ):
            # The number of memories written would show which of the file's memories were there already.
            data |= {"done": 0, "of": 0}
        return responses.json_response(Answer(f"{data['percent']} %", data).payload())
