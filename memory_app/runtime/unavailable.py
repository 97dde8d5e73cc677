"""Whether an error means that something Assent depends on is away: the answer is 503, and a retry may succeed.

And what is done without a cache that is away, where the cache only saves time.
"""

import re
from collections.abc import Callable
from typing import TypeVar

import structlog
from django.db import DatabaseError, InterfaceError, OperationalError
from redis.exceptions import RedisError

from memory_app.dolt.errors import EngineUnavailable, OutcomeUnknown

log = structlog.get_logger(__name__)

T = TypeVar("T")
Otherwise = TypeVar("Otherwise")

#: A file that cannot be read any more. SQLite's driver calls these no operational errors.
_UNREADABLE = re.compile(r"malformed|not a database", re.IGNORECASE)


def is_away(error: BaseException | None) -> bool:
    """Whether a database, the memory's engine or Redis did not answer, in time or at all."""
    if isinstance(error, EngineUnavailable | OutcomeUnknown | OperationalError | InterfaceError | RedisError):
        return True
    return isinstance(error, DatabaseError) and _UNREADABLE.search(str(error)) is not None


def of_cache(ask: Callable[[], T], otherwise: Otherwise, *, event: str) -> T | Otherwise:
    """Return what the cache answers, or `otherwise` where it is away, which is logged as `event`."""
    try:
        return ask()
    except RedisError as error:
        log.warning(event, error=type(error).__name__)
        return otherwise
