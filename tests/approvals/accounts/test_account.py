"""The account page: name, time zone, shortcuts, and who may read one's memory."""

from django.test import Client
from django.urls import reverse

from approvals.models import User

SETTINGS = reverse("settings")


def test_people_set_their_name_time_zone_and_shortcuts_and_make_nobody_staff(alice: User, as_alice: Client) -> None:
    fields = {"first_name": "Alicia", "last_name": "Berg", "email": "a@example.org", "mail": "daily"}
    fields["time_zone"] = "Europe/Berlin"
    response = as_alice.post(SETTINGS, fields | {"is_staff": "on", "username": "root"}, follow=True)
    alice.refresh_from_db()
    assert (alice.first_name, alice.email) == ("Alicia", "a@example.org")
    assert (alice.time_zone, alice.shortcuts) == ("Europe/Berlin", False)
    assert (alice.username, alice.is_staff) == ("alice", False)
    assert 'data-shortcuts="off"' in response.content.decode()


def test_a_time_zone_that_is_none_is_refused(alice: User, as_alice: Client) -> None:
    response = as_alice.post(SETTINGS, {"first_name": "X", "mail": "never", "time_zone": "Mars/Olympus"})
    assert response.status_code == 422
    alice.refresh_from_db()
    assert alice.time_zone == "UTC"


def test_an_owner_sees_their_tutors(as_alice: Client, as_tim: Client) -> None:
    assert "Tim Okafor" in as_alice.get(SETTINGS).content.decode()
    assert "Only you and admins can read your memory" in as_tim.get(SETTINGS).content.decode()


def test_the_page_leads_to_the_password_and_to_agents(as_alice: Client) -> None:
    page = as_alice.get(SETTINGS).content.decode()
    assert reverse("password_change") in page
    assert reverse("agents") in page
