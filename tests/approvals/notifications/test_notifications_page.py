"""The page where people choose how they are told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.test import Client
from django.urls import reverse

from approvals.models import Mail, User
from tests.approvals.notifications.conftest import wants
from tests.support.pages import form, words

if TYPE_CHECKING:
    from tests.support.fixtures import ClientOf

PAGE = "/settings/notifications/"


@pytest.mark.parametrize("choice", list(Mail))
def test_each_choice_is_kept(choice: Mail, tim: User, client_of: ClientOf) -> None:
    client = client_of(tim)
    assert client.post(PAGE, {"mail": choice, "email": "t@example.org"}).status_code == 302
    assert form(client.get(PAGE), PAGE)["mail"] == choice
    tim.refresh_from_db()
    assert tim.email == "t@example.org"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"mail": "daily", "email": ""}, "Enter an address, or choose “Never”."),
        ({"mail": "daily", "email": "nonsense"}, "Enter a valid email address."),
        ({"mail": "hourly", "email": "t@example.org"}, "Select a valid choice."),
    ],
)
def test_what_cannot_be_is_said_beside_the_field_and_nothing_is_lost(
    fields: dict[str, str], said: str, tim: User, client_of: ClientOf
) -> None:
    wants(tim, Mail.WEEKLY)
    answer = client_of(tim).post(PAGE, fields)
    assert answer.status_code == 422
    assert said in words(answer)
    assert form(answer, PAGE)["email"] == fields["email"]
    tim.refresh_from_db()
    assert (tim.mail, tim.email) == (Mail.WEEKLY, "tim@example.org")


def test_without_mail_no_address_is_needed(tim: User, client_of: ClientOf) -> None:
    assert client_of(tim).post(PAGE, {"mail": "never", "email": ""}).status_code == 302


def test_what_was_chosen_while_signed_out_is_kept_until_one_is_back(alice: User, client: Client) -> None:
    alice.set_password("a long passphrase")
    alice.save()
    answer = client.post(PAGE, {"mail": "weekly", "email": "new@example.org"})
    assert answer.status_code == 401
    kept = form(answer, reverse("sign_in_and_go_on"))
    signed_in = client.post(
        reverse("sign_in_and_go_on"), kept | {"username": "alice", "password": "a long passphrase"}, follow=True
    )
    assert form(signed_in, PAGE)["mail"] == "weekly"
    assert form(signed_in, PAGE)["email"] == "new@example.org"


def test_an_admin_s_change_of_a_person_leaves_what_they_were_told(tim: User, admin: User, client_of: ClientOf) -> None:
    from django.utils import timezone

    wants(tim, mail_failure="550 no")
    client = client_of(admin)
    url = reverse("admin:approvals_user_change", args=[tim.pk])
    assert client.get(url).status_code == 200
    told = timezone.now()
    User.objects.filter(pk=tim.pk).update(mailed_at=told)
    answer = client.post(
        url,
        {
            "username": "tim",
            "first_name": "Timo",
            "last_name": "Okafor",
            "email": "new@example.org",
            "mail": "daily",
            "time_zone": "UTC",
            "is_active": "on",
            "shortcuts": "on",
        },
    )
    assert answer.status_code == 302, words(answer)
    tim.refresh_from_db()
    assert (tim.first_name, tim.email, tim.mail_failure, tim.mailed_at) == ("Timo", "new@example.org", "", told)
