"""Celery tasks of the memory; they run inline where there is no broker. All are idempotent."""

import structlog
from celery import shared_task

from memory_app import conversations
from memory_app.dolt import maintenance
from memory_app.dolt.placement import databases
from memory_app.search import index_state, store

log = structlog.get_logger(__name__)


@shared_task(name="memory_app.gc")
def gc() -> bool:
    """Collect garbage when the file has outgrown its live size. Return whether it was collected."""
    collected = [maintenance.collect_garbage(database) for database in databases()]
    return any(each.done for each in collected)


@shared_task(name="memory_app.reindex", autoretry_for=(Exception,), max_retries=8, retry_backoff=1)
def reindex(owner: str) -> int:
    """Bring an owner's search index up to date. Return how many documents were written."""
    return store.reindex(owner).documents


@shared_task(name="memory_app.reindex_all")
def reindex_all() -> int:
    """Bring every outdated index up to date, as after a lost message. Return how many owners had one."""
    behind = sorted({*index_state.owners_behind(), *index_state.behind_by_the_ledger()})
    for owner in behind:
        try:
            store.reindex(owner)
        except Exception:
            # A failure for one owner must not stop the others.
            log.exception("reindex_failed", user_id=owner)
    return len(behind)


purge_conversations = shared_task(name="memory_app.purge_conversations")(conversations.purge)
