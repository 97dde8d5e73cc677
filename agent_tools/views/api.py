"""The endpoints for machines. What all share is first: token, rate limit, body, one shape of answers, the audit row;
then `/api/v1/tools/`: the definitions, and running one; then `/api/v1/users/…` and `/api/v1/proposals/…`: the same by
address. What the OpenAPI document says of an address is what its tool or endpoint says of itself.
"""

from collections.abc import Callable, Collection
from typing import Annotated, Any, Literal, get_origin

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import Resolver404, resolve
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe
from drf_spectacular.utils import OpenApiResponse
from drf_spectacular.views import SpectacularJSONAPIView, SpectacularSwaggerSplitView
from pydantic import Field
from rest_framework.exceptions import MethodNotAllowed, NotAcceptable
from rest_framework.views import APIView

from agent_tools import auth
from agent_tools.answers import fields
from agent_tools.auth import Caller, caller_of, calling
from agent_tools.calls import execution, registry, toolsets
from agent_tools.calls.arguments import LONGEST_ANSWER, Arguments, invalid, named_by, parse
from agent_tools.calls.execution import Audit
from agent_tools.calls.json_values import check_texts, options_of
from agent_tools.calls.registry import Answer, ApiOperation
from agent_tools.decisions import telling
from agent_tools.errors import ApiError, ErrorCode
from agent_tools.http import messages
from agent_tools.http.messages import ApiResponse
from agent_tools.http.openapi import answers, answers_of, describe, query
from agent_tools.http.openapi import body as body_of
from agent_tools.tools import context, conversations, files, proposals, propose, read, recall, search
from assent_client.text import memories_md
from memory_app.runtime import health

#: Where a request has these: making all of its headers takes 70 function calls.
_KEY, _SESSION = (f"HTTP_{name.upper().replace('-', '_')}" for name in (execution.KEY_HEADER, execution.SESSION_HEADER))


class ApiView(APIView):
    # An endpoint behind a token. A docstring would be the description of each endpoint in the OpenAPI document.
    #
    # `as_view` of Django REST framework exempts it from CSRF: sessions do not authenticate here, so there is no cookie
    # to misuse. No endpoint runs in a transaction of its own: proposing and withdrawing are several durable steps.
    # The framework describes the endpoints; a call goes past its parsers, renderers and negotiation, which have nothing
    # to do for it and took a fifth of the time of a read.

    http_method_names = ["get", "head", "post", "put", "patch", "delete"]
    #: Begins the text of errors of ours; known once the tool is.
    failing = "Error"
    #: Of the header Accept, those that take an answer.
    kinds = frozenset(("", "*/*", "application/*", "application/json"))
    audit: Audit
    caller: Caller

    def dispatch(self, request: HttpRequest, *args: Any, **address: Any) -> ApiResponse:
        """Refuse or answer a request, and write the audit row of a call."""
        self.audit = Audit()
        caller = None
        try:
            self.caller = caller = caller_of(request)
            accept = request.META.get("HTTP_ACCEPT", "")
            if self.kinds.isdisjoint(kind.partition(";")[0].strip().lower() for kind in accept.split(",")):
                raise NotAcceptable
            method = str(request.method).lower()
            handler = getattr(self, method, None) if method in self.http_method_names else None
            with calling(caller.token):
                if handler is None:
                    raise MethodNotAllowed(method)
                answer: ApiResponse = handler(request, *args, **address)
        except Exception as error:
            answer = messages.exception_handler(error, {"view": self})
        if self.audit.tool and caller is not None:
            size = len(answer.content)
            self.audit.write(caller.token, outcome=answer.outcome, status=answer.status_code, response_bytes=size)
        return answer

    def by_body(self, request: HttpRequest, asked: ApiOperation[Any], **path: str | int) -> ApiResponse:
        """Run a tool or endpoint with the arguments in the body and the address."""
        self.begin(asked)
        given, self.audit.request_bytes = messages.read_object(request)
        return self.run(request, asked, from_path(given, **path))

    def begin(self, asked: ApiOperation[Any]) -> None:
        """Name what is called, for the audit row and for errors of ours, before its arguments are read."""
        self.audit.tool, self.failing = asked.name, asked.failing

    def run(self, request: HttpRequest, asked: ApiOperation[Any], given: dict[str, Any]) -> ApiResponse:
        """Run a tool or endpoint with arguments as they came, and return its answer."""
        self.begin(asked)
        given = execution.in_session(asked, given, request.META.get(_SESSION))
        key = request.META.get(_KEY)
        by_name, by_set = (request.GET.getlist(which) for which in ("tools", "toolset"))
        chosen = toolsets.choose(by_name, by_set, called="this address") if request.method == "POST" else None
        with toolsets.naming(toolsets.offered(self.caller.token, chosen), called=asked.name):
            kept = execution.execute(asked, self.caller, given, key=key, audit=self.audit)
        outcome = "ok" if kept.payload["ok"] else kept.payload["error"]["code"]
        headers = {"Idempotency-Replayed": "true"} if kept.replayed else {}
        if kept.retry_after is not None:
            headers["Retry-After"] = str(kept.retry_after)
        return messages.json_response(kept.payload, status=kept.status, headers=headers, outcome=outcome)


def from_path(given: dict[str, Any], **path: str | int) -> dict[str, Any]:
    """Return arguments with those the address names, which a body may not name again."""
    if twice := [name for name in path if name in given]:
        raise invalid(dict.fromkeys(twice, "is given by the address already"), called="this endpoint")
    check_texts(dict(path))
    return given | path


#: What an address may say for a truth value beside the JSON of one.
_SWITCHES = {"1": True, "0": False}


def from_query(request: HttpRequest, model: type[Arguments], *, called: str = "this endpoint") -> dict[str, Any]:
    """Return the query as arguments: each name once, but for lists."""
    given: dict[str, Any] = {}
    for name in request.GET:
        values = request.GET.getlist(name)
        field = model.model_fields.get(named_by(model, name) or name)
        options = options_of(field.annotation) if field is not None else []
        if any(get_origin(option) is list for option in options):
            given[name] = values
        elif len(values) > 1:
            raise invalid({name[:200]: "is given more than once"}, called=called)
        else:
            given[name] = _SWITCHES.get(values[0], values[0]) if bool in options else values[0]
    check_texts(given)
    return given


@csrf_exempt
def unknown_endpoint(request: HttpRequest) -> HttpResponse:
    """Answer every unknown address under /api/ in the shape of all errors."""
    message = f"There is no endpoint {request.path[:200]}"
    try:
        with_slash = None if request.path.endswith("/") else resolve(f"{request.path}/")
    except Resolver404:
        with_slash = None
    if with_slash is not None and with_slash.func is not unknown_endpoint:
        message += f"; did you mean {request.path[:200]}/ (with a slash at the end)?"
    else:
        message += ". The API is described at /api/docs/."
    return messages.failure(ApiError(ErrorCode.NOT_FOUND, message, details={"path": request.path[:200]}))


@csrf_exempt
@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """Answer that the process is alive."""
    return messages.json_response(Answer("Alive.", {}).payload())


@csrf_exempt
@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """Answer whether everything the process needs works."""
    parts = health.parts()
    failed = [name for name, part in parts.items() if not part["ok"]]
    if not health.is_ready(parts):
        message, details = f"Not ready: {', '.join(failed)}.", {"failed": failed, "parts": parts}
        return messages.failure(ApiError(ErrorCode.NOT_READY, message, details=details, retry_after=5))
    without = f" Without {', '.join(failed)}." if failed else ""
    return messages.json_response(Answer(f"Ready.{without}", {"parts": parts, "search": health.search()}).payload())


@csrf_exempt
@require_safe
def llms(request: HttpRequest) -> HttpResponse:
    """Answer what a model has to know (llmstxt.org): open to everybody, asks no database, and says the same to all.

    It has the address and the tools that are switched on, and nothing of any memory. What a token may use is asked of
    `/api/v1/tools/`.
    """
    there = registry.switched_on()
    context = {
        # The configured address and not that of the request: a cache may keep the answer for others.
        "address": settings.PUBLIC_URL,
        "has_notes": settings.MEMORIES_ENABLED,
        "tools": [tool for tool in there if tool.name not in registry.FILE_TOOLS],
        "files": [tool for tool in there if tool.name in registry.FILE_TOOLS],
    }
    text = render_to_string("machines/llms.txt", context)
    answer = HttpResponse(text, content_type="text/plain; charset=utf-8")
    answer["Cache-Control"] = "public, max-age=3600"
    return answer


class Schema(SpectacularJSONAPIView):
    """The document as JSON."""


class Docs(SpectacularSwaggerSplitView):
    """Swagger UI from our own files. Its start script comes from an address of its own, and our template
    has no inline style: the content security policy allows neither inline."""

    template_name = "agents/api_docs.html"
    url_name = "api_schema"


class ListQuery(Arguments):
    format: Annotated[
        Literal["native", "openai", "responses", "anthropic", "mcp"],
        Field(description="For which kind of model (openai = Chat Completions, responses = OpenAI's Responses API)."),
    ] = "native"
    strict: Annotated[
        bool,
        Field(
            description="For models that are held to the schema: every argument is required, null stands for one left "
            "out, and only keywords that strict modes know (OpenAI's, Anthropic's) are used."
        ),
    ] = False


class ToolListQuery(ListQuery):
    tools: toolsets.ByName = Field(default_factory=list)
    toolset: toolsets.BySet = Field(default_factory=list)


class ToolList(ApiView):
    @describe(
        operation_id="tool_list",
        tags=["tools"],
        summary="The tools this token may use, ready to hand to a model",
        parameters=query(ToolListQuery),
        responses=answers({"format": "string: as asked", "tools": "object[]: the definitions"}, 400),
    )
    def get(self, request: HttpRequest) -> HttpResponse:
        asked = parse(ToolListQuery, from_query(request, ToolListQuery), called="the list of tools")
        chosen = toolsets.choose(asked.tools, asked.toolset, called="the list of tools")
        usable = toolsets.offered(self.caller.token, chosen)
        data: dict[str, Any] = {"format": asked.format}
        with toolsets.naming(usable):
            data["tools"] = [registry.definition(tool, asked.format, is_strict=asked.strict) for tool in usable]
            text = "\n".join(f"- {tool.name}: {registry.described(tool)}" for tool in usable)
        return messages.json_response(registry.Answer(text or "This token may use no tools.", data).payload())


class TokenDetail(ApiView):
    @describe(
        operation_id="token_read",
        tags=["tools"],
        summary="What this token may do, and for whom",
        responses=answers(fields.TOKEN),
    )
    def get(self, request: HttpRequest) -> HttpResponse:
        parse(Arguments, from_query(request, Arguments), called="this endpoint")
        token = self.caller.token
        data: dict[str, Any] = {
            "agent": self.caller.agent.name,
            "scopes": list(token.scopes),
            "all_owners": token.all_owners,
            "owners": [] if token.all_owners else list(auth.served_owners(token).order_by("username")),
            "toolset": token.toolset or toolsets.CORE,
        }
        whom = "everyone" if token.all_owners else ", ".join(data["owners"]) or "nobody"
        text = f"A token of {data['agent']}, which serves {whom}."
        return messages.json_response(Answer(text, data).payload())


class ToolRun(ApiView):
    @describe(
        operation_id="tool_read",
        tags=["tools"],
        summary="The definition of one tool",
        parameters=query(ListQuery),
        responses=answers({"format": "string: as asked", "tool": "object: the definition"}, 400, 404),
    )
    def get(self, request: HttpRequest, name: str) -> HttpResponse:
        asked = parse(ListQuery, from_query(request, ListQuery), called="the definition of a tool")
        tool = registry.find(name, listed=toolsets.offered(self.caller.token))
        registry.require_on(tool)
        auth.require_scope(self.caller.token, *tool.scopes)
        definition = registry.definition(tool, asked.format, is_strict=asked.strict)
        data: dict[str, Any] = {"format": asked.format, "tool": definition}
        return messages.json_response(registry.Answer(f"{tool.name}: {tool.description}", data).payload())

    @describe(summary="Run a tool", responses=answers({}))
    def post(self, request: HttpRequest, name: str) -> HttpResponse:
        self.audit.tool = name if name in registry.TOOLS else "unknown"
        tool = registry.find(name, listed=toolsets.offered(self.caller.token))
        return self.by_body(request, tool)


# -- The same as tools, by address.

#: By address programs read, which have room for a whole block or proposal.
_WHOLE = {"max_characters": LONGEST_ANSWER}
#: Not in the query where messages are deleted: the address names them, and a key comes as a header.
_OF_MESSAGES = {"session_id", "message_id", "idempotency_key"}
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
        leave_out: arguments that are not in the query, beside what the call is about, which the address has.
        also: parameters of the query that are no arguments, with their meaning.
        defaults: arguments that are other by address than by the tool's name.
    """

    # No docstring, which would be the description in the OpenAPI document.
    def handle(view: ApiView, request: HttpRequest, **address: str | int) -> HttpResponse:
        given = (defaults or {}) | from_query(request, asked.arguments)
        return view.run(request, asked, from_path(given, **_arguments_of(address)))

    parameters = query(asked.arguments, leave_out={asked.target, *leave_out}, also=also)
    return _described(asked, tag, operation_id, 404, parameters=parameters)(handle)


def by_body(asked: ApiOperation[Any], tag: str, operation_id: str = "", *, leave_out: Collection[str] = ()) -> Handler:
    """Return the method of a view that runs a tool or endpoint with the arguments in the body; see `by_query`."""

    def handle(view: ApiView, request: HttpRequest, **address: str | int) -> HttpResponse:
        return view.by_body(request, asked, **_arguments_of(address))

    taken = body_of(asked.arguments, leave_out={asked.target, *leave_out})
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
    get = by_query(read.read_memory_block, "blocks", "block_read", leave_out={"view_range"}, defaults=_WHOLE)


class BlockHistory(ApiView):
    get = by_query(read.block_history, "blocks")


class BlockPropose(ApiView):
    post = by_body(propose.block_propose, "blocks")


class ProposalList(ApiView):
    get = by_query(
        proposals.list_proposals, "proposals", "proposal_list", also={"user_id": "Only those for this owner."}
    )


class ProposalDetail(ApiView):
    get = by_query(proposals.proposal_read, "proposals", defaults=_WHOLE)


class DecisionList(ApiView):
    get = by_query(telling.decision_list, "proposals", also={"user_id": "Only those for this owner."})


class ProposalWithdraw(ApiView):
    post = by_body(proposals.withdraw_proposal, "proposals", "proposal_withdraw")


class NoteList(ApiView):
    get = by_query(recall.note_list, "notes")


class NoteDetail(ApiView):
    get = by_query(recall.note_read, "notes")


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
    get = by_query(conversations.memory_read_session, "conversations", "session_read")
    post = by_body(conversations.message_keep, "conversations", leave_out={"session_id"})
    delete = by_query(conversations.message_delete, "conversations", "conversation_delete", leave_out=_OF_MESSAGES)


class MessageDetail(ApiView):
    delete = by_query(conversations.message_delete, "conversations", leave_out=_OF_MESSAGES)
