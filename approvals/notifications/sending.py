"""Sending digests: to whom, once each, and what becomes of an address or a server that does not take them.

A person's `mailed_at` is until when they have been told. It is moved by compare-and-swap after the mail is composed
and the server has answered, and just before the mail is handed over: of several processes one sends, and nobody is
mailed the same twice. What the server refuses, or does not take because it is away, moves it back, and is told of
later. A process killed while it hands a mail over may lose that mail. What it was about still waits in Review, and is
reminded of.
"""

from __future__ import annotations

import contextlib
import smtplib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from django.conf import settings
from django.core.cache import cache
from django.core.mail import EmailMultiAlternatives, get_connection
from django.core.mail.backends.base import BaseEmailBackend
from django.db.models import Max
from django.utils import timezone

from approvals.models import Attention, Event, Mail, Status, Tutorship, User
from approvals.notifications import schedule
from approvals.notifications.digest import MOST_ITEMS, compose
from approvals.notifications.news import news_for
from approvals.permissions import readable_owners
from approvals.services.decide.remind import COMES
from memory_app.text import invisible

log = structlog.get_logger(__name__)

#: How long a server that was away, and a person whose mail was put off, is left alone.
_AWAY_FOR = timedelta(minutes=1)
_PUT_OFF_FOR = timedelta(minutes=15)
_AWAY = "approvals.mail_server_away"

#: The longest refusal that is kept.
_LONGEST_FAILURE = 200


class MailServerAway(Exception):
    """The mail server does not answer, or not as one that takes mail. Nothing was sent."""


@dataclass(frozen=True)
class MailRefusal:
    """What the server said instead of taking a mail; `is_final` where trying again is of no use."""

    said: str
    is_final: bool


def send_due(*, now: datetime | None = None) -> int:
    """Send each person whose time it is what came since the last time. Return how many mails were sent.

    Args:
        now: the time it is, for tests.
    """
    now = now or timezone.now()
    if cache.get(_AWAY):
        return 0
    connection = get_connection()
    sent = 0
    try:
        for person in _people_due(now):
            try:
                sent += send_to(person, connection, now=now)
            except MailServerAway:
                raise
            except Exception:  # of one person's mail; the others wait behind it
                log.exception("digest_failed", person=person.username)
                _put_off(person)
    except MailServerAway as away:
        cache.set(_AWAY, 1, timeout=_AWAY_FOR.total_seconds())
        log.warning("mail_server_away", error=str(away))
    finally:
        with contextlib.suppress(OSError, smtplib.SMTPException):
            connection.close()
    return sent


def send_to(person: User, connection: BaseEmailBackend, *, now: datetime) -> bool:
    """Tell one person what came since the last time. Return whether there was something and it was sent.

    Raises:
        MailServerAway: nothing was sent; it will be told of later.
    """
    since, until = person.mailed_at, now - schedule.SETTLED
    news = news_for(person, since=since, until=until, most=MOST_ITEMS)
    if not news.total:
        # A digest of nothing is over for today; at once there is nothing to be over.
        if person.mail != Mail.AT_ONCE:
            _move(person, since, until)
        return False
    try:
        mail = compose(person, news)
        mail.message()
    except (ValueError, UnicodeError) as error:  # an address that no header can hold
        _refused(person, MailRefusal(str(error), is_final=True))
        return False
    _open(connection)
    if not _move(person, since, until):
        return False  # another process tells them
    try:
        refusal = _hand_over(mail, connection)
    except Exception:
        _move(person, until, since)
        raise
    if refusal:
        _move(person, until, since)
        _refused(person, refusal)
    return refusal is None


def _hand_over(mail: EmailMultiAlternatives, connection: BaseEmailBackend) -> MailRefusal | None:
    try:
        connection.send_messages([mail])
    except smtplib.SMTPRecipientsRefused as error:
        code, said = next(iter(error.recipients.values()), (0, b""))
        return _answer(code, said)
    except smtplib.SMTPDataError as error:
        return _answer(error.smtp_code, error.smtp_error)
    except (smtplib.SMTPNotSupportedError, UnicodeError) as error:  # an address this server cannot write to
        return MailRefusal(str(error), is_final=True)
    except (smtplib.SMTPException, OSError) as error:
        raise MailServerAway(f"{type(error).__name__}: {error}") from error
    return None


def _answer(code: int, said: bytes | str) -> MailRefusal:
    text = said.decode(errors="replace") if isinstance(said, bytes) else said
    return MailRefusal(f"{code} {text}", is_final=code >= 500)


def _refused(person: User, refusal: MailRefusal) -> None:
    if not refusal.is_final:
        _put_off(person)
        log.info("digest_put_off", person=person.username, said=refusal.said)
        return
    said = " ".join(invisible.plain(refusal.said).split())[:_LONGEST_FAILURE] or "?"
    # Not if the address or the choice was changed since: the refusal is of another then.
    User.objects.filter(pk=person.pk, email=person.email, mail=person.mail).update(mail_failure=said)
    log.warning("digest_refused", person=person.username, said=said)


def _open(connection: BaseEmailBackend) -> None:
    try:
        connection.open()
    except (smtplib.SMTPException, OSError) as error:
        raise MailServerAway(f"{type(error).__name__}: {error}") from error


def _move(person: User, old: datetime | None, new: datetime | None) -> bool:
    """Move until when a person is told, if nobody else did; and not if they do not want it any more."""
    wanting = User.objects.filter(pk=person.pk, is_active=True, email=person.email, mail=person.mail, mailed_at=old)
    return bool(wanting.update(mailed_at=new))


def _put_off(person: User) -> None:
    cache.set(_put_off_key(person), 1, timeout=_PUT_OFF_FOR.total_seconds())


def _put_off_key(person: User) -> str:
    return f"approvals.mail_put_off.{person.pk}"


def _people_due(now: datetime) -> Iterator[User]:
    people = User.objects.filter(is_active=True, mail_failure="").exclude(email="").exclude(mail=Mail.NEVER)
    due = [person for person in people.order_by("pk") if schedule.is_due(person, now, hour=settings.MAIL_HOUR)]
    concerned = _concerned([person for person in due if person.mail == Mail.AT_ONCE], now)
    for person in due:
        if (person.mail != Mail.AT_ONCE or person.pk in concerned) and not cache.get(_put_off_key(person)):
            yield person


def _concerned(people: list[User], now: datetime) -> set[int]:
    """Return those told at once for whom something may have come; mostly nothing did, and this is asked all the time.

    Three queries, and where something came anywhere one for each person.
    """
    concerned = {person.pk for person in people if person.mailed_at is None}
    told = {person.pk: person.mailed_at for person in people if person.mailed_at}
    if not told:
        return concerned
    first = min(told.values())
    came = Event.objects.filter(what__in=(*COMES, Event.What.REMINDED), at__gt=first, proposal__status=Status.OPEN)
    latest = dict(came.order_by().values_list("owner").annotate(at=Max("at")))
    returned = Attention.objects.filter(person__in=told, snoozed_until__gt=first, snoozed_until__lte=now)
    students = Tutorship.objects.filter(tutor__in=told, created_at__gt=first)
    concerned |= set(returned.values_list("person", flat=True)) | set(students.values_list("tutor", flat=True))
    for person in people if latest else ():
        owners = readable_owners(person)
        theirs = latest.values() if owners is None else (latest[owner] for owner in owners if owner in latest)
        if person.mailed_at and any(at > person.mailed_at for at in theirs):
            concerned.add(person.pk)
    return concerned
