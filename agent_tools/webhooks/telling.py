"""Telling a person by mail that their webhook was disabled by Assent. Their settings say it too.

`told_at` is moved by compare-and-swap before a mail is handed over, and back if it was not taken: of several processes
one sends.
"""

from __future__ import annotations

import smtplib
from datetime import timedelta

import structlog
from django.conf import settings
from django.core.cache import cache
from django.core.mail import EmailMessage
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from agent_tools.models import DisabledWhy, WebhookEndpoint
from approvals.models import Mail

log = structlog.get_logger(__name__)

_AWAY = "webhooks.mail_server_away"
_AWAY_FOR = timedelta(minutes=15)
#: What was not told for so long is not told by mail any more.
_NEWS_FOR = timedelta(days=3)


def tell() -> int:
    """Send the mails that are due. Return how many were sent."""
    untold = WebhookEndpoint.objects.filter(
        disabled_why__in=[DisabledWhy.GONE, DisabledWhy.FAILING],
        told_at=None,
        disabled_at__gt=timezone.now() - _NEWS_FOR,
        created_by__is_active=True,
        created_by__mail_failure="",
    )
    untold = untold.exclude(created_by__email="").exclude(created_by__mail=Mail.NEVER)
    found = list(untold.select_related("created_by", "agent"))
    if not found or cache.get(_AWAY):
        return 0
    return sum(_tell(endpoint) for endpoint in found)


def _tell(endpoint: WebhookEndpoint) -> bool:
    mine = WebhookEndpoint.objects.filter(pk=endpoint.pk, disabled_at=endpoint.disabled_at)
    if not mine.filter(told_at=None).update(told_at=timezone.now()):
        return False  # another process tells it
    public = settings.PUBLIC_URL.rstrip("/")
    context = {
        "person": endpoint.created_by,
        "endpoint": endpoint,
        "why": DisabledWhy(endpoint.disabled_why).label,
        "url": public + reverse("webhook", args=[endpoint.pk]),
    }
    subject = _("Webhook of %(agent)s was disabled") % {"agent": endpoint.agent.name}
    text = render_to_string("webhooks/disabled_mail.txt", context)
    try:
        EmailMessage(subject, text, to=[endpoint.created_by.email]).send()
    except (smtplib.SMTPException, OSError, ValueError) as error:
        mine.update(told_at=None)
        cache.set(_AWAY, 1, timeout=_AWAY_FOR.total_seconds())
        log.warning("webhook_mail_not_sent", webhook=endpoint.pk, error=type(error).__name__)
        return False
    return True
