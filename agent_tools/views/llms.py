"""`/llms.txt`: open to everybody, asks no database, and says the same to all."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from agent_tools.http import llms as written


@require_safe
def llms(request: HttpRequest) -> HttpResponse:
    # The configured address and not that of the request: a cache may keep the answer for others.
    answer = HttpResponse(written.page(settings.PUBLIC_URL), content_type="text/plain; charset=utf-8")
    answer["Cache-Control"] = "public, max-age=3600"
    return answer
