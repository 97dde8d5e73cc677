"""A course: each of its tutors tutors each of its students, and nobody else loses or gains anything."""

import pytest
from django.test import Client
from django.urls import reverse

from approvals.accounts import courses
from approvals.models import AuditEvent, Course, Tutorship, User
from approvals.permissions import readable_owners
from tests.support.fixtures import ClientOf
from tests.support.pages import words


@pytest.fixture
def maths(alice: User, ben: User, tim: User, mallory: User) -> Course:
    """ben and alice learn, mallory teaches; tim tutors alice by hand."""
    course = Course.objects.create(name="Maths")
    course.students.add(alice, ben)
    course.tutors.add(mallory)
    courses.keep_tutorships({alice.pk, ben.pk})
    return course


def pairs() -> set[tuple[str, str]]:
    return set(Tutorship.objects.values_list("tutor__username", "owner__username"))


def test_rights_come_and_go_with_the_course_and_others_stay(maths: Course, alice: User, ben: User, tim: User) -> None:
    assert pairs() == {("tim", "alice"), ("mallory", "alice"), ("mallory", "ben")}
    assert readable_owners(User.objects.get(username="mallory")) == ["mallory", "alice", "ben"]
    art = Course.objects.create(name="Art")
    art.students.add(alice)
    art.tutors.add(*maths.tutors.all(), tim, alice)
    courses.keep_tutorships({alice.pk})
    assert pairs() == {("tim", "alice"), ("mallory", "alice"), ("mallory", "ben")}
    maths.students.clear()
    courses.keep_tutorships({alice.pk, ben.pk})
    assert pairs() == {("tim", "alice"), ("mallory", "alice")}  # by hand, and by the other course
    art.tutors.clear()
    courses.keep_tutorships({alice.pk})
    assert pairs() == {("tim", "alice")}
    removed = AuditEvent.objects.filter(what="tutor_removed").values_list("owner", "detail")
    assert sorted(removed) == [("alice", "mallory"), ("ben", "mallory")]


def test_the_admin_keeps_the_tutorships(maths: Course, as_admin: Client, admin: User, alice: User, ben: User) -> None:
    User.objects.filter(pk=admin.pk).update(is_superuser=True)
    tim = User.objects.get(username="tim")
    change = reverse("admin:approvals_course_change", args=[maths.pk])
    assert as_admin.get(change).status_code == 200
    as_admin.post(change, {"name": "Maths", "tutors": [tim.pk], "students": [ben.pk]})
    assert pairs() == {("tim", "alice"), ("tim", "ben")}
    assert set(AuditEvent.objects.filter(actor="admin", what="tutor_removed").values_list("owner", flat=True)) == {
        "alice",
        "ben",
    }
    derived = Tutorship.objects.get(owner=ben)
    given = Tutorship.objects.get(owner=alice)
    delete = "admin:approvals_tutorship_delete"
    assert as_admin.post(reverse(delete, args=[derived.pk]), {"post": "yes"}).status_code == 403
    assert as_admin.post(reverse(delete, args=[given.pk]), {"post": "yes"}).status_code == 302
    assert pairs() == {("tim", "ben")}
    assert as_admin.post(reverse("admin:approvals_course_delete", args=[maths.pk]), {"post": "yes"}).status_code == 403
    as_admin.post(change, {"name": "Maths"})
    assert pairs() == set()
    assert as_admin.post(reverse("admin:approvals_course_delete", args=[maths.pk]), {"post": "yes"}).status_code == 302


def test_taking_away_a_tutorship_given_by_hand_leaves_what_a_course_gives(
    maths: Course, as_admin: Client, admin: User, alice: User
) -> None:
    User.objects.filter(pk=admin.pk).update(is_superuser=True)
    mallory = User.objects.get(username="mallory")
    courses.give(mallory, [alice], actor="")
    row = Tutorship.objects.get(tutor=mallory, owner=alice)
    assert row.by_hand
    as_admin.post(reverse("admin:approvals_tutorship_delete", args=[row.pk]), {"post": "yes"})
    assert not Tutorship.objects.get(tutor=mallory, owner=alice).by_hand


def test_the_board_shows_one_course_of_those_a_person_tutors(
    maths: Course, alice: User, client_of: ClientOf, as_admin: Client
) -> None:
    art = Course.objects.create(name="Art")
    art.students.add(alice)
    art.tutors.add(User.objects.get(username="mallory"))
    other = Course.objects.create(name="Not hers")
    browser = client_of(User.objects.get(username="mallory"))

    def shown(course: object) -> set[str]:
        answer = browser.get(reverse("memories"), {"course": course})
        assert "Not hers" not in words(answer)
        return {row.person.username for row in answer.context["rows"]}

    assert shown("") == shown(maths.pk) == shown(other.pk) == shown("x") == {"alice", "ben"}
    assert shown(art.pk) == {"alice"}
    assert "No one in this course" in words(as_admin.get(reverse("memories"), {"course": other.pk}))
