"""`/feed/…/`: what waits for a person as an Atom feed, at an address only they know; it needs no session.

The address is the number of the person and a secret. The person is looked up by the number and the secret is compared
in constant time. A wrong one, one that was made anew and one of a person who is not active are the same: not found.
"""

from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.cache import get_conditional_response, set_response_etag
from django.utils.crypto import constant_time_compare
from django.utils.feedgenerator import Atom1Feed
from django.utils.translation import gettext as _
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from approvals import language
from approvals.accounts.sign_in import display_names
from approvals.audit import client_address
from approvals.models import User, bare_name
from approvals.notifications.mail import one_line, words_of
from approvals.notifications.news import NewsItem, waiting_for, with_since
from approvals.views.request import whole_number
from memory_app.runtime import rate_limit

# -- `/manifest.webmanifest`: what a browser needs to keep Assent as an app, whose icon shows how many proposals wait.


@cache_control(public=True, max_age=86_400)
@require_safe
def manifest(request: HttpRequest) -> HttpResponse:
    """Answer the manifest, the same for everybody: drawn without the request, which would load a session."""
    return HttpResponse(render_to_string("manifest.webmanifest"), content_type="application/manifest+json")


#: Entries of a feed, the newest.
MOST_ENTRIES = 50

_MINUTE = timedelta(minutes=1)


@require_safe
def feed(request: HttpRequest, feed_key: str) -> HttpResponseBase:
    """Answer the feed, 304 where nothing changed, 404 for an address that is no one's."""
    if rate_limit.hit(rate_limit.key_of("feed", client_address(request)), settings.RATE_LIMIT, _MINUTE):
        return _private(HttpResponse(status=429, headers={"Retry-After": "60"}))
    person = _person(feed_key)
    if person is None:
        raise Http404
    with language.speaking_to(person):
        answer = HttpResponse(_write(person), content_type="application/atom+xml; charset=utf-8")
    set_response_etag(answer)
    return _private(get_conditional_response(request, etag=answer["ETag"], response=answer) or answer)


def _private(response: HttpResponseBase) -> HttpResponseBase:
    response["Cache-Control"] = "private, no-cache"
    response["Referrer-Policy"] = "no-referrer"
    response["X-Robots-Tag"] = "noindex"
    return response


def _person(feed_key: str) -> User | None:
    number, _dash, secret = feed_key.partition("-")
    person = User.objects.filter(pk=whole_number(number, digits=18) or 0, is_active=True).first()
    # Compared in any case: that a number is someone's takes as long as that it is no one's.
    is_theirs = constant_time_compare(secret, (person.feed_key if person else "") or "no feed")
    return person if person and person.feed_key and is_theirs else None


class _Feed(Atom1Feed):
    """A feed whose time is that of its newest entry: an empty one would otherwise differ each time it is asked for."""

    def latest_post_date(self) -> datetime:
        times = [item["updateddate"] for item in self.items]
        return max(times) if times else datetime.fromtimestamp(0, UTC)


def _write(person: User) -> bytes:
    host = urlsplit(settings.PUBLIC_URL).hostname or "localhost"
    written = _Feed(
        title=_("Proposals to review"),
        link=settings.PUBLIC_URL + reverse("inbox"),
        description="",
        feed_url=person.feed_url,
        feed_guid=f"tag:{host},2026:review/{person.pk}",
    )
    newest = waiting_for(person).select_related("agent").order_by("-created_at", "-pk")[:MOST_ENTRIES]
    rows = with_since(newest)
    owners = display_names({proposal.owner for proposal, _since in rows})
    for proposal, since in rows:
        said = words_of(NewsItem(proposal, since, is_reminder=False))
        owner = one_line(bare_name(owners.get(proposal.owner, proposal.owner)), 80)
        reminded = proposal.owner_reminded_at if proposal.owner == person.username else proposal.reminded_at
        written.add_item(
            title=f"{owner}: {said['title']}",
            link=said["url"],
            description=render_to_string("notifications/entry.html", said),  # nothing that changes by itself
            unique_id=f"tag:{host},2026:proposal/{proposal.pk}",
            pubdate=proposal.created_at,
            updateddate=max(since, reminded) if reminded else since,
            author_name=said["agent"],
        )
    return written.writeString("utf-8").encode()
