"""Handing mails to a server: once each, whatever the server does and whoever else is sending."""

import socket
import threading
from datetime import timedelta

import pytest
from django.core.cache import cache
from django.core.mail import get_connection
from django.db import connections
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from approvals.forms.accounts import AccountForm
from approvals.models import Mail, Proposal, User
from approvals.notifications import mail as sending
from approvals.notifications.news import news_for
from memory_app.reads import Block
from tests.approvals.notifications.conftest import pass_time, send, wants
from tests.conftest import in_a_thread, make_user
from tests.support.fixtures import Propose
from tests.support.pages import form, words
from tests.support.receiver import at_work
from tests.support.smtp import BACKEND, MailServer


def recipients(smtp: MailServer) -> list[str]:
    return [to for to, _mail in smtp.mails]


def nothing_was_noted(person: User) -> bool:
    person.refresh_from_db()
    return (person.mail_failure, person.mailed_at) == ("", None)


def test_a_real_server_gets_one_mail_in_two_forms(smtp: MailServer, goals: Block, told: User, propose: Propose) -> None:
    propose(goals, "math", "algèbra €")
    assert send() == 1
    ((to, mail),) = smtp.mails
    assert to == "tim@example.org"
    assert mail.get_content_type() == "multipart/alternative"
    text, html = (part.get_content() for part in mail.iter_parts())
    assert "{+algèbra €+}" in text
    assert "algèbra €</ins>" in html
    assert send(hours=1) == 0


def test_a_refused_address_is_not_tried_again_until_it_is_saved(
    smtp: MailServer, told: User, alice: User, algebra: Proposal, as_tim: Client
) -> None:
    wants(alice)
    smtp.refused["tim@example.org"] = "550 5.1.1 <b>no</b> such\u202e user"
    assert send() == 1
    assert recipients(smtp) == ["alice@example.org"]
    told.refresh_from_db()
    assert told.mail_failure.startswith("550 5.1.1")
    assert told.mailed_at is None
    smtp.refused.clear()
    assert send(hours=2) == 0
    page = as_tim.get(reverse("settings"))
    assert "Mail to tim@example.org could not be delivered." in words(page)
    assert "<b>no</b>" not in page.content.decode()
    assert "\u202e" not in page.content.decode()
    assert as_tim.post(reverse("settings"), form(page, reverse("settings"))).status_code == 302
    assert "could not be delivered" not in words(as_tim.get(reverse("settings")))
    assert send() == 1
    assert recipients(smtp) == ["alice@example.org", "tim@example.org"]


def test_what_a_server_puts_off_is_sent_later(smtp: MailServer, told: User, algebra: Proposal) -> None:
    smtp.refused["tim@example.org"] = "450 try again later"
    assert send() == 0
    assert nothing_was_noted(told)
    smtp.refused.clear()
    assert sending.send_due() == 0  # not within a quarter of an hour
    assert send() == 1


@pytest.mark.parametrize("dies_at", ["MAIL", "."])
def test_a_server_that_dies_in_the_middle_loses_nothing(
    dies_at: str, smtp: MailServer, told: User, algebra: Proposal
) -> None:
    smtp.dies_at = dies_at
    assert send() == 0
    assert not smtp.mails
    assert nothing_was_noted(told)
    smtp.dies_at = ""
    assert send() == 1
    assert send(hours=1) == 0
    assert recipients(smtp) == ["tim@example.org"]


def test_the_same_news_have_the_same_id_when_they_are_sent_again(
    smtp: MailServer, goals: Block, told: User, algebra: Proposal, propose: Propose
) -> None:
    """A server that took a mail and died before it said so knows the second."""
    ids = []
    for _time in range(2):
        assert send() == 1
        ids.append(smtp.mails[-1][1]["Message-ID"])
        User.objects.update(mailed_at=None)
    propose(goals, "B2", "C1")
    assert send() == 1
    assert ids[0] == ids[1] != smtp.mails[-1][1]["Message-ID"]


def test_a_server_that_is_away_is_asked_again_later(told: User, algebra: Proposal) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with override_settings(EMAIL_BACKEND=BACKEND, EMAIL_HOST="127.0.0.1", EMAIL_PORT=port):
        assert send() == 0
        assert nothing_was_noted(told)
        assert sending.send_due() == 0  # nobody knocks again within a minute
        with MailServer(port) as server, at_work(server):
            assert send() == 1
        assert recipients(server) == ["tim@example.org"]


def test_of_many_senders_one_sends(smtp: MailServer, told: User, alice: User, algebra: Proposal) -> None:
    for person in (alice, *(make_user(f"staff{number}", is_staff=True) for number in range(3))):
        wants(person)
    pass_time(minutes=1)
    cache.clear()
    ready = threading.Barrier(4)

    def send_too() -> None:
        ready.wait()
        sending.send_due()

    for thread in [in_a_thread(send_too) for _ in range(4)]:
        thread.join(60)
    assert sorted(recipients(smtp)) == sorted(set(recipients(smtp)))
    assert len(smtp.mails) == 5


def test_who_changes_their_mind_while_it_is_composed_gets_none(smtp: MailServer, told: User, algebra: Proposal) -> None:
    pass_time(minutes=1)
    User.objects.filter(pk=told.pk).update(mail=Mail.NEVER)
    with get_connection() as connection:
        assert not sending.send_to(told, connection, now=timezone.now())
    assert not smtp.mails


def test_an_address_no_header_can_hold_is_refused(smtp: MailServer, tim: User, algebra: Proposal) -> None:
    wants(tim, email="tim@example.org\r\nBcc: all@example.org")
    assert send() == 0
    tim.refresh_from_db()
    assert tim.mail_failure
    assert not smtp.mails


def test_settings_saved_in_the_same_moment_do_not_make_it_be_sent_twice(
    smtp: MailServer, told: User, algebra: Proposal
) -> None:
    """A form that wrote the whole row as it had read it would move back until when its person was told."""
    values = {
        "first_name": "Tim",
        "last_name": "B",
        "email": told.email,
        "mail": told.mail,
        "time_zone": "UTC",
        "shortcuts": "on",
    }
    open_form = AccountForm(values, instance=User.objects.get(pk=told.pk))
    assert open_form.is_valid()
    assert send() == 1
    open_form.save()
    assert send(hours=1) == 0


def test_a_digest_costs_few_queries(goals: Block, tim: User, propose: Propose) -> None:
    for old, new in (("math", "algebra"), ("B2", "C1"), ("book", "novel")):
        propose(goals, old, new)
    with CaptureQueriesContext(connections["default"]) as queries:
        news = news_for(tim, since=timezone.now() - timedelta(days=1), until=timezone.now(), most=20)
    assert news.total == 3
    assert len(queries) <= 8
