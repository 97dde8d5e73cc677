"""How far an import has come, where the one who waits for it can ask: in the cache, which all processes share.

Kept under a key that the page's form or the client makes up and nobody can guess, and only for the person or token
that imports. A cache that is away costs the display, never the import.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum

import structlog
from django.core.cache import cache
from redis.exceptions import RedisError

from memory_app import progress, recall
from memory_app.progress import Stage

log = structlog.get_logger(__name__)

#: What a form or a client may call an import.
KEY = re.compile(r"[A-Za-z0-9_-]{16,64}")

#: Seconds an entry is kept.
KEPT = 3600
#: Seconds between two reports of one stage; a look costs the same as ten.
PACE = 0.2
#: Seconds without a word after which nobody is at it any more. One step of 100,000 memories takes half of that.
SILENCE = 180


class State(StrEnum):
    """Where an import stands. `lost`: its process or the memory went away; whether it was done, the notes tell."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    LOST = "lost"


@dataclass(frozen=True)
class Progress:
    """How far an import has come: so many of so many of its stage are done."""

    state: State
    stage: Stage
    done: int
    of: int

    @property
    def percent(self) -> int:
        return 100 if self.state is State.DONE else progress.percent(self.stage, self.done, self.of)


def new_key() -> str:
    return secrets.token_urlsafe(16)


def of_person(pk: int) -> str:
    """How a person is named as the one who waits."""
    return f"person-{pk}"


def of_token(pk: int) -> str:
    """How a token is named as the one who waits."""
    return f"token-{pk}"


@contextmanager
def watched(viewer: str, key: str) -> Iterator[None]:
    """Have the progress of the import done inside told under `key`, to `viewer` alone.

    Args:
        key: one that `KEY` matches; anything else tells nobody.
    """
    if not KEY.fullmatch(key):
        yield
        return
    teller = _Teller(_name(viewer, key))
    teller.tell(State.RUNNING, Stage.READING, 0, 1)
    _remember(viewer, key)
    try:
        with progress.reported_to(teller.report):
            yield
    except recall.OutcomeUnknown:
        teller.tell(State.LOST, *teller.last)
        raise
    except BaseException:
        teller.tell(State.FAILED, *teller.last)
        raise
    teller.tell(State.DONE, *teller.last)


def look(viewer: str, key: str) -> Progress | None:
    """How far the import `viewer` calls `key` has come; None when there is none (yet)."""
    if not KEY.fullmatch(key):
        return None
    try:
        told = cache.get(_name(viewer, key))
    except RedisError as error:
        log.warning("import_progress_not_read", error=type(error).__name__)
        return None
    if told is None:
        return None
    state, stage, done, of, at = told
    is_lost = state == State.RUNNING and time.time() - at > SILENCE
    return Progress(State.LOST if is_lost else State(state), Stage(stage), done, of)


def is_running(viewer: str, key: str) -> bool:
    """Whether an import of that key is under way: the same form was sent twice."""
    found = look(viewer, key)
    return found is not None and found.state is State.RUNNING


def latest(viewer: str) -> str:
    """The key of the import that `viewer` has under way; empty when there is none."""
    try:
        key = str(cache.get(_name(viewer, "latest"), ""))
    except RedisError as error:
        log.warning("import_progress_not_read", error=type(error).__name__)
        return ""
    return key if is_running(viewer, key) else ""


def _remember(viewer: str, key: str) -> None:
    try:
        cache.set(_name(viewer, "latest"), key, timeout=KEPT)
    except RedisError as error:
        log.warning("import_progress_not_told", error=type(error).__name__)


class _Teller:
    def __init__(self, name: str) -> None:
        self.last = (Stage.READING, 0, 1)
        self._name = name
        self._told_at = 0.0
        self._is_away = False

    def report(self, stage: Stage, done: int, of: int) -> None:
        is_next = stage is not self.last[0]
        self.last = (stage, done, of)
        if is_next or time.monotonic() - self._told_at >= PACE:
            self.tell(State.RUNNING, stage, done, of)

    def tell(self, state: State, stage: Stage, done: int, of: int) -> None:
        self._told_at = time.monotonic()
        if self._is_away:
            return
        try:
            cache.set(self._name, (str(state), str(stage), done, of, time.time()), timeout=KEPT)
        except RedisError as error:
            self._is_away = True  # once: each try waits for the connection
            log.warning("import_progress_not_told", error=type(error).__name__)


def _name(viewer: str, key: str) -> str:
    return f"import:{viewer}:{key}"
