"""The two shapes of an answer, as JSON bytes."""

from __future__ import annotations

import json
from typing import Any

from django.http import HttpResponse

from agent_tools.errors import ApiError

#: JSON loads and frames nothing, should a browser be made to show it.
_POLICY = "default-src 'none'; frame-ancestors 'none'"


class ApiResponse(HttpResponse):
    """JSON, with its outcome (`ok` or an error code) for the audit row."""

    outcome: str


def json_response(
    payload: dict[str, Any], *, status: int = 200, headers: dict[str, str] | None = None, outcome: str = "ok"
) -> ApiResponse:
    """Return `payload` as JSON in UTF-8; private text, so no cache may keep it."""
    body = json.dumps(payload, ensure_ascii=False, allow_nan=False).encode()
    response = ApiResponse(body, status=status, content_type="application/json", headers=headers)
    response.setdefault("Cache-Control", "no-store")
    response["Content-Security-Policy"] = _POLICY
    response.outcome = outcome
    return response


def failure(error: ApiError) -> ApiResponse:
    """Return the answer to a failed request."""
    return json_response(error.payload, status=error.code.status, headers=error.headers, outcome=error.code.code)
