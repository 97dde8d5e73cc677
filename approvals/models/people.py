"""People and agents, sessions and what is recorded of people. Their rights are in `approvals.permissions`."""

from unicodedata import bidirectional

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.contrib.sessions.base_session import AbstractBaseSession
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext_lazy as _

from assent_client.text import invisible
from memory_app.models import USERNAME


class Mail(models.TextChoices):
    """How often a person is told by mail what waits."""

    NEVER = "never", _("Never")
    AT_ONCE = "at_once", _("At once")
    DAILY = "daily", _("Once a day")
    WEEKLY = "weekly", _("Once a week")


#: In an address, a browser takes "." and ".." for the folder and the one above it.
_VALID_NAME = RegexValidator(
    rf"^(?!\.+\Z){USERNAME.pattern}\Z", _("Use a-z, 0-9, dot, underscore and dash, and not only dots.")
)


class User(AbstractUser):
    """A person. Versioned rows name people by username, so a username is never changed or reused.

    People are deactivated, not deleted.
    """

    username = models.CharField(
        _("username"),
        max_length=64,
        unique=True,
        validators=[_VALID_NAME],
        error_messages={"unique": _("This username is taken.")},
    )
    time_zone = models.CharField(_("time zone"), max_length=64, default="UTC")
    # One of `settings.LANGUAGES`; empty for that of the browser.
    language = models.CharField(_("language"), max_length=16, blank=True, default="", db_default="")
    shortcuts = models.BooleanField(_("keyboard shortcuts"), default=True)
    # Mail about waiting proposals. `mailed_at` is until when the last mail told; `mail_failure` is why the last one was
    # not taken, and no more are sent until the person saves the address or the choice again.
    mail = models.CharField(_("mail"), max_length=8, choices=Mail, default=Mail.DAILY)
    mailed_at = models.DateTimeField(null=True, blank=True, editable=False)
    mail_failure = models.CharField(max_length=200, blank=True, default="", editable=False)
    # When the person was last mailed a link to a first password, and whether that mail is still to be sent.
    invited_at = models.DateTimeField(_("invited"), null=True, blank=True, editable=False)
    invitation_due = models.BooleanField(default=False, db_default=False, editable=False)
    # The address at which the person opened a mailed link. `email` is what they or an admin typed.
    proved_email = models.CharField(max_length=254, blank=True, default="", db_default="", editable=False)
    # The secret part of the address of the person's feed; empty until the person asks for one.
    feed_key = models.CharField(max_length=64, blank=True, default="", editable=False)
    # The batch that the person's list names, `approvals.models.events`; empty once it is dismissed.
    last_batch = models.CharField(max_length=32, blank=True, default="", editable=False)
    # Whether the person has put away what the list says to newcomers.
    is_welcomed = models.BooleanField(default=False, editable=False)
    # Whom the person of a request may read, see `permissions.readable_people`: asked once a request. Empty until it is
    # asked; None for all others, who are asked about anew each time.
    people_of_request: dict[str, str] | None = None
    # Whether the person has a token of their own, `permissions.has_token`: read by the same query.
    has_token = False

    class Meta(AbstractUser.Meta):
        swappable = "AUTH_USER_MODEL"
        constraints = [models.UniqueConstraint(fields=["feed_key"], condition=~Q(feed_key=""), name="feed_key_once")]

    @property
    def plain_name(self) -> str:
        return invisible.plain(self.get_full_name()) or self.username

    @property
    def display_name(self) -> str:
        """Return the name for a line with other words: one from right to left would change the order of what follows
        it, so it is isolated (Unicode's annex 9)."""
        name = self.plain_name
        return f"\u2068{name}\u2069" if any(bidirectional(char) in ("R", "AL") for char in name) else name

    @property
    def feed_url(self) -> str:
        """Return the whole address of the person's feed, which has a key."""
        return f"{settings.PUBLIC_URL}{reverse('feed', args=[f'{self.pk}-{self.feed_key}'])}"


def bare_name(display_name: str) -> str:
    """Return a display name without what isolates it: for an element of its own, and to compare with what was typed."""
    return display_name.strip("\u2068\u2069")


class Course(models.Model):
    """A group of a school: each of its tutors tutors each of its students.

    `accounts.courses` keeps the tutorships that follow from it, which are what rights are read from.
    """

    name = models.CharField(_("name"), max_length=100, unique=True)
    tutors = models.ManyToManyField(User, blank=True, related_name="courses_tutored", verbose_name=_("tutors"))
    students = models.ManyToManyField(User, blank=True, related_name="courses", verbose_name=_("students"))

    class Meta:
        verbose_name = _("course")
        verbose_name_plural = _("courses")
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Tutorship(models.Model):
    """A tutor may read the memory of an assigned owner and decide about proposals to it."""

    tutor = models.ForeignKey(User, models.PROTECT, related_name="tutorships", verbose_name=_("tutor"))
    owner = models.ForeignKey(User, models.PROTECT, related_name="tutors", verbose_name=_("owner"))
    created_at = models.DateTimeField(_("since"), default=timezone.now, editable=False)
    # Somebody gave it: it stays whatever the courses say. Others come and go with them.
    by_hand = models.BooleanField(_("given by hand"), default=True, db_default=True, editable=False)

    class Meta:
        verbose_name = _("tutorship")
        verbose_name_plural = _("tutorships")
        constraints = [
            models.UniqueConstraint(fields=["tutor", "owner"], name="tutorship_once"),
            models.CheckConstraint(condition=~Q(tutor=models.F("owner")), name="tutorship_of_another"),
        ]

    def __str__(self) -> str:
        return f"{self.tutor} → {self.owner}"


class Agent(models.Model):
    """A program that reads memory and proposes changes; it never decides."""

    name = models.CharField(
        _("name"),
        max_length=64,
        unique=True,
        validators=[_VALID_NAME],
    )
    description = models.CharField(_("description"), max_length=200, blank=True)
    created_by = models.ForeignKey(
        User, models.PROTECT, null=True, blank=True, related_name="agents", verbose_name=_("made by")
    )
    is_active = models.BooleanField(_("active"), default=True)
    created_at = models.DateTimeField(_("since"), default=timezone.now, editable=False)

    class Meta:
        verbose_name = _("agent")
        verbose_name_plural = _("agents")
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


# -- Who signed in from where, what was changed about who may do what, and who opened whose memory. No text of a memory,
# no secret, no key of one: names of people and agents, kinds and addresses.


class AuditEvent(models.Model):
    """One thing that a person did, or that was tried in their name; kept for `settings.AUDIT_DAYS`."""

    class Act(models.TextChoices):
        SIGNED_IN = "signed_in", _("signed in")
        SIGNED_OUT = "signed_out", _("signed out")
        SIGN_IN_FAILED = "sign_in_failed", _("sign-in failed")
        LIMITED = "limited", _("too many attempts")
        PASSWORD_SET = "password_set", _("password set")
        INVITED = "invited", _("invited")
        FACTOR_ADDED = "factor_added", _("second factor added")
        FACTOR_REMOVED = "factor_removed", _("second factor removed")
        PROVIDER_LINKED = "provider_linked", _("sign-in provider linked")
        PROVIDER_UNLINKED = "provider_unlinked", _("sign-in provider unlinked")
        SESSIONS_ENDED = "sessions_ended", _("sessions ended")
        TOKEN_MADE = "token_made", _("token created")
        TOKEN_ROTATED = "token_rotated", _("token rotated")
        TOKEN_REVOKED = "token_revoked", _("token revoked")
        RIGHTS_CHANGED = "rights_changed", _("rights changed")
        TUTOR_ASSIGNED = "tutor_assigned", _("tutor assigned")
        TUTOR_REMOVED = "tutor_removed", _("tutor removed")
        LEFT = "left", _("left")
        DOWNLOADED = "downloaded", _("downloaded their data")
        ERASED = "erased", _("erased")
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
