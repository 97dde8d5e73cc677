"""What all endpoints for machines share: token, rate limit, body, one shape of answers, the audit row."""

import re
from typing import Any, get_args

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import Resolver404, resolve
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe
from drf_spectacular.views import SpectacularJSONAPIView, SpectacularSwaggerSplitView
from rest_framework.exceptions import MethodNotAllowed, NotAcceptable
from rest_framework.views import APIView

from agent_tools.auth.authentication import Caller, caller_of, count_call
from agent_tools.calls import execution
from agent_tools.calls.arguments import Arguments, invalid
from agent_tools.calls.audit import Audit
from agent_tools.calls.registry import Answer, ApiOperation
from agent_tools.errors import ApiError, ErrorCode
from agent_tools.http import body, exceptions
from agent_tools.http import llms as written
from agent_tools.http.exceptions import ApiResponse
from memory_app.runtime import health


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
    audit: Audit
    caller: Caller

    def dispatch(self, request: HttpRequest, *args: Any, **address: Any) -> ApiResponse:
        """Refuse or answer a request, and write the audit row of a call."""
        self.audit = Audit()
        caller = None
        try:
            self.caller = caller = caller_of(request)
            if not _takes_json(request.META.get("HTTP_ACCEPT", "")):
                raise NotAcceptable
            count_call(caller.token)
            method = str(request.method).lower()
            handler = getattr(self, method, None) if method in self.http_method_names else None
            if handler is None:
                raise MethodNotAllowed(method)
            answer: ApiResponse = handler(request, *args, **address)
        except Exception as error:
            answer = exceptions.exception_handler(error, {"view": self})
        if self.audit.tool and caller is not None:
            size = len(answer.content)
            self.audit.write(caller.token, outcome=answer.outcome, status=answer.status_code, response_bytes=size)
        return answer

    def by_query(
        self,
        request: HttpRequest,
        asked: ApiOperation[Any],
        *,
        defaults: dict[str, Any] | None = None,
        **path: str | int,
    ) -> ApiResponse:
        """Run a tool or endpoint with the arguments in the address and its query."""
        given = (defaults or {}) | from_query(request, asked.arguments)
        return self.run(request, asked, from_path(given, **path))

    def by_body(self, request: HttpRequest, asked: ApiOperation[Any], **path: str | int) -> ApiResponse:
        """Run a tool or endpoint with the arguments in the body and the address."""
        self.begin(asked)
        return self.run(request, asked, from_path(self.body(request), **path))

    def begin(self, asked: ApiOperation[Any]) -> None:
        """Name what is called, for the audit row and for errors of ours, before its arguments are read."""
        self.audit.tool, self.failing = asked.name, asked.failing

    def run(self, request: HttpRequest, asked: ApiOperation[Any], given: dict[str, Any]) -> ApiResponse:
        """Run a tool or endpoint with arguments as they came, and return its answer."""
        self.begin(asked)
        key = request.META.get("HTTP_IDEMPOTENCY_KEY")
        kept = execution.execute(asked, self.caller, given, key=key, audit=self.audit)
        outcome = "ok" if kept.payload["ok"] else kept.payload["error"]["code"]
        headers = {"Idempotency-Replayed": "true"} if kept.replayed else {}
        if kept.retry_after is not None:
            headers["Retry-After"] = str(kept.retry_after)
        return exceptions.json_response(kept.payload, status=kept.status, headers=headers, outcome=outcome)

    def body(self, request: HttpRequest) -> dict[str, Any]:
        """Return the JSON object in the body."""
        given, self.audit.request_bytes = body.read_object(request)
        return given


def _takes_json(accept: str) -> bool:
    kinds = {kind.partition(";")[0].strip().lower() for kind in accept.split(",")}
    return not kinds.isdisjoint(("", "*/*", "application/*", "application/json"))


def from_path(given: dict[str, Any], **path: str | int) -> dict[str, Any]:
    """Return arguments with those the address names, which a body may not name again."""
    if twice := [name for name in path if name in given]:
        raise invalid(dict.fromkeys(twice, "is given by the address already"), called="this endpoint")
    body.check_texts(dict(path))
    return given | path


def from_query(request: HttpRequest, model: type[Arguments]) -> dict[str, Any]:
    """Return the query as arguments: numbers and booleans where the model wants them; each name once, but for lists."""
    given: dict[str, Any] = {}
    for name in request.GET:
        values = request.GET.getlist(name)
        field = model.model_fields.get(name)
        wanted = {field.annotation, *get_args(field.annotation)} if field is not None else set()
        if any(getattr(kind, "__origin__", kind) is list for kind in wanted):
            given[name] = [_plain(value, _of_items(wanted)) for value in values]
            continue
        if len(values) > 1:
            raise invalid({name: "is given more than once"}, called="this endpoint")
        given[name] = _plain(values[0], wanted)
    body.check_texts(given)
    return given


def _of_items(wanted: set[Any]) -> set[Any]:
    """Return what the items of a list are wanted as."""
    return {item for kind in wanted if getattr(kind, "__origin__", kind) is list for item in get_args(kind)}


#: Enough digits for the refusal to say that it is too large.
_WHOLE = re.compile(r"-?[0-9]{1,30}")


def _plain(value: str, wanted: set[Any]) -> Any:
    """Return a text of the query as what the model wants, or as it is, to be refused by name."""
    if int in wanted and _WHOLE.fullmatch(value):
        return int(value)
    if bool in wanted and value in ("true", "false"):
        return value == "true"
    return value


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
    return exceptions.failure(ApiError(ErrorCode.NOT_FOUND, message, details={"path": request.path[:200]}))


@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """Answer that the process is alive."""
    return exceptions.json_response(Answer("Alive.", {}).payload())


@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """Answer whether everything the process needs works."""
    parts = health.parts()
    failed = [name for name, part in parts.items() if not part["ok"]]
    if failed:
        message, details = f"Not ready: {', '.join(failed)}.", {"failed": failed, "parts": parts}
        return exceptions.failure(ApiError(ErrorCode.NOT_READY, message, details=details, retry_after=5))
    return exceptions.json_response(Answer("Ready.", {"parts": parts, "search": health.search()}).payload())


@require_safe
def llms(request: HttpRequest) -> HttpResponse:
    """Answer what a model has to know: open to everybody, asks no database, and says the same to all."""
    # The configured address and not that of the request: a cache may keep the answer for others.
    answer = HttpResponse(written.page(settings.PUBLIC_URL), content_type="text/plain; charset=utf-8")
    answer["Cache-Control"] = "public, max-age=3600"
    return answer


class Schema(SpectacularJSONAPIView):
    """The document as JSON."""


class Docs(SpectacularSwaggerSplitView):
    """Swagger UI from our own files. Its start script comes from an address of its own, and our template
    has no inline style: the content security policy allows neither inline."""

    template_name = "agents/api_docs.html"
    url_name = "api_schema"
