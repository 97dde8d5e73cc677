"""Digests by mail: when a person is told, in which words, and handing the mail to a server once.

A person is told at once, each day or each Monday, in their own time zone. What a mail says of a proposal (`words_of`)
is plain text, and HTML that brings its few styles along; the feed says the same. Sent is what came until a moment ago;
`mailed_at` is moved by compare-and-swap first, and back if the server did not take the mail.
"""

import contextlib
import hashlib
import smtplib
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, time, timedelta
from itertools import groupby
from typing import Any
from urllib.parse import urlencode, urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import structlog
from django.conf import settings
from django.contrib.humanize.templatetags.humanize import NaturalTimeFormatter
from django.core.cache import cache
from django.core.mail import EmailMultiAlternatives, get_connection
from django.core.mail.backends.base import BaseEmailBackend
from django.db.models import Max
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.text import capfirst
from django.utils.timesince import timesince
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, npgettext

from approvals import language
from approvals.accounts.sign_in import display_names
from approvals.models import Event, Kind, Mail, Proposal, Status, Tutorship, User, bare_name
from approvals.notifications.news import News, NewsItem, news_for
from approvals.notifications.unsubscribe import unsubscribe_url
from approvals.permissions import readable_owners
from approvals.review.summary import excerpt_shown, risk_title
from approvals.risks import flags
from approvals.services.close import COMES
from assent_client.text import invisible
from memory_app.databases import clock
from memory_app.models import TargetKind
from memory_app.text.lines import first_words

#: A mail tells of what happened until this long ago: rows of a transaction under way are seen by then.
SETTLED = timedelta(seconds=15)
#: What comes sooner after a mail sent at once waits for the next one.
PAUSE = timedelta(minutes=5)


def zone_of(person: User) -> ZoneInfo:
    """Return the person's time zone; UTC where this machine does not know it."""
    try:
        return ZoneInfo(person.time_zone)
    except (ZoneInfoNotFoundError, ValueError):
        return ZoneInfo("UTC")


def is_due(person: User, now: datetime, *, hour: int) -> bool:
    """Whether to look for something to tell a person now.

    Args:
        hour: of the day, in the person's zone, at which digests go out.
    """
    if person.mail == Mail.NEVER:
        return False
    if person.mail == Mail.AT_ONCE:
        return person.mailed_at is None or person.mailed_at + PAUSE <= now
    return (person.mailed_at or person.date_joined) < _last_time(
        Mail(person.mail), now.astimezone(zone_of(person)), hour
    )


def _last_time(mail: Mail, now: datetime, hour: int) -> datetime:
    """Return when digests of this kind were last to go out."""
    day = now.date()
    if mail == Mail.WEEKLY:
        day -= timedelta(days=day.weekday())
    at = datetime.combine(day, time(hour), tzinfo=now.tzinfo)
    return at if at <= now else at - timedelta(days=7 if mail == Mail.WEEKLY else 1)


_REASON = 400
_TITLE = 80


def words_of(item: NewsItem) -> dict[str, Any]:
    """Return one proposal in words, with its stored excerpt; `held_back` says why its texts are not here."""
    proposal = item.proposal
    is_secret = flags.SECRETS in proposal.risks or proposal.is_redacted
    kind = capfirst(str(Kind(proposal.kind).label))
    # The title of a block that exists is not part of the change. That of a note is its text.
    is_of_block = proposal.target_kind == TargetKind.BLOCK and proposal.kind != Kind.CREATE_BLOCK
    is_shown = is_of_block or not is_secret
    return {
        "title": one_line(proposal.target_title, _TITLE) if is_shown else kind,
        "kind": kind,
        "reason": "" if is_secret else one_line(proposal.reasoning, _REASON),
        "held_back": _("It contains what looks like a key or password. Open it to see.") if is_secret else "",
        "excerpt": [] if is_secret else excerpt_shown(proposal.excerpt),
        "warnings": ", ".join(risk_title(key) for key in proposal.risks if key != flags.SECRETS),
        "agent": proposal.agent.name,
        "age": _age(item),
        "is_reminder": item.is_reminder,
        "url": url_of(proposal, "together" if item.others else "proposal"),
    }


def _age(item: NewsItem) -> str:
    if item.is_reminder:
        days = (timezone.now() - item.since).days
        return npgettext("for how long", "%(days)d day", "%(days)d days", days) % {"days": days}
    past = NaturalTimeFormatter.past_substrings  # in the case that "ago" and "since" ask for
    return timesince(item.since, timezone.now(), depth=1, time_strings=past).replace("\xa0", " ")


def url_of(proposal: Proposal, page: str = "proposal") -> str:
    """Return the address of a proposal's page on the site's public address."""
    return settings.PUBLIC_URL + reverse(page, args=[proposal.pk])


def one_line(text: str, longest: int) -> str:
    """Return the beginning of a text on one line, with what cannot be seen written out."""
    return first_words(" ".join(invisible.plain(text[: 4 * longest]).split()), longest)


#: Proposals that one mail tells of; it counts the others.
MOST_ITEMS = 20

#: People named in the subject, and over what is for several.
_NAMES = 3


def compose(person: User, news: News) -> EmailMultiAlternatives:
    """Return the mail that tells a person of some news."""
    with language.speaking_to(person), timezone.override(zone_of(person)):
        return _compose(person, news)


def _compose(person: User, news: News) -> EmailMultiAlternatives:
    names = display_names({each.owner for item in news.items for each in item.together})

    def name_of(proposal: Proposal) -> str:
        return one_line(bare_name(names.get(proposal.owner, proposal.owner)), 80)

    review = settings.PUBLIC_URL + reverse("inbox")
    by_owner = sorted(
        news.items, key=lambda item: (not item.others, name_of(item.proposal).casefold(), item.proposal.owner)
    )
    owners = []
    for is_for_one, name, group in _sections(by_owner, name_of):
        owner = {"owner": group[0].proposal.owner} if is_for_one else {}
        url = f"{review}?{urlencode(owner)}" if owner else review
        owners.append({"name": name, "url": url, "items": [words_of(item) for item in group]})
    context = {
        "person": person,
        "owners": owners,
        "several": len(owners) > 1 or owners[0]["name"] != person.plain_name,
        "news": news,
        "review_url": review,
        "settings_url": settings.PUBLIC_URL + reverse("settings"),
        "unsubscribe_url": unsubscribe_url(person),
    }
    text = render_to_string("notifications/digest.txt", context)
    markup = render_to_string("notifications/digest.mail.html", context)
    people = sorted({name_of(each) for item in news.items for each in item.together}, key=str.casefold)
    mail = EmailMultiAlternatives(_subject(news, people), text, to=[person.email], headers=_headers(person, news))
    mail.attach_alternative(markup, "text/html")
    return mail


def _sections(
    items: Iterable[NewsItem], name_of: Callable[[Proposal], str]
) -> Iterator[tuple[bool, str, list[NewsItem]]]:
    """Yield the items under whom they are for: each that is for several people, then those of one person together."""
    for (others, _owner), found in groupby(items, key=lambda item: (item.others, item.proposal.owner)):
        group = list(found)
        people = [name_of(each) for each in group[0].together]
        title = ", ".join(people[:_NAMES])
        if len(people) > _NAMES:
            title = _("%(names)s and %(more)d more") % {"names": title, "more": len(people) - _NAMES}
        yield not others, title, group


def _subject(news: News, people: Sequence[str]) -> str:
    """Return the subject, on one line whatever people are called."""
    names = ", ".join(people[:_NAMES])
    if len(people) > _NAMES or news.left_out:
        names = f"{names} …"
    count = ngettext("%(number)d proposal to review", "%(number)d proposals to review", news.total)
    return one_line(_("%(proposals)s: %(names)s") % {"proposals": count % {"number": news.total}, "names": names}, 150)


def _headers(person: User, news: News) -> dict[str, str]:
    host = urlsplit(settings.PUBLIC_URL).hostname or "localhost"
    # The same for the same news: where a connection broke off before the answer, a server that took the first mail
    # knows the second.
    told = [(each.pk, each.current_revision_number, item.is_reminder) for item in news.items for each in item.together]
    identity = hashlib.sha256(repr((settings.SECRET_KEY, person.pk, person.mailed_at, told)).encode()).hexdigest()[:40]
    return {
        "Message-ID": f"<{identity}@{host}>",
        "List-Id": f"{_('Proposals to review')} <review.{host}>",
        "List-Unsubscribe": f"<{unsubscribe_url(person)}>",
        "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
        "Auto-Submitted": "auto-generated",
        "X-Auto-Response-Suppress": "All",
    }


log = structlog.get_logger(__name__)

#: How long a server that was away, and a person whose mail was put off, is left alone.
_AWAY_FOR = timedelta(minutes=1)
_PUT_OFF_FOR = timedelta(minutes=15)
_AWAY = "approvals.mail_server_away"

#: The longest refusal that is kept.
_LONGEST_FAILURE = 200
_PUT_OFF = "approvals.mail_put_off.{}"


class MailServerAway(Exception):
    """The mail server does not answer, or not as one that takes mail. Nothing was sent."""


def send_due(*, now: datetime | None = None) -> int:
    """Send each person whose time it is what came since the last time. Return how many mails were sent.

    Args:
        now: the time it is, for tests.
    """
    now = now or clock.now()
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
    since, until = person.mailed_at, now - SETTLED
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
        _refused(person, str(error), is_final=True)
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
        _refused(person, *refusal)
    return refusal is None


def _hand_over(mail: EmailMultiAlternatives, connection: BaseEmailBackend) -> tuple[str, bool] | None:
    """Send a mail. Return what the server said instead of taking it, and whether trying again is of no use."""
    said: bytes | str
    try:
        connection.send_messages([mail])
    except smtplib.SMTPRecipientsRefused as error:
        code, said = next(iter(error.recipients.values()), (0, b""))
    except smtplib.SMTPDataError as error:
        code, said = error.smtp_code, error.smtp_error
    except (smtplib.SMTPNotSupportedError, UnicodeError) as error:  # an address this server cannot write to
        return str(error), True
    except (smtplib.SMTPException, OSError) as error:
        raise MailServerAway(f"{type(error).__name__}: {error}") from error
    else:
        return None
    text = said.decode(errors="replace") if isinstance(said, bytes) else said
    return f"{code} {text}", code >= 500


def _refused(person: User, said: str, is_final: bool) -> None:
    if not is_final:
        _put_off(person)
        log.info("digest_put_off", person=person.username, said=said)
        return
    said = " ".join(invisible.plain(said).split())[:_LONGEST_FAILURE] or "?"
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
    cache.set(_PUT_OFF.format(person.pk), 1, timeout=_PUT_OFF_FOR.total_seconds())


def _people_due(now: datetime) -> Iterator[User]:
    people = User.objects.filter(is_active=True, mail_failure="").exclude(email="").exclude(mail=Mail.NEVER)
    due = [person for person in people.order_by("pk") if is_due(person, now, hour=settings.MAIL_HOUR)]
    concerned = _concerned([person for person in due if person.mail == Mail.AT_ONCE], now)
    for person in due:
        if (person.mail != Mail.AT_ONCE or person.pk in concerned) and not cache.get(_PUT_OFF.format(person.pk)):
            yield person


def _concerned(people: list[User], now: datetime) -> set[int]:
    """Return those told at once for whom something may have come; mostly nothing did, and this is asked all the time.

    Two queries, and where something came anywhere one for each person.
    """
    concerned = {person.pk for person in people if person.mailed_at is None}
    told = {person.pk: person.mailed_at for person in people if person.mailed_at}
    if not told:
        return concerned
    first = min(told.values())
    came = Event.objects.filter(what__in=(*COMES, Event.What.REMINDED), at__gt=first, proposal__status=Status.OPEN)
    latest = dict(came.order_by().values_list("owner").annotate(at=Max("at")))
    students = Tutorship.objects.filter(tutor__in=told, created_at__gt=first)
    concerned |= set(students.values_list("tutor", flat=True))
    for person in people if latest else ():
        owners = readable_owners(person)
        theirs = latest.values() if owners is None else (latest[owner] for owner in owners if owner in latest)
        if person.mailed_at and any(at > person.mailed_at for at in theirs):
            concerned.add(person.pk)
    return concerned
