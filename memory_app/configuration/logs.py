"""Structured logs: structlog events and everything from the standard library, as one stream.

`structlog.get_logger(__name__).info("memory_edit_proposed", owner=…)` is how the project logs. Texts of
the memory are never logged: names, sizes and outcomes are.
"""

from typing import Any

import structlog

_SHARED: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.StackInfoRenderer(),
]


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
        last = [structlog.dev.ConsoleRenderer()]
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "structured": {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": _SHARED,
                "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last],
            }
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "structured"}},
        "root": {"handlers": ["stderr"], "level": "WARNING"},
        "loggers": {name: {"level": level} for name in ("memory_app", "approvals", "agent_tools", "django", "celery")}
        # waitress would say each time that a request waits for a thread.
        | {"django.db.backends": {"level": "WARNING"}, "waitress.queue": {"level": "ERROR"}},
    }
