"""The link that ends mail: from the mail's own header, signed out, and not by looking."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from django.core import mail as outbox
from django.test import Client

from approvals.models import Mail, User
from approvals.notifications.unsubscribe import unsubscribe_url
from tests.approvals.notifications.conftest import send, wants
from tests.support.pages import words

if TYPE_CHECKING:
    from memory_app.reads import Block
    from tests.support.fixtures import ClientOf, Propose


def path_in(url: str) -> str:
    return urlsplit(url.strip("<>")).path


@pytest.fixture
def strict_client() -> Client:
    """One that has no cookie and is checked for one, as a mail program."""
    return Client(enforce_csrf_checks=True)


def test_one_press_in_the_mail_program_ends_it(
    goals: Block, tim: User, propose: Propose, strict_client: Client
) -> None:
    wants(tim)
    propose(goals, "math", "algebra")
    assert send() == 1
    path = path_in(outbox.outbox[0].message()["List-Unsubscribe"])
    answer = strict_client.post(path, {"List-Unsubscribe": "One-Click"})
    assert answer.status_code == 200
    assert "You won’t get this mail any more" in words(answer)
    tim.refresh_from_db()
    assert Mail(tim.mail) == Mail.NEVER
    propose(goals, "B2", "C1")
    assert send(hours=1) == 0
    assert strict_client.post(path).status_code == 200  # again


def test_looking_ends_nothing(tim: User, strict_client: Client) -> None:
    wants(tim, Mail.DAILY)
    answer = strict_client.get(path_in(unsubscribe_url(tim)))
    assert "Stop this mail?" in words(answer)
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    tim.refresh_from_db()
    assert Mail(tim.mail) == Mail.DAILY


def test_a_link_that_is_not_ours_is_not_found(tim: User, alice: User, strict_client: Client) -> None:
    path = path_in(unsubscribe_url(tim))
    for wrong in (path[:-4] + "xx/", "/unsubscribe/x/", f"/unsubscribe/{tim.pk}/"):
        assert strict_client.post(wrong).status_code == 404


def test_another_person_signed_in_ends_the_mail_of_the_one_in_the_link(
    tim: User, alice: User, client_of: ClientOf
) -> None:
    wants(tim, Mail.DAILY)
    wants(alice, Mail.DAILY)
    client_of(alice).post(path_in(unsubscribe_url(tim)))
    tim.refresh_from_db()
    alice.refresh_from_db()
    assert (tim.mail, alice.mail) == (Mail.NEVER, Mail.DAILY)
