"""Running a tool for the playground: the same way as a call over HTTP, as an agent of the viewer's own.

What runs is real: throttled, audited, and a proposal it makes waits for a decision like any other. A dry run would have
to undo in two databases what it only pretended; a proposal that can be withdrawn in one press is the honest preview.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from django.conf import settings
from rest_framework.exceptions import Throttled

from agent_tools.auth import throttle, tokens
from agent_tools.auth.authentication import Caller
from agent_tools.calls import execution
from agent_tools.calls.api_operation import ApiOperation
from agent_tools.calls.audit import Audit
from agent_tools.errors import ErrorCode
from agent_tools.http import body, exceptions
from agent_tools.http.exceptions import exception_handler
from agent_tools.models import AgentToken, Scope
from approvals.models import User
from assent_client.text import invisible


class PlaygroundDeactivated(Exception):
    """An admin deactivated the agent of this person's playground."""


@dataclass(frozen=True)
class Tried:
    """An answer as an agent gets it.

    Args:
        text: what the agent reads.
        data: `data` of a success, `error` of a failure, as JSON.
        meaning: of the error code, from the reference.
        retry_after: seconds; empty where the answer does not say.
        proposal_id: of the proposal it is about; 0 for none.
        is_applied: the change is in the memory already.
        corrected: arguments that would work, as JSON, where a refusal names them.
    """

    tool: str
    status: int
    reason: str
    is_ok: bool
    text: str
    data: str
    code: str
    meaning: str
    retry_after: str
    duration_ms: float
    size: int
    proposal_id: int
    is_applied: bool
    corrected: str


@dataclass(frozen=True)
class _Running:
    """What the exception handler asks of the view that raised."""

    failing: str
    audit: Audit


def token_for(viewer: User) -> AgentToken:
    """Return the token of the viewer's playground.

    Raises:
        PlaygroundDeactivated: its agent may not do anything.
    """
    token = tokens.playground_of(viewer)
    if not token.agent.is_active:
        raise PlaygroundDeactivated
    return token


def run(viewer: User, tool: ApiOperation[Any], arguments: Mapping[str, Any], scopes: Iterable[Scope]) -> Tried:
    """Run `tool` about the viewer's own memory, with these scopes and no others.

    Raises:
        PlaygroundDeactivated: see `token_for`.
    """
    token = token_for(viewer)
    allowed = set(scopes)
    token.scopes = [scope.value for scope in Scope if scope in allowed]  # for this call; the row is not saved
    began = time.perf_counter()
    response = _respond(token, tool, arguments)
    duration_ms = (time.perf_counter() - began) * 1000
    return _tried(tool.name, response, duration_ms)


def _respond(token: AgentToken, tool: ApiOperation[Any], arguments: Mapping[str, Any]) -> exceptions.ApiResponse:
    raw = json.dumps(arguments, ensure_ascii=False).encode()
    audit = Audit(tool=tool.name, request_bytes=len(raw))
    tokens.touch(token)
    try:
        if wait := throttle.count(token):
            raise Throttled(wait=wait)
        if len(raw) > settings.REQUEST_LIMIT:
            raise body.too_large(settings.REQUEST_LIMIT)
        kept = execution.execute(tool, Caller(token), body.parse_object(raw), key=None, audit=audit)
    except Exception as error:  # as the framework does for a view: whatever it is, the agent gets the answer for it
        response = exception_handler(error, {"view": _Running(tool.failing, audit)})
    else:
        outcome = "ok" if kept.payload["ok"] else kept.payload["error"]["code"]
        response = exceptions.json_response(kept.payload, status=kept.status, outcome=outcome)
    audit.write(token, outcome=response.outcome, status=response.status_code, response_bytes=len(response.content))
    return response


def _tried(tool: str, response: exceptions.ApiResponse, duration_ms: float) -> Tried:
    payload = json.loads(response.content)
    shown = payload["data"] if payload["ok"] else payload["error"]
    code = "" if payload["ok"] else payload["error"]["code"]
    proposal_id = payload["data"].get("proposal_id") if payload["ok"] else None
    corrected = None if payload["ok"] else payload["error"]["details"].get("corrected_call")
    return Tried(
        tool=tool,
        status=response.status_code,
        reason=HTTPStatus(response.status_code).phrase,
        is_ok=payload["ok"],
        text=payload["text"],
        data=as_json(shown),
        code=code,
        meaning=next((each.meaning for each in ErrorCode if each.code == code), ""),
        retry_after=response.headers.get("Retry-After", ""),
        duration_ms=duration_ms,
        size=len(response.content),
        proposal_id=proposal_id if isinstance(proposal_id, int) else 0,
        is_applied=payload["ok"] and payload["data"].get("status") == "applied",
        corrected=json.dumps(corrected) if corrected else "",
    )


def as_json(value: object) -> str:
    """Return JSON for people: unseen characters as escapes, so that they are seen and what is copied means the same."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return escaped(text)


def escaped(text: str) -> str:
    """Return JSON text with the unseen characters in its strings as escapes."""
    found = {hidden.offset: hidden.char for hidden in invisible.find(text)}
    if not found:
        return text
    return "".join(json.dumps(found[at])[1:-1] if at in found else char for at, char in enumerate(text))
