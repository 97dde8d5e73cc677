"""Asking for an owner's search index to be brought up: by a worker, in a thread of this process where there is none.

Never fails or holds up what it comes after. Until it is done a search brings the index up itself, or says
`index_behind`; what is lost with the process is made up for by the next search, and by the beat.
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

#: Seconds between two messages to the workers: each costs 2 ms of a processor here and 30 there.
_BETWEEN_MESSAGES = 0.5


def soon(owner: str) -> None:
    """Bring the owner's chunks up to the memory and the conversations."""
    _changed.add(owner)


def settle() -> None:
    """Wait until nothing that was asked for in this process is left to do."""
    _changed.settle()


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


def _bring_up(owners: list[str]) -> None:
    for owner in dict.fromkeys(owners):
        try:
            enqueue("memory_app.reindex", owner)
        except NoWorker:
            _bring_up_here(owner)


def _bring_up_here(owner: str) -> None:
    try:
        # An owner nobody has searched yet gets an index with the first search. And a change so large that all is
        # indexed anew is left to that, too: who writes it has to do with this processor otherwise.
        if SearchIndex.objects.filter(owner=owner).exists():
            store.reindex(owner, unless_many=True)
    except Exception:
        # The index is derived, and whatever broke it must not break what it follows.
        log.exception("reindex_failed", user_id=owner)


_changed = Gatherer("reindex", _bring_up, pause=lambda: _BETWEEN_MESSAGES if are_expected() else 0.0)
