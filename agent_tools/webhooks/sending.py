"""Sending what is due, in a few threads of the process: of a Celery worker, and without workers of any other.

Threads, so that a receiver that hangs holds up neither the other tasks of a worker nor the messages to others. A person
whose webhook Assent disabled is told by mail here; their settings say it too.
"""

import smtplib
from datetime import timedelta

import structlog
from django.conf import settings
from django.core.cache import cache
from django.core.mail import EmailMessage
from django.db import Error as DatabaseError
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from agent_tools.models import DisabledWhy, WebhookDelivery, WebhookEndpoint
from agent_tools.webhooks import deliveries, outbox, signing, transport
from approvals import language
from approvals.models import Mail
from memory_app.runtime import background
from memory_app.runtime.workers import enqueue

log = structlog.get_logger(__name__)

TASK = "agent_tools.send_webhooks"
_THREAD = "webhook sender"
#: Messages at once from one process.
_THREADS = 8
#: What was not told for so long is not told by mail any more.
_NEWS_FOR = timedelta(days=3)
_MAIL_IS_AWAY = "webhooks.mail_server_away"
_AWAY_FOR = timedelta(minutes=15)

_is_stopping = False


def run() -> None:
    """Make the deliveries of what was decided, begin to send what is due, and tell whose webhook was disabled."""
    if WebhookEndpoint.objects.exists():
        outbox.collect()
        _start()
        _tell_of_disabled()


def soon() -> None:
    """Have it done now rather than at the next run, by a worker or by threads of this process."""
    enqueue(TASK, otherwise=_start)


def _start() -> None:
    """Have threads begin if anything is due; those at work look once more."""
    if not _is_stopping and deliveries.due(timezone.now()).exists():
        for number in range(_THREADS):
            background.soon(f"{_THREAD} {number}", _send_what_is_due)


def _send_what_is_due() -> None:
    try:
        while not _is_stopping and (claimed := deliveries.claim()) is not None:
            send(claimed)
    except DatabaseError as error:  # the lease runs out, and the next run sends it
        log.warning("webhooks_not_sent", error=type(error).__name__)


def send(delivery: WebhookDelivery) -> None:
    """Send one message that was claimed and record what became of it."""
    now = timezone.now()
    secrets = deliveries.secrets_of(delivery.endpoint, now)
    headers = signing.headers(secrets, message_id=delivery.message_id, at=now, body=delivery.body)
    outcome = transport.post(delivery.endpoint.url, headers, delivery.body, allowed=settings.WEBHOOK_ALLOWED_NETWORKS)
    deliveries.settle(delivery, outcome)


def settle(seconds: float = 20.0) -> None:
    """Wait until this process sends nothing, at most so long."""
    background.settle(_THREAD, seconds)


def stop() -> None:
    """Begin nothing new in this process, and wait for what is being sent: before it ends."""
    global _is_stopping
    _is_stopping = True
    settle(transport.TOTAL)
    _is_stopping = False


def _tell_of_disabled() -> None:
    """Mail the people whose webhooks Assent disabled. `told_at` is moved first: of several processes one sends."""
    untold = WebhookEndpoint.objects.filter(
        disabled_why__in=[DisabledWhy.GONE, DisabledWhy.FAILING],
        told_at=None,
        disabled_at__gt=timezone.now() - _NEWS_FOR,
        created_by__is_active=True,
        created_by__mail_failure="",
    )
    untold = untold.exclude(created_by__email="").exclude(created_by__mail=Mail.NEVER)
    for endpoint in untold.select_related("created_by", "agent"):
        if cache.get(_MAIL_IS_AWAY):
            return
        mine = WebhookEndpoint.objects.filter(pk=endpoint.pk, disabled_at=endpoint.disabled_at)
        if not mine.filter(told_at=None).update(told_at=timezone.now()):
            continue  # another process tells it
        context = {
            "person": endpoint.created_by,
            "endpoint": endpoint,
            "why": DisabledWhy(endpoint.disabled_why).label,
            "url": settings.PUBLIC_URL + reverse("webhook", args=[endpoint.pk]),
        }
        with language.speaking_to(endpoint.created_by):
            subject = _("Webhook of %(agent)s was disabled") % {"agent": endpoint.agent.name}
            text = render_to_string("webhooks/disabled_mail.txt", context)
        try:
            EmailMessage(subject, text, to=[endpoint.created_by.email]).send()
        except (smtplib.SMTPException, OSError, ValueError) as error:
            mine.update(told_at=None)
            cache.set(_MAIL_IS_AWAY, 1, timeout=_AWAY_FOR.total_seconds())
            log.warning("webhook_mail_not_sent", webhook=endpoint.pk, error=type(error).__name__)
