"""People, groups and tutors from a CSV file: what it would do, and what it does."""

import tempfile
import time
from io import StringIO
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.urls import reverse

from approvals.accounts import invitations, leaving, people_file
from approvals.models import AuditEvent, Course, Tutorship, User
from approvals.permissions import may_read
from tests.support.pages import words

HEAD = "username,first name,last name,mail,groups,tutors,role,leaves\n"
PAGE = reverse("admin:people_file")


@pytest.fixture(autouse=True)
def no_mail_is_sent(monkeypatch: Any) -> None:
    monkeypatch.setattr(invitations, "enqueue", lambda task, otherwise: None)


def planned(text: str, encoding: str = "utf-8") -> dict[str, str]:
    lines = people_file.plan(text.encode(encoding))
    return {line.username: "; ".join([*(f"! {error}" for error in line.errors), *line.effects]) for line in lines}


def applied(text: str, **options: Any) -> int:
    return people_file.apply(people_file.plan(text.encode()), by=None, **{"invites": True, **options})


SCHOOL = HEAD + (
    "tim,Tim,Okafor,tim@example.org,5a; 5b,,tutor,\n"
    "anna,Anna,Jäger,anna@example.org,5a,,student,\n"
    "ben.k,Ben,Kowalski,,5a;5b,uta,student,\n"
    "uta,Uta,Unger,uta@example.org,,,,\n"
)


def test_a_file_makes_people_courses_and_tutorships_and_changes_nothing_the_second_time() -> None:
    assert planned(SCHOOL) == {
        "tim": "new; becomes tutor of 5a; becomes tutor of 5b",
        "anna": "new; joins 5a",
        "ben.k": "new; joins 5a; joins 5b; gets the tutor uta",
        "uta": "new",
    }
    assert not User.objects.exists()
    assert applied(SCHOOL) == 4
    assert set(Tutorship.objects.values_list("tutor__username", "owner__username", "by_hand")) == {
        ("tim", "anna", False),
        ("tim", "ben.k", False),
        ("uta", "ben.k", True),
    }
    due = User.objects.filter(invitation_due=True).values_list("username", flat=True)
    assert set(due) == {"tim", "anna", "uta"}
    assert may_read(User.objects.get(username="tim"), "anna")
    assert AuditEvent.objects.filter(what="tutor_assigned").count() == 3
    assert set(planned(SCHOOL).values()) == {""}
    assert applied(SCHOOL) == 0


def test_what_is_written_is_read_again_and_changes_nothing() -> None:
    applied(SCHOOL)
    User.objects.filter(username="anna").update(first_name="=1+1", last_name="-x")
    text = "".join(people_file.write())
    assert text.startswith("\ufeffusername,first name")
    assert "'=1+1" in text  # a spreadsheet would compute it
    assert set(planned(text).values()) == {""}


def test_names_change_courses_change_and_people_leave_only_where_the_file_says_so() -> None:
    applied(SCHOOL)
    text = "username;first_name;groups;leaves\nanna;Änne;6a;no\nben.k;;-;2020-07-31\nuta;;;2999-01-01\n"
    assert planned(text, "cp1252") == {
        "anna": "first name changes from “Anna” to “Änne”; joins 6a; leaves 5a",
        "ben.k": "leaves 5a; leaves 5b; leaves",
        "uta": "",
    }
    assert applied(text, invites=False) == 2
    assert not User.objects.get(username="ben.k").is_active
    assert User.objects.get(username="tim").is_active
    # By hand it stays, for what still waits.
    assert [str(row) for row in Tutorship.objects.all()] == ["uta → ben.k"]
    removed = AuditEvent.objects.filter(what="tutor_removed").values_list("owner", "detail")
    assert set(removed) == {("anna", "tim"), ("ben.k", "tim")}


def test_lines_in_error_say_why_and_the_others_can_be_applied(alice: User) -> None:
    User.objects.create(username="gone", is_active=False)
    User.objects.create(username="boss", is_staff=True)
    text = HEAD + (
        "Anna,,,,,,,\n"
        "carl,,,carl at example,,,,\n"
        "dora,,,,,nobody,,\n"
        "gone,,,,5a,,,\n"
        "boss,,,new@example.org,,,,\n"
        "emil,,,,,,head,\n"
        "fred,,,,,,,soon\n"
        "gina,,,,5a,,,\n"
        "alice,,,,5a,,,\n"
        "alice,,,,5b,,,\n"
        "hans,,,,,,,yes\n"
    )
    lines = people_file.plan(text.encode())
    errors = {line.number: " ".join(line.errors) for line in lines}
    assert "Use a-z, 0-9" in errors[2]
    assert "valid email" in errors[3]
    assert "nobody active called nobody" in errors[4]
    assert "Someone who left has this username" in errors[5]
    assert "Admins are changed in the admin" in errors[6]
    assert "role is student or tutor" in errors[7]
    assert "yes, no or a day" in errors[8]
    assert errors[9] == errors[10] == ""
    assert "Line 10 is about this person too" in errors[11]
    assert "nobody of this username who could leave" in errors[12]
    with pytest.raises(CommandError, match="Lines with errors: 9"):
        call_command("people", _file(text), "--apply", stdout=StringIO())
    assert not Course.objects.exists()
    call_command("people", _file(text), "--apply", "--skip-errors", "--no-invitation", stdout=StringIO())
    assert set(Course.objects.get(name="5a").students.values_list("username", flat=True)) == {"alice", "gina"}


def test_errors_name_what_is_wrong() -> None:
    said = planned("username,first name,mail\n" + f"anna,{'x' * 151},at school\n,Ben,\n")
    assert "first name: Ensure this value has at most 150" in said["anna"]
    assert "email address: Enter a valid" in said["anna"]
    assert "username: This field cannot be blank." in said[""]


def test_columns_and_rows_that_were_emptied_in_a_spreadsheet_do_not_count() -> None:
    text = " UserName;First  Name;;\r\nanna;Anna;;\r\n;;;;;\r\n  ;;;\r\n"
    assert planned("\ufeff" + text) == {"anna": "new"}


def test_a_day_is_understood_as_a_spreadsheet_writes_it_and_names_in_any_unicode_form(alice: User) -> None:
    applied(HEAD + "alice,,,,5\u00e4,,,\n")
    text = HEAD + "alice,,,,5a\u0308,,,31.07.2020\nben,,,,5a\u0308,,,31.07.2999\n"
    assert planned(text) == {"alice": "leaves", "ben": "new; joins 5\u00e4"}


def test_tutors_are_there_before_their_students_and_stay(tim: User) -> None:
    text = HEAD + "anna,,,,,uta,,\nben,,,,,tim,,\nuta,,,,,-,,\ntim,,,,,,,yes\n"
    said = planned(text)
    assert said["anna"] == "new; gets the tutor uta"
    assert "nobody active called tim" in said["ben"]


def test_who_left_is_not_written_anew_by_a_file_that_still_names_them(admin: User) -> None:
    applied(SCHOOL)
    leaving.leave(User.objects.get(username="anna"), by=None, deletes=True)
    assert planned(HEAD + "anna,Anna,Jäger,anna@example.org,5a,uta,,2020-07-31\n") == {"anna": ""}


def _file(text: str) -> str:
    with tempfile.NamedTemporaryFile("w", suffix=".csv", delete=False, encoding="utf-8") as file:
        file.write(text)
    return file.name


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"username,birthday\nanna,1\n", "Unknown: “birthday”"),
        (b"name\nanna\n", "username among them"),
        (b"username,username\nanna,anna\n", "each once"),
        (b'username\nben\n"anna\n', "Line 3"),
        ("username\nanna".encode("utf-16"), "neither UTF-8 nor cp1252"),
        (b"", "username among them"),
    ],
)
def test_a_file_that_is_none_is_refused_as_a_whole(data: bytes, why: str) -> None:
    with pytest.raises(people_file.Unreadable, match=why):
        people_file.plan(data)


def test_3_000_lines_cost_fewer_statements_than_lines() -> None:
    lines = [f"teacher{n},T,{n},t{n}@example.org,c{n},,tutor," for n in range(100)]
    lines += [f"s{n},S,{n},s{n}@example.org,c{n % 100};c{(n + 7) % 100},,student," for n in range(2_900)]
    text, asked = HEAD + "\n".join(lines), list[str]()

    def count(execute: Any, sql: str, *arguments: Any) -> Any:
        asked.append(sql)
        return execute(sql, *arguments)

    began = time.thread_time()
    with connection.execute_wrapper(count):
        assert len(people_file.plan(b"username\n" + b"".join(b"x%d\n" % n for n in range(40_000)))) == 40_000
        planned(text)
        assert len(asked) < 300
        assert applied(text) == 3_000
    assert len(asked) < 3_000
    assert time.thread_time() - began < 60  # 12 measured; what else the machine does is none of its doing
    assert Tutorship.objects.count() == 5_800


def test_the_page_shows_what_it_would_do_then_does_it(as_admin: Client, as_tim: Client, admin: User) -> None:
    User.objects.filter(pk=admin.pk).update(is_superuser=True)
    assert as_tim.get(PAGE, follow=True).status_code == 404
    shown = as_admin.post(PAGE, {"file": SimpleUploadedFile("p.csv", SCHOOL.encode()), "check": ""})
    assert "; becomes tutor of 5a" in words(shown)
    assert not Course.objects.exists()
    done = as_admin.post(PAGE, {"carried": shown.context["carried"], "apply": ""}, follow=True)
    assert "4 lines were applied" in words(done)
    assert Course.objects.get(name="5a").tutors.get().username == "tim"
    again = as_admin.post(PAGE, {"carried": shown.context["carried"], "apply": ""}, follow=True)
    assert "0 lines were applied" in words(again)
    assert b"anna,Anna,J" in b"".join(as_admin.get(PAGE, {"export": ""}).streaming_content)  # type: ignore[attr-defined]
    refused = as_admin.post(PAGE, {"file": SimpleUploadedFile("p.csv", b"x\ny\n"), "apply": ""})
    assert refused.status_code == 422
    assert "The first line has to name columns" in words(refused)


def test_another_file_is_shown_before_it_is_applied_and_without_one_the_page_asks_for_it(as_admin: Client) -> None:
    User.objects.update(is_superuser=True)
    shown = as_admin.post(PAGE, {"file": SimpleUploadedFile("p.csv", SCHOOL.encode()), "apply": ""})
    assert "becomes tutor of 5a" in words(shown)
    assert not Course.objects.exists()
    for carried in ("", "no file"):
        asked = as_admin.post(PAGE, {"carried": carried, "apply": ""})
        assert asked.status_code == 422
        assert "Choose a file." in words(asked)


@pytest.fixture
def pressed_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next time a file is looked at, another applies it in between."""
    look = people_file._compare_end

    def look_as_the_other_press_is_through(line: people_file.Line) -> None:
        look(line)
        if line.username == "uta":
            monkeypatch.undo()
            people_file.apply(people_file.plan(SCHOOL.encode()), by=None, invites=False)

    monkeypatch.setattr(people_file, "_compare_end", look_as_the_other_press_is_through)


@pytest.mark.usefixtures("pressed_twice")
def test_a_command_beside_another_says_so() -> None:
    with pytest.raises(CommandError, match="Somebody else changed people at the same time"):
        call_command("people", _file(SCHOOL), "--apply", stdout=StringIO())


def test_a_button_pressed_twice_says_so(as_admin: Client, request: pytest.FixtureRequest) -> None:
    User.objects.update(is_superuser=True)
    shown = as_admin.post(PAGE, {"file": SimpleUploadedFile("p.csv", SCHOOL.encode()), "check": ""})
    request.getfixturevalue("pressed_twice")
    late = as_admin.post(PAGE, {"carried": shown.context["carried"], "apply": ""})
    assert late.status_code == 422
    assert "Somebody else changed people at the same time." in words(late)
