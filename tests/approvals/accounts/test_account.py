"""The account page: name, time zone, shortcuts, and who may read one's memory."""

from django.urls import reverse

from approvals.models import User
from tests.support.fixtures import ClientOf

SETTINGS = reverse("settings")


def test_people_set_their_name_time_zone_and_shortcuts(alice: User, client_of: ClientOf) -> None:
    fields = {"first_name": "Alicia", "last_name": "Berg", "email": "a@example.org", "time_zone": "Europe/Berlin"}
    response = client_of(alice).post(SETTINGS, fields, follow=True)
    alice.refresh_from_db()
    assert (alice.first_name, alice.email) == ("Alicia", "a@example.org")
    assert (alice.time_zone, alice.shortcuts) == ("Europe/Berlin", False)
    assert 'data-shortcuts="off"' in response.content.decode()


def test_a_time_zone_that_is_none_is_refused(alice: User, client_of: ClientOf) -> None:
    response = client_of(alice).post(SETTINGS, {"first_name": "X", "time_zone": "Mars/Olympus"})
    assert response.status_code == 422
    alice.refresh_from_db()
    assert alice.time_zone == "UTC"


def test_nobody_makes_themselves_staff_here(alice: User, client_of: ClientOf) -> None:
    client_of(alice).post(SETTINGS, {"time_zone": "UTC", "is_staff": "on", "username": "root"})
    alice.refresh_from_db()
    assert not alice.is_staff
    assert alice.username == "alice"


def test_an_owner_sees_their_tutors_and_a_tutor_their_students(alice: User, tim: User, client_of: ClientOf) -> None:
    assert "Tim Okafor" in client_of(alice).get(SETTINGS).content.decode()
    students = client_of(tim).get(SETTINGS).content.decode()
    assert reverse("memory", args=["alice"]) in students
    assert "Only you and admins can read your memory" in students


def test_the_page_leads_to_the_password_and_to_agents(alice: User, client_of: ClientOf) -> None:
    page = client_of(alice).get(SETTINGS).content.decode()
    assert reverse("password_change") in page
    assert reverse("agents") in page
