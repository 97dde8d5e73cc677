"""Asking for an owner's search index to be brought up: by a worker, inline where there is none.

Never fails what it comes after: until it is done, answers say `index_behind`, and the beat makes up for a lost task.
"""

from __future__ import annotations

from functools import partial

import structlog
from django.conf import settings

from memory_app import progress
from memory_app.models import SearchIndex
from memory_app.progress import Stage
from memory_app.search import store
from memory_app.workers import BrokerAway, hand_over

log = structlog.get_logger(__name__)


def soon(owner: str) -> None:
    """Bring the owner's chunks up to the memory and the conversations."""
    if settings.CELERY_TASK_ALWAYS_EAGER:  # without Celery's own 2 ms a task
        _now(owner)
        return
    try:
        hand_over("memory_app.reindex", owner)
    except BrokerAway:
        _now(owner)


def _now(owner: str) -> None:
    try:
        # An owner nobody has searched yet gets an index with the first search.
        if SearchIndex.objects.filter(owner=owner).exists():
            store.reindex(owner, progress=partial(progress.report, Stage.INDEXING))
    except Exception:
        # The index is derived, and whatever broke it must not break what it follows.
        log.exception("reindex_failed", user_id=owner)
