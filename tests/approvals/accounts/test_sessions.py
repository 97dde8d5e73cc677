"""Whose sessions there are: seen on the settings page, ended there, and deleted when they are over."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.contrib.auth.tokens import default_token_generator
from django.contrib.sessions.backends.base import UpdateError
from django.db import OperationalError
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from approvals.accounts.sessions import SessionStore, browser_of
from approvals.models import AuditEvent, BrowserSession, User
from approvals.tasks import purge_sessions_and_audit
from memory_app.celery import app
from memory_app.runtime import deadlines
from tests.approvals.accounts.conftest import PASSWORD
from tests.support.fixtures import ClientOf
from tests.support.holding import held_table
from tests.support.pages import words

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
IPHONE = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605 Version/18.0 Mobile/15E148 Safari/604.1"
)
EDGE = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537 Chrome/131.0 Safari/537 Edg/131.0"


def signed_in(name: str = "alice", password: str = PASSWORD, *, agent: str = FIREFOX) -> Client:
    client = Client(REMOTE_ADDR="192.0.2.1", headers={"User-Agent": agent})
    assert client.post("/sign-in/", {"username": name, "password": password}).status_code == 302
    return client


def is_in(client: Client) -> bool:
    return client.get("/settings/").status_code == 200


def references(client: Client) -> list[str]:
    return re.findall(r'name="session" value="([0-9a-f]+)"', client.get("/settings/").content.decode())


@pytest.mark.parametrize(
    ("agent", "name"),
    [(FIREFOX, "Firefox, Linux"), (IPHONE, "Safari, iPhone"), (EDGE, "Edge, Windows"), ("<b>curl" * 900, ""), ("", "")],
)
def test_a_browser_is_named_and_nothing_else_of_what_it_sends(agent: str, name: str) -> None:
    assert browser_of(agent) == name


def test_people_see_their_sessions_and_end_one_or_all_others(alice_with_password: User) -> None:
    here, phone, office = signed_in(), signed_in(agent=IPHONE), signed_in(agent=EDGE)
    page = words(here.get("/settings/"))
    assert "Firefox, Linux 192.0.2.1 Since" in page
    assert page.count("this one") == 1
    assert "Safari, iPhone" in page
    found = references(here)
    assert len(found) == 2
    keys = set(BrowserSession.objects.values_list("session_key", flat=True))
    assert not any(key in here.get("/settings/").content.decode() for key in keys)
    here.post("/settings/sessions/end/", {"session": found[0]})
    assert [is_in(client) for client in (here, phone, office)].count(True) == 2
    assert "Signed out in one other place." in words(
        here.post("/settings/sessions/end/", {"session": "others"}, follow=True)
    )
    assert [is_in(client) for client in (here, phone, office)] == [True, False, False]
    assert "You were signed out there already." in words(
        here.post("/settings/sessions/end/", {"session": "others"}, follow=True)
    )
    ended = AuditEvent.objects.filter(what="sessions_ended")
    assert [(each.actor, each.owner, each.detail) for each in ended] == [("alice", "alice", "1")] * 2


def test_nobody_ends_the_session_of_another(alice_with_password: User, client_of: ClientOf, mallory: User) -> None:
    here = signed_in()
    signed_in()
    theirs = client_of(mallory)
    keys = list(BrowserSession.objects.filter(user=alice_with_password).values_list("session_key", flat=True))
    for named in (*references(here), *keys, "others", "", "x" * 10_000, "\0"):
        theirs.post("/settings/sessions/end/", {"session": named})
    assert Client().post("/settings/sessions/end/", {"session": "others"}).status_code == 401
    assert BrowserSession.objects.filter(user=alice_with_password).count() == 2
    assert theirs.get("/settings/sessions/end/").status_code == 405


def test_a_new_password_ends_the_other_sessions_and_a_mailed_one_all(
    alice_with_password: User,
) -> None:
    here, other = signed_in(), signed_in()
    new = {"new_password1": "correct horse battery", "new_password2": "correct horse battery"}
    assert here.post("/password/", {"old_password": PASSWORD, **new}).status_code == 302
    assert [is_in(here), is_in(other)] == [True, False]
    row = BrowserSession.objects.get(user=alice_with_password)
    assert (row.browser, row.address) == ("Firefox, Linux", "192.0.2.1")
    assert row.since is not None
    user = User.objects.get(username="alice")
    link = [urlsafe_base64_encode(force_bytes(user.pk)), default_token_generator.make_token(user)]
    stranger = Client()
    form = stranger.get(reverse("password_reset_confirm", args=link), follow=True).request["PATH_INFO"]
    stranger.post(form, {"new_password1": "yet another long one", "new_password2": "yet another long one"})
    assert not is_in(here)
    assert not BrowserSession.objects.filter(user=alice_with_password).exists()
    assert AuditEvent.objects.latest("pk").detail == "by a mailed link"


def test_when_a_session_was_used_is_written_every_few_minutes(
    alice_with_password: User, django_assert_num_queries: Any
) -> None:
    here = signed_in()
    old = timezone.now() - timedelta(hours=1)
    BrowserSession.objects.update(seen_at=old)
    here.get("/settings/")
    seen = BrowserSession.objects.get().seen_at
    assert seen > old
    here.get("/settings/")
    assert BrowserSession.objects.get().seen_at == seen


def test_sessions_that_ended_are_deleted_by_the_clock_with_and_without_workers(
    alice_with_password: User, client_of: ClientOf, settings: Any
) -> None:
    settings.AUDIT_DAYS = 0
    here = signed_in()
    client_of(alice_with_password)
    over = BrowserSession.objects.exclude(session_key=here.session.session_key)
    assert over.update(expire_date=timezone.now() - timedelta(days=1)) == 1
    assert len(references(here)) == 0  # nor is it listed until then
    names = {name for name, each in settings.CELERY_BEAT_SCHEDULE.items() if each["task"].startswith("approvals.purge")}
    assert names <= set(settings.WITHOUT_BEAT)
    assert purge_sessions_and_audit.name in app.tasks
    purge_sessions_and_audit()
    assert BrowserSession.objects.get().session_key == here.session.session_key
    assert django_settings.SESSION_ENGINE == "approvals.accounts.sessions"


def test_a_busy_database_is_not_taken_for_a_session_that_ended() -> None:
    """It is answered as unavailable, and not as a bad request."""
    session = SessionStore()
    session.create()
    session["seen"] = 1
    with held_table(BrowserSession), deadlines.within(0.3), pytest.raises(OperationalError):
        session.save()
    session.save()
    BrowserSession.objects.all().delete()
    with pytest.raises(UpdateError):
        session.save()
