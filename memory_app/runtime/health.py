"""Whether the parts this process needs work: both databases, the disk of an embedded one, and Redis where configured.

For `/readyz`. Answers come from real queries on migrated tables, since a server that accepts connections
may still be without them. Reasons are logged, not shown: the endpoint needs no sign-in.
"""

import errno
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

import structlog
from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connections
from redis import Redis
from redis.exceptions import RedisError

from memory_app.dolt.connections import standing_on
from memory_app.dolt.errors import DoltError
from memory_app.dolt.placement import databases
from memory_app.dolt.types import FIRST
from memory_app.models import Change, MemoryBlock
from memory_app.runtime import deadlines
from memory_app.search import embedders, index_state

log = structlog.get_logger(__name__)

#: Bytes below which a disk counts as full: SQLite's WAL alone may take half of that before it is checkpointed.
_ENOUGH_SPACE = 32 * 1024 * 1024
T = TypeVar("T")

#: Seconds after which a request for readiness is answered.
SECONDS = 2.5
_SEARCH_SECONDS = 0.4
#: Connecting to a server that hangs cannot be interrupted from outside and takes up to five seconds. So each part is
#: asked in a thread of its own, and there is never more than one for each.
_threads = ThreadPoolExecutor(16, thread_name_prefix="health")
_answers: dict[str, Future[Any]] = {}
_lock = threading.Lock()


#: Of a part, what `/readyz` shows: whether it works, and the engine and version that answered.
Part = dict[str, Any]


def _works(engine: str = "", version: str = "") -> Part:
    return {"ok": True, "engine": engine, "version": version}


def parts() -> dict[str, Part]:
    """Return the state of each part (`default`, each memory, `disk`, `redis`), asked in parallel; one silent for
    `SECONDS` counts as down."""
    until = time.monotonic() + SECONDS
    known = memories_known(SECONDS / 2)
    memories = {database: partial(_memory, database) for database in known}
    asked: dict[str, Callable[[], Part]] = {**memories, "default": _default}
    if settings.EMBEDDED_MEMORY or not settings.DATABASE_URL:
        asked["disk"] = _disk
    if settings.REDIS_URL:
        asked["redis"] = _redis
    found = together(asked, until - time.monotonic())
    return {name: part or {**_works(), "ok": False} for name, part in found.items()}


def is_ready(parts: dict[str, Part]) -> bool:
    """Whether this process can serve: one of several memories that is away takes only its owners with it."""
    memories = [part["ok"] for name, part in parts.items() if name.startswith(FIRST)]
    return any(memories) and all(part["ok"] for name, part in parts.items() if not name.startswith(FIRST))


def _asking(name: str, ask: Callable[[], T]) -> Future[T]:
    """Begin to ask, unless the previous attempt is still running: a part that hangs is not asked again."""
    with _lock:
        if name not in _answers or _answers[name].done():
            _answers[name] = _threads.submit(_in_time, ask)
        return _answers[name]


def _in_time(ask: Callable[[], T]) -> T:
    try:
        with deadlines.within(SECONDS):
            return ask()
    finally:
        connections.close_all()  # this thread's; the next one may ask a restarted server


def memories_known(seconds: float) -> list[str]:
    """Return the names of the databases of the memory, or of the first one while `default` does not say."""
    return together({"databases": databases}, seconds)["databases"] or [FIRST]


def together(asked: Mapping[str, Callable[[], T]], seconds: float) -> dict[str, T | None]:
    """Ask for several things in parallel, each under a name of its own; None for what failed or took too long.

    What goes wrong is logged.
    """
    until = time.monotonic() + seconds
    asking = {name: _asking(name, ask) for name, ask in asked.items()}
    return {name: _answer(name, answer, until - time.monotonic()) for name, answer in asking.items()}


def _answer(name: str, answer: Future[T], seconds: float) -> T | None:
    try:
        return answer.result(timeout=max(0, seconds))
    except (DatabaseError, DoltError, RedisError, OSError, TimeoutError) as error:
        log.warning("not_ready", part=name, error=f"{type(error).__name__}: {error}")
        return None


def search() -> dict[str, Any] | None:
    """Return the source of vectors and how many owners' indices are behind, which does not make a site unready, but an
    operator should see it; None when finding out took too long, as the first time, when the embedder loads."""
    return together({"search": _search}, _SEARCH_SECONDS)["search"]


def _search() -> dict[str, Any]:
    return {"embedder": embedders.configured_name(), "owners_behind": len(index_state.owners_behind())}


def _memory(database: str) -> Part:
    with standing_on(database) as verbs:
        MemoryBlock.objects.exists()
        return _works(verbs.engine, verbs.version())


def _default() -> Part:
    Change.objects.exists()
    connection = connections["default"]
    return _works(connection.display_name, ".".join(map(str, connection.get_database_version())))


def _disk() -> Part:
    """Write to the folder of the embedded databases: on a full disk they still answer queries."""
    if shutil.disk_usage(settings.DATA_DIR).free < _ENOUGH_SPACE:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with tempfile.TemporaryFile(dir=settings.DATA_DIR) as file:  # free space says nothing of quotas and read-only disks
        file.write(bytes(4096))
        file.flush()
    return _works()


def _redis() -> Part:
    with Redis.from_url(
        settings.REDIS_URL, socket_connect_timeout=SECONDS, socket_timeout=SECONDS, retry=None
    ) as client:
        return _works("Redis", str(client.info("server").get("redis_version", "")))
