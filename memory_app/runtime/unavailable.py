"""Whether an error means that something Assent depends on is away: the answer is 503, and a retry may succeed."""

import re

from django.db import DatabaseError, InterfaceError, OperationalError
from redis.exceptions import RedisError

from memory_app.dolt.errors import EngineUnavailable, OutcomeUnknown

#: A file that cannot be read any more. SQLite's driver calls these no operational errors.
_UNREADABLE = re.compile(r"malformed|not a database", re.IGNORECASE)


def is_away(error: BaseException | None) -> bool:
    """Whether a database, the memory's engine or Redis did not answer, in time or at all."""
    if isinstance(error, EngineUnavailable | OutcomeUnknown | OperationalError | InterfaceError | RedisError):
        return True
    return isinstance(error, DatabaseError) and _UNREADABLE.search(str(error)) is not None
