"""`/healthz`: the process answers. `/readyz`: everything it needs does, too."""

from __future__ import annotations

from dataclasses import asdict

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from agent_tools.calls.api_operation import Answer
from agent_tools.errors import ApiError, ErrorCode
from agent_tools.http import responses
from memory_app.runtime import health


@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    return responses.json_response(Answer("Alive.", {}).payload())


@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    parts = health.parts()
    described = {part.name: {key: value for key, value in asdict(part).items() if key != "name"} for part in parts}
    failed = [part.name for part in parts if not part.ok]
    if failed:
        message, details = f"Not ready: {', '.join(failed)}.", {"failed": failed, "parts": described}
        return responses.failure(ApiError(ErrorCode.NOT_READY, message, details=details, retry_after=5))
    search = health.search()
    data = {"parts": described, "search": asdict(search) if search else None}
    return responses.json_response(Answer("Ready.", data).payload())
