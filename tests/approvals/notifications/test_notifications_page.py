"""How people choose how they are told: in Settings, by an admin, and with the link that ends mail.

That link is pressed in the mail's own header, signed out, and ends nothing by looking.
"""

from urllib.parse import urlsplit

import pytest
from django.core import mail as outbox
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from approvals.models import Mail, Proposal, User
from approvals.notifications.unsubscribe import unsubscribe_url
from memory_app.reads import Block
from tests.approvals.notifications.conftest import send, wants
from tests.support.acts import sign_in_again
from tests.support.fixtures import Propose
from tests.support.pages import form, words

PAGE = reverse("settings")
OTHERS = {"time_zone": "UTC"}


@pytest.mark.parametrize("choice", list(Mail))
def test_each_choice_is_kept(choice: Mail, tim: User, as_tim: Client) -> None:
    email = "" if choice == Mail.NEVER else "t@example.org"  # without mail none is needed
    assert as_tim.post(PAGE, OTHERS | {"mail": choice, "email": email}).status_code == 302
    assert form(as_tim.get(PAGE), PAGE)["mail"] == choice
    tim.refresh_from_db()
    assert tim.email == email


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"mail": "daily", "email": ""}, "Enter an address, or choose “Never”."),
        ({"mail": "daily", "email": "nonsense"}, "Enter a valid email address."),
        ({"mail": "hourly", "email": "t@example.org"}, "Select a valid choice."),
    ],
)
def test_what_cannot_be_is_said_beside_the_field_and_nothing_is_lost(
    fields: dict[str, str], said: str, tim: User, as_tim: Client
) -> None:
    wants(tim, Mail.WEEKLY)
    answer = as_tim.post(PAGE, OTHERS | fields)
    assert answer.status_code == 422
    assert said in words(answer)
    assert form(answer, PAGE)["email"] == fields["email"]
    tim.refresh_from_db()
    assert (tim.mail, tim.email) == (Mail.WEEKLY, "tim@example.org")


def test_what_was_chosen_while_signed_out_is_kept_until_one_is_back(alice: User, client: Client) -> None:
    chosen = {"mail": "weekly", "email": "new@example.org"}
    kept = form(sign_in_again(client, alice, client.post(PAGE, OTHERS | chosen)), PAGE)
    assert {name: kept[name] for name in chosen} == chosen


def test_the_address_in_earlier_mails_leads_to_settings(as_tim: Client) -> None:
    answer = as_tim.get("/settings/notifications/")
    assert (answer.status_code, answer.headers["Location"]) == (301, PAGE)


def test_an_admin_s_change_of_a_person_leaves_what_they_were_told(tim: User, as_admin: Client) -> None:
    wants(tim, mail_failure="550 no")
    url = reverse("admin:approvals_user_change", args=[tim.pk])
    assert as_admin.get(url).status_code == 200
    told = timezone.now()
    User.objects.filter(pk=tim.pk).update(mailed_at=told)
    fields = {"first_name": "Timo", "email": "new@example.org", "mail": "daily", "time_zone": "UTC", "is_active": "on"}
    answer = as_admin.post(url, fields)
    assert answer.status_code == 302, words(answer)
    tim.refresh_from_db()
    assert (tim.first_name, tim.email, tim.mail_failure, tim.mailed_at) == ("Timo", "new@example.org", "", told)


# -- the link that ends mail --------------------------------------------------------------------------


def path_in(url: str) -> str:
    return urlsplit(url.strip("<>")).path


@pytest.fixture
def strict_client() -> Client:
    """One that has no cookie and is checked for one, as a mail program."""
    return Client(enforce_csrf_checks=True)


def test_one_press_in_the_mail_program_ends_it(
    goals: Block, told: User, algebra: Proposal, propose: Propose, strict_client: Client
) -> None:
    assert send() == 1
    path = path_in(outbox.outbox[0].message()["List-Unsubscribe"])
    answer = strict_client.post(path, {"List-Unsubscribe": "One-Click"})
    assert answer.status_code == 200
    assert "You won’t get this mail any more" in words(answer)
    told.refresh_from_db()
    assert Mail(told.mail) == Mail.NEVER
    propose(goals, "B2", "C1")
    assert send(hours=1) == 0
    assert strict_client.post(path).status_code == 200  # again


def test_looking_ends_nothing_nor_does_a_link_that_is_not_ours(told: User, strict_client: Client) -> None:
    path = path_in(unsubscribe_url(told))
    answer = strict_client.get(path)
    assert "Stop this mail?" in words(answer)
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    for wrong in (path[:-4] + "xx/", "/unsubscribe/x/", f"/unsubscribe/{told.pk}/"):
        assert strict_client.post(wrong).status_code == 404
    told.refresh_from_db()
    assert Mail(told.mail) == Mail.AT_ONCE


def test_another_person_signed_in_ends_the_mail_of_the_one_in_the_link(
    told: User, alice: User, as_alice: Client
) -> None:
    wants(alice, Mail.DAILY)
    as_alice.post(path_in(unsubscribe_url(told)))
    told.refresh_from_db()
    alice.refresh_from_db()
    assert (told.mail, alice.mail) == (Mail.NEVER, Mail.DAILY)
