"""`/mcp`: the Model Context Protocol, one POST for each message and one answer to it.

A view of Django alone: no session, no stream, no state between two requests. What the methods do: `agent_tools.mcp`.
"""

from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from agent_tools.auth import Caller, caller_of, calling, count_call
from agent_tools.calls.arguments import parse as parse_arguments
from agent_tools.calls.execution import Audit
from agent_tools.calls.json_values import parse
from agent_tools.errors import ApiError, ErrorCode
from agent_tools.http import json_rpc, messages
from agent_tools.http.json_rpc import Id, RpcCode, RpcError
from agent_tools.http.messages import ApiResponse
from agent_tools.mcp import methods, protocol
from agent_tools.mcp.exchange import CALLED, AddressQuery, Exchange
from agent_tools.views.api import from_query

#: Where it is; the second for people who end an address with a slash.
_PATHS = ("/mcp", "/mcp/")
#: Where a client without a token learns how to get one.
RESOURCE_METADATA = "/.well-known/oauth-protected-resource/mcp"


@csrf_exempt  # no cookie is looked at
def mcp(request: HttpRequest) -> HttpResponse:
    try:
        _check_request(request)
        caller = caller_of(request)
        with calling(caller.token):
            return _answer_body(request, caller)
    except Exception as error:
        response = json_rpc.failed(error)
        if response.status_code == 401:
            response["WWW-Authenticate"] += f', resource_metadata="{settings.PUBLIC_URL}{RESOURCE_METADATA}"'
        return response


def _answer_body(request: HttpRequest, caller: Caller) -> HttpResponse:
    audit = Audit()
    raw = messages.read_json(request)
    audit.request_bytes = len(raw)
    if not raw.strip():
        raise RpcError(RpcCode.PARSE_ERROR, "The body is empty: send one JSON-RPC message.")
    value = parse(raw)
    if not protocol.is_batch(value, request.headers):
        return _answer(request, caller, audit, value)
    for _ in value[1:]:  # all before the first is answered: what was done must not be done again
        count_call(caller.token)
    asked = (message for message in value if not protocol.is_response(message))
    return json_rpc.together([_answer(request, caller, Audit(), each, in_batch=True) for each in asked])


def _answer(
    request: HttpRequest, caller: Caller, audit: Audit, value: object, *, in_batch: bool = False
) -> ApiResponse:
    """Return the answer to a decoded body, after the audit row is written where a tool or resource was asked for."""
    id: Id = None
    is_modern = False
    exchange = None
    try:
        id = protocol.id_of(value)
        message = protocol.read(value, in_batch=in_batch)
        is_modern = protocol.is_modern(message, request.headers)
        if is_modern:
            protocol.check_envelope(message, request.headers)
        if message.is_notification:
            return json_rpc.accepted()
        given = from_query(request, AddressQuery, called=CALLED)
        address = parse_arguments(AddressQuery, given, called=CALLED)
        meta = message.meta if isinstance(message.meta, dict) else {}
        exchange = Exchange(caller, address, audit, headers=request.headers, meta=meta)
        result = methods.call(exchange, message.method, message.params, is_modern=is_modern)
        answer = json_rpc.succeeded(result, id, outcome=exchange.outcome)
    except Exception as error:
        answer = json_rpc.failed(error, id, is_modern=is_modern)
    if exchange is not None and audit.tool:
        outcome, status = exchange.outcome, exchange.status
        if outcome == "ok" and answer.outcome != "ok":
            outcome, status = answer.outcome, answer.status_code
        audit.write(caller.token, outcome=outcome, status=status, response_bytes=len(answer.content))
    return answer


def _check_request(request: HttpRequest) -> None:
    """Raise ApiError for another address and another method than POST, RpcError for a page of another site."""
    if request.path_info not in _PATHS:
        raise ApiError(ErrorCode.NOT_FOUND, "There is no such endpoint; it is /mcp.")
    origin = request.headers.get("Origin")
    if origin is not None and not _is_ours(origin, request):
        raise RpcError(
            RpcCode.REFUSED,
            "This server does not answer pages of other sites.",
            data={"code": "origin_not_allowed"},
            status=403,
            outcome="origin_not_allowed",
        )
    if request.method != "POST":
        raise messages.not_allowed(["POST"])


def _is_ours(origin: str, request: HttpRequest) -> bool:
    """Whether the page that sends the request is of this installation, or of a site its settings trust."""
    public = urlsplit(settings.PUBLIC_URL)
    own = (f"{public.scheme}://{public.netloc}", f"{request.scheme}://{request.get_host()}")
    return origin in own or origin in settings.CSRF_TRUSTED_ORIGINS
