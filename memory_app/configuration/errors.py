"""Errors for Sentry, or what speaks its protocol: what the log has at level ERROR, less than the log says of it.

An exception's message may quote a memory or an address, and so may local variables, bodies and breadcrumbs. So an event
is made anew of what is named here, rather than cleaned. Imported only where ASSENT_SENTRY_DSN is set.
"""

import logging
import sys
from typing import Any

import sentry_sdk
import structlog
from django.http import HttpRequest
from sentry_sdk.integrations import atexit, excepthook
from sentry_sdk.integrations.logging import LoggingIntegration
from sentry_sdk.types import Event, Hint
from sentry_sdk.utils import BadDsn, event_from_exception

from memory_app.configuration.environment import BadSetting
from memory_app.configuration.logs import route_of

_OF_EVENT = ("event_id", "timestamp", "level", "platform", "release", "environment", "server_name", "sdk", "logger")
_OF_EXCEPTION = ("type", "module", "stacktrace")


def report_to(dsn: str) -> None:
    """Send errors of this process, and of those it forks, to this address. Raises BadSetting."""
    try:
        sentry_sdk.init(
            dsn=dsn,
            before_send=_of_names_alone,
            # Whatever goes wrong is logged. The integrations of Django and Celery would wrap each call.
            default_integrations=False,
            auto_enabling_integrations=False,
            integrations=[
                LoggingIntegration(level=None, event_level=logging.ERROR),
                atexit.AtexitIntegration(callback=lambda *_: None),
                excepthook.ExcepthookIntegration(),
            ],
            include_local_variables=False,
            include_source_context=False,
            max_breadcrumbs=0,
            max_request_body_size="never",
            send_default_pii=False,
        )
    except BadDsn as error:
        raise BadSetting("ASSENT_SENTRY_DSN is no DSN, such as https://key@sentry.example.org/1.") from error


def _of_names_alone(event: Event, hint: Hint) -> Event:
    record = hint.get("log_record")
    said, request = getattr(record, "msg", None), getattr(record, "request", None)
    error = hint.get("exc_info")
    if error is None and isinstance(said, dict) and said.get("exc_info"):  # structlog's, not formatted yet
        error = sys.exc_info()
    kept: Any = {name: value for name, value in event.items() if name in _OF_EVENT}
    # A message of another library may be formatted already.
    kept["message"] = said["event"] if isinstance(said, dict) else getattr(record, "name", "uncaught")
    kept["tags"] = {**structlog.contextvars.get_contextvars()}
    if isinstance(request, HttpRequest):
        kept["tags"]["route"] = route_of(request)
    if error and error[0]:
        found: Any = event_from_exception(error, sentry_sdk.get_client().options)[0]
        values = [{name: each.get(name) for name in _OF_EXCEPTION} for each in found["exception"]["values"]]
        kept["exception"] = {"values": values}
    allowed: Event = kept
    return allowed
