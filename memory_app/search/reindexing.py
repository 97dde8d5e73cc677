"""Enqueue bringing an owner's search index up to date: by a worker, or by a thread of this process without one.

It never fails or delays the change it follows. Until it is done, a search brings the index up to date itself or says
`index_behind`. A request lost with the process is made up for by the next search, and by the beat.
"""

from __future__ import annotations

import threading

import structlog
from django.db import connections

from memory_app.models import SearchIndex
from memory_app.runtime.gatherer import Gatherer
from memory_app.runtime.workers import NoWorker, are_expected, enqueue
from memory_app.search import store

log = structlog.get_logger(__name__)

#: Seconds between two messages to the workers: each takes 2 ms of a processor here and 30 there.
_BETWEEN_MESSAGES = 0.5


def enqueue_reindex(owner: str) -> None:
    """Enqueue the reindexing of an owner's chunks from the memory and the conversations."""
    _changed.add(owner)


def settle() -> None:
    """Wait until everything enqueued in this process is done."""
    _changed.settle()


def in_background(owner: str) -> threading.Thread:
    """Reindex in a thread of its own, which continues after the deadline of the call that started it.

    Within the call, a rebuild that takes longer would be cut short each time and start from nothing each time.
    """
    thread = threading.Thread(target=_with_own_connections, args=[owner], name=f"reindex {owner}", daemon=True)
    thread.start()
    return thread


def _with_own_connections(owner: str) -> None:
    try:
        store.reindex(owner)
    except Exception:
        log.exception("reindex_failed", user_id=owner)
    finally:
        connections.close_all()


def _bring_up(owners: list[str]) -> None:
    for owner in dict.fromkeys(owners):
        try:
            enqueue("memory_app.reindex", owner)
        except NoWorker:
            _bring_up_here(owner)


def _bring_up_here(owner: str) -> None:
    try:
        # An owner never searched gets an index with the first search. So does a change so large that everything is
        # indexed again: the process that writes it needs its processor for other work.
        if SearchIndex.objects.filter(owner=owner).exists():
            store.reindex(owner, unless_many=True)
    except Exception:
        # The index is derived data: its failure must not break the change it follows.
        log.exception("reindex_failed", user_id=owner)


_changed = Gatherer("reindex", _bring_up, pause=lambda: _BETWEEN_MESSAGES if are_expected() else 0.0)
