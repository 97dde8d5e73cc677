"""Celery tasks of the review; they run inline where there is no broker. All are idempotent."""

from functools import partial

from celery import shared_task

from approvals import audit, services
from approvals.accounts import invitations, sign_in
from approvals.accounts.sessions import SessionStore
from approvals.notifications import mail
from approvals.recovery import history
from approvals.services import erasing, repeating, several, texts
from approvals.statistics import kept
from memory_app.dolt.errors import EngineUnavailable


@shared_task(name="approvals.recover")
def recover() -> str:
    return str(services.recover())


@shared_task(name="approvals.recover_everything")
def recover_everything() -> str:
    return str(services.recover(everything=True))


@shared_task(name="approvals.expire")
def expire() -> int:
    """Close what was not decided in time, settle what no longer fits, and forget what counts no longer."""
    repeating.purge()
    several.purge()
    return services.expire() + services.settle()


@shared_task(name="approvals.end_history", autoretry_for=(EngineUnavailable,), max_retries=5, retry_backoff=60)
def end_history() -> list[str]:
    return history.end_history()


@shared_task(name="approvals.work_on_batch")
def work_on_batch(batch: str) -> None:
    if several.work_on_later(batch):
        several.hand_over(batch)  # behind what other tasks wait for


@shared_task(name="approvals.purge_sessions_and_audit")
def purge_sessions_and_audit() -> int:
    """Delete sessions that ended, and what is recorded of people after `settings.AUDIT_DAYS`."""
    SessionStore.clear_expired()
    return audit.purge()


_retried = partial(shared_task, autoretry_for=(Exception,), max_retries=5, retry_backoff=1)
recheck = _retried(name="approvals.recheck")(services.recheck)
collect_removed_texts = _retried(name="approvals.collect_removed_texts")(texts.collect)
erase = _retried(name="approvals.erase")(erasing.finish)
continue_batches = shared_task(name="approvals.continue_batches")(several.continue_batches)
remind = shared_task(name="approvals.remind")(services.remind)
send_digests = shared_task(name="approvals.send_digests")(mail.send_due)
send_invitations = shared_task(name=invitations.TASK)(invitations.send_due)
send_password_link = shared_task(name=sign_in.TASK)(sign_in.send)
keep_counts = shared_task(name="approvals.keep_counts")(kept.keep)
correct_counts = shared_task(name="approvals.correct_counts")(kept.correct)
