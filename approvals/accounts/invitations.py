"""Mailing people a link with which they choose their first password.

The rows of those whose mail is still to be sent say so: after a crash, the next run sends it. Not here: links for a
forgotten password (`sign_in`), and making people (the admin, and the import of lists).
"""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import structlog
from django.conf import settings
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.contrib.auth.views import PasswordResetConfirmView
from django.core.mail import get_connection, send_mail
from django.db import transaction
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from django.utils.translation import gettext as _

from approvals import audit, language
from approvals.models import AuditEvent, User
from memory_app.runtime import background
from memory_app.runtime.workers import enqueue

log = structlog.get_logger(__name__)

TASK = "approvals.send_invitations"
THREAD = "invitations"


class InvitationTokens(PasswordResetTokenGenerator):
    """As those for a forgotten password, for `ASSENT_INVITATION_DAYS`. They end with the first sign-in or password."""

    key_salt = "approvals.invitation"

    def make_token(self, user: Any) -> str:
        lasting = timedelta(days=settings.INVITATION_DAYS).total_seconds()
        # Their age is compared with the setting for the others.
        made = self._num_seconds(self._now()) + int(lasting) - settings.PASSWORD_RESET_TIMEOUT
        return self._make_token_with_timestamp(user, made, self.secret)


TOKENS = InvitationTokens()


class AcceptInvitation(PasswordResetConfirmView):
    template_name = "registration/invitation.html"
    token_generator = TOKENS
    extra_context = {"days": settings.INVITATION_DAYS}


def invite(people: Iterable[User], *, by: User | None) -> list[User]:
    """Mail them a link to choose a password; an earlier one of theirs stays valid. Return those who get one.

    Left out: who has no address, is deactivated, or has signed in.

    Args:
        by: who invites them, an admin; None on the command line.
    """
    invited = [user for user in people if user.email and user.is_active and user.last_login is None]
    User.objects.filter(pk__in=[user.pk for user in invited]).update(invited_at=timezone.now(), invitation_due=True)
    about = [(user.username, "") for user in invited]
    audit.record_all(AuditEvent.Act.INVITED, about, actor=by.username if by else "")
    if invited:
        transaction.on_commit(lambda: enqueue(TASK, otherwise=lambda: background.soon(THREAD, send_due)))
    return invited


def send_due() -> int:
    """Send the mails that are still to be sent; return how many were taken by the mail server."""
    sent = 0
    with get_connection() as connection:
        for user in User.objects.filter(invitation_due=True, is_active=True).order_by("pk"):
            mine = User.objects.filter(pk=user.pk, invitation_due=True)
            if not mine.update(invitation_due=False):
                continue  # another process sends it
            try:
                _send(user, connection)
                sent += 1
            except Exception:  # the others are sent all the same
                log.exception("invitation_not_sent", user=user.username)
                User.objects.filter(pk=user.pk).update(invitation_due=True)
    return sent


def _send(user: User, connection: Any) -> None:
    context = {
        "user": user,
        "uid": urlsafe_base64_encode(force_bytes(user.pk)),
        "token": TOKENS.make_token(user),
        "public_url": settings.PUBLIC_URL,
        "days": settings.INVITATION_DAYS,
    }
    with language.speaking_to(user):
        body = render_to_string("registration/invitation_email.txt", context)
        send_mail(_("Your Assent account"), body, None, [user.email], connection=connection)


def state_of(user: User) -> str:
    """Return what became of a person's invitation, for admins; empty where there was none."""
    if user.invited_at is None:
        return ""
    if user.last_login or user.has_usable_password():
        return _("accepted")
    return _("to be sent") if user.invitation_due else _("invited")
