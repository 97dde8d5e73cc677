"""Asking for an owner's search index to be brought up: by a worker, inline where there is none.

Never fails what it comes after: until it is done, answers say `index_behind`, and the beat makes up for a lost task.
Nor holds it up: a change so large that all is indexed anew is left, inline, to the next search (or the beat), which
waits for it 3 s at most.
"""

from __future__ import annotations

import threading

import structlog
from django.db import connections

from memory_app.models import SearchIndex
from memory_app.search import store
from memory_app.workers import NoWorker, hand_over

log = structlog.get_logger(__name__)


def soon(owner: str) -> None:
    """Bring the owner's chunks up to the memory and the conversations."""
    try:
        hand_over("memory_app.reindex", owner)
    except NoWorker:
        _now(owner)


def in_background(owner: str) -> threading.Thread:
    """Do it in a thread of its own, which goes on when the call that began it has run out of time.

    Within such a call a rebuild that takes longer would be cut each time and begin from nothing each time.
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


def _now(owner: str) -> None:
    try:
        # An owner nobody has searched yet gets an index with the first search.
        if SearchIndex.objects.filter(owner=owner).exists():
            store.reindex(owner, unless_many=True)
    except Exception:
        # The index is derived, and whatever broke it must not break what it follows.
        log.exception("reindex_failed", user_id=owner)
