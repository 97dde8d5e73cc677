"""Celery tasks of the memory itself; inline where there is no broker. Each may come twice without harm."""

import structlog
from celery import shared_task

from memory_app import conversations
from memory_app.dolt import maintenance
from memory_app.search import store

log = structlog.get_logger(__name__)


@shared_task(name="memory_app.gc")
def gc() -> bool:
    """Collect garbage when the file has outgrown its live size; whether it was done."""
    return maintenance.collect_garbage().done


@shared_task(name="memory_app.reindex", autoretry_for=(Exception,), max_retries=8, retry_backoff=1)
def reindex(owner: str) -> int:
    """Bring an owner's search index up to the memory; how many documents were written."""
    return store.reindex(owner).documents


@shared_task(name="memory_app.reindex_all")
def reindex_all() -> int:
    """Take up what a lost message left behind; how many owners were."""
    behind = store.owners_behind()
    for owner in behind:
        try:
            store.reindex(owner)
        except Exception:
            # One owner's trouble must not keep the others from being found.
            log.exception("reindex_failed", user_id=owner)
    return len(behind)


@shared_task(name="memory_app.purge_conversations")
def purge_conversations() -> int:
    """Delete messages after `settings.CONVERSATION_DAYS`; how many."""
    return conversations.purge()
