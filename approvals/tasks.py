"""Celery tasks of the review; they run inline where there is no broker. All are idempotent."""

from celery import shared_task

from approvals import services
from approvals.accounts import sign_in
from approvals.notifications import mail
from approvals.services import repeating, texts


@shared_task(name="approvals.recheck", autoretry_for=(Exception,), max_retries=5, retry_backoff=1)
def recheck(owner: str, targets: list[list[str]]) -> int:
    return services.recheck(owner, targets)


@shared_task(name="approvals.recover")
def recover() -> str:
    return str(services.recover())


@shared_task(name="approvals.expire")
def expire() -> int:
    """Close what was not decided in time, settle what no longer fits, and forget rejections that count no longer."""
    repeating.purge()
    return services.expire() + services.settle()


@shared_task(name="approvals.remind")
def remind() -> int:
    return services.remind()


@shared_task(name="approvals.send_digests")
def send_digests() -> int:
    return mail.send_due()


@shared_task(name=sign_in.TASK)
def send_password_link(email: str) -> None:
    sign_in.send(email)


@shared_task(name="approvals.collect_removed_texts", autoretry_for=(Exception,), max_retries=5, retry_backoff=1)
def collect_removed_texts() -> int:
    return texts.collect()
