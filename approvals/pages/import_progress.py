"""How far an import has come, where the one who waits for it can ask: in the cache, which all processes share.

Kept under a key that the page's form or the client makes up and others cannot guess, and only for the person or token
that imports. A cache that is away costs the display, never the import.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

import structlog
from django.core.cache import cache
from redis.exceptions import RedisError

from approvals.services.errors import Refused
from assent_client.text.memories_md import Unreadable
from memory_app.runtime import progress
from memory_app.runtime.progress import Stage
from memory_app.text.edits import ForbiddenCharacter

T = TypeVar("T")

log = structlog.get_logger(__name__)

#: What a form or a client may call an import.
KEY = re.compile(r"[A-Za-z0-9_-]{16,64}")

#: Errors after which nothing of the file is in the memory. After any other error it is unknown how far it came.
_REFUSALS = (Unreadable, Refused, ForbiddenCharacter)

#: Seconds an entry is kept.
KEPT = 3600
#: Seconds between two reports of one stage; a look costs the same as ten.
PACE = 0.2
#: Seconds without progress after which an import counts as lost: weighing 100,000 memories took 170 on a busy machine.
SILENCE = 400


class ImportState(StrEnum):
    """Where an import stands. `failed`: it was refused, and nothing taken. `lost`: its process or a database went
    away, or its time was up; whether it was done, the notes tell."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    LOST = "lost"


@dataclass(frozen=True)
class Progress:
    """How far an import has come: so many of so many of its stage are done."""

    state: ImportState
    stage: Stage
    done: int
    of: int

    @property
    def percent(self) -> int:
        return 100 if self.state is ImportState.DONE else progress.percent(self.stage, self.done, self.of)


def new_key() -> str:
    return secrets.token_urlsafe(16)


def of_person(pk: int) -> str:
    """Return the name of a person as the one who waits."""
    return f"person-{pk}"


def of_token(pk: int) -> str:
    """Return the name of a token as the one who waits."""
    return f"token-{pk}"


class UnderWay(Exception):
    """An import of that key is not over yet: the same one was sent twice."""


@contextmanager
def claimed(viewer: str, key: str) -> Iterator[None]:
    """Keep `viewer` from beginning another import of that key before the one inside is over.

    Raises:
        UnderWay: there is one; nothing inside was done.
    """
    if not KEY.fullmatch(key):
        yield
        return
    name = _claim(viewer, key)
    # One atomic step, since two senders may both find the key free. An import whose process is gone loses it.
    if not _from_cache(lambda: cache.add(name, 1, timeout=SILENCE), without=True):
        raise UnderWay
    try:
        yield
    finally:
        _from_cache(lambda: cache.delete(name), without=False)


@contextmanager
def watched(viewer: str, key: str) -> Iterator[None]:
    """Store the progress of the import done inside under `key`, for `viewer` alone.

    Around the import itself, where a refusal differs from a database that went away.

    Args:
        key: one that `KEY` matches; with anything else nothing is stored.
    """
    if not KEY.fullmatch(key):
        yield
        return
    teller = _Progress(viewer, key)
    teller.tell(ImportState.RUNNING, Stage.READING, 0, 1)
    _from_cache(lambda: cache.set(_name(viewer, "latest"), key, timeout=KEPT), without=None)
    try:
        with progress.reported_to(teller.report):
            yield
    except _REFUSALS:
        teller.tell(ImportState.FAILED, *teller.last)
        raise
    except BaseException:
        teller.tell(ImportState.LOST, *teller.last)
        raise
    teller.tell(ImportState.DONE, *teller.last)


def look(viewer: str, key: str) -> Progress | None:
    """Return how far the import `viewer` calls `key` has come; None when there is none (yet)."""
    if not KEY.fullmatch(key):
        return None
    told = _from_cache(lambda: cache.get(_name(viewer, key)), without=None)
    if told is None:
        return None
    state, stage, done, of, at = told
    is_lost = state == ImportState.RUNNING and time.time() - at > SILENCE
    return Progress(ImportState.LOST if is_lost else ImportState(state), Stage(stage), done, of)


def latest(viewer: str) -> str:
    """Return the key of the import that `viewer` has under way; empty when there is none."""
    key = str(_from_cache(lambda: cache.get(_name(viewer, "latest"), ""), without=""))
    found = look(viewer, key)
    return key if found is not None and found.state is ImportState.RUNNING else ""


class _Progress:
    def __init__(self, viewer: str, key: str) -> None:
        self.last = (Stage.READING, 0, 1)
        self._name, self._claim = _name(viewer, key), _claim(viewer, key)
        self._told_at = 0.0
        self._is_away = False

    def report(self, stage: Stage, done: int, of: int) -> None:
        is_next = stage is not self.last[0]
        self.last = (stage, done, of)
        if is_next or time.monotonic() - self._told_at >= PACE:
            self.tell(ImportState.RUNNING, stage, done, of)

    def tell(self, state: ImportState, stage: Stage, done: int, of: int) -> None:
        self._told_at = time.monotonic()
        if self._is_away:
            return
        try:
            cache.set(self._name, (str(state), str(stage), done, of, time.time()), timeout=KEPT)
            cache.touch(self._claim, SILENCE)
        except RedisError as error:
            self._is_away = True  # once: each try waits for the connection
            log.warning("import_progress_not_told", error=type(error).__name__)


def _name(viewer: str, key: str) -> str:
    return f"import:{viewer}:{key}"


def _claim(viewer: str, key: str) -> str:
    return f"{_name(viewer, key)}:claim"


def _from_cache(ask: Callable[[], T], *, without: T) -> T:
    """Return what the cache answers, or `without` where it is away."""
    try:
        return ask()
    except RedisError as error:
        log.warning("import_progress_without_cache", error=type(error).__name__)
        return without
