"""Structured logs: structlog events and everything from the standard library, as one stream.

`structlog.get_logger(__name__).info("memory_edit_proposed", owner=…)` is how the project logs. Texts of
the memory are never logged: names, sizes and outcomes are. Nor are addresses, which have keys of feeds and ids of
conversations: their routes are.
"""

import sys
import traceback
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest
from django.urls import Resolver404, resolve

# Where rich is installed, structlog loads it: a quarter of a second of each start, for tracebacks that show variables.
_is_rich_loaded = "rich" in sys.modules
if not _is_rich_loaded:
    sys.modules["rich"] = None  # type: ignore[assignment]
import structlog  # noqa: E402

if not _is_rich_loaded:
    del sys.modules["rich"]

_SHARED: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.StackInfoRenderer(),
]

#: Django takes half a second to resolve thousands of slashes.
_LONGEST_PATH = 1_000
#: Shorter values are in every traceback.
_SHORTEST_VALUE = 6


def route_of(request: HttpRequest) -> str:
    """Return the pattern of the address, such as `feed/<str:feed_key>/`; "no route" for an unknown one."""
    try:
        match = request.resolver_match or resolve(request.path_info[:_LONGEST_PATH])
    except Resolver404:
        return "no route"
    return match.route


def _without_addresses(logger: Any, method: str, event: dict[str, Any]) -> dict[str, Any]:
    """Replace what Django says of a request: the path, and what a header or an exception quotes of the caller's."""
    record = event["_record"]
    request = getattr(record, "request", None)
    if not isinstance(request, HttpRequest):
        return event
    status = getattr(record, "status_code", 500)
    said = HTTPStatus(status).phrase
    if record.name == "django.security.csrf":  # "Forbidden (Origin checking failed - https://… does not match …): /…"
        reason = str(event["event"]).partition("(")[2].partition("): ")[0]
        said += f" ({reason.partition(' - ')[0]})"
    elif record.name == "django.security.DisallowedHost":
        said += " (a host name that ASSENT_ALLOWED_HOSTS does not have)"
    error = (event.pop("exc_info", None) or (None, None))[1]
    if error and status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        event["exception"] = _traceback(request, error)
    return event | {"event": f"{said}: {route_of(request)}", "method": request.method}


def _traceback(request: HttpRequest, error: BaseException) -> str:
    match, headers = request.resolver_match, request.META.items()
    given = {str(value) for value in (match.kwargs.values() if match else ())}
    given |= {request.path, *request.GET, *(each for values in request.GET.lists() for each in values[1])}
    given |= {value for name, value in headers if name.startswith(("HTTP_", "QUERY_STRING"))}
    shown = "".join(traceback.format_exception(error))
    for value in sorted(given, key=len, reverse=True):
        shown = shown.replace(value, "…") if len(value) >= _SHORTEST_VALUE else shown
    return shown


def configuration(*, level: str, form: str) -> dict[str, Any]:
    """Return the LOGGING dictionary, and set up structlog to feed it.

    Args:
        level: a standard level name, for our own events and Django's.
        form: `json` (one object a line) or `console` (for people).
    """
    structlog.configure(
        # What the level leaves out is not made either.
        processors=[structlog.stdlib.filter_by_level, *_SHARED, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    if form == "json":
        last = [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    else:
        # Its own tracebacks show the variables of each function.
        last = [structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)]
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "structured": {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": _SHARED,
                "processors": [
                    _without_addresses,
                    structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                    *last,
                ],
            }
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "structured"}},
        "root": {"handlers": ["stderr"], "level": "WARNING"},
        "loggers": {name: {"level": level} for name in ("memory_app", "approvals", "agent_tools", "django", "celery")}
        # waitress would say each time that a request waits for a thread.
        | {"django.db.backends": {"level": "WARNING"}, "waitress.queue": {"level": "ERROR"}},
    }
