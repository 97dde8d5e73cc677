"""The mail about waiting proposals: its texts and its headers. Whom it goes to and when is `sending`."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from urllib.parse import urlencode, urlsplit

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from approvals.accounts.names import display_names
from approvals.models import User
from approvals.notifications.news import News
from approvals.notifications.schedule import zone_of
from approvals.notifications.unsubscribe import unsubscribe_url
from approvals.notifications.words import ProposalWords, one_line, words_of

#: Proposals that one mail tells of; it counts the others.
MOST_ITEMS = 20

_NAMES_IN_SUBJECT = 3


@dataclass(frozen=True)
class OwnerWords:
    """What a mail says about one owner; `url` is the list of what waits about them."""

    name: str
    url: str
    items: Sequence[ProposalWords]


def compose(person: User, news: News) -> EmailMultiAlternatives:
    """Return the mail that tells a person of some news."""
    names = display_names({item.proposal.owner for item in news.items})
    public = settings.PUBLIC_URL.rstrip("/")
    review = public + reverse("inbox")
    by_owner = sorted(news.items, key=lambda item: names.get(item.proposal.owner, item.proposal.owner).casefold())
    with timezone.override(zone_of(person)):
        owners = [
            OwnerWords(
                one_line(names.get(owner, owner), 80),
                f"{review}?{urlencode({'owner': owner})}",
                [words_of(item) for item in items],
            )
            for owner, items in groupby(by_owner, key=lambda item: item.proposal.owner)
        ]
        context = {
            "person": person,
            "owners": owners,
            "several": len(owners) > 1 or owners[0].name != person.display_name,
            "news": news,
            "review_url": review,
            "settings_url": public + reverse("notifications"),
            "unsubscribe_url": unsubscribe_url(person),
        }
        text = render_to_string("notifications/digest.txt", context)
        markup = render_to_string("notifications/digest.mail.html", context)
    mail = EmailMultiAlternatives(_subject(news, owners), text, to=[person.email], headers=_headers(person, news))
    mail.attach_alternative(markup, "text/html")
    return mail


def _subject(news: News, owners: Sequence[OwnerWords]) -> str:
    """Return the subject, on one line whatever people are called."""
    names = ", ".join(owner.name for owner in owners[:_NAMES_IN_SUBJECT])
    if len(owners) > _NAMES_IN_SUBJECT or news.left_out:
        names = f"{names} …"
    count = ngettext("%(number)d proposal to review", "%(number)d proposals to review", news.total)
    return one_line(_("%(proposals)s: %(names)s") % {"proposals": count % {"number": news.total}, "names": names}, 150)


def _headers(person: User, news: News) -> dict[str, str]:
    host = urlsplit(settings.PUBLIC_URL).hostname or "localhost"
    # The same for the same news: where a connection broke off before the answer, a server that took the first mail
    # knows the second.
    told = [(item.proposal.pk, item.proposal.current_revision_number, item.is_reminder) for item in news.items]
    identity = hashlib.sha256(repr((settings.SECRET_KEY, person.pk, person.mailed_at, told)).encode()).hexdigest()[:40]
    return {
        "Message-ID": f"<{identity}@{host}>",
        "List-Id": f"{_('Proposals to review')} <review.{host}>",
        "List-Unsubscribe": f"<{unsubscribe_url(person)}>",
        "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
        "Auto-Submitted": "auto-generated",
        "X-Auto-Response-Suppress": "All",
    }
