"""Who signed in from where, what was changed about who may do what, and who opened whose memory.

No text of a memory, no secret, no key of one: names of people and agents, kinds and addresses.
"""

from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext_lazy as _

from approvals.models.people import User


class AuditEvent(models.Model):
    """One thing that a person did, or that was tried in their name; kept for `settings.AUDIT_DAYS`."""

    class Act(models.TextChoices):
        SIGNED_IN = "signed_in", _("signed in")
        SIGNED_OUT = "signed_out", _("signed out")
        SIGN_IN_FAILED = "sign_in_failed", _("sign-in failed")
        LIMITED = "limited", _("too many attempts")
        PASSWORD_SET = "password_set", _("password set")
        SESSIONS_ENDED = "sessions_ended", _("sessions ended")
        TOKEN_MADE = "token_made", _("token created")
        TOKEN_ROTATED = "token_rotated", _("token rotated")
        TOKEN_REVOKED = "token_revoked", _("token revoked")
        RIGHTS_CHANGED = "rights_changed", _("rights changed")
        TUTOR_ASSIGNED = "tutor_assigned", _("tutor assigned")
        TUTOR_REMOVED = "tutor_removed", _("tutor removed")
        OPENED = "opened", _("opened")

    what = models.CharField(_("what"), max_length=20, choices=Act)
    # Usernames: who did it, empty where that is not known; whose account or memory it is about.
    actor = models.CharField(_("by"), max_length=64, blank=True)
    owner = models.CharField(_("about"), max_length=64, blank=True)
    detail = models.CharField(_("detail"), max_length=200, blank=True)
    address = models.CharField(_("address"), max_length=64, blank=True)
    request_id = models.CharField(_("request id"), max_length=64, blank=True)
    at = models.DateTimeField(_("at"), default=timezone.now)

    class Meta:
        verbose_name = _("audit event")
        verbose_name_plural = _("audit events")
        ordering = ["-at", "-id"]
        indexes = [
            models.Index(fields=["owner", "what", "-at", "-id"], name="audit_of_owner"),
            models.Index(fields=["at"], name="audit_age"),
        ]

    def __str__(self) -> str:
        return f"{self.actor} {self.what}"


class BrowserSession(AbstractBaseSession):
    """A session of Django's, with whose it is and from where, so that people see theirs and can end them."""

    user = models.ForeignKey(User, models.CASCADE, null=True, related_name="sessions")
    browser = models.CharField(max_length=60, blank=True, default="")
    address = models.CharField(max_length=64, blank=True, default="")
    since = models.DateTimeField(null=True)
    # Written at most every few minutes.
    seen_at = models.DateTimeField(default=timezone.now)

    @property
    def reference(self) -> str:
        """Return what a page names it by."""
        return salted_hmac("approvals.session", self.session_key).hexdigest()[:32]
